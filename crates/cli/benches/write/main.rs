//! Durable updates beside the least that could be done in the same run: a bare program, or a bare loop, that does the
//! same to the disk and knows nothing of documents.
//!
//! `cargo bench --bench write`, or `cargo bench --bench write -- aged` for one section. Figures are medians of ratios
//! within a round.

#[expect(dead_code, reason = "other benchmarks use the rest")]
#[path = "../beside/mod.rs"]
mod beside;

mod aged;
mod cold;
mod large;
mod library;
mod limits;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A part of the benchmark.
type Section = (&'static str, fn(&Bench));

/// Everything that is measured, by the name it can be chosen with.
const SECTIONS: [Section; 4] =
    [("cold", cold::measure), ("aged", aged::measure), ("large", large::measure), ("library", library::measure)];

fn main() {
    // The limit that hashes is this very program: the standard library has no SHA-256.
    let mut arguments = std::env::args().skip(1);
    let chosen: Vec<String> = arguments.by_ref().filter(|argument| argument != "--bench").collect();
    if let [mode, file, number] = &chosen[..]
        && mode == limits::HASH_AND_REPLACE
    {
        return limits::hash_and_replace(file, number);
    }
    let bench = Bench { scratch: beside::scratch(), piton: PathBuf::from(env!("CARGO_BIN_EXE_piton")) };
    for (name, measure) in SECTIONS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            measure(&bench);
        }
    }
    fs::remove_dir_all(&bench.scratch).expect("the scratch directory goes");
}

/// Where it is measured, and what.
pub struct Bench {
    scratch: PathBuf,
    piton: PathBuf,
}

impl Bench {
    /// A directory of its own for one contender.
    fn directory(&self, name: &str) -> PathBuf {
        let directory = self.scratch.join(name);
        fs::create_dir_all(&directory).expect("the scratch directory takes a directory");
        directory
    }

    /// Our program, in a workspace.
    fn piton(&self, workspace: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.piton);
        command.arg("-C").arg(workspace).args(arguments);
        command
    }

    /// Runs our program for what has to be there first.
    fn prepare(&self, workspace: &Path, arguments: &[&str]) {
        beside::run("the preparation", &mut self.piton(workspace, arguments));
    }
}

/// Writes a file with all directories that lead to it.
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("directories can be made");
    fs::write(path, text).expect("the scratch directory takes a file");
}

/// Says whether a goal is met.
fn goal(what: &str, ratio: f64, is_met: bool) {
    println!("  {}: {what} ({ratio:.2})", if is_met { "met" } else { "MISSED" });
}
