//! The main job on an example, from nothing: real processes, real worktrees, a worker and the lead killed on the way.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::Args;
use piton_engine::clear_foreign;
use piton_engine::run::catch_interrupts;
use piton_model::hint::verbs;

use crate::failure::{FAILED, Failure, USAGE};
use crate::output::print;

/// How often the lead may die before something is wrong.
const MOST_LEADS: u32 = 5;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton demo\n  piton demo /tmp/trail-guide\n\nFive stories with dependencies, worked on by scripts in git worktrees of their own. One worker is killed in the middle\nof a step, and one kills the lead. Takes less than a minute; needs git and a shell."
)]
pub struct DemoArgs {
    /// Where it takes place; must not be there yet [default: a new directory for temporary files]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub fn run(args: &DemoArgs) -> Result<u8, Failure> {
    let since = Instant::now();
    let directory = prepare(args.directory.as_deref())?;
    print(&format!("five stories, three workers at once, in {}\n\n", directory.display()))?;
    let program = std::env::current_exe().map_err(|error| failed("tell where this program is", &error))?;
    let interrupted = catch_interrupts().map_err(|error| failed("listen to Ctrl-C", &error))?;
    let mut leads = 0;
    let status = loop {
        leads += 1;
        let mut lead = own(Command::new(&program), &directory);
        let status = lead.args(["run", "--yes"]).status().map_err(|error| failed("start the lead", &error))?;
        let was_killed = status.signal() == Some(9);
        if !was_killed || leads >= MOST_LEADS || interrupted.load(Ordering::Relaxed) {
            break status;
        }
        print("\n-- the lead was killed with -9; its workers go on without it. Another lead takes over:\n\n")?;
    };
    close(&directory, status, leads, since)
}

/// Makes a repository with stories, settings and a scripted worker.
fn prepare(wanted: Option<&Path>) -> Result<PathBuf, Failure> {
    let directory = match wanted {
        Some(directory) => directory.to_owned(),
        None => std::env::temp_dir().join(format!("piton-demo-{}", std::process::id())),
    };
    let directory = std::path::absolute(&directory).unwrap_or(directory);
    if directory.exists() {
        return Err(Failure::new(USAGE, format!("there is something already: {}", directory.display()))
            .hint(verbs::DEMO.call().fill("DIR").to("name a directory that is not there yet")));
    }
    fs::create_dir_all(&directory).map_err(|error| failed("make the directory", &error))?;
    for (name, text) in [
        ("piton.toml", include_str!("demo/piton.toml")),
        ("agent.sh", include_str!("demo/agent.sh")),
        ("README.md", "# Trail guide\n\nMade by `piton demo`.\n"),
        (".gitignore", ".piton/\n.pipeline/\n.worktrees/\n.state/\n"),
    ] {
        fs::write(directory.join(name), text).map_err(|error| failed("write the example", &error))?;
    }
    for arguments in
        [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "-m", "A guide to be written"]]
    {
        let status = own(Command::new("git"), &directory).args(arguments).status();
        if !status.as_ref().is_ok_and(ExitStatus::success) {
            return Err(Failure::new(FAILED, format!("git {} failed", arguments[0])).hint("the demo needs git"));
        }
    }
    Ok(directory)
}

/// A process of the demo: approvals and identities of its own, nothing of the user's.
fn own(mut command: Command, directory: &Path) -> Command {
    clear_foreign(&mut command);
    command.current_dir(directory).env("XDG_STATE_HOME", directory.join(".state")).env_remove("PITON_ROOT");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Piton demo").env(format!("GIT_{who}_EMAIL"), "demo@localhost");
    }
    command
}

fn close(directory: &Path, status: ExitStatus, leads: u32, since: Instant) -> Result<u8, Failure> {
    let directory = directory.display().to_string();
    if !status.success() {
        return Err(Failure::new(FAILED, format!("the demo did not come to its end: the lead ended with {status}"))
            .hint(verbs::STATUS.call().within(&directory).to("look at it")));
    }
    let log =
        own(Command::new("git"), Path::new(&directory)).args(["log", "--oneline", "--graph", "-n", "20"]).output();
    let log = log.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let killed = if leads == 2 { "the lead".to_owned() } else { format!("{} leads", leads - 1) };
    print(&format!(
        "\n{log}\ncomplete in {} s, though one worker and {killed} were killed on the way\n\
         look around:\n  {}\n  {}\n  cat {directory}/.pipeline/report.md\n",
        since.elapsed().as_secs(),
        verbs::STATUS.call().within(&directory),
        verbs::LOG.on("pipeline:TRAIL-4").within(&directory)
    ))?;
    Ok(0)
}

fn failed(doing: &str, error: &std::io::Error) -> Failure {
    Failure::new(FAILED, format!("cannot {doing}: {error}"))
}
