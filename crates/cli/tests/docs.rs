//! The documents of this repository say what the code does. `docs/findings.md` is made from the code; what the
//! README shows is what the binary prints; files and links that documents name are there.
//!
//! `PITON_UPDATE_DOCS=1 cargo test -p piton --test docs` writes `docs/findings.md` anew.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use piton_dialect::codes;

/// The moment of the README's session: late in the morning on which the workshop's workers went silent.
const SESSION: &str = "2026-03-10T12:00:00Z";
const SESSION_UNIX: u64 = 1_773_144_000;

#[test]
fn the_list_of_findings_is_made_from_the_code() {
    let path = repository().join("docs/findings.md");
    let made = findings_page();
    if std::env::var_os("PITON_UPDATE_DOCS").is_some() {
        fs::write(&path, &made).expect("docs/ can be written");
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == made,
        "docs/findings.md is not what the code says; write it anew with: PITON_UPDATE_DOCS=1 cargo test -p piton --test docs"
    );
}

#[test]
fn codes_are_unique_and_say_whose_they_are() {
    let mut seen = HashSet::new();
    for (group, codes) in codes::all() {
        for code in codes {
            let name = code.name;
            assert!(seen.insert(name), "{name} is declared twice");
            let is_part = |part: &str| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            };
            assert!(name.split('-').all(is_part), "{name} is not kebab-case");
            let prefix = name.split('-').next().expect("a first part");
            assert!(group == "any document" || prefix == group, "{name} is listed under {group}");
            assert!(!code.help.ends_with('.'), "the help of {name} ends with a full stop");
            assert!(!code.help.starts_with(char::is_uppercase), "the help of {name} begins with a capital");
            assert!(code.meaning.trim().ends_with('.'), "the meaning of {name} is not a sentence");
        }
    }
}

#[test]
fn the_readme_shows_what_the_binary_prints() {
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(SESSION_UNIX - 120);
    let workshop = Workshop::copy("readme", Some(written));
    let readme = read("README.md");
    let mut commands = 0;
    for block in blocks(&readme, "console") {
        for session in block.split("$ piton ").skip(1) {
            let (arguments, shown) = session.split_once('\n').expect("a command is a line");
            let printed = workshop.piton(arguments.split_whitespace().chain(["--at", SESSION]));
            assert_shows(shown, &printed, arguments);
            commands += 1;
        }
    }
    assert!(commands > 0, "the README shows no session");
}

/// The workshop promises workers that are alive on a fresh clone, and something of everything.
#[test]
fn the_workshop_is_alive_on_a_fresh_clone() {
    let workshop = Workshop::copy("fresh", None);
    let report: serde_json::Value = serde_json::from_str(&workshop.piton(["status", "--json"])).expect("JSON");
    let count = |key: &str, word: &str| {
        report["units"].as_array().expect("units").iter().filter(|unit| unit[key] == word).count()
    };
    assert_eq!((count("liveness", "alive"), count("liveness", "stale")), (4, 5));
    for dialect in ["pipeline", "plan", "build", "task", "crew"] {
        assert!(count("dialect", dialect) > 0, "no unit of {dialect}");
    }
    for lifecycle in ["queued", "running", "waiting", "paused", "blocked", "failed", "done", "unknown"] {
        assert!(count("lifecycle", lifecycle) > 0, "no unit is {lifecycle}");
    }
}

#[test]
fn what_documents_link_to_is_there() {
    let mut missing = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let directory = page.parent().expect("a page is in a directory");
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or_default();
            let is_file = !target.is_empty() && !target.contains("://");
            if is_file && !directory.join(target).exists() {
                missing.push(format!("{} links to {target}", page.display()));
            }
        }
        // Paths in backticks are relative to the repository.
        for path in text.split('`').filter(|span| span.starts_with("crates/") || span.starts_with("docs/")) {
            let is_path = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte));
            if is_path && !repository().join(path).exists() {
                missing.push(format!("{} names {path}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The page that explains every code.
fn findings_page() -> String {
    let mut page = String::from(
        "# Findings\n\n\
         Every oddity that Piton finds in a document has a code. The name of a code does not change; scripts may rely on\n\
         it. An **error** breaks a rule of the dialect, and what depends on it cannot be trusted: `piton check` ends with\n\
         exit code 3. A **warning** is something off that could still be read. A **note** is worth knowing.\n\n\
         This page is made from the code: do not edit it. `CONTRIBUTING.md` says how it is written anew.\n",
    );
    for (group, codes) in codes::all() {
        let _ = write!(page, "\n## {group}\n");
        for code in codes {
            let meaning = code.meaning.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            let _ = write!(page, "\n### `{}`\n\n*{}.* {}\n", code.name, code.severity, meaning.trim());
            let _ = write!(page, "\nWhat to do: {}.\n", code.hint());
        }
    }
    page
}

/// Compares what a document shows with what was printed. A line `…` stands for any number of lines.
fn assert_shows(shown: &str, printed: &str, command: &str) {
    let mut rest: Vec<&str> = printed.lines().collect();
    let mut is_first = true;
    for part in shown.trim_end().split("\n…") {
        let part: Vec<&str> = part.trim_matches('\n').lines().collect();
        let starts = 0..=rest.len().saturating_sub(part.len());
        let fits = |at: &usize| rest[*at..].starts_with(&part);
        let found = if is_first { Some(0).filter(fits) } else { starts.into_iter().find(fits) };
        let Some(at) = found else {
            panic!("the README shows for `piton {command}`:\n{}\nbut it prints:\n{printed}", part.join("\n"))
        };
        rest.drain(..at + part.len());
        is_first = false;
    }
    let is_cut = shown.trim_end().ends_with('…');
    assert!(rest.is_empty() || is_cut, "the README leaves out the end of `piton {command}`:\n{}", rest.join("\n"));
}

/// A copy of the example, so that the times of its files can be chosen.
struct Workshop(PathBuf);

impl Workshop {
    fn copy(name: &str, written: Option<SystemTime>) -> Workshop {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workshop-{name}"));
        let _ = fs::remove_dir_all(&root);
        copy_directory(&repository().join("examples/workshop"), &root, written);
        Workshop(root)
    }

    /// What the binary prints, to standard output and then to standard error.
    fn piton<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_piton"))
            .env_clear()
            .env("COLUMNS", "80")
            .current_dir(&self.0)
            .args(["-C", "."])
            .args(arguments)
            .output()
            .expect("the binary starts");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        text(output.stdout) + &text(output.stderr)
    }
}

fn copy_directory(from: &Path, to: &Path, written: Option<SystemTime>) {
    fs::create_dir_all(to).expect("the target directory can be written");
    for entry in fs::read_dir(from).expect("the example is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_directory(&entry.path(), &target, written);
            continue;
        }
        let bytes = fs::read(entry.path()).expect("the example can be read");
        fs::write(&target, bytes).expect("the target directory can be written");
        if let Some(written) = written {
            let file = File::options().write(true).open(&target).expect("it was just written");
            file.set_modified(written).expect("its time can be set");
        }
    }
}

/// Every page of this repository but those of the example.
fn pages() -> Vec<PathBuf> {
    let listed = |directory: &Path| fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
    let both = listed(&repository()).chain(listed(&repository().join("docs")));
    both.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The fenced blocks of a page in one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap_or(rest)).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).expect("the page is there")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}
