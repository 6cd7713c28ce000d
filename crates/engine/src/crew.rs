//! The crews of a workspace: which one somebody means, and who is in it.

use std::collections::BTreeMap;

use piton_dialect::crew::layout::{self, File};
use piton_dialect::crew::read_checkpoint;
use piton_dialect::{Detail, Source};
use piton_model::{Dialect, Id, Refusal, Time, UnitRef};

use crate::find::{found, merge_superseded};
use crate::survey::{Scope, Seen, Surveyed, survey};
use crate::target::Target;
use crate::{Found, Workspace};

/// The agents of one epic.
#[derive(Debug)]
pub(crate) struct Crew {
    /// The epic's directory; empty for the root.
    pub base: String,
    pub agents: Vec<Found>,
}

/// All crews that have an agent, by their directories.
pub(crate) fn crews(workspace: &Workspace, now: Time) -> Vec<Crew> {
    let mut all: Vec<Surveyed> = Vec::new();
    let scope = Scope { dialect: Some(Dialect::Crew), ..Scope::new(Detail::Full) };
    survey(workspace, &scope, now, &mut |seen| {
        if let Seen::Unit(surveyed) = seen {
            all.push(*surveyed);
        }
    });
    merge_superseded(&mut all);
    let mut crews: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for surveyed in all {
        let base = surveyed.full_name.rsplit_once('/').map_or("", |(base, _)| base).to_owned();
        let name = format!("{}:{}", Dialect::Crew, surveyed.full_name);
        crews.entry(base).or_default().push(found(surveyed, name, now));
    }
    crews.into_iter().map(|(base, agents)| Crew { base, agents }).collect()
}

/// The directory of the crew that is meant: the one that was typed, the only one, or the only one that has the agent.
pub(crate) fn base_of(workspace: &Workspace, typed: &[Id], agent: &str) -> Result<String, Refusal> {
    let all = bases(workspace);
    let ending = typed.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
    let mut meant: Vec<&String> = all.iter().filter(|base| ends_with(base, &ending)).collect();
    if meant.len() > 1 && meant.iter().any(|base| ***base == ending && !ending.is_empty()) {
        meant.retain(|base| **base == ending);
    }
    if meant.len() > 1 {
        let with_agent = meant.iter().filter(|base| document_of(workspace, base, agent).is_some());
        if let [only] = with_agent.collect::<Vec<_>>().as_slice() {
            return Ok((**only).clone());
        }
    }
    match meant.as_slice() {
        [only] => Ok((*only).clone()),
        [] if all.is_empty() => {
            Err(Refusal::missing("there is no crew in this workspace, and only crews have messages")
                .hint("begin one with: piton start crew:Agent-Primary --feature FEATURE --stage S2.P1"))
        }
        [] => Err(all.iter().fold(Refusal::missing(format!("there is no crew in {ending}")), |refusal, base| {
            refusal.hint(format!("there is one in {}", shown(base)))
        })),
        several => {
            let refusal = Refusal::usage(format!("{} crews could be meant", several.len()));
            Err(several.iter().fold(refusal, |refusal, base| match base.as_str() {
                "" => refusal.hint("the crew of the workspace itself is meant where no other has the agent"),
                base => refusal.hint(format!("name one of them: crew:{base}/{agent}")),
            }))
        }
    }
}

/// An agent that messages are from or to, as somebody typed it: with or without its crew's directory.
pub(crate) fn agent_named(typed: &str) -> Result<(Vec<Id>, Id), Refusal> {
    let wanted = UnitRef::parse(typed).map_err(|why| Refusal::usage(format!("{typed:?} is not an agent: {why}")))?;
    if let Some(dialect) = wanted.dialect.filter(|dialect| *dialect != Dialect::Crew) {
        return Err(Refusal::usage(format!("only agents of a crew have an inbox, and {typed} is of `{dialect}`"))
            .hint("name an agent of a crew, such as crew:Secondary-A"));
    }
    let mut parts = wanted.parts;
    let agent = parts.pop().ok_or_else(|| Refusal::usage("no agent is named"))?;
    Ok((parts, agent))
}

/// An agent of a crew as a target. It need not have a checkpoint: its journal is under the same key before and after.
pub(crate) fn agent_target(workspace: &Workspace, base: &str, agent: &Id, now: Time) -> Target {
    let document = document_of(workspace, base, agent.as_str());
    // The checkpoint knows how the agent is written.
    let written = document.as_ref().and_then(|path| {
        let content = workspace.disk.read(path).ok()?;
        let source = Source { path: path.as_str().into(), bytes: &content.bytes, modified: None };
        let unit = read_checkpoint(&source, Detail::Line, now).unit?;
        let is_same = layout::file_name(&unit.id) == layout::file_name(agent.as_str());
        Id::parse(&unit.id).ok().filter(|_| is_same)
    });
    let id = written.unwrap_or_else(|| agent.clone());
    Target::new(workspace, Dialect::Crew, base.to_owned(), vec![id], document)
}

/// A crew's directory for people.
pub(crate) fn shown(base: &str) -> &str {
    if base.is_empty() { "." } else { base }
}

/// Whether a directory is the one that was typed, or ends in it.
pub(crate) fn ends_with(base: &str, typed: &str) -> bool {
    typed.is_empty() || base.strip_suffix(typed).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

/// The directories that hold a crew's files. A lone STATUS file is anybody's.
fn bases(workspace: &Workspace) -> Vec<String> {
    let mut bases = std::collections::BTreeSet::new();
    workspace.disk.walk(&mut |path| {
        if let Some((base, file)) = layout::recognise(path)
            && file != File::Status
        {
            bases.insert(base.to_owned());
        }
    });
    bases.into_iter().collect()
}

/// An agent's checkpoint, in one of the places where it may be.
fn document_of(workspace: &Workspace, base: &str, agent: &str) -> Option<String> {
    let below = |path: String| if base.is_empty() { path } else { format!("{base}/{path}") };
    let path = layout::path_of(agent);
    let places = [below(path.clone()), below(format!("agent_comms/{path}"))];
    places.into_iter().find(|path| matches!(workspace.disk.stamp(path), Ok(Some(_))))
}
