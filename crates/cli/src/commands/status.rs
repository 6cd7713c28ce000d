use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use clap::{ArgMatches, Args};
use piton_engine::run::{listed_stories, run_status};
use piton_engine::{find_or_led, last_words, status, step_numbers};
use piton_model::{Report, UnitRef};

use crate::context::Context;
use crate::failure::{Failure, NOTHING};
use crate::output::print;
use crate::render;

/// How often `--watch` looks.
const WATCH_EVERY: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton status\n  piton status plan:260220-1149-feature\n  piton status --json | jq '.units[].liveness'"
)]
pub struct StatusArgs {
    /// Only this unit, with its whole story
    #[arg(value_name = "UNIT")]
    unit: Option<String>,

    /// Every unit, however many there are
    #[arg(long, short)]
    all: bool,

    /// Show it again whenever something changes
    #[arg(long, short)]
    watch: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: StatusArgs) -> Result<u8, Failure> {
    let unit =
        args.unit.as_deref().map(|typed| UnitRef::parse(typed).map_err(|error| Failure::bad_unit(typed, &error)));
    let unit = unit.transpose()?;
    if !args.watch {
        let context = Context::new(matches)?;
        let (text, shown) = show(&context, unit.as_ref(), &args)?;
        print(&text)?;
        // The process ends here, and frees a hundred thousand rows faster at once than one by one.
        std::mem::forget(shown);
        return Ok(0);
    }
    watch(matches, unit.as_ref(), &args)
}

/// What to show, as text, and the report that it was made from.
fn show(context: &Context, unit: Option<&UnitRef>, args: &StatusArgs) -> Result<(String, Option<Report>), Failure> {
    let run = run_status(&context.workspace, context.now);
    let directory = std::env::current_dir().unwrap_or_else(|_| context.workspace.root().to_owned());
    match unit {
        Some(wanted) => {
            let found = find_or_led(&context.workspace, wanted, context.now)
                .map_err(|error| Failure::not_found(wanted, &error))?;
            let words = last_words(&context.workspace, &found.name, &found.unit);
            let text = match args.json {
                true => {
                    let root = context.workspace.root();
                    let mut document = render::json::unit(&found, &root.display().to_string(), context.now);
                    document["units"][0]["last_worker"] = words.as_ref().map(render::json::last_words).into();
                    document["run"] = render::json::run(run.as_ref(), root, &directory);
                    render::json_text(&document)
                }
                false => {
                    let numbers = step_numbers(&context.workspace, &found);
                    let text = render::unit::text(&found, &numbers, context.color, context.width, context.now);
                    text + &render::unit::last_words(words.as_ref(), context.color)
                }
            };
            Ok((text, None))
        }
        None => {
            let report = status(&context.workspace, None, context.now);
            let root = context.workspace.root();
            let text = match args.json {
                true => {
                    let mut document = render::json::report(&report);
                    document["run"] = render::json::run(run.as_ref(), root, &directory);
                    render::json_text(&document)
                }
                false => {
                    let line = run.as_ref().and_then(|run| render::run::status_lines(run, &report, root, &directory));
                    let table = render::report::text(&report, args.all, context.color, context.width);
                    let begin = match report.summary.units {
                        0 if run.is_none() => render::run::begin_lines(listed_stories(&context.workspace)),
                        _ => String::new(),
                    };
                    line.map_or_else(String::new, |line| format!("{line}\n\n")) + &table + &begin
                }
            };
            Ok((text, Some(report)))
        }
    }
}

/// Shows the status until it is interrupted, and again whenever it has changed.
fn watch(matches: &ArgMatches, unit: Option<&UnitRef>, args: &StatusArgs) -> Result<u8, Failure> {
    let on_terminal = std::io::stdout().is_terminal();
    let mut shown = None;
    loop {
        let context = Context::new(matches)?;
        let text = match show(&context, unit, args) {
            Ok((text, _)) => text,
            // A document may be replaced by removing it first; it is waited for once it was there.
            Err(failure) if shown.is_some() && failure.code == NOTHING => failure.to_string(),
            Err(failure) => return Err(failure),
        };
        // The moment itself is always new, and no news.
        let news: Vec<_> =
            text.lines().filter(|line| !line.trim_start().starts_with("\"as_of\"")).map(str::to_owned).collect();
        if shown.as_ref() != Some(&news) {
            let frame = if on_terminal { frame(&text, context.height) } else { text };
            if std::io::stdout().lock().write_all(frame.as_bytes()).is_err() {
                return Ok(0);
            }
            let _ = std::io::stdout().flush();
            shown = Some(news);
        }
        std::thread::sleep(WATCH_EVERY);
    }
}

/// A text as a whole screen: written over the last one, so that nothing scrolls away, and cut to what fits.
fn frame(text: &str, height: usize) -> String {
    let lines = text.lines().count();
    let room = if lines < height { lines } else { height.saturating_sub(2) };
    let mut frame = String::from("\x1b[H");
    for line in text.lines().take(room) {
        frame.push_str(line);
        frame.push_str("\x1b[K\n");
    }
    if room < lines {
        frame.push_str(&format!("… {} more lines\x1b[K\n", lines - room));
    }
    frame.push_str("\x1b[J");
    frame
}
