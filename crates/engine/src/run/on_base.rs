//! Whether a result is on the base, the branch that a run merges into. The tree of that branch decides, whatever the user has
//! checked out. Their work tree counts for files that git ignores, and where there is no repository.

use std::path::Path;

use piton_model::Output;
use piton_model::fleet::LaneAt;
use piton_supervisor::{InTree, Repository, has_removed};

use super::lead::Lead;
use super::outputs::{found_below, is_there};

/// The base of a run, and the user's work tree.
#[derive(Clone, Copy)]
pub(super) struct Base<'w> {
    /// The workspace.
    pub root: &'w Path,
    /// The repository, and the branch that the run merges into; nothing where a run works without git.
    pub ground: Option<(&'w Repository, &'w str)>,
}

impl Base<'_> {
    /// Whether the base has an output.
    pub fn has(&self, output: &Output) -> bool {
        let Some((repository, base)) = self.ground else { return is_there(self.root, output) };
        let committed = match output {
            Output::File(name) => repository.in_tree(base, &inside(repository, name)),
            Output::Pattern(_) => has_match(repository, base, output),
        };
        match committed {
            Ok(InTree::There) => true,
            Ok(InTree::Missing) => self.has_ignored(repository, output),
            // Only the work tree has what is in a submodule or behind a link. What git cannot tell now is looked for there too.
            Ok(InTree::Beyond) | Err(_) => is_there(self.root, output),
        }
    }

    /// Whether the user's work tree has an output that git ignores, so that no branch has it.
    fn has_ignored(&self, repository: &Repository, output: &Output) -> bool {
        let found = found_below(self.root, output);
        repository.ignored(self.root, &found).is_ok_and(|ignored| !ignored.is_empty())
    }

    /// Whether an output is in the user's work tree alone: it is not committed on the base.
    pub fn is_uncommitted(&self, output: &Output) -> bool {
        is_there(self.root, output) && !self.has(output)
    }

    /// Whether a commit of the base removed a file.
    pub fn has_removed(&self, path: &str) -> bool {
        self.ground.is_some_and(|(_, base)| has_removed(self.root, &format!("refs/heads/{base}"), path))
    }

    /// Whether the base has a file under another name, with the content that it had in a commit.
    pub fn has_moved(&self, commit: &str, path: &str) -> bool {
        self.ground.is_some_and(|(repository, base)| {
            repository.has_content_of(base, commit, &inside(repository, path)).unwrap_or(false)
        })
    }
}

/// Where the files are that a lane is to make, when its document calls it done and no worker says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// All of them are on the base, or there are none.
    OnBase,
    /// The user has them, and did not commit all of them: what they are asked to do.
    Uncommitted(String),
    /// One of them is nowhere.
    Missing,
}

impl Lead<'_> {
    /// Where the files are that a lane is to make. What a person did is done when the others can build on it.
    pub(super) fn made_by_hand(&self, at: LaneAt) -> Made {
        let files = self.work.lanes[at].files();
        self.made(files.into_iter().filter(|output| !self.base().has(output)).collect())
    }

    /// Where files are that are not on the base.
    pub(super) fn made(&self, missing: Vec<Output>) -> Made {
        if missing.is_empty() {
            return Made::OnBase;
        }
        if !missing.iter().all(|output| self.base().is_uncommitted(output)) {
            return Made::Missing;
        }
        let names: Vec<&str> = missing.iter().map(Output::name).collect();
        let (verb, base) =
            (if names.len() == 1 { "is" } else { "are" }, self.memory.run.base.clone().unwrap_or_default());
        let retry = self.command(&["--retry"]).to("then");
        Made::Uncommitted(format!(
            "it was done by hand, and {} {verb} not committed on {base}; commit that; {retry}",
            names.join(", ")
        ))
    }

    pub(super) fn base(&self) -> Base<'_> {
        Base { root: self.workspace.root(), ground: self.repository.as_ref().zip(self.memory.run.base.as_deref()) }
    }
}

/// A path of the workspace, relative to the repository's root.
fn inside(repository: &Repository, path: &str) -> String {
    repository.inside().join(path.trim_end_matches('/')).display().to_string()
}

fn has_match(repository: &Repository, base: &str, output: &Output) -> Result<InTree, piton_supervisor::GitError> {
    let is_it = |path: &String| {
        let local = Path::new(path).strip_prefix(repository.inside()).ok().and_then(Path::to_str);
        local.is_some_and(|local| output.is(local))
    };
    Ok(if repository.files(base)?.iter().any(is_it) { InTree::There } else { InTree::Missing })
}
