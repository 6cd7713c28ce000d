use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::{Client, called, hide};
use super::support::Workspace;
use super::support::harbour::harbour;

/// A call of each tool that does something, in an order in which each may.
fn calls() -> Vec<(&'static str, Value)> {
    let light = "plan:260218-0900-lighthouse";
    vec![
        ("status", json!({ "dialect": "plan" })),
        ("status", json!({ "unit": light })),
        ("status", json!({ "resumable": true, "lifecycle": "failed" })),
        ("check", json!({ "unit": "crew:Secondary-E" })),
        ("check", json!({ "path": "plans" })),
        ("why", json!({ "unit": "crew:Secondary-A" })),
        ("resume", json!({ "unit": light, "force": true })),
        ("step", json!({ "unit": light, "deed": "done", "steps": ["fit"], "by": "subagent:rigger", "attempt": 1 })),
        ("decide", json!({ "unit": light, "text": "use the old lens", "reason": "it is here", "attempt": 1 })),
        ("note", json!({ "unit": light, "text": "light it at dusk", "purpose": "resume_instruction" })),
        ("start", json!({ "unit": "build:PRD-009", "title": "Cranes", "steps": ["WS1"], "gates": ["lint"] })),
        ("step", json!({ "unit": "build:PRD-009", "deed": "begin", "steps": ["WS1"] })),
        ("step", json!({ "unit": "build:PRD-009", "deed": "done", "steps": ["WS1"], "outputs": ["src/crane.rs"] })),
        ("verdict", json!({ "unit": "build:PRD-009", "word": "ship", "reason": "it holds" })),
        (
            "note",
            json!({ "unit": "build:PRD-009", "text": "a key for each row", "purpose": "key_fix", "file": "src/crane.rs" }),
        ),
        ("note", json!({ "unit": "build:PRD-009", "text": "the old hook is gone", "purpose": "cleanup" })),
        ("gate", json!({ "unit": "build:PRD-009", "verdict": "pass", "names": ["lint"], "step": "WS1" })),
        ("stage", json!({ "unit": "crew:Secondary-A", "stage": "S2.P2", "phase": "Specification" })),
        ("beat", json!({ "unit": "crew:Secondary-A" })),
        ("block", json!({ "unit": "task:quay/T060", "message": "no boat", "kind": "dependency_missing" })),
        ("unblock", json!({ "unit": "task:quay/T060" })),
        ("fail", json!({ "unit": "build:PRD-002", "message": "aground", "step": "WS2", "file": "a.rs", "line": 4 })),
        ("pause", json!({ "unit": "pipeline:HARB-3", "reason": "low tide" })),
        ("send", json!({ "to": "Secondary-A", "subject": "Tides", "body": "Read the table first" })),
        ("inbox", json!({ "agent": "Secondary-A" })),
        ("read_message", json!({ "agent": "Secondary-A", "number": 1 })),
        ("start", json!({ "unit": "task:cranes/T070", "title": "Oil", "steps": ["hook"] })),
        ("step", json!({ "unit": "task:cranes/T070", "deed": "done", "steps": ["hook"], "outputs": ["docs/hook.md"] })),
        ("finish", json!({ "unit": "task:cranes/T070" })),
        ("log", json!({ "unit": "build:PRD-009" })),
        ("show", json!({ "unit": "build:PRD-009", "version": 1 })),
        ("rollback", json!({ "unit": "build:PRD-009", "version": 2 })),
        ("repair", json!({ "unit": "build:PRD-009" })),
        ("reopen", json!({ "unit": "task:cranes/T070" })),
        ("mark_plan", json!({ "unit": "plan:260219-1000-buoys" })),
        ("sync", json!({})),
        ("warn_silent", json!({})),
        ("takeover", json!({ "unit": "crew:Secondary-B", "agent": "Secondary-G" })),
        ("restart", json!({ "unit": "crew:Secondary-G", "force": true })),
    ]
}

fn listed(client: &mut Client) -> BTreeMap<String, Value> {
    let answer = client.ask("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools").clone();
    tools.into_iter().map(|tool| (tool["name"].as_str().expect("a name").to_owned(), tool)).collect()
}

#[test]
fn the_list_of_tools() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    let tools = listed(&mut client);
    let mut text = String::new();
    for (name, tool) in &tools {
        let hints = &tool["annotations"];
        let kind = match (hints["readOnlyHint"] == true, hints["destructiveHint"] == true) {
            (true, false) => "reads",
            (false, false) => "adds",
            (false, true) => "takes",
            (true, true) => panic!("{name} cannot be both"),
        };
        let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        let arguments = tool["inputSchema"]["properties"].as_object().expect("properties").iter();
        let arguments: Vec<_> = arguments
            .map(|(argument, schema)| {
                let need = if required.contains(&argument.as_str().into()) { "!" } else { "" };
                format!("{argument}{need}: {}", schema.get("enum").unwrap_or(&schema["type"]))
            })
            .collect();
        text.push_str(&format!("{name} ({kind})\n  {}\n", arguments.join(", ")));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_schema_is_one() {
    let workspace = Workspace::new();
    let mut client = Client::connect(&workspace);
    for (name, tool) in listed(&mut client) {
        for schema in ["inputSchema", "outputSchema"] {
            assert!(jsonschema::meta::is_valid(&tool[schema]), "{name}: {}", tool[schema]);
        }
    }
}

#[test]
fn every_tool_does_what_it_says_and_answers_as_its_schema_says() {
    let workspace = harbour();
    let mut client = Client::connect(&workspace);
    let mut tools = listed(&mut client);
    let mut transcript = String::new();
    let mut unused: Vec<String> = tools.keys().cloned().collect();
    for (name, arguments) in calls() {
        unused.retain(|tool| tool != name);
        let tool = tools.get_mut(name).expect("a tool that is listed");
        jsonschema::validate(&tool["inputSchema"], &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = tool["outputSchema"].take();
        let result = client.call(name, arguments.clone());
        assert_eq!(result["isError"], false, "{name} {arguments}: {result}");
        let document = &result["structuredContent"];
        jsonschema::validate(&schema, document).unwrap_or_else(|error| panic!("{name}: {error} in {document:#}"));
        tool["outputSchema"] = schema;
        let text = result["content"][0]["text"].as_str().expect("words");
        transcript.push_str(&format!("> {name} {arguments}\n{}\n\n", hide(&workspace, text)));
    }
    assert_eq!(unused, Vec::<String>::new(), "every tool is called");
    insta::assert_snapshot!(transcript);
    for unit in ["build:PRD-009", "task:cranes/T070", "plan:260218-0900-lighthouse", "crew:Secondary-A"] {
        workspace.run(&["check", unit]).exits(0);
    }
}

#[test]
fn a_wrong_call_says_what_to_do() {
    let workspace = harbour();
    let mut client = Client::connect(&workspace);
    let mut transcript = String::new();
    for (tool, arguments) in [
        ("status", json!({ "unit": "plan:lighthouse" })),
        ("status", json!({ "unit": "nope:x" })),
        ("status", json!({ "dialect": "poem" })),
        ("check", json!({ "path": "../beside" })),
        ("check", json!({ "path": "/etc/passwd" })),
        ("check", json!({ "path": "missing.json" })),
        ("check", json!({ "unit": "build:PRD-001", "path": "plans" })),
        ("why", json!({})),
        ("log", json!({ "unit": "plan:260219-1000-buoys" })),
        ("resume", json!({ "unit": "crew:Agent-Primary" })),
        ("resume", json!({ "unit": "build:PRD-001" })),
        ("resume", json!({ "unit": "build:PRD-002", "mode": "slowly" })),
        ("start", json!({ "unit": "PRD-077" })),
        ("start", json!({ "unit": "build:PRD-077", "spec": "docs/none.md" })),
        ("start", json!({ "unit": "build:PRD-077", "spec": "../../etc/passwd" })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done" })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done", "steps": [] })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done", "steps": "WS2" })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done", "steps": ["WS9"] })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done", "steps": ["WS2"], "evidence": "make test" })),
        ("step", json!({ "unit": "build:PRD-002", "deed": "done", "steps": ["WS2"], "attempt": 7 })),
        ("gate", json!({ "unit": "build:PRD-002", "verdict": "run", "names": ["lint"] })),
        ("gate", json!({ "unit": "build:PRD-002", "verdict": "pass", "names": [] })),
        ("verdict", json!({ "unit": "pipeline:HARB-2", "word": "PERHAPS" })),
        ("stage", json!({ "unit": "pipeline:HARB-2", "stage": "9" })),
        ("block", json!({ "unit": "build:PRD-002" })),
        ("unblock", json!({ "unit": "build:PRD-002", "blocker": "no such blocker" })),
        ("pause", json!({ "unit": "build:PRD-001" })),
        ("fail", json!({ "unit": "build:PRD-002", "message": "x", "line": 3 })),
        ("note", json!({ "unit": "build:PRD-404", "text": "x" })),
        ("decide", json!({ "unit": "build:PRD-002", "text": 7 })),
        ("beat", json!({ "unit": "build:PRD-002", "wait_seconds": 3600 })),
        ("finish", json!({ "unit": "build:PRD-002" })),
        ("send", json!({ "to": "Secondary-A", "subject": "x" })),
        ("inbox", json!({})),
        ("inbox", json!({ "agent": "../../x" })),
        ("read_message", json!({ "agent": "Secondary-A", "number": 99 })),
        ("start", json!({ "unit": "crew:Secondary-H" })),
        ("start", json!({ "unit": "plan:260219-1000-buoys" })),
        ("takeover", json!({ "unit": "crew:Agent-Primary", "agent": "Secondary-G" })),
        ("takeover", json!({ "unit": "crew:Secondary-B", "agent": "../x" })),
        ("restart", json!({ "unit": "crew:Agent-Primary" })),
        ("reopen", json!({ "unit": "build:PRD-002" })),
        ("repair", json!({ "unit": "build:PRD-404" })),
        ("rollback", json!({ "unit": "build:PRD-002", "version": 7 })),
        ("rollback", json!({ "unit": "build:PRD-002" })),
        ("show", json!({ "unit": "build:PRD-002", "file": "/etc/passwd" })),
        ("mark_plan", json!({ "unit": "build:PRD-002" })),
        ("sync", json!({ "epic": "epics/nowhere" })),
        ("sync", json!({ "epic": "../.." })),
    ] {
        let words = client.refuses(tool, arguments.clone());
        assert!(words.starts_with("error: ") && words.contains("\nhint: "), "{words}");
        transcript.push_str(&format!("> {tool} {arguments}\n{}\n\n", hide(&workspace, &words)));
    }
    insta::assert_snapshot!(transcript);
    let unknown = client.ask("tools/call", json!({ "name": "rm", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn a_long_document_comes_in_pages_and_an_old_version_can_come_back() {
    let workspace = Workspace::new();
    let boxes: String =
        (0..1_000).map(|number| format!("- [ ] Lay stone {number} <!-- TASK: s{number} -->\n")).collect();
    let plan = format!("# Wall\n\n{boxes}");
    let (path, unit) = ("plans/260101-0000-wall/plan.md", "plan:260101-0000-wall");
    workspace.write(path, &plan);
    let mut client = Client::connect(&workspace);
    let first = client.does("note", json!({ "unit": unit, "text": "before" }))["seq"].clone();
    client.does("step", json!({ "unit": unit, "deed": "done", "steps": ["s1", "s2"] }));
    workspace.write(path, "gone\n");
    let (mut text, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let document = client.does("show", json!({ "unit": unit, "version": first, "offset": offset }));
        assert!(document.to_string().chars().count() <= 25_000);
        assert_eq!(document["documents"][0]["path"], path);
        text.push_str(document["documents"][0]["text"].as_str().expect("a text"));
        offset = document["page"]["next_offset"].clone();
    }
    assert_eq!(text, plan);
    client.does("rollback", json!({ "unit": unit, "version": first }));
    assert_eq!(std::fs::read_to_string(workspace.path(path)).expect("the plan"), plan);
}

#[test]
fn programs_get_the_same_documents_as_from_the_command_line() {
    let workspace = harbour();
    let mut client = Client::connect(&workspace);
    let mut report = client.does("status", json!({}));
    report.as_object_mut().expect("an object").remove("page");
    let shown =
        |document: &Value| serde_json::from_str::<Value>(&hide(&workspace, &document.to_string())).expect("JSON");
    // What would hide from a reader is made visible for a model, and left as it is for a program.
    let without_odd_titles = |mut document: Value| {
        for unit in document["units"].as_array_mut().expect("units") {
            if unit["id"] == "HARB-5" || unit["id"] == "HARB-6" {
                unit["title"] = Value::Null;
            }
        }
        document
    };
    let printed = workspace.run(&["status", "--json"]).json();
    assert_eq!(without_odd_titles(shown(&report)), without_odd_titles(printed));
    let unit = client.does("status", json!({ "unit": "task:quay/T060" }));
    assert_eq!(shown(&unit), workspace.run(&["status", "task:quay/T060", "--json"]).json());
}

#[test]
fn a_long_list_comes_in_pages_that_fit() {
    let workspace = Workspace::new();
    for number in 0..700 {
        workspace.write(&format!("plans/260101-0000-p{number:03}/plan.md"), format!("# Plan {number}\n\n- [ ] a\n"));
    }
    let mut client = Client::connect(&workspace);
    let (mut seen, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let result = client.call("status", json!({ "offset": offset }));
        assert!(result.to_string().len() < 40_000, "a page has {} bytes", result.to_string().len());
        let document = &result["structuredContent"];
        let units = document["units"].as_array().expect("units").iter();
        seen.extend(units.map(|unit| unit["unit"].as_str().expect("a name").to_owned()));
        assert_eq!(document["page"]["of"], 700);
        assert_eq!(document["summary"]["units"], 700);
        offset = document["page"]["next_offset"].clone();
    }
    assert_eq!(seen.len(), 700);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 700);
}

#[test]
fn the_steps_of_a_long_plan_come_in_pages_beside_what_else_is_known() {
    let workspace = Workspace::new();
    let boxes = (0..1_500).map(|number| format!("- [ ] Lay stone number {number} <!-- TASK: stone-{number} -->\n"));
    workspace.write("plans/260101-0000-wall/plan.md", format!("# Wall\n\n{}", boxes.collect::<String>()));
    let mut client = Client::connect(&workspace);
    let (mut seen, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let document = client.does("status", json!({ "unit": "plan:260101-0000-wall", "offset": offset }));
        assert!(document.to_string().chars().count() <= 25_000);
        let unit = &document["units"][0];
        assert_eq!(unit["total"], 1_500);
        assert!(unit["why"].as_array().is_some_and(|why| !why.is_empty()), "{unit}");
        let steps = unit["steps"].as_array().expect("steps").iter();
        seen.extend(steps.map(|step| step["id"].as_str().expect("an id").to_owned()));
        offset = document["page"]["next_offset"].clone();
    }
    let wanted: Vec<_> = (0..1_500).map(|number| format!("stone-{number}")).collect();
    assert_eq!(seen, wanted);
}

/// Hints name tools for an agent that has no shell. Each call that a refusal offers does what it says.
#[test]
fn a_call_that_a_refusal_offers_works() {
    let start = ("start", json!({ "unit": "build:PRD-009", "title": "T", "steps": ["one", "two"], "gates": ["lint"] }));
    let begin = |step: &str| ("step", json!({ "unit": "build:PRD-009", "deed": "begin", "steps": [step] }));
    let done = |step: &str| ("step", json!({ "unit": "build:PRD-009", "deed": "done", "steps": [step] }));
    let pause = ("pause", json!({ "unit": "build:PRD-009" }));
    let finish = ("finish", json!({ "unit": "build:PRD-009" }));
    let review = ("verdict", json!({ "unit": "build:PRD-009", "word": "ship", "p0": 2, "p1": 0 }));
    let block = ("block", json!({ "unit": "build:PRD-009", "message": "x" }));
    for calls in [
        vec![start.clone(), finish.clone()],
        vec![start.clone(), begin("one"), pause],
        vec![start.clone(), begin("one"), done("one"), finish],
        vec![start.clone(), review],
        vec![start, block, begin("one")],
    ] {
        let workspace = Workspace::new();
        let mut client = Client::connect(&workspace);
        let (last, before) = calls.split_last().expect("calls");
        before.iter().for_each(|(tool, arguments)| drop(client.does(tool, arguments.clone())));
        let refused = client.refuses(last.0, last.1.clone());
        let offered = refused.lines().filter_map(|line| called(&line[line.find("call ")?..]));
        let (tool, arguments) = offered.into_iter().next().unwrap_or_else(|| panic!("nothing is offered: {refused}"));
        client.does(tool, arguments);
    }
}
