//! Documents of a megabyte and more: pieces that stay, digests and contents that are not computed or read again.

use rustix::fs::{Mode, OFlags};

use super::*;

#[test]
fn a_large_document_is_written_from_what_stays_and_what_comes() {
    let place = Place::new();
    let line = |number: usize| format!("- [ ] line {number}\n");
    let first: String = (0..100_000).map(line).collect();
    place.commit("plan.md", &first).expect("it is written");
    let middle = first.find("[ ] line 70000").expect("it is there") + 1;
    let edit = |at, removed, inserted: &str| Edit { at, removed, inserted: inserted.into() };
    let many = (0..500).map(|number| edit(first.find(&line(number)).expect("it is there") + 3, 1, "x")).collect();
    for edits in [
        vec![edit(middle, 1, "x")],
        vec![edit(0, 0, "# a title\n"), edit(middle, 20, ""), edit(first.len(), 0, "the end\n")],
        vec![edit(0, first.len(), "")],
        many,
    ] {
        place.write("plan.md", &first);
        let after = Edit::parts(first.as_bytes(), &edits).expect("they fit").concat();
        let tree = Tree::open(&place.0).expect("it opens");
        let mut unit = lock(&tree, LONG).expect("nobody else wants it");
        let now = Time::from_unix_seconds(1_771_588_140);
        let contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
        let seen = contact.documents["plan.md"].content.as_ref().expect("it is there");
        let digest = seen.digest_with(&edits).expect("they fit");
        let effects = [Effect::Edit { path: "plan.md".to_owned(), edits, digest: Some(digest) }];
        let seq = unit.commit(new_entry("edited"), &effects, &contact.documents).expect("it is written");
        assert_eq!(place.read("plan.md").as_bytes(), after);
        let history = History::open(&tree, &key()).expect("it opens").expect("it is there");
        assert_eq!(history.version("plan.md", seq).expect("it can be read").as_deref(), Some(&after[..]));
        assert_eq!(unit.contact(&["plan.md".to_owned()], now).expect("it can be read").observed, []);
    }
}

/// A large document that was left by us is not hashed again, where the file system shows every change. None may hide there.
#[test]
fn whatever_others_do_to_a_large_document_is_seen() {
    let place = Place::new();
    let path = place.0.join("plan.md");
    let text = "- [ ] a line\n".repeat(100_000);
    let edited = text.replacen("[ ]", "[x]", 1);
    let times = || {
        let found = fs::metadata(&path).expect("it is there");
        let times = fs::FileTimes::new();
        times.set_modified(found.modified().expect("it has one")).set_accessed(found.accessed().expect("it has one"))
    };
    let open = || fs::File::options().write(true).open(&path).expect("it opens");
    let other = place.0.join("other");
    let in_place = || open().write_at(b"x", 3).map(drop).expect("it is written");
    let edits: [&dyn Fn(); 6] = [
        &in_place,
        &|| {
            let before = times();
            in_place();
            open().set_times(before).expect("it is ours");
        },
        &|| {
            let before = times();
            fs::write(&other, &edited).expect("it is written");
            fs::rename(&other, &path).expect("it is replaced");
            open().set_times(before).expect("it is ours");
        },
        &|| {
            let before = times();
            fs::write(&path, &edited).expect("it is written");
            open().set_times(before).expect("it is ours");
        },
        &|| {
            // Another name leads to the same file.
            fs::hard_link(&path, &other).expect("the name is free");
            fs::File::options()
                .write(true)
                .open(&other)
                .and_then(|file| file.write_at(b"x", 3))
                .expect("it is written");
            fs::remove_file(&other).expect("it goes");
        },
        &|| open().set_len(text.len() as u64 - 1).expect("it is cut"),
    ];
    let look = |is_seldom_read: bool| {
        let tree = Tree::open(&place.0).expect("it opens");
        let mut unit = lock(&tree, LONG).expect("nobody else wants it");
        if is_seldom_read {
            unit.is_seldom_read("plan.md").expect("it is there");
        }
        let now = Time::from_unix_seconds(1_771_588_140);
        let contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
        let content = contact.documents["plan.md"].content.as_ref().expect("it is there");
        match content.is_unread {
            true => assert!(is_seldom_read && content.bytes.is_empty()),
            false => assert_eq!(content.bytes, fs::read(&path).expect("it can be read")),
        }
        contact.observed.len()
    };
    for (number, edit) in edits.iter().enumerate() {
        for is_seldom_read in [false, true] {
            place.commit("plan.md", &format!("{text}{number}\n")).expect("it is written");
            place.commit("plan.md", &text).expect("it is written");
            assert_eq!(look(is_seldom_read), 0, "{number}: nobody has done anything");
            edit();
            assert_eq!(look(is_seldom_read), 1, "{number}: somebody has");
            assert_eq!(look(is_seldom_read), 0, "{number}: and that is known");
        }
    }
}

/// A large document that nobody has touched need not be read; it is replaced as any other, and not when somebody came first.
#[test]
fn what_was_not_read_is_replaced_unless_somebody_wrote_it() {
    let place = Place::new();
    let text = |number: usize| format!("{number}\n{}", "- [ ] a line\n".repeat(100_000));
    let tree = Tree::open(&place.0).expect("it opens");
    let now = Time::from_unix_seconds(1_771_588_140);
    let mut unread = 0;
    for number in 0..6 {
        place.commit("plan.md", &text(number)).expect("it is written");
        let mut unit = lock(&tree, LONG).expect("nobody else wants it");
        unit.is_seldom_read("plan.md").expect("it is there");
        let contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
        let seen = contact.documents["plan.md"].content.as_ref().expect("it is there");
        unread += usize::from(seen.is_unread);
        let edits = [Edit { at: 0, removed: 0, inserted: b"x".to_vec() }];
        assert_eq!(seen.digest_with(&edits).is_none(), seen.is_unread, "what was not read cannot be edited");
        if seen.is_unread {
            let digest = seen.digest_with(&[]).expect("it is known");
            let effects = [Effect::Edit { path: "plan.md".to_owned(), edits: edits.to_vec(), digest: Some(digest) }];
            let error = unit.commit(new_entry("edited"), &effects, &contact.documents);
            assert!(matches!(error, Err(CommitError::Raced { .. })), "{error:?}");
        }
        let next = text(number + 100);
        let effects = [Effect::Write { path: "plan.md".to_owned(), bytes: next.clone().into_bytes() }];
        if number % 2 == 0 {
            let seq = unit.commit(new_entry("replaced"), &effects, &contact.documents).expect("it is written");
            let history = History::open(&tree, &key()).expect("it opens").expect("it is there");
            let version = |seq| history.version("plan.md", seq).expect("it can be read");
            assert_eq!(version(seq).as_deref(), Some(next.as_bytes()));
            assert_eq!(version(seq - 1).as_deref(), Some(text(number).as_bytes()));
        } else {
            place.write("plan.md", "somebody else's\n");
            let error = unit.commit(new_entry("replaced"), &effects, &contact.documents);
            assert!(matches!(error, Err(CommitError::Raced { .. })), "{error:?}");
            assert_eq!(place.read("plan.md"), "somebody else's\n");
        }
    }
    // Where the file system does not show every change, everything is read.
    let is_shown = tree.imprint("plan.md").expect("it is there").is_some();
    assert!(unread > 0 || !is_shown, "nothing was left unread");
}

/// Files that are replaced and gone are closed, also those that a writer replaces which stays.
#[test]
fn what_is_gone_does_not_stay_open() {
    let place = Place::new();
    let text = |number: usize| format!("{number}\n{}", "- [ ] a line\n".repeat(100_000));
    place.commit("plan.md", &text(0)).expect("it is written");
    let tree = Tree::open(&place.0).expect("it opens");
    let mut unit = lock(&tree, LONG).expect("nobody else wants it");
    let now = Time::from_unix_seconds(1_771_588_140);
    let mut contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
    for number in 1..8 {
        let effects = [Effect::Write { path: "plan.md".to_owned(), bytes: text(number).into_bytes() }];
        unit.commit_deferred(new_entry("later"), &effects, &mut contact.documents).expect("it is written down");
        unit.flush(&contact.documents).expect("it is written");
        contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
    }
    for number in 8..12 {
        let bytes = if number < 10 { text(number) } else { "short\n".to_owned() }.into_bytes();
        let effects = [Effect::Write { path: "plan.md".to_owned(), bytes }];
        unit.commit(new_entry("at once"), &effects, &contact.documents).expect("it is written");
        contact = unit.contact(&["plan.md".to_owned()], now).expect("it can be read");
    }
    let own = fs::read_dir(place.0.join(key().directory())).expect("it is there").flatten();
    let waiting = own.filter(|file| file.file_name().to_string_lossy().starts_with("gone-")).count();
    assert_eq!(waiting, 0, "behind what is small nothing waits");
    let gone = || {
        let open = fs::read_dir("/proc/self/fd").expect("a process has files").flatten();
        let is_gone = |path: &PathBuf| path.starts_with(&place.0) && path.to_string_lossy().ends_with(" (deleted)");
        open.filter_map(|file| fs::read_link(file.path()).ok()).filter(is_gone).count()
    };
    let until = std::time::Instant::now() + LONG;
    while gone() > 0 {
        assert!(std::time::Instant::now() < until, "{} files stay open", gone());
        std::thread::yield_now();
    }
}

/// What is written before the journal has its line.
#[test]
fn a_file_without_a_name_is_like_its_neighbour_and_leaves_nothing() {
    let place = Place::new();
    place.write("plan.md", "old\n");
    fs::set_permissions(place.0.join("plan.md"), fs::Permissions::from_mode(0o640)).expect("it is ours");
    let names = || fs::read_dir(&place.0).expect("it is there").count();
    let before = names();
    let tree = Tree::open(&place.0).expect("it opens");
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let can_do = rustix::fs::open(&place.0, flags, Mode::from_raw_mode(0o600)).is_ok();
    let Some(file) = tree.unnamed("plan.md") else {
        assert!(!can_do, "the file system has such files");
        return;
    };
    file.write_at(0, b"new\n").expect("it can be written");
    assert_eq!(names(), before);
    assert!(file.name("plan.md").expect_err("the name is taken").is_taken());
    file.name("other.md").expect("the name is free");
    assert_eq!((place.read("other.md").as_str(), place.mode("other.md")), ("new\n", 0o640));
    assert_eq!(place.read("plan.md"), "old\n");
    drop(tree.unnamed("plan.md"));
    assert_eq!(names(), before + 1);
}
