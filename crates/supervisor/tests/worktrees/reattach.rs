use crate::repository::{Scratch, commit, git, write};

#[test]
fn worktree_goes_back_to_its_branch_only_where_that_is_certain() {
    let certain = [
        (vec!["branch -m mine"], Some("mine")),
        (vec!["checkout -q --detach", "commit -q --allow-empty -m detached"], Some("a detached HEAD")),
        (vec!["checkout -q --detach"], Some("a detached HEAD")),
    ];
    let uncertain = [
        (vec![], None),
        (vec!["checkout -q -b mine"], None),
        // As its user was told to call it who does not want it.
        (vec!["branch -m left/work"], None),
        // Its branch may have been removed for another one that was there before.
        (vec!["checkout -q other", "branch -D work"], None),
        (vec!["checkout -q --detach HEAD~1"], None),
    ];
    for (commands, want) in certain.into_iter().chain(uncertain) {
        let scratch = Scratch::new();
        git(&scratch.root, &["branch", "other"]);
        let tree = scratch.root.join("tree");
        git(&scratch.root, &["worktree", "add", "-q", "-b", "work", &tree.display().to_string()]);
        write(&tree.join("work.txt"), "work\n");
        commit(&tree, "work");
        for command in &commands {
            git(&tree, &command.split(' ').collect::<Vec<_>>());
        }
        let head = git(&tree, &["rev-parse", "HEAD"]);
        write(&tree.join("open.txt"), "not committed\n");
        let found = scratch.repository.reattach(&tree, "work").expect("git answers");
        assert_eq!(found.as_deref(), want, "{commands:?}");
        assert_eq!(git(&tree, &["rev-parse", "HEAD"]), head, "{commands:?}: nothing is checked out");
        assert!(tree.join("open.txt").exists(), "{commands:?}");
        if want.is_some() {
            assert_eq!(git(&tree, &["symbolic-ref", "--short", "HEAD"]).trim(), "work", "{commands:?}");
        }
    }
}
