//! Whose word counts: the worker's own, its user's, and not that of a sibling or of what git put into a file. Each worker
//! runs a script of its test first, so that it can be held in the middle of its work.

use std::fs;

use crate::yard::{Ended, Yard, finish, wait_for};

const SETTINGS: &str =
    "[run]\nworkers = 2\nheartbeat = 1\npatience = 60\ngrace = 0.3\nlinger = 0.2\nrespawn = 0\nreworks = 0\n";

/// Writes down that it was started, does what the test says, makes a file, commits and records it.
const WORKER: &str = r#"
step=${PITON_STEP:-${PITON_UNIT##*[:/]}}
echo "$step" >> "$MARKS/workers"
hold() { : > "$MARKS/held-$1"; while [ ! -e "$MARKS/go" ]; do sleep 0.02; done; }
keep() { echo x > "$1.txt"; git add -A; git commit -qm "$1"; }
if [ -e "$MARKS/hook" ]; then . "$MARKS/hook"; fi
keep "$step"
case $PITON_UNIT in
  plan:* | build:*) "$PITON" step "$PITON_UNIT" done "$step" --output "$step.txt" ;;
  task:*) for part in one two; do "$PITON" step "$PITON_UNIT" done $part; done; "$PITON" finish "$PITON_UNIT" ;;
  pipeline:*) case $PITON_STAGE in 2) "$PITON" step "$PITON_UNIT" done "$step" ;; 3) "$PITON" verdict "$PITON_UNIT" PASS --score 90 ;; esac ;;
esac
"#;

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

const TASKS: [&str; 2] = ["T1", "T2"];

/// A repository whose workers run a hook first, and what else is in it.
pub fn yard(hook: &str, more: &str, files: &[(&str, &str)]) -> Yard {
    let yard = Yard::with(SETTINGS, "");
    let worker = format!("[worker]\ncommand = [\"/bin/sh\", \"-c\", {}]\n", serde_json::Value::from(WORKER));
    yard.workspace.write("piton.toml", format!("{SETTINGS}{worker}{more}"));
    set_hook(&yard, hook);
    for (path, text) in files {
        yard.workspace.write(path, *text);
    }
    yard.commit("what there is to do");
    yard
}

pub fn set_hook(yard: &Yard, hook: &str) {
    fs::write(yard.outer("marks/hook"), hook).expect("it can be written");
}

fn tasks() -> String {
    let task = |id: &&str| {
        format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\ntitle = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n")
    };
    TASKS.iter().map(task).collect()
}

pub fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

pub fn workers(yard: &Yard) -> Vec<String> {
    let text = fs::read_to_string(yard.outer("marks/workers")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn is_on_main(yard: &Yard, file: &str) -> bool {
    yard.git(&["ls-tree", "-r", "--name-only", "main"]).lines().any(|line| line == file)
}

fn lets_go(yard: &Yard) {
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
}

fn tick(yard: &Yard, task: &str) {
    let text = yard.text("plans/p/plan.md").replace(&format!("[ ] {task}"), &format!("[x] {task}"));
    yard.workspace.write("plans/p/plan.md", text);
}

/// Begins a run, waits until a worker or gate is held, acts, lets it go, and waits for the end of the run.
pub fn meanwhile(yard: &Yard, arguments: &[&str], held: &str, act: impl FnOnce()) -> Ended {
    let lead = yard.command(arguments).spawn().expect("it starts");
    let mark = yard.outer(&format!("marks/held-{held}"));
    wait_for("the worker", || mark.exists(), || yard.piton(&["status"]).stdout);
    act();
    lets_go(yard);
    finish(lead)
}

#[test]
fn a_step_that_a_sibling_records_stays_with_its_worker() {
    let hook = r#"if [ "$step" = a ]; then keep half; hold a; fi
if [ "$step" = b ]; then while [ ! -e "$MARKS/held-a" ]; do sleep 0.02; done; "$PITON" step plan:p done a; fi"#;
    let plan = PLAN.replace("\n## Two\n<!-- CHECKPOINT: two -->\n", "");
    let yard = yard(hook, "", &[("plans/p/plan.md", &plan)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        wait_for("the work of b", || is_on_main(&yard, "b.txt"), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt"), "its worker came to its end: {}", said(&ended));
}

#[test]
fn a_box_that_the_user_ticks_does_not_end_its_worker() {
    let yard = yard(r#"if [ "$step" = a ]; then keep half; hold a; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        tick(&yard, "A");
        beats(&yard);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

/// Waits for two heartbeats: between them the lead has looked at everything.
fn beats(yard: &Yard) {
    let path = yard.workspace.path(".piton/run/memory.json");
    let time = || fs::metadata(&path).and_then(|found| found.modified()).ok();
    for _ in 0..2 {
        let before = time();
        wait_for("a heartbeat", || time() != before, String::new);
    }
}

#[test]
fn a_step_that_the_user_did_after_the_run_was_stopped_is_left_to_them() {
    let hook = r#"if [ "$step" = a ]; then keep half; hold a; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-a").exists(), String::new);
    yard.run(&["stop", "--workers"]);
    finish(lead);
    yard.workspace.write("a.txt", "by hand\n");
    tick(&yard, "A");
    yard.commit("a by hand");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
    assert!(!is_on_main(&yard, "half.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert!(
        ended.stdout.contains("it was done by hand; its branch feature/p-a-a is left as it is"),
        "{}",
        said(&ended)
    );
}

#[test]
fn a_stash_does_not_undo_what_is_merged() {
    let plan = format!("{PLAN}- [ ] C <!-- TASK: c -->\n");
    let hook = r#"if [ "$step" = b ]; then hold b; fi
if [ "$step" = c ]; then while [ ! -e "$MARKS/stashed" ]; do sleep 0.02; done; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", &plan)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        yard.git(&["stash", "-q"]);
        assert!(yard.text("plans/p/plan.md").contains("[ ] A"), "the tick is stashed");
        // The lead ticks another box meanwhile.
        fs::write(yard.outer("marks/stashed"), "").expect("it can be written");
        wait_for("the tick", || yard.text("plans/p/plan.md").contains("[x] C"), String::new);
        beats(&yard);
        yard.git(&["checkout", "-q", "plans/p/plan.md"]);
        yard.git(&["stash", "pop", "-q"]);
    });
    let count = |step: &str| workers(&yard).iter().filter(|known| *known == step).count();
    assert_eq!((count("a"), count("b")), (1, 1), "{}", said(&ended));
}

#[test]
fn a_box_that_the_user_unticks_is_done_again() {
    let yard = yard(r#"if [ "$step" = b ]; then hold b; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        let text = yard.text("plans/p/plan.md").replace("[x] A", "[ ] A");
        yard.workspace.write("plans/p/plan.md", text);
        wait_for("the second worker", || workers(&yard).len() > 2, || yard.piton(&["status"]).stdout);
    });
    assert_eq!(workers(&yard).iter().filter(|step| *step == "a").count(), 2, "{}", said(&ended));
}

#[test]
fn a_plan_of_another_branch_is_not_run() {
    let yard =
        yard(r#"[ "$step" = a ] && exit 1"#, "", &[("plans/p/plan.md", &PLAN[..PLAN.find("## Two").expect("two")])]);
    yard.git(&["branch", "hotfix"]);
    yard.workspace.write("plans/p/plan.md", PLAN);
    yard.commit("another phase");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.git(&["stash", "-q"]);
    yard.git(&["checkout", "-q", "hotfix"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("run it there: git checkout main"), "{}", said(&ended));
    yard.git(&["checkout", "-q", "main"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_task_that_the_user_finishes_before_its_turn_gets_no_worker() {
    let tasks = tasks();
    let yard = yard(r#"if [ "$step" = T1 ]; then hold T1; fi"#, "", &[("tasks.toml", &tasks)]);
    let settings = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("one worker");
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], "T1", || {
        yard.run(&["start", "task:copy/T2", "--step", "one"]);
        yard.run(&["step", "task:copy/T2", "done", "one"]);
        yard.run(&["finish", "task:copy/T2"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["T1"], "{}", said(&ended));
}

#[test]
fn commits_of_a_worker_are_not_merged_because_the_user_finished_the_task() {
    let tasks = tasks();
    let run = ["run", "tasks.toml", "--yes"];
    for is_wanted in [false, true] {
        let yard = yard(r#"if [ "$step" = T1 ]; then keep half; exit 1; fi"#, "", &[("tasks.toml", &tasks)]);
        assert_eq!(yard.piton(&run).code, Some(4));
        yard.run(&["resume", "task:copy/T1"]);
        for part in ["one", "two"] {
            yard.run(&["step", "task:copy/T1", "done", part]);
        }
        yard.run(&["finish", "task:copy/T1"]);
        let ended = yard.piton(&run);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(ended.stdout.contains("it was finished by hand, and its branch"), "{}", said(&ended));
        assert!(!is_on_main(&yard, "half.txt"), "{}", said(&ended));
        // As it is printed: the user merges them, or gives the branch another name.
        let branch = "feature/copy-T1-t1";
        let ended = match is_wanted {
            true => yard.piton(&["run", "tasks.toml", "--yes", "--retry"]),
            false => {
                yard.git(&["branch", "-m", branch, &format!("left/{branch}")]);
                yard.piton(&run)
            }
        };
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(is_on_main(&yard, "half.txt"), is_wanted, "{}", said(&ended));
    }
}

#[test]
fn work_of_a_plan_that_is_renamed_is_not_forgotten() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    yard.workspace.write("a.txt", "in the way\n");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    fs::remove_file(yard.workspace.path("a.txt")).expect("it is there");
    fs::rename(yard.workspace.path("plans/p"), yard.workspace.path("plans/q")).expect("it can be renamed");
    yard.commit("another name");
    let ended = yard.piton(&["run", "plan:q", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("merge it with: git merge feature/p-a-a"), "{}", said(&ended));
    yard.git(&["merge", "-q", "feature/p-a-a"]);
    let ended = yard.piton(&["run", "plan:q", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn work_of_a_plan_that_was_given_up_is_not_that_of_another_plan() {
    let yard = yard(r#"keep half; exit 1"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    fs::remove_dir_all(yard.workspace.path("plans/p")).expect("it is there");
    let other = PLAN.replace("# P", "# Another").replace("[ ] A", "[x] A");
    yard.workspace.write("plans/q/plan.md", other);
    yard.commit("another plan");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:q", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
}

#[test]
fn text_that_a_worker_writes_into_its_plan_is_named() {
    let hook = r#"if [ "$step" = a ]; then echo 'Two tables.' >> plans/p/plan.md; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let shown = "which is not merged; it is on its branch: git show feature/p-a-a:plans/p/plan.md";
    assert!(ended.stdout.contains(shown), "{}", said(&ended));
    assert!(yard.git(&["show", "feature/p-a-a:plans/p/plan.md"]).contains("Two tables."));
}

#[test]
fn a_task_that_another_session_is_at_is_left_to_it() {
    let tasks = tasks();
    let yard = yard("", "", &[("tasks.toml", &tasks)]);
    yard.run(&["start", "task:copy/T1", "--step", "one", "--step", "two"]);
    yard.run(&["beat", "task:copy/T1"]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert_eq!(workers(&yard), ["T2"], "{}", said(&ended));
    assert!(ended.stdout.contains("another session is at work on it"), "{}", said(&ended));
    // The user takes it over.
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_subtask_that_is_added_to_the_tasks_file_is_a_part_of_the_task() {
    let tasks = tasks();
    let yard = yard("exit 1", "", &[("tasks.toml", &tasks)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.workspace.write("tasks.toml", tasks.replace("\"two\"]", "\"two\", \"three\"]"));
    yard.commit("one more");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "the worker does two of three: {}", said(&ended));
    let unit = yard.json(&["status", "task:copy/T1", "--json"])["units"][0].clone();
    assert_eq!(unit["total"], 3, "{unit}");
}

#[test]
fn a_subtask_that_is_taken_out_of_the_tasks_file_is_skipped() {
    let tasks = tasks().replace("\"two\"]", "\"two\", \"three\"]");
    let yard = yard("exit 1", "", &[("tasks.toml", &tasks)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.workspace.write("tasks.toml", tasks.replace(", \"three\"]", "]"));
    yard.commit("one less");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "the worker does two of two: {}", said(&ended));
    assert!(ended.stdout.contains("taken out of its list, and skipped: three"), "{}", said(&ended));
}

#[test]
fn a_workers_attempt_is_of_its_own_unit() {
    let tasks = tasks();
    let hook = r#"if [ "$step" = T2 ]; then keep half; hold T2; fi
if [ "$step" = T1 ]; then
  while [ ! -e "$MARKS/held-T2" ]; do sleep 0.02; done
  for part in one two; do "$PITON" step task:copy/T2 done $part 2>> "$MARKS/heard"; done
  "$PITON" finish task:copy/T2 2>> "$MARKS/heard"
fi"#;
    let yard = yard(hook, "", &[("tasks.toml", &tasks)]);
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], "T2", || {
        wait_for("the work of T1", || is_on_main(&yard, "T1.txt"), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "T2.txt"), "its own worker came to its end: {}", said(&ended));
    let heard = fs::read_to_string(yard.outer("marks/heard")).expect("it heard something");
    assert!(heard.contains("attempt 1 is one of task:copy/T1, and not of task:copy/T2"), "{heard}");
    assert!(heard.contains("hint: see your own unit: piton status task:copy/T1"), "{heard}");
    yard.run(&["status", "task:copy/T1"]);
}

#[test]
fn a_task_that_is_reopened_after_an_earlier_lead_is_not_done() {
    let tasks = tasks();
    let yard = yard(r#"if [ "$step" = T2 ]; then exit 1; fi"#, "", &[("tasks.toml", &tasks)]);
    let run = ["run", "tasks.toml", "--yes", "--retry"];
    assert_eq!(yard.piton(&run).code, Some(4));
    set_hook(&yard, r#"if [ "$step" = T2 ]; then hold T2; fi"#);
    let ended = meanwhile(&yard, &run, "T2", || {
        yard.run(&["reopen", "task:copy/T1"]);
    });
    assert_eq!(workers(&yard), ["T1", "T2", "T2", "T1"], "{}", said(&ended));
}

#[test]
fn a_reopened_task_begins_with_what_the_base_has() {
    let tasks = tasks();
    let yard = yard("", "", &[("tasks.toml", &tasks)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(0));
    yard.git(&["rm", "-q", "T1.txt"]);
    yard.commit("take T1 back");
    yard.run(&["reopen", "task:copy/T1"]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
}

#[test]
fn documents_that_are_removed_are_not_done_anew() {
    let tasks = tasks();
    let yard = yard(r#"if [ "$step" = T2 ]; then exit 1; fi"#, "", &[("tasks.toml", &tasks)]);
    let run = ["run", "tasks.toml", "--yes", "--retry"];
    assert_eq!(yard.piton(&run).code, Some(4));
    set_hook(&yard, "");
    fs::remove_dir_all(yard.workspace.path("progress")).expect("it is there");
    let ended = yard.piton(&run);
    assert!(
        ended.stdout.contains("its document is gone; bring it back: piton repair task:copy/T2"),
        "{}",
        said(&ended)
    );
    assert_eq!(workers(&yard), ["T1", "T2"], "{}", said(&ended));
    for task in TASKS {
        yard.run(&["repair", &format!("task:copy/{task}")]);
    }
    let ended = yard.piton(&run);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["T1", "T2", "T2"], "{}", said(&ended));
}

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

#[test]
fn a_story_that_is_paused_while_its_gate_runs_is_not_merged() {
    let gate = "[gates]\nslow = \": > $MARKS/held-gate; until [ -e $MARKS/go ]; do sleep 0.02; done\"\n";
    let yard = yard("", &format!("{gate}{STORY}"), &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "gate", || {
        yard.run(&["pause", "pipeline:S-1", "--reason", "wait for me"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt") && said(&ended).contains("wait for me"), "{}", said(&ended));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn a_checkpoint_in_the_worktree_does_not_take_back_what_the_user_recorded() {
    let hook = r#"hold S-1; mkdir -p .pipeline
sed 's/"tasksRemaining": \["S-1"\]/"tasksRemaining": []/; s/"tasksCompleted": \[\]/"tasksCompleted": ["S-1"]/' \
  "$PITON_CHECKPOINT.kept" > .pipeline/checkpoint-S-1.json
keep S-1; exit 0"#;
    let yard = yard(hook, STORY, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        let checkpoint = ".pipeline/checkpoint-S-1.json";
        yard.workspace.write(&format!("{checkpoint}.kept"), yard.text(checkpoint));
        yard.run(&["pause", "pipeline:S-1", "--reason", "wait for me"]);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("it is recorded again: paused: wait for me"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    assert_eq!(yard.json(&["status", "pipeline:S-1", "--json"])["units"][0]["lifecycle"], "paused");
}

#[test]
fn a_note_of_the_user_stays_when_the_worker_writes_its_checkpoint_by_hand() {
    let hook = r#"hold S-1; mkdir -p .pipeline
if [ "$PITON_STAGE" = 2 ]; then
  sed 's/"tasksRemaining": \["S-1"\]/"tasksRemaining": []/; s/"tasksCompleted": \[\]/"tasksCompleted": ["S-1"]/' \
    "$PITON_CHECKPOINT.kept" > .pipeline/checkpoint-S-1.json
  keep S-1; exit 0
fi"#;
    let yard = yard(hook, STORY, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        let checkpoint = ".pipeline/checkpoint-S-1.json";
        // One line, so that a line of `sed` finds it.
        let text = serde_json::to_string(&yard.read_json(checkpoint)).expect("it is JSON");
        yard.workspace.write(&format!("{checkpoint}.kept"), text.replace(":[", ": ["));
        yard.run(&["decide", "pipeline:S-1", "port 80"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let unit = yard.json(&["status", "pipeline:S-1", "--json"])["units"][0].clone();
    assert!(unit["decisions"].to_string().contains("port 80"), "{unit}");
}

#[test]
fn a_worker_may_name_its_unit_by_a_longer_name() {
    let hook = r#"if [ "$step" = a ]; then keep a; "$PITON" step plan:plans/p done a --output a.txt && exit 0; fi"#;
    let yard = yard(hook, "", &[("docs/plans/p/plan.md", PLAN)]);
    set_hook(&yard, &hook.replace("plan:plans/p", "plan:docs/p"));
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
}

#[test]
fn an_output_that_was_never_made_is_not_done_by_hand() {
    let spec = "---\nprd: PRD-072\nprd_title: A door\nworkstreams:\n  WS1:\n    name: Door\n    outputs: [WS1.txt]\n\
                execution_phases:\n  - name: Door\n    parallel: [WS1]\n---\n# A door\n";
    let path = "docs/EXECUTION-SPEC-PRD-072.md";
    // It writes itself into the checkpoint, in place, and makes nothing.
    let hook = r#"sed -i 's/"completed_workstreams": \[\]/"completed_workstreams": ["WS1"]/; s/"in_progress_workstreams": \["WS1"\]/"in_progress_workstreams": []/' "$PITON_CHECKPOINT"; exit 0"#;
    let yard = yard(hook, "", &[(path, spec)]);
    assert_eq!(yard.piton(&["run", path, "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", path, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
}

#[test]
fn the_last_task_of_a_plan_whose_merge_was_refused_is_retried() {
    let plan = &PLAN[..PLAN.find("## Two").expect("two")];
    let yard =
        yard(r#"keep a; echo y > left.txt; "$PITON" step plan:p done a; exit 0"#, "", &[("plans/p/plan.md", plan)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("reworks");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn a_rebased_commit_of_the_user_is_no_commit_that_was_dropped() {
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    let yard = yard("hold S-1", STORY, &[("lines.txt", &lines("1", "9"))]);
    yard.git(&["branch", "upstream"]);
    yard.workspace.write("lines.txt", lines("mine", "9"));
    yard.commit("mine");
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.git(&["checkout", "-q", "upstream"]);
        yard.workspace.write("lines.txt", lines("1", "theirs"));
        yard.commit("theirs");
        yard.git(&["checkout", "-q", "main"]);
        yard.git(&["rebase", "-q", "upstream"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(yard.text("lines.txt"), lines("mine", "theirs"));
}

#[test]
fn a_repository_inside_the_worktree_is_no_work_that_can_be_merged() {
    let hook = r#"mkdir app; git -C app init -q; echo x > app/main.txt; git -C app add -A; git -C app commit -qm app"#;
    let yard = yard(hook, STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("the files of app, which is a repository of its own"), "{}", said(&ended));
}

#[test]
fn a_branch_that_is_renamed_is_merged() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    set_hook(&yard, r#"if [ "$step" = a ]; then git branch -m feature/login; fi"#);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
}
