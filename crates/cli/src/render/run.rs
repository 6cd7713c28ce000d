//! A run: its plan, what happens in it, how it ended.

use std::fmt::Write as _;
use std::path::Path;

use piton_engine::run::{Choice, RunEnd, RunPlan, RunRecord, RunState, RunStatus, Unapproved, event_json};
use piton_model::fleet::{Approval, LaneState};
use piton_model::hint::verbs;
use piton_model::text::{self, counted, printable};
use piton_model::{Age, Dialect, Invocation, Lifecycle, Report, Time, UnitRef};
use serde_json::{Value, json};

use super::Style;
use super::told::{Told, without_name};

/// The plan, for people.
pub fn plan_text(plan: &RunPlan, missing: &[Unapproved], approve: &Invocation, warnings: &[String]) -> String {
    let fleet = &plan.work.fleet;
    let mut page = format!(
        "at most {} at once; restarts after a death: {}, validations after a NO-GO: {}, reworks after a FAIL: {}\n",
        counted(fleet.limits.workers, "worker", "workers"),
        fleet.limits.respawn,
        fleet.limits.validation,
        fleet.limits.rework
    );
    for gone in &plan.gone {
        let _ = writeln!(page, "left out, because it is gone or no list has it any more: {}", printable(gone));
    }
    for (place, wave) in plan.waves.iter().enumerate() {
        let _ = writeln!(page, "\nwave {}", place + 1);
        for at in wave {
            let (lane, work) = (&fleet.lanes[*at], &plan.work.lanes[*at]);
            let title = work.title.as_deref().map_or_else(String::new, |title| format!("  {}", printable(title)));
            let _ = writeln!(page, "  {}{title}", lane.name);
            if !lane.depends_on.is_empty() {
                let names: Vec<&str> =
                    lane.depends_on.iter().map(|before| fleet.lanes[*before].name.as_str()).collect();
                let _ = writeln!(page, "    after {}", names.join(", "));
            }
            if !lane.gates.is_empty() {
                let _ = writeln!(page, "    gates {}", printable(&lane.gates.join(", ")));
            }
            for (stages, choice) in workers_of(plan, *at) {
                let (line, why) = (choice.spec.adapter.command_line(), choice.why.text());
                let section = match plan.settings.workers.is_there {
                    true => format!("[{}]", printable(&choice.spec.name)),
                    false => "by default".to_owned(),
                };
                let _ = writeln!(page, "    worker{stages}: {} ({why}, {section})", printable(&line));
            }
            match &lane.state {
                LaneState::Paused { reason } => {
                    let _ = writeln!(page, "    is paused, and no worker starts: {}", printable(reason));
                }
                state if state.word() != "queued" => {
                    let _ = writeln!(page, "    is {}", state.word());
                }
                _ => {}
            }
            if let Some(reason) = plan.held.get(at) {
                let _ = writeln!(page, "    no worker starts: {}", printable(reason));
            }
        }
    }
    for group in &fleet.groups {
        for phase in &group.phases {
            let gates: Vec<&str> = phase.gates.iter().map(|gate| gate.name.as_str()).collect();
            if gates.is_empty() && phase.approval != Approval::Needed {
                continue;
            }
            let gates = (!gates.is_empty()).then(|| format!("gates {}", printable(&gates.join(", "))));
            let approval = (phase.approval == Approval::Needed).then(|| "a person's approval".to_owned());
            let closes = gates.into_iter().chain(approval).collect::<Vec<_>>().join(", then ");
            let _ = writeln!(page, "\n{} closes {}: {closes}", printable(&group.name), printable(&phase.name));
        }
    }
    if !missing.is_empty() {
        let _ = writeln!(page, "\nnot approved yet ({approve}):");
        for each in missing {
            let _ = writeln!(page, "  {}: {}", printable(&each.what), printable(&each.command));
        }
    }
    if !warnings.is_empty() {
        page.push('\n');
    }
    for warning in warnings {
        let _ = writeln!(page, "{}", printable(warning));
    }
    page
}

/// The workers of a lane with the stages that each is for, ` stage 3` or nothing where it is one for all.
fn workers_of(plan: &RunPlan, at: usize) -> Vec<(String, Choice<'_>)> {
    let stages = match &plan.work.fleet.lanes[at].stages[..] {
        [] => &[0][..],
        stages => stages,
    };
    let mut all: Vec<(Vec<u8>, Choice<'_>)> = Vec::new();
    for stage in stages {
        let choice = plan.worker_for(at, *stage);
        match all.iter_mut().find(|(_, known)| *known == choice) {
            Some((stages, _)) => stages.push(*stage),
            None => all.push((vec![*stage], choice)),
        }
    }
    let is_one = all.len() == 1;
    let name = |stages: Vec<u8>| {
        let listed: Vec<String> = stages.iter().map(u8::to_string).collect();
        if is_one { String::new() } else { format!(" stage {}", listed.join(", ")) }
    };
    all.into_iter().map(|(stages, choice)| (name(stages), choice)).collect()
}

/// The plan, for programs.
pub fn plan_json(plan: &RunPlan, missing: &[Unapproved], warnings: &[String]) -> Value {
    let fleet = &plan.work.fleet;
    let lane = |at: usize| {
        let (lane, work) = (&fleet.lanes[at], &plan.work.lanes[at]);
        json!({
            "name": lane.name,
            "unit": work.unit_name,
            "title": work.title,
            "wave": plan.waves.iter().position(|wave| wave.contains(&at)).map(|place| place + 1),
            "priority": lane.priority,
            "depends_on": lane.depends_on.iter().map(|before| fleet.lanes[*before].name.clone()).collect::<Vec<_>>(),
            "gates": lane.gates,
            "workers": workers_of(plan, at).iter().map(|(stages, choice)| json!({
                "stages": stages.trim(),
                "name": choice.spec.name,
                "adapter": choice.spec.adapter.kind().word(),
                "command": choice.spec.adapter.command_line(),
                "why": choice.why.text(),
            })).collect::<Vec<_>>(),
            "state": lane.state.word(),
            "reason": match &lane.state {
                LaneState::Paused { reason } => Some(reason),
                _ => plan.held.get(&at),
            },
        })
    };
    let lanes: Vec<Value> = (0..fleet.lanes.len()).map(lane).collect();
    let missing: Vec<Value> = missing.iter().map(|each| json!({"what": each.what, "command": each.command})).collect();
    json!({
        "workers": fleet.limits.workers,
        "worker": plan.settings.workers.choose(None, None).spec.adapter.command_line(),
        "lanes": lanes,
        "gone": plan.gone,
        "not_approved": missing,
        "warnings": warnings,
    })
}

/// The run, for the top of the status: a line, and the commands for it. Nothing when all of its work is done since.
pub fn status_lines(status: &RunStatus, report: &Report, root: &Path, directory: &Path) -> Option<String> {
    // A unit that was finished by hand may have work on a branch, which only the run merges.
    let has_ended = matches!(status.state, RunState::Paused | RunState::Stopped);
    let has_left = status.progress().is_none_or(|(done, all)| done < all) || has_open(&status.run, report);
    if has_ended && status.workers == 0 && !has_left {
        return None;
    }
    let mut lines = vec![headline(status, report.as_of)];
    let why = match status.state {
        RunState::Led => {
            lines.extend(status.approval().map(|approve| approve.to("waits for approval").to_string()));
            "show it"
        }
        RunState::Paused if status.approval().is_some() => "approve and continue",
        RunState::Paused if status.is_approved => "approved; continue it",
        RunState::Paused if !status.is_freed() => "when it is fixed",
        RunState::Paused | RunState::NoLead | RunState::Stopped => "continue it",
    };
    let hint = status.continuation(why, root, directory).to_string();
    match status.state {
        RunState::Led => lines.push(hint),
        // The command that continues a run is in the first line.
        RunState::Paused | RunState::NoLead | RunState::Stopped => {
            let _ = write!(lines[0], "; {hint}");
        }
    }
    Some(lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n  "))
}

/// How to begin, where stories are listed and there is no unit yet.
pub fn begin_lines(stories: usize) -> String {
    if stories == 0 {
        return String::new();
    }
    let listed = counted(stories, "story is listed", "stories are listed");
    let explain = verbs::RUN.call().flag("--explain").to("see what a run would do");
    format!("{listed}, and no run has begun; {explain}\n")
}

fn headline(status: &RunStatus, now: Time) -> String {
    let run = &status.run;
    let (number, pid) = (run.number, status.pid.map_or_else(String::new, |pid| format!(" (process {pid})")));
    let ago = |at: Time| format!(" {} ago", at.age(now));
    let ended = run.ended.map_or_else(String::new, |(_, at)| ago(at));
    let mut line = match status.state {
        RunState::Led => format!("run {number}: lead at work for {}{pid}", run.lead_since.age(now)),
        RunState::NoLead => {
            let seen = status.seen.map_or_else(String::new, |at| format!(", last seen{}", ago(at)));
            format!("run {number} has no lead: the last one{pid} is gone{seen}")
        }
        RunState::Paused if status.is_part_done() => format!("run {number}: a part of it was done{ended}"),
        RunState::Paused => format!("run {number} was paused{ended}"),
        RunState::Stopped => format!("run {number} was stopped{ended}"),
    };
    let mode = status.view.as_ref().map(|view| view.mode.as_ref());
    if let Some(mode) = mode.filter(|mode| status.state == RunState::Led && *mode != "running") {
        let _ = write!(line, ", {mode}");
    }
    if let Some((done, all)) = status.progress() {
        let _ = write!(line, ", {done} of {all} done");
    }
    if status.workers > 0 {
        let _ = write!(line, ", {} at work", counted(status.workers, "worker", "workers"));
    }
    line
}

/// Whether something of a run is left to be done. A story that has not begun has no document yet.
fn has_open(run: &RunRecord, report: &Report) -> bool {
    run.units.iter().any(|name| {
        let Ok(unit) = UnitRef::parse(name) else { return false };
        match report.rows.iter().find(|row| unit.means(row.dialect, &row.full_name)) {
            Some(row) => row.state.lifecycle() != Lifecycle::Done,
            // It has not begun. Only a plan's document is there before.
            None => unit.dialect != Some(Dialect::Plan),
        }
    })
}

/// Something that happened, as a line of JSON.
pub fn event_line(at: Time, name: Option<&str>, kind: &str, text: &str) -> String {
    format!("{}\n", event_json(at, name, kind, text))
}

/// The end, for people.
pub fn end_text(end: &RunEnd, told: &Told, color: bool) -> String {
    let style = Style::new(color);
    let count = |state: &str| end.lanes.iter().filter(|lane| lane.state == state).count();
    let (done, paused, all) = (count("done"), count("paused"), end.lanes.len());
    let mut page = format!("{}: {done} of {all} done", style.bold(end.outcome.word()));
    if paused > 0 {
        let _ = write!(page, ", {paused} paused");
    }
    let _ = writeln!(page, ", in {}", Age(std::time::Duration::from_secs(end.seconds)));
    for lane in &end.lanes {
        let Some(reason) = &lane.reason else { continue };
        // A reason that stands above as an event is not repeated.
        let shown = || format!(": {}", printable(without_name(text::headline(reason), &lane.name)));
        let reason = (!told.has(&lane.name, reason)).then(shown);
        let _ = writeln!(page, "  {} is paused{}", lane.name, reason.unwrap_or_default());
    }
    if let Some(report) = end.reports.first() {
        let _ = writeln!(page, "report: {report}");
    }
    for next in &end.next {
        let _ = writeln!(page, "next: {next}");
    }
    page
}
