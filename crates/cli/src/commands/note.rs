use clap::{ArgMatches, Args, ValueEnum};
use piton_model::{Event, ExecutionNote, FixKind, NotePurpose};

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton note task:migration/T060 --resume 'continue with post-20'\n  piton note build:PRD-009 --fix services/dto.ts --message 'removed an unused import' --kind eslint\n  piton note build:PRD-009 --cleanup 'deleted the old hooks'\n\nA build lists fixes as key_fixes or eslint_fixes, and cleanups as cleanup_done."
)]
pub struct NoteArgs {
    #[command(flatten)]
    writing: Writing,

    /// What to write down
    #[arg(value_name = "TEXT", required_unless_present_any = ["resume", "fix", "cleanup"], allow_hyphen_values = true)]
    text: Option<String>,

    /// Instruction for the worker that resumes the unit, instead of a note
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["text", "fix", "cleanup"], allow_hyphen_values = true)]
    resume: Option<String>,

    /// File that was fixed on the way, in a build; --message says how
    #[arg(long, value_name = "FILE", requires = "message", conflicts_with_all = ["text", "cleanup"])]
    fix: Option<String>,

    /// What was changed in the file
    #[arg(long, value_name = "TEXT", requires = "fix", allow_hyphen_values = true)]
    message: Option<String>,

    /// List of fixes: key_fixes, or eslint_fixes for what the linter asked for
    #[arg(long, value_enum, default_value_t = Kind::Key, hide_default_value = true)]
    kind: Kind,

    /// What was cleaned up, in a build
    #[arg(long, value_name = "TEXT", conflicts_with = "text", allow_hyphen_values = true)]
    cleanup: Option<String>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    Eslint,
}

pub fn run(matches: &ArgMatches, args: NoteArgs) -> Result<u8, Failure> {
    let kind = match args.kind {
        Kind::Key => FixKind::Key,
        Kind::Eslint => FixKind::Eslint,
    };
    let event = match (args.resume, args.fix, args.cleanup) {
        (Some(text), _, _) => Event::Noted { text, purpose: NotePurpose::ResumeInstruction },
        (None, Some(file), _) => {
            Event::ExecutionNoted(ExecutionNote::Fix { kind, file, change: args.message.unwrap_or_default() })
        }
        (None, None, Some(text)) => Event::ExecutionNoted(ExecutionNote::Cleanup { text }),
        (None, None, None) => Event::Noted { text: args.text.unwrap_or_default(), purpose: NotePurpose::Note },
    };
    recording::run(matches, &args.writing, "note", &event)
}
