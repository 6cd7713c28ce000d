//! The command line: arguments in, one call to the engine, text or JSON out.

mod args;
mod commands;
mod context;
mod failure;
mod hook;
mod output;
mod recording;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(call) = hook::called() {
        return call.run();
    }
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to standard output and are no failure; everything else is a usage error.
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // One voice: what to do next is a hint, whoever says it.
            eprint!("{}", error.render().to_string().replace("\n  tip: ", "\nhint: "));
            return ExitCode::from(failure::USAGE);
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
