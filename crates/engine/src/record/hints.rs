//! Hints of a refusal are tried before they are printed. A dialect refuses one thing after another, so what it names as
//! the way out may be refused in its turn: then the hints of that refusal take its place.

use piton_model::hint::verbs;
use piton_model::{
    Arg, Event, GateJudgement, Hint, Invocation, Refusal, RefusalKind, ResumeAction, ResumeMode, Start, State,
    StepMove, StepTo, Verdict,
};

use super::dialects::{self, resume_plan};
use super::{RecordError, Recorder, Session};
use crate::find;
use crate::life::{Claim, exact};

/// How many refusals are followed from one hint.
const DEEPEST: u8 = 3;

impl Session<'_> {
    /// The same error; a refusal gets hints that the rules accept as the unit stands.
    pub(crate) fn advised(&self, error: RecordError, recorder: &Recorder) -> RecordError {
        match error {
            RecordError::Refused(mut refusal) => {
                let state = recorder.attempt.and_then(|_| self.state(recorder));
                refusal.hints = match state {
                    // What a person paused is continued by a person.
                    Some(State::Paused { .. }) => {
                        vec!["it is paused by its user: end now; what you made stays where it is".into()]
                    }
                    // A worker that types what it was told earlier would open again what it has just finished.
                    Some(State::Done) => vec!["it is complete, and nothing is left to record: end now".into()],
                    _ => self.hints_that_work(refusal.hints, recorder),
                };
                RecordError::Refused(refusal)
            }
            RecordError::NotFound(_) | RecordError::Busy { .. } | RecordError::Failed { .. } => error,
        }
    }

    pub(super) fn is_paused(&self, recorder: &Recorder) -> bool {
        matches!(self.state(recorder), Some(State::Paused { .. }))
    }

    fn state(&self, recorder: &Recorder) -> Option<State> {
        let found = exact(&self.target).ok().and_then(|unit| find(self.workspace, &unit, recorder.now).ok());
        found.map(|found| found.unit.state)
    }

    /// Hints that the rules accept as the unit stands, each once.
    pub(crate) fn hints_that_work(&self, hints: Vec<Hint>, recorder: &Recorder) -> Vec<Hint> {
        let mut kept = Vec::new();
        hints.into_iter().for_each(|hint| self.keep(hint, DEEPEST, recorder, &mut kept));
        kept
    }

    fn keep(&self, hint: Hint, depth: u8, recorder: &Recorder, kept: &mut Vec<Hint>) {
        let refused = hint.commands.first().and_then(|command| self.refused(command, recorder));
        match refused {
            None if kept.iter().any(|known| known.commands == hint.commands && !hint.commands.is_empty()) => {}
            None => kept.push(hint),
            Some(_) if depth == 0 => {}
            Some(refusal) => {
                let ways = refusal.hints.into_iter().filter(|hint| !hint.commands.is_empty());
                ways.for_each(|way| self.keep(way, depth - 1, recorder, kept));
            }
        }
    }

    /// Why a command about this unit would be refused; nothing when it is accepted, only reads or is about another unit.
    fn refused(&self, command: &Invocation, recorder: &Recorder) -> Option<Refusal> {
        if command.args.first() != Some(&Arg::unit(&self.target.name)) {
            return None;
        }
        let has = |flag: &str| command.options.iter().any(|(option, _)| *option == flag);
        let takes = [&verbs::RESUME, &verbs::RESTART, &verbs::TAKEOVER].contains(&command.verb);
        if takes {
            let mut plain = command.clone();
            plain.options.retain(|(option, _)| *option != "--force");
            let claim = Claim { force: has("--force"), command: &plain, goes_on: command.verb == &verbs::RESUME };
            if let Err(RecordError::Refused(refusal)) = self.spare_the_living(&claim, recorder) {
                return Some(refusal);
            }
        }
        let (dialect, place, files) = (self.target.dialect, &self.target.place, self.files());
        if command.verb == &verbs::RESUME {
            let mode = [
                ("--restart", ResumeMode::Restart),
                ("--continue", ResumeMode::Continue),
                ("--fixed", ResumeMode::Fixed),
            ];
            let mode = mode.into_iter().find(|(flag, _)| has(flag)).map(|(_, mode)| mode);
            let moment = self.moment(&Event::Resumed { mode }, recorder);
            return match resume_plan(dialect, place, &files, mode, &moment) {
                Ok(plan) if plan.action == ResumeAction::Refuse => {
                    Some(Refusal { hints: plan.reasons, ..Refusal::rule("") })
                }
                Ok(_) => None,
                Err(refusal) => Some(refusal),
            };
        }
        let event = event_of(command)?;
        if let Ok(Some(refusal)) = self.beyond_stage(recorder, &event) {
            return Some(refusal);
        }
        let refusal = dialects::record(dialect, place, &files, &event, &self.moment(&event, recorder)).err()?;
        // What the reader fills in is not known here, so only the rules and the documents are asked.
        matches!(refusal.kind, RefusalKind::Rule | RefusalKind::Document).then_some(refusal)
    }
}

/// What a command records; nothing when it only reads, or needs a file to be read.
fn event_of(command: &Invocation) -> Option<Event> {
    let words = command.argv().split_off(1 + command.verb.words.len());
    let word = |place: usize| words.get(place).cloned().unwrap_or_default();
    let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let all = |name: &str| {
        let given = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| *option == name);
        given.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    let names: Vec<String> = words.iter().skip(2).take_while(|word| !word.starts_with("--")).cloned().collect();
    let verb = command.verb;
    Some(if verb == &verbs::START && option("--spec").is_none() {
        Event::Started(Start {
            title: option("--title"),
            steps: all("--step"),
            gates: all("--gate"),
            total: option("--total").map(|_| 1),
            feature: option("--feature"),
            stage: option("--stage"),
            ..Start::default()
        })
    } else if verb == &verbs::STEP {
        let to = match &*word(1) {
            "begin" => StepTo::Begun,
            "done" => StepTo::Done,
            "fail" => StepTo::Failed,
            _ => StepTo::Skipped,
        };
        Event::StepMoved(StepMove {
            title: option("--title"),
            message: option("--message"),
            ..StepMove::new(to, names)
        })
    } else if verb == &verbs::STAGE {
        Event::StageEntered { stage: word(1), phase: None }
    } else if verb == &verbs::GATE {
        Event::GateJudged(GateJudgement { passed: word(1) == "pass", names, step: option("--step"), evidence: None })
    } else if verb == &verbs::VERDICT {
        let usual = match &*word(1) {
            "PLAN" => 3.0,
            "GO" => 8.0,
            _ => 90.0,
        };
        let number = |name: &str| option(name).and_then(|value| value.parse().ok());
        Event::VerdictGiven(Verdict {
            word: word(1),
            score: option("--score").map(|score| score.parse().unwrap_or(usual)),
            reason: option("--reason"),
            issues: option("--issues"),
            p0: number("--p0"),
            p1: number("--p1"),
            ..Verdict::default()
        })
    } else if verb == &verbs::UNBLOCK {
        Event::Unblocked { which: None, answer: None }
    } else if verb == &verbs::PAUSE {
        Event::Paused { reason: option("--reason") }
    } else if verb == &verbs::FINISH {
        Event::Finished
    } else if verb == &verbs::REOPEN {
        Event::Reopened
    } else if verb == &verbs::TAKEOVER {
        Event::TakenOver { agent: option("--as")? }
    } else if verb == &verbs::RESTART {
        Event::Restarted { force: words.iter().any(|word| word == "--force") }
    } else {
        return None;
    })
}
