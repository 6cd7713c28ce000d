use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{ArgMatches, Args};
use piton_engine::{Setup, SetupFile, SetupRequest, apply_setup, plan_setup, write_plugin};
use piton_model::hint::verbs;
use similar::TextDiff;

use super::doctor::find_program;
use crate::context::Context;
use crate::failure::{FAILED, Failure};
use crate::output::print;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton init --dry-run\n  piton init --yes\n  piton init --remove\n\nWrites hooks into .claude/settings.json, the server into .mcp.json and .codex/config.toml, and a short block into AGENTS.md or CLAUDE.md. Where there is no piton.toml and build tools are found, it is made, with the commands that workers may use. Lines of others stay as they are; --remove brings every file back."
)]
pub struct InitArgs {
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Ask nothing
    #[arg(long)]
    yes: bool,

    /// Take everything back
    #[arg(long)]
    remove: bool,

    /// Hooks and server come with the plugin instead of settings; says how it is installed
    #[arg(long)]
    plugin: bool,
}

pub fn run(matches: &ArgMatches, args: &InitArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let request = SetupRequest {
        remove: args.remove,
        plugin: args.plugin,
        codex: find_program("codex").is_some() && !args.remove,
    };
    let plugin = (args.plugin && !args.remove).then(plugin_directory).transpose()?;
    let failed = |error| Failure::record("AGENTS.md", &error);
    let setup = plan_setup(&context.workspace, &request, context.now).map_err(failed)?;
    if !args.remove {
        let words: Vec<_> = setup.dialects.iter().map(|dialect| dialect.word()).collect();
        let found = if words.is_empty() { "none yet".to_owned() } else { words.join(", ") };
        print(&format!("dialects: {found}\n"))?;
    }
    let is_changed = setup.files.iter().any(SetupFile::is_changed);
    if args.dry_run {
        print(&diffs(&setup))?;
    }
    let asks = is_changed && !args.yes && !args.dry_run && can_ask();
    print(&summary(&setup, args.dry_run || asks))?;
    for note in &setup.notes {
        print(&format!("note: {note}\n"))?;
    }
    if let (Some(directory), true) = (&plugin, args.dry_run) {
        print(&format!("{} would hold the plugin\n", directory.display()))?;
    }
    if args.dry_run || !(is_changed || args.remove || plugin.is_some()) {
        return Ok(0);
    }
    if asks && !is_confirmed()? {
        print("nothing is changed\n")?;
        return Ok(0);
    }
    if let Some(directory) = &plugin {
        write_plugin(directory).map_err(|error| {
            Failure::new(FAILED, format!("cannot write the plugin to `{}`: {error}", directory.display()))
        })?;
        print(&install(&directory.display().to_string()))?;
    }
    apply_setup(&context.workspace, &setup, &request).map_err(failed)?;
    if is_changed {
        match args.remove {
            true => print("taken back\n")?,
            false => print(&format!("{}\n", verbs::DOCTOR.call().to("done; see whether it works")))?,
        }
    }
    Ok(0)
}

/// Where the plugin is for all repositories of the user: the client reads it in place.
fn plugin_directory() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    data.map(|data| data.join("piton/claude-code")).ok_or_else(|| {
        Failure::new(FAILED, "there is no place for the plugin: neither HOME nor XDG_DATA_HOME is set")
            .hint(verbs::INIT.call().to("write the hooks into the settings instead"))
    })
}

/// What makes the client install the plugin. It asks its user, and is not run from here.
fn install(directory: &str) -> String {
    let quoted = format!("'{}'", directory.replace('\'', "'\\''"));
    format!(
        "the plugin is in {directory}; install it:\n    claude plugin marketplace add {quoted}\n    claude plugin install piton@piton --scope project\n"
    )
}

fn summary(setup: &Setup, would: bool) -> String {
    let line = |file: &SetupFile| {
        let deed = match (&file.before, &file.after) {
            (before, after) if before == after => "stays as it is",
            (None, _) if would => "would be made",
            (None, _) => "is made",
            (_, None) if would => "would be removed",
            (_, None) => "is removed",
            _ if would => "would be changed",
            _ => "is changed",
        };
        format!("{} {deed}\n", file.path)
    };
    let shown = |file: &&SetupFile| file.is_changed() || file.before.is_some();
    setup.files.iter().filter(shown).map(line).collect()
}

fn diffs(setup: &Setup) -> String {
    let diff = |file: &SetupFile| {
        let (before, after) = (file.before.as_deref().unwrap_or(""), file.after.as_deref().unwrap_or(""));
        let diff = TextDiff::from_lines(before, after);
        diff.unified_diff().context_radius(2).header(file.path, file.path).to_string()
    };
    setup.files.iter().filter(|file| file.is_changed()).map(diff).collect()
}

/// Whether a user can answer: the question needs a terminal on both sides.
fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the user.
fn is_confirmed() -> Result<bool, Failure> {
    eprint!("write this? [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(FAILED, format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
