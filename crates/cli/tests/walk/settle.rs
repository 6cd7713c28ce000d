//! The end of a walk: workers are good from here on, and the user types only what Piton printed.

use std::fs;

use crate::user;
use crate::walk::Walk;

/// The most runs until everything is done.
const ROUNDS: usize = 16;

/// The commands that a text offers, in its order.
pub fn offered(text: &str) -> Vec<String> {
    let mut offered: Vec<String> = Vec::new();
    for line in text.lines() {
        for part in line.split("; ").flat_map(|part| part.split(" && ")) {
            let begins = |at: &usize| {
                let before = part[..*at].trim_end();
                before.is_empty() || before.ends_with([':', '`', '$', ','])
            };
            let found = ["piton ", "git "].iter().find_map(|word| part.find(word).filter(begins));
            let Some(at) = found else { continue };
            let command = part[at..].trim_matches(['`', '"', ' ']).to_owned();
            if !offered.contains(&command) {
                offered.push(command);
            }
        }
    }
    offered
}

/// The command with words in place of what stands for them.
fn filled(command: &str) -> String {
    let word = |word: &str| match word {
        "TEXT" | "REASON" | "WHY" => "'port 80'".to_owned(),
        "N" => "9".to_owned(),
        _ => word.to_owned(),
    };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The units that are not done, by `status`.
pub fn open_units(walk: &Walk) -> Vec<String> {
    let typed = walk.ground.asks("piton status --json");
    assert_eq!(typed.code, Some(0), "`status --json` ended with {:?}", typed.code);
    let status: serde_json::Value = serde_json::from_str(&typed.text).expect("status prints JSON");
    let state = |unit: &str| {
        let found = status["units"].as_array().into_iter().flatten().find(|each| each["unit"] == unit);
        found.map_or(String::new(), |found| found["lifecycle"].as_str().unwrap_or_default().to_owned())
    };
    walk.work.units.iter().filter(|unit| state(unit) != "done").cloned().collect()
}

/// Types what is offered until everything is done.
pub fn settle(walk: &mut Walk) {
    walk.ground.note("--- from here on workers are good, and only printed commands are typed");
    fs::write(walk.ground.outer("marks/settled"), "").expect("a mark can be made");
    user::switch_back(walk);
    user::unstash(walk);
    walk.ground.write("broken.sh", "exit 0\n");
    walk.ground.types("git commit -q -m 'a new belt' -- broken.sh");
    // A run that never began is the user's to begin.
    let mut end = match is_finished(walk) {
        true => format!("next: {}", walk.run_again()),
        false => String::new(),
    };
    for round in 0..ROUNDS {
        let open = open_units(walk);
        if open.is_empty() && is_finished(walk) {
            return;
        }
        walk.ground.note(&format!("--- round {round}: {open:?}"));
        let commands = door(walk, &open, &end);
        for command in commands {
            follow(walk, &command, &mut end);
        }
    }
    panic!("not done after {ROUNDS} rounds: {:?}", open_units(walk));
}

/// Whether no run is left to be continued.
fn is_finished(walk: &Walk) -> bool {
    let text = walk.ground.types("piton status").text;
    !text.lines().next().unwrap_or_default().starts_with("run ")
}

/// The commands at one of the doors, chosen at random: the run's end, `status`, or `why` of a unit that is not done.
fn door(walk: &mut Walk, open: &[String], end: &str) -> Vec<String> {
    let first = if is_finished(walk) { 0 } else { walk.dice.below(3) };
    let mut said = Vec::new();
    for at in 0..3 {
        let text = match (first + at) % 3 {
            0 => end.to_owned(),
            1 => {
                let text = walk.ground.types("piton status").text;
                text.split("\n\n").next().unwrap_or_default().to_owned()
            }
            _ if open.is_empty() => String::new(),
            _ => {
                let unit = &open[walk.dice.below(open.len())];
                let typed = walk.ground.types(&format!("piton why {unit}"));
                typed.text.lines().filter(|line| line.starts_with("next ")).collect::<Vec<_>>().join("\n")
            }
        };
        let commands = offered(&text);
        if commands.iter().any(|command| !reads(command)) {
            return commands;
        }
        said.push(text);
    }
    panic!("not done, and no door offers a command that helps: {open:?}\n{}", said.join("\n"));
}

fn reads(command: &str) -> bool {
    let verb = command.split(' ').nth(1).unwrap_or_default();
    ["why", "status", "output", "log", "check", "show", "diff"].contains(&verb)
}

/// Types a command that was offered.
fn follow(walk: &mut Walk, command: &str, end: &mut String) {
    let command = filled(command);
    let words: Vec<&str> = command.split(' ').collect();
    let is_run = words.starts_with(&["piton", "run"]);
    if let ["piton", "restart" | "reopen", unit, ..] = words[..] {
        walk.again.insert(unit.to_owned());
    }
    let typed = walk.ground.types(&command);
    let is_right = match typed.code {
        Some(0) => true,
        Some(4) => is_run,
        Some(3) => words[1] == "check",
        _ => false,
    };
    assert!(is_right, "a command that was offered, `{command}`, ended with {:?}: {}", typed.code, typed.text);
    if is_run {
        let lines = typed.text.lines().filter(|line| line.starts_with("next: ") || line.starts_with("hint: "));
        *end = lines.collect::<Vec<_>>().join("\n");
    }
}
