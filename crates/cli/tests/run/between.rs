//! What a person does between two runs, or beside one: merges and removes branches, adds gates, does work by hand. The next
//! run takes it as it is, and what it calls done is on the base and judged.

use crate::yard::{Ended, Yard, finish, wait_for};

const SETTINGS: &str = "[run]\nworkers = 2\nheartbeat = 1\npatience = 60\ngrace = 0.3\nrespawn = 1\nreworks = 0\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                    - [ ] Good <!-- ACCEPT: good -->\n";

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

fn is_on_main(yard: &Yard, file: &str) -> bool {
    yard.git(&["ls-tree", "--name-only", "main"]).lines().any(|line| line == file)
}

fn state_of(yard: &Yard, unit: &str) -> String {
    yard.json(&["status", unit, "--json"])["units"][0]["lifecycle"].as_str().unwrap_or_default().to_owned()
}

fn with_plan(settings: &str, plan: &str) -> Yard {
    let yard = Yard::with(SETTINGS, settings);
    yard.workspace.write("plans/p/plan.md", plan);
    yard.commit("a plan");
    yard
}

/// A build of three phases, two of which have the same name.
fn three_phases() -> String {
    let stream = |n: u32| format!("  WS{n}:\n    name: Row {n}\n    outputs: [WS{n}.txt]\n");
    let phase = |n: u32, name: &str| format!("  - name: {name}\n    parallel: [WS{n}]\n");
    let streams: String = (1..=3).map(stream).collect();
    let phases = [phase(1, "Row"), phase(2, "Row"), phase(3, "Roof")].concat();
    format!("---\nprd: PRD-062\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n{phases}---\n# A wall\n")
}

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-062.md";

fn with_build(settings: &str) -> Yard {
    let yard = Yard::with(SETTINGS, settings);
    yard.workspace.write(SPEC, three_phases());
    yard.commit("a specification");
    yard.run(&["approve", "--commands", SPEC]);
    yard
}

#[test]
fn work_that_was_collected_on_a_branch_that_is_removed_is_collected_again() {
    let branch = "piton/plan-p-phase-1";
    let spoil =
        format!("until git cat-file -e {branch}:a.txt 2>/dev/null; do sleep 0.02; done; git branch -D {branch}");
    let yard =
        with_plan("[gates]\ngood = \"true\"\n", PLAN).env("BAD", "spoils").env("SPOILT", "b").env("SPOIL", &spoil);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert_eq!(yard.ledger().len(), 2, "each step has one worker: {:?}", yard.ledger());
}

#[test]
fn a_branch_that_a_person_merged_and_removed_is_merged() {
    let yard = Yard::with(SETTINGS, &format!("[gates]\nbase = \"/nonexistent/gate\"\n{STORY}"));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.git(&["merge", "-q", "--no-edit", "feature/S-1-one"]);
    yard.git(&["worktree", "remove", "--force", ".worktrees/story-S-1"]);
    yard.git(&["branch", "-D", "feature/S-1-one"]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("/nonexistent/gate", "true"));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(yard.ledger().len(), 1, "each step has one worker: {:?}", yard.ledger());
}

#[test]
fn a_branch_that_is_gone_and_not_merged_is_named_with_the_command_that_brings_it_back() {
    let yard = Yard::with(SETTINGS, &format!("[gates]\nbase = \"/nonexistent/gate\"\n{STORY}"));
    yard.piton(&["run", "--yes"]);
    yard.git(&["worktree", "remove", "--force", ".worktrees/story-S-1"]);
    yard.git(&["branch", "-D", "feature/S-1-one"]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("/nonexistent/gate", "true"));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let (_, command) = ended.stdout.split_once("bring it back with: git ").expect("a command is printed");
    let command: Vec<&str> = command.split([';', '\n']).next().unwrap_or_default().split(' ').collect();
    yard.git(&command);
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn a_gate_that_is_named_when_all_work_is_done_is_run_and_recorded() {
    let yard = with_plan("", PLAN);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.workspace.write("piton.toml", format!("{}[gates]\ngood = \"true\"\n", yard.text("piton.toml")));
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, state_of(&yard, "plan:p").as_str()), (Some(0), "done"), "{}", said(&ended));
    assert!(yard.piton(&["log", "plan:p"]).stdout.contains("gate passed: good"), "{}", said(&ended));
}

#[test]
fn a_last_phase_that_was_done_by_hand_is_judged_by_all_gates() {
    let yard = with_plan("[gates]\ngood = \"test ! -e broken\"\n", PLAN);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let plan =
        format!("{}\n## Two\n<!-- CHECKPOINT: two -->\n- [x] C <!-- TASK: c -->\n", yard.text("plans/p/plan.md"));
    yard.workspace.write("plans/p/plan.md", plan);
    yard.workspace.write("broken", "");
    yard.commit("c, by hand");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert_eq!(state_of(&yard, "plan:p"), "paused", "{}", said(&ended));
    yard.git(&["rm", "-q", "broken"]);
    yard.commit("mended");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, state_of(&yard, "plan:p").as_str()), (Some(0), "done"), "{}", said(&ended));
}

#[test]
fn each_phase_is_approved_for_itself_whatever_it_is_called() {
    let yard = with_build("");
    for built in ["WS1.txt", "WS2.txt"] {
        let ended = yard.piton(&["run", SPEC]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(is_on_main(&yard, built), "{}", said(&ended));
        // Without an approval no worker starts.
        let before = yard.ledger().len();
        assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
        assert_eq!(yard.ledger().len(), before);
        yard.run(&["status"]);
        yard.run(&["approve", "build:PRD-062"]);
    }
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    // What is done waits for no approval.
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn an_approval_outlives_the_first_lead_of_a_build() {
    let yard = with_build(STORY).env("WAIT", "yes").env("BAD", "sleeps").env("SIBLING", "WS1");
    std::fs::write(yard.outer("marks/follows"), "").expect("it can be written");
    let wanted = ["run", SPEC, "pipeline:S-1"];
    yard.run(&["approve", "--commands", SPEC, "pipeline:S-1"]);
    let mut lead = yard.command(&wanted).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the approval", || yard.piton(&["approve", "build:PRD-062"]).code == Some(0), shown);
    let has_begun = || yard.text(".piton/run/memory.json").contains("PRD-062 WS2");
    wait_for("the second phase", || has_begun() && yard.outer("marks/env").exists(), shown);
    lead.kill().expect("it is there");
    lead.wait().expect("it is gone");
    yard.run(&["stop", "--workers"]);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    std::fs::write(yard.outer("marks/awake"), "").expect("it can be written");
    let ended = finish(yard.command(&wanted).env("BAD", "").spawn().expect("it starts"));
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    assert_eq!(ended.stdout.matches("and waits for approval").count(), 1, "{}", said(&ended));
}

#[test]
fn a_story_that_was_paused_by_hand_goes_on_when_a_person_tries_again() {
    let yard = Yard::with(SETTINGS, STORY);
    yard.run(&["start", "pipeline:S-1", "--stage", "2", "--step", "S-1"]);
    yard.run(&["pause", "pipeline:S-1", "--reason", "later"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn where_only_the_merge_of_a_task_was_refused_no_worker_starts_again() {
    let yard = Yard::with(SETTINGS, "");
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    yard.workspace.write("tasks.toml", task);
    yard.commit("a task");
    yard.workspace.write("T1-one.txt", "mine\n");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let before = yard.ledger().len();
    std::fs::remove_file(yard.workspace.path("T1-one.txt")).expect("it is there");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(yard.ledger().len(), before, "{:?}", yard.ledger());
}

#[test]
fn a_story_and_a_task_of_one_name_have_their_own_workers() {
    let yard = Yard::with(SETTINGS, &STORY.replace("S-1", "copy-T1"));
    yard.workspace.write("tasks.toml", "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n");
    yard.commit("a task");
    for wanted in ["pipeline:copy-T1", "tasks.toml"] {
        let ended = yard.piton(&["run", wanted, "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
    }
    assert!(is_on_main(&yard, "copy-T1.txt") && is_on_main(&yard, "T1-one.txt"));
}

#[test]
fn an_answer_reaches_a_story_whose_lead_is_at_work() {
    let second = STORY.replace("S-1", "S-2");
    let yard = Yard::with(SETTINGS, &format!("{STORY}{second}")).env("BAD", "asks").env("ASKER", "S-1");
    yard.run(&["approve", "--commands"]);
    let lead = yard.command(&["run"]).env("WAIT", "yes").spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the question", || shown().contains("which port?"), shown);
    let answer = ["unblock", "pipeline:S-1", "--message", "8080"];
    wait_for("the answer", || yard.piton(&answer).code == Some(0), shown);
    let is_resumed = || yard.piton(&["log", "pipeline:S-1"]).stdout.contains("attempt 2");
    wait_for("the second worker", is_resumed, shown);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn an_answer_reaches_a_plan_whose_lead_is_at_work() {
    let yard = with_plan(STORY, &PLAN.replace("- [ ] Good <!-- ACCEPT: good -->\n", ""));
    let yard = yard.env("BAD", "asks").env("ASKER", "a").env("WAIT", "yes");
    yard.run(&["approve", "--commands", "plan:p", "pipeline:S-1"]);
    let lead = yard.command(&["run", "plan:p", "pipeline:S-1"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the question", || shown().contains("which port?"), shown);
    let answer = ["unblock", "plan:p", "--message", "8080"];
    wait_for("the answer", || yard.piton(&answer).code == Some(0), shown);
    wait_for("the plan", || is_on_main(&yard, "a.txt"), shown);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_story_of_a_new_board_begins_anew_whatever_became_of_the_old_one() {
    let yard = Yard::with(SETTINGS, "[[stories]]\nid = \"S-1\"\ntitle = \"Old\"\n");
    let ended = finish(yard.command(&["run", "--yes"]).env("BAD", "always-exits").spawn().expect("it starts"));
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    std::fs::rename(yard.workspace.path(".pipeline"), yard.workspace.path(".pipeline-archive")).expect("it is there");
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("Old", "New"));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("story-S-1-s0 started"), "{}", said(&ended));
    assert!(ended.stdout.contains("stage 0: planned"), "{}", said(&ended));
}

#[test]
fn a_unit_that_is_opened_again_during_the_run_is_done_again() {
    // The second story is the only one that has to wait: it reads a mark that the first one does not.
    let second = STORY.replace("S-1", "S-2");
    let yard = Yard::with(SETTINGS, &format!("{STORY}{second}")).env("BAD", "waits").env("WAITER", "S-2");
    yard.run(&["approve", "--commands"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    let is_done = || yard.piton(&["status", "pipeline:S-1", "--json"]).stdout.contains("\"lifecycle\": \"done\"");
    wait_for("the first story", is_done, shown);
    yard.run(&["reopen", "pipeline:S-1"]);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("pipeline:S-1: a person opened it again"), "{}", said(&ended));
    assert_eq!(state_of(&yard, "pipeline:S-1"), "done", "{}", said(&ended));
}

#[test]
fn a_workstream_that_is_added_to_a_build_is_built() {
    let yard = with_build("");
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let spec =
        yard.text(SPEC).replace("execution_phases", "  WS4:\n    name: More\n    outputs: [WS4.txt]\nexecution_phases");
    yard.workspace.write(SPEC, spec.replace("[WS3]", "[WS3, WS4]"));
    yard.commit("one more");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS4.txt"), "{}", said(&ended));
}

#[test]
fn a_phase_that_is_added_to_a_plan_waits_for_those_before_it() {
    let plan = "# P\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";
    let more = "<!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";
    let spoil = format!("printf '{}' >> plans/p/plan.md", more.replace('\n', "\\n"));
    let yard = with_plan("", plan).env("BAD", "spoils").env("SPOILT", "a").env("SPOIL", &spoil);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let place = |text: &str| ended.stdout.find(text).unwrap_or_else(|| panic!("{text}: {}", said(&ended)));
    assert!(place("plan:p: one is complete") < place("worker-p-b started"), "{}", said(&ended));
}

#[test]
fn open_boxes_without_an_id_are_named() {
    let yard = with_plan("", "# P\n- [ ] A <!-- TASK: a -->\n- [ ] B\n");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert!(ended.stdout.contains("1 open box has no id, so no worker does it"), "{}", said(&ended));
    // What no worker does is not done.
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(yard.run(&["status"]).stdout.contains("paused: 1 open box has no id"), "{}", said(&ended));
    let why = yard.run(&["why", "plan:p"]).stdout;
    assert!(why.contains("give ids: piton plan mark plan:p && piton run plan:p\n"), "{why}");
    yard.run(&["plan", "mark", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!((ended.code, yard.ledger().len()), (Some(0), 2), "{}", said(&ended));

    let yard = with_plan("", "# P\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: a -->\n");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, yard.ledger().len()), (Some(2), 0), "{}", said(&ended));
    assert!(ended.stderr.contains("the id \"a\" stands at line"), "{}", said(&ended));
    yard.workspace.write("plans/p/plan.md", "# P\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n");
    yard.run(&["check", "plan:p"]);
}

#[test]
fn a_plan_goes_on_when_a_person_has_judged_its_criterion() {
    for by_box in [false, true] {
        let yard = with_plan("", PLAN);
        let ended = yard.piton(&["run", "plan:p", "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        match by_box {
            true => {
                let ticked = yard.text("plans/p/plan.md").replace("- [ ] Good", "- [x] Good");
                yard.workspace.write("plans/p/plan.md", ticked);
            }
            false => drop(yard.run(&["gate", "plan:p", "pass", "good"])),
        }
        let ended = yard.piton(&["run", "plan:p", "--yes"]);
        assert_eq!((ended.code, state_of(&yard, "plan:p").as_str()), (Some(0), "done"), "{}", said(&ended));
    }
}

#[test]
fn a_task_that_is_not_divided_is_its_own_subtask() {
    let yard = Yard::with(SETTINGS, "[gates]\nworks = \"test -e T1.txt\"\n");
    std::fs::write(
        yard.outer("agent.sh"),
        "set -eu\ncat > /dev/null\necho x > T1.txt; git add -A\ngit -c user.name=a -c user.email=a@localhost commit -qm T1\n\
         \"$PITON\" step \"$PITON_UNIT\" done T1\n",
    )
    .expect("a script");
    yard.workspace.write("tasks.toml", "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nacceptance_criteria = [\"works\"]\n");
    yard.commit("a task");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
}

#[test]
fn an_agents_work_is_judged_by_the_gates_before_it_is_merged() {
    let yard = Yard::with(SETTINGS, "[gates]\nnever = \"false\"\n");
    let crew = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"Bells\"\n";
    yard.workspace.write("crew.toml", crew);
    yard.commit("a crew");
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("gate never failed") && !is_on_main(&yard, "Secondary-A.txt"), "{}", said(&ended));
}

#[test]
fn a_story_that_waits_for_its_user_goes_on_as_why_says_while_the_lead_is_at_work() {
    let second = STORY.replace("S-1", "S-2");
    let yard = Yard::with(SETTINGS, &format!("{STORY}{second}")).env("BAD", "waits").env("WAITER", "S-2");
    yard.run(&["approve", "--commands"]);
    yard.workspace.write("S-1.txt", "mine\n");
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let why = || yard.piton(&["why", "pipeline:S-1"]).stdout;
    wait_for("the way on", || why().contains("tell the lead to continue: piton unblock"), why);
    std::fs::remove_file(yard.workspace.path("S-1.txt")).expect("it is there");
    yard.run(&["unblock", "pipeline:S-1", "--message", "it is moved"]);
    wait_for("the merge", || is_on_main(&yard, "S-1.txt"), why);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_story_that_changes_its_own_gate_is_approved_as_its_status_says() {
    let yard = Yard::with(SETTINGS, &format!("[gates]\nholds = \"test -s S-1.txt\"\n{STORY}"));
    yard.workspace.write("S-1.txt", "true\n");
    yard.commit("a gate");
    yard.run(&["approve", "--commands"]);
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("piton approve pipeline:S-1"), "{status}");
    yard.run(&["approve", "pipeline:S-1"]);
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_retry_does_not_answer_the_question_of_a_story_that_was_begun_by_hand() {
    let yard = Yard::with(SETTINGS, STORY);
    yard.run(&["start", "pipeline:S-1", "--stage", "2", "--step", "S-1"]);
    yard.run(&["block", "pipeline:S-1", "--message", "which port?"]);
    yard.run(&["pause", "pipeline:S-1", "--reason", "later"]);
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!((ended.code, yard.ledger().len()), (Some(4), 0), "{}", said(&ended));
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains("which port?"), "{why}");
}

#[test]
fn a_review_that_refuses_a_build_is_not_answered_by_unblocking_it() {
    let yard = with_build("");
    yard.run(&["start", "build:PRD-062", "--spec", SPEC]);
    yard.run(&["verdict", "build:PRD-062", "do_not_ship", "--p0", "1"]);
    let why = yard.run(&["why", "build:PRD-062"]).stdout;
    assert!(!why.contains("piton unblock") && why.contains("\nnext "), "{why}");
    let yard = with_build("");
    yard.run(&["start", "build:PRD-062", "--spec", SPEC]);
    yard.run(&["block", "build:PRD-062", "--message", "which stone?"]);
    let why = yard.run(&["why", "build:PRD-062"]).stdout;
    let next = "next       answer what blocks it: piton unblock build:PRD-062 --message TEXT";
    assert!(why.contains(next), "{why}");
}

#[test]
fn a_damaged_checkpoint_is_that_of_the_agent_whose_file_it_is() {
    let yard = Yard::with(SETTINGS, "");
    let marks = yard.outer("marks").display().to_string();
    let script = format!(
        "echo x > form.txt; git add -A; git commit -qm form; echo x >> {marks}/workers; \
         until [ -e {marks}/go ]; do sleep 0.02; done"
    );
    let worker = format!("{SETTINGS}[worker]\ncommand = [\"/bin/sh\", \"-c\", {}]\n", serde_json::Value::from(script));
    yard.workspace.write("piton.toml", worker);
    let crew = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"Form\"\n";
    yard.workspace.write("crew.toml", crew);
    yard.commit("a crew");
    let mut lead = yard.command(&["run", "crew.toml", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the worker", || yard.outer("marks/workers").exists(), shown);
    lead.kill().expect("it is there");
    lead.wait().expect("it is gone");
    let checkpoint = "agent_checkpoints/secondary_a.json";
    let mut complete: serde_json::Value = serde_json::from_str(&yard.text(checkpoint)).expect("a checkpoint");
    yard.workspace.write(checkpoint, "");
    let lead = yard.command(&["run", "crew.toml", "--yes"]).spawn().expect("it starts");
    let is_led = || {
        let pid = format!("\"{} ", lead.id());
        yard.text(".piton/run/lead.json").contains(&pid) && shown().contains("worker at work")
    };
    wait_for("the second lead", is_led, shown);
    (complete["status"], complete["can_resume"]) = ("COMPLETE".into(), false.into());
    yard.workspace.write(checkpoint, format!("{complete:#}\n"));
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "form.txt"), "{}", said(&ended));
    let workers = std::fs::read_to_string(yard.outer("marks/workers")).expect("a worker wrote it");
    assert_eq!(workers.lines().count(), 1, "{}", said(&ended));
}
