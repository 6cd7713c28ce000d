//! What the tests of all adapters share, and what is true of all of them.

use super::*;

pub(super) fn work() -> Work {
    Work {
        unit: "pipeline:7".to_owned(),
        attempt: 2,
        root: "/r".into(),
        checkpoint: "/r/.pipeline/7.json".into(),
        directory: "/r/.worktrees/story-7".into(),
        prompt: "/h/prompt".into(),
        session: Some("5bbc".to_owned()),
    }
}

/// What is known after these lines.
pub(super) fn seen(adapter: &Adapter, out: &[&str], err: &[&str]) -> Seen {
    let mut seen = Seen::default();
    for (stream, lines) in [(Stream::Out, out), (Stream::Err, err)] {
        for line in lines {
            see(adapter, &mut seen, stream, Line { bytes: line.as_bytes(), is_cut: false });
        }
    }
    seen
}

/// Asserts what an end means after these lines.
pub(super) fn check(adapter: &Adapter, exit: &Exit, out: &[&str], err: &[&str], want: &Outcome) {
    let found = adapter.judge(exit, &seen(adapter, out, err));
    assert_eq!(found, *want, "{exit} after {out:?} and {err:?}");
}

pub(super) fn limited(scope: LimitScope, resets_at: Option<i64>, message: &str) -> Outcome {
    Outcome::Limited(Limit { scope, resets_at, message: message.to_owned() })
}

#[test]
fn whatever_a_worker_prints_is_borne() {
    let adapters = [
        Adapter::Claude(Agent::claude()),
        Adapter::Codex(Agent::codex()),
        Adapter::Command(CommandLine { argv: vec!["a".to_owned()], prompt: PromptBy::Stdin }),
    ];
    let lines: [&[u8]; 10] = [
        b"",
        b"null",
        b"[]",
        b"{",
        b"{\"type\":null}",
        b"{\"type\":\"result\"}",
        b"\xff\xfe",
        b"{\"type\":\"error\"}",
        b"{\"type\":\"assistant\",\"is_api_error_message\":true}",
        b"{\"limit_reset\":{}}",
    ];
    for adapter in &adapters {
        for line in lines {
            for (stream, is_cut) in [(Stream::Out, false), (Stream::Out, true), (Stream::Err, false)] {
                let mut seen = Seen::default();
                see(adapter, &mut seen, stream, Line { bytes: line, is_cut });
                for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::Vanished] {
                    adapter.judge(&exit, &seen);
                }
            }
        }
    }
}

#[test]
fn session_ids_are_random_uuids() {
    let (one, other) = (new_session_id().expect("there is randomness"), new_session_id().expect("there is randomness"));
    assert_ne!(one, other);
    let lengths: Vec<usize> = one.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(one.as_bytes()[14] == b'4' && b"89ab".contains(&one.as_bytes()[19]), "{one}");
}

#[test]
fn words_are_shortened_between_characters() {
    assert_eq!(shorten("  short \n"), "short");
    let long = "ü".repeat(600);
    assert_eq!(shorten(&long), format!("{}…", "ü".repeat(500)));
}
