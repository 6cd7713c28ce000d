//! What has to hold at the end of every walk.

use crate::walk::Walk;

pub fn check(walk: &Walk) {
    is_on_main(walk);
    acts_are_respected(walk);
    doors_agree(walk);
    nothing_twice(walk);
    nothing_left(walk);
}

/// What is called done is on the base, and its gates pass there.
fn is_on_main(walk: &Walk) {
    let tree = walk.ground.types("git ls-tree -r --name-only main").text;
    let has = |file: &str| tree.lines().any(|line| line == file);
    for step in walk.work.steps.iter().filter(|step| !walk.by_hand.contains_key(&step.key)) {
        for file in &step.files {
            assert!(has(file), "{} is done, and {file} is not on main", step.key);
        }
    }
    for name in &walk.committed {
        assert!(has(name), "{name}, which the user committed, is gone");
    }
    let copy = walk.ground.outer("copy");
    assert_eq!(walk.ground.types(&format!("git worktree add -q --detach {} main", copy.display())).code, Some(0));
    for gate in &walk.work.gates {
        let typed = walk.ground.types(&format!("cd {} && {gate}", copy.display()));
        assert!(typed.code == Some(0) || !walk.by_hand.is_empty(), "the gate `{gate}` fails on main");
    }
    walk.ground.types(&format!("git worktree remove --force {}", copy.display()));
}

/// No act of the user was overruled.
fn acts_are_respected(walk: &Walk) {
    for (name, text) in &walk.uncommitted {
        assert_eq!(&walk.ground.text(name), text, "{name}, which the user left uncommitted, was changed");
    }
    for (at, unit, key) in walk.ledger() {
        // The lead looks at a plan about once a second.
        let since = walk.by_hand.get(&key).map_or(u128::MAX, |since| since.saturating_add(1500));
        assert!(at < since || walk.again.contains(&unit), "{key} got a worker after the user did it");
    }
}

/// `status`, `why` and the end of the run say the same.
fn doors_agree(walk: &Walk) {
    for unit in &walk.work.units {
        let typed = walk.ground.asks(&format!("piton why {unit} --json"));
        let why: serde_json::Value = serde_json::from_str(&typed.text).expect("why prints JSON");
        assert_eq!(why["lifecycle"], "done", "status says that {unit} is done; why does not");
    }
    let named = &walk.work.named;
    let explain = walk.ground.types(&format!("piton run {named} --explain"));
    assert_eq!(explain.code, Some(0), "everything is done, and `run --explain` fails");
    let before = walk.ledger().len();
    let again = walk.ground.types(&format!("piton run {named}"));
    assert_eq!(again.code, Some(0), "everything is done, and another run ends with {:?}", again.code);
    assert_eq!(walk.ledger().len(), before, "everything is done, and another run starts a worker");
}

/// No step got a worker after its work had been merged.
fn nothing_twice(walk: &Walk) {
    let mut merged: Vec<String> = Vec::new();
    for event in walk.ground.events() {
        let name = event["name"].as_str().unwrap_or_default();
        let unit = walk.work.units.iter().find(|unit| name.starts_with(unit.as_str()));
        let is_again = unit.is_some_and(|unit| walk.again.contains(unit));
        match event["event"].as_str().unwrap_or_default() {
            "merged" if event["text"].as_str().unwrap_or_default().contains("into main ") => {
                merged.push(name.to_owned())
            }
            "started" if !is_again => {
                assert!(!merged.iter().any(|each| each == name), "{name} was merged, and got another worker");
            }
            _ => {}
        }
    }
}

/// No process and no lead is left.
fn nothing_left(walk: &Walk) {
    walk.ground.wait_for("every process to end", || walk.ground.processes().is_empty());
    let stop = walk.ground.types("piton stop");
    assert_eq!(stop.code, Some(5), "a lead is still at work");
}
