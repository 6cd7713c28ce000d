//! Commands that prove something, and which of them may run.
//!
//! A repository is untrusted input. A command that it names runs only after the user approved it once; the approval
//! is kept outside of the repository, bound to the command and to the workspace.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use piton_model::hint::verbs;
use piton_model::{Dialect, Evidence, Refusal, Time, UnitRef, meant_gate, secret};
use piton_store::journal::Hash;
use piton_supervisor::{clear_foreign, tree_of};

use crate::record::{DiskFiles, RecordError};
use crate::run::{BadFile, SETTINGS, Settings};
use crate::target::Target;
use crate::{Workspace, find};

/// How much of the end of an output is kept.
const TAIL_LINES: usize = 5;
const TAIL_BYTES: usize = 2000;

/// Runs a command in the workspace's root, by a shell, and keeps what proves how it ended.
pub fn run_evidence(workspace: &Workspace, command: &str) -> io::Result<Evidence> {
    let tree = tree_of(workspace.root());
    let mut shell = Command::new("/bin/sh");
    clear_foreign(&mut shell);
    let output = shell.arg("-c").arg(command).current_dir(workspace.root()).stdin(Stdio::null()).output()?;
    let mut all = output.stdout;
    all.extend_from_slice(&output.stderr);
    // Ended by a signal: the shell's convention has no better number.
    let exit_code = output.status.code().unwrap_or(128);
    Ok(evidence_of(command, exit_code, &all, tree))
}

/// What proves how a command ended, from what it printed.
pub(crate) fn evidence_of(command: &str, exit_code: i32, printed: &[u8], tree: Option<String>) -> Evidence {
    let text = String::from_utf8_lossy(printed);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let tail: String = tail.chars().rev().take(TAIL_BYTES).collect::<Vec<_>>().into_iter().rev().collect();
    let (digest, tail) = (format!("sha256:{}", Hash::of(printed)), secret::mask(&tail).into_owned());
    Evidence { command: command.to_owned(), exit_code, digest, tail, tree }
}

/// The command of a unit's gate or acceptance criterion: the one that a build's specification names, else the one of
/// `[gates]` in the settings.
pub fn gate_command(workspace: &Workspace, wanted: &UnitRef, gate: &str, now: Time) -> Result<String, RecordError> {
    let target = Target::find(workspace, wanted, now)?;
    let files = DiskFiles::new(&*workspace.disk, None);
    let specified = match target.dialect {
        Dialect::Build => piton_dialect::build::gate_command(&target.place, &files, gate, now),
        Dialect::Pipeline | Dialect::Plan | Dialect::Task | Dialect::Crew => None,
    };
    let configured = configured_gates(workspace)?;
    if let Some(command) = specified.or_else(|| named_command(&configured, gate).cloned()) {
        return Ok(command);
    }
    let found = find(workspace, wanted, now).map_err(RecordError::NotFound)?;
    let known: Vec<&str> = found.unit.gates.iter().map(|known| known.name.as_str()).collect();
    let name = &target.name;
    let refusal = Refusal::missing(format!("no command is known for gate {gate} of {name}"));
    // A gate that is not there cannot be judged either.
    Err(RecordError::Refused(match known.contains(&gate) {
        true => refusal
            .hint(format!("name it in {SETTINGS}: [gates] {} = \"COMMAND\"", toml_key(gate)))
            .hint(verbs::GATE.on(name).word("pass").name(gate, "NAME").to("or judge it yourself")),
        false if known.is_empty() => refusal.hint(verbs::STATUS.on(name).to("it has no gates; see")),
        false => refusal.hint(format!("its gates are: {}", known.join(", "))),
    }))
}

/// The commands of `[gates]`, by the names of gates and acceptance criteria.
pub(crate) fn configured_gates(workspace: &Workspace) -> Result<BTreeMap<String, String>, RecordError> {
    let bad = |error: BadFile| {
        let refusal = Refusal::document(format!("{}: {}", error.path, error.message));
        RecordError::Refused(error.hint.into_iter().fold(refusal, Refusal::hint))
    };
    Settings::load(workspace).map(|settings| settings.gates).map_err(bad)
}

/// The command of a gate among those of the settings, by the name that means it.
pub(crate) fn named_command<'g>(gates: &'g BTreeMap<String, String>, gate: &str) -> Option<&'g String> {
    gates.get(meant_gate(gates.keys().map(String::as_str), gate)?)
}

/// A name as it is written before an equals sign in a settings file.
pub(crate) fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

/// A command of a repository, as something that can be approved.
#[derive(Debug, Clone)]
pub struct Trust {
    digest: String,
}

impl Trust {
    /// The command in this workspace.
    pub fn of(workspace: &Workspace, command: &str) -> Trust {
        let text = format!("{}\0{command}", workspace.root().display());
        Trust { digest: Hash::of(text.as_bytes()).to_string() }
    }
}

/// Whether the user approved the command.
pub fn is_approved(trust: &Trust) -> bool {
    approvals()
        .and_then(|path| std::fs::read_to_string(path).ok())
        .is_some_and(|known| known.lines().any(|line| line == trust.digest))
}

/// Keeps the user's approval.
pub fn approve(trust: &Trust) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if is_approved(trust) {
        return Ok(());
    }
    let path = approvals().ok_or_else(|| io::Error::other("there is no home directory to keep approvals in"))?;
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(format!("{}\n", trust.digest).as_bytes())?;
    file.sync_all()
}

/// Where approvals are kept: outside of every repository.
fn approvals() -> Option<PathBuf> {
    Some(state_directory()?.join("approved"))
}

/// Where a user's decisions are kept.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("piton"))
}
