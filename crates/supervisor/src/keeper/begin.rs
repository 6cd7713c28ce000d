//! The worker before it becomes its program.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::environment::clear_foreign;
use crate::home::{Claim, Home};
use crate::identity::Identity;
use crate::launch::Input;
use crate::tree::MARK;

/// Writes down who it is, and becomes the program. Returns only when it cannot.
///
/// Standard input is a pipe to the keeper: it is closed when this succeeds, and else gets the reason.
pub(super) fn begin(home: &Home) -> Result<(), String> {
    // The copy is closed when the program begins.
    let status = io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let message = become_program(home);
    File::from(status).write_all(message.as_bytes()).map_err(|error| error.to_string())?;
    Err(message)
}

fn become_program(home: &Home) -> String {
    match prepare(home) {
        Ok(mut command) => {
            let error = command.exec();
            format!("cannot start {}: {error}", command.get_program().display())
        }
        Err(message) => message,
    }
}

fn prepare(home: &Home) -> Result<Command, String> {
    let own = |error: io::Error| format!("cannot use {}: {error}", home.path.display());
    // Away from every terminal, and a group of its own that can be signalled.
    rustix::process::setsid().map_err(|error| format!("cannot begin a session: {error}"))?;
    let Claim { launch, mark, .. } = home.claimed().map_err(own)?.ok_or("nothing is to be started")?;
    let identity = Identity::current().ok_or("cannot tell this process from others: /proc is missing")?;
    home.write_identity("worker", &identity).map_err(own)?;
    let (name, input) = match &launch.input {
        Input::Nothing => ("/dev/null".into(), File::open("/dev/null")),
        Input::File(file) => (file.clone(), File::open(file)),
    };
    let input = input.map_err(|error| format!("cannot open its input {}: {error}", name.display()))?;
    rustix::stdio::dup2_stdin(input).map_err(|error| format!("cannot replace standard input: {error}"))?;
    std::env::set_current_dir(&launch.directory)
        .map_err(|error| format!("cannot enter {}: {error}", launch.directory.display()))?;
    let (program, arguments) = launch.argv.split_first().ok_or("no program is named")?;
    let mut command = Command::new(program);
    clear_foreign(&mut command);
    command.args(arguments).envs(launch.set.iter().map(|(name, value)| (name, value)));
    for name in &launch.unset {
        command.env_remove(name);
    }
    // Whoever started us may be a worker too.
    let marks = match std::env::var(MARK) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{mark}"),
        _ => mark,
    };
    command.env(MARK, marks);
    Ok(command)
}
