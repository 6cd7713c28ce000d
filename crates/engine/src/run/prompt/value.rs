//! What a template sees. Text of others is made safe here, and nowhere else: in one line without anything that a terminal
//! or a reader would obey, or quoted behind a fence. So no template can let a repository speak for Piton.

use piton_dialect::brief::{one_line, quoted};
use piton_dialect::pipeline::told;
use piton_model::fleet::LOWEST_PLAN;
use piton_model::{Rework, text};
use serde_json::{Value, json};

use super::super::standing::for_worker;
use super::{
    BehindFacts, CriterionFacts, DependencyFacts, Excerpt, GateFacts, PromptContext, PromptKind, ResumeFacts,
    TaskFacts, TaskState,
};

/// The longest id that stands in a command.
const LONGEST_WORD: usize = 200;

/// The longest text that stands in a line of ours, in characters.
const LONGEST_LINE: usize = 400;

/// The values of a context, by the names that templates use.
pub(super) fn of(context: &PromptContext) -> Value {
    let mut value = about_worker(context);
    let parts = [about_work(context), about_tasks(context), about_past(context)];
    for part in parts {
        if let (Value::Object(all), Value::Object(part)) = (&mut value, part) {
            all.extend(part);
        }
    }
    value
}

/// Who it is, where it works, and how it records.
fn about_worker(context: &PromptContext) -> Value {
    json!({
        "piton": context.piton,
        "unit": context.unit,
        "id": context.id,
        "step": context.step.as_deref().map(one_line),
        "step_word": context.step.as_deref().and_then(word),
        "worker": context.worker,
        "directory": one_line(&context.directory),
        "branch": context.branch.as_deref().map(one_line),
        "base": one_line(context.base.as_deref().unwrap_or("the base branch")),
        "commits": context.branch.is_some(),
        // Planning, validating and judging change nothing.
        "only_reads": matches!(context.kind, PromptKind::Story { stage } if stage != 2),
        "checkpoint": format!("`{}`", one_line(&context.checkpoint)),
        "fence": context.fence,
        "preamble_text": quote_one(context, context.preamble.as_ref()),
        "is_fast": context.is_fast,
        "stage": context.stages.first().map(|stage| one_line(stage)),
        "later_stages": context.stages.iter().skip(1).filter_map(|stage| word(stage)).collect::<Vec<_>>(),
        "epic": Some(&context.epic).filter(|epic| !epic.is_empty()).and_then(|epic| word(epic)),
    })
}

/// What is to be done, in the words of others.
fn about_work(context: &PromptContext) -> Value {
    let outputs = context.outputs.iter();
    let words = outputs.clone().filter_map(|output| word(output)).map(|word| format!(" --output {word}"));
    json!({
        "whole": context.whole.as_deref().map(one_line),
        "title": context.title.as_deref().map(one_line),
        "description": context.description.as_deref().filter(|text| is_short(text)).map(one_line),
        "description_text": quote_one(context, context.description.as_ref().filter(|text| !is_short(text))),
        "sources": sources(context),
        "outputs": outputs.map(|output| one_line(output)).collect::<Vec<_>>(),
        "outputs_words": words.collect::<String>(),
        "phase": context.phase.as_deref().map(one_line),
        "project_text": quote(context, &labelled(&told(&context.project))),
        "answers_text": quote(context, &labelled(&told(&context.answers))),
        "brief_text": quote(context, &labelled(&told(&context.brief))),
        "dependencies": context.dependencies.iter().map(dependency).collect::<Vec<_>>(),
        "dependencies_text": quote(context, &dependency_titles(context)),
        "notes_text": quote(context, &labelled(&context.notes)),
    })
}

/// Tasks, criteria and gates.
fn about_tasks(context: &PromptContext) -> Value {
    let (led, own): (Vec<_>, Vec<_>) = context.criteria.iter().partition(|criterion| criterion.command.is_some());
    let criteria = |all: &[&CriterionFacts]| -> Vec<Value> { all.iter().map(|each| criterion(each)).collect() };
    json!({
        "tasks_text": quote(context, &tasks(context)),
        "details": details(context),
        "open": open(context),
        "unnamed": (context.unnamed > 0).then_some(context.unnamed),
        "json_done": ids(context, TaskState::Done),
        "json_open": ids(context, TaskState::Open),
        "criteria": criteria(&context.criteria.iter().collect::<Vec<_>>()),
        "criteria_text": quote(context, &criteria_texts(context)),
        "own_criteria": criteria(&own),
        "led_criteria": criteria(&led),
        "gates": context.gates.iter().map(gate).collect::<Vec<_>>(),
        "runs_gates": matches!(
            context.kind,
            PromptKind::Story { stage: 2 } | PromptKind::Workstream | PromptKind::PlanTask | PromptKind::Feature
        ),
    })
}

/// What happened before, and what follows from it.
fn about_past(context: &PromptContext) -> Value {
    let scores = &context.scores;
    json!({
        "instructions_text": said(&context.instructions),
        "rework": context.rework.iter().map(|rework| rework_value(context, rework)).collect::<Vec<_>>(),
        "scores": {
            "plan": scores.plan.map(|score| score.to_string()),
            "refused_plan": scores.plan.filter(|score| *score < LOWEST_PLAN).map(|score| score.to_string()),
            "readiness": scores.readiness.map(|score| score.to_string()),
            "no_go_text": quote_one(context, scores.no_go.as_ref()),
            "issues_text": quote_one(context, scores.issues.as_ref()),
        },
        "resume": context.resumed.as_ref().map(|resumed| resume(context, resumed)),
    })
}

/// Whether a text is one line, and not a long one: then it stands in a line of ours.
fn is_short(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.contains('\n') && text.chars().count() <= LONGEST_LINE
}

fn sources(context: &PromptContext) -> Vec<Value> {
    let source = |source: &Excerpt| {
        let text = quoted(&context.fence, std::slice::from_ref(&source.text));
        json!({ "label": source.label, "path": one_line(&source.path), "text": text })
    };
    context.sources.iter().filter(|source| !source.text.trim().is_empty()).map(source).collect()
}

/// Open tasks that a command can name. An agent's steps are sentences; a command names them by their numbers.
fn open(context: &PromptContext) -> Vec<Value> {
    if context.kind == PromptKind::Feature {
        return numbered(context).map(|(number, _)| json!({ "word": number.to_string() })).collect();
    }
    let open = context.tasks.iter().filter(|task| task.state == TaskState::Open);
    open.filter_map(|task| Some(json!({ "word": word(&task.id)? }))).collect()
}

/// Open steps with their numbers among all steps.
fn numbered(context: &PromptContext) -> impl Iterator<Item = (usize, &TaskFacts)> {
    let all = context.tasks.iter().enumerate().map(|(place, task)| (place + 1, task));
    all.filter(|(_, task)| task.state == TaskState::Open)
}

/// Tasks in lines, each with how far it is; of an agent's steps only the open ones, with their numbers.
fn tasks(context: &PromptContext) -> Vec<String> {
    if context.kind == PromptKind::Feature {
        return numbered(context).map(|(number, task)| format!("{number}. {}", one_line(&task.id))).collect();
    }
    let line = |task: &TaskFacts| {
        let mark = match task.state {
            TaskState::Open => "[ ]",
            TaskState::Done => "[x]",
            TaskState::Skipped => "[-]",
        };
        let title = task.title.as_deref().map_or_else(String::new, |title| format!(": {}", one_line(title)));
        let description = task.description.as_deref().filter(|text| text.trim().lines().count() == 1);
        let description = description.map_or_else(String::new, |text| format!(" — {}", one_line(text.trim())));
        format!("- {mark} {}{title}{description}", one_line(&task.id))
    };
    context.tasks.iter().map(line).collect()
}

/// Descriptions of open tasks that have several lines.
fn details(context: &PromptContext) -> Vec<Value> {
    let open = context.tasks.iter().filter(|task| task.state == TaskState::Open);
    let long = open.filter_map(|task| Some((task, task.description.as_ref()?)));
    let long = long.filter(|(_, text)| text.trim().lines().count() > 1);
    long.map(|(task, text)| json!({ "id": one_line(&task.id), "text": quote_one(context, Some(text)) })).collect()
}

fn ids(context: &PromptContext, wanted: TaskState) -> String {
    let tasks = context.tasks.iter().filter(|task| task.state == wanted);
    let ids: Vec<String> = tasks.map(|task| json!(one_line(&task.id)).to_string()).collect();
    format!("[{}]", ids.join(", "))
}

fn criterion(criterion: &CriterionFacts) -> Value {
    json!({
        "name": one_line(&criterion.name),
        "word": word(&criterion.name),
        "command": criterion.command.as_deref().map(code),
    })
}

fn criteria_texts(context: &PromptContext) -> Vec<String> {
    let text = |each: &CriterionFacts| Some(format!("{}: {}", each.name, each.text.as_deref()?));
    context.criteria.iter().filter_map(text).collect()
}

fn dependency(each: &DependencyFacts) -> Value {
    let outputs: Vec<String> = each.outputs.iter().map(|output| format!("`{}`", one_line(output))).collect();
    json!({
        "name": one_line(&each.name),
        "commit": each.commit.as_deref().map(one_line),
        "outputs": (!outputs.is_empty()).then(|| outputs.join(", ")),
    })
}

fn dependency_titles(context: &PromptContext) -> Vec<String> {
    let title = |each: &DependencyFacts| Some(format!("{}: {}", each.name, each.title.as_deref()?));
    context.dependencies.iter().filter_map(title).collect()
}

fn gate(gate: &GateFacts) -> Value {
    json!({
        "name": one_line(&gate.name),
        "command": gate.command.as_deref().map_or_else(|| "a person judges it".to_owned(), code),
        "criteria": gate.criteria.as_deref().map(one_line),
    })
}

fn rework_value(context: &PromptContext, rework: &Rework) -> Value {
    let quote = |lines: &[String]| quoted(&context.fence, lines);
    match rework {
        Rework::GateFailed { gate, command, exit, tail } => json!({
            "kind": "gate_failed",
            "gate": one_line(gate),
            "command": code(command),
            "exit": one_line(exit),
            "tail_text": quote(std::slice::from_ref(tail)),
        }),
        Rework::Conflict { base, files } => json!({
            "kind": "conflict",
            "base": one_line(base),
            "base_word": text::shell_word(base),
            "files_text": quote(files),
        }),
        Rework::OtherBranch { found, from, branch, files } => json!({
            "kind": "other_branch",
            "found": one_line(found),
            "from_word": one_line(&text::shell_word(from)),
            "branch": one_line(branch),
            "branch_word": text::shell_word(branch),
            "files_text": quote(files),
        }),
        Rework::NoCommit { branch } => json!({ "kind": "no_commit", "branch": one_line(branch) }),
        Rework::Ignored { files } => json!({ "kind": "ignored", "files_text": quote(files) }),
        Rework::Uncommitted { files } => json!({ "kind": "uncommitted", "files_text": quote(files) }),
        Rework::NothingDone { missing, printed } => json!({
            "kind": "nothing_done",
            "missing_text": quote(missing),
            "printed_text": quote_one(context, Some(printed)),
        }),
        Rework::Incomplete { missing } => {
            let missing: Vec<String> = missing.iter().map(|it| for_worker(it).to_owned()).collect();
            json!({ "kind": "incomplete", "missing_text": quote(&missing) })
        }
        Rework::ReviewFailed { issues } => {
            json!({ "kind": "review_failed", "issues_text": quote(std::slice::from_ref(issues)) })
        }
        Rework::BadSettings { file, why } => json!({
            "kind": "bad_settings",
            "file": one_line(file),
            "why_text": quote(std::slice::from_ref(why)),
        }),
        Rework::Unproved { claims } => json!({ "kind": "unproved", "claims_text": quote(claims) }),
    }
}

fn resume(context: &PromptContext, resumed: &ResumeFacts) -> Value {
    // The protocol has its block word for word; each of its lines stays one line.
    let block = |block: &String| block.lines().map(one_line).collect::<Vec<_>>().join("\n");
    json!({
        "alarms": resumed.alarms.iter().map(|alarm| one_line(alarm)).collect::<Vec<_>>(),
        "files": resumed.files.iter().map(|file| one_line(file)).collect::<Vec<_>>(),
        "left_text": quote(context, &resumed.left),
        "block": resumed.block.as_ref().map(block),
        "behind": resumed.behind.as_ref().map(|behind| behind_value(context, behind)),
    })
}

fn behind_value(context: &PromptContext, behind: &BehindFacts) -> Value {
    let more = behind.count.saturating_sub(behind.commits.len());
    let more = (more > 0).then(|| format!("and {more} more"));
    let commits: Vec<String> = behind.commits.iter().cloned().chain(more).collect();
    json!({
        "base": one_line(&behind.base),
        "base_word": text::shell_word(&behind.base),
        "commits_text": quote(context, &commits),
    })
}

/// An id as a word of a shell; nothing when it has something in it that could not be typed, or is endless.
fn word(id: &str) -> Option<String> {
    let is_typable = text::printable(id) == id && !id.is_empty() && id.len() <= LONGEST_WORD && !id.starts_with('-');
    is_typable.then(|| text::shell_word(id).into_owned())
}

/// A command as code, in one line.
fn code(command: &str) -> String {
    let line = one_line(command);
    match line.contains('`') {
        true => format!("`` {line} ``"),
        false => format!("`{line}`"),
    }
}

fn labelled(entries: &[(String, String)]) -> Vec<String> {
    entries.iter().map(|(label, text)| format!("{label}: {text}")).collect()
}

/// What the user wrote, as a block quote: no fence, since what stands inside of one cannot change what a worker does.
fn said(texts: &[String]) -> Option<String> {
    let line = |line: &str| format!("> {}", text::printable(line)).trim_end().to_owned();
    let each = |text: &String| text.trim().lines().map(line).collect::<Vec<_>>().join("\n");
    let texts: Vec<String> = texts.iter().filter(|text| !text.trim().is_empty()).map(each).collect();
    (!texts.is_empty()).then(|| texts.join("\n>\n"))
}

/// Texts behind the fence; nothing when they say nothing.
fn quote(context: &PromptContext, texts: &[String]) -> Option<String> {
    texts.iter().any(|text| !text.trim().is_empty()).then(|| quoted(&context.fence, texts))
}

fn quote_one(context: &PromptContext, text: Option<&String>) -> Option<String> {
    text.and_then(|text| quote(context, std::slice::from_ref(text)))
}
