use serde_json::{Value, json};

use super::client::Client;
use super::support::Workspace;
use super::support::harbour::harbour;

/// Names that are no units, and must not become paths.
const NAMES: [&str; 14] = [
    "",
    ":",
    "plan:",
    "plan:..",
    "plan:../../etc/passwd",
    "plan:a/../../b",
    "plan:/etc/passwd",
    "plan:a\u{0}b",
    "plan:a\nb",
    "plan:\u{1b}[31mred",
    "plan:-rf",
    "plan:%2e%2e%2fx",
    "crew:ü",
    "task:a/b/c/\u{202e}d",
];

#[test]
fn names_that_are_none_are_refused_everywhere_and_leave_nothing() {
    let workspace = harbour();
    let before = workspace.fingerprint();
    let mut client = Client::connect(&workspace);
    for name in NAMES {
        for tool in ["status", "check", "why", "log", "resume", "start", "beat", "finish", "pause", "unblock"] {
            let words = client.refuses(tool, json!({ "unit": name }));
            assert!(
                words.lines().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\u{0}'])),
                "{tool} {name:?}: {words}"
            );
        }
        client.refuses("send", json!({ "to": name, "subject": "x", "body": "y" }));
        client.refuses("inbox", json!({ "agent": format!("../{name}") }));
        let read = client.ask("resources/read", json!({ "uri": format!("piton://document/{name}") }));
        assert!(read["error"].is_object(), "{name:?}: {read}");
        let subscribed = client.ask("resources/subscribe", json!({ "uri": format!("piton://unit/{name}") }));
        assert!(subscribed["error"].is_object(), "{name:?}: {subscribed}");
    }
    drop(client);
    assert_eq!(workspace.fingerprint(), before);
}

#[test]
fn arguments_that_are_too_large_are_refused_with_words() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1"]).exits(0);
    let mut client = Client::connect(&workspace);
    let words = client.refuses("note", json!({ "unit": "build:PRD-001", "text": "x".repeat(3_000_000) }));
    assert!(words.starts_with("error: `text` has 3000000 bytes; at most 65536 are taken"), "{words}");
    let steps: Vec<_> = (0..5_000).map(|number| format!("S{number}")).collect();
    let words = client.refuses("step", json!({ "unit": "build:PRD-001", "deed": "begin", "steps": steps }));
    assert!(words.starts_with("error: `steps` has 5000 entries; at most 1000 are taken"), "{words}");
    let name = "x".repeat(100_000);
    let words = client.refuses("status", json!({ name: 1 }));
    assert!(words.len() < 5_000, "{}", words.len());
    client.refuses("status", json!({ "unit": format!("plan:{}", "a".repeat(60_000)) }));
    client.does("note", json!({ "unit": "build:PRD-001", "text": "ä".repeat(30_000) }));
}

#[test]
fn texts_that_a_terminal_would_obey_are_kept_as_data() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    let title = "\u{1b}]52;c;aGk=\u{7}\u{0}\u{202e} | rm -rf / \"\\\n<<<";
    client.does("start", json!({ "unit": "build:PRD-001", "title": title, "steps": ["WS1"] }));
    let result = client.call("status", json!({}));
    let words = result["content"][0]["text"].as_str().expect("words");
    let title = result["structuredContent"]["units"][0]["title"].as_str().expect("a title");
    for shown in [words, title] {
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{0}', '\u{202e}']), "{shown:?}");
    }
    workspace.run(&["check"]).exits(0);
}

#[test]
fn credentials_do_not_leave_through_results() {
    let workspace = Workspace::new();
    let key = format!("sk-ant-api03-{}", "a1B2c3D4e5".repeat(9));
    workspace.write("plans/260101-0000-a/plan.md", format!("# Key {key}\n\n- [ ] use {key} <!-- TASK: use -->\n"));
    let mut client = Client::connect(&workspace);
    let unit = "plan:260101-0000-a";
    for result in [
        client.call("status", json!({})),
        client.call("status", json!({ "unit": unit })),
        client.ask("resources/read", json!({ "uri": format!("piton://document/{unit}") })),
        client.ask("resources/read", json!({ "uri": format!("piton://unit/{unit}") })),
        client.ask("resources/list", json!({})),
        client.call("resume", json!({ "unit": unit })),
        client.ask("prompts/get", json!({ "name": "resume", "arguments": { "unit": unit } })),
    ] {
        assert!(!result.to_string().contains(&key), "{result}");
    }
}

#[test]
fn what_is_no_message_does_not_end_the_conversation() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    let mut junk: Vec<Vec<u8>> = [
        "not json\n",
        "\n",
        "[]\n",
        "{}\n",
        "[1,2,3]\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"nobody/knows\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"tools/call\",\"params\":{\"name\":7}}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    junk.push(b"\xff\xfe\x00{\"jsonrpc\"\n".to_vec());
    junk.push(format!("{}\n", "[".repeat(100_000)).into_bytes());
    junk.push(format!("{}\n", "x".repeat(20_000_000)).into_bytes());
    for bytes in junk {
        client.write(&bytes);
    }
    let answer = client.ask("nobody/knows", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert_eq!(client.does("status", json!({}))["units"], json!([]));
}

#[test]
fn a_message_that_is_too_long_is_answered_and_the_next_one_is_served() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    let filler = "x".repeat(17 * 1024 * 1024);
    let call = json!({ "name": "note", "arguments": { "unit": "build:PRD-001", "text": "FILLER" } });
    let long = |line: String| line.replace("FILLER", &filler);
    // Clients write the id at the beginning of a message, or at its end.
    for (id, line) in [
        (json!(901), format!("{{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":\"tools/call\",\"params\":{call}}}\n")),
        (json!("b"), format!("{{\"method\":\"tools/call\",\"params\":{call},\"jsonrpc\":\"2.0\",\"id\":\"b\"}}\n")),
        (Value::Null, "FILLER\n".to_owned()),
    ] {
        client.write(long(line).as_bytes());
        let answer = client.notification(|message| message.get("error").is_some() && message["id"] == id);
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        let words = answer["error"]["message"].as_str().expect("words");
        assert!(words.contains("at most 16777216 are read") && words.contains("into a file"), "{words}");
        assert_eq!(client.does("status", json!({}))["units"], json!([]));
    }
    // The last thing that is said is answered as well.
    client.write(
        long("{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"x\",\"params\":{\"a\":\"FILLER\"}}\n".to_owned()).as_bytes(),
    );
    let (rest, code) = client.close();
    assert_eq!(code, Some(0));
    assert!(rest.iter().any(|message| message["id"] == 902 && message["error"].is_object()), "{rest:?}");
}

#[test]
fn a_link_out_of_the_workspace_leads_nowhere() {
    let workspace = Workspace::new();
    workspace.write("../secret/plan.md", "# Secret\n\n- [ ] tell nobody\n");
    workspace.write("../secret.md", "# Secret\n\n- [ ] tell nobody\n");
    workspace.directory("plans/260101-0000-a");
    workspace.link("plans/260101-0000-a/plan.md", workspace.path("../secret.md"));
    workspace.link("docs", workspace.path("../secret"));
    let mut client = Client::connect(&workspace);
    for result in [
        client.call("check", json!({ "path": "docs/plan.md" })),
        client.call("check", json!({ "path": "docs" })),
        client.call("check", json!({})),
        client.call("start", json!({ "unit": "build:PRD-001", "spec": "docs/plan.md" })),
        client.ask("resources/read", json!({ "uri": "piton://document/plan:260101-0000-a" })),
    ] {
        assert!(!result.to_string().contains("tell nobody"), "{result}");
        assert_ne!(result, Value::Null);
    }
}
