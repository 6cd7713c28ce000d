//! Which workspace a command means that a person types somewhere below it.

use std::fs;
use std::process::Command;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, finish};

const STORY: &str =
    "[gates]\ntest = \"grep -q fixed S-1.txt\"\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

fn types_in(yard: &Yard, directory: &str, arguments: &[&str]) -> Ended {
    let mut command: Command = yard.command(arguments);
    finish(command.current_dir(yard.workspace.path(directory)).spawn().expect("it starts"))
}

#[test]
fn in_a_worktree_that_piton_made_commands_mean_the_workspace_that_made_it() {
    let yard = yard("", STORY, &[("docs/plans/x.md", "x\n")]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let tree = ".worktrees/story-S-1";
    let shown = types_in(&yard, tree, &["why", "pipeline:S-1"]);
    assert!(shown.stdout.contains("piton run --retry"), "{}", said(&shown));
    // `plans` would make a workspace of `docs` elsewhere.
    for directory in [tree.to_owned(), format!("{tree}/docs")] {
        let shown = types_in(&yard, &directory, &["status"]);
        assert!(shown.stdout.starts_with("run 1 was paused"), "{directory} {}", said(&shown));
    }
    fs::write(yard.workspace.path(&format!("{tree}/S-1.txt")), "fixed\n").expect("it can be written");
    let path = yard.workspace.path(tree).display().to_string();
    yard.git(&["-C", &path, "commit", "-qam", "fixed by hand"]);
    set_hook(&yard, r#""$PITON" verdict "$PITON_UNIT" PASS --score 90; exit 0"#);
    let before = workers(&yard).len();
    let ended = types_in(&yard, tree, &["run", "--yes", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(0), true), "{}", said(&ended));
    assert!(workers(&yard).len() <= before + 1, "only the judgement is done again: {:?}", workers(&yard));
    assert!(!yard.workspace.path(&format!("{tree}/.piton")).exists(), "{}", said(&ended));
}

#[test]
fn a_worktree_that_the_user_made_is_a_workspace_of_its_own() {
    let yard = yard("", STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.git(&["worktree", "add", "-q", ".worktrees/own", "-b", "own"]);
    let shown = types_in(&yard, ".worktrees/own", &["status", "--json"]);
    let own = yard.workspace.path(".worktrees/own").display().to_string();
    assert!(shown.stdout.contains(&format!("\"workspace\": \"{own}\"")), "{}", said(&shown));
}

#[test]
fn settings_in_a_subdirectory_of_a_repository_make_it_a_workspace() {
    let yard = yard("", "", &[("shop/src/lib.rs", "x\n")]);
    let settings = yard.text("piton.toml");
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    yard.workspace.write("shop/piton.toml", format!("{settings}{story}"));
    yard.commit("a shop");
    let ended = types_in(&yard, "shop/src", &["run", "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "shop/S-1.txt")), (Some(0), true), "{}", said(&ended));
    let shown = types_in(&yard, "shop/src", &["status", "--json"]);
    let shop = yard.workspace.path("shop").display().to_string();
    assert!(shown.stdout.contains(&format!("\"workspace\": \"{shop}\"")), "{}", said(&shown));
}
