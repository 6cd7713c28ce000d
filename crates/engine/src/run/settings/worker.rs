//! `[worker]` and the tables below it: which client works on what, and what it may do.
//!
//! `[worker]` is the worker of everything. `[worker.stage.N]` is another one for a stage of stories, `[worker.NAME]` one
//! that a story or a specification's executor chooses by its name. Each says only what is different.

use std::collections::BTreeMap;

use piton_supervisor::{Adapter, Agent, CommandLine, Kind, PromptBy};

use super::super::section::{BadFile, Section};

/// The stages of a story.
const STAGES: u8 = 4;

/// A worker as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSpec {
    /// The table that describes it: `worker`, `worker.stage.3`, `worker.reviewer`.
    pub name: String,
    /// How it is started and understood.
    pub adapter: Adapter,
    /// What it is told first, before what its stage asks.
    pub preamble: Option<String>,
    /// Commands that it may run, by their first words, and rules of its client.
    pub allow: Vec<String>,
    /// Further directories that its commands may write, absolute or below the workspace's root.
    pub writable: Vec<String>,
    /// Whether its commands may use the network.
    pub network: bool,
    /// The worker that takes over while its account is at its limit: `reviewer`.
    pub fallback: Option<String>,
}

impl WorkerSpec {
    /// The account that it uses: workers that have it in common run into one limit. The program of a command may be an
    /// interpreter, so that its arguments tell which agent it is.
    pub fn account(&self) -> String {
        match &self.adapter {
            Adapter::Claude(_) | Adapter::Codex(_) => {
                format!("{} {}", self.adapter.kind().word(), self.adapter.program())
            }
            Adapter::Command(_) => format!("{} {}", self.adapter.kind().word(), self.adapter.command_line()),
        }
    }
}

/// All workers of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workers {
    base: WorkerSpec,
    stages: BTreeMap<u8, WorkerSpec>,
    named: BTreeMap<String, WorkerSpec>,
    /// Whether the settings say which client is used. Where they do not, it is one that is installed.
    is_chosen: bool,
    /// Whether there is a `[worker]` section, so that the repository names what is started.
    pub is_there: bool,
}

/// A worker, and why it is the one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The worker.
    pub spec: &'a WorkerSpec,
    /// Why.
    pub why: Why,
}

/// Why a worker was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The story, or the executor of the workstream, names it.
    Named,
    /// The settings have one for the stage.
    Stage(u8),
    /// It is the worker of everything.
    Default,
}

impl Why {
    /// For people, as a fragment.
    pub fn text(self) -> String {
        match self {
            Why::Named => "chosen by name".to_owned(),
            Why::Stage(stage) => format!("for stage {stage}"),
            Why::Default => "for all work".to_owned(),
        }
    }
}

impl Default for Workers {
    fn default() -> Workers {
        let adapter = Adapter::Claude(Agent::claude());
        let base = WorkerSpec {
            name: "worker".to_owned(),
            adapter,
            preamble: None,
            allow: Vec::new(),
            writable: Vec::new(),
            network: false,
            fallback: None,
        };
        Workers { base, stages: BTreeMap::new(), named: BTreeMap::new(), is_chosen: false, is_there: false }
    }
}

impl Workers {
    /// Takes `[worker]` and all tables below it.
    pub(super) fn take(mut section: Section) -> Result<Workers, BadFile> {
        let stages = section.section("stage")?;
        let draft = Draft::take(&mut section)?;
        let is_chosen = draft.kind.is_some() || draft.command.is_some();
        let mut named = BTreeMap::new();
        for (name, mut section) in section.tables()? {
            let own = Draft::take(&mut section)?;
            named.insert(name, own.over(&draft).spec(&section)?);
            section.finish()?;
        }
        let mut by_stage = BTreeMap::new();
        if let Some(mut stages) = stages {
            for (name, mut section) in stages.tables()? {
                let stage = name.parse().ok().filter(|stage| *stage < STAGES);
                let stage = stage.ok_or_else(|| {
                    stages.wrong(format!("there is no stage `{name}`"), "stages are 0, 1, 2 and 3: [worker.stage.2]")
                })?;
                let own = Draft::take(&mut section)?;
                by_stage.insert(stage, own.over(&draft).spec(&section)?);
                section.finish()?;
            }
            stages.finish()?;
        }
        let base = draft.spec(&section)?;
        let workers = Workers { base, stages: by_stage, named, is_chosen, is_there: true };
        for spec in workers.all() {
            if let Some(wanted) = spec.fallback.as_ref().filter(|wanted| !workers.named.contains_key(*wanted)) {
                let message = format!("`{}.fallback` names the worker `{wanted}`, which is not there", spec.name);
                return Err(section.wrong(message, &workers.suggestion(wanted)));
            }
        }
        section.finish()?;
        Ok(workers)
    }

    /// The worker for a stage of a story, or for what names one; a name that nobody has is passed over.
    pub fn choose(&self, stage: Option<u8>, named: Option<&str>) -> Choice<'_> {
        let own = named.and_then(|name| self.named.get(name)).map(|spec| (spec, Why::Named));
        let staged = || stage.and_then(|stage| Some((self.stages.get(&stage)?, Why::Stage(stage))));
        let (spec, why) = own.or_else(staged).unwrap_or((&self.base, Why::Default));
        Choice { spec, why }
    }

    /// The worker for a stage or a name, and after it those that take over while its account is at its limit.
    pub fn chain(&self, stage: Option<u8>, named: Option<&str>) -> Vec<&WorkerSpec> {
        let mut all = vec![self.choose(stage, named).spec];
        while let Some(next) = all.last().and_then(|last| self.named.get(last.fallback.as_ref()?)) {
            if all.iter().any(|known| known.name == next.name) {
                break;
            }
            all.push(next);
        }
        all
    }

    /// Whether a worker has this name.
    pub fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// What to do about a name that no worker has.
    pub fn suggestion(&self, name: &str) -> String {
        let known: Vec<&str> = self.named.keys().map(String::as_str).collect();
        match crate::find::nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("describe it in piton.toml: [worker.{name}]"),
            None => format!("workers with a name are: {}", known.join(", ")),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &WorkerSpec> {
        std::iter::once(&self.base).chain(self.stages.values()).chain(self.named.values())
    }

    /// Where the settings name no client, uses one that is installed: Claude Code, else Codex.
    pub(in super::super) fn detect(&mut self, path: &str) {
        let codex = Adapter::Codex(Agent::codex());
        if !self.is_chosen && self.base.adapter.missing(path, None).is_some() && codex.missing(path, None).is_none() {
            let is_default = |spec: &&mut WorkerSpec| spec.adapter == Adapter::Claude(Agent::claude());
            let others = self.stages.values_mut().chain(self.named.values_mut());
            std::iter::once(&mut self.base)
                .chain(others)
                .filter(is_default)
                .for_each(|spec| spec.adapter = codex.clone());
        }
    }
}

/// A table of a worker as it was written.
#[derive(Debug, Clone, Default)]
struct Draft {
    kind: Option<Kind>,
    command: Option<Vec<String>>,
    permissions: Option<Vec<String>>,
    arguments: Option<Vec<String>>,
    model: Option<String>,
    prompt_by: Option<PromptBy>,
    prompt: Option<String>,
    allow: Option<Vec<String>>,
    writable: Option<Vec<String>>,
    network: Option<bool>,
    fallback: Option<String>,
}

impl Draft {
    fn take(section: &mut Section) -> Result<Draft, BadFile> {
        let kind =
            match section.text("adapter")?.filter(|text| is_said(text)) {
                None => None,
                Some(word) => Some(Kind::parse(&word).ok_or_else(|| {
                    section.wrong(format!("there is no adapter {word:?}"), "claude, codex or command")
                })?),
            };
        let prompt_by = match section.text("prompt_by")?.filter(|text| is_said(text)).as_deref() {
            None => None,
            Some("stdin") => Some(PromptBy::Stdin),
            Some("file") => Some(PromptBy::File),
            Some("argument") => Some(PromptBy::Argument),
            Some(other) => {
                let message = format!("`{}.prompt_by` is {other:?}", section.name());
                return Err(section.wrong(message, "stdin, file or argument"));
            }
        };
        let draft = Draft {
            kind,
            prompt_by,
            command: section.texts("command")?,
            permissions: section.texts("permissions")?,
            arguments: section.texts("arguments")?,
            model: section.text("model")?,
            prompt: section.text("prompt")?,
            allow: section.texts("allow")?,
            writable: section.texts("writable")?,
            network: section.flag("network")?,
            fallback: section.text("fallback")?,
        };
        let is_empty = |command: &String| command.trim().is_empty();
        if draft.allow.iter().flatten().any(is_empty) {
            let message = format!("`{}.allow` holds an empty command", section.name());
            return Err(section.wrong(message, "write a command's first words: allow = [\"npm test\"]"));
        }
        Ok(draft)
    }

    fn kind(&self) -> Kind {
        self.kind.unwrap_or(if self.command.is_some() { Kind::Command } else { Kind::Claude })
    }

    /// What is not said here is as in the other. A command line belongs to its client: of another client's nothing is
    /// taken.
    fn over(self, base: &Draft) -> Draft {
        let kind = self.kind.or(self.command.is_some().then_some(Kind::Command)).unwrap_or(base.kind());
        let same = if kind == base.kind() { base.clone() } else { Draft::default() };
        Draft {
            kind: Some(kind),
            command: self.command.or(same.command),
            permissions: self.permissions.or(same.permissions),
            arguments: self.arguments.or(same.arguments),
            model: self.model.or(same.model),
            prompt_by: self.prompt_by.or(same.prompt_by),
            prompt: self.prompt.or_else(|| base.prompt.clone()),
            allow: self.allow.or_else(|| base.allow.clone()),
            writable: self.writable.or_else(|| base.writable.clone()),
            network: self.network.or(base.network),
            fallback: self.fallback.or_else(|| base.fallback.clone()),
        }
    }

    fn spec(self, section: &Section) -> Result<WorkerSpec, BadFile> {
        let kind = self.kind();
        let name = section.name().to_owned();
        let adapter = match kind {
            Kind::Claude => Adapter::Claude(self.agent(Agent::claude())),
            Kind::Codex => Adapter::Codex(self.agent(Agent::codex())),
            Kind::Command => {
                if self.model.as_ref().is_some_and(|model| is_said(model)) {
                    let message = format!("`{name}.model` says nothing to a command");
                    return Err(section.wrong(message, "name the model in `arguments`"));
                }
                let argv = self.command.clone().filter(|argv| !argv.is_empty()).ok_or_else(|| {
                    let message = format!("`{name}.command` is missing");
                    section.wrong(message, "write it as command = [\"my-agent\", \"--flag\"]")
                })?;
                let argv = argv.into_iter().chain(self.arguments.clone().unwrap_or_default()).collect();
                Adapter::Command(CommandLine { argv, prompt: self.prompt_by.unwrap_or_default() })
            }
        };
        Ok(WorkerSpec {
            name,
            adapter,
            preamble: self.prompt.filter(|text| is_said(text)),
            allow: self.allow.unwrap_or_default(),
            writable: self.writable.unwrap_or_default(),
            network: self.network.unwrap_or(false),
            fallback: self.fallback.filter(|text| is_said(text)),
        })
    }

    /// An agent with what the settings say; what they do not say is as usual.
    fn agent(&self, usual: Agent) -> Agent {
        Agent {
            program: self.command.clone().filter(|argv| !argv.is_empty()).unwrap_or(usual.program),
            permissions: self.permissions.clone().unwrap_or(usual.permissions),
            model: self.model.clone().filter(|text| is_said(text)),
            extra: self.arguments.clone().unwrap_or_default(),
        }
    }
}

/// Whether a text says anything. An empty one unsets what a worker would inherit.
fn is_said(text: &str) -> bool {
    !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn workers(text: &str) -> Workers {
        Settings::parse(text).unwrap_or_else(|error| panic!("{}", error.message)).workers
    }

    #[test]
    fn a_worker_inherits_what_it_does_not_say() {
        let text = "[worker]\nadapter = 'codex'\nmodel = 'small'\nallow = ['npm test']\nprompt = 'hello'\n\
                    [worker.stage.3]\nmodel = 'large'\n\
                    [worker.reviewer]\nadapter = 'claude'\nnetwork = true\n";
        let workers = workers(text);
        let line = |stage, named| workers.choose(stage, named).spec.adapter.command_line();
        assert_eq!(line(None, None), "codex --sandbox workspace-write --model small");
        assert_eq!(line(Some(2), None), "codex --sandbox workspace-write --model small");
        assert_eq!(line(Some(3), None), "codex --sandbox workspace-write --model large");
        // The options of one client say nothing to another.
        assert_eq!(line(Some(3), Some("reviewer")), "claude --permission-mode acceptEdits");
        let reviewer = workers.choose(None, Some("reviewer")).spec;
        assert_eq!((reviewer.allow.join(""), reviewer.network), ("npm test".to_owned(), true));
        assert_eq!(reviewer.preamble.as_deref(), Some("hello"));
        assert!(!workers.choose(None, None).spec.network);
    }

    #[test]
    fn a_name_counts_before_a_stage_and_a_stage_before_the_rest() {
        let workers = workers("[worker.stage.2]\nmodel = 'a'\n[worker.fast]\nmodel = 'b'\n");
        let why = |stage, named| workers.choose(stage, named).why;
        assert_eq!(why(Some(2), Some("fast")), Why::Named);
        assert_eq!(why(Some(2), Some("carpenter")), Why::Stage(2), "an executor that no worker is called after");
        assert_eq!(why(Some(1), None), Why::Default);
        assert_eq!(why(None, None), Why::Default);
    }

    #[test]
    fn fallbacks_follow_each_other_and_a_circle_ends() {
        let text = "[worker]\nfallback = 'second'\n[worker.second]\nadapter = 'codex'\nfallback = 'third'\n\
                    [worker.third]\ncommand = ['my-agent']\nfallback = 'second'\n[worker.alone]\nfallback = 'alone'\n";
        let workers = workers(text);
        let accounts = |named| workers.chain(None, named).into_iter().map(WorkerSpec::account).collect::<Vec<_>>();
        assert_eq!(accounts(None), ["claude claude", "codex codex", "command my-agent"]);
        assert_eq!(accounts(Some("third")), ["command my-agent", "codex codex"]);
        assert_eq!(accounts(Some("alone")), ["claude claude"]);
    }

    #[test]
    fn two_agents_of_one_interpreter_are_two_accounts() {
        let text = "[worker]\ncommand = ['python3', 'a.py']\nfallback = 'spare'\n[worker.spare]\n\
                    command = ['python3', 'b.py']\n[worker.same]\nprompt = 'hello'\n";
        let workers = workers(text);
        let account = |named| workers.choose(None, named).spec.account();
        assert_eq!(account(None), "command python3 a.py");
        assert_eq!(account(Some("spare")), "command python3 b.py");
        assert_eq!(account(Some("same")), account(None));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_meant() {
        for (text, message, hint) in [
            ("[worker]\nadapter = 'clyde'\n", "there is no adapter \"clyde\"", "claude, codex or command"),
            ("[worker]\nadapter = 'command'\n", "`worker.command` is missing", "write it as command"),
            ("[worker.x]\nadapter = 'command'\n", "`worker.x.command` is missing", "write it as command"),
            ("[worker]\nalow = ['x']\n", "there is no setting `worker.alow`", "did you mean `worker.allow`?"),
            ("[worker.fast]\nmodell = 'x'\n", "there is no setting `worker.fast.modell`", "`worker.fast.model`"),
            ("[worker]\nallow = [' ']\n", "`worker.allow` holds an empty command", "npm test"),
            ("[worker.stage.4]\nmodel = 'x'\n", "there is no stage `4`", "0, 1, 2 and 3"),
            ("[worker.stage.two]\nmodel = 'x'\n", "there is no stage `two`", "0, 1, 2 and 3"),
            ("[worker]\ncommand = ['a']\nmodel = 'x'\n", "`worker.model` says nothing to a command", "arguments"),
            (
                "[worker]\nfallback = 'secnd'\n[worker.second]\nmodel = 'x'\n",
                "`worker.fallback` names the worker `secnd`, which is not there",
                "did you mean `second`?",
            ),
            ("[worker]\nfallback = 'x'\n", "`worker.fallback` names the worker `x`, which is not there", "[worker.x]"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert_eq!(error.message, message);
            assert!(error.hint.clone().unwrap_or_default().contains(hint), "{text}: {:?}", error.hint);
        }
    }

    #[test]
    fn a_client_that_is_installed_is_used_where_none_is_named() {
        let directory = std::env::temp_dir().join(format!("piton-clients-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let put = |name: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = directory.join(name);
            std::fs::write(&path, "#!/bin/sh\n").expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        };
        let path = directory.display().to_string();
        let kind = |text: &str| {
            let mut workers = workers(text);
            workers.detect(&path);
            workers.choose(None, None).spec.adapter.kind()
        };
        assert_eq!(kind(""), Kind::Claude, "neither is there: the error names it");
        put("codex");
        assert_eq!(kind(""), Kind::Codex);
        assert_eq!(kind("[worker]\nallow = ['make']\n"), Kind::Codex);
        assert_eq!(kind("[worker]\nadapter = 'claude'\n"), Kind::Claude);
        put("claude");
        assert_eq!(kind(""), Kind::Claude);
        std::fs::remove_dir_all(&directory).expect("it is ours");
    }
}
