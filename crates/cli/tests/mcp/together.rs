use std::thread;

use serde_json::json;

use super::client::Client;
use super::support::Workspace;

/// How many notes each writer takes.
const NOTES: usize = 12;

#[test]
fn two_servers_and_a_command_line_share_a_unit() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1"]).exits(0);
    thread::scope(|scope| {
        for server in ["a", "b"] {
            let workspace = &workspace;
            scope.spawn(move || {
                let mut client = Client::connect(workspace);
                // All at once: the server's own calls race with each other as well.
                let asked: Vec<_> = (0..NOTES)
                    .map(|number| {
                        let text = format!("{server}{number}");
                        let arguments = json!({ "unit": "build:PRD-001", "text": text, "wait_seconds": 40 });
                        client.send("tools/call", json!({ "name": "decide", "arguments": arguments }))
                    })
                    .collect();
                for id in asked {
                    let answer = client.answer_to(id);
                    assert_eq!(answer["result"]["isError"], false, "{answer}");
                }
            });
        }
        scope.spawn(|| {
            for number in 0..NOTES {
                workspace.run(&["decide", "build:PRD-001", &format!("c{number}"), "--wait", "40"]).exits(0);
            }
        });
    });
    let log = workspace.run(&["log", "build:PRD-001", "--json"]).exits(0).json();
    let events = log["events"].as_array().expect("events");
    assert_eq!(events.len(), 1 + 3 * NOTES);
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let said: Vec<_> = events.iter().map(|event| event["data"]["text"].as_str().unwrap_or_default()).collect();
    for who in ["a", "b", "c"] {
        for number in 0..NOTES {
            let text = format!("{who}{number}");
            assert_eq!(said.iter().filter(|said| **said == text).count(), 1, "{text} in {said:?}");
        }
    }
    workspace.run(&["check", "build:PRD-001"]).exits(0);
}

#[test]
fn a_server_waits_for_whoever_holds_the_unit_only_as_long_as_it_is_told() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1"]).exits(0);
    let mut found = Vec::new();
    find_locks(&workspace.path(".piton/units"), &mut found);
    let held: Vec<_> = found.iter().map(|path| std::fs::File::options().read(true).write(true).open(path)).collect();
    let held: Vec<_> = held.into_iter().map(|file| file.expect("a lock can be opened")).collect();
    held.iter().for_each(|file| file.lock().expect("a lock can be taken"));
    assert!(!held.is_empty(), "a unit has a lock");
    let mut client = Client::connect(&workspace);
    let words = client.refuses("beat", json!({ "unit": "build:PRD-001", "wait_seconds": 0.1 }));
    assert!(words.starts_with("error: somebody else holds build:PRD-001"), "{words}");
    // Reading waits for nobody.
    client.does("status", json!({ "unit": "build:PRD-001" }));
    drop(held);
    client.does("beat", json!({ "unit": "build:PRD-001" }));
}

fn find_locks(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            find_locks(&path, found);
        } else if path.file_name().is_some_and(|name| name == "lock") {
            found.push(path);
        }
    }
}
