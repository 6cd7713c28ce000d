//! What a person does about work that a run left paused: every door knows it at once, and the command that is printed
//! continues the work.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-073.md";

const BUILD: &str = "---\nprd: PRD-073\nprd_title: A wall\nworkstreams:\n  WS1:\n    name: Row\n    outputs: [WS1.txt]\n  \
                     WS2:\n    name: Roof\n    depends_on: [WS1]\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: Row\n    \
                     parallel: [WS1]\n    gates: [nice]\n  - name: Roof\n    parallel: [WS2]\n---\n# A wall\n";

/// A worker that commits half of its work and dies.
const DIES: &str = "keep half; exit 1";

fn status(yard: &Yard) -> String {
    yard.run(&["status"]).stdout
}

fn why(yard: &Yard, unit: &str) -> String {
    yard.run(&["why", unit]).stdout
}

#[test]
fn a_task_that_is_restarted_is_paused_no_more() {
    let yard = yard(DIES, "", &[("tasks.toml", TASK)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    assert!(status(&yard).contains("when it is fixed: piton run tasks.toml --retry"), "{}", status(&yard));
    yard.run(&["restart", "task:copy/T1"]);
    let shown = status(&yard);
    assert!(shown.contains("continue it: piton run tasks.toml\n") && !shown.contains("paused:"), "{shown}");
    assert!(why(&yard, "task:copy/T1").contains("state      running"), "{}", why(&yard, "task:copy/T1"));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn half_of_a_task_that_is_finished_by_hand_is_merged_only_when_its_user_says_so() {
    let yard = yard(DIES, "", &[("tasks.toml", TASK)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    yard.run(&["resume", "task:copy/T1"]);
    yard.run(&["step", "task:copy/T1", "done", "one", "two"]);
    yard.run(&["finish", "task:copy/T1"]);
    let shown = status(&yard);
    assert!(shown.contains("continue it: piton run tasks.toml\n") && shown.contains("1 done"), "{shown}");
    // A retry that was printed before the task was finished is no answer to what was not asked yet.
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("merge them: piton run tasks.toml --retry"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "half.txt"), "{}", said(&ended));
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "half.txt"), "{}", said(&ended));
}

#[test]
fn a_question_of_a_plan_stays_one_when_the_plan_is_resumed_by_hand() {
    let hook = r#"if [ "$step" = b ]; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.run(&["resume", "plan:p"]);
    let explained = yard.run(&["run", "--explain", "plan:p"]).stdout;
    assert!(explained.contains("is paused, and no worker starts: which port?"), "{explained}");
    let before = workers(&yard);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, workers(&yard)), (Some(4), before), "{}", said(&ended));
    yard.run(&["unblock", "plan:p", "--message", "80"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_plan_that_is_resumed_by_hand_goes_on_as_its_explanation_says() {
    let yard = yard(r#"if [ "$step" = b ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    let explained = yard.run(&["run", "--explain", "plan:p"]).stdout;
    assert!(explained.contains("is paused, and no worker starts"), "{explained}");
    yard.run(&["resume", "plan:p"]);
    let explained = yard.run(&["run", "--explain", "plan:p"]).stdout;
    assert!(!explained.contains("no worker starts"), "{explained}");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_run_that_waits_for_approval_is_continued_by_what_stop_prints() {
    let yard = yard("", "", &[(SPEC, &BUILD.replace("    gates: [nice]\n", ""))]);
    yard.run(&["approve", "--commands", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    let stopped = yard.piton(&["stop"]);
    let hint = format!("continue run 1: piton approve build:PRD-073 && piton run {SPEC}");
    assert!(stopped.stderr.contains(&hint), "{}", stopped.stderr);
    yard.run(&["approve", "build:PRD-073"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_person_may_say_that_a_gate_of_a_paused_build_is_not_met() {
    let yard = yard("", "", &[(SPEC, BUILD)]);
    yard.run(&["approve", "--commands", SPEC]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert!(said(&ended).contains("judge it: piton gate build:PRD-073 pass nice"), "{}", said(&ended));
    yard.run(&["gate", "build:PRD-073", "fail", "nice"]);
    assert!(why(&yard, "build:PRD-073").contains("state      paused"), "{}", why(&yard, "build:PRD-073"));
    set_hook(&yard, "keep again");
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert!(said(&ended).contains("WS1: FAIL: a person judged nice: not met"), "{}", said(&ended));
    assert!(is_on_main(&yard, "again.txt"), "its worker was started again: {}", said(&ended));
}

#[test]
fn a_criterion_with_a_command_is_the_leads_also_when_the_worker_calls_its_task_complete() {
    for (command, code) in [("true", 0), ("false", 4)] {
        let by_the_book = r#"keep "$step"
sed -i 's/"pending"/"complete"/; s/"in_progress"/"complete"/; s/"completed": 0/"completed": 2/' "$DOCUMENT"
exit 0"#;
        let gates = format!("[gates]\ntests = \"{command}\"\n");
        let yard = yard("", &gates, &[("tasks.toml", &format!("{TASK}acceptance_criteria = [\"tests\"]\n"))]);
        let document = yard.workspace.path("progress/checkpoints/copy-T1.json");
        set_hook(&yard, &by_the_book.replace("$DOCUMENT", &document.display().to_string()));
        let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
        assert_eq!(ended.code, Some(code), "{}{}", said(&ended), why(&yard, "task:copy/T1"));
        assert!(said(&ended).contains(if code == 0 { "gate tests passed" } else { "gate tests failed" }), "{command}");
        assert!(!said(&ended).contains("piton unblock"), "it is no question: {}", said(&ended));
        assert_eq!(is_on_main(&yard, "T1.txt"), code == 0, "{}", said(&ended));
    }
}

#[test]
fn a_build_that_is_restarted_when_all_of_it_is_there_gets_done() {
    let gates = "gates:\n  nice:\n    command: \"test -s WS1.txt\"\n    success_criteria: it is there\n---\n# A wall";
    let build =
        BUILD.replace("parallel: [WS2]\n", "parallel: [WS2]\n    gates: [nice]\n").replace("---\n# A wall", gates);
    let yard = yard("", "", &[(SPEC, &build)]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    yard.run(&["restart", "build:PRD-073", "--force"]);
    // Each worker looks, and finds that nothing is to be changed.
    set_hook(&yard, "\"$PITON\" step \"$PITON_UNIT\" done \"$step\" --output \"$step.txt\"; exit 0");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    // Each phase is judged again.
    assert_eq!(ended.stdout.matches("gate nice passed").count(), 2, "{}", said(&ended));
}

#[test]
fn a_base_that_its_user_renames_is_followed() {
    let yard = yard(DIES, "", &[("tasks.toml", TASK)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    yard.git(&["branch", "-m", "main", "stem"]);
    yard.git(&["branch", "-m", "stem", "trunk"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(
        said(&ended).contains("main was renamed to trunk: this run merges into it from now on"),
        "{}",
        said(&ended)
    );
    assert!(yard.git(&["ls-tree", "--name-only", "trunk"]).contains("T1.txt"), "{}", said(&ended));
}

#[test]
fn a_report_counts_what_was_done_again_before_a_retry() {
    let yard = yard(DIES, "", &[("tasks.toml", TASK)]);
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let report = yard.text(".piton/run/runs/1/report.json");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let lane = &report["lanes"][0];
    assert_eq!((&lane["respawns"], &lane["workers"]), (&1.into(), &3.into()), "{lane}");
}
