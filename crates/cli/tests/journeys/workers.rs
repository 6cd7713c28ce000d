//! The two workers of every journey: this test program, started again.

pub mod bench;
mod book;
mod obedient;
mod prompt;
pub mod words;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bench::{Bench, variable};

/// Who works in a journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Does exactly and only what its prompt says.
    Obedient,
    /// Never calls Piton, and writes the documents by hand as their protocol prescribes.
    ByTheBook,
}

/// Writes the script that starts this program as a worker. All that it is told stands in the script, so that it does not
/// depend on which variables a lead hands on.
pub fn write_script(at: &Path, journey: &Path, who: Who, policy: &str) {
    let who = match who {
        Who::Obedient => "obedient",
        Who::ByTheBook => "by-the-book",
    };
    let program = std::env::current_exe().expect("this program has a path");
    let text = format!(
        "#!/bin/sh\nexport JOURNEY={} JOURNEY_WHO={who} JOURNEY_POLICY={}\n\
         exec {} --quiet --nocapture --ignored --exact workers::works 3>&1 1>/dev/null\n",
        words::quoted(&journey.display().to_string()),
        words::quoted(policy),
        words::quoted(&program.display().to_string()),
    );
    fs::write(at, text).expect("the script is written");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("the script can be run");
}

/// No test: a worker's whole life, when a lead starts this program as one.
#[test]
#[ignore = "started by the script of a journey"]
fn works() {
    let who = variable("JOURNEY_WHO");
    if who.is_empty() {
        return;
    }
    let bench = Bench::of_this_worker();
    std::panic::set_hook(Box::new(|panic| Bench::of_this_worker().note(&format!("panics: {panic}"))));
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    bench.keep_prompt(&prompt);
    bench.note("starts");
    if bench.always("nothing") || bench.takes("nothing-once") {
        bench.says("I looked around and found everything in order.");
        return;
    }
    let is_long = bench.takes("limit-long-once");
    if is_long || bench.takes("limit-once") {
        bench.note("is at its limit");
        let seconds = if is_long { 600 } else { 1 };
        let at = bench.types(&format!("date -u -d '+{seconds} seconds' +%Y-%m-%dT%H:%M:%SZ")).text;
        bench.says(&format!("{{\"limit_reset\": \"{}\"}}", at.trim()));
        std::process::exit(75);
    }
    match who.as_str() {
        "obedient" => obedient::work(&bench, &prompt),
        "by-the-book" => book::work(&bench, &prompt),
        other => panic!("no worker is called {other}"),
    }
    bench.note("ends");
    std::process::exit(0);
}
