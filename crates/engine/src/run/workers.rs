//! Which worker a lane gets, how it finds Piton, and what it may do.
//!
//! Workers call Piton as `piton`, plainly: what prompts, briefs and hints say works as typed. A variable (`"$PITON"`) would
//! be refused by Claude Code, which cannot check it.

use std::path::{Path, PathBuf};

use piton_model::fleet::{End, FleetEvent, LaneAt, LaneState, Standing};
use piton_model::{Dialect, LedWork, Time, USED_UP};
use piton_store::disk::{Access, make_directories};
use piton_store::journal::Hash;
use piton_supervisor::{Allow, Grants, Kind, Limit, Wait, commit_directories, is_in_git, quoted};

use super::RunPlan;
use super::denials::allowed;
use super::lead::Lead;
use super::settings::{Choice, WorkerSpec};
use super::work::{LaneWork, Work};
use crate::evidence::state_directory;
use crate::{Trust, is_approved};

/// What Piton writes while a worker records: journals, and the locks of files that units share. Whose journals they are,
/// the lead's memory and the homes of workers are beside them, and no worker's to write.
const RECORDS: [&str; 2] = [".piton/units", ".piton/shared"];

/// What workers call Piton by its own name.
const NAME: &str = "piton";

impl RunPlan {
    /// The worker that a lane would get at a stage, and why.
    pub fn worker_for(&self, lane: usize, stage: u8) -> Choice<'_> {
        let work = &self.work.lanes[lane];
        self.settings.workers.choose(staged(work, stage), work.worker.as_deref())
    }
}

/// The stage that chooses a worker: stories alone have stages.
fn staged(work: &LaneWork, stage: u8) -> Option<u8> {
    (work.dialect == Dialect::Pipeline).then_some(stage)
}

impl Lead<'_> {
    /// The worker for a lane now: as the settings choose it, or its fallback while its account is at its limit.
    pub(super) fn worker_of(&self, at: LaneAt) -> WorkerSpec {
        let chain = self.workers_of(at);
        let is_free = |spec: &&&WorkerSpec| !self.work.fleet.parked.contains_key(&spec.account());
        let chosen = chain.iter().find(is_free).or(chain.first());
        (*chosen.expect("a lane has a worker")).clone()
    }

    /// The workers that a lane may have at its stage, the preferred one first.
    fn workers_of(&self, at: LaneAt) -> Vec<&WorkerSpec> {
        let work = &self.work.lanes[at];
        let stage = staged(work, self.work.fleet.lanes[at].stage);
        self.settings.workers.chain(stage, work.worker.as_deref())
    }

    /// Tells the fleet which accounts each lane may use: that changes with its stage.
    pub(super) fn refresh_accounts(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            self.work.fleet.lanes[at].accounts = self.workers_of(at).into_iter().map(WorkerSpec::account).collect();
        }
    }

    /// Whether a worker can be started for a lane now. Where none can, that is answered here, before anything is made or
    /// claimed: the client cannot be used, or its account is at its limit.
    pub(super) fn can_start(&mut self, at: LaneAt) -> bool {
        let spec = self.worker_of(at);
        if let Some(reason) = self.unavailable(&spec) {
            self.note_unavailable(&spec, &reason);
            self.queue.push_back(FleetEvent::StartFailed { lane: at, message: reason });
            return false;
        }
        if let Some(until) = self.work.fleet.parked.get(&spec.account()).copied() {
            let end = End::Limited { until, account: false };
            let event = FleetEvent::WorkerExited { lane: at, end, standing: Standing::Open, words: None };
            self.queue.push_back(event);
            return false;
        }
        if let LaneState::Working(worker) = &mut self.work.fleet.lanes[at].state {
            worker.account = spec.account();
        }
        true
    }

    /// Remembers that workers with an account cannot work, so that no other is started in vain.
    pub(super) fn note_unavailable(&mut self, spec: &WorkerSpec, reason: &str) {
        if self.unavailable.insert(spec.account(), reason.to_owned()).is_none() {
            self.note_issue(reason);
        }
    }

    fn note_issue(&mut self, reason: &str) {
        let issue = ("start".to_owned(), "worker".to_owned(), reason.to_owned());
        if !self.memory.issues.contains(&issue) {
            self.memory.issues.push(issue);
        }
    }

    /// The worker for a lane whose directory is there, or why none can be started: a program that a relative path names
    /// may be missing there.
    pub(super) fn worker_in_place(&mut self, at: LaneAt) -> Result<WorkerSpec, String> {
        let spec = self.worker_of(at);
        match spec.adapter.missing(&self.worker_path(), Some(&self.directory_of(at))) {
            Some(reason) => {
                self.note_issue(&reason);
                Err(reason)
            }
            None => Ok(spec),
        }
    }

    /// The kind of the worker that a lane has, or had last: what it printed and its session are understood by it.
    pub(super) fn kind_of(&self, at: LaneAt) -> Kind {
        let memory = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        memory.and_then(|memory| memory.kind).unwrap_or_else(|| self.worker_of(at).adapter.kind())
    }

    /// Why no worker of this kind can be started now.
    fn unavailable(&self, spec: &WorkerSpec) -> Option<String> {
        let known = self.unavailable.get(&spec.account()).cloned();
        known.or_else(|| spec.adapter.missing(&self.worker_path(), None))
    }

    /// The directories in which workers look for programs, so that `piton` is this program.
    pub(super) fn worker_path(&self) -> String {
        let (path, program) = (std::env::var("PATH").unwrap_or_default(), &self.surroundings.program);
        match program.ends_with(NAME) {
            true => path_to(program, &path),
            // Without a link, workers still find a `piton` of another version, or none, and say so.
            false => link_to(program).map_or(path.clone(), |link| path_to(&link, &path)),
        }
    }

    /// How long a limit is waited for that a lane's worker ran into.
    /// What a lane's last worker waited for, for people.
    pub(super) fn limit_of(&self, at: LaneAt) -> String {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        known.and_then(|known| known.limit.clone()).unwrap_or_else(|| USED_UP.to_owned())
    }

    /// A lane that waits for its own limit, or for that of every account that its next worker could use.
    pub(super) fn parked(&self, at: LaneAt, until: Time) -> LedWork {
        let is_own = self.work.fleet.lanes[at].state.waits_until().is_some();
        let why = if is_own { self.limit_of(at) } else { USED_UP.to_owned() };
        LedWork::Parked { until, why }
    }

    pub(super) fn wait_for(&self, at: LaneAt, limit: &Limit) -> Wait {
        let times = self.memory.lanes.get(&self.work.fleet.lanes[at].name).map_or(1, |lane| lane.limits_in_a_row);
        limit.wait(self.time().unix_seconds(), times)
    }

    /// What a lane's worker may do beside editing its own directory.
    pub(super) fn grants(&self, at: LaneAt, spec: &WorkerSpec, directory: &Path) -> Grants {
        let root = self.workspace.root();
        let mut records = commit_directories(directory);
        for name in RECORDS {
            // One that is missing could not be granted.
            let _ = make_directories(&*self.workspace.disk, name, Access::Private);
            records.push(root.join(name));
        }
        records.extend(spec.writable.iter().map(|path| resolved(root, path)));
        let piton = vec![NAME.to_owned(), quoted(&self.surroundings.program.to_string_lossy())];
        Grants {
            allow: self.allowed_commands(spec),
            piton,
            readable: (directory != root).then(|| root.to_owned()).into_iter().collect(),
            documents: self.editable(at, spec.adapter.kind()),
            records,
            network: spec.network,
            in_git: is_in_git(directory),
        }
    }

    /// Approved gates, approved build tools, and what was denied once and then allowed.
    fn allowed_commands(&self, spec: &WorkerSpec) -> Vec<Allow> {
        let is_approved = |command: &&String| is_approved(&Trust::of(self.workspace, command));
        let gates = gate_commands(&self.work, &self.settings.gates);
        let gates = gates.iter().filter(is_approved).map(|command| Allow::Prefix(command.clone()));
        let tools = spec.allow.iter().filter(is_approved).map(|text| Allow::parse(text));
        gates.chain(tools).chain(allowed(self.workspace)).collect()
    }

    /// The documents of a lane's unit that its worker may write by hand, as its protocol says.
    fn editable(&self, at: LaneAt, kind: Kind) -> Vec<PathBuf> {
        let (root, work) = (self.workspace.root(), &self.work.lanes[at]);
        if work.dialect == Dialect::Pipeline {
            return vec![root.join(self.document_of(at))];
        }
        let Ok(found) = crate::find(self.workspace, &work.unit, self.time()) else { return Vec::new() };
        let paths = found.unit.documents.iter().map(|document| document.path.to_string());
        let mut all: Vec<PathBuf> = Vec::new();
        for path in paths.flat_map(|path| editable_paths(work.dialect, &path, kind)) {
            let path = root.join(path);
            if !all.contains(&path) {
                all.push(path);
            }
        }
        all
    }
}

/// The commands of all gates of a run.
pub(super) fn gate_commands(work: &Work, gates: &std::collections::BTreeMap<String, String>) -> Vec<String> {
    let named = work.groups.iter().flat_map(|group| group.gates.iter().map(|(_, command)| command.clone()));
    gates.values().cloned().chain(named).collect()
}

/// What of the surroundings of a document its worker may write: its directory, which its protocol keeps more in. The
/// workspace's root is nobody's: there a single file is named, where the client can be told of one.
fn editable_paths(dialect: Dialect, document: &str, kind: Kind) -> Vec<String> {
    let directory = match dialect {
        Dialect::Task => document.split_once("/checkpoints/").map(|(before, _)| before),
        Dialect::Crew => document.split_once("agent_checkpoints/").map(|(before, _)| before.trim_end_matches('/')),
        Dialect::Pipeline | Dialect::Plan | Dialect::Build => None,
    };
    let directory = directory.or_else(|| document.rsplit_once('/').map(|(directory, _)| directory));
    match directory {
        Some("") if dialect == Dialect::Crew => {
            ["agent_checkpoints", "agent_comms", ".epic_locks"].map(str::to_owned).to_vec()
        }
        Some("") | None if kind == Kind::Claude => vec![document.to_owned()],
        Some("") | None => Vec::new(),
        Some(directory) => vec![directory.to_owned()],
    }
}

/// A directory that a person named: absolute, below the home directory, or below the workspace's root.
pub(super) fn resolved(root: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => root.join(path),
    }
}

/// The search path by which `piton` is this program. Where another one would be found, ours comes first; else it comes
/// last, so that nothing else changes.
fn path_to(program: &Path, path: &str) -> String {
    let Some(directory) = program.parent().and_then(Path::to_str) else { return path.to_owned() };
    let found = std::env::split_paths(path).map(|directory| directory.join(NAME)).find(|found| found.is_file());
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match found {
        Some(found) if real(&found).is_some() && real(&found) == real(program) => path.to_owned(),
        Some(_) => format!("{directory}:{path}"),
        None if path.is_empty() => directory.to_owned(),
        None => format!("{path}:{directory}"),
    }
}

/// A program whose file has another name, by a link with the right one. It is outside of every repository, so that no
/// worker can put something else there.
fn link_to(program: &Path) -> Option<PathBuf> {
    let digest = Hash::of(program.as_os_str().as_encoded_bytes()).to_string();
    let link = state_directory()?.join("programs").join(&digest[..16]).join(NAME);
    std::fs::create_dir_all(link.parent()?).ok()?;
    match std::os::unix::fs::symlink(program, &link) {
        Ok(()) => Some(link),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Some(link),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_find_this_program_by_its_name() {
        let base = std::env::temp_dir().join(format!("piton-path-{}", std::process::id()));
        let (ours, other, empty) = (base.join("ours"), base.join("other"), base.join("empty"));
        for directory in [&ours, &other, &empty] {
            std::fs::create_dir_all(directory).expect("a directory");
        }
        for directory in [&ours, &other] {
            std::fs::write(directory.join(NAME), "").expect("a file");
        }
        let text = |path: &Path| path.display().to_string();
        let (us, them, none) = (text(&ours), text(&other), text(&empty));
        for (path, want) in [
            (none.clone(), format!("{none}:{us}")),
            (String::new(), us.clone()),
            (format!("{us}:{them}"), format!("{us}:{them}")),
            (format!("{them}:{us}"), format!("{us}:{them}:{us}")),
        ] {
            assert_eq!(path_to(&ours.join(NAME), &path), want, "{path}");
        }
        std::fs::remove_dir_all(&base).expect("it is ours");
    }

    #[test]
    fn documents_are_granted_and_the_root_never_is() {
        for (dialect, document, want) in [
            (Dialect::Plan, "plans/x/plan.md", vec!["plans/x"]),
            (Dialect::Plan, "plan.md", vec![]),
            (Dialect::Build, "prd-pipeline/checkpoints/PRD-1.json", vec!["prd-pipeline/checkpoints"]),
            (Dialect::Task, "progress/checkpoints/copy-T1.json", vec!["progress"]),
            (Dialect::Task, "progress/STATUS.md", vec!["progress"]),
            (Dialect::Crew, "epics/e1/agent_checkpoints/a.json", vec!["epics/e1"]),
            (Dialect::Crew, "agent_checkpoints/a.json", vec!["agent_checkpoints", "agent_comms", ".epic_locks"]),
            (Dialect::Crew, "EPIC_README.md", vec![]),
        ] {
            assert_eq!(editable_paths(dialect, document, Kind::Codex), want, "{document}");
        }
        assert_eq!(editable_paths(Dialect::Crew, "EPIC_README.md", Kind::Claude), ["EPIC_README.md"]);
    }
}
