use super::*;

fn session() -> Session {
    Session {
        bound: Some(Bound {
            dialect: Dialect::Task,
            base: "docs/work".to_owned(),
            id: vec![Id::parse("migration").expect("an id"), Id::parse("T060").expect("an id")],
            document: Some("docs/work/progress/checkpoints/migration-T060.json".to_owned()),
        }),
        process: Some("7 8 9".to_owned()),
        is_open: true,
        prompts: 4,
        said: Some("two\nlines".to_owned()),
        alarms: vec!["a".to_owned()],
        wanted: vec![("buyer".to_owned(), vec!["lens".to_owned()]), (String::new(), Vec::new())],
        ..Session::default()
    }
}

#[test]
fn a_session_is_read_as_it_was_written() {
    for session in [session(), Session::default()] {
        let text = session.text();
        assert_eq!(Session::read(text.as_bytes()).as_ref(), Some(&session));
        let longer = format!("{text}rest of a longer one\"}}\n");
        assert_eq!(Session::read(longer.as_bytes()), Some(session), "what was cut off too late is passed over");
    }
    for torn in ["", "{", "{}", "null", "{\"bound\": {\"dialect\": \"task\"}"] {
        assert_eq!(Session::read(torn.as_bytes()), None, "{torn:?}");
    }
}

/// A file that grows between the question for its size and the reading of it.
struct Growing<'t>(&'t str);

impl Handle for Growing<'_> {
    fn size(&self) -> Result<u64, DiskError> {
        Ok(3)
    }

    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        let bytes = &self.0.as_bytes()[at as usize..];
        Ok(bytes[..length.min(bytes.len())].to_vec())
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<(), DiskError> {
        unreachable!("it is read")
    }

    fn truncate(&self, _: u64) -> Result<(), DiskError> {
        unreachable!("it is read")
    }

    fn sync(&self) -> Result<(), DiskError> {
        unreachable!("it is read")
    }

    fn stamp(&self) -> Result<piton_store::disk::Stamp, DiskError> {
        unreachable!("it is read")
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_whole() {
    for length in [3, 900, ROOM + 3, ROOM + 4, 9 * ROOM] {
        let text = "x".repeat(length);
        assert_eq!(content(&Growing(&text)).expect("it can be read"), text.as_bytes(), "{length}");
    }
}

#[test]
fn helpers_take_what_they_were_given() {
    let mut session = session();
    assert_eq!(session.take_wanted("buyer"), ["lens"]);
    assert_eq!(session.take_wanted("buyer"), [""; 0], "one without a type is of any");
    assert_eq!(session.wanted, []);
    assert_eq!(session.take_wanted("buyer"), [""; 0]);
}

#[test]
fn alarms_are_told_once_and_are_not_endless() {
    let mut session = Session::default();
    (0..40).for_each(|number| session.alarm(format!("{}", number / 2)));
    assert_eq!(session.alarms.len(), MOST_ALARMS);
}
