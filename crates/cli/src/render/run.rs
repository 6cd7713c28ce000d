//! A run: its plan, what happens in it, where it stands, how it ended.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use piton_engine::run::{COMPLETE, LaneView, RunEnd, RunPlan, Unapproved, View};
use piton_model::fleet::{Approval, Outcome};
use piton_model::text::{fit, printable};
use piton_model::{Age, Time};
use serde_json::{Value, json};

/// The plan, for people.
pub fn plan_text(plan: &RunPlan, missing: &[Unapproved]) -> String {
    let fleet = &plan.work.fleet;
    let mut page = format!(
        "{} at once at most; a dead worker is started again {} time(s), a NO-GO validated again {}, a FAIL reworked {}\n",
        fleet.limits.workers, fleet.limits.respawn, fleet.limits.validation, fleet.limits.rework
    );
    let _ = writeln!(page, "worker: {}", printable(&plan.settings.worker_command()));
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
                let _ = writeln!(page, "    gates {}", lane.gates.join(", "));
            }
            if lane.state.word() != "queued" {
                let _ = writeln!(page, "    is {}", lane.state.word());
            }
        }
    }
    for group in &fleet.groups {
        for phase in &group.phases {
            let gates: Vec<&str> =
                phase.gates.iter().map(|gate| gate.name.as_str()).filter(|gate| *gate != COMPLETE).collect();
            if gates.is_empty() && phase.approval != Approval::Needed {
                continue;
            }
            let gates = if gates.is_empty() { String::new() } else { format!(" gates {}", gates.join(", ")) };
            let approval = if phase.approval == Approval::Needed { ", then a person's approval" } else { "" };
            let _ = writeln!(page, "\n{} closes {}:{gates}{approval}", group.name, printable(&phase.name));
        }
    }
    if !missing.is_empty() {
        page.push_str("\nnot approved yet (piton approve):\n");
        for each in missing {
            let _ = writeln!(page, "  {}: {}", each.what, printable(&each.command));
        }
    }
    page
}

/// The plan, for programs.
pub fn plan_json(plan: &RunPlan, missing: &[Unapproved]) -> Value {
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
            "state": lane.state.word(),
        })
    };
    let lanes: Vec<Value> = (0..fleet.lanes.len()).map(lane).collect();
    let missing: Vec<Value> = missing.iter().map(|each| json!({"what": each.what, "command": each.command})).collect();
    json!({
        "workers": fleet.limits.workers,
        "worker": plan.settings.worker_command(),
        "lanes": lanes,
        "not_approved": missing,
    })
}

/// Something that happened, as a line of JSON.
pub fn event_line(at: Time, name: Option<&str>, kind: &str, text: &str) -> String {
    format!("{}\n", json!({"at": at.to_string(), "event": kind, "name": name, "text": text}))
}

/// The end, as a line of JSON.
pub fn end_line(end: &RunEnd) -> String {
    let lanes: Vec<Value> = end
        .view
        .lanes
        .iter()
        .map(|lane| json!({"name": lane.name, "state": lane.state, "reason": lane.reason}))
        .collect();
    let value = json!({
        "event": "ended",
        "outcome": outcome_word(end.outcome),
        "seconds": end.view.seconds,
        "cost_usd": end.view.cost,
        "lanes": lanes,
        "reports": end.reports,
        "next": end.next,
    });
    format!("{value}\n")
}

/// The end, for people.
pub fn end_text(end: &RunEnd) -> String {
    let count = |state: &str| end.view.lanes.iter().filter(|lane| lane.state == state).count();
    let (done, paused, all) = (count("done"), count("paused"), end.view.lanes.len());
    let mut page = format!("{}: {done} of {all} done", outcome_word(end.outcome));
    if paused > 0 {
        let _ = write!(page, ", {paused} paused");
    }
    let _ = writeln!(page, ", in {}", Age(std::time::Duration::from_secs(end.view.seconds)));
    for lane in &end.view.lanes {
        if let Some(reason) = lane.reason.as_ref().filter(|_| lane.state == "paused") {
            let _ = writeln!(page, "  {} is paused: {}", lane.name, printable(reason));
        }
    }
    if let Some(report) = end.reports.first() {
        let _ = writeln!(page, "report: {report}");
    }
    for next in &end.next {
        let _ = writeln!(page, "next: {next}");
    }
    page
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Paused => "paused",
        Outcome::Stopped => "stopped",
    }
}

/// The run while it goes: on a terminal a picture that is drawn again and again, elsewhere a line for each thing that
/// happens.
pub struct LiveView {
    is_terminal: bool,
    color: bool,
    width: usize,
    height: usize,
    /// How many lines the last picture has.
    drawn: usize,
}

impl LiveView {
    /// Nothing is drawn yet.
    pub fn new(color: bool, width: usize, height: usize) -> LiveView {
        let is_terminal = std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        LiveView { is_terminal, color, width, height, drawn: 0 }
    }

    /// Something happened: a line that stays.
    pub fn happened(&mut self, at: Time, name: Option<&str>, text: &str) {
        let at = at.to_string();
        let clock = at.get(11..19).unwrap_or(&at);
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        let line = format!("{clock}  {}", printable(&format!("{name}{text}")));
        let line = if self.is_terminal { fit(&line, self.width - 1).into_owned() } else { line };
        let wipe = self.wipe();
        self.write(&format!("{wipe}{line}\n"));
    }

    /// Draws where everything stands.
    pub fn stands(&mut self, view: &View) {
        if !self.is_terminal {
            return;
        }
        let picture = picture(view, self.width - 1, self.height.saturating_sub(2), self.color);
        let wipe = self.wipe();
        self.drawn = picture.lines().count();
        self.write(&format!("{wipe}{picture}"));
    }

    /// Takes the picture away; what happened stays.
    pub fn close(&mut self) {
        let wipe = self.wipe();
        self.write(&wipe);
    }

    fn wipe(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }

    fn write(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A reader that has gone away does not end a run.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// A bar for each lane that is under way, and a sum.
fn picture(view: &View, width: usize, height: usize, color: bool) -> String {
    let rank = |lane: &LaneView| match lane.state {
        "queued" => 2,
        "done" => 3,
        "paused" => 1,
        _ => 0,
    };
    let mut lanes: Vec<&LaneView> = view.lanes.iter().collect();
    lanes.sort_by_key(|lane| rank(lane));
    let mut page = String::new();
    for lane in lanes.iter().take(height.saturating_sub(1).max(1)) {
        let _ = writeln!(page, "{}", lane_line(lane, width, color));
    }
    let done = view.lanes.iter().filter(|lane| lane.state == "done").count();
    let mut sum = format!("{done}/{} done · {}", view.lanes.len(), span(view.seconds));
    if let Some(eta) = view.eta.filter(|_| done < view.lanes.len()) {
        let _ = write!(sum, " · about {} left", span(eta));
    }
    if let Some(cost) = view.cost {
        let _ = write!(sum, " · ${cost:.2}");
    }
    if let Some(until) = view.parked_until {
        let _ = write!(sum, " · parked until {until}");
    }
    if view.mode != "running" {
        let _ = write!(sum, " · {}", view.mode);
    }
    let _ = writeln!(page, "{}", fit(&sum, width));
    page
}

fn lane_line(lane: &LaneView, width: usize, color: bool) -> String {
    const BAR: u64 = 8;
    let full = (lane.done * BAR).checked_div(lane.total.max(1)).unwrap_or(0).min(BAR);
    let bar: String = (0..BAR).map(|place| if place < full { '█' } else { '░' }).collect();
    let stage = lane.stage.map_or_else(String::new, |stage| format!("s{stage} "));
    let more = match (&lane.reason, &lane.worker, lane.last_sign) {
        (Some(reason), _, _) => printable(reason).into_owned(),
        (None, Some(worker), Some(age)) => format!("{worker} · {} ago", span(age)),
        (None, Some(worker), None) => worker.clone(),
        (None, None, _) => lane.title.as_deref().map(|title| printable(title).into_owned()).unwrap_or_default(),
    };
    let line = format!("{:<28} {bar} {stage}{:<10} {more}", fit(&lane.name, 28), lane.state);
    let line = fit(&line, width).into_owned();
    let code = match lane.state {
        "done" => "32",
        "paused" | "dead" => "31",
        "silent" | "parked" | "limited" => "33",
        _ => return line,
    };
    if color { format!("\x1b[{code}m{line}\x1b[0m") } else { line }
}

fn span(seconds: u64) -> String {
    Age(std::time::Duration::from_secs(seconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(name: &str, state: &'static str, done: u64) -> LaneView {
        LaneView {
            name: name.to_owned(),
            title: Some("A title\x1b[2J".to_owned()),
            state,
            done,
            total: 4,
            stage: Some(2),
            worker: None,
            last_sign: None,
            reason: None,
        }
    }

    #[test]
    fn the_picture_has_who_works_first_and_fits_the_terminal() {
        let running =
            LaneView { worker: Some("story-B-s2".to_owned()), last_sign: Some(75), ..lane("pipeline:B", "running", 2) };
        let paused = LaneView { reason: Some("x".repeat(200)), ..lane("pipeline:C", "paused", 1) };
        let lanes = vec![lane("pipeline:A", "queued", 0), running, paused, lane("pipeline:D", "done", 4)];
        let view = View { seconds: 61, lanes, cost: Some(0.5), eta: Some(120), mode: "draining", parked_until: None };
        let shown = picture(&view, 79, 10, false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "pipeline:B                   ████░░░░ s2 running    story-B-s2 · 1m ago");
        assert!(lines[1].starts_with("pipeline:C                   ██░░░░░░ s2 paused     xxx"), "{}", lines[1]);
        assert_eq!(lines[4], "1/4 done · 1m · about 2m left · $0.50 · draining");
        assert!(lines.iter().all(|line| piton_model::text::columns(line) <= 79), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown:?}");
        // Where there is little room, the sum stays.
        assert_eq!(picture(&view, 79, 2, false).lines().count(), 2);
    }
}
