use std::process::{Command, Stdio};

use piton_supervisor::{Removal, Repository, RestoreTo};

use crate::repository::{Scratch, commit, git, read, write};

const AT: i64 = 1_794_798_900;

fn remove(scratch: &Scratch) -> Removal {
    let path = scratch.root.join(".worktrees/story-7");
    scratch.repository.remove(&path, "main", AT).expect("git answers")
}

fn reasons(removal: &Removal) -> &[String] {
    match removal {
        Removal::Kept(kept) => &kept.reasons,
        Removal::Removed { .. } => panic!("it was removed"),
    }
}

#[test]
fn a_clean_and_merged_worktree_goes_and_its_branch_and_snapshot_stay() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("b.txt"), "b\n");
    let work = commit(&path, "work");
    git(&scratch.root, &["merge", "--quiet", "feature/7-login"]);
    let Removal::Removed { snapshot } = remove(&scratch) else { panic!("it stays") };
    assert!(!path.exists());
    assert_eq!(git(&scratch.root, &["rev-parse", "feature/7-login"]), work);
    assert_eq!(scratch.repository.snapshots().expect("git lists them"), [snapshot]);
}

#[test]
fn a_worktree_with_submodules_goes_when_nothing_of_them_is_lost() {
    let scratch = Scratch::new();
    let library = Scratch::new();
    let from = library.root.to_str().expect("its name is UTF-8");
    let with_files = |path: &std::path::Path, arguments: &[&str]| {
        git(path, &[&["-c", "protocol.file.allow=always", "submodule", "--quiet"], arguments].concat())
    };
    with_files(&scratch.root, &["add", from, "part"]);
    commit(&scratch.root, "a submodule");
    let path = scratch.story().path;
    with_files(&path, &["update", "--init"]);
    let part = path.join("part");
    write(&part.join("new.txt"), "n\n");
    // A submodule with another file is a change of the worktree, too.
    assert_eq!(reasons(&remove(&scratch)), ["1 uncommitted file", "it holds files in the submodule part"]);
    std::fs::remove_file(part.join("new.txt")).expect("it is there");
    git(&part, &["checkout", "--quiet", "-b", "own"]);
    git(&part, &["commit", "--quiet", "--allow-empty", "-m", "only here"]);
    git(&part, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    assert_eq!(
        reasons(&remove(&scratch)),
        ["it holds commits of the submodule part that are on no remote branch of it"]
    );
    git(&part, &["branch", "--quiet", "-D", "own"]);
    assert!(matches!(remove(&scratch), Removal::Removed { .. }));
    assert!(!path.exists());
}

#[test]
fn everything_else_stays_and_is_kept_besides() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    write(&path.join("untracked.txt"), "u\n");
    let kept = remove(&scratch);
    assert_eq!(reasons(&kept), ["1 uncommitted file"]);
    let Removal::Kept(kept) = kept else { unreachable!("it was kept") };
    let snapshot = kept.snapshot.expect("it was taken");
    assert_eq!(git(&scratch.root, &["show", &format!("{}:untracked.txt", snapshot.commit)]), "u");
    commit(&path, "work");
    assert_eq!(reasons(&remove(&scratch)), ["1 commit not in main"]);
    git(&scratch.root, &["merge", "--quiet", "feature/7-login"]);
    git(&scratch.root, &["worktree", "lock", "--reason", "on a stick", ".worktrees/story-7"]);
    assert_eq!(reasons(&remove(&scratch)), ["it is locked: on a stick"]);
    git(&scratch.root, &["worktree", "unlock", ".worktrees/story-7"]);
    let mut user = Command::new("/bin/sleep")
        .arg("1000")
        .current_dir(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let used = remove(&scratch);
    user.kill().expect("it is ours");
    user.wait().expect("it is ours");
    assert_eq!(reasons(&used), [format!("process {} works in it", user.id())]);
    assert_eq!(read(&path.join("untracked.txt")), "u\n");
    assert!(matches!(remove(&scratch), Removal::Removed { .. }));
}

#[test]
fn the_main_work_tree_and_strangers_are_not_ours_to_remove() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let path = other.story().path;
    for path in [&scratch.root, &path, &scratch.outer] {
        assert!(scratch.repository.remove(path, "main", AT).is_err());
    }
    assert!(path.join("a.txt").exists() && scratch.root.join("a.txt").exists());
    assert!(Repository::find(&path).is_ok_and(|found| found.is_some()));
}

#[test]
fn worktree_whose_directory_is_not_there_is_not_forgotten() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    std::fs::remove_dir_all(&path).expect("it is ours");
    let kept = remove(&scratch);
    let [reason] = reasons(&kept) else { panic!("{kept:?}") };
    let (_, command) = reason.split_once("forget it with ").expect("a command");
    assert!(Command::new("sh").args(["-c", command]).status().expect("it runs").success(), "{command}");
    assert_eq!(scratch.repository.worktrees().expect("git lists them"), []);
}

#[test]
fn worktree_that_the_user_made_stays() {
    let scratch = Scratch::new();
    let place = ".worktrees/story-7";
    git(&scratch.root, &["worktree", "add", "--quiet", "-b", "mine", place]);
    assert_eq!(reasons(&remove(&scratch)), ["Piton did not make it"]);
    assert!(scratch.root.join(place).join("a.txt").exists());
}

#[test]
fn ignored_files_are_in_the_snapshot_unless_tools_make_them_again() {
    let scratch = Scratch::new();
    write(&scratch.root.join(".gitignore"), "*.ignored\n.env*\nnode_modules\nout/\n");
    commit(&scratch.root, "what is ignored");
    write(&scratch.root.join(".env.local"), "the same\n");
    let path = scratch.story().path;
    for (file, text) in [
        (".env", "SECRET=1\n"),
        (".env.local", "the same\n"),
        ("deep/er/x.ignored", "x\n"),
        ("node_modules/dep/index.js", "made again\n"),
        ("out/report.txt", "a result\n"),
        ("out/cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
        ("out/cache/blob", "made again\n"),
    ] {
        write(&path.join(file), text);
    }
    let Removal::Removed { snapshot } = remove(&scratch) else { panic!("it stays") };
    assert!(!path.exists());
    let files = git(&scratch.root, &["ls-tree", "-r", "--name-only", &snapshot.reference]);
    assert_eq!(files, ".env\n.gitignore\na.txt\ndeep/er/x.ignored\nout/report.txt");
    scratch.repository.restore(&snapshot, &RestoreTo::Worktree(path.clone())).expect("it comes back");
    assert_eq!(read(&path.join(".env")), "SECRET=1\n");
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

#[test]
fn worktree_with_ignored_files_that_no_snapshot_can_hold_stays() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    let large = path.join("model.ignored");
    std::fs::File::create(&large).and_then(|file| file.set_len(17 << 20)).expect("it can be made");
    write(&path.join("small.ignored"), "x\n");
    let kept = "ignored files are too large for a snapshot: model.ignored, small.ignored";
    assert_eq!(reasons(&remove(&scratch)), [kept]);
    std::fs::remove_file(&large).expect("it is ours");
    git(&path, &["init", "--quiet", "inner.ignored"]);
    assert_eq!(reasons(&remove(&scratch)), ["it holds a repository in inner.ignored"]);
    assert!(path.join("inner.ignored/.git").exists());
}

#[test]
fn commits_that_only_the_worktree_knows_are_kept() {
    let scratch = Scratch::new();
    let path = scratch.story().path;
    git(&path, &["switch", "--quiet", "--detach"]);
    write(&path.join("lost.txt"), "l\n");
    let lost = commit(&path, "on no branch");
    git(&path, &["switch", "--quiet", "feature/7-login"]);
    let Removal::Removed { snapshot } = remove(&scratch) else { panic!("it stays") };
    git(&scratch.root, &["merge-base", "--is-ancestor", &lost, &snapshot.reference]);
}
