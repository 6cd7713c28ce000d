//! One unit, with its whole story.

use std::fmt::Write as _;

use piton_engine::{Found, LastWords};
use piton_model::hint::verbs;
use piton_model::{Claim, Dialect, GateState, Led, LedWork, Percent, Role, Rule, State, Step, StepState, Time, Unit};

use super::{Style, clean, wrap};

/// How many steps are listed; a plan may have thousands.
const MOST_STEPS: usize = 60;

/// The unit as text.
pub fn text(found: &Found, numbers: &[String], color: bool, width: usize, now: Time) -> String {
    let style = Style::new(color);
    let unit = &found.unit;
    let mut out = String::new();
    let title = unit.title.as_deref().map(|title| format!("  {}", clean(title))).unwrap_or_default();
    let _ = writeln!(out, "{}{title}\n", style.bold(&clean(&found.name)));
    facts(&mut out, found, style, now);
    steps(&mut out, unit, numbers, style);
    gates(&mut out, unit, style);
    list(&mut out, "blockers", unit.blockers.iter().map(|blocker| clean(blocker)), style, width);
    let troubles = unit.troubles.iter().map(|trouble| {
        let at = trouble.time.as_deref().map(|time| format!("{time}  ")).unwrap_or_default();
        let place = trouble.place.as_deref().map(|place| format!(" ({})", clean(place))).unwrap_or_default();
        format!("{}{}{place}", clean(&at), clean(&trouble.message))
    });
    list(&mut out, "errors", troubles, style, width);
    let decisions = unit.decisions.iter().map(|decision| {
        let reason = decision.reason.as_deref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
        format!("{}{reason}", clean(&decision.text))
    });
    list(&mut out, "decisions", decisions, style, width);
    for note in &unit.notes {
        list(&mut out, note.label, std::iter::once(clean(&note.text)), style, width);
    }
    list(&mut out, "files", unit.files.iter().map(|file| clean(file)), style, width);
    let documents = unit.documents.iter().map(|document| format!("{}{}", clean(&document.path), role(document.role)));
    list(&mut out, "documents", documents, style, width);
    if !found.findings.is_empty() {
        let _ = writeln!(out, "\n{}", style.bold("findings"));
        out.push_str(&super::findings::text(&found.findings, color));
    }
    out
}

/// What the last worker printed last, or the gate that refused its work; empty when there is nothing to say.
pub fn last_words(words: Option<&LastWords>, color: bool) -> String {
    let Some(words) = words else { return String::new() };
    let style = Style::new(color);
    let (what, gate) = match &words.gate {
        Some(gate) => ("last gate", Some(gate.clone())),
        None => ("last worker", None),
    };
    let parts = [
        words.step.clone(),
        gate,
        words.worker.clone(),
        words.attempt.as_ref().map(|attempt| format!("attempt {attempt}")),
        Some(words.exit.clone()),
    ];
    let head = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut out = format!("\n{}\n  {}\n", style.bold(what), clean(&head));
    for line in &words.lines {
        let _ = writeln!(out, "    {}", clean(line));
    }
    out
}

fn facts(out: &mut String, found: &Found, style: Style, now: Time) {
    let unit = &found.unit;
    let state = found.state();
    let lifecycle = state.lifecycle();
    let word = style.lifecycle(lifecycle, lifecycle.word());
    let known = found.led.as_ref().and_then(Led::reason);
    let detail = match &state {
        State::Failed { error } => format!(": {}", clean(error)),
        State::Paused { reason: Some(reason) } => format!(": {}", clean(reason)),
        _ if known.is_some() => format!(": {}", clean(&known.unwrap_or_default())),
        _ if unit.status_text.is_empty() => String::new(),
        _ => format!(" ({})", clean(&unit.status_text)),
    };
    fact(out, "state", &format!("{word}{detail}"));
    if unit.progress.total > 0 {
        let percent = Percent::of(unit.progress.done, unit.progress.total);
        let percent =
            if unit.dialect == piton_model::Dialect::Task { percent.floor().to_string() } else { percent.to_string() };
        fact(out, "progress", &format!("{} of {} ({percent} %)", unit.progress.done, unit.progress.total));
    }
    if let Some(position) = unit.position() {
        fact(out, "position", &clean(&position));
    }
    if let Some(agent) = &unit.agent {
        fact(out, "agent", &clean(agent));
    }
    if let Some(session) = &unit.session {
        fact(out, "session", &clean(session));
    }
    if let Some(attempt) = unit.attempt {
        fact(out, "attempt", &attempt.to_string());
    }
    if let Some(led) = &found.led {
        if let LedWork::Approval { .. } = led.work {
            fact(out, "approve", &verbs::APPROVE.on(&found.name).to_string());
        }
        fact(out, "lead", &led.lead.shown(now));
    }
    let judgement = &found.judgement;
    let seen = judgement.believed.as_ref().map(|seen| format!(", last sign {} ago by {}", seen.age, seen.source));
    let why = match (&judgement.rule, &unit.claim) {
        (Rule::Process(fact), _) => format!(": {}", clean(fact)),
        (_, Claim::Nobody { why }) => format!(" because {why}"),
        (_, Claim::Worker) => String::new(),
    };
    let liveness = style.liveness(judgement.liveness, judgement.liveness.word());
    fact(out, "liveness", &format!("{liveness}{why}{}", seen.unwrap_or_default()));
    let is_held = found.led.as_ref().is_some_and(Led::is_held);
    fact(out, "resumable", if unit.resumable && !is_held { "yes" } else { "no" });
}

fn fact(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name:<10} {value}");
}

fn steps(out: &mut String, unit: &Unit, numbers: &[String], style: Style) {
    if unit.steps.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold("steps"));
    // The interesting part of a long list is around the first step that is not done.
    let open = unit.steps.iter().position(|step| !matches!(step.state, StepState::Done { .. } | StepState::Skipped));
    let start = match unit.steps.len() {
        0..=MOST_STEPS => 0,
        length => open.unwrap_or(length).saturating_sub(MOST_STEPS / 2).min(length - MOST_STEPS),
    };
    if start > 0 {
        let _ = writeln!(out, "  {}", style.dim(&format!("… {start} before")));
    }
    let shown = &unit.steps[start..unit.steps.len().min(start + MOST_STEPS)];
    let mut stage = None;
    for step in shown {
        if step.stage != stage {
            stage = step.stage.clone();
            let _ = writeln!(out, "  {}", style.dim(&clean(stage.as_deref().unwrap_or(""))));
        }
        // An agent's steps are sentences; commands name them by their numbers.
        let number = match (unit.dialect, numbers.iter().position(|known| known.trim() == step.id.trim())) {
            (Dialect::Crew, Some(at)) => format!("{:>2}. ", at + 1),
            (Dialect::Crew, None) => "    ".to_owned(),
            (Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Task, _) => String::new(),
        };
        let _ = writeln!(out, "  {number}{}", step_line(step));
    }
    let after = unit.steps.len() - start - shown.len();
    if after > 0 {
        let _ = writeln!(out, "  {}", style.dim(&format!("… {after} after")));
    }
}

fn step_line(step: &Step) -> String {
    let (mark, more) = match &step.state {
        StepState::Pending => ("[ ]", String::new()),
        StepState::Running => ("[~]", String::new()),
        StepState::Failed => ("[!]", String::new()),
        StepState::Skipped => ("[-]", String::new()),
        StepState::Done { by, at, outputs } => {
            let by = by.as_deref().map(|by| format!("by {}", clean(by)));
            let at = at.as_deref().map(|at| format!("at {}", clean(at)));
            let outputs = (!outputs.is_empty()).then(|| format!("-> {}", clean(&outputs.join(", "))));
            ("[x]", [by, at, outputs].into_iter().flatten().collect::<Vec<_>>().join(" "))
        }
    };
    let title = step.title.as_deref().map(|title| format!("  {}", clean(title))).unwrap_or_default();
    let more = if more.is_empty() { more } else { format!("  ({more})") };
    format!("{mark} {}{title}{more}", clean(&step.id))
}

fn gates(out: &mut String, unit: &Unit, style: Style) {
    let lines = unit.gates.iter().map(|gate| {
        let (mark, result) = match &gate.state {
            GateState::Pending => ("[ ]", None),
            GateState::Passed { result } => ("[x]", result.as_deref()),
            GateState::Failed { result } => ("[!]", result.as_deref()),
        };
        let of =
            gate.step.as_deref().or(gate.stage.as_deref()).map(|of| format!(" ({})", clean(of))).unwrap_or_default();
        let result = result.map(|result| format!(": {}", clean(result))).unwrap_or_default();
        format!("{mark} {}{of}{result}", clean(&gate.name))
    });
    list(out, "gates", lines, style, usize::MAX);
}

fn list(out: &mut String, name: &str, lines: impl Iterator<Item = String>, style: Style, width: usize) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold(name));
    for line in lines {
        for part in wrap(&line, width.saturating_sub(2)) {
            let _ = writeln!(out, "  {part}");
        }
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Main | Role::Companion => "",
        Role::Superseded => "  (older, not used)",
        Role::Archive => "  (archive)",
        Role::Backup => "  (backup)",
    }
}
