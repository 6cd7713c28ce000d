use std::path::PathBuf;

use clap::{ArgMatches, Args};
use piton_engine::{Checkup, Health, Programs, doctor};
use piton_model::Hint;
use piton_model::text::printable;
use serde_json::json;

use crate::context::Context;
use crate::failure::{FOUND_ERRORS, Failure};
use crate::output::{print, print_json};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton doctor\n  piton doctor --json\n\nThe exit code is 3 when something does not work."
)]
pub struct DoctorArgs {
    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &DoctorArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let programs = Programs {
        piton: find_program("piton"),
        claude: find_program("claude"),
        codex: find_program("codex"),
        git: find_program("git"),
    };
    let all = doctor(&context.workspace, &programs, context.now);
    let is_bad = all.iter().any(|each| each.verdict == Health::Bad);
    if args.json {
        let checks: Vec<_> = all.iter().map(document).collect();
        print_json(&json!({"ok": !is_bad, "checks": checks}))?;
    } else {
        print(&text(&all))?;
    }
    Ok(if is_bad { FOUND_ERRORS } else { 0 })
}

fn document(each: &Checkup) -> serde_json::Value {
    json!({"area": each.area, "found": each.found, "verdict": each.verdict.word(), "advice": each.advice.as_ref().map(Hint::to_string)})
}

fn text(all: &[Checkup]) -> String {
    let line = |each: &Checkup| {
        let advice = each.advice.as_ref().map(|advice| format!("      hint: {}\n", printable(&advice.to_string())));
        let (word, area) = (each.verdict.word(), each.area);
        format!("{word:<4}  {area:<9}  {}\n{}", printable(&each.found), advice.unwrap_or_default())
    };
    all.iter().map(line).collect()
}

/// The program that a command's name means.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(is_program)
}
