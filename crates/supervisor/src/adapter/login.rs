//! Whether a client is logged in, by its own answer.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::Kind;
use crate::environment::clear_foreign;
use crate::git::process::{in_own_session, run};

/// How long a client may take to answer.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Whether a client is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// It says so.
    Yes,
    /// It says that it is not.
    No,
    /// It gives no answer that is understood.
    Unknown,
}

/// Asks a client whether it is logged in. Nothing is sent to its service.
pub fn login(kind: Kind, program: &Path) -> Login {
    let arguments: &[&str] = match kind {
        Kind::Claude => &["auth", "status"],
        Kind::Codex => &["login", "status"],
        Kind::Command => return Login::Unknown,
    };
    let mut command = in_own_session(program);
    clear_foreign(&mut command);
    match run(command.args(arguments).env_remove("CLAUDECODE"), &[], TIME_LIMIT) {
        Ok(ended) => understood(kind, ended.status.success(), &ended.out, &ended.err),
        Err(_) => Login::Unknown,
    }
}

fn understood(kind: Kind, is_success: bool, out: &[u8], err: &[u8]) -> Login {
    match kind {
        Kind::Claude => match serde_json::from_slice::<Value>(out).ok().and_then(|said| said["loggedIn"].as_bool()) {
            Some(true) => Login::Yes,
            Some(false) => Login::No,
            None => Login::Unknown,
        },
        Kind::Codex if is_success => Login::Yes,
        Kind::Codex if String::from_utf8_lossy(err).contains("Not logged in") => Login::No,
        Kind::Codex | Kind::Command => Login::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_clients_are_understood() {
        for (kind, is_success, out, err, want) in [
            (Kind::Claude, true, "{\"loggedIn\": true, \"authMethod\": \"api_key\"}", "", Login::Yes),
            (Kind::Claude, false, "{\"loggedIn\": false, \"authMethod\": \"none\"}", "", Login::No),
            (Kind::Claude, false, "", "error: unknown command 'auth'", Login::Unknown),
            (Kind::Codex, true, "", "Logged in using an API key", Login::Yes),
            (Kind::Codex, false, "", "WARNING: x\nNot logged in\n", Login::No),
            (Kind::Codex, false, "", "error: unrecognized subcommand", Login::Unknown),
        ] {
            assert_eq!(understood(kind, is_success, out.as_bytes(), err.as_bytes()), want, "{kind:?} {out} {err}");
        }
        assert_eq!(login(Kind::Claude, Path::new("/nowhere/claude")), Login::Unknown);
    }
}
