//! Whether the files that a lane is to make are there, and are its own.

use std::fs;
use std::path::Path;

use piton_model::fleet::LaneAt;
use piton_model::{Dialect, Output, UnitRef};

use super::lead::Lead;
use super::work::LaneWork;

/// How many entries of a directory and those below are looked at for a pattern.
const MOST_ENTRIES: usize = 20_000;

impl LaneWork {
    /// The files that it is to make, as far as they can be looked for.
    pub fn files(&self) -> Vec<Output> {
        self.outputs.iter().filter_map(|text| Output::read(text)).collect()
    }

    /// The names among them.
    pub fn file_names(&self) -> Vec<String> {
        let name = |output: Output| match output {
            Output::File(name) => Some(name),
            Output::Pattern(_) => None,
        };
        self.files().into_iter().filter_map(name).collect()
    }
}

impl Lead<'_> {
    /// Takes up the files that a workstream is to make from its specification as it is now: its user may have changed them.
    pub(super) fn refresh_outputs(&mut self, at: LaneAt) {
        if let Some(outputs) = self.specified_outputs(at) {
            self.work.lanes[at].outputs = outputs;
        }
    }

    pub(super) fn specified_outputs(&self, at: LaneAt) -> Option<Vec<String>> {
        let work = &self.work.lanes[at];
        let step = work.step.as_ref().filter(|_| work.dialect == Dialect::Build)?;
        let spec = self.specification(&work.unit)?;
        let stream = spec.workstreams.into_iter().find(|stream| stream.id == *step)?;
        Some(stream.outputs.iter().map(|path| path.trim_start_matches("./").to_owned()).collect())
    }

    /// Refuses to call a build done whose specification got files since their workstreams were done, which are not there.
    pub(super) fn refuse_added_outputs(&self, unit: &UnitRef) -> Result<(), String> {
        let mut missing = Vec::new();
        for (at, work) in self.work.lanes.iter().enumerate().filter(|(_, work)| work.unit == *unit) {
            let outputs = self.specified_outputs(at).unwrap_or_default().into_iter();
            let added = outputs.filter(|output| !work.outputs.contains(output));
            let is_missing = |output: &String| Output::read(output).is_some_and(|output| !self.base().has(&output));
            missing.extend(added.filter(is_missing));
        }
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!("outputs added to the specification during the run: {}; make them", missing.join(", "));
        Err(self.command(&["--retry"]).to(text).to_string())
    }

    /// Whether a lane is to make files, and all of them are there.
    pub(super) fn has_outputs(&self, at: LaneAt) -> bool {
        !self.work.lanes[at].outputs.is_empty() && self.missing_outputs(at).is_empty()
    }

    /// The files that a lane is to make and that are not in its worktree.
    pub(super) fn missing_outputs(&self, at: LaneAt) -> Vec<String> {
        let root = self.directory_of(at);
        let outputs = self.work.lanes[at].files().into_iter();
        let is_missing = |output: &Output| !is_there(&root, output) && !self.is_on_branch_alone(at, output);
        outputs.filter(is_missing).map(|output| output.name().to_owned()).collect()
    }

    /// Whether the branch of a lane has an output, and its worktree is gone and has to be made again.
    pub(super) fn is_on_branch_alone(&self, at: LaneAt, output: &Output) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let branch = known.and_then(|known| known.branch.as_ref());
        let (Some(repository), Some(branch), Some(tree)) = (&self.repository, branch, self.worktree_of(at)) else {
            return false;
        };
        if self.workspace.root().join(tree).is_dir() {
            return false;
        }
        let is_it = |path: &String| {
            let local = Path::new(path).strip_prefix(repository.inside()).ok().and_then(Path::to_str);
            local.is_some_and(|local| match output {
                Output::File(name) => Path::new(local).starts_with(name),
                Output::Pattern(_) => output.is(local),
            })
        };
        repository.files(branch).is_ok_and(|files| files.iter().any(is_it))
    }

    /// Whether a lane made or changed one of the files that it was to make, and did not only find it. Where none of them can
    /// be looked for, every change counts.
    pub(super) fn has_changed(&self, at: LaneAt) -> bool {
        let Some(changed) = self.changed_files(at) else { return true };
        let outputs = self.work.lanes[at].files();
        let is_output = |path: &String| outputs.is_empty() || outputs.iter().any(|output| output.is(path));
        changed.iter().any(is_output) || self.has_ignored_output(at)
    }

    /// Whether all files of a lane were made or changed since a lead began its unit, by whomever, and no other workstream is to
    /// make them.
    pub(super) fn are_made_by_others(&self, at: LaneAt) -> bool {
        let Some(repository) = &self.repository else { return false };
        let (lane, outputs) = (&self.work.fleet.lanes[at], self.work.lanes[at].files());
        let group = &self.work.fleet.groups[lane.group].name;
        let began_on = self.memory.groups.get(group).and_then(|known| known.began_on.as_ref());
        let (Some(began_on), Some(target)) = (began_on, self.target_branch(lane)) else { return false };
        let others = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let others = others.filter(|(other, _)| other.group == lane.group && *other != lane);
        let due: Vec<Output> = others.flat_map(|(_, work)| work.files()).collect();
        let local = |path: String| Path::new(&path).strip_prefix(repository.inside()).ok()?.to_str().map(str::to_owned);
        let made = repository.changed_files(began_on, &format!("refs/heads/{target}")).unwrap_or_default();
        let made: Vec<String> = made.into_iter().filter_map(local).collect();
        let is_made = |output: &Output| made.iter().any(|path| output.is(path) && !due.iter().any(|due| due.is(path)));
        !outputs.is_empty() && outputs.iter().all(is_made)
    }

    /// Whether a lane changed anything at all.
    pub(super) fn has_any_change(&self, at: LaneAt) -> bool {
        self.changed_files(at).is_none_or(|changed| !changed.is_empty())
    }

    /// What a lane changed in its worktree but its unit's documents, relative to the workspace; nothing when git cannot tell.
    fn changed_files(&self, at: LaneAt) -> Option<Vec<String>> {
        let (repository, tree) = (self.repository.as_ref()?, self.worktree_of(at)?);
        let target = self.target_branch(&self.work.fleet.lanes[at])?;
        let path = self.workspace.root().join(tree);
        let changed = repository.changed_since(&path, &format!("refs/heads/{target}")).unwrap_or_default();
        let documents = self.documents_of(at);
        let local = |path: String| {
            let local = Path::new(&path).strip_prefix(repository.inside()).ok()?.to_str()?.to_owned();
            (!documents.contains(&local)).then_some(local)
        };
        Some(changed.into_iter().filter_map(local).collect())
    }

    /// Whether an output of a lane is in no change because git ignores it. A new worktree has none of those.
    fn has_ignored_output(&self, at: LaneAt) -> bool {
        let Some(repository) = &self.repository else { return false };
        let (below, root) = (self.directory_of(at), self.workspace.root());
        let ignored = repository.ignored(&below, &self.work.lanes[at].file_names()).unwrap_or_default();
        ignored.iter().any(|output| below.join(output).exists() && !root.join(output).exists())
    }
}

/// Whether a directory has an output.
pub(super) fn is_there(root: &Path, output: &Output) -> bool {
    match output {
        Output::File(name) => root.join(name.trim_end_matches('/')).symlink_metadata().is_ok(),
        Output::Pattern(_) => !found_below(root, output).is_empty(),
    }
}

/// The files of a directory that are an output or in it, and the output itself when it is there.
pub(super) fn found_below(root: &Path, output: &Output) -> Vec<String> {
    let name = output.name().trim_end_matches('/');
    // What stands before the first part with a star is a directory.
    let above = match output {
        Output::File(_) => name.to_owned(),
        Output::Pattern(pattern) => {
            let parts = pattern.split('/').take_while(|part| !part.contains(['*', '?']));
            parts.collect::<Vec<_>>().join("/")
        }
    };
    let is_itself = matches!(output, Output::File(_)) && is_there(root, output);
    let mut found: Vec<String> = is_itself.then(|| name.to_owned()).into_iter().collect();
    let mut left = MOST_ENTRIES;
    add_matches(root, &above, output, &mut left, &mut found);
    found
}

fn add_matches(root: &Path, below: &str, output: &Output, left: &mut usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !matches!(*name, ".git" | "node_modules")) else { continue };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory {
            add_matches(root, &path, output, left, found);
        } else if output.is(&path) {
            found.push(path);
        }
    }
}
