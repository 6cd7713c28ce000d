use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{ArgMatches, ColorChoice, FromArgMatches as _};
use piton_engine::Workspace;
use piton_model::Time;

use crate::args::Global;
use crate::failure::{FAILED, Failure, REFUSED, USAGE};

/// A table cannot be narrower than its fixed columns and a short name.
const NARROWEST: usize = 60;

/// What every verb starts from.
pub struct Context {
    /// The workspace.
    pub workspace: Workspace,
    /// The moment that ages are counted from.
    pub now: Time,
    /// Whether output may hold colour.
    pub color: bool,
    /// How many columns the terminal has.
    pub width: usize,
    /// How many lines it has.
    pub height: usize,
    /// Whether a worker of a run calls: its processes have the mark of their keeper.
    pub is_worker: bool,
    /// Whether a client calls that asks before each command: Piton runs nothing for it that it could not run itself.
    pub is_held: bool,
}

impl Context {
    /// Opens the workspace that the options, the environment or the current directory name. Commands that are printed from
    /// now on work as typed in the user's directory: they name the workspace where the user had to.
    pub fn new(matches: &ArgMatches) -> Result<Context, Failure> {
        let context = Context::unread(matches)?;
        let is_named = matches.get_one::<PathBuf>("root").is_some();
        if is_named && is_outside(&context.workspace) {
            piton_model::hint::read_outside_of(&context.workspace.root().display().to_string());
        }
        Ok(context)
    }

    /// The same where no user with a shell reads the output.
    pub fn unread(matches: &ArgMatches) -> Result<Context, Failure> {
        let global = Global::from_arg_matches(matches).map_err(|error| Failure::new(USAGE, error.to_string()))?;
        let now = now(global.at.as_deref())?;
        let root = global.root.or_else(root_of_environment);
        let start = std::env::current_dir()
            .map_err(|error| Failure::new(FAILED, format!("cannot tell the current directory: {error}")))?;
        let workspace = Workspace::open(root.as_deref(), &start).map_err(Failure::from)?;
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let (is_worker, is_held) = (set("PITON_WORKER"), set("PITON_HELD"));
        let (width, height) = (width(), height());
        Ok(Context { workspace, now, color: color(global.color), width, height, is_worker, is_held })
    }

    /// Whether a worker of a run of this workspace calls.
    pub fn is_led_worker(&self) -> bool {
        self.is_worker && std::env::var_os("PITON_UNIT").is_some() && !is_outside(&self.workspace)
    }

    /// Refuses a worker what is its user's to do about a run.
    pub fn led(&self, what: &str) -> Failure {
        let failure = Failure::new(REFUSED, format!("a worker does not {what} the run that started it"));
        failure.hint("go on with your work, or end: the lead does the rest")
    }
}

fn root_of_environment() -> Option<PathBuf> {
    std::env::var_os("PITON_ROOT").map(PathBuf::from)
}

/// Whether the same shell finds another workspace when no option names one.
fn is_outside(workspace: &Workspace) -> bool {
    let found = root_of_environment().or_else(|| Some(Workspace::locate(&std::env::current_dir().ok()?)));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    found.is_none_or(|found| real(&found) != real(workspace.root()))
}

/// The moment that `--at` names, or the clock's.
pub fn now(at: Option<&str>) -> Result<Time, Failure> {
    match at {
        Some(text) => piton_dialect::time::read(text).time().ok_or_else(|| {
            Failure::new(USAGE, format!("--at {text:?} is not a time")).hint("write it as 2026-02-20T11:49:00Z")
        }),
        None => {
            // A clock before 1970 is broken; every age is then zero, which accuses nobody.
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(Time::from_unix_seconds(since.as_secs() as i64))
        }
    }
}

/// The directory with the user's own prompt templates, below the user's configuration directory. Never in a workspace:
/// a repository must not choose what workers are told.
pub fn prompts_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(configuration.join("piton/prompts"))
}

fn color(choice: ColorChoice) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE") => true,
        ColorChoice::Auto => {
            std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

fn width() -> usize {
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let wanted = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.filter(|columns| *columns > 0).or_else(wanted).unwrap_or(80).clamp(NARROWEST, 240)
}

fn height() -> usize {
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_row));
    terminal.filter(|rows| *rows > 2).unwrap_or(24)
}
