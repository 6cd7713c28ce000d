//! The store on the real disk: locks between processes, things that are no files, modes, and whose directory it is.

mod large;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use piton_model::{Edit, Effect, Time};
use piton_store::disk::{Disk as _, LockError};
use piton_store::{CommitError, History, Key, LockedUnit, NewEntry, Tree, holder_of, seal};

const LONG: Duration = Duration::from_secs(60);

/// A directory that goes with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("piton-real-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("the name is free");
        Place(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.join(path), text).expect("it can be written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.0.join(path)).unwrap_or_else(|error| panic!("{path}: {error}")).mode() & 0o7777
    }

    fn commit(&self, path: &str, text: &str) -> Result<u64, String> {
        commit(&self.0, path, text)
    }

    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        piton_store::walk(&self.0, &mut |path| files.push(path.to_owned()));
        files
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key() -> Key {
    Key {
        dialect: "plan".to_owned(),
        base: String::new(),
        id: "p".to_owned(),
        folded_id: "p".to_owned(),
        document: String::new(),
    }
}

fn lock(tree: &Tree, wait: Duration) -> Result<LockedUnit<'_>, LockError> {
    LockedUnit::lock(tree, key(), wait, &format!("process {}", std::process::id()))
}

fn new_entry(summary: &str) -> NewEntry {
    let (by, event, summary) = ("test".to_owned(), "step_done".to_owned(), summary.to_owned());
    NewEntry {
        at: Time::from_unix_seconds(1_771_588_140),
        attempt: 1,
        by,
        event,
        summary,
        data: serde_json::Map::new(),
        carried: serde_json::Map::new(),
    }
}

/// Writes a document as one command does.
fn commit(root: &Path, path: &str, text: &str) -> Result<u64, String> {
    let tree = Tree::open(root).map_err(|error| error.to_string())?;
    seal::prepare(&tree).map_err(|error| error.to_string())?;
    let mut unit = lock(&tree, LONG).map_err(|error| format!("{error:?}"))?;
    let now = Time::from_unix_seconds(1_771_588_140);
    let contact = unit.contact(&[path.to_owned()], now).map_err(|error| error.to_string())?;
    let effects = [Effect::Write { path: path.to_owned(), bytes: text.as_bytes().to_vec() }];
    unit.commit(new_entry(text), &effects, &contact.documents).map_err(|error| error.to_string())
}

#[test]
fn writers_at_once_get_numbers_without_gaps() {
    let place = Place::new();
    let root = &place.0;
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let writer = |thread: usize| {
            let write =
                move |turn: usize| commit(root, "plan.md", &format!("{thread} {turn}\n")).expect("it is written");
            scope.spawn(move || (0..6).map(write).collect::<Vec<_>>())
        };
        let writers: Vec<_> = (0..4).map(writer).collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("it ends")).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
    let tree = Tree::open(root).expect("it opens");
    let log = History::open(&tree, &key()).expect("it opens").expect("it is there").log().expect("it can be read");
    assert_eq!((log.events.len(), log.broken_at), (24, None));
    assert_eq!(place.files(), ["plan.md"]);
}

/// Adds a line to a log as one command of a unit does, again when others come in between.
fn append(root: &Path, unit: usize, line: &str) {
    let tree = Tree::open(root).expect("it opens");
    let key = Key { folded_id: format!("unit{unit}"), ..key() };
    seal::prepare(&tree).expect("it is ours");
    let mut unit = LockedUnit::lock(&tree, key, LONG, "test").expect("nobody else wants it");
    let contact = unit.contact(&[], Time::from_unix_seconds(1_771_588_140)).expect("there is nothing to see");
    let effects = [Effect::Append { path: "log".to_owned(), line: line.to_owned() }];
    loop {
        match unit.commit(new_entry(line), &effects, &contact.documents) {
            Ok(_) => return,
            Err(CommitError::Raced { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn units_that_share_a_log_do_not_write_over_each_other() {
    let place = Place::new();
    let root = &place.0;
    std::thread::scope(|scope| {
        for unit in 0..4 {
            scope.spawn(move || (0..8).for_each(|turn| append(root, unit, &format!("{unit} {turn}\n"))));
        }
    });
    let log = place.read("log");
    let mut lines: Vec<_> = log.lines().map(str::to_owned).collect();
    lines.sort();
    let expected: Vec<_> = (0..4).flat_map(|unit| (0..8).map(move |turn| format!("{unit} {turn}"))).collect();
    assert_eq!(lines, expected);
    assert_eq!(place.mode("log"), {
        place.write("usual", "");
        place.mode("usual")
    });
}

/// Run by the next test in a process of its own: holds the lock until it is killed.
#[test]
#[ignore = "it is a part of another test"]
fn holder() {
    let root = std::env::var_os("PITON_TEST_HOLD").expect("the other test says where");
    let tree = Tree::open(Path::new(&root)).expect("it opens");
    let _unit = lock(&tree, LONG).expect("it is free");
    println!("\nheld");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_lock_names_its_holder_and_dies_with_it() {
    let place = Place::new();
    place.commit("plan.md", "one\n").expect("it is written");
    let mut child = Command::new(std::env::current_exe().expect("it is known"))
        .args(["--exact", "holder", "--ignored", "--nocapture"])
        .env("PITON_TEST_HOLD", &place.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let said = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    assert!(said.map_while(Result::ok).any(|line| line == "held"));
    let tree = Tree::open(&place.0).expect("it opens");
    for wait in [Duration::ZERO, Duration::from_millis(50)] {
        match lock(&tree, wait) {
            Err(LockError::Busy { holder }) => {
                assert_eq!(holder_of(&holder), Some(format!("process {}", child.id())));
            }
            Err(LockError::Disk(error)) => panic!("{error}"),
            Ok(_) => panic!("two hold it"),
        }
    }
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    assert_eq!(place.commit("plan.md", "two\n"), Ok(2));
}

#[test]
fn what_is_no_file_is_refused() {
    let outside = Place::new();
    outside.write("theirs", "theirs\n");
    for name in ["journal", "lock"] {
        let place = Place::new();
        place.commit("plan.md", "one\n").expect("it is written");
        let path = place.0.join(key().directory()).join(name);
        for target in [outside.0.join("theirs"), place.0.join("plan.md"), PathBuf::from("nowhere")] {
            fs::remove_file(&path).expect("it is there");
            symlink(&target, &path).expect("the name is free");
            let refused = place.commit("plan.md", "two\n").expect_err("it is a link");
            assert!(refused.contains(name), "{refused}");
            assert_eq!((place.read("plan.md").as_str(), outside.read("theirs").as_str()), ("one\n", "theirs\n"));
        }
    }
    let place = Place::new();
    symlink(outside.0.join("theirs"), place.0.join("plan.md")).expect("the name is free");
    place.commit("plan.md", "two\n").expect_err("it leads out");
    assert_eq!(outside.read("theirs"), "theirs\n");
}

#[test]
fn a_fifo_is_refused_without_waiting() {
    let place = Place::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.0.join("plan.md"), rustix::fs::Mode::RUSR).expect("the name is free");
    let refused = place.commit("plan.md", "one\n").expect_err("it is no file");
    assert!(refused.contains("plan.md"), "{refused}");
    assert_eq!(place.files(), ["plan.md"]);
}

#[test]
fn a_link_in_the_place_of_what_is_written_aside_is_not_followed() {
    let place = Place::new();
    place.commit("plan.md", "one\n").expect("it is written");
    let tree = Tree::open(&place.0).expect("it opens");
    let history = History::open(&tree, &key()).expect("it opens").expect("it is there");
    let first = history.last().expect("it can be read").expect("there is one");
    let name = match &first.files[0] {
        piton_store::journal::FileChange::Write { aside: Some(aside), .. } => {
            format!("{}2", aside.trim_end_matches('1'))
        }
        other => panic!("{other:?}"),
    };
    place.write("theirs", "theirs\n");
    symlink("theirs", place.0.join(&name)).expect("the name is free");
    assert_eq!(place.commit("plan.md", "two\n"), Ok(2));
    assert_eq!((place.read("plan.md").as_str(), place.read("theirs").as_str()), ("two\n", "theirs\n"));
    assert_eq!(place.files(), ["plan.md", "theirs"]);
}

#[test]
fn a_link_inside_of_the_workspace_is_written_through() {
    let place = Place::new();
    fs::create_dir(place.0.join("docs")).expect("the name is free");
    place.write("docs/real.md", "zero\n");
    symlink("docs/real.md", place.0.join("plan.md")).expect("the name is free");
    for (number, text) in ["one\n", "two\n"].iter().enumerate() {
        assert_eq!(place.commit("plan.md", text), Ok(number as u64 + 2));
        assert_eq!(place.read("docs/real.md"), *text);
    }
    assert!(fs::symlink_metadata(place.0.join("plan.md")).expect("it is there").is_symlink());
}

#[test]
fn modes_are_kept_and_ours_are_private() {
    let place = Place::new();
    for (path, mode) in [("a.md", 0o640), ("b.md", 0o600), ("c.md", 0o664)] {
        place.write(path, "zero\n");
        fs::set_permissions(place.0.join(path), fs::Permissions::from_mode(mode)).expect("it is ours");
        place.commit(path, "one\n").expect("it is written");
        place.commit(path, "two\n").expect("it is written");
        assert_eq!(place.mode(path), mode, "{path}");
    }
    place.write("usual", "");
    place.commit("new.md", "one\n").expect("it is written");
    assert_eq!(place.mode("new.md"), place.mode("usual"));
    // A torn end makes one more file of ours.
    let journal = key().journal();
    place.write(&journal, &format!("{}torn", place.read(&journal)));
    place.commit("a.md", "three\n").expect("it is written");
    let directory = key().directory();
    for path in [".piton", ".piton/units", &directory] {
        assert_eq!(place.mode(path), 0o700, "{path}");
    }
    for path in
        [".piton/seal", ".piton/.gitignore", &journal, &format!("{directory}/lock"), &format!("{directory}/torn-1")]
    {
        assert_eq!(place.mode(path), 0o600, "{path}");
    }
    assert_eq!(place.read(".piton/.gitignore"), "*\n");
}

/// Run by the next test in a process that may not write large files.
#[test]
#[ignore = "it is a part of another test"]
fn limited() {
    let root = std::env::var_os("PITON_TEST_LIMITED").expect("the other test says where");
    let refused = commit(Path::new(&root), "plan.md", &"x".repeat(400_000)).expect_err("it is too large");
    println!("\nrefused {refused}");
}

#[test]
fn a_disk_without_room_changes_nothing() {
    let place = Place::new();
    place.commit("plan.md", "one\n").expect("it is written");
    let journal = fs::read(place.0.join(key().journal())).expect("it is there");
    // A limit on the size of files fails a write as a full disk does: after a part of it.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" --exact limited --ignored --nocapture"])
        .arg(std::env::current_exe().expect("it is known"))
        .env("PITON_TEST_LIMITED", &place.0)
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    let refused = said.lines().find_map(|line| line.strip_prefix("refused ")).unwrap_or_else(|| panic!("{said}"));
    assert!(refused.contains(&key().journal()) || refused.contains("plan.md"), "{refused}");
    assert_eq!((place.read("plan.md").as_str(), place.files()), ("one\n", vec!["plan.md".to_owned()]));
    assert_eq!(fs::read(place.0.join(key().journal())).expect("it is there"), journal);
    assert_eq!(place.commit("plan.md", "two\n"), Ok(2));
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("there is cp");
    assert!(copied.success());
}

#[test]
fn a_copy_of_our_directory_is_not_believed() {
    let (place, clone) = (Place::new(), Place::new());
    place.commit("plan.md", "one\n").expect("it is written");
    place.commit("plan.md", "two\n").expect("it is written");
    // Whatever it came with: a copy, an archive, a commit.
    copy(&place.0.join(".piton"), &clone.0.join(".piton"));
    clone.write("plan.md", "theirs\n");
    assert_eq!(clone.commit("plan.md", "mine\n"), Ok(2), "adopted, then written");
    assert!(clone.0.join(".piton/quarantine/1").join("units").is_dir());
    assert_eq!(clone.files(), ["plan.md"]);
    let names = fs::read_dir(&clone.0).expect("it can be listed").count();
    assert_eq!(names, 2, "the document and our directory");
    // A link or a file in its place is no better.
    for number in 2..=3 {
        fs::rename(clone.0.join(".piton/quarantine"), clone.0.join("before")).expect("it is there");
        fs::remove_dir_all(clone.0.join(".piton")).expect("it is there");
        match number {
            2 => symlink(place.0.join(".piton"), clone.0.join(".piton")).expect("the name is free"),
            _ => clone.write(".piton", "a file"),
        }
        clone.commit("plan.md", "again\n").expect("it is written");
        fs::remove_dir_all(clone.0.join("before")).expect("it is there");
    }
    assert_eq!(place.commit("plan.md", "three\n"), Ok(3), "nobody wrote through the link");
}

#[test]
fn a_workspace_that_was_moved_is_still_ours() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let (from, to) = (place.0.join("work"), elsewhere.0.join("moved"));
    fs::create_dir(&from).expect("the name is free");
    assert_eq!(commit(&from, "plan.md", "one\n"), Ok(1));
    fs::rename(&from, &to).expect("it is one file system");
    assert_eq!(commit(&to, "plan.md", "two\n"), Ok(2));
}
