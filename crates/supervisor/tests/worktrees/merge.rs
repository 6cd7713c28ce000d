use piton_supervisor::{Advanced, Candidate, Merging, Prepared};

use crate::repository::{Scratch, commit, git, plant_hook, read, write};

fn merging() -> Merging {
    Merging { branch: "feature/7-login".to_owned(), base: "main".to_owned(), message: "merge story 7".to_owned() }
}

fn prepare(scratch: &Scratch) -> Prepared {
    scratch.repository.prepare(&merging()).expect("git answers")
}

fn candidate(scratch: &Scratch) -> Candidate {
    match prepare(scratch) {
        Prepared::Candidate(candidate) => candidate,
        other => panic!("{other:?}"),
    }
}

fn advance(scratch: &Scratch, candidate: &Candidate) -> Advanced {
    scratch.repository.advance(candidate).expect("git answers")
}

#[test]
fn a_base_that_stood_still_is_moved_forward() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    assert_eq!(prepare(&scratch), Prepared::AlreadyMerged);
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    let trace = plant_hook(&scratch.root, "post-merge");
    let before = scratch.users_view();
    let candidate = candidate(&scratch);
    assert_eq!((&candidate.commit, candidate.is_fast_forward), (&work, true));
    assert_eq!(scratch.users_view(), before, "nothing has moved yet");
    assert_eq!(advance(&scratch, &candidate), Advanced::Moved);
    assert_eq!(advance(&scratch, &candidate), Advanced::Moved, "a second time");
    assert_eq!(git(&scratch.root, &["rev-parse", "main"]), work);
    assert_eq!(read(&scratch.root.join("b.txt")), "b\n");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), "");
    assert!(!trace.exists(), "a hook of the repository ran");
    assert_eq!(prepare(&scratch), Prepared::AlreadyMerged);
}

#[test]
fn both_sides_are_joined_and_uncommitted_files_stay_as_they_are() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    write(&scratch.root.join("main.txt"), "m\n");
    commit(&scratch.root, "in main");
    write(&scratch.root.join("a.txt"), "the user is at it\n");
    write(&scratch.root.join("staged.txt"), "staged\n");
    git(&scratch.root, &["add", "staged.txt"]);
    write(&scratch.root.join("notes.txt"), "untracked\n");
    let before = git(&scratch.root, &["status", "--porcelain"]);
    let candidate = candidate(&scratch);
    assert!(!candidate.is_fast_forward);
    assert_eq!(advance(&scratch, &candidate), Advanced::Moved);
    let commit = candidate.commit;
    assert_eq!(git(&scratch.root, &["rev-parse", "HEAD"]), commit);
    assert_eq!(git(&scratch.root, &["log", "-1", "--format=%s %p"]).split(' ').count(), 5, "two parents");
    assert_eq!(read(&scratch.root.join("b.txt")), "b\n");
    assert_eq!(git(&scratch.root, &["status", "--porcelain"]), before);
}

#[test]
fn a_conflict_changes_nothing_and_names_the_files() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("a.txt"), "theirs\n");
    write(&path.join("fine.txt"), "f\n");
    commit(&path, "work");
    write(&scratch.root.join("a.txt"), "ours\n");
    commit(&scratch.root, "in main");
    write(&scratch.root.join("notes.txt"), "untracked\n");
    let before = scratch.users_view();
    assert_eq!(prepare(&scratch), Prepared::Conflict { files: vec!["a.txt".to_owned()] });
    assert_eq!(scratch.users_view(), before);
    assert!(!scratch.root.join("fine.txt").exists());
}

#[test]
fn what_is_uncommitted_and_in_the_way_blocks() {
    for (file, name) in [("a.txt", "a changed file"), ("new.txt", "an untracked file")] {
        let scratch = Scratch::new();
        let path = scratch.story().path;
        write(&path.join(file), "theirs\n");
        commit(&path, "work");
        write(&scratch.root.join(file), "the user is at it\n");
        let before = scratch.users_view();
        let advanced = advance(&scratch, &candidate(&scratch));
        let Advanced::Blocked { files, .. } = &advanced else { panic!("{name}: {advanced:?}") };
        assert_eq!(files, &[file], "{name}");
        assert_eq!(scratch.users_view(), before, "{name}");
        assert_eq!(read(&scratch.root.join(file)), "the user is at it\n");
    }
}

#[test]
fn what_is_under_way_blocks() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    write(&scratch.root.join(".git/MERGE_HEAD"), &git(&scratch.root, &["rev-parse", "HEAD"]));
    let advanced = advance(&scratch, &candidate(&scratch));
    let Advanced::Blocked { reason, .. } = &advanced else { panic!("{advanced:?}") };
    assert!(reason.starts_with("a merge is under way in "), "{reason}");
}

#[test]
fn a_base_that_nobody_has_checked_out_is_moved_too() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    git(&scratch.root, &["switch", "--quiet", "-c", "elsewhere"]);
    let before = scratch.users_view();
    let candidate = candidate(&scratch);
    assert_eq!((&candidate.commit, candidate.is_fast_forward), (&work, true));
    assert_eq!(scratch.users_view(), before, "nothing has moved yet");
    assert_eq!(advance(&scratch, &candidate), Advanced::Moved);
    assert_eq!(advance(&scratch, &candidate), Advanced::Moved, "a second time");
    assert_eq!(git(&scratch.root, &["rev-parse", "main"]), work);
    assert!(!scratch.root.join("b.txt").exists());
}

#[test]
fn commit_of_the_user_in_the_meantime_is_no_error() {
    for is_elsewhere in [false, true] {
        let scratch = Scratch::new();
        let path = scratch.story().path;
        write(&path.join("b.txt"), "b\n");
        commit(&path, "work");
        let early = candidate(&scratch);
        write(&scratch.root.join("mine.txt"), "mine\n");
        let now = commit(&scratch.root, "the user's");
        if is_elsewhere {
            git(&scratch.root, &["switch", "--quiet", "-c", "elsewhere"]);
        }
        let before = scratch.users_view();
        assert_eq!(advance(&scratch, &early), Advanced::BaseMoved { now: Some(now) });
        assert_eq!(scratch.users_view(), before);
        assert_eq!(advance(&scratch, &candidate(&scratch)), Advanced::Moved);
    }
}

#[test]
fn branch_that_the_user_moved_back_stays_there() {
    let scratch = Scratch::new();
    let first = git(&scratch.root, &["rev-parse", "HEAD"]);
    write(&scratch.root.join("second.txt"), "2\n");
    commit(&scratch.root, "second");
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    commit(&path, "work");
    let early = candidate(&scratch);
    // The candidate could still be fast-forwarded to.
    git(&scratch.root, &["reset", "--quiet", "--hard", &first]);
    assert_eq!(advance(&scratch, &early), Advanced::BaseMoved { now: Some(first.clone()) });
    assert_eq!(git(&scratch.root, &["rev-parse", "HEAD"]), first);
}

#[test]
fn tags_named_like_branches_are_no_obstacle() {
    let scratch = Scratch::new();
    for name in ["main", "feature/7-login"] {
        write(&scratch.root.join("tagged.txt"), name);
        git(&scratch.root, &["switch", "--quiet", "--detach"]);
        commit(&scratch.root, "tagged");
        git(&scratch.root, &["tag", name]);
        git(&scratch.root, &["switch", "--quiet", "-"]);
    }
    let main = git(&scratch.root, &["rev-parse", "refs/heads/main"]);
    let path = scratch.story().path;
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]), "refs/heads/feature/7-login");
    assert_eq!(git(&path, &["rev-parse", "HEAD"]), main);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    assert_eq!(scratch.repository.state(&path, "main").expect("git answers").ahead, 1);
    assert_eq!(scratch.repository.statistics(&path, "main").expect("git answers").commits, 1);
    assert_eq!(advance(&scratch, &candidate(&scratch)), Advanced::Moved);
    assert_eq!(git(&scratch.root, &["rev-parse", "refs/heads/main"]), work);
    assert!(scratch.repository.is_reachable(&work, "main").expect("git answers"));
}
