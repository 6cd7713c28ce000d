//! Which variables of this process reach the commands that it starts.

use std::ffi::OsStr;
use std::process::Command;

/// Variables of git that are the user's: who commits, where configuration and git itself are, and how a remote repository
/// is reached, from which a partial clone gets files. All others would send git to another repository or index, or let it
/// understand its arguments differently, and are removed.
const KEPT: [&str; 11] = [
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_HTTP_",
    "GIT_PROXY_",
    "GIT_SSH",
    "GIT_SSH_",
    "GIT_SSL_",
];

/// Variables that say how git talks to a person or a log. A worker's git may have them; they change no repository.
const DIALOGUE: [&str; 9] = [
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_MERGE_AUTOEDIT",
    "GIT_PAGER",
    "GIT_PAGER_IN_USE",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
    "GIT_TRACE_",
];

/// Variables of one worker or session of Piton. They are wrong for a process that works on something else.
const WORKERS: [&str; 12] = [
    "PITON_AGENT",
    "PITON_ATTEMPT",
    "PITON_CHECKPOINT",
    "PITON_GIT",
    "PITON_HELD",
    "PITON_INBOX",
    "PITON_PROMPT",
    "PITON_SESSION",
    "PITON_STAGE",
    "PITON_STEP",
    "PITON_STOP_AT",
    "PITON_UNIT",
];

/// Removes from a command the variables that name another repository, worker or session. The lead may have been started by
/// a git alias, a git hook or a worker.
pub fn clear_foreign(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let is_foreign = name.to_str().is_some_and(|name| WORKERS.contains(&name));
        if is_foreign || (is_foreign_to_git(&name) && !is_one_of(&DIALOGUE, &name)) {
            command.env_remove(name);
        }
    }
}

/// Whether a variable changes what Piton's own git does.
pub(crate) fn is_foreign_to_git(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("GIT_") && !is_one_of(&KEPT, name)
}

/// Whether a name is in a list, in which an entry with an underscore at its end stands for all that begin so.
fn is_one_of(list: &[&str], name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    list.iter().any(|known| match known.ends_with('_') {
        true => name.starts_with(known),
        false => name == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_and_configuration_are_the_users_and_nothing_else_is() {
        for (name, want) in [
            ("GIT_DIR", true),
            ("GIT_TRACE", true),
            ("GIT_CONFIG_COUNT", true),
            ("GIT_CONFIG_KEY_0", true),
            ("GIT_ICASE_PATHSPECS", true),
            ("GIT_AUTHOR_NAME", false),
            ("GIT_COMMITTER_EMAIL", false),
            ("GIT_CONFIG_GLOBAL", false),
            ("GIT_CONFIG_NOSYSTEM", false),
            ("GIT_SSH_COMMAND", false),
            ("GIT_SSL_CAINFO", false),
            ("GITHUB_TOKEN", false),
            ("PATH", false),
        ] {
            assert_eq!(is_foreign_to_git(OsStr::new(name)), want, "{name}");
        }
        assert!(is_one_of(&DIALOGUE, OsStr::new("GIT_EDITOR")) && is_one_of(&DIALOGUE, OsStr::new("GIT_TRACE_CURL")));
        assert!(!is_one_of(&DIALOGUE, OsStr::new("GIT_DIR")));
    }
}
