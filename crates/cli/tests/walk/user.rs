//! What a user does beside a run. Every command that is typed here may be refused; none may be a usage error.

use crate::ground::Typed;
use crate::walk::{Walk, now};
use crate::work::{self, PLAN, Step};

type Act = fn(&mut Walk);

const ACTS: [Act; 22] = [
    commit_file,
    commit_file,
    leave_file,
    edit_readme,
    stash,
    switch,
    look,
    look,
    look,
    add_work,
    add_work,
    tick,
    tick,
    unblock,
    unblock,
    pause,
    restart,
    reopen,
    finish,
    judge,
    note,
    settings,
];

/// Does one thing at random.
pub fn acts(walk: &mut Walk) {
    let act = walk.dice.pick(&ACTS);
    act(walk);
}

/// Types a command of Piton; any documented exit code is right.
fn types(walk: &Walk, line: &str) -> Typed {
    let typed = walk.ground.types(line);
    assert!(matches!(typed.code, Some(0 | 1 | 3..=7)), "`{line}` ended with {:?}", typed.code);
    typed
}

/// Types a git command, again while another git process holds the index.
fn git(walk: &Walk, line: &str) -> bool {
    for _ in 0..20 {
        let typed = walk.ground.types(line);
        if typed.code == Some(0) || !typed.text.contains("index.lock") {
            return typed.code == Some(0);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    false
}

fn unit(walk: &mut Walk) -> String {
    let at = walk.dice.below(walk.work.units.len());
    walk.work.units[at].clone()
}

fn commit_file(walk: &mut Walk) {
    walk.made += 1;
    let name = format!("note-{}.txt", walk.made);
    walk.ground.write(&name, "of the user\n");
    let is_committed = git(walk, &format!("git add {name} && git commit -q -m {name} -- {name}"));
    if is_committed && !walk.is_aside {
        walk.committed.push(name);
    }
}

fn leave_file(walk: &mut Walk) {
    walk.made += 1;
    let name = format!("scratch-{}.txt", walk.made);
    walk.ground.write(&name, "not committed\n");
    walk.uncommitted.insert(name, "not committed\n".to_owned());
}

fn edit_readme(walk: &mut Walk) {
    if walk.is_stashed || walk.is_aside {
        return;
    }
    let text = format!("{}One more line.\n", walk.ground.text("README.md"));
    walk.ground.write("README.md", &text);
    walk.uncommitted.insert("README.md".to_owned(), text);
}

/// Puts uncommitted changes away, or takes them back.
fn stash(walk: &mut Walk) {
    if walk.is_stashed {
        unstash(walk);
    } else if !walk.is_aside {
        let before = walk.ground.types("git stash list").text;
        git(walk, "git stash");
        walk.is_stashed = walk.ground.types("git stash list").text != before;
    }
}

/// Takes back what was put away. Where the plan changed meanwhile its boxes are Piton's to tick again.
pub fn unstash(walk: &mut Walk) {
    if !std::mem::take(&mut walk.is_stashed) || git(walk, "git stash pop") {
        return;
    }
    git(walk, &format!("git checkout -q -- {PLAN}"));
    if !git(walk, "git stash pop") {
        git(walk, "git checkout -q stash@{0} -- . && git reset -q && git stash drop");
    }
}

/// Switches to a branch of its own, or back.
fn switch(walk: &mut Walk) {
    if walk.is_aside {
        switch_back(walk);
    } else if !walk.is_stashed && !walk.ledger().is_empty() {
        // The base of the run is `main` from its first worker on.
        walk.made += 1;
        walk.is_aside = git(walk, &format!("git switch -q -c side-{}", walk.made));
    }
}

pub fn switch_back(walk: &mut Walk) {
    if std::mem::take(&mut walk.is_aside) && !git(walk, "git switch -q main") {
        git(walk, "git stash && git switch -q main && git stash pop");
    }
}

fn look(walk: &mut Walk) {
    let unit = unit(walk);
    let line = match walk.dice.below(8) {
        0 | 1 => "piton status".to_owned(),
        2 => format!("piton run {} --explain", walk.work.named),
        3 => format!("piton status {unit}"),
        4 => "piton check".to_owned(),
        5 => format!("piton log {unit}"),
        _ => format!("piton why {unit}"),
    };
    types(walk, &line);
}

/// Adds a story or a task to the list.
fn add_work(walk: &mut Walk) {
    if walk.is_stashed || walk.is_aside {
        return;
    }
    walk.made += 1;
    let number = walk.made;
    match walk.work.dialect {
        "pipeline" => {
            let id = format!("S-9{number}");
            let (text, steps) = work::story(&id, &[], false);
            walk.ground.write("piton.toml", &format!("{}{text}", walk.ground.text("piton.toml")));
            walk.work.units.push(format!("pipeline:{id}"));
            walk.work.steps.extend(steps);
            git(walk, "git commit -q -m 'one more story' -- piton.toml");
        }
        "plan" => {
            let key = format!("more{number}");
            let text = format!("{}- [ ] Make {key} <!-- TASK: {key} -->\n", walk.ground.text(PLAN));
            walk.ground.write(PLAN, &text);
            walk.ground.note(&format!("the user adds {key} to {PLAN}"));
            let step = Step { unit: walk.work.units[0].clone(), files: vec![format!("{key}.txt")], key };
            walk.work.steps.push(step);
        }
        _ => {}
    }
}

/// Does a step by hand: ticks its box, or records it.
fn tick(walk: &mut Walk) {
    let at = walk.dice.below(walk.work.steps.len());
    let step = walk.work.steps[at].clone();
    match walk.work.dialect {
        "plan" if !walk.is_stashed && !walk.is_aside => {
            let marker = format!("[ ] Make {} ", step.key);
            let text = walk.ground.text(PLAN);
            if text.contains(&marker) {
                walk.ground.write(PLAN, &text.replace(&marker, &format!("[x] Make {} ", step.key)));
                walk.ground.note(&format!("the user ticks {}", step.key));
                walk.by_hand.insert(step.key, now());
            }
        }
        "build" if !walk.is_aside => {
            // A gate names the first workstream of each phase, so that none of these can be left out.
            let word = if step.key.ends_with('0') { "done" } else { walk.dice.pick(&["skip", "done"]) };
            if types(walk, &format!("piton step {} {word} {}", step.unit, step.key)).code != Some(0) {
                return;
            }
            if word == "done" {
                let file = &step.files[0];
                walk.ground.write(file, "by hand\n");
                git(walk, &format!("git add {file} && git commit -q -m 'by hand' -- {file}"));
            }
            walk.by_hand.insert(step.key, now());
        }
        _ => {}
    }
}

fn unblock(walk: &mut Walk) {
    let unit = unit(walk);
    types(walk, &format!("piton unblock {unit} --message 'port 80'"));
}

fn pause(walk: &mut Walk) {
    let unit = unit(walk);
    types(walk, &format!("piton pause {unit} --reason 'lunch'"));
}

/// Asks for the work of a unit again.
fn restart(walk: &mut Walk) {
    let unit = unit(walk);
    if types(walk, &format!("piton restart {unit}")).code == Some(0) {
        walk.again.insert(unit);
    }
}

fn reopen(walk: &mut Walk) {
    let unit = unit(walk);
    if types(walk, &format!("piton reopen {unit}")).code == Some(0) {
        walk.again.insert(unit);
    }
}

/// Calls a unit done.
fn finish(walk: &mut Walk) {
    let unit = unit(walk);
    if types(walk, &format!("piton finish {unit}")).code == Some(0) {
        for step in walk.work.steps.iter().filter(|step| step.unit == unit) {
            walk.by_hand.insert(step.key.clone(), u128::MAX);
        }
    }
}

fn judge(walk: &mut Walk) {
    let unit = unit(walk);
    if walk.work.criteria.is_empty() {
        return;
    }
    let at = walk.dice.below(walk.work.criteria.len());
    let name = walk.work.criteria[at].clone();
    let word = walk.dice.pick(&["pass", "pass", "fail"]);
    if types(walk, &format!("piton gate {unit} {word} {name}")).code == Some(0) && word == "fail" {
        walk.again.insert(unit);
    }
}

fn note(walk: &mut Walk) {
    let unit = unit(walk);
    types(walk, &format!("piton note {unit} --resume 'mind the step'"));
}

/// Sets other numbers of workers and restarts.
fn settings(walk: &mut Walk) {
    if walk.is_stashed || walk.is_aside {
        return;
    }
    let key = walk.dice.pick(&["workers", "respawn", "reworks"]);
    let number = 1 + walk.dice.below(2);
    let line = |line: &str| if line.starts_with(key) { format!("{key} = {number}\n") } else { format!("{line}\n") };
    let text: String = walk.ground.text("piton.toml").lines().map(line).collect();
    walk.ground.write("piton.toml", &text);
    git(walk, "git commit -q -m settings -- piton.toml");
}
