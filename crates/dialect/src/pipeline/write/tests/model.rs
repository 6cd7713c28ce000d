//! Random hand writes and verbs, against a second, dumber model of what a story's tasks are.

use std::collections::BTreeSet;

use piton_model::fleet::Standing;

use super::random::any_event;
use super::*;
use crate::pipeline::standing;

/// What somebody does to a story.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Verb(Box<Event>),
    /// A worker writes the whole checkpoint, with the protocol's keys alone.
    Hand(Value),
    /// A lead looks at the stage, and goes on to the next one when it is complete.
    Lead,
}

fn by_hand() -> impl Strategy<Value = Value> {
    let some = || prop::sample::subsequence(vec!["T-1", "T-2", "T-3", "X-9"], 0..4);
    let number = |most: i64| prop::option::weighted(0.8, -1..most);
    let verdict = prop::sample::select(vec!["GO", "GO", "NO-GO", "PASS", "PASS", "FAIL", "x"]);
    let text = || prop::option::weighted(0.7, "[a-z]{1,4}");
    let keys = (number(6), number(12), number(120), prop::option::weighted(0.8, verdict), text(), text());
    (0u8..4, some(), some(), keys, any::<bool>()).prop_map(|(stage, completed, remaining, keys, is_whole)| {
        let (plan, readiness, quality, verdict, reason, issues) = keys;
        let mut checkpoint = json!({
            "storyId": "PROJ-42", "stage": stage, "agentId": "a", "tasksCompleted": completed,
            "tasksRemaining": remaining, "lastAction": "x", "timestamp": "2026-02-14T14:30:00Z",
        });
        let own = [
            ("planScore", json!(plan), 0),
            ("readiness", json!(readiness), 1),
            ("reason", json!(reason), 1),
            ("qualityScore", json!(quality), 3),
            ("issues", json!(issues), 3),
            ("verdict", json!(verdict), stage),
        ];
        for (key, value, of) in own {
            if of == stage && !value.is_null() && (is_whole || key != "verdict") {
                checkpoint[key] = value;
            }
        }
        checkpoint
    })
}

pub(super) fn any_deed() -> impl Strategy<Value = Deed> {
    prop_oneof![4 => any_event().prop_map(|event| Deed::Verb(Box::new(event))), 4 => by_hand().prop_map(Deed::Hand), 4 => Just(Deed::Lead)]
}

fn ids(checkpoint: &Value, key: &str) -> BTreeSet<String> {
    checkpoint[key].as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

fn in_plan(checkpoint: &Value) -> BTreeSet<String> {
    let tasks = checkpoint["plannedTasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| task["id"].as_str().map(str::to_owned)).collect()
}

/// The tasks of the story, as somebody would keep them on paper.
#[derive(Debug, Default)]
struct Paper {
    planned: BTreeSet<String>,
    skipped: BTreeSet<String>,
}

impl Paper {
    /// Somebody looked at a checkpoint before a verb: only planning says what the tasks are.
    fn seen(&mut self, checkpoint: &Value) {
        if checkpoint["stage"] == 0 {
            self.planned = &ids(checkpoint, "tasksRemaining") | &ids(checkpoint, "tasksCompleted");
            self.skipped = ids(checkpoint, "tasksSkipped");
        }
    }

    /// Piton wrote a checkpoint: what it lists are tasks from then on.
    fn written(&mut self, checkpoint: &Value) {
        let listed = &ids(checkpoint, "tasksRemaining") | &ids(checkpoint, "tasksCompleted");
        self.skipped = &ids(checkpoint, "tasksSkipped") - &listed;
        self.planned = match checkpoint["stage"] == 0 {
            true => listed,
            // A task that some worker listed before validation began again is kept in the plan alone.
            false => &(&(&self.planned | &listed) | &in_plan(checkpoint)) - &self.skipped,
        };
    }

    fn open(&self, checkpoint: &Value) -> BTreeSet<String> {
        let (completed, remaining) = (ids(checkpoint, "tasksCompleted"), ids(checkpoint, "tasksRemaining"));
        &(&(&self.planned - &completed) - &self.skipped) | &remaining
    }
}

fn stage_in(checkpoint: &Value) -> u8 {
    checkpoint["stage"].as_u64().and_then(|stage| u8::try_from(stage).ok()).expect("a stage")
}

/// Whether `check` and `status` say that the stage is complete: no error but a plan's score, nothing awaited, no task left.
fn is_complete_by_check(bench: &Bench, paper: &Paper) -> bool {
    let checkpoint = bench.json();
    let (state, mut errors) = bench.look_remembering();
    errors.retain(|name| *name != "pipeline-plan-score");
    let known = &paper.planned | &(&ids(&checkpoint, "tasksCompleted") | &ids(&checkpoint, "tasksRemaining"));
    let has_tasks = !known.is_empty();
    let needs_tasks = match stage_in(&checkpoint) {
        1 => checkpoint["verdict"] == "GO",
        stage => stage > 0,
    };
    let is_open = stage_in(&checkpoint) == 2 && !paper.open(&checkpoint).is_empty();
    let is_awaited = checkpoint["awaits"].as_array().is_some_and(|keys| !keys.is_empty());
    let is_halted = !matches!(state, State::Running | State::Done);
    errors.is_empty() && !is_halted && !is_open && !is_awaited && (has_tasks || !needs_tasks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever workers write and verbs record: no road leads to stage 3 while a planned task is open, and a lead, `check`
    /// and the verbs judge a checkpoint alike.
    #[test]
    fn no_road_leads_past_an_open_task(
        has_state in any::<bool>(),
        deeds in prop::collection::vec(any_deed(), 1..40),
    ) {
        let mut bench = if has_state { Bench::led("QUEUED") } else { Bench::default() };
        bench.must(&start("0", &["T-1", "T-2"]));
        let mut paper = Paper::default();
        paper.written(&bench.json());
        for deed in deeds {
            let before = bench.json();
            let event = match &deed {
                Deed::Hand(checkpoint) => {
                    bench.files.files.insert(PATH.into(), checkpoint.to_string().into_bytes());
                    None
                }
                Deed::Verb(event) => Some((**event).clone()),
                Deed::Lead => {
                    let stage_now = stage_in(&before);
                    let left = standing(&place(), &bench.files, stage_now, &moment(0));
                    let is_complete = matches!(left, Standing::Complete(_));
                    paper.seen(&before);
                    bench.files.observe(PATH);
                    prop_assert_eq!(is_complete, is_complete_by_check(&bench, &paper), "{:?}: {} {:?}", left, before, paper);
                    if is_complete && stage_now == 3 {
                        prop_assert!(paper.open(&before).is_empty(), "{} {:?}", before, paper);
                    }
                    is_complete.then(|| stage(&(stage_now + 1).min(3).to_string()))
                }
            };
            let Some(event) = event else { continue };
            paper.seen(&before);
            let is_told = bench.tell(&event).is_ok();
            if !is_told {
                continue;
            }
            let now = bench.json();
            if event == (Event::Restarted { force: false }) {
                paper = Paper::default();
            }
            let open = paper.open(&now);
            paper.written(&now);
            if stage_in(&now) == 3 && stage_in(&before) != 3 {
                prop_assert!(open.is_empty() && !paper.planned.is_empty(), "{:?} led past {:?}: {}", event, open, now);
            }
            if event == Event::Finished {
                prop_assert!(paper.open(&now).is_empty() && !paper.planned.is_empty(), "finished: {} {:?}", now, paper);
            }
        }
    }
}
