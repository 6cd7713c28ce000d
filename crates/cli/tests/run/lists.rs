//! Stories and tasks come from every list that the user keeps, and a list that is moved during a run is not forgotten.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const BOARD: &str = r#"{"stories": [{"id": "SHOP-22", "title": "Two", "text": "Sell it.", "stages": [2, 3]}]}"#;

const SPRINT: &str = "[[stories]]\nid = \"A-1\"\ntitle = \"One\"\ntext = \"Do this first.\"\nstages = [2, 3]\n\
                      [[stories]]\nid = \"A-2\"\ntitle = \"Two\"\ntext = \"Do that then.\"\nstages = [2, 3]\ndepends_on = [\"A-1\"]\n";

const TASKS: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntext = \"Do this first.\"\nsubtasks = [\"one\", \"two\"]\n\
                     [[tasks]]\nagent = \"copy\"\nid = \"T2\"\ntext = \"Do that then.\"\nsubtasks = [\"one\", \"two\"]\ndepends_on = [\"T1\"]\n";

/// Keeps the prompt, and asks about the first unit.
const ASKS: &str = r#"cat > "$MARKS/prompt-$step"
case $step in *1) "$PITON" block "$PITON_UNIT" --message 'which port?'; exit 0 ;; esac"#;

/// A run of a file that is paused for a question; then the file gets another name, and the question is answered.
fn moved(file: &str, text: &str, more: &str, first: &str) -> Yard {
    let yard = yard(ASKS, more, &[(file, text)]);
    let ended = yard.piton(&["run", file, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    yard.git(&["mv", file, "moved.toml"]);
    yard.commit("another name");
    yard.run(&["unblock", first, "--message", "80"]);
    set_hook(&yard, r#"cat > "$MARKS/prompt-$step""#);
    yard
}

/// The command that the first line of the status prints.
fn printed(yard: &Yard) -> Vec<String> {
    let status = yard.run(&["status"]).stdout;
    let line = status.lines().next().unwrap_or_default();
    let (_, command) = line.split_once(": piton ").unwrap_or_else(|| panic!("no command in {status}"));
    command.split(' ').map(str::to_owned).collect()
}

fn prompt(yard: &Yard, step: &str) -> String {
    fs::read_to_string(yard.outer(&format!("marks/prompt-{step}"))).unwrap_or_default()
}

#[test]
fn stories_of_a_board_are_done_beside_those_of_the_settings() {
    let yard = yard("", STORY, &[(".pipeline/board.json", BOARD)]);
    let explained = yard.run(&["run", "--explain"]).stdout;
    assert!(explained.contains("pipeline:S-1") && explained.contains("pipeline:SHOP-22"), "{explained}");
    let ended = yard.run(&["run", "--yes"]);
    assert!(said(&ended).contains("done: 2 of 2 done"), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "SHOP-22.txt"), "{}", said(&ended));
}

#[test]
fn a_story_of_a_board_is_named_beside_those_of_the_settings() {
    let yard = yard("", STORY, &[(".pipeline/board.json", BOARD)]);
    let ended = yard.run(&["run", "pipeline:SHOP-22", "--yes"]);
    assert_eq!((is_on_main(&yard, "S-1.txt"), is_on_main(&yard, "SHOP-22.txt")), (false, true), "{}", said(&ended));
}

#[test]
fn a_story_that_two_lists_have_is_refused_with_both_names() {
    let second = "[[stories]]\nid = \"SHOP-22\"\n";
    for (more, files, lists) in [
        (BOARD.replace("SHOP-22", "S-1"), vec![], "piton.toml and in .pipeline/board.json"),
        (BOARD.to_owned(), vec![(".pipeline/board.toml", second)], ".pipeline/board.json and in .pipeline/board.toml"),
    ] {
        let yard = yard("", STORY, &[&files[..], &[(".pipeline/board.json", &more)]].concat());
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(2), "{}", said(&ended));
        assert!(said(&ended).contains(&format!("is listed in {lists}")), "{}", said(&ended));
    }
}

#[test]
fn stories_whose_run_file_is_moved_keep_their_text() {
    for is_typed in [false, true] {
        let yard = moved("sprint.toml", SPRINT, "", "pipeline:A-1");
        let command = if is_typed { printed(&yard) } else { vec!["run".to_owned()] };
        let ended = yard.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said(&ended).contains("done: 2 of 2 done"), "{command:?}: {}", said(&ended));
        assert!(prompt(&yard, "A-2").contains("Do that then."), "{command:?}: {}", prompt(&yard, "A-2"));
        assert_eq!(workers(&yard).iter().filter(|id| *id == "A-2").count(), 2, "it has its stages: {}", said(&ended));
    }
}

#[test]
fn stories_whose_run_file_is_moved_are_continued_beside_those_of_the_settings() {
    let yard = moved("sprint.toml", SPRINT, STORY, "pipeline:A-1");
    let command = printed(&yard);
    let ended = yard.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(is_on_main(&yard, "A-1.txt") && is_on_main(&yard, "A-2.txt"), "{command:?}: {}", said(&ended));
    assert!(prompt(&yard, "A-2").contains("Do that then.") && !is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn tasks_whose_run_file_is_moved_are_continued_as_printed() {
    for is_typed in [false, true] {
        let yard = moved("tasks.toml", TASKS, "", "task:copy/T1");
        let command = if is_typed { printed(&yard) } else { vec!["run".to_owned()] };
        let ended = yard.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said(&ended).contains("done: 2 of 2 done"), "{command:?}: {}", said(&ended));
        assert!(prompt(&yard, "T2").contains("Do that then."), "{command:?}: {}", prompt(&yard, "T2"));
        assert_eq!(workers(&yard), ["T1", "T1", "T2"], "{command:?}: {}", said(&ended));
    }
}
