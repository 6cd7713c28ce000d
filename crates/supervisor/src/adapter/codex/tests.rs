use super::super::tests::{check, check_resumed, limited, seen, work};
use super::*;
use crate::adapter::{Adapter, Grants, Spent};

fn codex() -> Adapter {
    Adapter::Codex(Agent::codex())
}

#[test]
fn options_come_before_the_session_and_are_given_again() {
    let fixed = "codex exec --json -c allow_login_shell=false";
    let line = |launch: Launch| launch.argv.join(" ");
    let start = |work: &Work| line(codex().start(work).expect("nothing has to be read"));
    let resume = |work: &Work| line(codex().resume(work).expect("it can be resumed"));
    assert_eq!(start(&work()), format!("{fixed} --sandbox workspace-write -"));
    assert_eq!(resume(&work()), format!("{fixed} --sandbox workspace-write resume 5bbc -"));
    let grants = Grants {
        records: vec!["/".into(), "/tmp".into()],
        documents: vec!["/no/such/plan.md".into()],
        network: true,
        ..Grants::default()
    };
    let work = Work { grants, ..work() };
    let options = "--add-dir / --add-dir /tmp --add-dir /no/such -c sandbox_workspace_write.network_access=true";
    let git = "--skip-git-repo-check";
    assert_eq!(start(&work), format!("{fixed} {git} --sandbox workspace-write {options} -"));
    assert_eq!(resume(&work), format!("{fixed} {git} --sandbox workspace-write {options} resume 5bbc -"));
}

#[test]
fn directories_are_added_to_the_sandbox_alone() {
    let permissions = ["--sandbox", "danger-full-access"].map(str::to_owned).to_vec();
    let agent = Agent { permissions, model: Some("m".to_owned()), ..Agent::codex() };
    let grants = Grants { records: vec!["/tmp".into()], in_git: true, ..Grants::default() };
    let launch = Adapter::Codex(agent).start(&Work { grants, ..work() }).expect("nothing has to be read");
    let want = "codex exec --json -c allow_login_shell=false --sandbox danger-full-access --model m -";
    assert_eq!(launch.argv.join(" "), want);
}

const STARTED: &str = r#"{"type":"thread.started","thread_id":"01a1"}"#;

#[test]
fn what_it_says_is_understood() {
    let failed = |reason: &str| Outcome::Failed { reason: reason.to_owned() };
    let completed = r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#;
    let hit = r#"{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Try again at 3:05 PM."}}"#;
    let bad = r#"{"type":"turn.failed","error":{"message":"no such model"}}"#;
    for (exit, lines, want) in [
        (Exit::Code(0), vec![STARTED, completed], Outcome::Finished),
        (Exit::Code(0), vec![STARTED], failed("exit code 0 without a result")),
        (Exit::Code(0), vec![STARTED, completed, r#"{"type":"turn.started"}"#], failed("exit code 0 without a result")),
        (Exit::Code(1), vec![STARTED, bad], failed("no such model")),
        (
            Exit::Code(1),
            vec![STARTED, hit],
            limited(LimitScope::Account, None, "You’ve hit your usage limit. Try again at 3:05 PM."),
        ),
        (Exit::Signal(9), vec![STARTED], Outcome::Died { reason: "signal 9".to_owned() }),
    ] {
        check(&codex(), &exit, &lines, &[], &want);
    }
}

#[test]
fn a_session_that_is_not_there_is_refused() {
    let complaint = "Error: thread/resume: thread/resume failed: no rollout found for thread id 1111 (code -32600)";
    let refused = Outcome::ResumeRefused { reason: complaint.to_owned() };
    let lines = ["WARNING: something", complaint, "", "Stack backtrace:"];
    check_resumed(&codex(), &Exit::Code(1), &[], &lines, &refused);
    check(&codex(), &Exit::Code(1), &[], &lines, &Outcome::Failed { reason: complaint.to_owned() });
}

#[test]
fn a_session_that_is_open_elsewhere_lives() {
    let complaint = "Error: thread/resume: thread/resume failed: thread 1111 already has an active writer";
    check_resumed(&codex(), &Exit::Code(1), &[], &[complaint], &limited(LimitScope::Worker, None, complaint));
}

#[test]
fn errors_of_the_service_are_waited_for_and_those_of_the_account_are_not() {
    let failed = |message: &str| format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    for message in [
        "exceeded retry limit, last status: 429 Too Many Requests, request id: 1",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "Selected model is at capacity. Please try a different model.",
        "stream disconnected before completion: closed",
    ] {
        let want = limited(LimitScope::Service, None, message);
        check(&codex(), &Exit::Code(1), &[STARTED, &failed(message)], &[], &want);
    }
    for (message, want) in [
        (
            "unexpected status 401 Unauthorized: no",
            "Codex is not logged in (unexpected status 401 Unauthorized: no); log in",
        ),
        ("Quota exceeded. Check your plan and billing details.", "the account of Codex cannot pay: Quota exceeded."),
        ("To use Codex with your ChatGPT plan, upgrade to Plus: x", "the account of Codex cannot pay: To use Codex"),
    ] {
        let launch = codex().start(&work()).expect("nothing has to be read");
        let found = codex().kind().judge(&Exit::Code(1), &seen(&codex(), &[STARTED, &failed(message)], &[]), &launch);
        let Outcome::Unavailable { reason } = &found else { panic!("{message}: {found:?}") };
        assert!(reason.starts_with(want), "{reason}");
    }
    let old = "error: unexpected argument '--add-dir' found";
    let launch = codex().start(&work()).expect("nothing has to be read");
    let found = codex().kind().judge(&Exit::Code(2), &seen(&codex(), &[], &[old]), &launch);
    assert!(matches!(&found, Outcome::Unavailable { reason } if reason.contains(old)), "{found:?}");
}

#[test]
fn what_the_sandbox_refused_is_known() {
    let item = |command: &str, output: &str, code: i64| {
        format!(
            r#"{{"type":"item.completed","item":{{"id":"i","type":"command_execution","command":"{command}","aggregated_output":"{output}","exit_code":{code},"status":"failed"}}}}"#
        )
    };
    let lines = [
        item("/bin/bash -lc 'npm ci'", "npm error code EAI_AGAIN", 1),
        item("/bin/bash -c 'touch /x'", "touch: cannot touch '/x': Read-only file system", 1),
        item("/bin/bash -c 'npm test'", "1 test failed", 1),
        item("/bin/bash -c 'grep -r EROFS .'", "a.c: EROFS", 0),
        r#"{"type":"item.completed","item":{"id":"j","type":"mcp_tool_call","server":"db","tool":"drop","error":{"message":"MCP tool call requires approval, but approval policy is never"},"status":"failed"}}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let err = [
        "2026-11-17T02:38:53Z ERROR codex_core::tools::router: error=approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
        "2026-11-17T02:38:53Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; rejected by user approval settings",
    ];
    let found = seen(&codex(), &lines, &err).denied;
    let found: Vec<(String, Remedy)> = found.into_iter().map(|denied| (denied.to_string(), denied.remedy)).collect();
    let want = [
        ("Bash(npm ci)", Remedy::Network),
        ("Bash(touch /x)", Remedy::Write),
        ("mcp__db__drop", Remedy::Unknown),
        ("Bash(outside of the sandbox)", Remedy::Unknown),
        ("apply_patch(outside of its directory)", Remedy::Write),
    ];
    assert_eq!(found, want.map(|(shown, remedy)| (shown.to_owned(), remedy)));
}

#[test]
fn tokens_are_those_of_the_session() {
    let turn = |input: u64, output: u64| {
        format!(
            r#"{{"type":"turn.completed","usage":{{"input_tokens":{input},"cached_input_tokens":1,"output_tokens":{output}}}}}"#
        )
    };
    let spent = |lines: &[&str]| seen(&codex(), lines, &[]).spent;
    let (one, two) = (turn(100, 10), turn(250, 30));
    assert_eq!(spent(&[STARTED, &one]).tokens, Some(Tokens { input: 100, output: 10 }));
    let resumed = spent(&[STARTED, &two]).beyond(&spent(&[STARTED, &one]));
    assert_eq!(resumed, Spent { usd: None, tokens: Some(Tokens { input: 150, output: 20 }) });
    assert!(spent(&[STARTED]).is_unknown());
}

#[test]
fn waiting_for_the_network_is_life() {
    let reconnecting = r#"{"type":"error","message":"Reconnecting... 2/5 (stream disconnected)"}"#;
    let own = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Falling back"}}"#;
    let item = r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"ok"}}"#;
    let found = seen(&codex(), &[STARTED, reconnecting, own], &[]);
    assert_eq!(found.waiting.map(|limit| limit.message).as_deref(), Some("Reconnecting... 2/5 (stream disconnected)"));
    assert_eq!(found.session.as_deref(), Some("01a1"));
    let found = seen(&codex(), &[STARTED, reconnecting, item], &[]);
    assert_eq!(found.waiting, None);
}
