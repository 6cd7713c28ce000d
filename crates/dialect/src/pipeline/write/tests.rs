use piton_model::{
    Event, GateJudgement, Id, Lifecycle, Moment, NotePurpose, RefusalKind, ResumeAction, Severity, Start, State,
    StepMove, StepTo, Time, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::resume;
use super::*;
use crate::Source;
use crate::files::memory::MemoryFiles;
use crate::pipeline::{Checkpoint, Seen, read, read_checkpoint, read_remembering, remember};

mod documents;
mod hands;
mod hints;
mod model;
mod protocol;
mod random;
mod resuming;
mod stages;
mod starting;

const PATH: &str = ".pipeline/checkpoint-PROJ-42.json";
const STATE: &str = ".pipeline/state.json";
const STRAY: &str = ".worktrees/story-PROJ-42/.pipeline/checkpoint-PROJ-42.json";

/// 2026-02-14T14:30:00Z
const NOW: i64 = 1_771_079_400;

fn place() -> Place {
    Place {
        base: String::new(),
        id: vec![Id::parse("PROJ-42").expect("an id")],
        document: None,
        root: String::new(),
        typed_below: String::new(),
    }
}

fn moment(minutes: i64) -> Moment {
    Moment {
        now: Time::from_unix_seconds(NOW + 60 * minutes),
        by: "main".into(),
        attempt: 1,
        session: None,
        fresh_id: "fresh-1".into(),
        ticket: None,
    }
}

#[derive(Clone, Default)]
struct Bench {
    files: MemoryFiles,
    minutes: i64,
}

impl Bench {
    fn started(stage: &str, tasks: &[&str]) -> Bench {
        let mut bench = Bench::default();
        bench.must(&start(stage, tasks));
        bench
    }

    /// A lead's state in which the story stands somewhere.
    fn led(standing: &str) -> Bench {
        let mut bench = Bench::default();
        bench.lead(standing);
        bench
    }

    fn lead(&mut self, standing: &str) {
        let state = json!({
            "complete": false, "active_workers": 1, "stories_remaining": 1, "last_check": "2026-02-14T14:00:00Z",
            "story_state": {"PROJ-42": standing}, "worker_map": {"PROJ-42": "story-PROJ-42-s0"}, "mine": [1.50]
        });
        self.files.files.insert(STATE.into(), state.to_string().into_bytes());
    }

    fn tell(&mut self, event: &Event) -> Result<Change, Refusal> {
        // The store records what others wrote before it decides, and what it writes itself.
        self.files.observe(PATH);
        let change = record(&place(), &self.files, event, &moment(self.minutes))?;
        self.files.apply(&change);
        self.files.observe(PATH);
        Ok(change)
    }

    fn must(&mut self, event: &Event) -> Change {
        self.tell(event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal} {:?}", refusal.hints))
    }

    fn refused(&mut self, event: &Event) -> Refusal {
        let before = self.files.files.clone();
        let refusal = self.tell(event).expect_err("this is refused");
        assert_eq!(before, self.files.files);
        refusal
    }

    fn value(&self, path: &str) -> Value {
        serde_json::from_slice(&self.files.files[path]).expect("JSON")
    }

    fn json(&self) -> Value {
        self.value(PATH)
    }

    fn standing(&self) -> Value {
        self.value(STATE)["story_state"]["PROJ-42"].clone()
    }

    fn shows(&self, example: &Value) {
        let json = self.json();
        for (key, value) in example.as_object().expect("an object") {
            assert_eq!(&json[key], value, "{key}");
        }
    }

    /// What `check` and `status` say without a journal.
    fn look(&self) -> (State, Vec<&'static str>) {
        let now = moment(self.minutes).now;
        let source = Source { path: PATH.into(), bytes: &self.files.files[PATH], modified: None };
        self.look_with(read_checkpoint(&source, layout::File::Checkpoint, now).expect("ours"))
    }

    /// What `check` and `status` say in a workspace with its journal.
    fn look_remembering(&self) -> (State, Vec<&'static str>) {
        let now = moment(self.minutes).now;
        let source = Source { path: PATH.into(), bytes: &self.files.files[PATH], modified: None };
        let remember = || remember(&self.files, PATH);
        self.look_with(read_remembering(&source, layout::File::Checkpoint, now, &remember).expect("ours"))
    }

    fn look_with(&self, checkpoint: Checkpoint) -> (State, Vec<&'static str>) {
        let now = moment(self.minutes).now;
        let source = |path: &str| Source { path: path.into(), bytes: &self.files.files[path], modified: None };
        let state = self.files.files.contains_key(STATE).then(|| source(STATE));
        let (mut unit, mut all) = (None, Vec::new());
        read(state.as_ref(), vec![checkpoint], self.files.limits.unwrap_or_default(), now, &mut |seen| match seen {
            Seen::Story(story, findings) => {
                unit = Some(story);
                all.extend(findings);
            }
            Seen::Loose(findings) => all.extend(findings),
        });
        let errors = all.iter().filter(|found| found.code.severity == Severity::Error);
        (unit.expect("a story").state, errors.map(|found| found.code.name).collect())
    }

    fn plan(&self) -> piton_model::ResumePlan {
        resume(&place(), &self.files, None, &moment(self.minutes)).expect("a plan")
    }
}

fn start(stage: &str, tasks: &[&str]) -> Event {
    Event::Started(Start {
        stage: Some(stage.into()),
        session: Some("abc-123-def".into()),
        steps: tasks.iter().map(|task| (*task).to_owned()).collect(),
        ..Start::default()
    })
}

fn step(to: StepTo, tasks: &[&str]) -> Event {
    Event::StepMoved(StepMove::new(to, tasks.iter().map(|task| (*task).to_owned()).collect()))
}

fn stage(stage: &str) -> Event {
    Event::StageEntered { stage: stage.into(), phase: None }
}

fn verdict(word: &str, score: f64, text: Option<&str>) -> Event {
    Event::VerdictGiven(Verdict {
        word: word.into(),
        score: Some(score),
        reason: text.map(str::to_owned),
        issues: text.map(str::to_owned),
        ..Verdict::default()
    })
}

fn resumed() -> Event {
    Event::Resumed { mode: None }
}

const TASKS: [&str; 5] = ["PROJ-101", "PROJ-102", "PROJ-103", "PROJ-104", "PROJ-105"];
