//! What clients did not let workers do: offered to a person as one approval, and allowed from then on.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use piton_model::Invocation;
use piton_model::hint::verbs;
use piton_store::disk::Access;
use piton_store::journal::Hash;
use piton_supervisor::{Allow, Denied, Remedy};
use serde_json::{Value, json};

use super::lead::Lead;
use super::{RunError, failed, runs};
use crate::Workspace;
use crate::evidence::state_directory;

/// What was denied and is not allowed yet.
const DENIED: &str = ".piton/run/denied.json";

/// The command that makes Piton allow it.
pub fn allow() -> Invocation {
    verbs::APPROVE.call().flag("--denied")
}

/// Something that a worker was denied, and that can be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedCommand {
    /// The unit whose worker it was.
    pub unit: String,
    /// The command, or the rule of the client.
    pub command: String,
}

/// What is denied and not allowed yet.
pub fn denied(workspace: &Workspace) -> Vec<DeniedCommand> {
    let bytes = workspace.disk.read(DENIED).map(|content| content.bytes).unwrap_or_default();
    let all: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let each = |value: &Value| {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(DeniedCommand { unit: text("unit")?, command: text("command")? })
    };
    all.as_array().into_iter().flatten().filter_map(each).collect()
}

/// Allows all that was denied, from the next worker on. Returns what that is.
pub fn allow_denied(workspace: &Workspace) -> Result<Vec<DeniedCommand>, RunError> {
    let all = denied(workspace);
    keep(workspace, &all).map_err(failed)?;
    if !all.is_empty() {
        workspace.disk.remove(DENIED).map_err(failed)?;
    }
    Ok(all)
}

/// What a person allowed after it was denied.
pub(super) fn allowed(workspace: &Workspace) -> Vec<Allow> {
    let text = allowed_file(workspace).and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let each = |line: &str| serde_json::from_str::<String>(line).ok();
    let exact = |text: String| match Allow::parse(&text) {
        Allow::Tool(rule) => Allow::Tool(rule),
        Allow::Prefix(command) | Allow::Exact(command) => Allow::Exact(command),
    };
    text.lines().filter_map(each).map(exact).collect()
}

/// Adds to what is allowed, outside of the repository.
fn keep(workspace: &Workspace, all: &[DeniedCommand]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let path = allowed_file(workspace).ok_or_else(|| io::Error::other("there is no home directory to keep it in"))?;
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    for each in all {
        let line = Value::from(each.command.as_str()).to_string();
        if !known.lines().any(|known| known == line) {
            file.write_all(format!("{line}\n").as_bytes())?;
        }
    }
    file.sync_all()
}

fn allowed_file(workspace: &Workspace) -> Option<PathBuf> {
    let digest = Hash::of(workspace.root().display().to_string().as_bytes());
    Some(state_directory()?.join("allowed").join(digest.to_string()))
}

impl Lead<'_> {
    /// Keeps what a lane's worker was denied, so that a person can allow it.
    pub(super) fn note_denials(&mut self, unit: &str, all: &[Denied]) {
        let mut known = denied(self.workspace);
        let before = known.len();
        for each in all {
            if let Remedy::Allow(command) = &each.remedy
                && !known.iter().any(|known| known.command == *command)
            {
                known.push(DeniedCommand { unit: unit.to_owned(), command: command.clone() });
            }
        }
        if known.len() > before {
            write(self.workspace, &known);
        }
    }

    /// A run offers what was denied in it and in others that are not finished.
    pub(super) fn forget_denials(&self) {
        let others = runs::all(self.workspace).filter(|run| !run.is_finished && run.number != self.run.number);
        let open: BTreeSet<String> = others.flat_map(|run| run.units).collect();
        let mut known = denied(self.workspace);
        let before = known.len();
        known.retain(|each| open.contains(&each.unit));
        if known.len() < before {
            write(self.workspace, &known);
        }
    }
}

/// Whether a lane is paused for what its client denied.
pub(super) fn is_denial(reason: &str) -> bool {
    reason.contains("; denied: ")
}

/// Writes down what is denied. Without it the reason still says what was denied.
fn write(workspace: &Workspace, all: &[DeniedCommand]) {
    let list: Vec<Value> = all.iter().map(|each| json!({ "unit": each.unit, "command": each.command })).collect();
    let text = format!("{:#}\n", Value::from(list));
    let _ = piton_store::replace(&*workspace.disk, DENIED, text.as_bytes(), Access::Private);
}

/// What was denied, with how to allow it: a reason for people.
pub(super) fn reason(all: &[Denied]) -> String {
    let names: Vec<String> = all.iter().map(Denied::to_string).collect();
    let has = |wanted: fn(&Remedy) -> bool| all.iter().any(|denied| wanted(&denied.remedy));
    let mut advice = Vec::new();
    if has(|remedy| matches!(remedy, Remedy::Allow(_))) {
        advice.push(allow().to("allow it with").to_string());
    }
    if has(|remedy| *remedy == Remedy::Network) {
        advice.push("let workers use the network: network = true in [worker] of piton.toml".to_owned());
    }
    if has(|remedy| *remedy == Remedy::Write) {
        advice.push("let workers write there: writable = [DIRECTORY] in [worker] of piton.toml".to_owned());
    }
    let advice = if advice.is_empty() { String::new() } else { format!("; {}", advice.join("; ")) };
    format!("denied: {}{advice}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_what_was_denied_and_what_helps() {
        let denied = |what: &str, remedy| Denied { tool: "Bash".to_owned(), what: what.to_owned(), remedy };
        let npm = denied("npm ci", Remedy::Allow("npm ci".to_owned()));
        assert_eq!(reason(std::slice::from_ref(&npm)), "denied: Bash(npm ci); allow it with: piton approve --denied");
        let all = [npm, denied("curl x", Remedy::Network), denied("touch /x", Remedy::Write)];
        assert_eq!(
            reason(&all),
            "denied: Bash(npm ci), Bash(curl x), Bash(touch /x); allow it with: piton approve --denied; \
             let workers use the network: network = true in [worker] of piton.toml; \
             let workers write there: writable = [DIRECTORY] in [worker] of piton.toml"
        );
        assert_eq!(reason(&[denied("x", Remedy::Unknown)]), "denied: Bash(x)");
    }
}
