//! Commands that prove something, and which of them may run.
//!
//! A repository is untrusted input. A command that it names runs only after the user approved it once; the approval
//! is kept outside of the repository, bound to the command and to the workspace.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use piton_model::{Dialect, Evidence, Refusal, Time, UnitRef, secret};
use piton_store::journal::Hash;
use piton_supervisor::tree_of;

use crate::Workspace;
use crate::record::{DiskFiles, RecordError};
use crate::target::Target;

/// How much of the end of an output is kept.
const TAIL_LINES: usize = 5;
const TAIL_BYTES: usize = 2000;

/// Runs a command in the workspace's root, by a shell, and keeps what proves how it ended.
pub fn run_evidence(workspace: &Workspace, command: &str) -> io::Result<Evidence> {
    let tree = tree_of(workspace.root());
    let output =
        Command::new("/bin/sh").arg("-c").arg(command).current_dir(workspace.root()).stdin(Stdio::null()).output()?;
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

/// The command that a build's specification names for a gate.
pub fn gate_command(workspace: &Workspace, wanted: &UnitRef, gate: &str, now: Time) -> Result<String, RecordError> {
    let target = Target::find(workspace, wanted, now)?;
    let files = DiskFiles::new(&*workspace.disk, None);
    let (command, known) = match target.dialect {
        Dialect::Build => (
            piton_dialect::build::gate_command(&target.place, &files, gate, now),
            piton_dialect::build::spec_of(&target.place, &files, now).map_or_else(Vec::new, |spec| spec.gates),
        ),
        Dialect::Pipeline | Dialect::Plan | Dialect::Task | Dialect::Crew => (None, Vec::new()),
    };
    command.ok_or_else(|| {
        let message = format!("no specification of {} names a command for gate {gate}", target.name);
        let names: Vec<_> = known.iter().map(|rule| rule.name.as_str()).collect();
        // A gate that is not there cannot be judged either.
        let hint = match names.is_empty() || names.contains(&gate) {
            true => format!("judge it yourself: piton gate {} pass {gate}", target.name),
            false => format!("its gates are: {}", names.join(", ")),
        };
        RecordError::Refused(Refusal::missing(message).hint(hint))
    })
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
