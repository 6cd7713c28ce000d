//! JSON documents with stable keys, the same for every door that gives them out.

use std::path::Path;

use piton_dialect::crew::Mail;
use piton_model::hint::verbs;
use piton_model::{
    Audience, Believed, Dialect, Finding, GateState, Hint, Led, Lifecycle, Percent, Refusal, Report, ResumeAction,
    Role, Row, State, StepState, Summary, Tally, Time, UnitRef,
};
use serde_json::{Value, json};

use crate::run::{RunState, RunStatus};
use crate::{Found, Inbox, LastWords, Notified, Reason, Recorded, Resumption, SyncPoint, UnitLog, Version, touched};

/// `status --json`
pub fn report(report: &Report) -> Value {
    document(report.as_of, &report.workspace, report.rows.iter().map(row).collect(), &report.summary)
}

fn document(as_of: Time, workspace: &str, units: Vec<Value>, summary: &Summary) -> Value {
    let mut counts = serde_json::Map::new();
    counts.insert("units".into(), json!(summary.units));
    for (lifecycle, count) in Lifecycle::ALL.iter().zip(summary.lifecycles) {
        counts.insert(lifecycle.word().into(), json!(count));
    }
    counts.insert("late".into(), json!(summary.late));
    counts.insert("stale".into(), json!(summary.stale));
    counts.insert("findings".into(), tally(summary.findings));
    json!({ "as_of": as_of.to_string(), "workspace": workspace, "units": units, "summary": counts })
}

/// `stale --json`
pub fn stale(rows: &[Row], now: Time) -> Value {
    json!({ "as_of": now.to_string(), "units": rows.iter().map(row).collect::<Vec<_>>() })
}

/// `check --json`
pub fn findings(findings: &[Finding], files: usize) -> Value {
    json!({ "findings": findings.iter().map(finding).collect::<Vec<_>>(), "files": files })
}

/// `status UNIT --json`
pub fn unit(found: &Found, workspace: &str, now: Time) -> Value {
    let unit = &found.unit;
    let judgement = &found.judgement;
    let tally = Tally::of(&found.findings);
    let name = found.name.split_once(':').map_or(found.name.as_str(), |(_, id)| id).to_owned();
    let short = Row::new(unit.clone(), name, judgement.liveness, judgement.believed.clone(), tally);
    let short = match found.led.clone() {
        Some(led) => short.led(led),
        None => short,
    };
    let report = Report::new(now, workspace.to_owned(), vec![short], Tally::default());
    let mut whole = row(&report.rows[0]);
    let map = whole.as_object_mut().expect("a row is an object");
    map.insert("unit".into(), json!(found.name));
    map.insert("id".into(), json!(report.rows[0].full_name));
    map.insert("session".into(), json!(unit.session));
    map.insert("resumable".into(), json!(unit.resumable));
    map.insert("steps".into(), unit.steps.iter().map(step).collect());
    map.insert("gates".into(), unit.gates.iter().map(gate).collect());
    let decisions = unit
        .decisions
        .iter()
        .map(|decision| json!({ "time": decision.time, "decision": decision.text, "reason": decision.reason }));
    map.insert("decisions".into(), decisions.collect());
    let errors = unit
        .troubles
        .iter()
        .map(|trouble| json!({ "time": trouble.time, "message": trouble.message, "place": trouble.place }));
    map.insert("errors".into(), errors.collect());
    map.insert(
        "notes".into(),
        unit.notes.iter().map(|note| json!({ "label": note.label, "text": note.text })).collect(),
    );
    map.insert("files".into(), json!(unit.files));
    let documents =
        unit.documents.iter().map(|document| json!({ "path": *document.path, "role": role(document.role) }));
    map.insert("documents".into(), documents.collect());
    map.insert("why".into(), reasons(found, now));
    map.insert("all_findings".into(), found.findings.iter().map(finding).collect());
    document(now, workspace, vec![whole], &report.summary)
}

/// `why --json`
pub fn why(found: &Found, now: Time) -> Value {
    json!({
        "as_of": now.to_string(),
        "unit": found.name,
        "lifecycle": found.state().lifecycle().word(),
        "lead": found.led.as_ref().map(lead),
        "liveness": found.judgement.liveness.word(),
        "last_seen": last_seen(found.judgement.believed.as_ref()),
        "decided_by": found.judgement.believed.as_ref().map(|seen| seen.source.to_string()),
        "why": reasons(found, now),
    })
}

/// `run` of `status --json`: the run that a lead is at work on, or else the newest that is not finished. Commands are as
/// they can be typed in `directory`.
pub fn run(status: Option<&RunStatus>, root: &Path, directory: &Path) -> Value {
    let Some(status) = status else { return Value::Null };
    let run = &status.run;
    let at = |time: Option<Time>| time.map(|at| at.to_string());
    let waiting = status
        .waiting
        .iter()
        .map(|it| json!({ "unit": it.unit, "what": it.what, "command": verbs::APPROVE.on(&it.unit).to_string() }));
    let view = status.view.as_ref();
    json!({
        "number": run.number,
        "state": status.state.word(),
        "started": run.started.to_string(),
        "units": run.units,
        "lead": {
            "pid": status.pid,
            "since": run.lead_since.to_string(),
            "at_work": status.state == RunState::Led,
        },
        "mode": view.filter(|_| status.state == RunState::Led).map(|view| view.mode.as_ref()),
        "done": status.progress().map(|(done, _)| done),
        "total": status.progress().map(|(_, total)| total),
        "workers": status.workers,
        "waiting": waiting.collect::<Vec<_>>(),
        "parked_until": at(view.and_then(|view| view.parked_until)),
        "ended": at(run.ended.map(|(_, at)| at)),
        "command": status.next_commands(root, directory),
    })
}

/// What a worker that failed printed last.
pub fn last_words(words: &LastWords) -> Value {
    json!({
        "step": words.step,
        "worker": words.worker,
        "attempt": words.attempt,
        "gate": words.gate,
        "exit": words.exit,
        "lines": words.lines,
    })
}

/// What became true, with the number under which it is kept.
pub fn recorded(recorded: &Recorded) -> Value {
    let mut document = json!({
        "unit": recorded.unit,
        "seq": recorded.seq,
        "attempt": recorded.attempt,
        "summary": recorded.summary,
        "warnings": recorded.warnings.iter().map(Hint::to_string).collect::<Vec<_>>(),
    });
    if let Some(next) = &recorded.next {
        document["next"] = json!(next.to_string());
    }
    if let Some(handoff) = &recorded.handoff {
        document["handoff"] = json!(handoff);
    }
    document
}

/// `log --json`
pub fn log(found: &UnitLog) -> Value {
    let events = found.log.events.iter().map(|entry| {
        let mut event = json!({
            "seq": entry.seq,
            "at": entry.at,
            "attempt": entry.attempt,
            "by": entry.by,
            "event": entry.event,
            "summary": entry.summary,
            "files": touched(entry),
        });
        if !entry.data.is_empty() {
            event["data"] = Value::Object(entry.data.clone());
        }
        event
    });
    json!({"unit": found.unit, "compacted_up_to": found.log.compacted_up_to(), "events": events.collect::<Vec<_>>()})
}

/// `show --json`
pub fn version(version: &Version) -> Value {
    let document = |(path, bytes): &(String, Vec<u8>)| json!({"path": path, "text": String::from_utf8_lossy(bytes)});
    let documents: Vec<_> = version.documents.iter().map(document).collect();
    json!({"unit": version.unit, "seq": version.seq, "documents": documents})
}

/// `sync --json`
pub fn sync(points: &[SyncPoint], now: Time) -> Value {
    let crew = |point: &SyncPoint| {
        let missing = point.missing.iter().map(|(agent, why)| json!({"agent": agent, "reason": why}));
        json!({
            "crew": point.crew,
            "ready": point.missing.is_empty(),
            "agents": point.agents,
            "missing": missing.collect::<Vec<_>>(),
        })
    };
    json!({"as_of": now.to_string(), "crews": points.iter().map(crew).collect::<Vec<_>>()})
}

/// `notified` of `stale --notify --json`
pub fn notified(all: &[Notified], audience: Audience) -> Value {
    let crew = |notified: &Notified| {
        let notices = notified.notices.iter().map(|notice| {
            json!({
                "agent": notice.agent,
                "stale": notice.is_stale,
                "message": notice.message,
                "commands": notice.commands.iter().map(|command| command.render(audience)).collect::<Vec<_>>(),
            })
        });
        json!({
            "crew": notified.crew,
            "notices": notices.collect::<Vec<_>>(),
            "seq": notified.recorded.as_ref().map(|recorded| recorded.seq),
        })
    };
    all.iter().map(crew).collect()
}

/// `inbox --json`
pub fn inbox(inbox: &Inbox) -> Value {
    let mail = |mail: &Mail| {
        json!({
            "number": mail.number,
            "from": mail.from,
            "time": mail.time,
            "unread": mail.is_unread,
            "subject": mail.subject,
            "body": mail.body,
            "file": mail.file,
        })
    };
    json!({
        "agent": inbox.agent,
        "crew": inbox.crew,
        "unread": inbox.unread,
        "messages": inbox.mails.iter().map(mail).collect::<Vec<_>>(),
    })
}

/// `resume UNIT --json`
pub fn resumption(resumption: &Resumption, audience: Audience) -> Value {
    let plan = &resumption.plan;
    json!({
        "unit": resumption.unit,
        "attempt": resumption.attempt,
        "action": plan.action.word(),
        "position": plan.position,
        "next": plan.next.render(audience),
        "done": plan.done.iter().collect::<Vec<_>>(),
        "remaining": plan.remaining.iter().collect::<Vec<_>>(),
        "brief": resumption.brief,
        "reasons": plan.reasons.iter().map(|reason| reason.render(audience)).collect::<Vec<_>>(),
        "alarms": resumption.alarms,
        "seq": resumption.seq,
    })
}

/// The same for a refusal before there was a plan.
pub fn not_resumed(wanted: &UnitRef, refusal: &Refusal) -> Value {
    let hints = refusal.hints.iter().map(Hint::to_string);
    let reasons: Vec<String> = [refusal.message.clone()].into_iter().chain(hints).collect();
    json!({
        "unit": wanted.to_string(),
        "attempt": null,
        "action": ResumeAction::Refuse.word(),
        "position": null,
        "next": "",
        "done": [],
        "remaining": [],
        "brief": "",
        "reasons": reasons,
        "alarms": [],
        "seq": null,
    })
}

fn reasons(found: &Found, now: Time) -> Value {
    let reason = |reason: Reason| json!({ "what": reason.what, "because": reason.because });
    crate::why(found, now).into_iter().map(reason).collect()
}

/// The lead that has a unit, or had it last.
fn lead(led: &Led) -> Value {
    let lead = &led.lead;
    json!({ "run": lead.run, "pid": lead.pid, "since": lead.since.to_string(), "at_work": lead.is_at_work })
}

/// A unit in a line.
pub fn row(row: &Row) -> Value {
    let reason = match &row.state {
        State::Failed { error } => Some(error.as_str()),
        State::Paused { reason } => reason.as_deref(),
        _ => None,
    };
    let known = row.led.as_ref().and_then(Led::reason);
    let reason = reason.map(str::to_owned).or(known);
    json!({
        "unit": row.unit(),
        "dialect": row.dialect.word(),
        "id": row.id,
        "title": row.title,
        "path": *row.path,
        "lifecycle": row.state.lifecycle().word(),
        "status_text": row.status_text,
        "reason": reason,
        "position": row.position,
        "done": row.progress.done,
        "total": row.progress.total,
        "percent": percent(row.dialect, row.percent()),
        "agent": row.agent,
        "attempt": row.attempt,
        "liveness": row.liveness.word(),
        "last_seen": last_seen(row.seen.as_ref()),
        "blockers": row.blockers,
        "findings": tally(row.findings),
    })
}

/// A whole number for tasks, as their document says; one decimal for the rest.
fn percent(dialect: Dialect, percent: Percent) -> Value {
    match (dialect, percent.tenths()) {
        (Dialect::Task, _) => json!(percent.floor()),
        (_, tenths) if tenths.is_multiple_of(10) => json!(tenths / 10),
        (_, tenths) => json!(tenths as f64 / 10.0),
    }
}

fn last_seen(seen: Option<&Believed>) -> Option<String> {
    seen.map(|seen| seen.at.to_string())
}

fn tally(tally: Tally) -> Value {
    json!({ "error": tally.error, "warning": tally.warning, "note": tally.note })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "code": finding.code.name,
        "severity": finding.code.severity.to_string(),
        "path": *finding.place.path,
        "line": finding.place.line,
        "message": finding.message,
        "help": finding.code.hint().to_string(),
    })
}

fn step(step: &piton_model::Step) -> Value {
    let (state, by, at, outputs) = match &step.state {
        StepState::Pending => ("pending", None, None, &[][..]),
        StepState::Running => ("running", None, None, &[][..]),
        StepState::Failed => ("failed", None, None, &[][..]),
        StepState::Skipped => ("skipped", None, None, &[][..]),
        StepState::Done { by, at, outputs } => ("done", by.as_deref(), at.as_deref(), outputs.as_slice()),
    };
    json!({ "id": step.id, "title": step.title, "stage": step.stage.as_deref(), "state": state, "by": by, "at": at, "outputs": outputs })
}

fn gate(gate: &piton_model::Gate) -> Value {
    let (state, result) = match &gate.state {
        GateState::Pending => ("pending", None),
        GateState::Passed { result } => ("passed", result.as_deref()),
        GateState::Failed { result } => ("failed", result.as_deref()),
    };
    json!({ "name": gate.name, "step": gate.step, "stage": gate.stage.as_deref(), "state": state, "result": result })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Main => "main",
        Role::Companion => "companion",
        Role::Superseded => "superseded",
        Role::Archive => "archive",
        Role::Backup => "backup",
    }
}
