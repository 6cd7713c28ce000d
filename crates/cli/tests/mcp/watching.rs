use serde_json::{Value, json};

use super::client::{Client, with_meta};
use super::support::{NOW, Workspace};

const PLAN: &str = "# A\n\n- [ ] one <!-- TASK: one -->\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("plans/260101-0000-a/plan.md", PLAN);
    workspace.write("plans/260101-0000-b/plan.md", PLAN);
    workspace
}

fn start(workspace: &Workspace) -> Client {
    Client::start_with(workspace, &["--at", NOW, "--poll", "0.02"], &[])
}

fn uri(unit: &str) -> String {
    format!("piton://document/plan:{unit}")
}

fn is_update(message: &Value, uri: &str) -> bool {
    message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
}

fn is_list(message: &Value) -> bool {
    message["method"] == "notifications/resources/list_changed"
}

#[test]
fn a_client_hears_about_what_it_subscribed_to_and_nothing_else() {
    let workspace = workspace();
    let mut client = start(&workspace).greeted();
    let (a, b) = (uri("260101-0000-a"), uri("260101-0000-b"));
    for uri in [&a, &b] {
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    // An editor, who knows nothing of this.
    workspace.write("plans/260101-0000-a/plan.md", "# A\n\n- [ ] one <!-- TASK: one -->\n- [ ] two\n");
    client.notification(|message| is_update(message, &a));
    // The command line, which writes a document and a journal.
    workspace.run(&["step", "plan:260101-0000-b", "done", "one"]).exits(0);
    client.notification(|message| is_update(message, &b));
    client.ask("resources/unsubscribe", json!({ "uri": a }));
    client.waiting.clear();
    workspace.write("plans/260101-0000-a/plan.md", "# Nobody listens\n");
    workspace.run(&["beat", "plan:260101-0000-b"]).exits(0);
    client.notification(|message| is_update(message, &b));
    assert!(!client.waiting.iter().any(|message| is_update(message, &a)), "{:?}", client.waiting);
    assert!(!client.waiting.iter().any(is_list), "{:?}", client.waiting);
}

#[test]
fn a_unit_that_is_removed_and_made_again_is_told_twice() {
    let workspace = workspace();
    let mut client = start(&workspace).greeted();
    let uri = uri("260101-0000-a");
    client.ask("resources/subscribe", json!({ "uri": uri }));
    std::fs::remove_dir_all(workspace.path("plans/260101-0000-a")).expect("it can be removed");
    client.notification(|message| is_update(message, &uri));
    workspace.write("plans/260101-0000-a/plan.md", PLAN);
    client.notification(|message| is_update(message, &uri));
}

#[test]
fn a_client_that_listed_resources_hears_when_there_are_others() {
    let workspace = workspace();
    let mut client = start(&workspace).greeted();
    client.ask("resources/list", json!({}));
    workspace.write("plans/260101-0000-c/plan.md", PLAN);
    client.notification(is_list);
    client.ask("resources/subscribe", json!({ "uri": "piton://status" }));
    client.does("start", json!({ "unit": "build:PRD-001", "steps": ["WS1"] }));
    client.notification(is_list);
    client.notification(|message| is_update(message, "piton://status"));
}

#[test]
fn a_client_of_the_newest_revision_listens() {
    let workspace = workspace();
    let mut client = start(&workspace);
    client.ask("server/discover", with_meta(json!({})));
    let (a, later) = (uri("260101-0000-a"), uri("260101-0000-later"));
    let wanted = json!({ "resourcesListChanged": true, "resourceSubscriptions": [a, later, "file:///etc/passwd"] });
    let id = client.send("subscriptions/listen", with_meta(json!({ "notifications": wanted })));
    let accepted = client.notification(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], json!([a, later]), "{accepted}");
    // What changed while the server was about to begin is told as well: everything is told once.
    client.notification(is_list);
    client.notification(|message| is_update(message, &a));
    client.notification(|message| is_update(message, &later));
    workspace.write("plans/260101-0000-a/plan.md", "# Changed\n");
    let update = client.notification(|message| is_update(message, &a));
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{update}");
    workspace.write("plans/260101-0000-later/plan.md", PLAN);
    client.notification(is_list);
    client.notification(|message| is_update(message, &later));
    assert_eq!(client.close().1, Some(0));
}

#[test]
fn what_is_watched_for_one_client_is_bounded() {
    let workspace = Workspace::new();
    for number in 0..101 {
        workspace.write(&format!("plans/260101-0000-{number}/plan.md"), PLAN);
    }
    let mut client = start(&workspace).greeted();
    for number in 0..100 {
        let uri = uri(&format!("260101-0000-{number}"));
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    let refused = client.ask("resources/subscribe", json!({ "uri": uri("260101-0000-100") }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let again = client.ask("resources/subscribe", json!({ "uri": uri("260101-0000-7") }));
    assert_eq!(again["result"], json!({}), "{again}");
}

#[test]
fn a_client_of_the_newest_revision_hears_nothing_that_it_did_not_ask_for() {
    let workspace = workspace();
    let mut client = start(&workspace);
    client.ask("server/discover", with_meta(json!({})));
    client.ask("resources/list", with_meta(json!({})));
    let wanted = json!({ "resourceSubscriptions": ["piton://status"] });
    client.send("subscriptions/listen", with_meta(json!({ "notifications": wanted })));
    for round in 0..4 {
        // The first time is for everything that may have changed before; each later one takes a look at all units.
        client.notification(|message| is_update(message, "piton://status"));
        workspace.write(&format!("plans/260102-0000-{round}/plan.md"), PLAN);
    }
    assert!(!client.waiting.iter().any(is_list), "{:?}", client.waiting);
}
