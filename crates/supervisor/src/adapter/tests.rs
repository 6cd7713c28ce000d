//! What the tests of all adapters share, and what is true of all of them.

use super::*;

#[test]
fn a_program_that_is_not_there_is_a_reason_with_advice() {
    let bin = Some(Path::new("/bin"));
    for (program, directory, want) in [
        ("sh", None, None),
        ("no-such-claude", None, Some("is not in PATH")),
        ("no-such-claude", bin, Some("is not in PATH")),
        ("/bin/sh", None, None),
        ("/no/such/program", None, Some("does not exist")),
        ("/no/such/program", bin, Some("does not exist")),
        ("/etc/passwd", None, Some("is no executable file")),
        ("/etc", None, Some("is no executable file")),
        // Only its own directory shows whether it is there.
        ("./sh", None, None),
        ("./sh", bin, None),
        ("./no-such-claude", bin, Some("does not exist")),
    ] {
        let agent = Agent { program: vec![program.to_owned()], ..Agent::claude() };
        let found = Adapter::Claude(agent).missing("/no/such/directory:/bin:/usr/bin", directory);
        let want = want.map(|wrong| {
            let advice = "install Claude Code, or choose another `adapter` in [worker] of piton.toml";
            format!("the worker's program `{program}` {wrong}; {advice}")
        });
        assert_eq!(found, want, "{program} {directory:?}");
    }
}

pub(super) fn work() -> Work {
    Work {
        unit: "pipeline:7".to_owned(),
        attempt: 2,
        root: "/r".into(),
        checkpoint: "/r/.pipeline/7.json".into(),
        directory: "/r/.worktrees/story-7".into(),
        prompt: "/h/prompt".into(),
        session: Some("5bbc".to_owned()),
        grants: Grants { in_git: true, ..Grants::default() },
    }
}

/// What is known after these lines.
pub(super) fn seen(adapter: &Adapter, out: &[&str], err: &[&str]) -> Seen {
    let mut seen = Seen::default();
    for (stream, lines) in [(Stream::Out, out), (Stream::Err, err)] {
        for line in lines {
            adapter.kind().see(&mut seen, stream, Line { bytes: line.as_bytes(), is_cut: false });
        }
    }
    seen
}

/// Asserts what an end of a new worker means after these lines.
pub(super) fn check(adapter: &Adapter, exit: &Exit, out: &[&str], err: &[&str], want: &Outcome) {
    let launch = adapter.start(&work()).expect("nothing has to be read");
    let found = adapter.kind().judge(exit, &seen(adapter, out, err), &launch);
    assert_eq!(found, *want, "{exit} after {out:?} and {err:?}");
}

/// Asserts what an end of a resumed worker means after these lines.
pub(super) fn check_resumed(adapter: &Adapter, exit: &Exit, out: &[&str], err: &[&str], want: &Outcome) {
    let launch = adapter.resume(&work()).expect("it can be resumed");
    let found = adapter.kind().judge(exit, &seen(adapter, out, err), &launch);
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
    let lines: [&[u8]; 14] = [
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
        b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\"}]}}",
        b"{\"type\":\"system\",\"subtype\":\"permission_denied\"}",
        b"{\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"exit_code\":1}}",
        b"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":-1}}",
    ];
    for adapter in &adapters {
        for line in lines {
            for (stream, is_cut) in [(Stream::Out, false), (Stream::Out, true), (Stream::Err, false)] {
                let mut seen = Seen::default();
                adapter.kind().see(&mut seen, stream, Line { bytes: line, is_cut });
                for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::Vanished] {
                    adapter.kind().judge(&exit, &seen, &Launch::new(["a"], "/"));
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

/// Nine workers of three stories: stages that begin anew, one that was resumed twice, one that was killed.
#[test]
fn nine_transcripts_sum_to_what_the_workers_cost() {
    let claude = Adapter::Claude(Agent::claude());
    let result = |total: f64| {
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":{total}}}"#)
    };
    // The session of each worker, and the sums in its results: a client counts on where its session ended.
    let workers: [(&str, &[f64]); 9] = [
        ("a", &[0.10]),
        ("b", &[0.05]),
        ("c", &[0.20]),
        ("c", &[0.30]),
        ("c", &[0.30, 0.41]),
        ("d", &[]),
        ("d", &[0.15]),
        ("e", &[0.25, 0.25]),
        ("f", &[0.10]),
    ];
    let mut sessions: Vec<(&str, Spent)> = Vec::new();
    let mut sum = Spent::default();
    for (session, totals) in workers {
        let lines: Vec<String> = totals.iter().map(|total| result(*total)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let now = seen(&claude, &lines, &[]).spent;
        let before = sessions.iter().rev().find(|(known, _)| *known == session).map_or(Spent::default(), |it| it.1);
        sum = sum.and(&now.beyond(&before));
        if !now.is_unknown() {
            sessions.push((session, now));
        }
    }
    let cents = sum.usd.map(|usd| (usd * 100.0).round());
    assert_eq!(cents, Some(106.0));
}
