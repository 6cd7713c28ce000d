use std::fs;

use serde_json::json;

use super::client::Client;
use super::support::Workspace;

/// How many calls are made before the first look, and after it.
const BEFORE: usize = 1_000;
const AFTER: usize = 9_000;

/// How many calls are on their way at once.
const AT_ONCE: usize = 50;

#[test]
fn ten_thousand_calls_leave_neither_memory_nor_descriptors_behind() {
    let workspace = Workspace::new();
    workspace.run(&["start", "build:PRD-001", "--step", "WS1"]).exits(0);
    let mut client = Client::connect(&workspace);
    call(&mut client, BEFORE);
    let (memory, descriptors) = (memory(&client), descriptors(&client));
    call(&mut client, AFTER);
    let grown = self::memory(&client).saturating_sub(memory);
    assert!(grown < 8 * 1024, "it grew by {grown} KiB from {memory} KiB");
    assert_eq!(self::descriptors(&client), descriptors);
}

fn call(client: &mut Client, calls: usize) {
    for batch in 0..calls / AT_ONCE {
        let asked: Vec<_> = (0..AT_ONCE)
            .map(|place| {
                let (tool, arguments) = match place {
                    // Each tenth of these waits for the disk.
                    0 if batch % 10 == 0 => ("beat", json!({ "unit": "build:PRD-001" })),
                    place if place % 3 == 0 => ("status", json!({})),
                    place if place % 3 == 1 => ("why", json!({ "unit": "build:PRD-001" })),
                    _ => ("step", json!({ "unit": "build:PRD-404", "deed": "done", "steps": ["WS1"] })),
                };
                client.send("tools/call", json!({ "name": tool, "arguments": arguments }))
            })
            .collect();
        for id in asked {
            client.answer_to(id);
        }
    }
}

/// What the server holds in memory, in KiB.
fn memory(client: &Client) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", client.process())).expect("the server runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line about memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn descriptors(client: &Client) -> usize {
    fs::read_dir(format!("/proc/{}/fd", client.process())).expect("the server runs").count()
}
