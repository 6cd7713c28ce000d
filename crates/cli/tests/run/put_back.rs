//! Workers that write their whole checkpoint by hand, over what a person recorded meanwhile: the person's word counts, as it does
//! for a worker that records with Piton, while a lead is at work and after it was killed.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, finish, wait_for};

/// The worker of a story. It is held once at stage `AT`, and then writes its checkpoint to `FILE`.
const STORY_WORKER: &str = r#"
file=FILE; mkdir -p "$(dirname "$file")"
write() { printf '{"storyId":"S-1","stage":%s,"agentId":"hand","tasksCompleted":[%s],"tasksRemaining":[%s],"lastAction":"by hand","timestamp":"%s"%s}\n' \
  "$1" "$2" "$3" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$4" > "$file"; }
cat > "$MARKS/prompt-$PITON_STAGE"
all='"S-1-a"'; if grep -q S-1-fix1 "$PITON_CHECKPOINT"; then all='"S-1-a","S-1-fix1"'; fi
if [ "$PITON_STAGE" = AT ] && mkdir "$MARKS/once" 2> /dev/null; then hold S-1; fi
case $PITON_STAGE in
  0) write 0 '' '"S-1-a"' ',"planScore":3' ;;
  1) write 1 '' '' ',"readiness":8,"verdict":"GO"' ;;
  2) keep S-1-a; write 2 "$all" '' '' ;;
  3) write 3 "$all" '' VERDICT ;;
esac
: > "$MARKS/ended-$PITON_STAGE"; exit 0
"#;

const PASS: &str = r#"',"verdict":"PASS","qualityScore":92'"#;
const FAIL: &str = r#"',"verdict":"FAIL","qualityScore":20,"issues":"slow"'"#;

/// Where a story's worker writes: the workspace, as its prompt says, or its worktree.
const PLACES: [&str; 2] = ["\"$PITON_CHECKPOINT\"", ".pipeline/checkpoint-S-1.json"];

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";

#[derive(Debug, Clone, Copy)]
enum Lead {
    Lives,
    IsKilled,
}

const LEADS: [Lead; 2] = [Lead::Lives, Lead::IsKilled];

fn story(at: u8, file: &str, verdict: &str) -> Yard {
    let hook = STORY_WORKER.replace("AT", &at.to_string()).replace("FILE", file).replace("VERDICT", verdict);
    let yard = yard(&hook, STORY, &[]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 0\nvalidation_retries = 0");
    yard.workspace.write("piton.toml", settings);
    yard.commit("settings");
    yard
}

/// Begins a run, waits until its worker is held, acts, lets it write its checkpoint, and waits for the end of the run, or of
/// the next one.
fn under(lead: Lead, yard: &Yard, arguments: &[&str], held: &str, ended: &str, act: impl FnOnce()) -> Ended {
    match lead {
        Lead::Lives => meanwhile(yard, arguments, held, act),
        Lead::IsKilled => {
            let mut lead = yard.command(arguments).spawn().expect("it starts");
            let mark = |name: &str| yard.outer(&format!("marks/{name}"));
            wait_for("the worker", || mark(&format!("held-{held}")).exists(), || yard.piton(&["status"]).stdout);
            lead.kill().expect("it can be killed");
            finish(lead);
            act();
            fs::write(mark("go"), "").expect("it can be written");
            wait_for("its checkpoint", || mark(&format!("ended-{ended}")).exists(), String::new);
            yard.piton(arguments)
        }
    }
}

#[test]
fn a_judge_that_writes_its_checkpoint_does_not_replace_a_persons_verdict() {
    for (lead, place) in LEADS.into_iter().flat_map(|lead| PLACES.map(|place| (lead, place))) {
        let refused = ["verdict", "pipeline:S-1", "FAIL", "--score", "10", "--issues", "it deletes files"];
        let waived = ["verdict", "pipeline:S-1", "WAIVED", "--score", "60"];
        let no_go = ["verdict", "pipeline:S-1", "NO-GO", "--score", "3", "--reason", "no port"];
        for (at, verdict, typed, code, want) in [
            (3, PASS, &refused[..], 4, "FAIL: it deletes files"),
            (3, FAIL, &waived, 0, "WAIVED"),
            // Its own refusal has other issues.
            (3, FAIL, &refused, 4, "FAIL: it deletes files"),
            (1, PASS, &no_go, 4, "NO-GO: no port"),
        ] {
            let yard = story(at, place, verdict);
            let ended = under(lead, &yard, &["run", "--yes"], "S-1", &at.to_string(), || {
                yard.run(typed);
            });
            let about = format!("{lead:?} {place} {typed:?}: {}", said(&ended));
            assert_eq!((ended.code, is_on_main(&yard, "S-1-a.txt")), (Some(code), code == 0), "{about}");
            assert!(ended.stdout.contains(want), "{about}");
        }
    }
}

#[test]
fn a_version_that_a_person_goes_back_to_is_not_judged_by_the_worker_of_a_later_stage() {
    for lead in LEADS {
        let yard = story(3, PLACES[0], PASS);
        let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
        yard.workspace.write("piton.toml", settings.replace("respawn = 0", "respawn = 1"));
        yard.commit("settings");
        let ended = under(lead, &yard, &["run", "--yes"], "S-1", "3", || {
            let log = yard.json(&["log", "pipeline:S-1", "--json"]);
            let events = log["events"].as_array().expect("events");
            // Stage 2, with all of its work before it.
            let is_begun = |event: &&serde_json::Value| event["summary"] == "resumed at stage 2";
            let begun = events.iter().find(is_begun).expect("it began")["seq"].as_u64().expect("a number");
            yard.run(&["rollback", &format!("pipeline:S-1@{begun}")]);
        });
        let told = "its worker wrote its checkpoint over what a person recorded (rolled back to version";
        assert!(ended.stdout.contains(told), "{lead:?}: {}", said(&ended));
        // Both of the stages that follow have another worker.
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 6), "{lead:?}: {}", said(&ended));
    }
}

#[test]
fn what_a_person_says_under_a_worker_that_writes_by_hand_reaches_all_later_workers() {
    for (lead, place) in LEADS.into_iter().flat_map(|lead| PLACES.map(|place| (lead, place))) {
        let yard = story(1, place, PASS);
        let ended = under(lead, &yard, &["run", "--yes"], "S-1", "1", || {
            yard.run(&["decide", "pipeline:S-1", "amounts are in cents", "--reason", "the bank"]);
            yard.run(&["note", "pipeline:S-1", "the bank is closed on Sundays"]);
        });
        assert_eq!(ended.code, Some(0), "{lead:?} {place}: {}", said(&ended));
        for stage in [2, 3] {
            let prompt = fs::read_to_string(yard.outer(&format!("marks/prompt-{stage}"))).expect("a prompt");
            for text in ["amounts are in cents", "the bank is closed on Sundays"] {
                assert!(prompt.contains(text), "{lead:?} {place} stage {stage} lacks {text:?}: {prompt}");
            }
        }
    }
}

#[test]
fn a_story_that_a_person_holds_stays_held_when_its_worker_writes_its_checkpoint() {
    for (lead, place) in LEADS.into_iter().flat_map(|lead| PLACES.map(|place| (lead, place))) {
        for (verb, option) in [("pause", "--reason"), ("block", "--message")] {
            let yard = story(3, place, PASS);
            let ended = under(lead, &yard, &["run", "--yes"], "S-1", "3", || {
                yard.run(&[verb, "pipeline:S-1", option, "wait for me"]);
            });
            let about = format!("{lead:?} {place} {verb}: {}", said(&ended));
            assert_eq!((ended.code, is_on_main(&yard, "S-1-a.txt")), (Some(4), false), "{about}");
            assert!(ended.stdout.contains("paused: wait for me"), "{about}");
            let again = match verb {
                "pause" => yard.run(&["run", "--retry"]),
                _ => {
                    assert!(said(&ended).contains("piton unblock pipeline:S-1 --message TEXT"), "{about}");
                    yard.run(&["unblock", "pipeline:S-1", "--message", "go on"]);
                    yard.run(&["run"])
                }
            };
            assert!(is_on_main(&yard, "S-1-a.txt"), "{about}{}", said(&again));
        }
    }
}

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n\
                    acceptance_criteria = [\"works\"]\n";

/// The worker of a task: it is held, and then calls all of it complete.
const TASK_WORKER: &str = r#"
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
mkdir "$MARKS/once" 2> /dev/null && hold T1
keep T1
printf '{"checkpoint_id":"copy-T1-1","agent":"copy","task_id":"T1","task_title":"T1","status":"complete","progress_percent":100,"started_at":"%s","updated_at":"%s","completed_at":"%s","subtasks":{"total":2,"completed":2,"failed":0,"items":[{"id":"one","status":"complete"},{"id":"two","status":"complete"}]},"files_created":["T1.txt"],"files_modified":[],"acceptance_criteria_met":{"works":true},"errors":[],"resumable":true}\n' \
  "$now" "$now" "$now" > "$PITON_CHECKPOINT"
: > "$MARKS/ended-T1"; exit 0
"#;

#[test]
fn a_task_is_not_done_without_what_a_person_added_or_refused() {
    for lead in LEADS {
        for (typed, want) in [
            (&["step", "task:copy/T1", "begin", "three"][..], "three begun"),
            (&["gate", "task:copy/T1", "fail", "works"], "works"),
            (&["step", "task:copy/T1", "fail", "two"], "two failed"),
            (&["block", "task:copy/T1", "--message", "which one?"], "blocked: which one?"),
        ] {
            let yard = yard(TASK_WORKER, "", &[("tasks.toml", TASK)]);
            let ended = under(lead, &yard, &["run", "tasks.toml", "--yes"], "T1", "T1", || {
                yard.run(typed);
            });
            let about = format!("{lead:?} {typed:?}: {}", said(&ended));
            assert_eq!((ended.code, is_on_main(&yard, "T1.txt")), (Some(4), false), "{about}");
            let told = "without what a person recorded; it is recorded again: ";
            let told = ended.stdout.lines().find_map(|line| line.split_once(told)).map_or("", |(_, told)| told);
            assert!(told.contains(want), "{about}");
        }
    }
}

#[test]
fn a_subtask_that_a_person_skips_stays_skipped() {
    let open = TASK_WORKER.replace(r#""two","status":"complete""#, r#""two","status":"pending""#);
    let open = open
        .replace(r#""status":"complete","progress_percent":100"#, r#""status":"in_progress","progress_percent":50"#);
    let yard = yard(&open, "", &[("tasks.toml", TASK)]);
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], "T1", || {
        yard.run(&["step", "task:copy/T1", "skip", "two"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("it is recorded again: two skipped"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 1, "{}", said(&ended));
}

#[test]
fn a_unit_that_is_begun_anew_is_not_kept_from_the_run_by_its_earlier_worker() {
    let obeys = r#"mkdir "$MARKS/once" 2> /dev/null && hold T1"#;
    for (lead, hook) in LEADS.into_iter().flat_map(|lead| [(lead, obeys), (lead, TASK_WORKER)]) {
        let task = TASK.replace("acceptance_criteria = [\"works\"]\n", "");
        // The worker that is held goes on when it is asked to end, and is not let go before the restart is recorded.
        let yard = yard(&format!("{hook}\nkeep \"$PITON_ATTEMPT\"\n"), "", &[("tasks.toml", &task)]);
        let hook = fs::read_to_string(yard.outer("marks/hook")).expect("a hook");
        set_hook(&yard, &format!("trap '' TERM\n{hook}"));
        let run = ["run", "tasks.toml", "--yes"];
        let ended = match lead {
            Lead::Lives => meanwhile(&yard, &run, "T1", || {
                yard.run(&["restart", "task:copy/T1", "--force"]);
            }),
            Lead::IsKilled => {
                let mut lead = yard.command(&run).spawn().expect("it starts");
                wait_for("the worker", || yard.outer("marks/held-T1").exists(), String::new);
                lead.kill().expect("it can be killed");
                finish(lead);
                yard.run(&["restart", "task:copy/T1", "--force"]);
                // Its worker is never let go: the next lead ends it.
                yard.piton(&run)
            }
        };
        assert_eq!(ended.code, Some(0), "{lead:?}: {}", said(&ended));
        assert!(is_on_main(&yard, "T1.txt") && !said(&ended).contains("another session"), "{lead:?}: {}", said(&ended));
        assert_eq!(workers(&yard), ["T1", "T1"], "{lead:?}: {}", said(&ended));
    }
}

#[test]
fn a_living_worker_of_an_earlier_life_is_ended() {
    // It would never end by itself.
    let yard = yard(
        r#"mkdir "$MARKS/once" 2> /dev/null && { : > "$MARKS/held-T1"; while :; do sleep 0.02; done; }"#,
        "",
        &[("tasks.toml", &TASK.replace("acceptance_criteria = [\"works\"]\n", ""))],
    );
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], "T1", || {
        yard.run(&["restart", "task:copy/T1", "--force"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("a person began it anew: its worker is ended"), "{}", said(&ended));
}

#[test]
fn a_story_that_is_begun_anew_while_no_lead_is_at_work_is_worked_on_again() {
    let yard = story(3, PLACES[0], PASS);
    let ended = under(Lead::IsKilled, &yard, &["run", "--yes"], "S-1", "3", || {
        yard.run(&["restart", "pipeline:S-1", "--force"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("(begun again at stage 0)"), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1-a.txt"), "{}", said(&ended));
}

#[test]
fn late_write_of_an_earlier_worker_does_not_finish_a_restarted_story() {
    let yard = story(9, PLACES[0], PASS);
    let hook = fs::read_to_string(yard.outer("marks/hook")).expect("a hook");
    set_hook(&yard, &format!("if [ \"$PITON_STAGE\" = 2 ]; then exit 1; fi\n{hook}"));
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["restart", "pipeline:S-1", "--force"]);
    // It writes from memory, long after its lead and its branch are gone.
    let late = r#"{"storyId":"S-1","stage":3,"agentId":"a","tasksCompleted":["S-1-a"],"tasksRemaining":[],"lastAction":"judged",
        "timestamp":"2026-11-18T10:00:00Z","verdict":"PASS","qualityScore":90}"#;
    yard.workspace.write(".pipeline/checkpoint-S-1.json", late);
    set_hook(&yard, &hook);
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1-a.txt"), "{}", said(&ended));
}
