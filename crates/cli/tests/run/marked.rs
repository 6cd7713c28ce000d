//! A plan whose ids are not committed: workers see boxes without ids, and tick them all the same.

use crate::whose_word::{is_on_main, said, workers, yard};

const PLAN: &str = "plans/p/plan.md";

/// Makes a file and ticks a box in the worktree's own plan.
const TICKS: &str = r#"keep work; sed -i "s/- \[ \] Write alpha/- [x] Write alpha/" plans/p/plan.md
git add -A; git commit -qm ticked; exit 0"#;

#[test]
fn a_box_that_is_ticked_in_a_worktree_is_found_when_its_id_is_not_committed() {
    let yard = yard(TICKS, "", &[(PLAN, "# P\n## Phase 1\n- [ ] Write alpha\n")]);
    yard.run(&["plan", "mark", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "work.txt") && yard.text(PLAN).contains("[x] Write alpha"), "{}", said(&ended));
    let told = "the ids of its boxes are not committed, so its workers do not see them; commit them: \
                git commit -m 'ids of plan:p' plans/p/plan.md";
    assert!(said(&ended).contains(told), "{}", said(&ended));
}

#[test]
fn ids_are_committed_by_what_is_printed() {
    let yard = yard(TICKS, "", &[(PLAN, "# P\n## Phase 1\n- [ ] Write alpha\n")]);
    yard.run(&["plan", "mark", "plan:p"]);
    yard.git(&["commit", "-q", "-m", "ids of plan:p", PLAN]);
    let ended = yard.run(&["run", "plan:p", "--yes"]);
    assert!(!said(&ended).contains("not committed"), "{}", said(&ended));
}

#[test]
fn boxes_of_the_same_words_are_not_taken_for_each_other() {
    let text = "# P\n## Phase 1\n- [ ] Write alpha\n- [ ] Write alpha\n";
    let yard = yard(TICKS, "", &[(PLAN, text)]);
    yard.run(&["plan", "mark", "plan:p"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(!yard.text(PLAN).contains("[x]"), "{}", said(&ended));
}
