use super::*;
use crate::scratch::Scratch;

const LOCK: &str = "locks/readme.lock";

/// A scratch directory with a directory for locks.
fn yard() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path.join("locks")).expect("a directory can be made");
    scratch
}

impl Scratch {
    fn take(&self, wait: Duration) -> Asked<'_> {
        let judge = |text: &[u8], _: Duration| match text {
            b"over" => LockState::Over,
            b"" => LockState::Torn,
            _ => LockState::Held,
        };
        LockFile::take(&self.tree, LOCK, "ours", wait, &judge).expect("the disk works")
    }

    fn text(&self) -> Option<String> {
        std::fs::read_to_string(self.path.join(LOCK)).ok()
    }

    fn put(&self, text: &str) {
        std::fs::write(self.path.join(LOCK), text).expect("it can be written");
    }

    fn leftovers(&self) -> Vec<String> {
        self.tree.list(SHARED)
    }
}

#[test]
fn a_lock_is_there_as_long_as_its_value() {
    let scratch = yard();
    let asked = scratch.take(Duration::ZERO);
    assert!(matches!(asked, Asked::Taken(_)), "{asked:?}");
    assert_eq!(scratch.text().as_deref(), Some("ours"));
    drop(asked);
    assert_eq!(scratch.text(), None);
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
}

#[test]
fn what_somebody_has_is_left_alone() {
    let scratch = yard();
    scratch.put("theirs");
    let Asked::Held(text) = scratch.take(Duration::from_millis(60)) else { panic!("it is theirs") };
    assert_eq!((text.as_slice(), scratch.text().as_deref()), (b"theirs".as_slice(), Some("theirs")));
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
}

#[test]
fn what_is_over_is_cleared_away_and_what_is_torn_after_a_while() {
    let scratch = yard();
    scratch.put("over");
    assert!(matches!(scratch.take(Duration::ZERO), Asked::Taken(_)));
    assert_eq!(scratch.text(), None);
    scratch.put("");
    assert!(matches!(scratch.take(Duration::ZERO), Asked::Held(_)), "it may be about to be written");
    assert!(matches!(scratch.take(TORN * 4), Asked::Taken(_)));
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
}

#[test]
fn whoever_comes_after_us_keeps_theirs() {
    let scratch = yard();
    let asked = scratch.take(Duration::ZERO);
    scratch.put("theirs");
    drop(asked);
    assert_eq!(scratch.text().as_deref(), Some("theirs"));
}

#[test]
fn a_lock_that_was_made_after_the_judgement_goes_back() {
    let scratch = yard();
    scratch.put("over");
    let judged = scratch.tree.read(LOCK).expect("it is there").stamp;
    std::fs::remove_file(scratch.path.join(LOCK)).expect("it goes");
    scratch.put("somebody else, and longer");
    clear(&scratch.tree, LOCK, judged).expect("the disk works");
    assert_eq!(scratch.text().as_deref(), Some("somebody else, and longer"));
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
}
