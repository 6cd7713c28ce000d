use std::collections::HashSet;

use piton_dialect::Reading;
use piton_dialect::pipeline::layout::{self, File};
use piton_dialect::pipeline::{self, read, read_remembering, remember};
use piton_model::{Dialect, Time};

use super::{Seen, Surveyed};
use crate::Workspace;
use crate::record::DiskFiles;
use crate::workspace::source;

/// Reads the pipeline of one project: its state with the checkpoints of its stories.
pub(super) fn survey(
    workspace: &Workspace,
    base: &str,
    files: &[(String, File)],
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    let mut state = None;
    let mut checkpoints = Vec::new();
    let mut unreadable = Vec::new();
    let strays = strays(workspace, base);
    let known_files = DiskFiles::new(&*workspace.disk, None);
    for (path, file) in files.iter().chain(&strays) {
        let content = match workspace.read(path) {
            Ok(content) => content,
            Err(finding) => {
                unreadable.push((path, finding.into_iter().collect()));
                continue;
            }
        };
        if *file == File::State {
            state = Some((path, content));
            continue;
        }
        let story = layout::story_of(path.rsplit('/').next().unwrap_or(path)).unwrap_or_default();
        let home = below(base, &layout::path_of(story));
        match read_remembering(&source(path, &content), *file, now, &|| remember(&known_files, &home)) {
            Ok(mut checkpoint) => {
                checkpoint.file_time = Some(content.stamp.modified);
                checkpoints.push(checkpoint);
            }
            Err(findings) => unreadable.push((path, findings)),
        }
    }
    let mut known = HashSet::new();
    let state = state.as_ref().map(|(path, content)| source(path, content));
    // Only a state has counters to be compared.
    let limits = state.as_ref().map(|_| crate::retries::limits(&*workspace.disk)).unwrap_or_default();
    read(state.as_ref(), checkpoints, limits, now, &mut |seen| {
        see(match seen {
            pipeline::Seen::Story(unit, findings) => {
                known.insert(unit.id.clone());
                Surveyed::new(base, *unit, findings).into()
            }
            pipeline::Seen::Loose(findings) => Seen::Loose(findings),
        });
    });
    for (path, findings) in unreadable {
        see(match layout::story_of(path.rsplit('/').next().unwrap_or(path)) {
            Some(story) if !known.contains(story) => {
                Seen::of_reading(base, Dialect::Pipeline, path, story, Reading { unit: None, findings })
            }
            _ => Seen::Loose(findings),
        });
    }
}

/// Whether a project without a pipeline of its own has checkpoints in its worktrees.
pub(super) fn has_strays(workspace: &Workspace, base: &str) -> bool {
    !strays(workspace, base).is_empty()
}

/// Whether the worker of a story may have written its checkpoint in a worktree. In the worktree of another story, and where
/// merges are judged, a checkpoint is one that git checked out.
fn is_worktree_of(worktree: &str, story: &str) -> bool {
    let Some(name) = worktree.strip_prefix("story-") else { return worktree != "piton-merge" };
    // A worktree whose place was taken has a number behind its name.
    let number = name.strip_prefix(story).and_then(|rest| rest.strip_prefix('-'));
    name == story || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Checkpoints that workers wrote inside of their worktrees, where the walk does not go.
fn strays(workspace: &Workspace, base: &str) -> Vec<(String, File)> {
    let worktrees = below(base, layout::WORKTREES);
    let mut strays = Vec::new();
    for worktree in workspace.disk.list(&worktrees) {
        let directory = format!("{worktrees}/{worktree}/{}", layout::DIRECTORY);
        let is_own = |name: &String| layout::story_of(name).is_some_and(|story| is_worktree_of(&worktree, story));
        let names = workspace.disk.list(&directory).into_iter().filter(is_own);
        strays.extend(names.map(|name| (format!("{directory}/{name}"), File::Stray)));
    }
    strays
}

fn below(base: &str, name: &str) -> String {
    if base.is_empty() { name.to_owned() } else { format!("{base}/{name}") }
}
