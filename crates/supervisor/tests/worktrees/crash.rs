//! git or the lead is killed at every step of a merge; the next call finds its way.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use piton_supervisor::{Advanced, Candidate, GitError, Merging, Prepared, Repository};

use crate::repository::{Scratch, commit, found, git, read, write};

/// The variable that tells the child where it works.
const ROOT: &str = "PITON_TEST_ROOT";

fn merging() -> Merging {
    Merging { branch: "feature/7-login".to_owned(), base: "main".to_owned(), message: "merge story 7".to_owned() }
}

fn candidate(repository: &Repository) -> Candidate {
    match repository.prepare(&merging()).expect("git answers") {
        Prepared::Candidate(candidate) => candidate,
        other => panic!("{other:?}"),
    }
}

/// A lead that merges, in a process of its own.
#[test]
#[ignore = "it is the child of other tests"]
fn child() {
    let root = std::env::var_os(ROOT).expect("it is told where");
    let repository = found(Path::new(&root));
    assert_eq!(repository.advance(&candidate(&repository)).expect("git answers"), Advanced::Moved);
}

/// A repository in which git stops in the middle of a merge: after `b.txt` and before `n.slow` and `z.txt`.
struct Slow {
    scratch: Scratch,
    before: Vec<String>,
}

impl Slow {
    /// With a command that git runs there.
    fn new(command: &str) -> Slow {
        let scratch = Scratch::new();
        write(&scratch.root.join(".gitattributes"), "*.slow filter=slow\n");
        write(&scratch.root.join("gone.txt"), "gone\n");
        commit(&scratch.root, "attributes");
        let path = scratch.story().path;
        write(&path.join("a.txt"), "changed\n");
        write(&path.join("b.txt"), "b\n");
        write(&path.join("new/deep/b.txt"), "b\n");
        write(&path.join("n.slow"), "slow\n");
        write(&path.join("z.txt"), "z\n");
        fs::remove_file(path.join("gone.txt")).expect("it is ours");
        commit(&path, "work");
        write(&scratch.root.join("notes.txt"), "the user's\n");
        let script = scratch.outer.join("smudge");
        write(&script, &format!("cd {}\n{command}\ncat\n", scratch.outer.display()));
        git(&scratch.root, &["config", "filter.slow.smudge", &format!("sh {}", script.display())]);
        git(&scratch.root, &["update-index", "--refresh"]);
        let before = scratch.users_view();
        Slow { scratch, before }
    }

    /// From now on nothing stops git.
    fn unblock(&self) {
        write(&self.scratch.outer.join("smudge"), "cat\n");
    }

    /// Nothing has moved, nothing is locked, and the next merge is done.
    fn can_be_merged(&self) {
        assert_eq!(self.scratch.users_view(), self.before);
        assert_eq!(git_files(&self.scratch.root), Vec::<String>::new());
        let repository = &self.scratch.repository;
        assert_eq!(repository.advance(&candidate(repository)).expect("git answers"), Advanced::Moved);
        self.is_merged();
    }

    fn is_merged(&self) {
        let root = &self.scratch.root;
        assert_eq!(git(root, &["rev-parse", "main"]), git(root, &["rev-parse", "feature/7-login"]));
        assert_eq!(git(root, &["status", "--porcelain"]), "?? notes.txt");
        assert_eq!(git_files(root), Vec::<String>::new());
        assert_eq!(read(&root.join("notes.txt")), "the user's\n");
    }

    /// Writes down that a branch is being moved, as the lead does.
    fn intend(&self, dirty: &[&str]) -> Candidate {
        let candidate = candidate(&self.scratch.repository);
        let mark = "0123456789abcdef0123456789abcdef";
        let mut parts = vec!["main", &candidate.base_commit, &candidate.commit, mark];
        parts.extend(dirty);
        write(&self.scratch.root.join(".git/piton-advance"), &(parts.join("\0") + "\0."));
        candidate
    }
}

/// Files that a killed git or lead leaves.
fn git_files(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root.join(".git")).expect("it is there").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut left: Vec<_> = names.filter(|name| name.ends_with(".lock") || name.starts_with("piton")).collect();
    left.sort();
    left
}

/// Kills the git that runs a filter, however many shells are between.
const KILL_GIT: &str = "p=$PPID; until [ \"$(cat /proc/$p/comm)\" = git ]; do p=$(cut -d' ' -f4 /proc/$p/stat); done; \
                        kill -9 $p; touch killed; exit 1";

#[test]
fn git_killed_while_it_writes_files() {
    let slow = Slow::new(KILL_GIT);
    let repository = &slow.scratch.repository;
    let error = repository.advance(&candidate(repository)).expect_err("git was killed");
    assert!(matches!(error, GitError::Killed { signal: 9, .. }), "{error:?}");
    assert!(slow.scratch.outer.join("killed").exists());
    slow.unblock();
    slow.can_be_merged();
}

#[test]
fn git_that_fails_in_the_middle_is_taken_back() {
    let slow = Slow::new("exit 1");
    git(&slow.scratch.root, &["config", "filter.slow.clean", "cat"]);
    git(&slow.scratch.root, &["config", "filter.slow.required", "true"]);
    let repository = &slow.scratch.repository;
    let advanced = repository.advance(&candidate(repository)).expect("git answers");
    assert!(matches!(advanced, Advanced::Blocked { .. }), "{advanced:?}");
    slow.unblock();
    slow.can_be_merged();
}

/// A lead whose git waits in the middle of a merge, until a line is written to a pipe.
struct Waiting {
    slow: Slow,
    lead: Child,
}

impl Waiting {
    fn new() -> Waiting {
        let slow = Slow::new("echo here > reached; read line < go");
        for name in ["reached", "go"] {
            let made = Command::new("mkfifo").arg(slow.scratch.outer.join(name)).status().expect("there is mkfifo");
            assert!(made.success());
        }
        let lead = Command::new(std::env::current_exe().expect("we run"))
            .args(["--ignored", "--exact", "crash::child"])
            .env(ROOT, &slow.scratch.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        fs::File::open(slow.pipe("reached")).expect("it is there").read_to_string(&mut line).expect("it is a pipe");
        assert_eq!(line, "here\n");
        Waiting { slow, lead }
    }

    fn release(&self) {
        let mut pipe = fs::OpenOptions::new().write(true).open(self.slow.pipe("go")).expect("it is there");
        pipe.write_all(b"go\n").expect("git waits for it");
    }
}

impl Slow {
    fn pipe(&self, name: &str) -> PathBuf {
        self.scratch.outer.join(name)
    }
}

fn signal(target: &str, name: &str) {
    assert!(Command::new("kill").args([name, "--", target]).status().expect("there is kill").success());
}

#[test]
fn git_outlives_a_lead_that_is_killed_and_the_next_lead_waits_for_it() {
    let mut waiting = Waiting::new();
    waiting.lead.kill().expect("it is ours");
    waiting.lead.wait().expect("it is ours");
    let root = waiting.slow.scratch.root.clone();
    assert_eq!(git_files(&root), ["index.lock", "piton-advance"]);
    let repository = waiting.slow.scratch.repository.clone();
    let next = std::thread::spawn(move || repository.recover());
    waiting.release();
    let recovered = next.join().expect("it does not panic").expect("git answers");
    assert_eq!(recovered, [root]);
    waiting.slow.is_merged();
}

#[test]
fn ctrl_c_does_not_reach_a_merge() {
    let mut waiting = Waiting::new();
    // As a terminal does it: to the whole process group.
    signal(&format!("-{}", waiting.lead.id()), "-INT");
    let status = waiting.lead.wait().expect("it is ours");
    assert_eq!(status.signal(), Some(2), "the lead itself got it");
    waiting.release();
    waiting.slow.scratch.repository.recover().expect("git answers");
    waiting.slow.is_merged();
}

#[test]
fn hang_up_of_the_terminal_does_not_reach_a_merge() {
    let mut waiting = Waiting::new();
    signal(&format!("-{}", waiting.lead.id()), "-HUP");
    waiting.lead.wait().expect("it is ours");
    waiting.release();
    waiting.slow.scratch.repository.recover().expect("git answers");
    waiting.slow.is_merged();
}

#[test]
fn everything_that_a_killed_git_can_leave_is_put_in_order() {
    type Leave = fn(&Slow, &Candidate);
    let ways: [(&str, Leave); 7] = [
        ("nothing yet", |_, _| {}),
        ("a lock", |slow, _| write(&slow.scratch.root.join(".git/index.lock"), "")),
        ("half of the files", |slow, _| {
            let root = &slow.scratch.root;
            write(&root.join(".git/index.lock"), "half of an index");
            write(&root.join("a.txt"), "changed\n");
            write(&root.join("new/deep/b.txt"), "b\n");
            fs::remove_file(root.join("gone.txt")).expect("it is there");
        }),
        ("a torn file", |slow, _| {
            write(&slow.scratch.root.join("a.txt"), "chan");
            write(&slow.scratch.root.join("b.txt"), "");
        }),
        ("a file between its two contents", |slow, _| {
            fs::remove_file(slow.scratch.root.join("a.txt")).expect("it is there");
        }),
        ("all files and the index", |slow, candidate| {
            let Candidate { base_commit, commit, .. } = candidate;
            git(&slow.scratch.root, &["read-tree", "-m", "-u", base_commit, commit]);
        }),
        ("a lock of the branch", |slow, candidate| {
            let Candidate { base_commit, commit, .. } = candidate;
            git(&slow.scratch.root, &["read-tree", "-m", "-u", base_commit, commit]);
            write(&slow.scratch.root.join(".git/refs/heads/main.lock"), commit);
        }),
    ];
    for (name, leave) in ways {
        let slow = Slow::new("true");
        let candidate = slow.intend(&[]);
        leave(&slow, &candidate);
        assert_eq!(slow.scratch.repository.recover().expect(name), std::slice::from_ref(&slow.scratch.root), "{name}");
        assert_eq!(slow.scratch.users_view(), slow.before, "{name}");
        slow.can_be_merged();
    }
}

#[test]
fn branch_that_was_moved_before_the_lead_was_killed_is_not_moved_back() {
    let slow = Slow::new("true");
    let candidate = slow.intend(&[]);
    git(&slow.scratch.root, &["merge", "--quiet", "--ff-only", &candidate.commit]);
    assert_eq!(slow.scratch.repository.advance(&candidate).expect("git answers"), Advanced::Moved);
    slow.scratch.repository.recover().expect("git answers");
    slow.is_merged();
}

#[test]
fn what_the_user_wrote_stays_when_a_merge_is_taken_back() {
    let slow = Slow::new("true");
    let root = &slow.scratch.root;
    // Before the merge began, by chance with the same content as git would write.
    write(&root.join("b.txt"), "b\n");
    slow.intend(&["b.txt"]);
    // And after it was killed.
    write(&root.join("a.txt"), "the user is at it\n");
    write(&root.join("z.txt"), "z\n");
    slow.scratch.repository.recover().expect("git answers");
    assert_eq!(read(&root.join("b.txt")), "b\n");
    assert_eq!(read(&root.join("a.txt")), "the user is at it\n");
    assert!(!root.join("z.txt").exists(), "git wrote it");
    let advanced = slow.scratch.repository.advance(&candidate(&slow.scratch.repository)).expect("git answers");
    let Advanced::Blocked { files, .. } = &advanced else { panic!("{advanced:?}") };
    assert_eq!(files, &["a.txt", "b.txt"]);
    assert_eq!(read(&root.join("b.txt")), "b\n");
}

#[test]
fn intent_that_was_not_written_to_its_end_is_nothing() {
    let slow = Slow::new("true");
    write(&slow.scratch.root.join(".git/piton-advance"), "main\0abc");
    assert_eq!(slow.scratch.repository.recover().expect("git answers"), Vec::<PathBuf>::new());
    slow.can_be_merged();
}
