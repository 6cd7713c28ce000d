//! Continues a unit: checks before it trusts, begins a new attempt, and writes the brief.

use piton_dialect::brief::{BriefFacts, brief};
use piton_dialect::git_names;
use piton_dialect::plan::{Sketch, sketch};
use piton_model::hint::verbs;
use piton_model::text::ordinal;
use piton_model::{
    Audience, Dialect, Event, Hint, Lifecycle, Liveness, Moment, Names, ResumeAction, ResumeMode, ResumePlan,
    ResumeQuestion, Row, Time, Unit, UnitRef,
};
use piton_store::{Glance, seal};
use serde_json::{Map, Value};

use crate::Workspace;
use crate::in_git::lost_in_git;
use crate::life::Claim;
use crate::record::{DiskFiles, HOLDER, HOLDER_SESSION, RecordError, Recorder, Session, fresh_id, resume_plan};
use crate::target::Target;

/// How often the same position may be resumed without progress before it is said loudly.
const LOOP: u64 = 3;

/// How a unit is to be resumed.
#[derive(Debug, Clone)]
pub struct ResumeRequest {
    /// How an interrupted stretch is treated.
    pub mode: Option<ResumeMode>,
    /// Even if an agent seems to be alive.
    pub force: bool,
    /// The most characters of the brief.
    pub budget: usize,
    /// The directory, below the workspace, where files that are recorded as made are looked for: a worktree.
    pub outputs_in: Option<String>,
    /// For whom the brief is written.
    pub audience: Audience,
}

/// A unit that is resumed, or the reasons why it is not.
#[derive(Debug)]
pub struct Resumption {
    /// The unit.
    pub unit: String,
    /// The attempt that began; for a refusal the one that there is.
    pub attempt: u64,
    /// The number of the event that began it.
    pub seq: Option<u64>,
    /// How it is continued.
    pub plan: ResumePlan,
    /// The text for whoever resumes.
    pub brief: String,
    /// What has to be said loudly.
    pub alarms: Vec<String>,
    /// What was found out on the way.
    pub warnings: Vec<Hint>,
    /// What a person has to answer before it is resumed.
    pub question: Option<ResumeQuestion>,
}

/// Resumes a unit.
pub fn resume(
    workspace: &Workspace,
    wanted: &UnitRef,
    request: &ResumeRequest,
    recorder: &Recorder,
) -> Result<Resumption, RecordError> {
    let found = Target::find(workspace, wanted, recorder.now);
    let mut session = Session::open_found(workspace, wanted, found, recorder)?;
    session.fence_writer(recorder, "resume")?;
    let command = verbs::RESUME.on(&session.target.name);
    let command = match request.mode {
        Some(ResumeMode::Restart) => command.flag("--restart"),
        Some(ResumeMode::Continue) => command.flag("--continue"),
        Some(ResumeMode::Fixed) => command.flag("--fixed"),
        None => command,
    };
    let claim = Claim { force: request.force, command: &command, goes_on: true };
    let found = session.take(&claim, recorder).map_err(|error| session.advised(error, recorder))?;
    let event = Event::Resumed { mode: request.mode };
    let moment = session.moment(&event, recorder);
    let plan = resume_plan(session.target.dialect, &session.target.place, &session.files(), request.mode, &moment)
        .map_err(RecordError::Refused)?;
    if plan.action == ResumeAction::Refuse {
        let plan = ResumePlan { reasons: session.hints_that_work(plan.reasons, recorder), ..plan };
        let attempt = session.unit.attempt();
        let unit = session.target.name.clone();
        return Ok(Resumption {
            unit,
            attempt,
            seq: None,
            plan,
            brief: String::new(),
            alarms: Vec::new(),
            warnings: session.warnings,
            question: question(session.target.dialect, &found.unit, request.mode),
        });
    }
    let mut alarms = lost_outputs(workspace, &plan, request.outputs_in.as_deref());
    if let Some(document) = session.contact.documents.get(&session.target.key.document)
        && let Some(content) = &document.content
    {
        alarms.extend(lost_in_git(workspace, &git_names(&content.bytes)));
    }
    alarms.extend(session.remember_position(&found.unit, &plan));
    session.remember_holder(recorder);
    let recorded = session.record(&event, recorder)?;
    if let Some(name) = &recorder.session {
        crate::hook::bind_known(workspace, name, &session.target);
    }
    let facts = BriefFacts {
        name: &recorded.unit,
        attempt: recorded.attempt,
        plan: &plan,
        unit: &found.unit,
        alarms: &alarms,
        fence: &fresh_id(),
        budget: request.budget,
        has_attempt: false,
        audience: request.audience,
    };
    let brief = brief(&facts);
    Ok(Resumption {
        unit: recorded.unit,
        attempt: recorded.attempt,
        seq: Some(recorded.seq),
        plan,
        brief,
        alarms,
        warnings: recorded.warnings,
        question: None,
    })
}

/// What the unit's protocol asks before it is continued.
fn question(dialect: Dialect, unit: &Unit, mode: Option<ResumeMode>) -> Option<ResumeQuestion> {
    match dialect {
        Dialect::Build => piton_dialect::build::question(unit.state.lifecycle(), mode),
        Dialect::Pipeline | Dialect::Plan | Dialect::Task | Dialect::Crew => None,
    }
}

/// The brief of a unit as it stands, for who continues it without beginning an attempt. Nothing is written; nothing is
/// said when there is nothing to resume.
pub(crate) fn standing(
    workspace: &Workspace,
    target: &Target,
    reader: Reader,
    budget: usize,
    now: Time,
) -> Result<Option<Standing>, RecordError> {
    let (moment, ahead) = as_it_stands(workspace, target, now)?;
    let workspace = ahead.as_ref().unwrap_or(workspace);
    let unit = match crate::find::read_one(workspace, target, now) {
        Some(unit) => unit,
        None => crate::find(workspace, &crate::life::exact(target)?, now).map_err(RecordError::NotFound)?.unit,
    };
    let files = DiskFiles::new(&*workspace.disk, None);
    let plan = resume_plan(target.dialect, &target.place, &files, None, &moment).map_err(RecordError::Refused)?;
    Ok(told(workspace, target, reader, &unit, &plan, &moment, budget))
}

/// The same for a plan that is in line with its state, after one reading of it. The outer nothing is for one that is
/// not, or that cannot be read: it has to be brought into line first.
pub(crate) fn sketched(
    workspace: &Workspace,
    target: &Target,
    reader: Reader,
    budget: usize,
    now: Time,
) -> Result<Option<Option<Standing>>, RecordError> {
    let (moment, ahead) = as_it_stands(workspace, target, now)?;
    let workspace = ahead.as_ref().unwrap_or(workspace);
    let files = DiskFiles::new(&*workspace.disk, None);
    let Ok(Some(Sketch { unit, plan })) = sketch(&target.place, &files, &moment) else { return Ok(None) };
    Ok(Some(told(workspace, target, reader, &unit, &plan, &moment, budget)))
}

/// The unit's own attempt, now; and the workspace as its journal says that it is, where a document is behind.
fn as_it_stands(workspace: &Workspace, target: &Target, now: Time) -> Result<(Moment, Option<Workspace>), RecordError> {
    let (attempt, ahead) = glance(workspace, target)?;
    let moment = Moment {
        now,
        by: "main".to_owned(),
        attempt: attempt.max(1),
        session: None,
        fresh_id: fresh_id(),
        ticket: None,
    };
    Ok((moment, ahead))
}

/// What a unit's journal says, without its lock: the attempt, and the workspace as it is to be.
pub(crate) fn glance(workspace: &Workspace, target: &Target) -> Result<(u64, Option<Workspace>), RecordError> {
    let disk = &*workspace.disk;
    let Some(glance) = Glance::take(disk, &target.key.directory(), &disk.boot())? else {
        return Ok((0, None));
    };
    // A journal that came with the repository may say anything.
    let is_ahead = !glance.behind.is_empty() && seal::inspect(disk)? == seal::Home::Ours;
    Ok((glance.last.attempt, is_ahead.then(|| workspace.with(glance.behind))))
}

fn told(
    workspace: &Workspace,
    target: &Target,
    reader: Reader,
    unit: &Unit,
    plan: &ResumePlan,
    moment: &Moment,
    budget: usize,
) -> Option<Standing> {
    if plan.action == ResumeAction::Refuse {
        return None;
    }
    let alarms = lost_outputs(workspace, plan, None);
    let facts = BriefFacts {
        name: &target.name,
        attempt: moment.attempt,
        plan,
        unit,
        alarms: &alarms,
        // A new one each time: whoever was told the last one, the model included, may have written what is quoted.
        fence: &moment.fresh_id,
        budget,
        has_attempt: reader == Reader::Worker,
        audience: Audience::Shell,
    };
    let names = [&plan.done, &plan.remaining].into_iter().flat_map(Names::iter);
    let texts = [&plan.instructions, &unit.blockers, &alarms].into_iter().flatten().map(String::as_str);
    let mut substance = format!("{}\0{}\0{}", target.name, plan.position, plan.next);
    names.chain(texts).for_each(|text| substance.extend(["\0", text]));
    Some(Standing { brief: brief(&facts), substance })
}

/// Who reads a brief that begins nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A session that somebody started.
    Session,
    /// A worker of a lead, whose environment names its attempt.
    Worker,
}

/// A brief that begins nothing.
pub(crate) struct Standing {
    pub brief: String,
    /// What in it changes what is to be done, to be compared; what somebody noted on the way does not.
    pub substance: String,
}

/// Files that were named as made and are not there.
pub(crate) fn lost_outputs(workspace: &Workspace, plan: &ResumePlan, below: Option<&str>) -> Vec<String> {
    let is_there = |path: &str| !matches!(workspace.disk.stamp(path.trim_end_matches('/')), Ok(None));
    let is_lost = |path: &&String| {
        let is_plain =
            !path.starts_with('/') && !path.contains(['*', '\\']) && !path.split('/').any(|part| part == "..");
        is_plain && !is_there(path) && !below.is_some_and(|below| is_there(&format!("{below}/{path}")))
    };
    let lost: Vec<&String> = plan.outputs.iter().filter(is_lost).collect();
    lost.iter().map(|path| format!("a file that is recorded as made is not there: {path}")).collect()
}

impl Session<'_> {
    fn remember_holder(&mut self, recorder: &Recorder) {
        self.carried.insert(HOLDER.to_owned(), recorder.by.as_str().into());
        self.carried.insert(HOLDER_SESSION.to_owned(), recorder.session.clone().into());
    }

    /// Compares with the last resume: the same place again and again, or less done than before, is said loudly.
    fn remember_position(&mut self, unit: &Unit, plan: &ResumePlan) -> Vec<String> {
        let before = self.unit.last().map(|entry| entry.carried.clone()).unwrap_or_default();
        let number = |key: &str| before.get(key).and_then(Value::as_u64);
        let done = unit.progress.done.max(plan.done.len() as u64);
        let is_same = before.get("resumed_position").and_then(Value::as_str) == Some(plan.position.as_str())
            && number("resumed_done") == Some(done);
        let times = if is_same { number("resumed_times").unwrap_or(1) + 1 } else { 1 };
        let mut alarms = Vec::new();
        if let Some(earlier) = number("resumed_done").filter(|earlier| *earlier > done) {
            alarms.push(format!("progress went backwards: {earlier} steps were done at the last resume, now {done}"));
        }
        if times >= LOOP {
            alarms.push(format!(
                "this position is resumed for the {} time without progress; change the approach, or ask a person",
                ordinal(times)
            ));
        }
        let position = Map::from_iter([
            ("resumed_position".to_owned(), plan.position.as_str().into()),
            ("resumed_done".to_owned(), done.into()),
            ("resumed_times".to_owned(), times.into()),
        ]);
        self.carried.extend(position);
        alarms
    }
}

/// What could be resumed, the most urgent first: what broke or went silent, then what waits.
pub fn resumable(workspace: &Workspace, now: Time) -> Vec<Row> {
    let is_held = |row: &Row| row.led.as_ref().is_some_and(piton_model::Led::is_held);
    let rank = |row: &Row| match (row.state.lifecycle(), row.liveness) {
        // A lead is at work on it, and starts what is to be started.
        _ if is_held(row) => None,
        // A story that has not begun, or that a run put off, is begun and not resumed.
        (Lifecycle::Paused, _) if !row.resumable => None,
        (Lifecycle::Queued, _) if row.dialect == Dialect::Pipeline => None,
        (Lifecycle::Running | Lifecycle::Waiting, Liveness::Dead | Liveness::Stale) => Some(0),
        (Lifecycle::Failed, _) => Some(1),
        (Lifecycle::Running | Lifecycle::Waiting, Liveness::Late | Liveness::Unknown) => Some(2),
        (Lifecycle::Paused, _) => Some(3),
        (Lifecycle::Blocked, _) => Some(4),
        (Lifecycle::Running | Lifecycle::Waiting, Liveness::Idle) => Some(5),
        (Lifecycle::Queued, _) => Some(6),
        (Lifecycle::Running | Lifecycle::Waiting, Liveness::Alive) => None,
        (Lifecycle::Done | Lifecycle::Unknown, _) => None,
    };
    let rows = crate::status(workspace, None, now).rows;
    let mut ranked: Vec<_> = rows.into_iter().filter_map(|row| Some((rank(&row)?, row))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, row)| row).collect()
}
