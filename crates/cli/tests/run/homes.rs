//! What is left of workers that have ended.

use std::collections::BTreeSet;

use crate::yard::Yard;

fn names(yard: &Yard, directory: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(yard.workspace.path(directory)).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().into_string().expect("UTF-8")).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn of_a_run_that_is_done_the_newest_homes_stay_and_of_another_all_do() {
    let yard = Yard::new(&[("S-1", &[])]).env("BAD", "always-exits");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let all = set(&["S-1-1", "S-1-2", "S-1-3", "S-1-4"]);
    assert_eq!(names(&yard, ".piton/run/workers"), all);
    // Nothing is done about it: it stays paused, and so does what is left of it.
    assert_eq!(yard.piton(&["run"]).code, Some(4));
    assert_eq!(names(&yard, ".piton/run/workers"), all);
    let yard = yard.env("BAD", "");
    yard.run(&["run", "--retry"]);
    assert_eq!(names(&yard, ".piton/run/workers"), set(&["S-1-4", "S-1-5", "S-1-6"]));
    assert_eq!(names(&yard, ".piton/run/prompts"), set(&["S-1-4.md", "S-1-5.md", "S-1-6.md"]));
}

#[test]
fn what_an_earlier_run_left_goes_and_what_nobody_remembers_stays() {
    let yard = Yard::new(&[("S-1", &[])]);
    yard.run(&["run", "--yes"]);
    let left = ["S-1-1", "S-1-0"];
    for name in left {
        // As a lead leaves them that is killed at its very end.
        copy(&yard, "S-1-2", name);
    }
    copy(&yard, "S-1-2", "S-2-1");
    let more = format!("{}[[stories]]\nid = \"S-3\"\ntitle = \"Three\"\n", yard.text("piton.toml"));
    yard.workspace.write("piton.toml", more);
    yard.commit("another story");
    let yard = yard.env("BAD", "always-exits");
    assert_eq!(yard.piton(&["run", "pipeline:S-3"]).code, Some(4));
    let want = ["S-1-2", "S-1-3", "S-1-4", "S-2-1", "S-3-1", "S-3-2", "S-3-3", "S-3-4"];
    assert_eq!(names(&yard, ".piton/run/workers"), set(&want));
}

fn copy(yard: &Yard, from: &str, to: &str) {
    let path = |name: &str| yard.workspace.path(&format!(".piton/run/workers/{name}"));
    std::fs::create_dir(path(to)).expect("it is new");
    for file in ["launch.json", "exit.json"] {
        std::fs::copy(path(from).join(file), path(to).join(file)).expect("it can be copied");
    }
}
