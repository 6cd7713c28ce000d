//! The command line: arguments in, one call to the engine, text or JSON out.

mod args;
mod clock;
mod commands;
mod context;
mod failure;
mod hints;
mod hook;
mod output;
mod recording;
mod render;

use std::process::ExitCode;

use piton_pages::LargePages;

#[global_allocator]
static MEMORY: LargePages = LargePages;

fn main() -> ExitCode {
    hints::write_down();
    if let Some(call) = hook::called() {
        return call.run();
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    // A keeper is started for every worker and is nobody's command: it does without the grammar.
    if arguments.get(1).is_some_and(|verb| verb == "keep") {
        return piton_engine::keep(arguments.into_iter().skip(2));
    }
    let matches = match args::parse(&arguments) {
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
