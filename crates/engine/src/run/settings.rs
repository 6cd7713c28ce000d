//! `piton.toml`: how workers start, how many, how long they are waited for, and which commands are gates.

mod briefs;
mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use piton_dialect::pipeline::Briefs;
use piton_model::fleet::Limits;

pub use worker::{Choice, Why, WorkerSpec, Workers};

use super::section::{BadFile, Section, parse};
use crate::Workspace;

/// The file, at the workspace's root.
pub const SETTINGS: &str = "piton.toml";

/// How many workers at once, and how often one is restarted for one reason.
const WORKERS: (u32, u32) = (1, 256);
const RESTARTS: (u32, u32) = (0, 100);

/// How long something is waited for that may never come; what has ended is not waited for.
const WAITING: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30 * 24 * 3600));
const PAUSE: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(24 * 3600));

/// Each beat is a durable write; without one for an hour, a run that lives looks dead.
const HEARTBEAT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

/// How a run goes. Every value has a default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is granted, and how long is waited.
    pub limits: Limits,
    /// How often the state is written although nothing happens.
    pub heartbeat: Duration,
    /// How long a worker has to end by itself when it is stopped.
    pub grace: Duration,
    /// Whether every lane works in a git worktree of its own.
    pub worktrees: bool,
    /// Whether worktrees that are clean and merged go at the end.
    pub removes_worktrees: bool,
    /// Which workers there are, how each is started and what it may do.
    pub workers: Workers,
    /// How long a gate or the set-up of a worktree may take.
    pub gate_timeout: Duration,
    /// The command that sets up each new worktree.
    pub worktree_setup: Option<String>,
    /// Files that each new worktree gets a copy of.
    pub worktree_copy: Vec<String>,
    /// The command of each gate.
    pub gates: BTreeMap<String, String>,
    /// What workers are told about the project.
    pub briefs: Briefs,
    /// Stories that stand in the settings themselves.
    pub(super) stories: Vec<super::work::Story>,
    /// Whether the file was there.
    pub is_there: bool,
}

impl Settings {
    /// What a worktree is set up by: a worktree of other settings is set up again.
    pub(super) fn worktree_settings(&self) -> String {
        let setup = self.worktree_setup.as_deref().unwrap_or_default();
        std::iter::once(setup).chain(self.worktree_copy.iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
    }

    /// Reads the settings of a workspace.
    pub fn load(workspace: &Workspace) -> Result<Settings, BadFile> {
        let text = match workspace.disk.read(SETTINGS) {
            Ok(content) => Some(String::from_utf8_lossy(&content.bytes).into_owned()),
            Err(piton_store::ReadError::Missing) => None,
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                return Err(BadFile { path: SETTINGS.to_owned(), message, hint: None });
            }
        };
        let is_there = text.is_some();
        Ok(Settings { is_there, ..Settings::parse(text.as_deref().unwrap_or(""))? })
    }

    /// Reads the text of the settings.
    pub fn parse(text: &str) -> Result<Settings, BadFile> {
        let mut root = parse(SETTINGS, text)?;
        let mut settings = Settings::default_values();
        if let Some(run) = root.section("run")? {
            settings.take_run(run)?;
        }
        if let Some(worker) = root.section("worker")? {
            settings.workers = Workers::take(worker)?;
        }
        if let Some(worktree) = root.section("worktree")? {
            settings.take_worktree(worktree)?;
        }
        if let Some(gates) = root.section("gates")? {
            settings.gates = gates.into_texts()?.into_iter().collect();
        }
        settings.stories = super::work::stories(&mut root)?;
        settings.briefs = briefs::take(&mut root)?;
        root.finish()?;
        Ok(settings)
    }

    fn default_values() -> Settings {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Settings {
            limits: Limits {
                workers: 3,
                respawn: 1,
                validation: 1,
                rework: 2,
                // Planning and validating are short; work and its review may be silent for half an hour.
                patience: vec![minutes(10), minutes(10), minutes(30), minutes(30)],
                answer: minutes(5),
                longest: minutes(240),
                linger: Duration::from_secs(20),
                stagger: Duration::from_secs(5),
                fast_track: 9.0,
                restarts: 10,
                quick: Duration::from_secs(60),
                longest_park: minutes(8 * 24 * 60),
            },
            heartbeat: Duration::from_secs(60),
            grace: Duration::from_secs(10),
            gate_timeout: minutes(60),
            worktree_setup: None,
            worktree_copy: Vec::new(),
            worktrees: true,
            removes_worktrees: true,
            workers: Workers::default(),
            gates: BTreeMap::new(),
            briefs: Briefs::default(),
            stories: Vec::new(),
            is_there: false,
        }
    }

    fn take_run(&mut self, mut run: Section) -> Result<(), BadFile> {
        let limits = &mut self.limits;
        if let Some(workers) = run.count_in("workers", WORKERS)? {
            limits.workers = usize::try_from(workers).unwrap_or(usize::MAX);
        }
        let count = |known: &mut u32, value: Option<u32>| *known = value.unwrap_or(*known);
        count(&mut limits.respawn, run.count_in("respawn", RESTARTS)?);
        count(&mut limits.validation, run.count_in("validation_retries", RESTARTS)?);
        count(&mut limits.rework, run.count_in("reworks", RESTARTS)?);
        if let Some(patience) = run.spans_in("patience", WAITING)? {
            limits.patience = patience;
        }
        let span = |known: &mut Duration, value: Option<Duration>| *known = value.unwrap_or(*known);
        span(&mut limits.answer, run.span_in("answer", WAITING)?);
        span(&mut limits.longest, run.span_in("longest", WAITING)?);
        span(&mut limits.linger, run.span_in("linger", PAUSE)?);
        span(&mut limits.stagger, run.span_in("stagger", PAUSE)?);
        span(&mut self.heartbeat, run.span_in("heartbeat", HEARTBEAT)?);
        span(&mut self.grace, run.span_in("grace", PAUSE)?);
        span(&mut self.gate_timeout, run.span_in("gate_timeout", WAITING)?);
        if let Some(fast_track) = run.number("fast_track")? {
            if !(0.0..=100.0).contains(&fast_track) {
                return Err(run.out_of_range("fast_track", &fast_track.to_string(), "0 to 100"));
            }
            limits.fast_track = fast_track;
        }
        self.worktrees = run.flag("worktrees")?.unwrap_or(self.worktrees);
        self.removes_worktrees = match run.text("at_end")?.as_deref() {
            None | Some("remove") => true,
            Some("keep") => false,
            Some(other) => {
                return Err(BadFile {
                    path: SETTINGS.to_owned(),
                    message: format!("`run.at_end` is {other:?}"),
                    hint: Some("remove (worktrees that are clean and merged go) or keep".to_owned()),
                });
            }
        };
        run.finish()
    }

    fn take_worktree(&mut self, mut worktree: Section) -> Result<(), BadFile> {
        self.worktree_setup = worktree.text("setup")?.filter(|command| !command.trim().is_empty());
        self.worktree_copy = worktree.texts("copy")?.unwrap_or_default();
        worktree.finish()?;
        let is_plain = |path: &&String| {
            !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == ".." || part == ".git")
        };
        match self.worktree_copy.iter().find(|path| !is_plain(path)) {
            None => Ok(()),
            Some(path) => Err(BadFile {
                path: SETTINGS.to_owned(),
                message: format!("`worktree.copy` names {path:?}"),
                hint: Some("name files below the workspace, such as copy = [\".env\"]".to_owned()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_documentation_are_the_defaults() {
        let page = include_str!("../../../../docs/run.md");
        let block = page.split("```toml\n").find(|block| block.starts_with("[run]")).expect("the settings");
        let block = block.split("```").next().expect("its end");
        let settings = Settings::parse(block).unwrap_or_else(|error| panic!("{}", error.message));
        let (default, workers) = (Settings::default_values(), &settings.workers);
        assert_eq!(settings.limits, default.limits);
        assert_eq!(workers.choose(None, None), default.workers.choose(None, None));
        assert_eq!(
            (&settings.worktree_setup, &settings.worktree_copy),
            (&default.worktree_setup, &default.worktree_copy)
        );
        assert!(workers.choose(Some(3), None).spec.adapter.command_line().ends_with("--model opus"));
        assert_eq!(workers.choose(None, Some("reviewer")).spec.fallback, None);
    }

    #[test]
    fn every_value_has_a_default() {
        let settings = Settings::parse("").expect("an empty file is enough");
        assert_eq!(settings.limits.workers, 3);
        assert_eq!((settings.limits.respawn, settings.limits.validation, settings.limits.rework), (1, 1, 2));
        assert_eq!(settings.heartbeat, Duration::from_secs(60));
        let worker = settings.workers.choose(None, None).spec;
        assert_eq!(worker.adapter.command_line(), "claude --permission-mode acceptEdits");
    }

    #[test]
    fn values_are_taken() {
        let text = "[run]\nworkers = 5\npatience = [0.2, '1m']\nanswer = '300ms'\nat_end = 'keep'\n\
                    [worker]\ncommand = ['sh', '-c', 'echo it''s']\nprompt_by = 'file'\n[gates]\ntest = 'cargo test'\n";
        let settings = Settings::parse(&text.replace("it''s", "its me")).expect("it is right");
        assert_eq!(settings.limits.workers, 5);
        assert_eq!(settings.limits.patience, [Duration::from_millis(200), Duration::from_secs(60)]);
        assert_eq!(settings.limits.patience(3), Duration::from_secs(60));
        assert!(!settings.removes_worktrees);
        assert_eq!(settings.workers.choose(None, None).spec.adapter.command_line(), "sh -c 'echo its me'");
        assert_eq!(settings.gates["test"], "cargo test");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_meant() {
        for (text, message, hint) in [
            ("[runn]\n", "there is no setting `runn`", "did you mean `run`?"),
            ("[run]\nhartbeat = 1\n", "there is no setting `run.hartbeat`", "did you mean `run.heartbeat`?"),
            ("[run]\nat_end = 'x'\n", "`run.at_end` is \"x\"", "remove"),
            ("[run]\nheartbeat = 0\n", "`run.heartbeat` is 0 s", "may be 0.1 s to 3600 s"),
            ("[run]\nheartbeat = '2h'\n", "`run.heartbeat` is 7200 s", "may be 0.1 s to 3600 s"),
            ("[run]\nworkers = 0\n", "`run.workers` is 0", "may be 1 to 256"),
            ("[run]\nreworks = 9999999999\n", "`run.reworks` is 9999999999", "may be 0 to 100"),
            ("[run]\npatience = [60, 0]\n", "`run.patience` is 0 s", "may be 0.1 s"),
            ("[run]\nlongest = 0\n", "`run.longest` is 0 s", "may be 0.1 s"),
            ("[run]\ngate_timeout = 0\n", "`run.gate_timeout` is 0 s", "may be 0.1 s"),
            ("[run]\nfast_track = -1\n", "`run.fast_track` is -1", "may be 0 to 100"),
            (
                "[gates]\n\"x\\u001b[8m\" = 'make'\n",
                "`gates` has a name that cannot be used: \"x\\u{1b}[8m\"",
                "no line ends",
            ),
            ("[worker.\"a\\nb\"]\n", "`worker` has a name that cannot be used: \"a\\nb\"", "no line ends"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert_eq!(error.message, message);
            assert!(error.hint.unwrap_or_default().contains(hint), "{text}");
        }
        assert!(Settings::parse("[run]\nworkers = 'many'\n").unwrap_err().message.contains("`run.workers`"));
    }
}
