//! The table of all units.

use std::fmt::Write as _;

use piton_model::hint::verbs;
use piton_model::text::{cell, columns, counted, fit};
use piton_model::{Dialect, Led, LedWork, Lifecycle, Liveness, Report, Row, State, Tally};

use super::{Style, clean, wrap};

/// How many units of a dialect are shown when not all are asked for.
const SHORT: usize = 20;

/// How many columns the bar takes.
const BAR: usize = 8;

/// The report as a table that fits `width` columns.
pub fn text(report: &Report, all: bool, color: bool, width: usize) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    for line in wrap(&headline(report), width) {
        let _ = writeln!(out, "{line}");
    }
    let names = report.rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    let name_width = names.clamp(8, width.saturating_sub(48).clamp(12, 44));
    for rows in report.rows.chunk_by(|a, b| a.dialect == b.dialect) {
        let _ = writeln!(out, "\n{}", style.bold(rows[0].dialect.word()));
        let shown = if all || rows.len() <= SHORT + 1 { rows.len() } else { SHORT };
        for row in &rows[..shown] {
            unit(&mut out, row, style, name_width, width);
        }
        if shown < rows.len() {
            let hidden = &rows[shown..];
            let _ = writeln!(
                out,
                "  {}",
                style.dim(&format!(
                    "… {} more: {} ({})",
                    hidden.len(),
                    lifecycles(hidden),
                    verbs::STATUS.call().flag("--all")
                ))
            );
        }
    }
    out
}

/// The workers that are missing, a line each: how long, who, and the sign that decided.
pub fn stale(rows: &[Row], color: bool, width: usize) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let name_width =
        rows.iter().map(|row| columns(&clean(&row.unit()))).max().unwrap_or(0).min(width.saturating_sub(30));
    for row in rows {
        let liveness = style.liveness(row.liveness, &cell(row.liveness.word(), 5));
        let age = row.seen.as_ref().map(|seen| seen.age.to_string()).unwrap_or_default();
        let by = row.seen.as_ref().map(|seen| format!("by {}", seen.source)).unwrap_or_default();
        let _ = writeln!(out, "{liveness}  {age:>6}  {}  {by}", cell(&clean(&row.unit()), name_width));
    }
    out
}

/// What could be resumed, a line each: where it stands, who had it, and the command.
pub fn resumable(rows: &[Row], color: bool, width: usize) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let name_width =
        rows.iter().map(|row| columns(&clean(&row.unit()))).max().unwrap_or(0).min(width.saturating_sub(30));
    for row in rows {
        let lifecycle = row.state.lifecycle();
        let seen = row.seen.as_ref().map(|seen| format!("{} {}", row.liveness.word(), seen.age)).unwrap_or_default();
        let _ = writeln!(
            out,
            "{}  {}  {}  {}",
            style.lifecycle(lifecycle, &cell(lifecycle.word(), 7)),
            cell(&seen, 12),
            cell(&clean(&row.unit()), name_width),
            clean(row.position.as_deref().unwrap_or("")),
        );
    }
    let _ = writeln!(out, "\n{}", verbs::RESUME.call().fill("UNIT").to("resume one with"));
    out
}

fn headline(report: &Report) -> String {
    let summary = &report.summary;
    if summary.units == 0 {
        let looked = format!("no units in {}", clean(&report.workspace));
        return match findings(summary.findings) {
            Some(findings) => format!("{looked} · {findings}"),
            None => looked,
        };
    }
    let mut parts = vec![format!("{}: {}", counted(summary.units as usize, "unit", "units"), lifecycles(&report.rows))];
    let dead = report.rows.iter().filter(|row| row.liveness == Liveness::Dead).count() as u32;
    let missing = [(dead, "dead"), (summary.stale.saturating_sub(dead), "stale"), (summary.late, "late")];
    let missing: Vec<_> =
        missing.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if !missing.is_empty() {
        parts.push(missing.join(", "));
    }
    if let Some(findings) = findings(summary.findings) {
        parts.push(findings);
    }
    parts.join(" · ")
}

fn findings(tally: Tally) -> Option<String> {
    let count = |count: u32, one: &str, many: &str| (count > 0).then(|| counted(count as usize, one, many));
    let parts: Vec<_> = [count(tally.error, "error", "errors"), count(tally.warning, "warning", "warnings")]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| format!("{} ({})", parts.join(", "), verbs::CHECK.call()))
}

fn lifecycles(rows: &[Row]) -> String {
    let mut counts = Lifecycle::ALL.map(|lifecycle| (0, lifecycle));
    for row in rows {
        let lifecycle = row.state.lifecycle();
        counts.iter_mut().filter(|(_, each)| *each == lifecycle).for_each(|(count, _)| *count += 1);
    }
    let parts = counts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, lifecycle)| format!("{count} {lifecycle}")).collect::<Vec<_>>().join(", ")
}

fn unit(out: &mut String, row: &Row, style: Style, name_width: usize, width: usize) {
    let lifecycle = row.state.lifecycle();
    let word = style.lifecycle(lifecycle, &cell(lifecycle.word(), 7));
    let counts = match row.progress.total {
        0 => String::new(),
        // Half a number would be worse than none.
        total => Some(format!("{}/{total}", row.progress.done))
            .filter(|counts| counts.len() <= 7)
            .unwrap_or_else(|| format!("{} %", row.percent())),
    };
    let alive = style.liveness(row.liveness, &liveness(row));
    let name = cell(&fit_name(&clean(&row.id), name_width), name_width);
    let line = format!("  {name}  {word}  {} {:>7}  {alive}", bar(row), fit(&counts, 7));
    let _ = writeln!(out, "{}", line.trim_end());
    let indent = "    ";
    let room = width.saturating_sub(indent.len());
    let about = about(row, room);
    if !about.is_empty() {
        let _ = writeln!(out, "{indent}{}", style.dim(&about));
    }
    for trouble in troubles(row) {
        let _ = writeln!(out, "{indent}{}", style.lifecycle(Lifecycle::Failed, &fit(&clean(&trouble), room)));
    }
}

/// Cuts a name that is too long; what tells namesakes apart is cut before the id itself.
fn fit_name(name: &str, width: usize) -> String {
    match name.rsplit_once('/') {
        Some((directories, id)) if columns(name) > width && columns(id) + 4 <= width => {
            format!("{}/{id}", fit(directories, width - columns(id) - 1))
        }
        _ => fit(name, width).into_owned(),
    }
}

/// Title, position, agent and attempt, as far as they are known and fit.
fn about(row: &Row, room: usize) -> String {
    let is_open = !matches!(row.state, State::Done);
    let is_named = |agent: &&str| row.full_name.split('/').any(|part| part == *agent);
    let agent = row.agent.as_deref().filter(|agent| is_open && !is_named(agent)).map(clean);
    let attempt = row.attempt.filter(|attempt| *attempt > 1).map(|attempt| format!("attempt {attempt}"));
    let position = row.position.as_deref().filter(|_| is_open).map(clean);
    let title = row.title.as_deref().map(clean);
    let joined = |title: Option<String>| {
        [title, position.clone(), agent.clone(), attempt.clone()].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    };
    let whole = joined(title.clone());
    if columns(&whole) <= room {
        return whole;
    }
    // A long title leaves room for the position, which changes and matters more.
    let title_room = if position.is_some() { (room * 2 / 5).max(16) } else { room };
    fit(&joined(title.map(|title| fit(&title, title_room).into_owned())), room).into_owned()
}

fn liveness(row: &Row) -> String {
    let is_process_fact = row.led.as_ref().is_some_and(|led| led.liveness(row.state.lifecycle()).is_some());
    match (row.liveness, &row.seen) {
        (Liveness::Idle, _) => String::new(),
        (liveness, _) if is_process_fact => liveness.to_string(),
        (liveness, Some(seen)) => format!("{liveness} {}", seen.age),
        (_, None) => "no sign of life".to_owned(),
    }
}

/// What a person has to know, a line each.
fn troubles(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    match &row.state {
        State::Failed { error } => lines.push(format!("failed: {error}")),
        State::Paused { reason: Some(reason) } => lines.push(format!("paused: {reason}")),
        // A plan has no status of its own: this is what its boxes amount to.
        State::Unknown if row.dialect == Dialect::Plan => lines.push(row.status_text.clone()),
        State::Unknown if !row.status_text.is_empty() => lines.push(format!("status: {}", row.status_text)),
        _ => {}
    }
    lines.extend(row.led.as_ref().filter(|_| row.state != State::Done).and_then(|led| led_line(led, row)));
    if !matches!(row.state, State::Done) {
        lines.extend(row.blockers.iter().take(2).map(|blocker| format!("blocked: {blocker}")));
        if row.blockers.len() > 2 {
            lines.push(format!("blocked: {} more", row.blockers.len() - 2));
        }
    }
    if row.findings.error > 0 {
        lines.push(format!("{} in its documents", counted(row.findings.error as usize, "error", "errors")));
    }
    lines
}

/// What only a lead knows about a unit.
fn led_line(led: &Led, row: &Row) -> Option<String> {
    let reason = led.reason()?;
    let unit = row.unit();
    Some(match (&led.work, &row.state) {
        // Its own document says what it waits for.
        (LedWork::Approval { .. }, State::Paused { .. }) => verbs::APPROVE.on(&unit).to("approve it").to_string(),
        (LedWork::Approval { .. }, _) => verbs::APPROVE.on(&unit).to(reason).to_string(),
        // The row's own state says so, or its document says more.
        (LedWork::Paused { .. }, _) => return None,
        (LedWork::Dead { .. }, _) if row.liveness != Liveness::Dead => return None,
        (LedWork::Dead { .. }, _) => format!("dead: {reason}"),
        (
            LedWork::Parked { .. }
            | LedWork::Settled
            | LedWork::Turn
            | LedWork::Changed
            | LedWork::Closing
            | LedWork::Working { .. },
            _,
        ) => {
            format!("waiting: {reason}")
        }
    })
}

fn bar(row: &Row) -> String {
    if row.progress.total == 0 && !matches!(row.state, State::Done) {
        return "·".repeat(BAR);
    }
    let tenths = row.percent().tenths() as usize;
    let full = (tenths * BAR / 1000).min(BAR);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}
