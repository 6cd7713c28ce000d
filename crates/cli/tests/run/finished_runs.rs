//! A run is finished when its units are done, whichever run did them.

use crate::whose_word::{said, set_hook, workers, yard};

const A: (&str, &str) = ("plans/a/plan.md", "# A\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n");
const B: (&str, &str) = ("plans/b/plan.md", "# B\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] B <!-- TASK: b -->\n");

#[test]
fn a_run_whose_units_another_run_finished_is_finished() {
    let yard = yard("exit 1", "", &[A, B]);
    for unit in ["plan:a", "plan:b"] {
        let ended = yard.piton(&["run", unit, "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
    }
    set_hook(&yard, "");
    yard.run(&["run", "plan:a", "plan:b", "--retry"]);
    let status = yard.run(&["status"]).stdout;
    assert!(!status.contains("paused") && status.contains("2 done"), "{status}");
    assert!(yard.json(&["status", "--json"])["run"].is_null());
    let before = workers(&yard).len();
    // Nothing is left that a nameless retry could mean.
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(2), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), before);
}

#[test]
fn a_run_with_a_unit_that_is_not_done_stays_open() {
    let yard = yard("exit 1", "", &[A, B]);
    for units in [&["plan:a"][..], &["plan:a", "plan:b"]] {
        yard.piton(&[&["run"], units, &["--yes"]].concat());
    }
    set_hook(&yard, "[ $step = a ] || exit 1");
    yard.piton(&["run", "plan:a", "plan:b", "--retry"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("1 of 2 done"), "{status}");
    set_hook(&yard, "");
    yard.run(&["run", "--retry"]);
    assert!(yard.json(&["status", "--json"])["run"].is_null());
}
