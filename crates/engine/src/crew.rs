//! The crews of a workspace: which one somebody means, and who is in it.

use std::collections::BTreeMap;

use piton_dialect::crew::layout::{self, File};
use piton_dialect::crew::read_checkpoint;
use piton_dialect::{Detail, Source};
use piton_model::hint::verbs;
use piton_model::{Arg, Dialect, Id, Refusal, Time};

use crate::find::{found, merge_superseded};
use crate::run::LedUnits;
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
    let leads = LedUnits::look(workspace, now);
    let mut crews: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for surveyed in all {
        let base = surveyed.full_name.rsplit_once('/').map_or("", |(base, _)| base).to_owned();
        let name = format!("{}:{}", Dialect::Crew, surveyed.full_name);
        crews.entry(base).or_default().push(found(workspace, surveyed, name, &leads, now));
    }
    crews.into_iter().map(|(base, agents)| Crew { base, agents }).collect()
}

/// An agent as somebody typed it.
#[derive(Debug)]
pub(crate) struct Named {
    /// The directory of its crew, or the end of it; nothing when none was typed.
    pub crew: Option<String>,
    pub agent: Id,
}

impl Named {
    /// Reads `Secondary-A`, `crew:epics/e7/Secondary-A`, or `./Secondary-A` for the crew of the workspace itself.
    pub(crate) fn parse(typed: &str) -> Result<Named, Refusal> {
        let path = match typed.split_once(':') {
            None => typed,
            Some((word, path)) if word == Dialect::Crew.word() => path,
            Some((word, _)) => {
                let what =
                    if word.parse::<Dialect>().is_ok() { "only agents of a crew have an inbox" } else { "no crew" };
                return Err(Refusal::usage(format!("{what}: {typed}"))
                    .hint("name an agent of a crew, such as crew:Secondary-A"));
            }
        };
        let (crew, agent) = match path.rsplit_once('/') {
            None => (None, path),
            Some((crew, agent)) => (Some(directory(crew).to_owned()), agent),
        };
        let agent = Id::parse(agent).map_err(|why| Refusal::usage(format!("{agent:?} is not an agent: {why}")))?;
        Ok(Named { crew, agent })
    }

    /// The directory of the crew that is meant: the one that was typed, the only one, or the only one that has the
    /// agent.
    pub(crate) fn base(&self, workspace: &Workspace) -> Result<String, Refusal> {
        let all = bases(workspace);
        let mut meant: Vec<&String> = all.iter().filter(|base| is_meant(base, self.crew.as_deref())).collect();
        if meant.len() > 1 && meant.iter().any(|base| Some(*base) == self.crew.as_ref()) {
            meant.retain(|base| Some(*base) == self.crew.as_ref());
        }
        if meant.len() > 1 {
            let has_agent = |base: &&&String| document_of(workspace, base, self.agent.as_str()).is_some();
            if let [only] = meant.iter().filter(has_agent).collect::<Vec<_>>().as_slice() {
                return Ok((**only).clone());
            }
        }
        match meant.as_slice() {
            [only] => Ok((*only).clone()),
            [] => Err(no_crew(self.crew.as_deref(), all.iter().map(String::as_str))),
            several => {
                let refusal = Refusal::usage(format!("{} crews could be meant by {}", several.len(), self.agent));
                Err(several.iter().fold(refusal, |refusal, base| {
                    refusal.hint(format!("name one of them: crew:{}/{}", shown(base), self.agent))
                }))
            }
        }
    }
}

/// There is no crew, or not the one that was typed.
pub(crate) fn no_crew<'b>(typed: Option<&str>, bases: impl Iterator<Item = &'b str>) -> Refusal {
    let mut bases = bases.peekable();
    if bases.peek().is_none() {
        return Refusal::missing("there is no crew in this workspace").hint(
            verbs::START
                .on("crew:Agent-Primary")
                .filled("--feature", "FEATURE")
                .with("--stage", Arg::Word("S2.P1"))
                .to("begin one with"),
        );
    }
    let refusal = Refusal::missing(format!("there is no crew in {}", shown(typed.unwrap_or_default())));
    bases.fold(refusal, |refusal, base| refusal.hint(format!("there is one in {}", shown(base))))
}

/// A crew's directory as it was typed, the workspace's own as nothing.
pub(crate) fn directory(typed: &str) -> &str {
    let typed = typed.trim_end_matches('/');
    if typed == "." { "" } else { typed.strip_prefix("./").unwrap_or(typed) }
}

/// Whether a crew's directory is the one that was typed, or ends in it.
pub(crate) fn is_meant(base: &str, typed: Option<&str>) -> bool {
    match typed {
        None => true,
        Some("") => base.is_empty(),
        Some(typed) => base.strip_suffix(typed).is_some_and(|above| above.is_empty() || above.ends_with('/')),
    }
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
    Target::new(workspace, Dialect::Crew, base.to_owned(), vec![id], document).by_directory()
}

/// A crew's directory for people.
fn shown(base: &str) -> &str {
    if base.is_empty() { "." } else { base }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_typed_with_or_without_its_crew() {
        for (typed, crew) in [
            ("Secondary-A", None),
            ("crew:Secondary-A", None),
            ("crew:epics/e7/Secondary-A", Some("epics/e7")),
            ("./Secondary-A", Some("")),
            ("crew:./e7/Secondary-A", Some("e7")),
        ] {
            let named = Named::parse(typed).expect("an agent");
            assert_eq!((named.crew.as_deref(), named.agent.as_str()), (crew, "Secondary-A"), "{typed}");
        }
        for typed in ["task:migration/T060", "boat:x", "", "e7/", "..", "crew:"] {
            assert!(Named::parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_crew_is_meant_by_the_end_of_its_directory() {
        for (base, typed, want) in [
            ("epics/e7", None, true),
            ("epics/e7", Some("e7"), true),
            ("epics/e7", Some("epics/e7"), true),
            ("epics/e7", Some("7"), false),
            ("epics/e7", Some(""), false),
            ("", Some(""), true),
            ("", Some("e7"), false),
        ] {
            assert_eq!(is_meant(base, typed), want, "{base:?} by {typed:?}");
        }
    }
}
