//! A second `piton run` beside a lead at work: shows what that does, and changes nothing.

use std::sync::atomic::Ordering;
use std::time::Duration;

use piton_engine::run::{Attached, Followed, OtherWork, RunRequest, catch_interrupts};
use piton_model::hint::verbs;
use serde_json::{Value, json};

use super::{exit_code, failure, show_end, with_wanted};
use crate::clock;
use crate::context::Context;
use crate::failure::{BUSY, FAILED, Failure};
use crate::output::{print, write_out};
use crate::render::live::LiveView;

/// How often it is looked for news.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How many of the events before are shown to a person.
const EARLIER: usize = 5;

/// How many of the events before come first. A program that wants them all reads the run's log.
pub fn earlier(json: bool) -> usize {
    if json { 0 } else { EARLIER }
}

/// Follows a run to its end, or until Ctrl-C.
pub fn follow(context: &Context, mut attached: Attached, request: &RunRequest, json: bool) -> Result<u8, Failure> {
    check(context, &attached, request)?;
    let interrupted =
        catch_interrupts().map_err(|error| Failure::new(FAILED, format!("cannot listen to Ctrl-C: {error}")))?;
    let mut live = LiveView::new(context.color, context.width, context.height);
    let (number, pid) = (attached.run().number, attached.pid());
    let is_read = match json {
        true => {
            let line = json!({
                "at": context.now.to_string(), "event": "attached", "name": null, "run": number, "pid": pid,
                "text": format!("attached to run {number}, led by process {pid}"),
            });
            write_out(&format!("{line}\n"))
        }
        false => {
            let attached = format!("attached to run {number}, led by process {pid}. Ctrl-C detaches; to stop it");
            live.line(&verbs::STOP.call().to(attached).to_string())
        }
    };
    if !is_read {
        return Ok(0);
    }
    loop {
        for news in
            attached.news().map_err(|error| Failure::new(FAILED, format!("cannot read the run's log: {error}")))?
        {
            let is_read = match news {
                Followed::Happened(event) if json => write_out(&format!("{event}\n")),
                Followed::Happened(event) => happened(&mut live, &event),
                Followed::Ended(end) => {
                    live.close();
                    show_end(context, &end, live.told(), json);
                    return Ok(exit_code(end.outcome));
                }
                Followed::Gone => {
                    live.close();
                    return Err(gone(context, &attached));
                }
            };
            if !is_read {
                return Ok(0);
            }
        }
        if interrupted.load(Ordering::Relaxed) {
            live.close();
            return detached(number, pid, json);
        }
        if let Some(view) = attached.view(&context.workspace, clock::time()).filter(|_| !json) {
            live.stands(&view);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether following the lead is what was asked for.
pub fn check(context: &Context, attached: &Attached, request: &RunRequest) -> Result<(), Failure> {
    let other = attached
        .other_work(&context.workspace, request, context.now)
        .map_err(|error| failure(&error, &request.wanted))?;
    let Some(other) = other else { return Ok(()) };
    let (pid, number) = (attached.pid(), attached.run().number);
    let again = with_wanted(verbs::RUN.call(), &request.wanted);
    let units = attached.units().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let busy = |what: String| Failure::new(BUSY, format!("{what} (run {number}, process {pid}: {units})"));
    let show = verbs::RUN.call().to("show it");
    let end = verbs::STOP.call().to("let it end after its current workers");
    Err(match other {
        OtherWork::Units(missing) => busy(format!("the lead at work here does not have {}", missing.join(", ")))
            .hint(show)
            .hint(end)
            .hint(again.to("when it has ended")),
        OtherWork::Retry => busy("a lead at work retries nothing that is paused".to_owned())
            .hint(show)
            .hint(end)
            .hint(again.flag("--retry").to("when it has ended")),
        OtherWork::Yes => busy("the lead at work was started without --yes".to_owned())
            .hint(verbs::APPROVE.call().fill("UNIT").to("approve a phase that waits"))
            .hint(verbs::RUN.call().to("show it")),
    })
}

fn happened(live: &mut LiveView, event: &Value) -> bool {
    let text = |key: &str| event[key].as_str();
    let Some(at) = text("at").and_then(|at| piton_dialect::time::read(at).time()) else { return true };
    live.happened(at, text("name"), text("event").unwrap_or_default(), text("text").unwrap_or_default())
}

fn detached(number: u64, pid: u32, json: bool) -> Result<u8, Failure> {
    if !json {
        print(&format!(
            "detached; run {number} goes on, led by process {pid}\n{}\n{}\n",
            verbs::RUN.call().to("show it again"),
            verbs::STOP.call().to("stop it")
        ))?;
    }
    // Whether the run succeeds is not known, so this is no success.
    Ok(FAILED)
}

fn gone(context: &Context, attached: &Attached) -> Failure {
    let directory = std::env::current_dir().unwrap_or_default();
    let again = attached.run().command(context.workspace.root(), &directory, &[]);
    Failure::new(
        FAILED,
        format!("process {} is gone, and run {} is not finished", attached.pid(), attached.run().number),
    )
    .hint(again.to("continue it"))
}
