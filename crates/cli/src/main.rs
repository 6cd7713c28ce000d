//! The command line: arguments in, one call to the engine, text or JSON out.

mod args;
mod commands;
mod context;
mod failure;
mod output;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to standard output and are no failure; everything else is a usage error.
            let code = if error.use_stderr() { failure::USAGE } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match commands::run(&matches) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}
