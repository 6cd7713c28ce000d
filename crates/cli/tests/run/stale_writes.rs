//! Workers and sessions that keep documents by hand: what they write from an old copy takes nothing back, what they ask in
//! their worktree is asked, and the step that a session is at is left to it.

use std::fs;

use crate::sync_points::FINISHES;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::wait_for;

const PLAN: &str = "plans/p/plan.md";

const TWO: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";

#[test]
fn a_plan_that_a_worker_writes_from_an_old_copy_unticks_nothing() {
    let hook = r#"plan=${PITON_CHECKPOINT%/.checkpoint/*}/plan.md
if [ "$step" = a ]; then
  cp "$plan" "$MARKS/old"; keep a; : > "$MARKS/held-a"; while [ ! -e "$MARKS/go" ]; do sleep 0.02; done
  sed 's/\[ \] A/[x] A/' "$MARKS/old" > "$plan"; sleep 1.5; exit 0
fi
while [ ! -e "$MARKS/held-a" ]; do sleep 0.02; done"#;
    let yard = yard(&hook.replace("${PITON_CHECKPOINT%/.checkpoint/*}/plan.md", "$PLAN_FILE"), "", &[(PLAN, TWO)]);
    let hook = fs::read_to_string(yard.outer("marks/hook")).expect("it is there");
    let file = yard.workspace.path(PLAN).display().to_string();
    set_hook(&yard, &hook.replace("$PLAN_FILE", &file));
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    wait_for("the work of b", || yard.text(PLAN).contains("[x] B") && is_on_main(&yard, "b.txt"), String::new);
    // The lead has seen the tick.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = crate::yard::finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("wrote plans/p/plan.md by hand (has not done any more: b)"), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "b").count(), 1, "{}", said(&ended));
    assert!(yard.text(PLAN).contains("[x] A") && yard.text(PLAN).contains("[x] B"));
}

#[test]
fn a_question_that_a_worker_writes_into_its_worktree_is_asked() {
    let hook = r#"if [ "$step" = a ] && [ ! -e "$MARKS/asked" ]; then
: > "$MARKS/asked"; sed -i 's/^\(.*TASK: a.*\)/\1\n<!-- BLOCKER: Which cement? -->/' plans/p/plan.md; git commit -qam q; exit 0; fi"#;
    let yard = yard(hook, "", &[(PLAN, TWO)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(ended.code == Some(4) && said(&ended).contains("Which cement?"), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "a").count(), 1, "{}", said(&ended));
    assert!(said(&ended).contains("piton unblock plan:p --message"), "{}", said(&ended));
    yard.run(&["unblock", "plan:p", "--message", "the grey one"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(ended.code == Some(0) && is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn a_workstream_that_a_session_keeps_by_hand_is_left_to_it() {
    let spec = "docs/EXECUTION-SPEC-PRD-081.md";
    let text = "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n\
                execution_phases:\n  - {name: Ground, parallel: [WS1]}\n---\n# A wall\n";
    let yard = yard("", "", &[(spec, text)]);
    let now = String::from_utf8(
        std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().expect("a date").stdout,
    );
    let now = now.expect("text");
    let checkpoint = format!(
        r#"{{"prd":"PRD-081","prd_title":"A wall","current_phase":1,"status":"in_progress","completed_workstreams":[],"in_progress_workstreams":["WS1"],"pending_workstreams":[],"artifacts":{{}},"gates_passed":[],"gates_pending":[],"timestamp":"{}"}}"#,
        now.trim()
    );
    yard.workspace.write(".claude/skills/build-pipeline/checkpoints/PRD-081.json", checkpoint);
    let held = yard.piton(&["run", "build:PRD-081", "--yes"]);
    assert!(held.code == Some(4) && said(&held).contains("another session is at work on WS1"), "{}", said(&held));
    assert!(workers(&yard).is_empty(), "{}", said(&held));
    let ended = yard.piton(&["run", "build:PRD-081", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 1), "{}", said(&ended));
}

#[test]
fn an_agent_that_is_taken_out_of_the_list_is_given_up_as_printed() {
    let crew = |agents: &[&str]| {
        let agent =
            |id: &&str| format!("[[agents]]\nagent = \"{id}\"\nfeature = \"f_{}\"\nepic = \"epics/e\"\n", id.len());
        agents.iter().map(agent).collect::<String>()
    };
    let dies = format!("if [ \"$step\" = Secondary-A ]; then exit 1; fi\n{FINISHES}");
    let yard = yard(&dies, "", &[("crew.toml", &crew(&["Secondary-A", "Secondary-BB"]))]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    yard.workspace.write("crew.toml", crew(&["Secondary-BB"]));
    yard.commit("without A");
    let held = yard.piton(&["run", "crew.toml", "--yes"]);
    let text = said(&held);
    let way = text.split("to give it up: ").nth(1).and_then(|rest| rest.split(')').next()).expect("a way").to_owned();
    let done = std::process::Command::new("sh").args(["-c", &way]).current_dir(yard.workspace.path(".")).status();
    assert!(done.expect("it runs").success(), "{way}");
    let ended = yard.piton(&["run", "crew.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_box_that_gets_another_id_while_its_work_is_collected_is_asked_about() {
    let gated = format!("{TWO}- [ ] It holds <!-- ACCEPT: holds -->\n");
    let yard = yard("", "[gates]\nholds = \"test -f level.txt\"\n", &[(PLAN, &gated)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    let text = yard.text(PLAN);
    assert!(text.contains("[x] B <!-- TASK: b -->"), "{text}");
    yard.workspace.write(PLAN, text.replace("TASK: b", "TASK: bricks"));
    yard.workspace.write("level.txt", "level\n");
    yard.commit("level");
    let asked = yard.piton(&["run", "plan:p", "--retry"]);
    assert!(said(&asked).contains("has the id bricks now, and its work is collected as b"), "{}", said(&asked));
    assert!(asked.code == Some(4) && !is_on_main(&yard, "b.txt"), "{}", said(&asked));
    yard.workspace.write(PLAN, text);
    yard.commit("its id");
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert!(ended.code == Some(0) && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_specification_that_a_worker_changes_is_named() {
    let spec = "docs/EXECUTION-SPEC-PRD-081.md";
    let text = "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n\
                execution_phases:\n  - {name: Ground, parallel: [WS1], gates: [all]}\ngates:\n  all: {command: test -s WS1.txt}\n---\n# A wall\n";
    let hook = "sed -i 's/test -s WS1.txt/true/' docs/EXECUTION-SPEC-PRD-081.md";
    let yard = yard(hook, "", &[(spec, text)]);
    let ended = yard.run(&["run", spec, "--yes"]);
    assert!(
        said(&ended).contains("its worker changed the text of docs/EXECUTION-SPEC-PRD-081.md, which is not merged"),
        "{}",
        said(&ended)
    );
    assert!(yard.git(&["show", &format!("main:{spec}")]).contains("test -s WS1.txt"));
}

#[test]
fn a_plan_that_a_session_keeps_by_hand_is_left_to_it() {
    let yard = yard("", "", &[(PLAN, TWO)]);
    let date = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().expect("a date");
    let now = String::from_utf8(date.stdout).expect("text").trim().to_owned();
    let state = serde_json::json!({
        "version": 2, "planId": "p", "planPath": PLAN, "lastCheckpoint": now, "checksum": "sha256:0000000000000000",
        "progress": { "totalTasks": 2, "completedTasks": 0, "percentage": 0 },
        "phases": { "one": { "status": "in_progress", "startedAt": now, "acceptance": {},
            "tasks": { "a": { "done": false }, "b": { "done": false } } } },
        "currentPhase": "one", "currentTask": "a", "blockers": [], "decisions": [], "sessionNotes": null,
        "agents": { "main": { "type": "main", "assignedTasks": ["a"], "completedTasks": [], "lastActive": now } },
    });
    yard.workspace.write("plans/p/.checkpoint/state.json", state.to_string());
    let held = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(held.code == Some(4) && said(&held).contains("another session is at work on it"), "{}", said(&held));
    assert!(workers(&yard).is_empty(), "{}", said(&held));
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn a_checkpoint_of_a_build_that_a_worker_writes_from_an_old_copy_loses_no_work() {
    let spec = "docs/EXECUTION-SPEC-PRD-081.md";
    let text = "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n  \
                WS2: {name: Walls, outputs: [WS2.txt]}\n  WS3: {name: Roof, outputs: [WS3.txt]}\nexecution_phases:\n  \
                - {name: Ground, parallel: [WS1, WS2]}\n  - {name: Top, parallel: [WS3]}\n---\n# A wall\n";
    let hook = r#"if [ "$step" = WS2 ]; then while ! grep -q '"WS1"' "$PITON_CHECKPOINT"; do sleep 0.02; done
cp "$PITON_CHECKPOINT" "$MARKS/old"; keep WS2; hold it; cat "$MARKS/old" > "$PITON_CHECKPOINT"; exit 0; fi
if [ "$step" = WS1 ]; then while [ ! -e "$MARKS/held-it" ]; do sleep 0.02; done; fi"#;
    let yard = yard(hook, "", &[(spec, text)]);
    let ended = crate::whose_word::meanwhile(&yard, &["run", spec, "--yes"], "it", || {
        let checkpoint = ".claude/skills/build-pipeline/checkpoints/PRD-081.json";
        // Its worktree goes when the lead has recorded its end.
        let trees = || fs::read_dir(yard.workspace.path(".worktrees")).into_iter().flatten().flatten();
        let is_done = || !trees().any(|tree| tree.file_name().to_string_lossy().contains("WS1"));
        wait_for("the work of WS1", || is_on_main(&yard, "WS1.txt") && is_done(), || yard.text(checkpoint));
    });
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
    assert!(said(&ended).contains("by hand (has not done any more: WS1)"), "{}", said(&ended));
}
