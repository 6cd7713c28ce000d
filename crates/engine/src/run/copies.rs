//! Files of the workspace that the settings name for each worktree: `[worktree] copy`.

use std::io;
use std::path::Path;

use piton_model::fleet::LaneAt;
use piton_store::ReadError;
use piton_store::journal::Hash;
use piton_supervisor::quoted;

use super::lead::Lead;

/// What becomes of a file that a worktree was given, or is to be given.
#[derive(Debug, PartialEq, Eq)]
enum Copying {
    /// It stays as it is.
    Stays,
    /// It is copied, because the worktree has none, or has what was copied before.
    Copied,
    /// The user changed theirs, and the worktree has a version of its own.
    Differs,
}

/// Judges a file by its content in the workspace and in the worktree, as it was last copied there, and as the set-up left it.
fn judge(theirs: Option<&Hash>, own: Option<&Hash>, copied: Option<&str>, set_up: Option<&str>) -> Copying {
    let Some(theirs) = theirs else { return Copying::Stays };
    match own {
        None => Copying::Copied,
        Some(own) if own == theirs || copied == Some(theirs.to_string().as_str()) => Copying::Stays,
        Some(own) if [copied, set_up].contains(&Some(own.to_string().as_str())) => Copying::Copied,
        Some(_) => Copying::Differs,
    }
}

impl Lead<'_> {
    /// Copies the files that the settings name into a lane's worktree before a worker starts there. A worktree that was set up
    /// keeps its own version of a file, and gets what the user created or corrected since. The answer says whether a file was
    /// copied again that the set-up had changed.
    pub(super) fn copy_to_lane(&mut self, at: LaneAt, is_set_up: bool) -> Result<bool, String> {
        let mut is_undone = false;
        let (name, directory) = (self.work.fleet.lanes[at].name.clone(), self.directory_of(at));
        for path in self.settings.worktree_copy.clone() {
            let Some(content) = self.to_copy(&path)? else { continue };
            let theirs = Hash::of(&content);
            let copied = self.memory.lane(&name).copied.get(&path).cloned();
            let set_up = self.memory.lane(&name).set_up_files.get(&path).cloned();
            let found = directory.join(&path).symlink_metadata();
            let (is_there, is_file) = (found.is_ok(), found.is_ok_and(|found| found.is_file()));
            let own = is_file.then(|| std::fs::read(directory.join(&path)).ok()).flatten().map(|own| Hash::of(&own));
            let copying = match is_set_up {
                // A link, a directory, or what cannot be read is not the user's file.
                true if is_there && own.is_none() => Copying::Differs,
                true => judge(Some(&theirs), own.as_ref(), copied.as_deref(), set_up.as_deref()),
                false => Copying::Copied,
            };
            match copying {
                Copying::Copied => {
                    self.copy_file(&path, &content, &directory)?;
                    is_undone |= set_up.is_some() && set_up != copied;
                    if is_set_up {
                        self.tell_lane(at, "setup", &format!("{path} of the workspace is copied into its worktree"));
                    }
                }
                Copying::Differs => {
                    let tree = directory.strip_prefix(self.workspace.root()).unwrap_or(&directory).join(&path);
                    let (from, to) = (quoted(&path), quoted(&tree.to_string_lossy()));
                    let text = format!(
                        "{} is another file than {path} of the workspace, and stays; to replace it: cp {from} {to}",
                        tree.display()
                    );
                    self.tell_lane(at, "setup", &text);
                    continue;
                }
                Copying::Stays if own.as_ref() != Some(&theirs) => continue,
                Copying::Stays => {}
            }
            self.memory.lane(&name).copied.insert(path, theirs.to_string());
        }
        Ok(is_undone)
    }

    /// Remembers how the set-up of a lane's worktree left the files that were copied there.
    pub(super) fn note_set_up_files(&mut self, at: LaneAt) {
        let (name, directory) = (self.work.fleet.lanes[at].name.clone(), self.directory_of(at));
        let left =
            |path: &String| Some((path.clone(), Hash::of(&std::fs::read(directory.join(path)).ok()?).to_string()));
        self.memory.lane(&name).set_up_files = self.settings.worktree_copy.iter().filter_map(left).collect();
    }

    /// Copies the files that the settings name into a tree that is to be judged.
    pub(super) fn copy_to_scratch(&self, directory: &Path) -> Result<(), String> {
        for path in &self.settings.worktree_copy {
            if let Some(content) = self.to_copy(path)? {
                self.copy_file(path, &content, directory)?;
            }
        }
        Ok(())
    }

    /// A file of the workspace that is copied; nothing when it is not there.
    fn to_copy(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self.workspace.disk.read(path) {
            Ok(content) => Ok(Some(content.bytes)),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(format!("cannot read `{path}` for its worktree: {error}")),
        }
    }

    fn copy_file(&self, path: &str, content: &[u8], directory: &Path) -> Result<(), String> {
        let to = directory.join(path);
        let copy = || -> io::Result<()> {
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent)?;
                // A branch may have a link in the file's way: nothing is written outside of the worktree.
                if !parent.canonicalize()?.starts_with(directory.canonicalize()?) {
                    return Err(io::Error::other("its directory is a link that leads out of the worktree"));
                }
            }
            if to.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                std::fs::remove_file(&to)?;
            }
            std::fs::write(&to, content)?;
            let mode = std::fs::metadata(self.workspace.root().join(path))?.permissions();
            std::fs::set_permissions(&to, mode)
        };
        copy().map_err(|error| format!("cannot copy `{path}` into its worktree: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktree_gets_what_the_user_changed_and_keeps_what_its_worker_changed() {
        for (theirs, own, copied, want) in [
            (None, None, None, Copying::Stays),
            (None, Some("a"), Some("a"), Copying::Stays),
            (Some("a"), None, None, Copying::Copied),
            (Some("a"), None, Some("a"), Copying::Copied),
            (Some("a"), Some("a"), Some("a"), Copying::Stays),
            (Some("a"), Some("a"), None, Copying::Stays),
            (Some("b"), Some("a"), Some("a"), Copying::Copied),
            (Some("a"), Some("own"), Some("a"), Copying::Stays),
            (Some("b"), Some("own"), Some("a"), Copying::Differs),
            (Some("b"), Some("own"), None, Copying::Differs),
        ] {
            let hash = |text: &str| Hash::of(text.as_bytes());
            let copied = copied.map(|text| hash(text).to_string());
            let got = judge(theirs.map(hash).as_ref(), own.map(hash).as_ref(), copied.as_deref(), None);
            assert_eq!(got, want, "{theirs:?} {own:?} {copied:?}");
        }
        let hash = |text: &str| Hash::of(text.as_bytes());
        let by_set_up =
            judge(Some(&hash("b")), Some(&hash("port")), Some(&hash("a").to_string()), Some(&hash("port").to_string()));
        assert_eq!(by_set_up, Copying::Copied, "the set-up changed it, and no worker");
    }
}
