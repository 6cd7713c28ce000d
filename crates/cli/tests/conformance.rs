//! `docs/conformance.md` lists every rule of the five protocols with the tests that decide it. Each test must be in the
//! sources, be a test, and be run by `cargo test`.

use std::fs;
use std::path::{Path, PathBuf};

const DIALECTS: [&str; 5] = ["pipeline", "plan", "build", "task", "crew"];

/// A row of a table: where it stands, and its cells.
struct Row<'p> {
    line: usize,
    dialect: &'p str,
    cells: Vec<&'p str>,
}

#[test]
fn every_rule_names_tests_that_are_there_and_are_run() {
    let page = fs::read_to_string(repository().join("docs/conformance.md")).expect("the page is there");
    let rows = rows(&page);
    for dialect in DIALECTS {
        assert!(rows.iter().any(|row| row.dialect == dialect), "no table for {dialect}");
    }
    let mut wrong = Vec::new();
    for row in &rows {
        let mut tell = |what: String| wrong.push(format!("docs/conformance.md:{}: {what}", row.line));
        let [section, rule, tests] = row.cells[..] else {
            tell(format!("{} cells instead of 3", row.cells.len()));
            continue;
        };
        if section.is_empty() || rule.is_empty() || tests.is_empty() {
            tell("an empty cell".to_owned());
        }
        if !DIALECTS.contains(&row.dialect) {
            tell(format!("a table below {:?}, which is no dialect", row.dialect));
        }
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            tell("names no test".to_owned());
        }
        names.iter().filter_map(|name| trouble(name).map(|why| format!("`{name}` {why}"))).for_each(&mut tell);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_with_a_name_is_said() {
    for (name, want) in [
        ("dialect pipeline::layout::tests::files_are_recognised_below_any_directory", None),
        ("dialect plan::parse::tests::plain_plans_read_like_the_protocols_own_pattern", None),
        ("cli write_pipeline::a_story_lives_as_its_protocol_says", None),
        ("survey_crew copies_are_listed_and_never_monitored", None),
        ("conformance every_rule_names_tests_that_are_there_and_are_run", None),
        ("journeys workers::works", Some("is ignored, so nothing runs it")),
        ("dialect pipeline::layout::tests::nothing", Some("is no function of its module")),
        ("dialect pipeline::layout::story_of", Some("is no test")),
        ("dialect pipeline::nowhere::tests::x", Some("is in a module that is not there")),
        ("nowhere tests::x", Some("is in no crate and in no test binary")),
        ("dialect", Some("is not a crate or test binary and a path")),
    ] {
        assert_eq!(trouble(name).as_deref(), want, "{name}");
    }
    let text =
        "crate::with_both! {\n    fn stories(who) open(both) {\n    }\n\n    fn a_plan(who) {\n    }\n}\n".to_owned();
    let journeys = Module { text, children: PathBuf::new() };
    assert_eq!(journeys.trouble_with("a_plan"), None);
    assert_eq!(journeys.trouble_with("stories"), Some("is ignored, so nothing runs it"));
}

/// The rows of all tables, with the heading that they stand below.
fn rows(page: &str) -> Vec<Row<'_>> {
    let mut dialect = "";
    let mut rows = Vec::new();
    for (number, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            dialect = heading.trim();
        }
        let Some(cells) = line.trim().strip_prefix('|') else { continue };
        let cells: Vec<&str> = cells.trim_end_matches('|').split('|').map(str::trim).collect();
        let is_head = cells.first() == Some(&"section")
            || cells.iter().all(|cell| cell.trim_matches('-').is_empty() && !cell.is_empty());
        if !is_head {
            rows.push(Row { line: number + 1, dialect, cells });
        }
    }
    rows
}

/// What is wrong with the name of a test; nothing when it is there and run.
fn trouble(name: &str) -> Option<String> {
    let Some((target, path)) = name.split_once(' ') else {
        return Some("is not a crate or test binary and a path".to_owned());
    };
    let Some(root) = root_of(target) else { return Some("is in no crate and in no test binary".to_owned()) };
    let mut parts: Vec<&str> = path.split("::").collect();
    let function = parts.pop().unwrap_or_default();
    let mut module = Module::open(root);
    for part in parts {
        match module.child(part) {
            Some(child) => module = child,
            None => return Some("is in a module that is not there".to_owned()),
        }
    }
    module.trouble_with(function).map(str::to_owned)
}

/// The root file of a test binary, or of a crate whose unit tests are meant. A test binary counts before a crate.
fn root_of(target: &str) -> Option<PathBuf> {
    let crates = repository().join("crates");
    let all = fs::read_dir(&crates).expect("crates").flatten().map(|entry| entry.path());
    let binaries = all.flat_map(|path| {
        let tests = path.join("tests");
        [tests.join(format!("{target}.rs")), tests.join(target).join("main.rs")]
    });
    let own = crates.join(target).join("src/lib.rs");
    binaries.chain([own]).find(|path| path.is_file())
}

/// A module: its text, and the directory in which its children are files.
struct Module {
    text: String,
    children: PathBuf,
}

impl Module {
    fn open(file: PathBuf) -> Module {
        let text = fs::read_to_string(&file).expect("a source is text");
        let directory = file.parent().expect("a source is in a directory");
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_root = matches!(stem, "lib" | "main" | "mod") || directory.ends_with("tests");
        let children = if is_root { directory.to_owned() } else { directory.join(stem) };
        Module { text, children }
    }

    /// A child in a file of its own, or in braces. The sources are formatted, so braces end at the column of their start.
    fn child(&self, name: &str) -> Option<Module> {
        let inline = format!("mod {name} {{");
        if let Some(at) = self.text.lines().position(|line| line.trim_start().trim_start_matches("pub ") == inline) {
            let lines: Vec<&str> = self.text.lines().collect();
            let indent = lines[at].len() - lines[at].trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            let inside = lines[at + 1..].iter().take_while(|line| **line != end);
            let text = inside.map(|line| format!("{line}\n")).collect();
            return Some(Module { text, children: self.children.join(name) });
        }
        let is_declared = self.text.lines().any(|line| {
            let line = line.trim();
            line.ends_with(&format!("mod {name};")) && !line.starts_with("//")
        });
        let files = [self.children.join(format!("{name}.rs")), self.children.join(name).join("mod.rs")];
        files.into_iter().find(|file| is_declared && file.is_file()).map(Module::open)
    }

    fn trouble_with(&self, function: &str) -> Option<&'static str> {
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        // A journey is one function for two tests, each with a worker of its own.
        let journey = format!("fn {function}(who)");
        if let Some(line) = lines.iter().find(|line| line.starts_with(&journey)) {
            return line.contains(" open(").then_some("is ignored, so nothing runs it");
        }
        let starts = [format!("fn {function}("), format!("pub fn {function}("), format!("async fn {function}(")];
        let is_start = |line: &&str| starts.iter().any(|start| line.starts_with(start.as_str()));
        let Some(at) = lines.iter().position(is_start) else { return Some("is no function of its module") };
        let is_above = |line: &&&str| line.starts_with("#[") || line.starts_with("//");
        let above: Vec<&str> = lines[..at].iter().rev().take_while(is_above).copied().collect();
        let has = |attribute: &str| above.iter().any(|line| line.starts_with(attribute));
        if !has("#[test]") {
            return Some("is no test");
        }
        has("#[ignore").then_some("is ignored, so nothing runs it")
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}
