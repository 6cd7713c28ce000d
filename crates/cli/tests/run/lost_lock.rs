//! `.piton` goes while a lead is at work, with `git clean -fdx` for instance: the lead says so, and leaves no worker behind.

use std::fs;

use crate::whose_word::{said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

/// A worker that says which process it is, and waits.
const HELD: &str = "echo $$ > \"$MARKS/pid\"; hold S-1";

fn lives(yard: &Yard) -> bool {
    let pid = fs::read_to_string(yard.outer("marks/pid")).expect("the worker wrote it");
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_lead_whose_lock_is_gone_ends_with_its_workers() {
    let yard = yard(HELD, STORY, &[]);
    yard.run(&["approve"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    let mark = yard.outer("marks/held-S-1");
    wait_for("the worker", || mark.exists(), || yard.piton(&["status"]).stdout);
    assert!(lives(&yard));
    // The lead may write into it meanwhile.
    let removed = || fs::remove_dir_all(yard.workspace.path(".piton")).is_ok();
    wait_for("the removal", removed, String::new);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(1), "{}", said(&ended));
    assert!(
        said(&ended).contains("`.piton` was removed while this lead was at work; its worker was ended"),
        "{}",
        said(&ended)
    );
    assert!(!lives(&yard), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 1);
}

#[test]
fn a_worker_whose_home_is_gone_does_not_end_its_lead() {
    let stories = format!("{STORY}[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\n");
    let yard = yard("if [ $step = S-1 ] && [ ! -e \"$MARKS/again\" ]; then hold S-1; exit 1; fi", &stories, &[]);
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let mark = yard.outer("marks/held-S-1");
    wait_for("the worker", || mark.exists(), || yard.piton(&["status"]).stdout);
    for home in fs::read_dir(yard.workspace.path(".piton/run/workers")).expect("workers have homes").flatten() {
        let is_held = fs::read_to_string(home.path().join("launch.json")).is_ok_and(|text| text.contains("story-S-1"));
        if is_held {
            fs::remove_dir_all(home.path()).expect("it can be removed");
        }
    }
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("1 of 2 done"), "{}", said(&ended));
    fs::write(yard.outer("marks/again"), "").expect("it can be written");
    set_hook(&yard, "");
    yard.run(&["run", "--retry"]);
}
