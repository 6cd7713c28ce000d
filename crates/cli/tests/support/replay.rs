use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Run, Workspace};

/// Commands in one workspace, one after the other, written down as a person would see them.
pub struct Replay<'a> {
    workspace: &'a Workspace,
    text: String,
}

impl<'a> Replay<'a> {
    pub fn new(workspace: &'a Workspace) -> Replay<'a> {
        Replay { workspace, text: String::new() }
    }

    /// Runs a line such as `10:05 step build:PRD-009 begin WS1` at that time of the day; what is between two single
    /// quotes is one argument.
    pub fn run(&mut self, line: &str) -> Run {
        let (time, command) = line.split_once(' ').expect("a time and a command");
        let words = words(command);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = self.workspace.call(&arguments).at(format!("2026-02-20T{time}:00Z")).run();
        let code = run.code.unwrap_or(-1);
        let stderr = run.stderr.lines().map(|line| format!("! {line}\n")).collect::<String>();
        let failed = if code == 0 { String::new() } else { format!("= {code}\n") };
        self.text.push_str(&format!("{time} $ piton {command}\n{}{stderr}{failed}\n", run.stdout));
        run
    }

    /// Runs lines, each of which must succeed.
    pub fn all(&mut self, lines: &str) -> &mut Replay<'a> {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.run(line).exits(0);
        }
        self
    }

    /// Runs a line that must be refused with this exit code and change nothing but the journal.
    pub fn refused(&mut self, code: i32, line: &str) -> Run {
        let before = documents(self.workspace);
        let run = self.run(line).exits(code);
        assert_eq!(run.stdout, "", "{}", run.transcript());
        assert_eq!(documents(self.workspace), before, "a refused command changed a document: {line}");
        run
    }

    /// Everything that was seen, with what is random masked.
    pub fn transcript(&self) -> String {
        mask(&self.text)
    }
}

impl Drop for Replay<'_> {
    /// A test that fails shows what led to it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.text);
        }
    }
}

/// The arguments of a line.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Every file of a workspace but its journals.
pub fn documents(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&workspace.root(), &workspace.root(), &mut files);
    files
}

/// Every file of a workspace but its journals, as one text with what is random masked.
pub fn shown(workspace: &Workspace) -> String {
    let files = documents(workspace);
    let shown = files.iter().map(|(path, bytes)| format!("==> {path}\n{}\n", String::from_utf8_lossy(bytes)));
    let text = shown.collect::<String>();
    mask(&text.replace(&workspace.outer().display().to_string(), "[TEMP]"))
}

/// The text with every random id replaced.
pub fn mask(text: &str) -> String {
    let is_id = |bytes: &[u8]| {
        bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.as_bytes().get(..36).is_some_and(is_id) {
            out.push_str("[RANDOM]");
            rest = &rest[36..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory can be listed") {
        let path = entry.expect("a directory can be listed").path();
        let name = path.strip_prefix(root).expect("it is below the root").to_string_lossy().into_owned();
        if name == ".git" || name == ".piton" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, files);
        } else if path.is_file() {
            files.insert(name, fs::read(&path).expect("a file can be read"));
        }
    }
}
