//! `--explain`, `approve`, `doctor` and the end of a run name what stops a run, with a next step that works.

use std::fs;

use crate::pty::Terminal;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

fn gates(command: &str) -> String {
    format!("[gates]\ntest = \"{command}\"\n{STORY}")
}

#[test]
fn gates_whose_script_is_not_committed_cost_no_worker() {
    let yard = yard("", &gates("sh verify.sh"), &[]);
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains("gate test: verify.sh is not there, neither here nor on main\n"), "{shown}");
    yard.workspace.write("verify.sh", "test -s S-1.txt\n");
    let told = "gate test: verify.sh is here but not committed, so no gate finds it; commit it on main\n";
    for words in [&["run", "--explain"][..], &["approve"]] {
        let shown = yard.run(words).stdout;
        assert!(shown.contains(told), "{words:?}: {shown}");
    }
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let why = "verify.sh is not in the tree that it judges; it is in the workspace, but not in what is merged";
    assert!(ended.stdout.contains(told) && ended.stdout.contains(why), "{}", said(&ended));
    assert!(!ended.stdout.contains("FAIL"), "no verdict on the work: {}", said(&ended));
    let before = workers(&yard).len();
    yard.commit("the gate's script");
    let ended = yard.run(&["run", "--retry"]);
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), before, "no work was done again: {}", said(&ended));
}

#[test]
fn gates_that_open_their_script_judge_the_work() {
    let yard = yard("", &gates("sh verify.sh"), &[("verify.sh", "echo it is too short; exit 2\n")]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("S-1: paused: `reworks` is 0\n"), "{}", said(&ended));
    assert_eq!(ended.stdout.matches("S-1: gate test failed: ").count(), 1, "told once: {}", said(&ended));
}

#[test]
fn refused_work_is_corrected_where_the_next_step_says() {
    let yard = yard("", &gates("test -e fixed.txt"), &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let (tree, branch) =
        (".worktrees/story-S-1", yard.git(&["branch", "--list", "feature/*", "--format=%(refname:short)"]));
    let next =
        format!("when it is fixed and committed in {tree} (branch {}), or on main: piton run --retry\n", branch.trim());
    assert!(ended.stdout.contains(&format!("next: {next}")), "{}", said(&ended));
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains(&format!("next       {next}")), "{why}");
    yard.workspace.write(&format!("{tree}/fixed.txt"), "by hand\n");
    yard.git(&["-C", tree, "add", "-A"]);
    yard.git(&["-C", tree, "commit", "-qm", "by hand"]);
    let ended = yard.run(&["run", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "fixed.txt"), "{}", said(&ended));
}

#[test]
fn gate_that_fails_for_the_base_is_corrected_there() {
    let yard = yard("", &gates("test -e fixed.txt"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write("fixed.txt", "the base lacked it\n");
    yard.commit("by hand");
    let ended = yard.run(&["run", "--retry"]);
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn stories_that_are_listed_are_named_before_the_first_run() {
    let yard = yard("", STORY, &[]);
    let shown = yard.run(&["status"]).stdout;
    let next = "1 story is listed, and no run has begun; see what a run would do: piton run --explain\n";
    assert!(shown.ends_with(next), "{shown}");
    yard.run(&["run", "--explain"]);
    yard.run(&["run", "--yes"]);
    assert!(!yard.run(&["status"]).stdout.contains("no run has begun"));
}

#[test]
fn init_says_what_it_would_do_before_it_asks() {
    let yard = yard("", STORY, &[]);
    let mut terminal = Terminal::start(&yard.command(&["init"]), 100, 30);
    terminal.wait_for("write this? [y/N]");
    assert!(terminal.seen().contains(".mcp.json would be made"), "{}", terminal.seen());
    terminal.type_in("n\n");
    terminal.wait_for("nothing is changed");
    terminal.child.wait().expect("it ends");
    assert!(!yard.workspace.path(".mcp.json").exists());
}

#[test]
fn stories_that_a_gate_paused_are_judged_again_by_who_resumes_them() {
    let yard = yard("", &gates("test -e fixed.txt"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let brief = yard.run(&["resume", "pipeline:S-1"]).stdout;
    let next =
        "Next: work on what failed, commit it, and judge the quality again: piton verdict pipeline:S-1 PASS --score N";
    assert!(brief.contains(next), "{brief}");
    yard.run(&["verdict", "pipeline:S-1", "PASS", "--score", "90"]);
}

#[test]
fn questions_are_answered_and_not_retried() {
    let hook = "\"$PITON\" block \"$PITON_UNIT\" --message 'which port?'; exit 0";
    let yard = yard(hook, STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let answer = "next: answer what blocks it: piton unblock pipeline:S-1 --message TEXT && piton run\n";
    assert!(ended.stdout.contains(answer), "{}", said(&ended));
    assert!(!ended.stdout.contains("--retry"), "{}", said(&ended));
}

#[test]
fn every_use_of_a_command_is_shown() {
    let yard =
        Yard::with("[run]\nworkers = 1\n", &format!("allow = [\"npm test\"]\n[gates]\ntest = \"npm test\"\n{STORY}"));
    for words in [&["run", "--explain"][..], &["approve"]] {
        let shown = yard.run(words).stdout;
        assert!(shown.contains("workers may run: npm test\n") && shown.contains("gate test: npm test\n"), "{shown}");
    }
    assert_eq!(yard.run(&["approve"]).stdout, "every command is approved already\n");
}

#[test]
fn approve_says_what_there_is_to_approve() {
    let yard = Yard::new(&[]);
    yard.workspace.write("piton.toml", "");
    assert_eq!(yard.run(&["approve"]).stdout, "no command here needs an approval\n");
    let spec = "---\nprd: PRD-052\nprd_title: A gate\nworkstreams:\n  WS1:\n    name: Row\n    outputs: [WS1.txt]\n    \
                gate: row\nexecution_phases:\n  - name: All\n    parallel: [WS1]\n    gates: [row]\ngates:\n  row:\n    \
                command: test -s WS1.txt\n---\n# A gate\n";
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-052.md", spec);
    let told = "docs/EXECUTION-SPEC-PRD-052.md names commands of its own; approve them: piton approve \
                docs/EXECUTION-SPEC-PRD-052.md\n";
    assert_eq!(yard.run(&["approve"]).stdout, format!("no command here needs an approval\n{told}"));
    let approved = yard.run(&["approve", "docs/EXECUTION-SPEC-PRD-052.md"]).stdout;
    assert_eq!(approved, "approved gate row: test -s WS1.txt\n");
    assert_eq!(yard.run(&["approve"]).stdout, "no command here needs an approval\n");
}

#[test]
fn what_git_refuses_is_told_before_a_run() {
    let yard = yard("", STORY, &[]);
    yard.git(&["checkout", "-q", "--detach"]);
    let refused = "no branch is checked out in ";
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains(&format!("a run is refused here: {refused}")), "{shown}");
    let shown = yard.piton(&["doctor"]).stdout;
    assert!(shown.contains(&format!("a repository in which no run can begin: {refused}")), "{shown}");
    let ended = yard.piton(&["run", "--yes"]);
    assert!(ended.stderr.contains(refused), "{}", said(&ended));
}

#[test]
fn first_commits_hold_what_is_there() {
    let yard = yard("", STORY, &[]);
    fs::remove_dir_all(yard.workspace.path(".git")).expect("it is there");
    yard.git(&["init", "-q", "-b", "main"]);
    let root = yard.workspace.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let hint = format!("git -C {root} add -A && git -C {root} commit --allow-empty -m 'first commit'");
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains(&hint), "{shown}");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "--allow-empty", "-m", "first commit"]);
    let ended = yard.run(&["run", "--yes"]);
    assert!(is_on_main(&yard, "piton.toml") && is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn plans_of_a_run_say_that_a_lead_is_at_work() {
    let yard = yard("hold all", STORY, &[]);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-all").exists(), String::new);
    let shown = yard.run(&["run", "--explain"]).stdout;
    assert!(shown.contains(&format!("a lead is at work (process {}); show it: piton run\n", lead.id())), "{shown}");
    let follower = yard.types(&["run"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    assert_eq!(finish(lead).code, Some(0));
    assert_eq!(follower.end().code, Some(0));
}

#[test]
fn runs_that_begin_at_the_same_moment_are_one() {
    let yard = yard("", STORY, &[]);
    yard.run(&["approve"]);
    let all: Vec<_> = (0..4).map(|_| yard.command(&["run"]).spawn().expect("it starts")).collect();
    for child in all {
        let ended = finish(child);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
    }
    assert_eq!(workers(&yard), ["S-1", "S-1"], "a worker a stage");
}

#[test]
fn stories_that_are_misspelt_are_suggested() {
    let yard = yard("", STORY, &[]);
    let ended = yard.piton(&["run", "pipeline:S1"]);
    assert!(ended.stderr.contains("hint: did you mean pipeline:S-1?"), "{}", said(&ended));
}

#[test]
fn doctor_follows_the_list_of_stories() {
    let yard = yard("", STORY, &[]);
    let shown = yard.piton(&["doctor"]).stdout;
    assert!(shown.contains("1 story is listed, none has begun"), "{shown}");
    assert!(shown.contains("see what a run would do: piton run --explain"), "{shown}");
    yard.run(&["run", "--explain"]);
}

#[test]
fn units_that_no_run_can_start_are_no_hint() {
    let yard = yard("", "", &[]);
    yard.run(&["start", "build:PRD-001", "--title", "T", "--step", "WS1"]);
    let ended = yard.piton(&["run"]);
    assert!(ended.stderr.contains("piton run FILE"), "{}", said(&ended));
    assert!(!ended.stderr.contains("build:PRD-001"), "{}", said(&ended));
}

#[test]
fn runs_without_work_keep_the_last_report() {
    let yard = yard("", STORY, &[]);
    yard.run(&["run", "--yes"]);
    let report = yard.text(".piton/run/report.md");
    set_hook(&yard, "exit 1");
    yard.run(&["run", "--yes"]);
    assert_eq!(yard.text(".piton/run/report.md"), report);
}
