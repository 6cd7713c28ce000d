use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::print;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton completions bash > ~/.local/share/bash-completion/completions/piton")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::command(), "piton", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
