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
        let count =
            |value: Option<u64>, known: u32| value.map_or(known, |value| u32::try_from(value).unwrap_or(u32::MAX));
        let limits = &mut self.limits;
        if let Some(workers) = run.count("workers")? {
            limits.workers = usize::try_from(workers).unwrap_or(usize::MAX).max(1);
        }
        limits.respawn = count(run.count("respawn")?, limits.respawn);
        limits.validation = count(run.count("validation_retries")?, limits.validation);
        limits.rework = count(run.count("reworks")?, limits.rework);
        if let Some(patience) = run.spans("patience")? {
            limits.patience = patience;
        }
        let span = |known: &mut Duration, value: Option<Duration>| *known = value.unwrap_or(*known);
        span(&mut limits.answer, run.span("answer")?);
        span(&mut limits.longest, run.span("longest")?);
        span(&mut limits.linger, run.span("linger")?);
        span(&mut limits.stagger, run.span("stagger")?);
        span(&mut self.heartbeat, run.span("heartbeat")?);
        span(&mut self.grace, run.span("grace")?);
        span(&mut self.gate_timeout, run.span("gate_timeout")?);
        limits.fast_track = run.number("fast_track")?.unwrap_or(limits.fast_track);
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
        self.worktree_setup = worktree.text("setup")?;
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
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert_eq!(error.message, message);
            assert!(error.hint.unwrap_or_default().contains(hint), "{text}");
        }
        assert!(Settings::parse("[run]\nworkers = 'many'\n").unwrap_err().message.contains("`run.workers`"));
    }
}
