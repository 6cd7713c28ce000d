//! A user outside of the workspace, who names it with `-C`: every printed command works as typed there.

use crate::requests::go;
use crate::yard::{Ended, Yard, finish, wait_for};

/// A directory that is a workspace of its own.
fn elsewhere(yard: &Yard) -> std::path::PathBuf {
    let place = yard.outer("elsewhere");
    std::fs::create_dir_all(place.join(".git")).expect("a directory");
    place
}

/// Runs the binary there.
fn typed(yard: &Yard, words: &[&str]) -> Ended {
    finish(yard.command(words).current_dir(elsewhere(yard)).spawn().expect("the binary starts"))
}

/// The words behind `before`, of the only line that has them.
fn command(text: &str, before: &str) -> Vec<String> {
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(before).map(|(_, command)| command)).collect();
    let [line] = lines[..] else { panic!("{before:?} in {text}") };
    let words = line.strip_prefix("piton ").unwrap_or_else(|| panic!("{line}")).split(' ');
    words.map(|word| if word == "TEXT" { "sqlite".to_owned() } else { word.to_owned() }).collect()
}

/// Types what was printed behind `before`.
#[track_caller]
fn follow(yard: &Yard, text: &str, before: &str) -> Ended {
    let words = command(text, before);
    let mut last = None;
    for words in words.split(|word| word == "&&") {
        let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| *word == "piton").collect();
        let ended = typed(yard, &words);
        assert_eq!(ended.code, Some(0), "{words:?}\n{}{}", ended.stdout, ended.stderr);
        last = Some(ended);
    }
    last.expect("a command")
}

#[test]
fn printed_commands_name_the_workspace_once() {
    let yard = Yard::new(&[("S-1", &[])]).env("BAD", "asks");
    let root = yard.workspace.path("");
    let root = root.to_str().expect("UTF-8").trim_end_matches('/');
    let refused = typed(&yard, &["-C", root, "run"]);
    assert!(
        refused.stderr.contains(&format!("or approve them and run: piton -C {root} run --yes\n")),
        "{}",
        refused.stderr
    );
    follow(&yard, &refused.stderr, "look at them, then: ");
    let paused = typed(&yard, &["-C", root, "run"]);
    assert_eq!(paused.code, Some(4), "{}{}", paused.stdout, paused.stderr);
    let answer = format!("piton -C {root} unblock pipeline:S-1 --message TEXT && piton -C {root} run\n");
    assert!(paused.stdout.contains(&format!("next: answer what blocks it: {answer}")), "{}", paused.stdout);
    assert!(!paused.stdout.contains("piton run") && !paused.stdout.contains("piton why"), "{}", paused.stdout);
    let why = follow(&yard, &paused.stdout, "see why: ");
    follow(&yard, &why.stdout, "answer what blocks it: ");
    // In the workspace nothing has to be named, however it is.
    let inside = yard.run(&["-C", ".", "why", "pipeline:S-1"]);
    assert!(!inside.stdout.contains("-C"), "{}", inside.stdout);
    let prompts = std::fs::read_dir(yard.workspace.path(".piton/run/prompts")).expect("prompts").flatten();
    let prompts: Vec<String> = prompts.map(|prompt| std::fs::read_to_string(prompt.path()).expect("text")).collect();
    assert!(!prompts.is_empty() && prompts.iter().all(|prompt| !prompt.contains(" -C ")), "{prompts:?}");
    assert_eq!(typed(&yard, &["-C", root, "run"]).code, Some(0));
    yard.assert_nothing_left();
}

#[test]
fn a_detached_run_is_shown_and_stopped_as_printed() {
    let yard = Yard::new(&[("S-1", &[])]).env("WAIT", "yes");
    yard.run(&["approve"]);
    let root = yard.workspace.path("");
    let root = root.to_str().expect("UTF-8").trim_end_matches('/');
    let detached = typed(&yard, &["-C", root, "run", "--detach"]);
    assert_eq!(command(&detached.stdout, "show it: "), ["-C", root, "run"]);
    follow(&yard, &detached.stdout, "stop it: ");
    go(&yard);
    wait_for("its end", || yard.processes().is_empty(), || format!("{:?}", yard.processes()));
    assert_eq!(typed(&yard, &["-C", root, "run"]).code, Some(0));
    yard.assert_nothing_left();
}
