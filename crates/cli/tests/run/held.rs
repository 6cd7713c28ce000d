//! What a person or their session has in hand is left to them, and what is not judged yet is not called done.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-075.md";

const PLAN: &str =
    "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Nice <!-- ACCEPT: nice -->\n";

fn build(gate: &str) -> String {
    format!(
        "---\nprd: PRD-075\nprd_title: A wall\nworkstreams:\n  WS1:\n    name: Row\n    outputs: [WS1.txt]\n  WS2:\n    name: \
         Roof\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: Row\n    parallel: [WS1]\n    \
         gates: [tests]\n  - name: Roof\n    parallel: [WS2]\ngates:\n  tests:\n    command: {gate}\n    success_criteria: \
         ok\n---\n# A wall\n"
    )
}

fn explained(yard: &Yard, wanted: &str) -> String {
    yard.run(&["run", "--explain", wanted]).stdout
}

#[test]
fn a_workstream_that_a_session_is_at_gets_no_worker() {
    let yard = yard("", "", &[(SPEC, &build("test -s WS1.txt"))]);
    yard.run(&["approve", "--commands", SPEC]);
    yard.run(&["start", "build:PRD-075", "--spec", SPEC]);
    yard.run(&["step", "build:PRD-075", "begin", "WS1"]);
    let held = "another session is at work on WS1, until it ends";
    assert!(explained(&yard, SPEC).contains(held), "{}", explained(&yard, SPEC));
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 0), "{}", said(&ended));
    assert!(said(&ended).contains(held), "{}", said(&ended));
    // The session comes to its end: its workstream is done, and the run does the rest.
    fs::write(yard.workspace.path("WS1.txt"), "x\n").expect("it can be written");
    yard.git(&["add", "WS1.txt"]);
    yard.git(&["commit", "-qm", "by hand"]);
    yard.run(&["step", "build:PRD-075", "done", "WS1", "--output", "WS1.txt"]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS2".to_owned()]), "{}", said(&ended));
}

#[test]
fn a_build_that_a_person_pauses_while_its_gate_runs_is_not_merged() {
    let yard = yard("", "", &[]);
    let marks = yard.outer("marks").display().to_string();
    let gate = format!("touch {marks}/gate; while [ ! -e {marks}/go ]; do sleep 0.02; done");
    yard.workspace.write(SPEC, build(&format!("\"{gate}\"")));
    yard.commit("a specification");
    let lead = yard.command(&["run", SPEC, "--yes"]).spawn().expect("it starts");
    wait_for("the gate", || yard.outer("marks/gate").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["pause", "build:PRD-075", "--message", "I want to look first"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
    assert!(!is_on_main(&yard, "WS1.txt"), "{}", said(&ended));
    // It stays so until the user says otherwise.
    assert!(explained(&yard, SPEC).contains("I want to look first"), "{}", explained(&yard, SPEC));
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "WS1.txt")), (Some(4), false), "{}", said(&ended));
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "WS2.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_run_that_ends_after_its_workers_asks_for_what_a_person_judges() {
    let yard = yard("hold \"$step\"", "", &[("plans/p/plan.md", PLAN)]);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-a").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["stop"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("judge it: piton gate plan:p pass nice"), "{}", said(&ended));
    yard.run(&["gate", "plan:p", "pass", "nice"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_task_of_a_plan_that_changes_its_gate_is_not_said_to_have_passed() {
    let hook = r#"printf '#!/bin/sh\nexit 0\n' > gate.sh"#;
    let settings = "[gates]\nnice = \"./gate.sh\"\n";
    let yard = yard(hook, settings, &[("plans/p/plan.md", PLAN), ("gate.sh", "#!/bin/sh\ntest -e good.txt\n")]);
    yard.run(&["approve", "--commands", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    let words = "it changes what judges it: gate.sh; approval lets its own version judge. Look at it, then";
    assert!(said(&ended).contains(words), "{}", said(&ended));
}

#[test]
fn a_step_whose_merge_was_refused_is_not_explained_as_done() {
    let plan = PLAN.replace("- [ ] Nice", "- [ ] B <!-- TASK: b -->\n- [ ] Nice");
    // Both change one file; the second one's merge is refused while the run comes to its end.
    let hook = r#"hold "$step"; echo "$step" >> shared"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", &plan)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let are_held = || ["a", "b"].iter().all(|step| yard.outer(&format!("marks/held-{step}")).exists());
    wait_for("the workers", are_held, || yard.piton(&["status"]).stdout);
    yard.run(&["stop"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}", said(&ended));
    set_hook(&yard, "");
    let shown = explained(&yard, "plan:p");
    assert_eq!(shown.matches("    is done").count(), 1, "{shown}");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(said(&ended).contains(" started"), "{}", said(&ended));
}

#[test]
fn what_waits_for_a_freed_story_is_explained_as_the_run_does_it() {
    let stories = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n[[stories]]\nid = \"S-2\"\ntitle = \
                   \"Two\"\nstages = [2, 3]\ndepends_on = [\"S-1\"]\n";
    let yard = yard("exit 1", stories, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains("no worker starts: it waits for pipeline:S-1"), "{shown}");
    yard.run(&["resume", "pipeline:S-1"]);
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(!shown.contains("no worker starts"), "{shown}");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn what_a_reviewer_leaves_in_the_worktree_is_no_work_of_the_story() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let hook = r#"if [ "$PITON_STAGE" = 3 ]; then
  echo log > test.log; "$PITON" verdict "$PITON_UNIT" PASS --score 90; exit 0
fi"#;
    let yard = yard(hook, story, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && !is_on_main(&yard, "test.log"), "{}", said(&ended));
    // It is not thrown away either.
    assert!(said(&ended).contains(".worktrees/story-S-1 stays: 1 uncommitted file"), "{}", said(&ended));
}

#[test]
fn what_a_reviewer_changes_is_a_part_of_the_story() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let hook = r#"if [ "$PITON_STAGE" = 3 ] && [ ! -e "$MARKS/once" ]; then
  : > "$MARKS/once"; echo mended >> S-1.txt; "$PITON" verdict "$PITON_UNIT" PASS --score 90; exit 0
fi"#;
    let yard = yard(hook, story, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("not committed: S-1.txt"), "{}", said(&ended));
}

#[test]
fn a_task_of_a_plan_that_a_session_is_at_gets_no_worker_and_every_door_says_so() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    yard.run(&["approve", "--commands", "plan:p"]);
    yard.run(&["start", "plan:p"]);
    yard.run(&["step", "plan:p", "begin", "a"]);
    let held = "another session is at work on a, until it ends";
    for _ in 0..2 {
        assert!(explained(&yard, "plan:p").contains(held), "{}", explained(&yard, "plan:p"));
        let ended = yard.piton(&["run", "plan:p"]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(4), 0), "{}", said(&ended));
        let why = yard.run(&["why", "plan:p"]).stdout;
        assert!(why.contains("liveness   alive"), "{why}");
    }
}

#[test]
fn an_approval_that_comes_after_a_pause_continues_the_build() {
    let spec = build("test -s WS1.txt");
    let yard = yard("", "", &[(SPEC, &spec)]);
    yard.run(&["approve", "--commands", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    yard.run(&["pause", "build:PRD-075", "--message", "look first"]);
    yard.run(&["approve", "build:PRD-075"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS1".to_owned(), "WS2".to_owned()]), "{}", said(&ended));
}

#[test]
fn work_by_hand_that_its_gate_refuses_gets_a_worker() {
    let yard = yard("", "", &[(SPEC, &build("grep -q good WS1.txt"))]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    yard.workspace.write("WS1.txt", "bad\n");
    yard.commit("by hand");
    yard.run(&["start", "build:PRD-075", "--spec", SPEC]);
    yard.run(&["step", "build:PRD-075", "begin", "WS1"]);
    yard.run(&["step", "build:PRD-075", "done", "WS1", "--output", "WS1.txt"]);
    set_hook(&yard, r#"if [ "$step" = WS1 ]; then echo good > WS1.txt; git commit -qam good; exit 0; fi"#);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS1".to_owned(), "WS2".to_owned()]), "{}", said(&ended));
}

#[test]
fn a_checkpoint_that_is_stashed_under_a_lead_is_not_begun_anew() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let yard = yard("hold S-1; exit 1", story, &[]);
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-S-1").exists(), || yard.piton(&["status"]).stdout);
    fs::remove_file(yard.workspace.path(".pipeline/checkpoint-S-1.json")).expect("it is there");
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
    assert!(
        said(&ended).contains("its document is gone; bring it back: piton repair pipeline:S-1"),
        "{}",
        said(&ended)
    );
    yard.run(&["repair", "pipeline:S-1"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_worker_whose_unit_is_paused_hears_that_it_should_end_and_cannot_take_it_back() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let hook = r#"hold S-1
for words in "step $PITON_UNIT done S-1" run stop "resume $PITON_UNIT --force" "unblock $PITON_UNIT"; do
  "$PITON" $words < /dev/null >> "$MARKS/heard" 2>&1 && echo "taken: $words" >> "$MARKS/heard"
done; exit 0"#;
    let yard = yard(hook, story, &[]);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-S-1").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["pause", "pipeline:S-1", "--message", "not now"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("pipeline:S-1: paused: not now\n"), "{}", said(&ended));
    let heard = fs::read_to_string(yard.outer("marks/heard")).expect("it heard something");
    assert!(!heard.contains("taken: ") && !heard.contains("show the run") && !heard.contains("--force"), "{heard}");
    assert!(heard.contains("it is paused by its user: end now; what you made stays where it is"), "{heard}");
    assert!(heard.contains("pipeline:S-1 is held by its user: not now"), "{heard}");
}

#[test]
fn what_a_person_judges_is_printed_as_the_command_that_continues() {
    let spec = build("true").replace("gates: [tests]", "gates: [tests, nice]");
    let yard = yard("", "", &[(SPEC, &spec)]);
    yard.run(&["approve", "--commands", SPEC]);
    let ended = yard.piton(&["run", SPEC]);
    let next = format!("next: when it is met: piton gate build:PRD-075 pass nice && piton run {SPEC}\n");
    assert!(ended.stdout.contains(&next), "{}", said(&ended));
    yard.run(&["gate", "build:PRD-075", "pass", "nice"]);
    let why = yard.run(&["why", "build:PRD-075"]).stdout;
    assert!(why.contains("paused     gate nice passed; its run continues with that"), "{why}");
    // The approval of the phase comes next, and the run asks for it.
    let refused = yard.piton(&["approve", "build:PRD-075"]);
    assert!(refused.stderr.contains(&format!("continue the run: piton run {SPEC}")), "{}", said(&refused));
    let ended = yard.piton(&["run", SPEC]);
    assert!(ended.stdout.contains("approve and continue: piton approve build:PRD-075"), "{}", said(&ended));
}

#[test]
fn a_task_that_is_paused_before_its_turn_gets_no_worker() {
    let task = |id: &str| format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n");
    let hook = r#"if [ "$step" = T1 ]; then hold T1; fi"#;
    let yard = yard(hook, "", &[("tasks.toml", &(task("T1") + &task("T2")))]);
    let settings = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", settings);
    let lead = yard.command(&["run", "tasks.toml", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-T1").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["start", "task:copy/T2", "--total", "2"]);
    yard.run(&["pause", "task:copy/T2", "--message", "mine"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!((ended.code, workers(&yard)), (Some(4), vec!["T1".to_owned()]), "{}", said(&ended));
    assert!(said(&ended).contains("task:copy/T2: paused: cannot start its worker: mine\n"), "{}", said(&ended));
}

#[test]
fn a_worker_that_dies_before_it_has_corrected_what_was_refused_is_started_again() {
    let plan = PLAN.replace("- [ ] Nice", "- [ ] B <!-- TASK: b -->\n- [ ] Nice");
    let hook = r#"if [ "$step" = b ]; then
  n=$(grep -c '^b$' "$MARKS/workers")
  if [ "$n" = 2 ]; then keep half; exit 1; fi
  if [ "$n" = 3 ]; then keep whole; exit 0; fi
fi"#;
    let yard = yard(hook, "[gates]\nnice = \"test -e half.txt\"\n", &[("plans/p/plan.md", &plan)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "whole.txt"), "its worker died halfway, and was started again: {}", said(&ended));
}

#[test]
fn work_that_is_not_committed_is_not_done_when_its_user_resumed_the_plan() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";
    let hook = r#"if [ "$step" = a ]; then while [ ! -e "$MARKS/b" ]; do sleep 0.02; done; exit 3; fi
echo x > b.txt; "$PITON" step "$PITON_UNIT" done b; : > "$MARKS/b"; exit 0"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", plan)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(ended.code == Some(4) && said(&ended).contains("files are not committed: b.txt"), "{}", said(&ended));
    set_hook(&yard, "");
    yard.run(&["resume", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "b.txt")), (Some(0), true), "{}", said(&ended));
}

/// Tells the binary of an event of a host's session whose process is this one.
fn hook(yard: &Yard, event: &str) {
    let payload = serde_json::json!({
        "session_id": "11111111-aaaa-4bbb-8ccc-000000000001", "cwd": yard.workspace.path(""), "hook_event_name": event,
        "transcript_path": "/home/ada/quay.jsonl", "source": "startup", "reason": "other",
    });
    let mut command = yard.command(&["hook", event]);
    command.env("CLAUDE_PID", std::process::id().to_string()).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, payload.to_string().as_bytes()).expect("it reads");
    drop(input);
    assert_eq!(finish(child).code, Some(0), "{event}");
}

#[test]
fn a_plan_that_a_session_is_bound_to_gets_no_worker_until_the_session_ends() {
    let plan = PLAN.replace("- [ ] Nice <!-- ACCEPT: nice -->\n", "- [ ] B <!-- TASK: b -->\n");
    let yard = yard("", "", &[("plans/p/plan.md", &plan)]);
    yard.run(&["approve", "--commands", "plan:p"]);
    hook(&yard, "SessionStart");
    yard.run(&["resume", "plan:p", "--session", "11111111-aaaa-4bbb-8ccc-000000000001"]);
    let held = "another session is at work on it, until it ends";
    assert!(explained(&yard, "plan:p").contains(held), "{}", explained(&yard, "plan:p"));
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 0), "{}", said(&ended));
    assert!(said(&ended).contains(held), "{}", said(&ended));
    // The run that stepped aside gives the plan to nobody else.
    let refused = yard.piton(&["resume", "plan:p", "--by", "me"]);
    assert!(refused.code == Some(4) && said(&refused).contains("has a live agent"), "{}", said(&refused));
    hook(&yard, "SessionEnd");
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

/// What the host of a real client does: it tells the binary of its session, which the worker's commands know.
const HOST: &str = r#"export PITON_SESSION=11111111-aaaa-4bbb-8ccc-0000000000$PITON_STEP$PITON_STEP
event() { printf '{"session_id":"%s","cwd":"%s","hook_event_name":"%s","transcript_path":"/home/ada/x.jsonl","source":"startup","reason":"other"}' \
  $PITON_SESSION "$PWD" $1 | CLAUDE_PID=$$ "$PITON" hook $1; }
event SessionStart
"$PITON" note "$PITON_UNIT" "looked at it"
if [ "$step" = a ]; then hold a; fi
"#;

#[test]
fn a_worker_with_a_session_is_its_leads_own_after_that_was_killed() {
    let plan = PLAN.replace("- [ ] Nice <!-- ACCEPT: nice -->\n", "- [ ] B <!-- TASK: b -->\n");
    let yard = yard(HOST, "", &[("plans/p/plan.md", &plan)]);
    let mut lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let is_held = || yard.outer("marks/held-a").exists() && is_on_main(&yard, "b.txt");
    wait_for("the worker", is_held, || yard.piton(&["status"]).stdout);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it ends");
    let shown = yard.run(&["run", "--explain", "plan:p"]).stdout;
    assert!(!shown.contains("another session"), "{shown}");
    let lead = yard.types(&["run", "plan:p", "--yes"]);
    let adopted = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for("the adoption", || adopted().contains("\"adopted\""), adopted);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = lead.end();
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
}

#[test]
fn a_build_that_its_session_handed_over_continues_while_that_is_open() {
    let yard = yard("", "", &[(SPEC, &build("test -s WS1.txt"))]);
    yard.run(&["approve", "--commands", SPEC]);
    yard.run(&["start", "build:PRD-075", "--spec", SPEC]);
    hook(&yard, "SessionStart");
    let session = ("PITON_SESSION", "11111111-aaaa-4bbb-8ccc-000000000001");
    let by_session = |arguments: &[&str]| {
        let mut command = yard.command(arguments);
        finish(command.env(session.0, session.1).spawn().expect("it starts"))
    };
    assert_eq!(by_session(&["note", "build:PRD-075", "the wall is the neighbour's"]).code, Some(0));
    let ended = by_session(&["run", SPEC]);
    assert!(ended.code == Some(4) && said(&ended).contains("piton approve build:PRD-075"), "{}", said(&ended));
    yard.run(&["approve", "build:PRD-075"]);
    let ended = yard.run(&["run", SPEC]);
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_plan_that_its_user_paused_is_continued_by_what_is_printed() {
    let yard = yard("hold a", "", &[("plans/p/plan.md", PLAN)]);
    let lead = yard.types(&["run", "plan:p", "--yes"]);
    wait_for("the worker", || yard.outer("marks/held-a").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["pause", "plan:p", "--reason", "hold on"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    lead.ends_with(4);
    let next = "a person paused it; continue it: piton run plan:p --retry";
    let shown = yard.run(&["why", "plan:p"]).stdout;
    assert!(shown.contains(next), "{shown}");
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn an_agent_that_its_user_paused_stays_so_whatever_its_worker_says() {
    let crew = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"bells\"\ntext = \"Do.\"\nepic = \"epics/one\"\n";
    let blocks =
        "hold it; \"$PITON\" step \"$PITON_UNIT\" done 1; \"$PITON\" block \"$PITON_UNIT\" --message 'refused'; exit 0";
    let yard = yard(blocks, "", &[("crew.toml", crew)]);
    let lead = yard.types(&["run", "crew.toml", "--yes"]);
    wait_for("the worker", || yard.outer("marks/held-it").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["pause", "crew:Secondary-A", "--reason", "wait for the design"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = lead.ends_with(4);
    let shown = yard.run(&["why", "crew:Secondary-A"]).stdout;
    assert!(shown.contains("wait for the design") && !shown.contains("refused"), "{shown}{}", said(&ended));
    set_hook(&yard, "keep done; \"$PITON\" step \"$PITON_UNIT\" done 1 2 3; \"$PITON\" finish \"$PITON_UNIT\"; exit 0");
    let ended = yard.run(&["run", "crew.toml", "--retry"]);
    assert!(is_on_main(&yard, "done.txt"), "{}", said(&ended));
}

#[test]
fn a_plan_that_a_session_took_up_again_after_its_run_is_left_to_it() {
    let plan = PLAN.replace("- [ ] Nice <!-- ACCEPT: nice -->\n", "- [ ] B <!-- TASK: b -->\n");
    let yard = yard("if [ \"$step\" = b ]; then exit 1; fi", "", &[("plans/p/plan.md", &plan)]);
    hook(&yard, "SessionStart");
    let by_session = |arguments: &[&str]| {
        let mut command = yard.command(arguments);
        command.env("PITON_SESSION", "11111111-aaaa-4bbb-8ccc-000000000001");
        finish(command.spawn().expect("it starts"))
    };
    assert_eq!(by_session(&["run", "plan:p", "--yes"]).code, Some(4));
    assert_eq!(by_session(&["resume", "plan:p"]).code, Some(0));
    // The session itself may hand it over again.
    let ended = by_session(&["run", "plan:p", "--retry"]);
    assert!(ended.code == Some(4) && !said(&ended).contains("another session"), "{}", said(&ended));
    assert_eq!(by_session(&["resume", "plan:p"]).code, Some(0));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p"]);
    assert!(ended.code == Some(4) && said(&ended).contains("another session is at work"), "{}", said(&ended));
    hook(&yard, "SessionEnd");
    let ended = yard.run(&["run", "plan:p"]);
    assert!(is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_plan_that_its_user_pauses_while_its_gate_fails_is_not_merged_before_they_resume_it() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    let marks = yard.outer("marks").display().to_string();
    let gate = format!("touch {marks}/gate; while [ ! -e {marks}/go ]; do sleep 0.02; done; test -e {marks}/ready");
    yard.workspace.write("piton.toml", format!("{}[gates]\nnice = \"{gate}\"\n", yard.text("piton.toml")));
    yard.commit("a gate");
    let lead = yard.types(&["run", "plan:p", "--yes"]);
    wait_for("the gate", || yard.outer("marks/gate").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["pause", "plan:p", "--reason", "wait for me"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    lead.ends_with(4);
    let shown = yard.run(&["why", "plan:p"]).stdout;
    assert!(shown.contains("wait for me") && shown.contains("gate nice failed"), "{shown}");
    fs::write(yard.outer("marks/ready"), "").expect("it can be written");
    yard.run(&["gate", "plan:p", "pass", "nice"]);
    let ended = yard.piton(&["run", "plan:p"]);
    assert!(ended.code == Some(4) && !is_on_main(&yard, "a.txt"), "{}", said(&ended));
    let ended = yard.run(&["run", "plan:p", "--retry"]);
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn a_pause_of_an_earlier_life_holds_no_worker() {
    let tasks = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\nsubtasks = [\"one\", \"two\"]\n";
    let asks = r#""$PITON" block "$PITON_UNIT" --message 'which?'; "$PITON" unblock "$PITON_UNIT" --message 'that one' || exit 1"#;
    let yard = yard(asks, "", &[("tasks.toml", tasks)]);
    yard.run(&["start", "task:copy/T1", "--step", "one", "--step", "two"]);
    yard.run(&["pause", "task:copy/T1", "--reason", "later"]);
    fs::remove_dir_all(yard.workspace.path("progress")).expect("it is there");
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
}
