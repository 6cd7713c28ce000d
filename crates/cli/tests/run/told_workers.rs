//! What workers know of the gates that judge them and of the work before theirs, and the next steps that a run prints at its end.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

/// Keeps each prompt but a judge's.
const KEEPS: &str = r#"[ "$PITON_STAGE" = 3 ] || cat > "$MARKS/prompt-$step""#;

fn prompt(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.outer(&format!("marks/prompt-{name}"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const GATES: &str = "[gates]\nholds = \"test ! -e nothing\"\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] ok <!-- ACCEPT: holds -->\n\n\
                    ## Two\n<!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

#[test]
fn the_last_phase_of_a_plan_knows_the_gates_and_the_work_before_it() {
    let yard = yard(KEEPS, GATES, &[("plans/p/plan.md", PLAN)]);
    yard.run(&["run", "plan:p", "--yes"]);
    let told = prompt(&yard, "b");
    assert!(told.contains("- holds: `test ! -e nothing`"), "{told}");
    assert!(told.contains("- plan:p a, merged as "), "{told}");
    assert!(!prompt(&yard, "a").contains("## What it builds on"));
}

#[test]
fn a_workstream_knows_its_build_and_what_its_gates_ask_for() {
    let spec = "---\nprd: PRD-031\nprd_title: A shed\nworkstreams:\n  WS1:\n    name: Floor\n    outputs: [WS1.txt]\n    \
                gate: level\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n    gates: [level]\ngates:\n  \
                level:\n    command: test -f WS1.txt\n    success_criteria: the floor is level\n---\n# A shed\n";
    let yard = yard(KEEPS, "", &[("docs/EXECUTION-SPEC-PRD-031.md", spec)]);
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    let told = prompt(&yard, "WS1");
    assert!(told.contains("Build: A shed\n"), "{told}");
    assert!(told.contains("- level: `test -f WS1.txt` (the floor is level)"), "{told}");
}

#[test]
fn a_task_knows_what_the_task_before_it_made() {
    let tasks = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\"]\n[[tasks]]\nagent = \"copy\"\nid = \"T2\"\n\
                 subtasks = [\"one\"]\ndepends_on = [\"T1\"]\n";
    let hook = format!(
        "{KEEPS}\nkeep $step; \"$PITON\" step $PITON_UNIT done one --output $step.txt; \"$PITON\" finish $PITON_UNIT; exit 0"
    );
    let yard = yard(&hook, "", &[("tasks.toml", tasks)]);
    yard.run(&["run", "tasks.toml", "--yes"]);
    let told = prompt(&yard, "T2");
    assert!(told.contains("; made `T1.txt`"), "{told}");
}

#[test]
fn a_task_with_an_unmet_criterion_is_not_asked_for_settings() {
    let tasks =
        "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\"]\nacceptance_criteria = [\"friendly\"]\n";
    let hook = format!("{KEEPS}\nkeep $step; \"$PITON\" step $PITON_UNIT done one; exit 0");
    let yard = yard(&hook, "", &[("tasks.toml", tasks)]);
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("respawn");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let told = prompt(&yard, "T1");
    assert!(told.contains("The checkpoint is incomplete."), "{told}");
    assert!(told.contains("the criterion \"friendly\" is not met") && !told.contains("[gates]"), "{told}");
    assert!(said(&ended).contains("[gates] friendly = "), "{}", said(&ended));
}

#[test]
fn a_brief_of_a_story_is_given_once_and_an_agent_of_a_crew_knows_its_gates() {
    let more = format!(
        "{GATES}[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n[stories.brief]\ntech = \"SQLite\"\n"
    );
    let agents = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01_form\"\ntype = \"secondary\"\n";
    let yard = yard(KEEPS, &more, &[("crew.toml", agents)]);
    yard.run(&["run", "--yes"]);
    let told = prompt(&yard, "S-1");
    assert_eq!(told.matches("SQLite").count(), 1, "{told}");
    set_hook(&yard, &format!("{KEEPS}\nexit 1"));
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    let told = prompt(&yard, "Secondary-A");
    assert!(told.contains("- holds: `test ! -e nothing`"), "{told}");
}

#[test]
fn what_the_gate_of_a_phase_refused_is_corrected_where_the_run_says() {
    let gates = "[gates]\nholds = \"test -f fix.txt\"\n";
    let yard = yard("", gates, &[("plans/p/plan.md", PLAN)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let next = ".worktrees/plan-p-a (branch feature/p-a-a), or on main: piton run plan:p --retry";
    assert!(
        said(&ended).contains("when it is fixed and committed in ") && said(&ended).contains(next),
        "{}",
        said(&ended)
    );
    let why = yard.run(&["why", "plan:p"]).stdout;
    assert!(why.contains(next), "{why}");
    yard.workspace.write("fix.txt", "x\n");
    yard.commit("fix");
    yard.run(&["run", "plan:p", "--retry"]);
    assert_eq!(workers(&yard), ["a", "b"], "only the merge is repeated");
}

#[test]
fn what_the_gate_of_a_phase_refused_is_corrected_in_the_worktree_that_the_run_names() {
    let gates = "[gates]\nholds = \"cat *.txt | grep -q right\"\n";
    let yard = yard("", gates, &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.workspace.write(".worktrees/plan-p-a/a.txt", "right\n");
    yard.git(&["-C", ".worktrees/plan-p-a", "commit", "-qam", "fix"]);
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "a.txt")), (Some(0), true), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "no worker is paid for it: {}", said(&ended));
}

#[test]
fn without_stories_stop_names_a_command_that_works() {
    let yard = yard("", "", &[("plans/p/plan.md", PLAN)]);
    let stop = yard.piton(&["stop"]);
    assert!(stop.stderr.contains("piton status --all") && !stop.stderr.contains("piton run"), "{}", stop.stderr);
    yard.run(&["status", "--all"]);
}
