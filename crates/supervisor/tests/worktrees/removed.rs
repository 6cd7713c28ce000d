use piton_supervisor::has_removed;

use crate::repository::{Scratch, commit, git, write};

#[test]
fn file_that_was_made_and_removed_on_a_merged_branch_is_removed() {
    let scratch = Scratch::new();
    let root = &scratch.root;
    git(root, &["checkout", "-q", "-b", "work"]);
    write(&root.join("draft.md"), "a draft\n");
    commit(root, "a draft");
    git(root, &["mv", "draft.md", "bells.md"]);
    commit(root, "its name");
    git(root, &["checkout", "-q", "main"]);
    git(root, &["merge", "-q", "--no-ff", "-m", "merged", "work"]);
    assert!(has_removed(root, "main", "draft.md"));
    assert!(!has_removed(root, "main", "bells.md") && !has_removed(root, "main", "other.md"));
}
