//! Claims without work are not done: a worker's word, files that git checked out, a lost memory.

use std::fs;

use crate::yard::{Ended, Yard, finish, wait_for};

const SETTINGS: &str = "[run]\nworkers = 2\nheartbeat = 1\npatience = 60\ngrace = 0.3\nrespawn = 0\nreworks = 0\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-063.md";

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

fn is_on_main(yard: &Yard, file: &str) -> bool {
    yard.git(&["ls-tree", "--name-only", "main"]).lines().any(|line| line == file)
}

/// A repository whose workers are this script.
fn with_worker(settings: &str, script: &str) -> Yard {
    let yard = Yard::with(SETTINGS, settings);
    fs::write(yard.outer("agent.sh"), format!("set -eu\ncat > /dev/null\n{COMMIT}\n{script}\n")).expect("a script");
    yard
}

const COMMIT: &str =
    "commit() { git add -A; git -c user.name=agent -c user.email=agent@localhost commit -qm \"$1\"; }\nmarks=$MARKS";

/// A worker of a story that does this at stage 2, and passes it at stage 3.
fn story(stage_2: &str) -> String {
    format!(
        "case $PITON_STAGE in\n2) {stage_2}\n\"$PITON\" step \"$PITON_UNIT\" done S-1;;\n\
         3) \"$PITON\" verdict \"$PITON_UNIT\" PASS --score 90;;\nesac"
    )
}

/// A build of one phase: workstreams that name these outputs, each waiting for the one before it.
fn build(outputs: &[&str], gate: bool) -> String {
    let mut streams = String::new();
    let mut names = Vec::new();
    for (place, output) in outputs.iter().enumerate() {
        let after = if place == 0 { String::new() } else { format!("    depends_on: [WS{place}]\n") };
        names.push(format!("WS{}", place + 1));
        streams += &format!("  WS{}:\n    name: Row\n    outputs: [{output}]\n{after}", place + 1);
    }
    let gates = if gate { "    gates: [g]\ngates:\n  g:\n    command: \"true\"\n" } else { "" };
    let phases = format!("  - name: Ground\n    parallel: [{}]\n{gates}", names.join(", "));
    format!("---\nprd: PRD-063\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n{phases}---\n# A wall\n")
}

#[test]
fn commits_that_were_thrown_away_are_no_work() {
    let throw = ["git reset -q --hard HEAD~1", "git reset -q --hard main"];
    for throw in throw {
        let yard = with_worker(STORY, &story(&format!("echo x > S-1.txt; commit S-1; {throw}")));
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{throw}: {}", said(&ended));
        assert!(ended.stdout.contains("nothing is committed on feature/S-1-one"), "{throw}: {}", said(&ended));
    }
    let yard = with_worker(STORY, &story("echo x > S-1.txt; commit S-1; git rebase -q main"));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_branch_that_is_only_brought_up_to_date_is_no_work() {
    for update in ["git rebase -q main", "git merge -q --no-ff --no-edit main", "git reset -q --hard main"] {
        let moved = "(cd \"$PITON_ROOT\" && echo x > other.txt && commit other)";
        let identity = "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost GIT_AUTHOR_NAME=a \
                        GIT_AUTHOR_EMAIL=a@localhost";
        let yard = with_worker(STORY, &story(&format!("{identity}; {moved}; {update}")));
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{update}: {}", said(&ended));
    }
}

#[test]
fn an_unchanged_output_is_not_made() {
    let records = "\"$PITON\" step \"$PITON_UNIT\" done \"$PITON_STEP\" --output app.txt";
    for (is_committed, is_there) in [(true, true), (false, true), (false, false)] {
        let yard = with_worker("", records);
        yard.workspace.write(SPEC, build(&["app.txt"], false));
        if is_committed {
            yard.workspace.write("app.txt", "old\n");
        }
        yard.commit("a specification");
        if is_there {
            yard.workspace.write("app.txt", "old\n");
        }
        let ended = yard.piton(&["run", SPEC, "--yes"]);
        assert_eq!(ended.code, Some(4), "{is_committed} {is_there}: {}", said(&ended));
    }
    let yard = with_worker("", &format!("echo new > app.txt; commit app; {records}"));
    yard.workspace.write("app.txt", "old\n");
    yard.workspace.write(SPEC, build(&["app.txt"], false));
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_workstream_is_not_done_by_its_siblings_change() {
    let yard = with_worker("", "if [ $PITON_STEP = WS1 ]; then echo one > app.txt; commit one; fi");
    yard.workspace.write(SPEC, build(&["app.txt", "app.txt"], true));
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("PRD-063 WS2 is paused"), "{}", said(&ended));
}

#[test]
fn a_workstream_starts_when_its_dependency_is_collected() {
    let yard = with_worker("", "echo x > $PITON_STEP.txt; commit $PITON_STEP");
    yard.workspace.write(SPEC, build(&["WS1.txt", "WS2.txt"], true));
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_tick_that_git_checked_out_is_not_the_workers() {
    let yard = with_worker("", "exit 1");
    let plan =
        |a: char| format!("# P\n<!-- CHECKPOINT: one -->\n- [{a}] A <!-- TASK: a -->\n- [x] B <!-- TASK: b -->\n");
    yard.workspace.write("plans/p/plan.md", plan('x'));
    yard.commit("a plan");
    yard.workspace.write("plans/p/plan.md", plan(' '));
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(yard.text("plans/p/plan.md").contains("- [ ] A"), "{}", said(&ended));
}

#[test]
fn a_checkpoint_that_git_checked_out_takes_no_record_back() {
    let waits = "until [ -e $marks/go ]; do sleep 0.02; done; echo x >> S-1.txt; commit S-1";
    let merges = "git -c user.name=a -c user.email=a@localhost merge -q --no-edit main";
    let script = story(waits).replace("done S-1;;", &format!("done S-1; echo 2 >> \"$LEDGER\"; {merges};;"));
    let yard = with_worker(STORY, &script);
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.commit("documents are committed");
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["log", "pipeline:S-1"]).stdout;
    wait_for("stage 2", || shown().contains("started at stage 2"), shown);
    yard.commit("a day's work");
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(fs::read_to_string(yard.outer("ledger")).expect("a ledger"), "2\n", "{}", said(&ended));
}

#[test]
fn work_of_a_lost_lead_is_not_done_before_its_branch_is_merged() {
    // A story at stage 3, and a task of a plan whose merge a file of the user's blocks; then the memory is lost.
    let stops = story("echo x > S-1.txt; commit S-1").replace("3) ", "3) [ -e $marks/go ] && ");
    let yard = with_worker(STORY, &stops);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    comes_back(&yard, &["run", "--yes", "--retry"], "S-1.txt");

    let script = "echo x > $PITON_STEP.txt; commit $PITON_STEP; \"$PITON\" step $PITON_UNIT done $PITON_STEP";
    let yard = with_worker("", script);
    yard.workspace.write("plans/p/plan.md", "# P\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n");
    yard.commit("a plan");
    yard.workspace.write("a.txt", "mine\n");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    fs::remove_file(yard.workspace.path("a.txt")).expect("it is there");
    comes_back(&yard, &["run", "plan:p", "--yes", "--retry"], "a.txt");
}

/// Loses Piton's memory, and types what the next run prints.
fn comes_back(yard: &Yard, again: &[&str], file: &str) {
    fs::remove_dir_all(yard.workspace.path(".piton")).expect("it is there");
    let ended = yard.piton(again);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(yard, file), "{}", said(&ended));
    let (_, command) = ended.stdout.split_once("merge it with: git ").expect("a command is printed");
    let command = command.split(';').next().unwrap_or_default();
    yard.git(&command.split(' ').collect::<Vec<_>>());
    let ended = yard.piton(again);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(yard, file), "{}", said(&ended));
}

#[test]
fn a_checkpoint_is_no_work() {
    let yard = with_worker(
        STORY,
        &story(
            "git add -f .pipeline 2>/dev/null || true; mkdir -p .pipeline; \
         cp \"$PITON_CHECKPOINT\" .pipeline/; git add -f .pipeline; commit checkpoint",
        ),
    );
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("nothing is committed on feature/S-1-one"), "{}", said(&ended));
}

#[test]
fn a_workers_own_answer_frees_no_lane() {
    let script = "echo $PITON_STEP >> \"$LEDGER\"\nif [ $PITON_STEP = a ]; then \"$PITON\" block $PITON_UNIT --message why; \
                  \"$PITON\" unblock $PITON_UNIT --message so; touch $marks/asked; exit 1; fi\n\
                  until [ -e $marks/go ]; do sleep 0.02; done\necho x > b.txt; commit b; \
                  \"$PITON\" step $PITON_UNIT done b";
    let yard = with_worker("", script);
    yard.workspace.write("plans/p/plan.md", "# P\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n");
    yard.commit("a plan");
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let events = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for("the pause", || events().contains("\"event\":\"paused\""), events);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let ledger = fs::read_to_string(yard.outer("ledger")).expect("a ledger");
    assert_eq!(ledger.lines().filter(|line| *line == "a").count(), 1, "{}", said(&ended));
}

#[test]
fn what_a_person_did_after_the_worker_died_is_done_and_the_half_work_stays_out() {
    let yard = with_worker("", "echo half > half.txt; commit half; exit 1");
    let plan = |mark: char| format!("# P\n- [{mark}] A <!-- TASK: a -->\n");
    yard.workspace.write("plans/p/plan.md", plan(' '));
    yard.commit("a plan");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.workspace.write("plans/p/plan.md", plan('x'));
    yard.workspace.write("a.txt", "by hand\n");
    yard.commit("a, by hand");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(!is_on_main(&yard, "half.txt"), "{}", said(&ended));
}

#[test]
fn a_commit_that_a_person_took_off_the_base_does_not_come_back() {
    let yard = with_worker(STORY, &story("until [ -e $marks/go ]; do sleep 0.02; done; echo x > S-1.txt; commit S-1"));
    let first = yard.git(&["rev-parse", "HEAD"]);
    yard.workspace.write("secret.txt", "a key\n");
    yard.commit("a secret");
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the worktree", || yard.workspace.path(".worktrees/story-S-1/secret.txt").exists(), shown);
    yard.git(&["reset", "-q", "--hard", first.trim()]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && !is_on_main(&yard, "secret.txt"), "{}", said(&ended));
}

#[test]
fn a_box_that_is_added_while_its_phase_is_judged_is_judged_with_it() {
    let script = "echo x > $PITON_STEP.txt; commit $PITON_STEP; \"$PITON\" step $PITON_UNIT done $PITON_STEP";
    let yard = with_worker("", script);
    let gate = format!(
        "touch {}; until [ -e {} ]; do sleep 0.02; done; test ! -e b.txt",
        yard.outer("marks/gate").display(),
        yard.outer("marks/go").display()
    );
    let settings = format!("{}[gates]\ngood = {gate:?}\n", yard.text("piton.toml"));
    yard.workspace.write("piton.toml", settings);
    let plan = "# P\n- [ ] A <!-- TASK: a -->\n- [ ] Good <!-- ACCEPT: good -->\n";
    yard.workspace.write("plans/p/plan.md", plan);
    yard.commit("a plan");
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the gate", || yard.outer("marks/gate").exists(), shown);
    let added = yard.text("plans/p/plan.md").replace("- [ ] Good", "- [ ] B <!-- TASK: b -->\n- [ ] Good");
    yard.workspace.write("plans/p/plan.md", added);
    wait_for("the box", || yard.text(".piton/run/memory.json").contains("plan:p b"), shown);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_phase_is_judged_as_a_whole_by_a_gate_that_a_workstream_names_too() {
    let yard = with_worker("", "echo x > $PITON_STEP.txt; commit $PITON_STEP");
    let spec = "---\nprd: PRD-063\nprd_title: A wall\nworkstreams:\n  WS1:\n    outputs: [WS1.txt]\n    gate: g\n  WS2:\n    \
                outputs: [WS2.txt]\n  WS3:\n    outputs: [WS3.txt]\nexecution_phases:\n  - name: Ground\n    parallel: [WS1, WS2]\n    \
                gates: [g]\n  - name: Up\n    parallel: [WS3]\ngates:\n  g:\n    command: \"test ! -e WS2.txt\"\n---\n# A wall\n";
    yard.workspace.write(SPEC, spec);
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_workstream_that_is_taken_out_of_the_specification_is_not_built() {
    let yard = with_worker("", "echo x > $PITON_STEP.txt; commit $PITON_STEP; [ $PITON_STEP = WS1 ]");
    yard.workspace.write(SPEC, build(&["WS1.txt", "WS2.txt"], false));
    yard.commit("a specification");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.workspace.write(SPEC, build(&["WS1.txt"], false));
    yard.commit("less");
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(ended.stdout.contains("not in the specification any more: WS2"), "{}", said(&ended));
}

#[test]
fn a_story_that_is_restarted_leaves_its_old_branch_behind() {
    let yard = Yard::with(SETTINGS, "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n");
    let ended = finish(yard.command(&["run", "--yes"]).env("BAD", "dirty").spawn().expect("it starts"));
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["restart", "pipeline:S-1", "--force"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(!is_on_main(&yard, "left-behind.txt"), "{}", said(&ended));
}

#[test]
fn outputs_are_found_in_a_workspace_below_the_repositorys_root() {
    let yard = with_worker(
        "",
        "echo x > $PITON_STEP.txt; commit $PITON_STEP; \
         \"$PITON\" step $PITON_UNIT done $PITON_STEP --output $PITON_STEP.txt",
    );
    fs::create_dir_all(yard.workspace.path("app/.piton")).expect("a directory");
    fs::rename(yard.workspace.path("piton.toml"), yard.workspace.path("app/piton.toml")).expect("it is there");
    yard.workspace.write(&format!("app/{SPEC}"), build(&["./WS1.txt", "WS2.txt"], true));
    yard.commit("a specification");
    let app = yard.workspace.path("app");
    let ended = finish(yard.command(&["run", SPEC, "--yes"]).current_dir(app).spawn().expect("it starts"));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(yard.git(&["ls-tree", "-r", "--name-only", "main"]).contains("app/WS1.txt"), "{}", said(&ended));
}
