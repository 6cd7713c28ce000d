//! A plan that is in line with its state, read once: enough to tell whoever continues it where it stands.
//!
//! A session's host waits for this, so nothing is judged and no finding is made. What it says is what [`read`] and
//! [`resume`] say of the same files.
//!
//! [`read`]: super::read
//! [`resume`]: super::resume

use piton_model::{Decision, Dialect, Document, Moment, Progress, Refusal, ResumePlan, Role, Unit};

use super::alignment::same_boxes;
use super::write::{Texts, find_ground};
use super::{layout, resume, state};
use crate::json::Json;
use crate::{Files, Place};

/// What a brief is made of.
#[derive(Debug)]
pub struct Sketch {
    /// The plan's words and its progress, without its tasks and criteria, and without where it stands.
    pub unit: Unit,
    /// How it is continued.
    pub plan: ResumePlan,
}

/// Reads a plan; nothing when its state is not that of its text, and has to be made so first.
pub fn sketch(place: &Place, files: &dyn Files, moment: &Moment) -> Result<Option<Sketch>, Refusal> {
    let paths = layout::paths(place);
    let texts = Texts::read(&paths, files)?;
    let (Some(book), found) = texts.parse(&paths)? else { return Ok(None) };
    if !book.is_marked() {
        return Ok(None);
    }
    let ground = find_ground(&texts, found, &paths, Some(&book), &moment.now.to_string())?;
    let Some(root) = ground.json.as_ref().filter(|_| ground.is_current).map(Json::root) else { return Ok(None) };
    if !same_boxes(&book, root) {
        return Ok(None);
    }
    let (_, id) = layout::id(&paths.directory);
    let main = Document { path: paths.plan.as_str().into(), role: Role::Main, modified: None };
    let mut unit = Unit::new(Dialect::Plan, id, main);
    let titles = book.sheets.iter().flat_map(|sheet| sheet.body().lines()).find_map(|line| line.strip_prefix("# "));
    unit.title = titles.map(|title| title.trim().to_owned());
    unit.blockers = book.blockers();
    let decision = |text: &str| Decision { time: None, text: text.to_owned(), reason: None };
    unit.decisions = book.decisions().map(decision).collect();
    state::add_remarks(root, &mut unit);
    let count = book.progress();
    unit.progress = Progress { done: count.done as u64, total: count.all as u64 };
    let plan = resume::on_ground(&paths, &place.unit(Dialect::Plan), Some(&book), &ground, None);
    Ok(Some(Sketch { unit, plan }))
}

#[cfg(test)]
mod tests {
    use piton_model::{Event, Id, NotePurpose, Start, StepMove, StepTo, Time};
    use proptest::prelude::*;

    use super::super::{PlanFiles, read, record};
    use super::*;
    use crate::Source;
    use crate::brief::{BriefFacts, brief};
    use crate::files::memory::MemoryFiles;

    fn place() -> Place {
        let id = vec![Id::parse("x").expect("an id")];
        Place { base: String::new(), id, document: None, root: String::new(), typed_below: String::new() }
    }

    fn moment() -> Moment {
        let now = Time::from_unix_seconds(0);
        Moment { now, by: "main".to_owned(), attempt: 1, session: None, fresh_id: "f".to_owned(), ticket: None }
    }

    /// The plan as everybody else reads it.
    fn told_in_full(files: &MemoryFiles) -> (ResumePlan, String) {
        let source = |path: &str| {
            let bytes = files.files.get(path)?;
            Some(Source { path: path.into(), bytes, modified: None })
        };
        let read_files = PlanFiles {
            directory: "plans/x".to_owned(),
            plan: source("plans/x/plan.md"),
            phases: source("plans/x/phase-02.md").into_iter().collect(),
            state: source("plans/x/.checkpoint/state.json"),
            recovery: source("plans/x/.checkpoint/recovery.json"),
            ..PlanFiles::default()
        };
        let unit = read(&read_files, moment().now).unit.expect("there is a plan");
        let plan = resume::resume(&place(), files, None, &moment()).expect("it can be read");
        let told = told(&unit, &plan);
        (plan, told)
    }

    fn told(unit: &Unit, plan: &ResumePlan) -> String {
        brief(&BriefFacts {
            name: "plan:x",
            attempt: 1,
            plan,
            unit,
            alarms: &[],
            fence: "f",
            budget: 10_000,
            has_attempt: false,
            audience: piton_model::Audience::Shell,
        })
    }

    const LINES: [&str; 9] = [
        "# A title",
        "- [ ] do <!-- TASK: a -->",
        "- [x] do <!-- TASK: b -->",
        "- [ ] holds <!-- ACCEPT: c -->",
        "<!-- BLOCKER: no key -->",
        "<!-- DECISION: use tin -->",
        "<!-- CHECKPOINT: p -->",
        "- [ ] no id",
        "words",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&LINES[..]), 0..12).prop_map(|lines| lines.join("\n"))
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Noted { text: "mind the gap".to_owned(), purpose: NotePurpose::ResumeInstruction }),
            Just(Event::Noted { text: "so far".to_owned(), purpose: NotePurpose::Note }),
            Just(Event::Decided { text: "use tin".to_owned(), reason: Some("cheap".to_owned()) }),
            Just(Event::Blocked { message: "no ship".to_owned(), kind: None }),
            Just(Event::Unblocked { which: None, answer: None }),
            Just(Event::Paused { reason: Some("lunch".to_owned()) }),
            Just(Event::Checkpointed { reason: "stop".to_owned(), note: Some("half way".to_owned()) }),
            prop::sample::select(vec!["a", "b"])
                .prop_map(|id| Event::StepMoved(StepMove::new(StepTo::Done, vec![id.to_owned()]))),
        ]
    }

    proptest! {
        /// Whatever was recorded: what is told after one reading is what is told after reading everything.
        #[test]
        fn a_sketch_says_what_a_full_reading_says(
            plan in text(),
            phase in prop::option::of(text()),
            events in prop::collection::vec(event(), 0..5),
            edit in prop::option::of(text()),
        ) {
            let mut files = MemoryFiles::default();
            files.files.insert("plans/x/plan.md".to_owned(), plan.into());
            if let Some(phase) = phase {
                files.files.insert("plans/x/phase-02.md".to_owned(), phase.into());
            }
            for event in std::iter::once(Event::Started(Start::default())).chain(events) {
                if let Ok(change) = record(&place(), &files, &event, &moment()) {
                    files.apply(&change);
                }
            }
            if let Some(edit) = edit {
                files.files.insert("plans/x/plan.md".to_owned(), edit.into());
            }
            let is_in_line = super::super::alignment(&place(), &files) == Ok(super::super::Alignment::InLine);
            let sketch = sketch(&place(), &files, &moment()).expect("it can be read");
            prop_assert_eq!(sketch.is_some(), is_in_line);
            if let Some(sketch) = sketch {
                let (plan, text) = told_in_full(&files);
                prop_assert_eq!(told(&sketch.unit, &sketch.plan), text);
                prop_assert_eq!(sketch.plan, plan);
            }
        }
    }
}
