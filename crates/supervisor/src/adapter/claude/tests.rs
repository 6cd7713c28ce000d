use super::super::tests::{check, check_resumed, limited, seen, work};
use super::*;
use crate::adapter::{Adapter, Grants};

const SESSION: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/r","session_id":"0f8fad5b-d9cb-469f-a165-70867728950e","tools":["Bash"]}"#;
const SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"all done","total_cost_usd":0.25,"api_error_status":null}"#;
const OVERLOADED: &str = r#"{"subtype":"success","is_error":true,"api_error_status":529,"terminal_reason":"api_error","result":"API Error: 529 overloaded","type":"result","total_cost_usd":0}"#;
const LOST: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"api_error","result":"API Error: Connection dropped","total_cost_usd":0}"#;
const BAD: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"api_error","result":"API Error: 400 bad request","total_cost_usd":0}"#;
const UNKNOWN: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"total_cost_usd":0,"errors":["No conversation found with session ID: 0f8f"]}"#;
const REJECTED: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794798900,"rateLimitType":"five_hour","isUsingOverage":false}}"#;
const HIT: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets 4am (UTC)","total_cost_usd":1.5}"#;

fn claude() -> Adapter {
    Adapter::Claude(Agent::claude())
}

#[test]
fn it_is_started_with_our_session_and_resumed_by_it() {
    let launch = claude().start(&work()).expect("nothing has to be read");
    let want = "claude -p --output-format stream-json --verbose --session-id 5bbc --permission-mode acceptEdits \
                --allowedTools mcp__piton Bash(git add:*)";
    assert!(launch.argv.join(" ").starts_with(want), "{launch:?}");
    assert_eq!(launch.unset, ["CLAUDECODE"]);
    let settings = Agent {
        program: vec!["npx".to_owned(), "claude".to_owned()],
        permissions: vec!["--dangerously-skip-permissions".to_owned()],
        model: Some("opus".to_owned()),
        extra: vec!["--effort".to_owned(), "high".to_owned()],
    };
    let grants = Grants { documents: vec!["/no/such (copy)/x.json".into()], ..Grants::default() };
    let launch = Adapter::Claude(settings).resume(&Work { grants, ..work() }).expect("it can be resumed");
    let want = "npx claude -p --output-format stream-json --verbose --resume 5bbc --dangerously-skip-permissions \
                --allowedTools mcp__piton --add-dir /no/such (copy) --model opus --effort high";
    assert_eq!(launch.argv.join(" "), want);
    let without = Work { session: None, ..work() };
    assert_eq!(claude().resume(&without), None);
    assert!(!claude().start(&without).expect("nothing has to be read").argv.contains(&"--session-id".to_owned()));
}

#[test]
fn ends_are_understood() {
    let failed = |reason: &str| Outcome::Failed { reason: reason.to_owned() };
    let interrupted =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["interrupted"]}"#;
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (2)"]}"#;
    for (exit, lines, want) in [
        (Exit::Code(0), vec![INIT, SUCCESS], Outcome::Finished),
        // Agents in the background: more results come after the first.
        (Exit::Code(0), vec![INIT, turns, INIT, SUCCESS], Outcome::Finished),
        (Exit::Code(0), vec![INIT, SUCCESS, INIT, interrupted], failed("interrupted")),
        (Exit::Code(0), vec![INIT], failed("exit code 0 without a result")),
        (Exit::Code(1), vec![INIT, turns], failed("Reached maximum number of turns (2)")),
        (Exit::Code(143), vec![INIT], Outcome::Died { reason: "exit code 143".to_owned() }),
        (Exit::Signal(9), vec![INIT, SUCCESS], Outcome::Died { reason: "signal 9".to_owned() }),
        (Exit::Code(1), vec![INIT, LOST], limited(LimitScope::Service, None, "API Error: Connection dropped")),
        (Exit::Code(1), vec![INIT, BAD], failed("API Error: 400 bad request")),
        (Exit::Code(1), vec![INIT, OVERLOADED], limited(LimitScope::Service, None, "API Error: 529 overloaded")),
    ] {
        check(&claude(), &exit, &lines, &[], &want);
    }
}

#[test]
fn a_session_that_is_not_there_is_refused_and_one_that_broke_later_is_not() {
    let complaint = "No conversation found with session ID: 0f8f";
    let refused = Outcome::ResumeRefused { reason: complaint.to_owned() };
    check_resumed(&claude(), &Exit::Code(1), &[UNKNOWN], &[complaint], &refused);
    check_resumed(&claude(), &Exit::Code(1), &[], &[complaint], &refused);
    let not_ours = "Error: --resume requires a valid session ID or session title when used with --print.";
    check_resumed(&claude(), &Exit::Code(1), &[], &[not_ours], &Outcome::ResumeRefused { reason: not_ours.to_owned() });
    let later = Outcome::Failed { reason: complaint.to_owned() };
    check_resumed(&claude(), &Exit::Code(1), &[INIT, UNKNOWN], &[], &later);
    // A new worker has no session to go on with: it failed, and that counts.
    check(&claude(), &Exit::Code(1), &[UNKNOWN], &[complaint], &later);
}

#[test]
fn a_client_that_cannot_be_used_is_no_failure_of_the_worker() {
    let logged_out = r#"{"type":"assistant","is_api_error_message":true,"error":"authentication_failed","message":{"content":[{"type":"text","text":"Not logged in · Please run /login"}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"api_error","result":"Not logged in · Please run /login"}"#;
    let key = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"terminal_reason":"api_error","result":"Invalid API key · Fix external API key"}"#;
    let unpaid = r#"{"type":"assistant","is_api_error_message":true,"error":"billing_error","message":{"content":[{"type":"text","text":"Credit balance is too low"}]}}"#;
    for (lines, err, want) in [
        (
            vec![INIT, logged_out, result],
            vec![],
            "Claude Code is not logged in (Not logged in · Please run /login); log in",
        ),
        (vec![INIT, result], vec![], "Claude Code is not logged in"),
        (vec![INIT, key], vec![], "Claude Code is not logged in (Invalid API key"),
        (vec![INIT, unpaid], vec![], "the account of Claude Code cannot pay: Credit balance is too low"),
        (
            vec![],
            vec!["error: unknown option '--session-id'"],
            "this version of Claude Code cannot be used (error: unknown",
        ),
    ] {
        let launch = claude().start(&work()).expect("nothing has to be read");
        let found = claude().kind().judge(&Exit::Code(1), &seen(&claude(), &lines, &err), &launch);
        let Outcome::Unavailable { reason } = &found else { panic!("{lines:?} {err:?}: {found:?}") };
        assert!(reason.starts_with(want), "{reason}");
    }
    // It may log in again by itself.
    check(&claude(), &Exit::Code(0), &[INIT, logged_out, SUCCESS], &[], &Outcome::Finished);
}

#[test]
fn refused_tools_are_known_by_what_they_were_for() {
    let call = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"npm ci\nnpm test"}}]}}"#;
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1","message":"This command requires approval"}"#;
    let other = r#"{"type":"system","subtype":"permission_denied","tool_name":"WebSearch","tool_use_id":"t9"}"#;
    let end = r#"{"type":"result","is_error":false,"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"npm ci\nnpm test"}},{"tool_name":"WebFetch","tool_input":{"url":"https://docs.rs/x"}},{"tool_name":"Write","tool_input":{"file_path":"/etc/x","content":""}},{"tool_name":"mcp__db__query","tool_input":{}}]}"#;
    let shown = |lines: &[&str]| -> Vec<String> {
        seen(&claude(), lines, &[]).denied.iter().map(|denied| denied.to_string()).collect()
    };
    // Should it die before it sums up.
    assert_eq!(shown(&[INIT, call, denied, other]), ["Bash(npm ci …)", "WebSearch"]);
    let all = ["Bash(npm ci …)", "WebFetch(https://docs.rs/x)", "Write(/etc/x)", "mcp__db__query"];
    assert_eq!(shown(&[INIT, call, denied, end]), all, "each once");
    let remedies: Vec<Remedy> = seen(&claude(), &[end], &[]).denied.into_iter().map(|denied| denied.remedy).collect();
    let allow = |text: &str| Remedy::Allow(text.to_owned());
    let want = ["npm ci\nnpm test", "WebFetch(domain:docs.rs)", "Edit(//etc/x)", "mcp__db__query"].map(allow);
    assert_eq!(remedies, want);
}

#[test]
fn a_limit_is_told_with_the_time_when_it_is_over() {
    let until = |message| limited(LimitScope::Account, Some(1_794_798_900), message);
    let hit = "You've hit your limit · resets 4am (UTC)";
    check(&claude(), &Exit::Code(1), &[INIT, REJECTED, HIT], &[], &until(hit));
    check(&claude(), &Exit::Code(1), &[INIT, HIT], &[], &limited(LimitScope::Account, None, hit));
    // Should the worker die of it without another word.
    check(&claude(), &Exit::Code(1), &[INIT, REJECTED], &[], &until("usage limit reached (five_hour)"));
    let old =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1794798900"}"#;
    check(&claude(), &Exit::Code(1), &[INIT, old], &[], &until("Claude AI usage limit reached|1794798900"));
    // Over the limit, and going on for money.
    let paid = REJECTED.replace("\"isUsingOverage\":false", "\"isUsingOverage\":true");
    check(&claude(), &Exit::Code(0), &[INIT, &paid, SUCCESS], &[], &Outcome::Finished);
    let allowed = REJECTED.replace("rejected", "allowed");
    assert_eq!(seen(&claude(), &[INIT, REJECTED, &allowed], &[]).limit, None);
    assert_eq!(seen(&claude(), &[INIT, REJECTED, SUCCESS], &[]).limit, None);
}

#[test]
fn an_error_among_its_messages_is_a_limit_too() {
    let message = r#"{"type":"assistant","is_api_error_message":true,"api_error_status":429,"message":{"content":[{"type":"text","text":"You've hit your weekly limit"}]},"rate_limit_info":{"status":"rejected","resetsAt":1794798900,"rateLimitType":"seven_day"}}"#;
    let found = seen(&claude(), &[INIT, message], &[]).limit.expect("it is a limit");
    let want = ("You've hit your weekly limit (seven_day)", Some(1_794_798_900));
    assert_eq!((found.message.as_str(), found.resets_at), want);
}

#[test]
fn session_cost_and_waiting_are_seen() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":580,"error_status":529,"error":"overloaded"}"#;
    let found = seen(&claude(), &[INIT, retry], &[]);
    assert_eq!(found.session.as_deref(), Some(SESSION));
    let waiting = found.waiting.expect("it waits");
    assert_eq!((waiting.scope, &*waiting.message), (LimitScope::Service, "overloaded (status 529), attempt 2 of 10"));
    let answer = r#"{"type":"assistant","message":{"content":[]}}"#;
    assert_eq!(seen(&claude(), &[INIT, retry, answer], &[]).waiting, None);
    assert_eq!(seen(&claude(), &[INIT, SUCCESS, HIT], &[]).spent.usd, Some(1.5), "the last says it all");
    assert_eq!(seen(&claude(), &[INIT], &[]).spent.usd, None, "unknown is not zero");
}

#[test]
fn a_result_that_is_too_long_still_counts() {
    for (is_error, exit, want) in [(false, 0, true), (true, 1, false)] {
        let line = format!(r#"{{"total_cost_usd":1,"is_error":{is_error},"result":"{}"#, "x".repeat(1000));
        let mut found = Seen::default();
        see(&mut found, Stream::Out, Line { bytes: line.as_bytes(), is_cut: true });
        let launch = claude().start(&work()).expect("nothing has to be read");
        assert_eq!(claude().kind().judge(&Exit::Code(exit), &found, &launch) == Outcome::Finished, want);
    }
}
