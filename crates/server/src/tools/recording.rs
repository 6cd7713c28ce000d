//! Tools that record an event of a unit.

use piton_engine::{Problem, ProblemKind, Unblocking, Workspace, record, unblock};
use piton_model::{Event, ExecutionNote, FixKind, GateJudgement, NotePurpose, Start, StepMove, StepTo, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reading::inside;
use super::{Effect, Entry, read};
use crate::answer::Answer;
use crate::door::{Door, Writer};
use crate::schema;

mod table;

pub(super) use table::TOOLS;

/// Arguments that become an event.
trait Recording {
    /// The unit and who records it.
    fn of(&self) -> (Option<&str>, &Writer);
    /// The event.
    fn event(self, workspace: &Workspace) -> Result<Event, Problem>;
}

/// Says for a type where its unit and its writer stand.
macro_rules! recording {
    ($($input:ident: $event:expr;)*) => {
        $(impl Recording for $input {
            fn of(&self) -> (Option<&str>, &Writer) {
                (self.unit.as_deref(), &self.writer)
            }

            fn event(self, workspace: &Workspace) -> Result<Event, Problem> {
                let event: fn($input, &Workspace) -> Result<Event, Problem> = $event;
                event(self, workspace)
            }
        })*
    };
}

fn run<I: Recording>(door: &Door, input: I, tool: &str) -> Result<Answer, Problem> {
    let (named, writer) = input.of();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(writer, named, tool)?;
    let workspace = door.open()?;
    let event = input.event(&workspace)?;
    let recorded = record(&workspace, &wanted, &event, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StartInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What a person calls it
    title: Option<String>,
    /// The EXECUTION-SPEC that a build follows: a file, relative to the workspace
    spec: Option<String>,
    /// Ids of its steps
    #[serde(default)]
    steps: Vec<String>,
    /// Names of its gates
    #[serde(default)]
    gates: Vec<String>,
    /// Names of its acceptance criteria
    #[serde(default)]
    criteria: Vec<String>,
    /// How many steps there are, when not all are named
    total: Option<u64>,
    /// What the agent is called
    agent_name: Option<String>,
    /// The feature that an agent of a crew owns
    feature: Option<String>,
    /// The stage it starts in
    stage: Option<String>,
    /// primary or secondary
    agent_type: Option<String>,
    /// How long it is expected to take
    estimate_minutes: Option<u64>,
    #[serde(flatten)]
    writer: Writer,
}

fn started(input: StartInput, workspace: &Workspace) -> Result<Event, Problem> {
    let spec = input.spec.map(|path| specification(workspace, path)).transpose()?;
    Ok(Event::Started(Start {
        title: input.title,
        spec,
        steps: input.steps,
        gates: input.gates,
        criteria: input.criteria,
        total: input.total,
        agent_name: input.agent_name,
        feature: input.feature,
        stage: input.stage,
        agent_type: input.agent_type,
        session: input.writer.session,
        estimate_minutes: input.estimate_minutes,
        tasks: Vec::new(),
        replaces: false,
    }))
}

/// A specification's path and text. Only the workspace is looked into: whoever calls may have been talked into it.
fn specification(workspace: &Workspace, path: String) -> Result<(String, String), Problem> {
    inside(&path)?;
    match workspace.read_text(&path) {
        Ok(Some(text)) => Ok((path, text)),
        Ok(None) => Err(Problem::new(ProblemKind::Missing, format!("there is no such specification: {path}"))
            .hint("write its path relative to the workspace")),
        Err(error) => {
            Err(Problem::new(ProblemKind::Failed, format!("cannot read the specification `{path}`: {error}")))
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StepInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What happened to the steps
    deed: StepWord,
    /// Ids of the steps, as `status` shows them
    steps: Vec<String>,
    /// Files that the step made
    #[serde(default)]
    outputs: Vec<String>,
    /// Files that the step changed
    #[serde(default)]
    files: Vec<String>,
    /// The step that comes next
    next: Option<String>,
    /// What there is to say
    message: Option<String>,
    /// Title of a story's task, with deed begin and one step
    title: Option<String>,
    /// Description of a story's task, with deed begin and one step
    description: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StepWord {
    Begin,
    Done,
    Fail,
    Skip,
}

fn moved(input: StepInput) -> Result<Event, Problem> {
    at_least_one(&input.steps, "steps")?;
    let to = match input.deed {
        StepWord::Begin => StepTo::Begun,
        StepWord::Done => StepTo::Done,
        StepWord::Fail => StepTo::Failed,
        StepWord::Skip => StepTo::Skipped,
    };
    let StepInput { steps, outputs, files, next, message, title, description, .. } = input;
    Ok(Event::StepMoved(StepMove { outputs, files, next, message, title, description, ..StepMove::new(to, steps) }))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GateInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// How they are judged
    verdict: GateWord,
    /// Names of the gates or acceptance criteria, as `status` shows them
    names: Vec<String>,
    /// The step they belong to
    step: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum GateWord {
    Pass,
    Fail,
}

fn judged(input: GateInput) -> Result<Event, Problem> {
    at_least_one(&input.names, "names")?;
    let passed = input.verdict == GateWord::Pass;
    Ok(Event::GateJudged(GateJudgement { passed, names: input.names, step: input.step, evidence: None }))
}

fn at_least_one(list: &[String], name: &str) -> Result<(), Problem> {
    match list.is_empty() {
        true => Err(Problem::new(ProblemKind::Usage, format!("`{name}` is empty"))),
        false => Ok(()),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct VerdictInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// GO, NO-GO, PASS, CONCERNS, WAIVED, FAIL; ship, ship_with_gates, do_not_ship, overridden; PLAN for a plan's score
    word: String,
    /// A score, in the dialect's scale
    score: Option<f64>,
    /// Why
    reason: Option<String>,
    /// What is wrong
    issues: Option<String>,
    /// How many findings block
    p0: Option<u64>,
    /// How many findings should be mended
    p1: Option<u64>,
    /// Where the whole report is
    report: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

fn verdict(input: VerdictInput) -> Result<Event, Problem> {
    let VerdictInput { word, score, reason, issues, p0, p1, report, writer, .. } = input;
    let reviewer = writer.by.filter(|by| by != "main");
    Ok(Event::VerdictGiven(Verdict { word, score, reason, issues, reviewer, p0, p1, report }))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct BlockInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What keeps it from going on
    message: String,
    /// What kind of thing, such as dependency_missing
    kind: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UnblockInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// An answer for the next worker, who gets it as an instruction
    message: Option<String>,
    /// The one blocker that is gone, by its text or number. Default: all of them
    blocker: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

/// Takes away what blocks a unit.
pub(super) fn unblocked(door: &Door, input: UnblockInput) -> Result<Answer, Problem> {
    let named = input.unit.as_deref();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(&input.writer, named, "unblock")?;
    let unblocking = Unblocking { blocker: input.blocker, answer: input.message };
    let recorded =
        unblock(&door.open()?, &wanted, &unblocking, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PauseInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// Why
    reason: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct FailInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What broke
    message: String,
    /// At which step
    step: Option<String>,
    /// In which file
    file: Option<String>,
    /// In which line of it
    line: Option<u64>,
    #[serde(flatten)]
    writer: Writer,
}

fn failed(input: FailInput) -> Result<Event, Problem> {
    if input.line.is_some() && input.file.is_none() {
        return Err(Problem::new(ProblemKind::Usage, "`line` says where in a `file`, and there is none"));
    }
    Ok(Event::Failed { step: input.step, message: input.message, file: input.file, line: input.line })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StageInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// The stage or phase: its name or number
    stage: String,
    /// What a person calls the phase
    phase: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NoteInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What to write down; for a fix, what was changed in the file
    text: String,
    /// What it is for. note: to be kept. resume_instruction: to be followed by the worker that resumes. In a build also
    /// key_fix and eslint_fix, with `file`, and cleanup. Default: note
    purpose: Option<PurposeWord>,
    /// The file that was fixed
    file: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PurposeWord {
    Note,
    ResumeInstruction,
    KeyFix,
    EslintFix,
    Cleanup,
}

fn noted(input: NoteInput) -> Result<Event, Problem> {
    let purpose = input.purpose.unwrap_or(PurposeWord::Note);
    let is_fix = matches!(purpose, PurposeWord::KeyFix | PurposeWord::EslintFix);
    if is_fix != input.file.is_some() {
        return Err(Problem::new(
            ProblemKind::Usage,
            "`file` belongs to a key_fix or an eslint_fix, and to nothing else",
        ));
    }
    let (text, file) = (input.text, input.file.unwrap_or_default());
    Ok(match purpose {
        PurposeWord::Note => Event::Noted { text, purpose: NotePurpose::Note },
        PurposeWord::ResumeInstruction => Event::Noted { text, purpose: NotePurpose::ResumeInstruction },
        PurposeWord::KeyFix => Event::ExecutionNoted(ExecutionNote::Fix { kind: FixKind::Key, file, change: text }),
        PurposeWord::EslintFix => {
            Event::ExecutionNoted(ExecutionNote::Fix { kind: FixKind::Eslint, file, change: text })
        }
        PurposeWord::Cleanup => Event::ExecutionNoted(ExecutionNote::Cleanup { text }),
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DecideInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// What was decided
    text: String,
    /// Why
    reason: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PlainInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    pub unit: Option<String>,
    #[serde(flatten)]
    pub writer: Writer,
}

recording! {
    StartInput: started;
    StepInput: |input, _| moved(input);
    GateInput: |input, _| judged(input);
    VerdictInput: |input, _| verdict(input);
    BlockInput: |input, _| Ok(Event::Blocked { message: input.message, kind: input.kind });
    PauseInput: |input, _| Ok(Event::Paused { reason: input.reason });
    FailInput: |input, _| failed(input);
    StageInput: |input, _| Ok(Event::StageEntered { stage: input.stage, phase: input.phase });
    NoteInput: |input, _| noted(input);
    DecideInput: |input, _| Ok(Event::Decided { text: input.text, reason: input.reason });
}

/// Records an event that has no arguments of its own.
pub(super) fn plain(door: &Door, input: &PlainInput, tool: &str, event: &Event) -> Result<Answer, Problem> {
    happen(door, input.unit.as_deref(), &input.writer, tool, event)
}

/// Records an event.
pub(super) fn happen(
    door: &Door,
    named: Option<&str>,
    writer: &Writer,
    tool: &str,
    event: &Event,
) -> Result<Answer, Problem> {
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(writer, named, tool)?;
    let recorded =
        record(&door.open()?, &wanted, event, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}
