use piton_model::{
    Event, Evidence, ExecutionNote, FixKind, GateJudgement, Id, Lifecycle, Moment, Names, NotePurpose, RefusalKind,
    ResumeAction, ResumeMode, Severity, Start, State, StepMove, StepTo, Time, Unit, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::find_spec::find_spec;
use super::super::{read_checkpoint, resume};
use super::*;
use crate::files::memory::MemoryFiles;
use crate::{Reading, Source};

mod arrows;
mod examples;
mod failures;
mod gates;
mod life;
mod random;
mod resuming;
mod review;

const PATH: &str = ".claude/skills/build-pipeline/checkpoints/PRD-009.json";
const SPEC_PATH: &str = "docs/EXECUTION-SPEC-PRD-009.md";

/// 2025-12-11T10:00:00Z
const START: i64 = 1_765_447_200;

const SPEC: &str = "---
prd: PRD-009
prd_title: Cashier Workflows
workstreams:
  WS1: { name: Database Layer, gate: schema-validation }
  WS2: { name: Service Layer, depends_on: [WS1], gate: type-check }
  WS3: { name: Route Handlers, depends_on: [WS1], gate: lint }
  WS4: { name: Hooks, depends_on: [WS2, WS3], gate: type-check }
  WS5: { name: Tests, depends_on: [WS4], gate: test-pass }
execution_phases:
  - { name: Data, parallel: [WS1] }
  - { name: Services, parallel: [WS2, WS3] }
  - { name: Screens, parallel: [WS4] }
  - { name: Tests, parallel: [WS5] }
gates:
  schema-validation: { command: make schema }
  type-check: { command: make types }
  lint: { command: make lint }
  test-pass: { command: make test }
---
";

fn place() -> Place {
    Place {
        base: String::new(),
        id: vec![Id::parse("PRD-009").expect("an id")],
        document: None,
        root: String::new(),
        typed_below: String::new(),
    }
}

fn at(minutes: i64) -> Moment {
    Moment {
        now: Time::from_unix_seconds(START + 60 * minutes),
        by: "main".into(),
        attempt: 1,
        session: None,
        fresh_id: "f-1".into(),
        ticket: None,
    }
}

/// A workspace with one build in it.
#[derive(Clone, Default)]
struct Bench {
    files: MemoryFiles,
    minutes: i64,
}

impl Bench {
    fn plain() -> Bench {
        let mut bench = Bench::default();
        bench.must(&Event::Started(Start {
            title: Some("Cashier Workflows".into()),
            steps: ["WS1", "WS2", "WS3", "WS4", "WS5"].map(str::to_owned).to_vec(),
            gates: ["schema-validation", "type-check", "lint", "test-pass"].map(str::to_owned).to_vec(),
            ..Start::default()
        }));
        bench
    }

    fn with_spec() -> Bench {
        let mut bench = Bench::default();
        bench.files.files.insert(SPEC_PATH.into(), SPEC.into());
        bench.must(&Event::Started(Start { spec: Some((SPEC_PATH.into(), SPEC.into())), ..Start::default() }));
        bench
    }

    fn holding(text: &str) -> Bench {
        let mut bench = Bench::default();
        bench.files.files.insert(PATH.into(), text.into());
        bench
    }

    fn tell(&mut self, event: &Event) -> Result<Change, Refusal> {
        let change = record(&place(), &self.files, event, &at(self.minutes))?;
        self.files.apply(&change);
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

    fn text(&self) -> String {
        String::from_utf8(self.files.files[PATH].clone()).expect("text")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text()).expect("JSON")
    }

    /// Compares the keys that an example names.
    fn shows(&self, example: &Value) {
        let json = self.json();
        for (key, value) in example.as_object().expect("an object") {
            assert_eq!(&json[key], value, "{key}");
        }
    }

    fn reading(&self) -> Reading {
        let source = Source { path: PATH.into(), bytes: &self.files.files[PATH], modified: None };
        read_checkpoint(&source, at(self.minutes).now, &mut |wanted| find_spec(&place(), &self.files, wanted))
    }

    fn unit(&self) -> Unit {
        self.reading().unit.expect("a unit")
    }

    fn errors(&self) -> Vec<&'static str> {
        let found = self.reading().findings.into_iter();
        found.filter(|found| found.code.severity == Severity::Error).map(|found| found.code.name).collect()
    }
}

fn step(to: StepTo, steps: &[&str], outputs: &[&str]) -> Event {
    Event::StepMoved(StepMove {
        outputs: outputs.iter().map(|file| (*file).to_owned()).collect(),
        ..StepMove::new(to, steps.iter().map(|id| (*id).to_owned()).collect())
    })
}

fn begin(steps: &[&str]) -> Event {
    step(StepTo::Begun, steps, &[])
}

fn done(id: &str, outputs: &[&str]) -> Event {
    step(StepTo::Done, &[id], outputs)
}

fn gate(passed: bool, name: &str, step: Option<&str>) -> Event {
    Event::GateJudged(GateJudgement { passed, names: vec![name.into()], step: step.map(str::to_owned), evidence: None })
}

fn fail(step: &str) -> Event {
    Event::Failed { step: Some(step.into()), message: "torn".into(), file: None, line: None }
}

fn verdict(word: &str, p0: Option<u64>, reason: Option<&str>) -> Event {
    Event::VerdictGiven(Verdict { word: word.into(), p0, reason: reason.map(str::to_owned), ..Verdict::default() })
}

fn resumed(mode: Option<ResumeMode>) -> Event {
    Event::Resumed { mode }
}
