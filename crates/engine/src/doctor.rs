//! Looks whether everything around the work is as it should be: the disk, the hooks, the clients, what was left behind.

mod disk;

use std::path::PathBuf;

use piton_model::hint::verbs;
use piton_model::{Arg, Dialect, Hint, Lifecycle, Time};
use piton_store::seal;
use piton_supervisor::{Kind, Login, Repository, login};

use crate::Workspace;
use crate::hook::fired;
use crate::setup::{HooksState, Scope, has_servers, hooks_state};

/// How many of a kind of leftovers are named.
const MOST_NAMED: usize = 3;

/// Programs that were found where the user's commands are.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// This one.
    pub piton: Option<PathBuf>,
    /// Claude Code.
    pub claude: Option<PathBuf>,
    /// Codex.
    pub codex: Option<PathBuf>,
    /// Git.
    pub git: Option<PathBuf>,
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// What it is about.
    pub area: &'static str,
    /// What was found.
    pub found: String,
    /// What that means.
    pub verdict: Health,
    /// What to do about it, with a command.
    pub advice: Option<Hint>,
}

/// What something that was looked at means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It is as it should be.
    Good,
    /// It could be better.
    Note,
    /// It does not work.
    Bad,
}

impl Health {
    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            Health::Good => "ok",
            Health::Note => "note",
            Health::Bad => "bad",
        }
    }
}

impl Checkup {
    fn good(area: &'static str, found: impl Into<String>) -> Checkup {
        Checkup { area, found: found.into(), verdict: Health::Good, advice: None }
    }

    fn note(area: &'static str, found: impl Into<String>, advice: impl Into<Hint>) -> Checkup {
        Checkup { area, found: found.into(), verdict: Health::Note, advice: Some(advice.into()) }
    }

    fn bad(area: &'static str, found: impl Into<String>, advice: impl Into<Hint>) -> Checkup {
        Checkup { verdict: Health::Bad, ..Checkup::note(area, found, advice) }
    }
}

/// Looks at everything. What is tried on the disk is removed again.
pub fn doctor(workspace: &Workspace, programs: &Programs, now: Time) -> Vec<Checkup> {
    let mut all = vec![Checkup::good("version", format!("piton {}", env!("CARGO_PKG_VERSION")))];
    all.extend(of_programs(programs));
    all.push(of_home(workspace));
    let dialects = of_units(workspace, now, &mut all);
    all.extend(disk::checkups(workspace));
    all.extend(of_hooks(workspace, &dialects, now));
    all.extend(of_servers(workspace, programs));
    all.extend(of_clients(programs));
    all.push(of_git(workspace));
    all.extend(of_leftovers(workspace));
    all
}

fn of_programs(programs: &Programs) -> Vec<Checkup> {
    let found = |name: &str, path: &Option<PathBuf>| {
        path.as_ref().map(|path| Checkup::good("programs", format!("{name}: {}", path.display())))
    };
    let piton = found("piton", &programs.piton).unwrap_or_else(|| {
        Checkup::bad(
            "programs",
            "no program `piton` is found by a command's name, so hooks and servers that call it do nothing",
            "put it into a directory of PATH, such as: cargo install --path crates/cli",
        )
    });
    let others = [found("claude", &programs.claude), found("codex", &programs.codex), found("git", &programs.git)];
    std::iter::once(piton).chain(others.into_iter().flatten()).collect()
}

fn of_home(workspace: &Workspace) -> Checkup {
    let root = workspace.root().display();
    match seal::inspect(&*workspace.disk) {
        Ok(seal::Home::Ours) => Checkup::good("workspace", format!("{root}, with a journal of its own")),
        Ok(seal::Home::Missing) => Checkup::good("workspace", format!("{root}, nothing recorded yet")),
        Ok(seal::Home::Foreign) => Checkup::note(
            "workspace",
            format!("{root}: .piton came from elsewhere and is not believed"),
            "nothing need be done: the next record puts it into .piton/quarantine",
        ),
        Err(error) => Checkup::bad("workspace", error.to_string(), "see who owns it: ls -ld .piton"),
    }
}

fn of_units(workspace: &Workspace, now: Time, all: &mut Vec<Checkup>) -> Vec<Dialect> {
    let report = crate::status(workspace, None, now);
    let mut dialects = Vec::new();
    for dialect in Dialect::ALL {
        let rows: Vec<_> = report.rows.iter().filter(|row| row.dialect == dialect).collect();
        if rows.is_empty() {
            continue;
        }
        dialects.push(dialect);
        let open = rows.iter().filter(|row| row.state.lifecycle() != Lifecycle::Done).count();
        let errors: u64 = rows.iter().map(|row| u64::from(row.findings.error)).sum();
        let found = format!("{dialect}: {}, {open} open", piton_model::text::counted(rows.len(), "unit", "units"));
        all.push(match errors {
            0 => Checkup::good("dialects", found),
            errors => Checkup::note("dialects", format!("{found}, {errors} errors in documents"), verbs::CHECK.call()),
        });
    }
    let stories = crate::run::listed_stories(workspace);
    if dialects.is_empty() && stories > 0 {
        let listed = piton_model::text::counted(stories, "story is", "stories are");
        let explain = verbs::RUN.call().flag("--explain").to("see what a run would do");
        all.push(Checkup {
            advice: Some(explain),
            ..Checkup::good("dialects", format!("{listed} listed, none has begun"))
        });
    } else if dialects.is_empty() {
        let start = verbs::START.on("build:PRD-001").filled("--title", "TITLE").with("--step", Arg::Word("WS1"));
        all.push(Checkup::note("dialects", "no documents of any dialect", start.to("begin something, such as")));
    }
    dialects
}

fn of_hooks(workspace: &Workspace, dialects: &[Dialect], now: Time) -> Vec<Checkup> {
    let init = verbs::INIT.call();
    let state = match hooks_state(workspace, Scope::of(dialects)) {
        Ok(state) => state,
        Err(error) => return vec![Checkup::bad("hooks", error.to_string(), init.to("put it right, then"))],
    };
    let mut all = vec![match &state {
        HooksState::Missing => {
            Checkup::note("hooks", "not in .claude/settings.json; progress is recorded only when asked", init)
        }
        HooksState::Unreadable(why) => Checkup::bad(
            "hooks",
            format!(".claude/settings.json cannot be read, so Claude Code ignores it: {why}"),
            verbs::INIT.call().to("put it right, then"),
        ),
        HooksState::Comments => Checkup::bad(
            "hooks",
            ".claude/settings.json has comments, so Claude Code ignores all of it",
            "take the comments out of .claude/settings.json",
        ),
        HooksState::Old => Checkup::note("hooks", "configured, but not as they would be now", init),
        HooksState::Current => Checkup::good("hooks", "configured in .claude/settings.json"),
        HooksState::Plugin => Checkup::good("hooks", "they come with the plugin"),
    }];
    let seen = fired(workspace);
    let is_configured = !matches!(state, HooksState::Missing | HooksState::Unreadable(_));
    if is_configured && seen.iter().all(|(_, at)| at.is_none()) {
        all.push(Checkup::note("hooks", "none has ever fired here", "start a session: claude"));
        return all;
    }
    for (event, at) in seen {
        let found = match at {
            Some(at) => format!("{event}: last fired {} ago", at.age(now)),
            None if is_configured => format!("{event}: never fired"),
            None => continue,
        };
        all.push(Checkup::good("hooks", found));
    }
    all
}

fn of_servers(workspace: &Workspace, programs: &Programs) -> Vec<Checkup> {
    let (claude, codex) = match has_servers(workspace) {
        Ok(found) => found,
        Err(error) => {
            return vec![Checkup::bad("mcp", error.to_string(), verbs::INIT.call().to("put it right, then"))];
        }
    };
    let is_plugin = matches!(hooks_state(workspace, Scope::Documents), Ok(HooksState::Plugin));
    let mut all = vec![match claude || is_plugin {
        true => Checkup::good("mcp", "the server is named to Claude Code"),
        false => Checkup::note("mcp", "no server of ours in .mcp.json", verbs::INIT.call()),
    }];
    match (codex, &programs.codex) {
        (true, _) => all.push(Checkup::good("mcp", "the server is named to Codex")),
        (false, Some(_)) => {
            all.push(Checkup::note("mcp", "no server of ours in .codex/config.toml", verbs::INIT.call()))
        }
        (false, None) => {}
    }
    all
}

/// Whether the clients that workers are made of are logged in.
fn of_clients(programs: &Programs) -> Vec<Checkup> {
    let clients = [
        (Kind::Claude, &programs.claude, "Claude Code", "claude auth login"),
        (Kind::Codex, &programs.codex, "Codex", "codex login"),
    ];
    let of = |(kind, program, name, advice): (Kind, &Option<PathBuf>, &str, &'static str)| {
        Some(match login(kind, program.as_deref()?) {
            Login::Yes => Checkup::good("clients", format!("{name} is logged in")),
            Login::No => Checkup::note(
                "clients",
                format!(
                    "{name} says that it is not logged in; its workers work only with a model provider that needs no login"
                ),
                advice,
            ),
            Login::Unknown => Checkup::good("clients", format!("{name} does not say whether it is logged in")),
        })
    };
    let all: Vec<Checkup> = clients.into_iter().filter_map(of).collect();
    match all.is_empty() {
        true => vec![Checkup::note(
            "clients",
            "neither claude nor codex is in PATH, so only workers with another command can start",
            "install one of them, or name a command in piton.toml: [worker] command = [\"PROGRAM\"]",
        )],
        false => all,
    }
}

fn of_git(workspace: &Workspace) -> Checkup {
    let disk = &*workspace.disk;
    let has_home = matches!(seal::inspect(disk), Ok(seal::Home::Ours));
    let is_ignored = disk.stamp(".piton/.gitignore").is_ok_and(|found| found.is_some());
    match Repository::find(workspace.root()) {
        Ok(None) => Checkup::good("git", "not a git repository"),
        Ok(Some(_)) if has_home && !is_ignored => Checkup::note(
            "git",
            ".piton is not ignored, and its journals belong to this machine alone",
            "echo '*' > .piton/.gitignore",
        ),
        Ok(Some(repository)) => match repository.base_branch() {
            Ok(_) => Checkup::good("git", "a repository; .piton stays out of it"),
            Err(error) => {
                let advice = error.hint().unwrap_or_else(|| "ask git itself: git status".to_owned());
                Checkup::note("git", format!("a repository in which no run can begin: {error}"), advice)
            }
        },
        Err(error) => {
            let advice = error.hint().unwrap_or_else(|| "ask git itself: git status".to_owned());
            Checkup::bad("git", format!("a repository that git does not use, so nothing can run here: {error}"), advice)
        }
    }
}

/// What was left behind by processes that died, and by hooks that failed.
fn of_leftovers(workspace: &Workspace) -> Vec<Checkup> {
    let disk = &*workspace.disk;
    let mut all = Vec::new();
    let mut tell = |names: Vec<String>, what: &str, advice: &str| {
        if let [first, ..] = &names[..] {
            let some = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > MOST_NAMED {
                format!(" and {} more", names.len() - MOST_NAMED)
            } else {
                String::new()
            };
            all.push(Checkup::note("leftovers", format!("{what}: {some}{more}"), advice.replace("FIRST", first)));
        }
    };
    let is_aside = |name: &String| name.contains(".piton-") || name.starts_with(".piton-foreign-");
    let asides: Vec<String> = ["", ".claude", ".codex"]
        .iter()
        .flat_map(|directory| {
            let names = disk.list(directory).into_iter().filter(is_aside);
            names.map(move |name| if directory.is_empty() { name } else { format!("{directory}/{name}") })
        })
        .collect();
    tell(asides, "files of a process that died", "remove it: rm -r FIRST");
    let kept = disk.list(".piton/quarantine").into_iter().map(|name| format!(".piton/quarantine/{name}")).collect();
    tell(kept, "journals that came from elsewhere", "when nobody misses them: rm -r .piton/quarantine");
    let log = disk.read(".piton/hook.log").map(|content| content.bytes).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let last = log.lines().last().map(|line| piton_model::text::printable(line).into_owned());
    tell(last.into_iter().collect(), "a hook failed, last", "see all of it: cat .piton/hook.log");
    if all.is_empty() {
        all.push(Checkup::good("leftovers", "none"));
    }
    all
}
