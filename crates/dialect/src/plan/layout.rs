//! Where a plan keeps its files.

use piton_model::Id;

use crate::Place;

/// What a file of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// `plans/{id}/plan.md`: the truth.
    Plan,
    /// `plans/{id}/phase-NN-*.md`: more of it.
    Phase,
    /// `.checkpoint/state.json`
    State,
    /// `.checkpoint/history.jsonl`
    History,
    /// `.checkpoint/recovery.json`
    Recovery,
    /// `.memory/progress.json`, deprecated.
    Legacy,
}

/// Where the files of one plan are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The plan's directory.
    pub directory: String,
    /// `plan.md`
    pub plan: String,
    /// `.checkpoint/state.json`
    pub state: String,
    /// `.checkpoint/history.jsonl`
    pub history: String,
    /// `.checkpoint/recovery.json`
    pub recovery: String,
}

/// The paths of a plan: beside the document that was found, else below `plans/`.
pub fn paths(place: &Place) -> Paths {
    let found = place.document.as_deref().and_then(recognise).map(|(directory, _)| directory.to_owned());
    let id = place.id.last().map_or("", Id::as_str);
    let directory = found.unwrap_or_else(|| place.path(&format!("plans/{id}")));
    let file = |name: &str| format!("{directory}/{name}");
    Paths {
        plan: file("plan.md"),
        state: file(".checkpoint/state.json"),
        history: file(".checkpoint/history.jsonl"),
        recovery: file(".checkpoint/recovery.json"),
        directory,
    }
}

/// Recognises a path: the plan's directory, and what the file is there.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/')?;
    let within = |inner: &str| directory.strip_suffix(inner)?.strip_suffix('/');
    let (plan, file) = match name {
        "plan.md" => (directory, File::Plan),
        "state.json" => (within(".checkpoint")?, File::State),
        "history.jsonl" => (within(".checkpoint")?, File::History),
        "recovery.json" => (within(".checkpoint")?, File::Recovery),
        "progress.json" => (within(".memory")?, File::Legacy),
        name if is_phase_file(name) => (directory, File::Phase),
        _ => return None,
    };
    let (parent, _) = plan.rsplit_once('/')?;
    (parent == "plans" || parent.ends_with("/plans")).then_some((plan, file))
}

/// The id of the plan in a directory, and the directory that holds its `plans/`.
pub fn id(plan: &str) -> (&str, &str) {
    let (plans, id) = plan.rsplit_once('/').unwrap_or(("", plan));
    let base = plans.strip_suffix("plans").unwrap_or(plans);
    (base.strip_suffix('/').unwrap_or(base), id)
}

/// Whether a file's name is one of `phase-NN-*.md`.
pub fn is_phase_file(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("phase-").and_then(|rest| rest.strip_suffix(".md")) else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && (rest.len() == digits || rest.as_bytes()[digits] == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_plan_are_recognised_wherever_it_is() {
        for (path, want) in [
            ("plans/p1/plan.md", Some(("plans/p1", File::Plan))),
            ("packages/cli/plans/p1/plan.md", Some(("packages/cli/plans/p1", File::Plan))),
            ("plans/p1/phase-01-setup.md", Some(("plans/p1", File::Phase))),
            ("plans/p1/phase-2.md", Some(("plans/p1", File::Phase))),
            ("plans/p1/.checkpoint/state.json", Some(("plans/p1", File::State))),
            ("plans/p1/.checkpoint/history.jsonl", Some(("plans/p1", File::History))),
            ("plans/p1/.checkpoint/recovery.json", Some(("plans/p1", File::Recovery))),
            ("plans/p1/.memory/progress.json", Some(("plans/p1", File::Legacy))),
            ("plans/plan.md", None),
            ("plans/p1/notes/plan.md", None),
            ("plans/p1/phase-setup.md", None),
            ("plans/p1/phase-1a.md", None),
            (".checkpoint/state.json", None),
            ("myplans/p1/plan.md", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
        assert_eq!(id("plans/p1"), ("", "p1"));
        assert_eq!(id("packages/cli/plans/p1"), ("packages/cli", "p1"));
    }
}
