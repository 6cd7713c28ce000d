//! A document that is written in place is empty or cut for a moment. A reader that comes then waits for the rest.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use piton_store::Content;
use piton_store::disk::Stamp;

/// How long a document may be half written. After that it is damaged.
const WRITING: Duration = Duration::from_millis(400);

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Whether a document is perhaps being written: it was written a moment ago, and does not end as a whole one does.
pub(crate) fn is_half_written(path: &str, content: &Content) -> bool {
    let bytes = content.bytes.trim_ascii_end();
    let is_whole = match path.rsplit('.').next() {
        Some("json") => matches!(bytes.last(), Some(b'}' | b']')),
        Some("md") => !bytes.is_empty(),
        _ => true,
    };
    !is_whole && is_new(&content.stamp)
}

/// Whether a file was written a moment ago.
pub(crate) fn is_new(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    i128::try_from(now).is_ok_and(|now| now.abs_diff(stamp.modified) < WRITING.as_nanos())
}

/// Looks again and again as long as something is half written; not longer than a writer needs.
pub(crate) fn wait_while<E>(mut is_half_written: impl FnMut() -> Result<bool, E>) -> Result<(), E> {
    let since = Instant::now();
    while is_half_written()? && since.elapsed() < WRITING {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use piton_model::Time;

    use super::*;

    #[test]
    fn what_was_just_cut_is_half_written_and_what_is_old_is_damaged() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let now = i128::try_from(now).expect("a time");
        let hour = 3_600_000_000_000;
        for (path, text, age, want) in [
            ("a/b.json", "", 0, true),
            ("a/b.json", "{\"a\": {\n", 0, true),
            ("a/b.json", "{\"a\": 1}\n", 0, false),
            ("a/b.json", "[]", 0, false),
            ("a/b.json", "", hour, false),
            ("a/b.json", "", -hour, false),
            ("plans/p/plan.md", " \n", 0, true),
            ("plans/p/plan.md", "# P\n", 0, false),
            ("a/b.log", "", 0, false),
        ] {
            let stamp = Stamp { inode: 1, size: text.len() as u64, modified: now - age };
            let content = Content { bytes: text.into(), modified: Time::from_unix_seconds(0), stamp };
            assert_eq!(is_half_written(path, &content), want, "{path} {text:?} {age}");
        }
    }

    #[test]
    fn a_wait_has_an_end() {
        let mut looks = 0;
        let whole: Result<(), ()> = wait_while(|| {
            looks += 1;
            Ok(looks < 3)
        });
        assert_eq!((whole, looks), (Ok(()), 3));
        assert_eq!(wait_while(|| Ok::<_, ()>(true)), Ok(()));
        assert_eq!(wait_while(|| Err("gone")), Err("gone"));
    }
}
