//! Every place in the sources that makes a command for a hint is executed by a test, in the situation that prints it.
//!
//! The suites write down which places they executed (`crates/cli/tests/support/printed.rs`), so this one comes last:
//! `cargo test -p piton --test cli --test journeys --test run --test mcp && cargo test -p piton --test hints -- --ignored`

#[path = "support/prompts.rs"]
#[expect(dead_code, reason = "journeys need more of it")]
mod prompts;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Places that no test executes: a file, words that follow there, and why.
const NOT_EXECUTED: &[(&str, &str, &str)] = &[
    (
        "crates/cli/src/commands/mcp.rs",
        "verbs::MCP.call()",
        "it listens on a port with a number, which another process of the machine may have; the suite of the server asks the \
     kernel for a free one",
    ),
    (
        "crates/engine/src/run/prompts/_first.md",
        "commit",
        "a worker that committed nothing gets it; the journeys' workers commit what they do",
    ),
    (
        "crates/engine/src/run/prompts/pipeline-stage-2.md",
        "TASK",
        "a worker adds a task when the work lacks something; the journeys' workers find their plan complete",
    ),
    (
        "crates/engine/src/run/prompts/pipeline-stage-3.md",
        "WAIVED",
        "one of three verdicts; a journey gives each of the other two, and one gives this one by hand",
    ),
    (
        "crates/engine/src/run/prompts/task.md",
        "done NAME",
        "subtasks that have a number and no names; the name is the worker's own",
    ),
];

/// Lines that say `piton` and a verb without offering a command: a file, and words of the line.
const NO_OFFER: &[(&str, &str)] = &[
    ("crates/cli/src", "after_help"),
    ("crates/engine/src/hook.rs", "piton could not record"),
    ("crates/engine/src/run/requests.rs", "piton stop (process"),
    ("crates/supervisor/src/keeper.rs", "usage: piton keep"),
];

/// How a command begins in the sources: a verb of the table, or a function that makes one for its caller.
const BEGINNINGS: [&str; 5] = ["verbs::", "verb.", "self.command(", "run.command(", "run().command("];

/// A place that makes a command.
#[derive(Debug)]
struct Site {
    /// As the compiler names it: `crates/model/src/permit.rs:199`.
    at: String,
    /// What the sources say there.
    words: String,
}

#[test]
#[ignore = "the other suites write down what they executed"]
fn every_command_that_is_printed_was_executed() {
    let executed = executed();
    assert!(!executed.is_empty(), "no suite was run before");
    let is_excused = |site: &Site| {
        NOT_EXECUTED.iter().any(|(file, words, _)| site.at.starts_with(file) && site.words.contains(words))
    };
    let missing: Vec<String> = sites()
        .into_iter()
        .filter(|site| !executed.contains(&site.at) && !is_excused(site))
        .map(|site| format!("{}  {}", site.at, site.words))
        .collect();
    assert!(missing.is_empty(), "{} places were not executed:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn excuses_are_about_places_that_there_are() {
    let sites = sites();
    assert!(sites.len() > 200, "{} places", sites.len());
    for (file, words, why) in NOT_EXECUTED {
        let is_there = sites.iter().any(|site| site.at.starts_with(file) && site.words.contains(words));
        assert!(is_there && !why.is_empty(), "{file}: {words}");
    }
}

/// A command in the text of a literal would be on no list, and no test would execute it.
#[test]
fn no_command_is_made_of_text() {
    let root = root();
    let mut files = Vec::new();
    for crate_ in ["model", "dialect", "engine", "server", "cli", "supervisor", "store"] {
        sources(&root.join("crates").join(crate_).join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source can be read");
        let name = file.strip_prefix(&root).expect("it is below").display().to_string();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//") && is_offer(line)) {
            let is_none = NO_OFFER.iter().any(|(file, words)| name.starts_with(file) && line.contains(words));
            if !is_none {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "make these commands of `verbs`:\n{}", found.join("\n"));
}

/// Whether a line has `piton` and a verb where a command begins: at the start of a literal, or behind a colon.
fn is_offer(line: &str) -> bool {
    let begins = ["\"piton ", ": piton "];
    begins.iter().flat_map(|begin| line.match_indices(begin)).any(|(at, begin)| {
        let rest = &line[at + begin.len()..];
        rest.starts_with(|letter: char| letter.is_ascii_lowercase())
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// What the suites executed.
fn executed() -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hints");
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("it can be read"));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn sites() -> Vec<Site> {
    let (root, mut sites) = (root(), Vec::new());
    let mut files = Vec::new();
    for crate_ in ["model", "dialect", "engine", "server", "cli"] {
        sources(&root.join("crates").join(crate_).join("src"), &mut files);
    }
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source can be read");
        let name = file.strip_prefix(&root).expect("it is below").display().to_string();
        sites.extend(sites_in(&name, text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()));
    }
    sites.extend(prompts::commands().into_iter().map(|command| Site { at: command.site, words: command.line }));
    sites
}

fn sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory can be listed").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        match path.is_dir() {
            // The table itself, and tests, print nothing.
            true if name == "hint" || name == "tests" => {}
            true => sources(&path, files),
            false if name.ends_with(".rs") && name != "hint.rs" && name != "tests.rs" => files.push(path),
            false => {}
        }
    }
}

fn sites_in(name: &str, text: &str) -> Vec<Site> {
    let mut sites = Vec::new();
    // A function that passes on where its caller is makes no command of its own.
    let passed_on = passed_on(text);
    for (begins, _) in BEGINNINGS.iter().flat_map(|begin| text.match_indices(begin)) {
        let line_start = text[..begins].rfind('\n').map_or(0, |at| at + 1);
        let before = text[..begins].chars().next_back().unwrap_or(' ');
        if text[line_start..begins].contains("//") || before.is_alphanumeric() || before == '_' {
            continue;
        }
        // The compiler names the line of the method that makes the command.
        let Some(call) = [".on(", ".call(", ".command("].iter().filter_map(|call| text[begins..].find(call)).min()
        else {
            continue;
        };
        if text[begins..begins + call].contains([';', '"', '&'])
            || passed_on.iter().any(|(from, to)| (from..to).contains(&&begins))
        {
            continue;
        }
        let line = text[..begins + call].matches('\n').count() + 1;
        let words: String = text[begins..].split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
        sites.push(Site { at: format!("{name}:{line}"), words });
    }
    sites
}

fn passed_on(text: &str) -> Vec<(usize, usize)> {
    let begins = text.match_indices("#[track_caller]").map(|(at, _)| at);
    begins.map(|at| (at, at + text[at..].find("\n    }\n").or(text[at..].find("\n}\n")).unwrap_or(0))).collect()
}
