//! Verbs as they are typed, turned into what the engine is asked.

use std::time::Duration;

use piton_engine::{
    Force, RecordError, Recorder, ResumeRequest, Workspace, record, repair, resume, rollback, take_over,
};
use piton_model::{Event, GateJudgement, NotePurpose, Refusal, Start, StepMove, StepTo, Time, UnitRef, Verdict};
use piton_testkit::CrashDisk;

/// A moment, some minutes after the beginning.
pub fn at(minutes: usize) -> Time {
    Time::from_unix_seconds(1_771_588_140 + 60 * minutes as i64)
}

/// Somebody who records something at a moment.
pub fn recorder(now: Time) -> Recorder {
    Recorder {
        now,
        by: "main".to_owned(),
        attempt: None,
        own: None,
        session: Some("s-1".to_owned()),
        wait: Duration::ZERO,
        holder: "a test".to_owned(),
    }
}

pub fn workspace(disk: &CrashDisk) -> Workspace {
    Workspace::on(Box::new(disk.clone()))
}

/// Does what a verb says. Returns the number of its event; a resume that is refused by the plan counts as refused.
pub fn act(disk: &CrashDisk, unit: &str, verb: &str, now: Time) -> Result<u64, RecordError> {
    let wanted = UnitRef::parse(unit).expect("a unit's name");
    let workspace = workspace(disk);
    let recorder = recorder(now);
    let (word, rest) = verb.split_once(' ').unwrap_or((verb, ""));
    match word {
        "resume" => {
            let request = ResumeRequest {
                mode: None,
                force: true,
                budget: 4000,
                outputs_in: None,
                audience: piton_model::Audience::Shell,
            };
            let resumed = resume(&workspace, &wanted, &request, &recorder)?;
            resumed.seq.ok_or_else(|| {
                RecordError::Refused(Refusal::rule(
                    resumed.plan.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
                ))
            })
        }
        "repair" => repair(&workspace, &wanted, &recorder).map(|recorded| recorded.seq),
        "takeover" => take_over(&workspace, &wanted, rest, Force::Yes, &recorder).map(|recorded| recorded.seq),
        "rollback" => {
            let seq = rest.parse().expect("a number");
            rollback(&workspace, &wanted, seq, &recorder).map(|recorded| recorded.seq)
        }
        _ => record(&workspace, &wanted, &event(unit, word, rest), &recorder).map(|recorded| recorded.seq),
    }
}

/// An outside edit: `tear PATH`, `edit PATH FROM TO`, `delete PATH`; `~` is a space. Whether the verb was one.
pub fn outside(disk: &CrashDisk, verb: &str) -> bool {
    let words: Vec<&str> = verb.split(' ').collect();
    match words[..] {
        ["tear", path] => {
            let bytes = disk.bytes(path).expect("a file to tear");
            disk.write_outside(path, &bytes[..bytes.len() / 2]);
        }
        ["edit", path, from, to] => {
            let text = String::from_utf8(disk.bytes(path).expect("a file to edit")).expect("text");
            let (from, to) = (from.replace('~', " "), to.replace('~', " "));
            assert!(text.contains(&from), "{from} in {text}");
            disk.replace_outside(path, text.replacen(&from, &to, 1).as_bytes());
        }
        ["delete", path] => disk.remove_outside(path),
        _ => return false,
    }
    disk.sync_outside();
    true
}

/// An event as it is typed.
pub fn event(unit: &str, word: &str, rest: &str) -> Event {
    let text = || rest.to_owned();
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "start" => Event::Started(start(unit)),
        "step" => {
            let to = match first {
                "begin" => StepTo::Begun,
                "done" => StepTo::Done,
                "fail" => StepTo::Failed,
                "skip" => StepTo::Skipped,
                other => panic!("{other} is no way to move a step"),
            };
            let message = (first == "fail" || first == "skip").then(|| "so it is".to_owned());
            Event::StepMoved(StepMove { message, ..StepMove::new(to, second.split(' ').map(str::to_owned).collect()) })
        }
        "stage" => Event::StageEntered { stage: text(), phase: None },
        "gate" => Event::GateJudged(GateJudgement {
            passed: first == "pass",
            names: vec![second.to_owned()],
            step: None,
            evidence: None,
        }),
        "verdict" => {
            let score = second.parse().ok();
            Event::VerdictGiven(Verdict { word: first.to_owned(), score, ..Verdict::default() })
        }
        "block" => Event::Blocked { message: "no key".to_owned(), kind: (!rest.is_empty()).then(text) },
        "unblock" => Event::Unblocked { which: None, answer: None },
        "pause" => Event::Paused { reason: Some("lunch".to_owned()) },
        "fail" => Event::Failed {
            step: (!rest.is_empty()).then(text),
            message: "it broke".to_owned(),
            file: Some("src/a.rs".to_owned()),
            line: Some(7),
        },
        "note" => Event::Noted { text: text(), purpose: NotePurpose::Note },
        "instruct" => Event::Noted { text: text(), purpose: NotePurpose::ResumeInstruction },
        "decide" => Event::Decided { text: text(), reason: Some("it is cheap".to_owned()) },
        "beat" => Event::Beat,
        "finish" => Event::Finished,
        "restart" => Event::Restarted { force: true },
        "reopen" => Event::Reopened,
        "backup" => Event::BackedUp { reason: text() },
        "helper" if first == "start" => {
            Event::HelperStarted { kind: "fullstack".to_owned(), agent: None, steps: vec![second.to_owned()] }
        }
        "helper" => {
            Event::HelperStopped { kind: "fullstack".to_owned(), agent: None, completed: vec![second.to_owned()] }
        }
        "mark" => Event::Marked,
        "checkpoint" => Event::Checkpointed { reason: text(), note: Some("what was said".to_owned()) },
        "crash" => Event::Crashed { session: text() },
        "files" => Event::FilesTouched { created: vec![first.to_owned()], modified: vec![second.to_owned()] },
        "tool" => Event::ToolFailed { tool: first.to_owned(), message: second.to_owned() },
        other => panic!("{other} is no verb"),
    }
}

/// How a unit of each dialect starts.
fn start(unit: &str) -> Start {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match unit.split(':').next().expect("a dialect") {
        "pipeline" => Start { stage: Some("0".to_owned()), steps: list(&["T-1", "T-2"]), ..Start::default() },
        "build" => Start {
            title: Some("Cashier".to_owned()),
            steps: list(&["WS1", "WS2"]),
            gates: list(&["lint", "tests"]),
            ..Start::default()
        },
        "task" => Start {
            title: Some("Convert".to_owned()),
            steps: list(&["one", "two"]),
            criteria: list(&["tidy"]),
            ..Start::default()
        },
        "crew" => Start {
            feature: Some("feature_01_x".to_owned()),
            stage: Some("S2.P1".to_owned()),
            steps: list(&["one", "two"]),
            ..Start::default()
        },
        _ => Start::default(),
    }
}
