use clap::{ArgMatches, Args};
use piton_model::{Event, NotePurpose};

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton note task:migration/T060 --resume 'continue with post-20'")]
pub struct NoteArgs {
    #[command(flatten)]
    writing: Writing,

    /// What to write down
    #[arg(value_name = "TEXT", required_unless_present = "resume", allow_hyphen_values = true)]
    text: Option<String>,

    /// An instruction for whoever resumes, instead of a note
    #[arg(long, value_name = "TEXT", conflicts_with = "text", allow_hyphen_values = true)]
    resume: Option<String>,
}

pub fn run(matches: &ArgMatches, args: NoteArgs) -> Result<u8, Failure> {
    let event = match args.resume {
        Some(text) => Event::Noted { text, purpose: NotePurpose::ResumeInstruction },
        None => Event::Noted { text: args.text.unwrap_or_default(), purpose: NotePurpose::Note },
    };
    recording::run(matches, &args.writing, "note", &event)
}
