//! Whatever is around a run: the caller's environment, other runs, names and places that the user changes.

use std::process::{Command, Stdio};

use crate::yard::{Ended, Yard, finish, wait_for};

const SETTINGS: &str = "[run]\nworkers = 2\nheartbeat = 1\npatience = 60\ngrace = 0.3\nrespawn = 0\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

#[test]
fn variables_that_name_another_repository_or_worker_reach_no_process() {
    let environment = "env | grep -E '^(GIT_|PITON_)' | grep -v ^PITON_TEST | sort";
    let gates = format!(
        "[gates]\nlook = \"{environment} > $MARKS/gate\"\n[worktree]\nsetup = \"{environment} > $MARKS/setup\"\n"
    );
    let yard = Yard::with(SETTINGS, &format!("{gates}{STORY}"));
    yard.git(&["worktree", "add", "-q", "-b", "two", "../two"]);
    let (two, before) = (yard.outer("two"), yard.git(&["rev-parse", "two"]));
    // As an alias of git starts it: GIT_DIR is the one of a worktree in which a branch of the user is checked out.
    let mut lead = yard.command(&["run", "--yes"]);
    lead.env("GIT_DIR", yard.workspace.path(".git/worktrees/two")).env("GIT_WORK_TREE", &two).env("GIT_PREFIX", "");
    lead.env("GIT_INDEX_FILE", yard.workspace.path(".git/worktrees/two/index")).env("GIT_EDITOR", "true");
    for name in ["UNIT", "STEP", "STAGE", "INBOX", "CHECKPOINT", "SESSION", "AGENT"] {
        lead.env(format!("PITON_{name}"), "outer");
    }
    lead.env("PITON_ATTEMPT", "7");
    let ended = finish(lead.spawn().expect("it starts"));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(yard.git(&["rev-parse", "two"]), before);
    let seen = |name: &str| std::fs::read_to_string(yard.outer("marks").join(name)).expect("it ran");
    for name in ["gate", "setup"] {
        let names: Vec<String> =
            seen(name).lines().map(|line| line.split('=').next().unwrap_or_default().to_owned()).collect();
        let want = [
            "GIT_AUTHOR_EMAIL",
            "GIT_AUTHOR_NAME",
            "GIT_COMMITTER_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_EDITOR",
            "PITON_ROOT",
            "PITON_WORKER",
        ];
        assert_eq!(names, want, "{name}");
    }
}

#[test]
fn gate_that_stages_its_changes_does_not_change_what_the_next_one_judges() {
    let gates =
        "[gates]\na-format = \"echo formatted >> S-1.txt && git add -A\"\nb-check = \"grep formatted S-1.txt\"\n";
    let yard = Yard::with(&format!("{SETTINGS}reworks = 0\n"), &format!("{gates}{STORY}"));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("gate b-check failed"), "{}", said(&ended));
}

#[test]
fn review_that_takes_its_story_back_counts_as_a_rework() {
    let yard = Yard::with(&format!("{SETTINGS}reworks = 1\n"), STORY).env("BAD", "takes-back");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let reviews = yard.ledger().into_iter().filter(|(_, step, _)| step == "review").count();
    assert_eq!(reviews, 2, "{}", said(&ended));
    assert!(ended.stdout.contains("FAIL: too slow; reworked once"), "{}", said(&ended));
}

#[test]
fn run_that_is_stopped_while_a_merge_is_set_up_goes_on() {
    let setup = "[worktree]\nsetup = \"case $PWD in *piton-merge*) echo x > $MARKS/merging; [ -e $MARKS/go ] || sleep 60;; esac\"\n[gates]\nfine = \"true\"\n";
    let yard = Yard::with(SETTINGS, &format!("{setup}{STORY}"));
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let merging = yard.outer("marks/merging");
    wait_for("the set-up of the merge", || merging.exists(), String::new);
    yard.run(&["stop", "--workers"]);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}", said(&ended));
    std::fs::write(yard.outer("marks/go"), "").expect("a mark");
    let ended = yard.run(&["run", "--yes"]);
    assert!(ended.stdout.contains("\ndone"), "{}", said(&ended));
}

#[test]
fn repository_that_was_moved_goes_on_with_its_worktrees() {
    let yard = Yard::with(SETTINGS, STORY);
    let ended = finish(yard.command(&["run", "--yes"]).env("BAD", "always-exits").spawn().expect("it starts"));
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let moved = yard.outer("moved");
    std::fs::rename(yard.workspace.path(""), &moved).expect("it is ours");
    let mut lead = yard.command(&["run", "--yes", "--retry"]);
    lead.current_dir(&moved);
    let ended = finish(lead.spawn().expect("it starts"));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(moved.join("S-1.txt").exists() || moved.join("S-1-fix1.txt").exists(), "{}", said(&ended));
}

#[test]
fn branch_named_feature_is_no_obstacle() {
    let yard = Yard::with(SETTINGS, STORY);
    yard.git(&["branch", "feature"]);
    let ended = yard.run(&["run", "--yes"]);
    let memory = yard.read_json(".piton/run/memory.json");
    assert_eq!(memory["lanes"]["pipeline:S-1"]["branch"], "piton/S-1-one", "{}", said(&ended));
    let yard = Yard::with(SETTINGS, STORY);
    yard.git(&["branch", "feature"]);
    yard.git(&["branch", "piton"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let (_, command) = ended.stdout.split_once("rename one: ").expect("a command");
    let command = command.lines().next().expect("a line");
    let mut shell = Command::new("/bin/sh");
    let ran = shell.args(["-c", command]).current_dir(yard.workspace.path("")).stdin(Stdio::null()).status();
    assert!(ran.expect("it runs").success(), "{command}");
    yard.run(&["run", "--yes", "--retry"]);
}

const FIRST: &str = "# One\n\n## Ground\n<!-- CHECKPOINT: ground -->\n- [ ] First <!-- TASK: first -->\n";

fn plans(names: &[&str]) -> Yard {
    let yard = Yard::with(SETTINGS, "");
    for name in names {
        yard.workspace.write(&format!("plans/{name}/plan.md"), FIRST);
    }
    yard.commit("plans");
    yard
}

#[test]
fn unfinished_run_whose_plan_was_renamed_goes_on_with_the_rest() {
    let yard = plans(&["one", "two"]);
    let ended = finish(
        yard.command(&["run", "plan:one", "plan:two", "--yes"]).env("BAD", "always-exits").spawn().expect("it starts"),
    );
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    std::fs::rename(yard.workspace.path("plans/one"), yard.workspace.path("plans/other")).expect("it is there");
    yard.run(&["approve"]);
    let shown = yard.run(&["run", "--explain", "--retry"]).stdout;
    assert!(shown.contains("left out, because it is gone or no list has it any more: plan:one"), "{shown}");
    let ended = yard.run(&["run", "--yes", "--retry"]);
    assert!(ended.stdout.contains("plan:one no longer exists"), "{}", said(&ended));
    let ended = yard.piton(&["run"]);
    assert!(said(&ended).contains("there is nothing to run"), "the run is finished: {}", said(&ended));
}

#[test]
fn run_of_which_nothing_is_left_blocks_no_other() {
    let yard = plans(&["one", "two"]);
    for plan in ["plan:two", "plan:one"] {
        let lead = yard.command(&["run", plan, "--yes"]).env("BAD", "always-exits").spawn();
        assert_eq!(finish(lead.expect("it starts")).code, Some(4));
    }
    std::fs::rename(yard.workspace.path("plans/one"), yard.workspace.path("plans/other")).expect("it is there");
    let ended = yard.run(&["run", "--yes", "--retry"]);
    assert!(ended.stdout.contains("plan:two"), "{}", said(&ended));
}

#[test]
fn moved_specification_is_named() {
    let yard = Yard::with(SETTINGS, "");
    let spec = "---\nprd: PRD-061\nprd_title: A wall\nworkstreams:\n  WS1:\n    name: Stones\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n---\n# A wall\n";
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-061.md", spec);
    yard.commit("a specification");
    let lead = yard.command(&["run", "docs/EXECUTION-SPEC-PRD-061.md", "--yes"]).env("BAD", "always-exits").spawn();
    assert_eq!(finish(lead.expect("it starts")).code, Some(4));
    yard.workspace.write("specs/EXECUTION-SPEC-PRD-061.md", spec);
    std::fs::remove_file(yard.workspace.path("docs/EXECUTION-SPEC-PRD-061.md")).expect("it is there");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert!(!said(&ended).contains("is not an id"), "{}", said(&ended));
    let found = ended.code == Some(0) || said(&ended).contains("no specification of build:PRD-061 was found");
    assert!(found, "{}", said(&ended));
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-061.md"]);
    assert!(ended.stderr.contains("there is no file `docs/EXECUTION-SPEC-PRD-061.md`"), "{}", said(&ended));
}

#[test]
fn explain_marks_what_is_paused_and_what_is_done() {
    let yard = Yard::with(SETTINGS, STORY);
    let lead = yard.command(&["run", "--yes"]).env("BAD", "blocks").spawn();
    assert_eq!(finish(lead.expect("it starts")).code, Some(4));
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains("    is paused, and no worker starts: no key to the vault\n"), "{shown}");
    assert_eq!(yard.json(&["run", "--explain", "--json"])["lanes"][0]["reason"], "no key to the vault");
    yard.run(&["unblock", "pipeline:S-1", "--message", "under the mat"]);
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(!shown.contains("paused"), "{shown}");
    yard.run(&["run", "--yes"]);
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains("    is done\n"), "{shown}");
}

#[test]
fn criterion_that_no_command_judges_is_named() {
    let yard = Yard::with(SETTINGS, "");
    let tasks = "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\nsubtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"works\", \"pretty\"]\n";
    yard.workspace.write("tasks.toml", tasks);
    yard.commit("tasks");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let judge =
        "the criterion \"pretty\" is not met, and piton.toml has no command for it: [gates] pretty = \"COMMAND\"";
    assert!(ended.stdout.contains(judge), "{}", said(&ended));
    let why = yard.piton(&["why", "task:copy/T01"]);
    assert!(said(&why).contains(judge), "{}", said(&why));
    yard.workspace.write("piton.toml", format!("{}[gates]\npretty = \"true\"\n", yard.text("piton.toml")));
    yard.run(&["run", "tasks.toml", "--yes", "--retry"]);
}

#[test]
fn criterion_that_a_person_judges_needs_no_worker() {
    let yard = Yard::with(SETTINGS, "");
    let tasks = "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\nsubtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"pretty\"]\n";
    yard.workspace.write("tasks.toml", tasks);
    yard.commit("tasks");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    let judge = "or, when it is met: piton gate task:copy/T01 pass pretty";
    assert!(ended.code == Some(4) && ended.stdout.contains(judge), "{}", said(&ended));
    yard.run(&["gate", "task:copy/T01", "pass", "pretty"]);
    let ended = yard.run(&["run", "tasks.toml", "--yes", "--retry"]);
    assert!(!ended.stdout.contains("started"), "{}", said(&ended));
}

#[test]
fn report_of_a_run_counts_its_own_workers() {
    let yard = Yard::with(SETTINGS, STORY);
    yard.run(&["run", "--yes"]);
    assert_eq!(yard.read_json(".piton/run/runs/1/report.json")["lanes"][0]["workers"], 2);
    yard.run(&["reopen", "pipeline:S-1"]);
    let ended = yard.piton(&["run", "--yes"]);
    let report = yard.read_json(".piton/run/runs/2/report.json");
    let stages = report["lanes"][0]["stages"].as_array().expect("stages").len() as u64;
    assert_eq!(report["lanes"][0]["workers"].as_u64(), Some(stages), "{}\n{report:#}", said(&ended));
    assert!(stages < 2 || ended.stdout.matches("started").count() as u64 == stages, "{}", said(&ended));
}
