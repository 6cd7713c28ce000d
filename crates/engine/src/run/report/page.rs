//! The report as a page for people.

use std::fmt::Write as _;

use piton_model::fleet::{Halt, LaneState, Outcome};
use piton_model::text::{self, headline};
use piton_supervisor::Spent;

use super::super::lead::Lead;
use super::super::memory::LaneMemory;

impl Lead<'_> {
    /// All of it as Markdown.
    pub(super) fn page(&self, outcome: Outcome) -> String {
        let now = self.time();
        let started = self.run.started;
        let mut page = format!("# Run {}: {}\n\n", self.run.number, outcome.word());
        let leads = counted(self.run.leads, "lead", "leads");
        let took = span(started.age(now).0.as_secs());
        let _ = write!(page, "Started {started}, ended {now}: {took}, {leads}");
        let unknown: usize = self.own().map(|(_, memory)| memory.costs.unknown(memory.run)).sum();
        let _ = writeln!(page, "{}.", cost_text(&self.spent(), unknown));
        self.write_lanes(&mut page);
        self.write_stages(&mut page);
        self.write_gates(&mut page);
        self.write_resumed(&mut page);
        self.write_troubles(&mut page);
        page
    }

    /// What is remembered of each lane and each group of this run, by its name.
    fn own(&self) -> impl Iterator<Item = (&str, &LaneMemory)> {
        let lanes = self.work.fleet.lanes.iter().map(|lane| lane.name.as_str());
        let groups = self.work.fleet.groups.iter().map(|group| group.name.as_str());
        let own = lanes.chain(groups).filter_map(|name| Some((name, self.memory.lanes.get(name)?)));
        own.chain(self.rest())
    }

    fn write_lanes(&self, page: &mut String) {
        page.push_str("\n| what | title | state | workers | again | time | commits | files | lines |\n");
        page.push_str("|---|---|---|---|---|---|---|---|---|\n");
        for (view, memory) in self.reported() {
            let git = memory.git.unwrap_or_default();
            let again = memory.again.sum();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {again} | {} | {} | {} | +{} −{} |",
                cell(&view.name),
                cell(view.title.as_deref().unwrap_or_default()),
                view.state,
                memory.workers,
                span(memory.stage_seconds.values().sum()),
                git.commits,
                git.files,
                git.insertions,
                git.deletions
            );
        }
        page.push_str("\nTime: how long workers were at it in this run. Again: workers that followed one which ended without completing its work, NO-GOs validated again, FAILs reworked. ");
        page.push_str(
            "Commits, files and lines: what the branch had beyond the base when it was merged last, or has now.\n",
        );
    }

    /// Where lanes have several stages: how long each took, and what came of it.
    fn write_stages(&self, page: &mut String) {
        let mut rows = String::new();
        for (view, memory) in self.reported().iter().filter(|(view, _)| view.stage.is_some()) {
            let stages: [u8; 4] = [0, 1, 2, 3];
            let stage = |stage: &u8| match (memory.stage_seconds.get(stage), memory.results.get(stage)) {
                (Some(seconds), Some(result)) => format!("{}: {}", span(*seconds), cell(result)),
                (Some(seconds), None) => span(*seconds),
                (None, Some(result)) => cell(result),
                (None, None) => "–".to_owned(),
            };
            let cells: Vec<String> = stages.iter().map(stage).collect();
            let _ = writeln!(rows, "| {} | {} |", cell(&view.name), cells.join(" | "));
        }
        if !rows.is_empty() {
            let _ = write!(page, "\n## Stages\n\n| what | 0: plan | 1: validate | 2: execute | 3: judge |\n");
            let _ = write!(page, "|---|---|---|---|---|\n{rows}");
        }
    }

    fn write_gates(&self, page: &mut String) {
        let gates = self.own().flat_map(|(name, memory)| memory.gates.iter().map(move |gate| (name, gate)));
        let lines: Vec<String> =
            gates.map(|(name, (gate, how))| format!("- {}, {}: {}", cell(name), cell(gate), cell(how))).collect();
        if !lines.is_empty() {
            let _ = write!(page, "\n## Gates\n\n{}\n", lines.join("\n"));
        }
    }

    /// What was gone on with, and what did not have to be done again for that.
    fn write_resumed(&self, page: &mut String) {
        let resumed: Vec<_> = self.own().filter(|(_, memory)| memory.resumes > 0).collect();
        if resumed.is_empty() {
            return;
        }
        page.push_str("\n## Resumed\n\n");
        for (name, memory) in resumed {
            let _ = writeln!(
                page,
                "- {}: {}; {} already recorded, and not done again",
                cell(name),
                counted(memory.resumes, "worker took it up", "workers took it up"),
                counted(memory.saved, "step was", "steps were"),
            );
        }
    }

    /// What the last worker of a lane printed last, or the gate that refused its work.
    fn last_output(&self, lane: &str) -> Vec<String> {
        let place = self.work.fleet.lanes.iter().position(|known| known.name == lane);
        let work = place.map(|at| &self.work.lanes[at]);
        work.map(|work| crate::output::last_lines(self.workspace, &work.unit, work.step.as_deref())).unwrap_or_default()
    }

    fn write_troubles(&self, page: &mut String) {
        let mut lines = Vec::new();
        for (name, memory) in self.own() {
            lines.extend(memory.deaths.iter().map(|death| format!("- {}: {}", cell(name), cell(headline(death)))));
        }
        for lane in &self.work.fleet.lanes {
            if let LaneState::Paused { reason } = &lane.state {
                lines.push(format!("- {} is paused: {}", cell(&lane.name), cell(headline(reason))));
                lines.extend(self.last_output(&lane.name).into_iter().map(|line| format!("      {line}")));
            }
        }
        for (at, group) in self.work.fleet.groups.iter().enumerate() {
            // What a paused lane says stands there already.
            let is_said = |halt: &&Halt| halt.lane.is_some_and(|at| self.work.fleet.lanes[at].state.word() == "paused");
            if let Some(halt) = group.halted.as_ref().filter(|halt| !is_said(halt)) {
                lines.push(format!("- {} stopped: {}", cell(&group.name), cell(headline(&halt.reason))));
                let unit = self.work.groups.get(at).and_then(|work| work.unit.as_ref());
                let printed = unit.map(|unit| crate::output::last_lines(self.workspace, unit, None));
                lines.extend(printed.into_iter().flatten().map(|line| format!("      {line}")));
            }
        }
        let waiting = self.waiting().into_iter();
        lines.extend(waiting.map(|it| format!("- {} waits for approval: {}", cell(&it.unit), cell(&it.what))));
        let issues = self.memory.issues.iter();
        lines.extend(issues.map(|(phase, kind, message)| format!("- {phase}, {kind}: {}", cell(message))));
        if !lines.is_empty() {
            let _ = write!(page, "\n## What happened\n\n{}\n", lines.join("\n"));
        }
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    text::counted(usize::try_from(count).unwrap_or(usize::MAX), one, many)
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A text of others on a page: one line that ends no table and begins no markup.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for letter in text::printable(text).chars() {
        if matches!(letter, '|' | '<' | '[' | '*' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// What workers cost, for people: a price, or tokens, and how many did not say.
fn cost_text(spent: &Spent, unknown: usize) -> String {
    if spent.is_unknown() {
        return ", cost unknown".to_owned();
    }
    let mut text = String::new();
    if let Some(usd) = spent.usd {
        let _ = write!(text, ", ${usd:.2}");
    }
    if let Some(tokens) = spent.tokens {
        let _ = write!(text, ", {} tokens in and {} out", tokens.input, tokens.output);
    }
    if unknown > 0 {
        let workers = counted(unknown as u64, "worker that did not say", "workers that did not say");
        let _ = write!(text, " (without {workers})");
    }
    text
}

#[cfg(test)]
mod tests {
    use piton_supervisor::Tokens;

    use super::*;

    #[test]
    fn a_text_of_others_stays_in_its_cell() {
        for (text, want) in [
            ("plain, `code`", "plain, `code`"),
            ("a | b\nc", "a \\| b c"),
            ("<img src=x> [a](b) *c*", "\\<img src=x> \\[a](b) \\*c\\*"),
        ] {
            assert_eq!(cell(text), want);
        }
        assert_eq!((span(59), span(61), span(3_725)), ("59 s".into(), "1 min 1 s".into(), "1 h 2 min".into()));
    }

    #[test]
    fn a_cost_is_told_as_far_as_it_is_known() {
        let tokens = Some(Tokens { input: 1200, output: 30 });
        for (spent, unknown, want) in [
            (Spent::default(), 0, ", cost unknown"),
            (Spent::default(), 2, ", cost unknown"),
            (Spent { usd: Some(1.061), tokens: None }, 0, ", $1.06"),
            (Spent { usd: Some(1.061), tokens: None }, 1, ", $1.06 (without 1 worker that did not say)"),
            (Spent { usd: None, tokens }, 0, ", 1200 tokens in and 30 out"),
            (
                Spent { usd: Some(0.5), tokens },
                2,
                ", $0.50, 1200 tokens in and 30 out (without 2 workers that did not say)",
            ),
        ] {
            assert_eq!(cost_text(&spent, unknown), want);
        }
    }
}
