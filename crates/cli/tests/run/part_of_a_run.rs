//! A part of a run is done alone: what was refused, or was not judged, is not done by that, whatever its document says.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

fn task(id: &str, criteria: &str) -> String {
    format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\ntitle = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n{criteria}")
}

/// Asks about T2, once; T1 calls itself complete.
const HOOK: &str = r#"if [ "$step" = T2 ] && mkdir "$MARKS/asked" 2>/dev/null; then
  "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi
if [ "$step" = T1 ]; then "$PITON" gate "$PITON_UNIT" pass works; fi"#;

/// T1 was refused by its gate, and T2 asks. Its question is answered.
fn refused() -> Yard {
    let list = format!("{}{}", task("T2", ""), task("T1", "acceptance_criteria = [\"works\"]\n"));
    let yard = yard(HOOK, "[gates]\nworks = \"test -e fixed.txt\"\n", &[("tasks.toml", &list)]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["unblock", "task:copy/T2", "--message", "80"]);
    yard
}

/// Every door says that T1 is paused, and the command that the status prints is the one that finishes the run.
#[track_caller]
fn is_paused(yard: &Yard, command: &[&str]) {
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("2 units: 1 paused, 1 done"), "{status}");
    let line = status.lines().next().unwrap_or_default();
    assert!(line.ends_with(&format!("piton {}", command.join(" "))), "{status}");
    let why = yard.run(&["why", "task:copy/T1"]).stdout;
    assert!(why.contains("gate works failed") && why.contains(&format!("piton {}", command.join(" "))), "{why}");
    let explained = yard.run(&["run", "task:copy/T1", "--explain"]).stdout;
    assert!(explained.contains("is paused, and no worker starts: gate works failed"), "{explained}");
    assert!(!is_on_main(yard, "T1.txt"));
    let before = workers(yard).len();
    yard.workspace.write("fixed.txt", "");
    yard.commit("what was missing");
    let ended = yard.run(command);
    assert!(is_on_main(yard, "T1.txt") && workers(yard).len() == before, "only the merge is left: {}", said(&ended));
    assert!(yard.run(&["status"]).stdout.starts_with("2 units: 2 done"), "the run is finished");
}

#[test]
fn a_task_that_its_gate_refused_stays_paused_when_another_one_is_done_alone() {
    let yard = refused();
    let ended = yard.run(&["run", "task:copy/T2", "--yes"]);
    assert!(said(&ended).contains("done: 1 of 1 done"), "{}", said(&ended));
    is_paused(&yard, &["run", "tasks.toml", "--retry"]);
}

#[test]
fn a_task_that_its_gate_refused_stays_paused_when_it_is_taken_out_of_its_list() {
    let yard = refused();
    yard.workspace.write("tasks.toml", task("T2", ""));
    yard.commit("without T1");
    yard.run(&["run", "tasks.toml", "--yes"]);
    is_paused(&yard, &["run", "task:copy/T1", "--retry"]);
}

#[test]
fn a_task_that_is_begun_again_after_that_is_what_its_document_says() {
    let yard = refused();
    yard.workspace.write("tasks.toml", task("T2", ""));
    yard.commit("without T1");
    yard.run(&["start", "task:copy/T1", "--title", "T1"]);
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.starts_with("2 units: ") && !status.contains("2 done"), "{status}{}", said(&ended));
}

#[test]
fn a_plan_whose_phase_was_refused_is_not_done_when_another_unit_of_the_run_is() {
    let plan =
        "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Holds <!-- ACCEPT: holds -->\n";
    let files = [("plans/p/plan.md", plan), ("tasks.toml", &task("T2", ""))];
    let yard = yard(HOOK, "[gates]\nholds = \"test -e fixed.txt\"\n", &files);
    let ended = yard.piton(&["run", "plan:p", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.run(&["unblock", "task:copy/T2", "--message", "80"]);
    set_hook(&yard, "");
    // The user ticks the criterion in the plan's file.
    let text = yard.text("plans/p/plan.md").replace("[ ] Holds", "[x] Holds");
    yard.workspace.write("plans/p/plan.md", text);
    yard.run(&["run", "task:copy/T2", "--yes"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.starts_with("run 1: a part of it was done"), "{status}");
    assert!(!is_on_main(&yard, "a.txt"));
}
