use serde_json::{Value, json};

use super::client::{Client, hide};
use super::support::Workspace;
use super::support::harbour::harbour;

fn read(client: &mut Client, uri: &str) -> Value {
    let mut answer = client.ask("resources/read", json!({ "uri": uri }));
    assert!(answer["result"].is_object(), "{uri}: {answer}");
    answer["result"]["contents"][0].take()
}

#[test]
fn every_listed_resource_can_be_read_and_every_kind_has_a_template() {
    let workspace = harbour();
    let before = workspace.fingerprint();
    let mut client = Client::connect(&workspace);
    let listed = client.ask("resources/list", json!({}));
    let listed = listed["result"]["resources"].as_array().expect("resources").clone();
    assert!(listed.len() > 40, "{}", listed.len());
    for resource in &listed {
        let uri = resource["uri"].as_str().expect("a name");
        let content = read(&mut client, uri);
        assert_eq!(content["mimeType"], resource["mimeType"], "{uri}");
        assert_eq!(content["uri"], uri);
    }
    let templates = client.ask("resources/templates/list", json!({}));
    let templates = templates["result"]["resourceTemplates"].as_array().expect("templates").clone();
    let kinds: Vec<_> = templates.iter().map(|template| template["uriTemplate"].clone()).collect();
    let wanted = ["unit", "document", "brief", "log"].map(|kind| json!(format!("piton://{kind}/{{+unit}}")));
    assert_eq!(kinds, wanted);
    drop(client);
    assert_eq!(workspace.fingerprint(), before, "reading changes nothing");
}

#[test]
fn what_resources_say() {
    let workspace = harbour();
    workspace.run(&["beat", "plan:260218-0900-lighthouse"]).exits(0);
    let mut client = Client::connect(&workspace);
    let document = read(&mut client, "piton://document/plan:260218-0900-lighthouse");
    assert_eq!(document["text"], super::support::fixtures::PLAN);
    let brief = read(&mut client, "piton://brief/plan:260218-0900-lighthouse");
    insta::assert_snapshot!(hide(&workspace, brief["text"].as_str().expect("a brief")));
    let mut json = |uri: &str| -> Value {
        let text = read(&mut client, uri)["text"].as_str().expect("a text").to_owned();
        serde_json::from_str(&hide(&workspace, &text)).expect("JSON")
    };
    let unit = json("piton://unit/plan:260218-0900-lighthouse");
    assert_eq!(unit, workspace.run(&["status", "plan:260218-0900-lighthouse", "--json"]).json());
    let log = json("piton://log/plan%3A260218-0900-lighthouse");
    assert_eq!(log["events"][1]["event"], "beat");
}

#[test]
fn a_preview_begins_nothing() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1"]).exits(0);
    let before = workspace.fingerprint();
    let mut client = Client::connect(&workspace);
    let brief = read(&mut client, "piton://brief/build:PRD-001");
    assert!(
        brief["text"].as_str().is_some_and(|text| text.starts_with("# Resume build:PRD-001, attempt 2")),
        "{brief}"
    );
    let prompt = client.ask("prompts/get", json!({ "name": "resume", "arguments": { "unit": "build:PRD-001" } }));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().expect("a text");
    assert!(text.contains("Call the tool `resume`") && text.contains("# Resume build:PRD-001, attempt 2"), "{text}");
    drop(client);
    assert_eq!(workspace.fingerprint(), before);
    assert_eq!(workspace.run(&["resume", "build:PRD-001", "--force", "--json"]).json()["attempt"], 2);
}

#[test]
fn what_is_not_there_is_an_error_that_says_so() {
    let workspace = harbour();
    let mut client = Client::connect(&workspace);
    for (uri, words) in [
        ("piton://unit/build:PRD-404", "no such unit: build:PRD-404"),
        ("piton://brief/build:PRD-001", "is not resumed"),
        ("piton://log/build:PRD-002", "nothing has been recorded"),
        ("piton://poem/build:PRD-002", "there is no such resource"),
        ("file:///etc/passwd", "there is no such resource"),
    ] {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
        let message = answer["error"]["message"].as_str().expect("words");
        assert!(message.contains(words), "{uri}: {message}");
    }
    let answer = client.ask("resources/list", json!({ "cursor": "nonsense" }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = client.ask("prompts/get", json!({ "name": "poem" }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = client.ask("prompts/get", json!({ "name": "resume" }));
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("which unit?")), "{answer}");
}

#[test]
fn resources_are_listed_in_pages() {
    let workspace = Workspace::new();
    for number in 0..230 {
        workspace.write(&format!("plans/260101-0000-{number}/plan.md"), "# P\n\n- [ ] a\n");
    }
    let mut client = Client::connect(&workspace);
    let (mut seen, mut cursor) = (0, Value::Null);
    loop {
        let parameters = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let answer = client.ask("resources/list", parameters);
        seen += answer["result"]["resources"].as_array().expect("resources").len();
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, 1 + 2 * 230);
}

#[test]
fn prompts_and_completions() {
    let workspace = harbour();
    let mut client = Client::connect(&workspace);
    let prompts = client.ask("prompts/list", json!({}));
    let names = prompts["result"]["prompts"].as_array().expect("prompts").iter();
    assert_eq!(names.map(|prompt| prompt["name"].clone()).collect::<Vec<_>>(), ["resume", "hand_over"]);
    let prompt = client.ask("prompts/get", json!({ "name": "hand_over", "arguments": { "unit": "task:quay/T060" } }));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().expect("a text").to_owned();
    insta::assert_snapshot!(text);
    let complete = |client: &mut Client, begun: &str| {
        let reference = json!({ "type": "ref/prompt", "name": "resume" });
        let argument = json!({ "name": "unit", "value": begun });
        client.ask("completion/complete", json!({ "ref": reference, "argument": argument }))["result"]["completion"]
            .take()
    };
    assert_eq!(complete(&mut client, "task:qu")["values"], json!(["task:quay/T060"]));
    assert_eq!(complete(&mut client, "PRD-00")["total"], 6);
    assert_eq!(complete(&mut client, "nothing")["values"], json!([]));
}
