//! What the user takes out of a list before its turn gets no worker.

use std::fs;

use crate::whose_word::{said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, finish, wait_for};

const HOLD: &str = r#"if [ "$step" = S-1 ] || [ "$step" = T1 ]; then hold first; fi"#;

fn story(id: &str, after: &str) -> String {
    format!("[[stories]]\nid = \"{id}\"\ntitle = \"{id}\"\nstages = [2, 3]\ndepends_on = [{after}]\n")
}

fn task(id: &str, after: &str) -> String {
    let steps = "subtasks = [\"one\", \"two\"]";
    format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\ntitle = \"{id}\"\n{steps}\ndepends_on = [{after}]\n")
}

/// Lets the user do something while the first worker is held.
pub fn meanwhile(yard: &Yard, arguments: &[&str], act: impl FnOnce()) -> Ended {
    let lead = yard.command(arguments).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-first").exists(), || yard.piton(&["status"]).stdout);
    act();
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    finish(lead)
}

fn did(yard: &Yard, id: &str) -> bool {
    workers(yard).iter().any(|step| step == id)
}

#[test]
fn a_story_that_is_taken_out_of_its_list_before_its_turn_gets_no_worker() {
    let yard = yard(HOLD, &format!("{}{}", story("S-1", ""), story("S-2", "\"S-1\"")), &[]);
    let settings = yard.text("piton.toml").replace(&story("S-2", "\"S-1\""), "");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
    });
    assert_eq!((ended.code, did(&yard, "S-1"), did(&yard, "S-2")), (Some(0), true, false), "{}", said(&ended));
    assert!(said(&ended).contains("S-2: it was taken out of its list; no worker starts"), "{}", said(&ended));
    // Its state says that it is still to be done, and is right about it.
    assert_eq!(yard.read_json(".pipeline/state.json")["story_state"]["S-2"], "QUEUED");
    yard.run(&["check"]);
}

#[test]
fn a_story_that_another_one_waits_for_stays() {
    let all = [story("S-1", ""), story("S-2", "\"S-1\""), story("S-3", "\"S-2\"")].concat();
    let yard = yard(HOLD, &all, &[]);
    // The list is not whole any more: the user is in the middle of editing it.
    let settings = yard.text("piton.toml").replace(&story("S-2", "\"S-1\""), "");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
    });
    assert_eq!((ended.code, did(&yard, "S-2"), did(&yard, "S-3")), (Some(0), true, true), "{}", said(&ended));
}

#[test]
fn a_list_that_git_puts_in_place_takes_nothing_out() {
    let yard = yard(HOLD, &story("S-1", ""), &[]);
    let settings = yard.text("piton.toml");
    yard.workspace.write("piton.toml", format!("{settings}{}", story("S-2", "\"S-1\"")));
    let ended = meanwhile(&yard, &["run", "--yes"], || drop(yard.git(&["stash", "-q", "--", "piton.toml"])));
    assert_eq!((ended.code, did(&yard, "S-2")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_task_that_is_taken_out_of_its_file_before_its_turn_gets_no_worker() {
    let yard = yard(HOLD, "", &[("tasks.toml", &format!("{}{}", task("T1", ""), task("T2", "\"T1\"")))]);
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("tasks.toml", task("T1", ""));
    });
    assert_eq!((ended.code, did(&yard, "T1"), did(&yard, "T2")), (Some(0), true, false), "{}", said(&ended));
    assert!(said(&ended).contains("T2: it was taken out of its list; no worker starts"), "{}", said(&ended));
}

/// The first story asked; the second one, which waits for it, is taken out of the settings; the first one is done.
fn without_second() -> Yard {
    let asks =
        r#"if mkdir "$MARKS/asked" 2>/dev/null; then "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0; fi"#;
    let yard = yard(asks, &format!("{}{}", story("S-1", ""), story("S-2", "\"S-1\"")), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace(&story("S-2", "\"S-1\""), ""));
    yard.commit("without S-2");
    let ended = yard.run(&["run", "--yes"]);
    assert!(said(&ended).contains("done: 1 of 1 done"), "{}", said(&ended));
    yard
}

#[test]
fn a_story_that_was_taken_out_is_in_no_door_any_more() {
    let yard = without_second();
    assert!(!yard.run(&["status"]).stdout.contains("S-2"), "{}", yard.run(&["status"]).stdout);
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!((&state["story_state"], &state["complete"]), (&serde_json::json!({ "S-1": "DONE" }), &true.into()));
    yard.run(&["check"]);
    // Listed again, it is done.
    let settings = yard.text("piton.toml");
    yard.workspace.write("piton.toml", format!("{settings}{}", story("S-2", "\"S-1\"")));
    yard.commit("with S-2");
    yard.run(&["run", "--yes"]);
    assert!(did(&yard, "S-2"));
}

#[test]
fn a_story_that_was_taken_out_stays_out_when_no_list_is_left() {
    let yard = without_second();
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace(&story("S-1", ""), ""));
    yard.commit("without S-1");
    for options in [&["run", "--yes"][..], &["run", "--yes", "--retry"]] {
        let ended = yard.piton(options);
        assert_eq!((ended.code, did(&yard, "S-2")), (Some(2), false), "{}", said(&ended));
        assert!(said(&ended).contains("there is nothing to run"), "{}", said(&ended));
    }
}

#[test]
fn a_story_that_is_taken_out_during_a_run_stays_out_when_no_list_is_left() {
    let yard = yard(HOLD, &format!("{}{}", story("S-1", ""), story("S-2", "\"S-1\"")), &[]);
    let settings = yard.text("piton.toml").replace(&story("S-2", "\"S-1\""), "");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", &settings);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    yard.workspace.write("piton.toml", settings.replace(&story("S-1", ""), ""));
    yard.commit("without stories");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, did(&yard, "S-2")), (Some(2), false), "{}", said(&ended));
}

#[test]
fn stories_that_another_lead_left_are_done_beside_stories_that_were_taken_out() {
    let yard = without_second();
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace(&story("S-1", ""), ""));
    yard.commit("without stories");
    // Another lead writes its own story into the state, which waits for one that is done.
    let mut state = yard.read_json(".pipeline/state.json");
    (state["story_state"]["B-1"], state["depends_on"]["B-1"]) = ("QUEUED".into(), serde_json::json!(["S-1"]));
    yard.workspace.write(".pipeline/state.json", state.to_string());
    let ended = yard.piton(&["run", "--explain"]);
    assert!(said(&ended).contains("pipeline:B-1") && !said(&ended).contains("S-2"), "{}", said(&ended));
}

/// S-2 was begun, its worker ended, and it is in no list any more; the rest of its run is done.
fn begun_and_taken_out(hook: &str, is_at_it: impl Fn(&Yard) -> bool) -> Yard {
    let yard = yard(&format!("{HOLD}\n{hook}"), &format!("{}{}", story("S-1", ""), story("S-2", "")), &[]);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the second story", || is_at_it(&yard), shown);
    wait_for("the first worker", || yard.outer("marks/held-first").exists(), shown);
    yard.run(&["stop", "--workers"]);
    finish(lead);
    set_hook(&yard, "");
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace(&story("S-2", ""), ""));
    yard.commit("without S-2");
    let ended = yard.run(&["run"]);
    assert!(said(&ended).contains("done: 1 of 1 done"), "{}", said(&ended));
    yard
}

/// Whether a worker is where a test waits for it.
type Look<'t> = &'t dyn Fn(&Yard) -> bool;

#[test]
fn a_story_that_was_taken_out_after_its_worker_ended_has_no_live_agent() {
    let parked = r#"if [ "$step" = S-2 ]; then
  echo "{\"limit_reset\": \"$(date -u -d '+3600 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"; exit 75; fi"#;
    let is_held = |yard: &Yard| yard.outer("marks/held-second").exists();
    let is_parked = |yard: &Yard| yard.piton(&["status"]).stdout.contains("1 waiting");
    let cases: [(&str, Look<'_>); 2] = [("hold second", &is_held), (parked, &is_parked)];
    for (hook, is_at_it) in cases {
        for verb in ["resume", "restart"] {
            let yard = begun_and_taken_out(hook, is_at_it);
            let status = yard.json(&["status", "--json"]);
            let row = status["units"].as_array().and_then(|rows| rows.iter().find(|row| row["id"] == "S-2")).cloned();
            assert_eq!(row.expect("a row")["liveness"], "idle", "{status:#}");
            let why = yard.run(&["why", "pipeline:S-2"]).stdout;
            assert!(why.contains("liveness   idle: its worker ended") && !why.contains("alive"), "{why}");
            yard.run(&["stale"]);
            yard.run(&[verb, "pipeline:S-2"]);
            // Its new agent is another one, and only its signs tell about it.
            let why = yard.run(&["why", "pipeline:S-2"]).stdout;
            assert!(why.contains("liveness   alive"), "{verb}: {why}");
        }
    }
}
