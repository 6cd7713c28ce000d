use std::collections::HashMap;
use std::ops::Range;

use piton_model::seek;

use super::codes;
use super::markdown::{self, Block, BlockKind, Checkbox, Heading, PlainTask, Visit};
use super::repeated::Ids;
use crate::Findings;

/// The phase of tasks that stand before the first CHECKPOINT marker.
pub const MAIN_PHASE: &str = "main";

/// How long the line of a task is that is short, in bytes.
const SHORT_TASK: usize = 64;

/// What a plan's text says. Spans are byte ranges of that text; edits use them.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Phases in the order of their first marker; [`MAIN_PHASE`] is there only when something belongs to it.
    pub phases: Vec<Phase>,
    /// Tasks in order, each id once.
    pub tasks: Vec<Mark>,
    /// Acceptance criteria in order, each id once.
    pub criteria: Vec<Mark>,
    /// Decisions in order.
    pub decisions: Vec<Remark>,
    /// Blockers in order.
    pub blockers: Vec<Remark>,
    /// Checkboxes without any marker.
    pub unmarked_boxes: usize,
    /// Where those are.
    pub unmarked: Vec<Unmarked>,
    /// Headings in order.
    pub headings: Vec<Heading>,
}

/// A checkbox without any marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmarked {
    /// Where the byte between its brackets is.
    pub box_at: u32,
    /// Where its text ends: at the first comment, or with its last line.
    pub text_end: u32,
    /// Where its first line ends.
    pub first_line_end: u32,
    /// Where its last line ends.
    pub last_line_end: u32,
}

impl Unmarked {
    /// What stands behind the box, before the first comment.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text[self.box_at as usize + 2..self.text_end as usize].trim_ascii()
    }

    /// Whether the box is ticked.
    pub fn is_ticked(&self, text: &str) -> bool {
        matches!(text.as_bytes().get(self.box_at as usize), Some(b'x' | b'X'))
    }

    /// Whether it is open, and not a detail of the box above it: those are indented.
    pub fn is_open(&self, text: &str) -> bool {
        let at = self.box_at as usize;
        // `- [ ]`: a bullet, a space and a bracket stand before it.
        let before = at.checked_sub(4).and_then(|start| text.as_bytes().get(start));
        let is_nested = matches!(before, Some(b' ' | b'\t'));
        !is_nested && !self.is_ticked(text)
    }
}

/// A phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Its id.
    pub id: String,
    /// Where its marker is; nothing for [`MAIN_PHASE`].
    pub marker: Option<Range<usize>>,
}

/// A checkbox with a TASK or ACCEPT marker. There may be a hundred thousand of them, so it is kept small and holds no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    box_at: u32,
    text_end: u32,
    id_start: u32,
    id_end: u32,
    phase: u32,
    /// The number of its file, in a plan that has several.
    pub(super) sheet: u32,
    /// Whether the box is ticked in the text.
    pub(super) was_ticked: bool,
    /// Whether it is ticked now.
    pub(super) is_ticked: bool,
}

impl Mark {
    /// Its id, in the text it was parsed from.
    pub fn id<'t>(&self, text: &'t str) -> &'t str {
        &text[self.id_start as usize..self.id_end as usize]
    }

    /// How long its id is.
    pub(super) fn id_length(&self) -> usize {
        (self.id_end - self.id_start) as usize
    }

    /// What stands between the box and the first marker.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text[self.box_at as usize + 2..self.text_end as usize].trim_ascii()
    }

    /// Where the byte between the brackets is: ticking the box changes this byte and no other.
    pub fn box_at(&self) -> usize {
        self.box_at as usize
    }

    /// Whether the box is ticked.
    pub fn is_ticked(&self) -> bool {
        self.is_ticked
    }

    /// The place of its phase in [`Parsed::phases`], or among those of all files.
    pub fn phase(&self) -> usize {
        self.phase as usize
    }

    /// The same as one of a plan that has several files, with the phases of all of them.
    pub(super) fn in_book(self, sheet: usize, phase: usize) -> Mark {
        Mark { sheet: sheet as u32, phase: phase as u32, ..self }
    }
}

/// Where a box's marker is.
struct Marker {
    text_end: u32,
    id_start: u32,
    id_end: u32,
}

/// A decision or a blocker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// What it says, on one line.
    pub text: String,
    /// Where its marker is.
    pub marker: Range<usize>,
}

/// Parses a plan. It never fails: whatever cannot be counted becomes a finding.
pub fn parse(text: &str, findings: &mut Findings<'_>) -> Parsed {
    // Memory that is never touched costs nothing, and a list that grows is copied.
    let most_tasks = text.len() / SHORT_TASK;
    let mut parser = Parser {
        text,
        plan: Parsed { tasks: Vec::with_capacity(most_tasks), ..Parsed::default() },
        phase_ids: HashMap::new(),
        phase: None,
        task_ids: Ids::new(most_tasks),
        criterion_ids: Ids::new(0),
        open_box: None,
        findings,
    };
    markdown::scan(text, &mut parser);
    parser.finish()
}

/// A box whose marker may still come, in an HTML block of the same list item.
struct OpenBox {
    item: usize,
    checkbox: Checkbox,
    text_end: u32,
    first_line_end: u32,
    last_line_end: u32,
    has_task: bool,
    has_criterion: bool,
}

struct Parser<'t, 'f, 'g> {
    text: &'t str,
    plan: Parsed,
    phase_ids: HashMap<String, u32>,
    phase: Option<u32>,
    task_ids: Ids,
    criterion_ids: Ids,
    open_box: Option<OpenBox>,
    findings: &'f mut Findings<'g>,
}

impl Visit for Parser<'_, '_, '_> {
    fn plain_task(&mut self, task: PlainTask) {
        self.close_box();
        let PlainTask { checkbox, marker, id_start, id_end, item } = task;
        self.open_box = Some(OpenBox {
            item,
            checkbox,
            text_end: marker as u32,
            first_line_end: marker as u32,
            last_line_end: marker as u32,
            has_task: true,
            has_criterion: false,
        });
        let marker = Marker { text_end: marker as u32, id_start: id_start as u32, id_end: id_end as u32 };
        self.add_mark("TASK", checkbox.at, marker);
    }

    fn heading(&mut self, heading: Heading) {
        self.plan.headings.push(heading);
    }

    fn block(&mut self, block: &Block<'_>) {
        let in_same_item = |open: &OpenBox| block.continues || block.kind == BlockKind::Html && open.item == block.item;
        if !self.open_box.as_ref().is_some_and(in_same_item) {
            self.close_box();
        }
        if let Some(checkbox) = block.checkbox {
            let text_end = block.lines.last().map_or(checkbox.at + 2, |line| line.end) as u32;
            self.open_box = Some(OpenBox {
                item: block.item,
                checkbox,
                text_end,
                first_line_end: block.lines.first().map_or(text_end, |line| line.end as u32),
                last_line_end: text_end,
                has_task: false,
                has_criterion: false,
            });
        }
        let mut is_first = true;
        let text = self.text;
        let is_open = markdown::comments(text, block, &mut |span, inner| {
            if let (Some(open), true) = (&mut self.open_box, is_first && block.checkbox.is_some()) {
                open.text_end = span.start as u32;
            }
            is_first = false;
            self.comment(span, inner);
        });
        if is_open {
            let start = block.lines.first().map_or(0, |line| line.start);
            self.findings.at(start, &codes::PLAN_OPEN_COMMENT, "a comment begins in this block and never ends");
        }
    }
}

impl Parser<'_, '_, '_> {
    fn comment(&mut self, span: Range<usize>, inner: &str) {
        let Some(colon) = seek::byte(b':', inner.as_bytes()) else { return };
        let (word, value) = (inner[..colon].trim_ascii(), inner[colon + 1..].trim_ascii());
        match word {
            "CHECKPOINT" => self.begin_phase(span.clone(), value),
            "TASK" | "ACCEPT" => {
                let value_at = value.as_ptr().addr() - inner.as_ptr().addr();
                self.mark(span.clone(), word, value, span.start + 4 + value_at);
            }
            "DECISION" | "BLOCKER" => self.remark(span.clone(), word, value),
            _ => return,
        }
        let canonical = inner.len() == word.len() + value.len() + 4 && inner.starts_with(' ') && inner.ends_with(' ');
        if !canonical && !value.is_empty() {
            self.note(span.start, format!("the {word} marker is not written `<!-- {word}: … -->`"));
        }
    }

    fn begin_phase(&mut self, span: Range<usize>, id: &str) {
        if !self.check_id(&span, "CHECKPOINT", id) {
            return;
        }
        if let Some(phase) = self.phase_ids.get(id) {
            self.findings.at(span.start, &codes::PLAN_DUPLICATE_ID, format!("the phase {id:?} begins a second time"));
            self.phase = Some(*phase);
            return;
        }
        self.phase = Some(self.add_phase(id, Some(span)));
    }

    fn add_phase(&mut self, id: &str, marker: Option<Range<usize>>) -> u32 {
        let place = self.plan.phases.len() as u32;
        self.plan.phases.push(Phase { id: id.to_owned(), marker });
        self.phase_ids.insert(id.to_owned(), place);
        place
    }

    fn mark(&mut self, span: Range<usize>, word: &str, id: &str, inner_start: usize) {
        if !self.check_id(&span, word, id) {
            return;
        }
        let Some(open) = &mut self.open_box else {
            self.findings.at(
                span.start,
                &codes::PLAN_NO_BOX,
                format!("the {word} marker {id:?} does not belong to a checkbox"),
            );
            return;
        };
        let taken = if word == "TASK" { &mut open.has_task } else { &mut open.has_criterion };
        if std::mem::replace(taken, true) {
            let message = format!("the box has a second {word} marker, {id:?}, which is not counted");
            self.findings.at(span.start, &codes::PLAN_TWO_MARKERS, message);
            return;
        }
        let (box_at, text_end) = (open.checkbox.at, open.text_end);
        // A marker over several lines of a list is not in the text as one piece; its id still is.
        let id_start = self.text[inner_start..].starts_with(id).then_some(inner_start);
        let id_start = id_start.or_else(|| self.text[span.clone()].find(id).map(|at| span.start + at));
        let id_start = id_start.expect("the id stands in its marker") as u32;
        let mark = self.add_mark(word, box_at, Marker { text_end, id_start, id_end: id_start + id.len() as u32 });
        self.check_form(mark);
    }

    fn add_mark(&mut self, word: &str, box_at: usize, marker: Marker) -> Mark {
        let Marker { text_end, id_start, id_end } = marker;
        let phase = self.phase.unwrap_or_else(|| self.main_phase());
        let is_ticked = matches!(self.text.as_bytes()[box_at], b'x' | b'X');
        let (box_at, was_ticked) = (box_at as u32, is_ticked);
        let mark = Mark { box_at, text_end, id_start, id_end, phase, sheet: 0, was_ticked, is_ticked };
        let (marks, ids) = match word {
            "TASK" => (&mut self.plan.tasks, &mut self.task_ids),
            _ => (&mut self.plan.criteria, &mut self.criterion_ids),
        };
        ids.push(mark.id(self.text));
        marks.push(mark);
        mark
    }

    /// The phase of what stands before the first CHECKPOINT marker, for as long as none comes.
    fn main_phase(&mut self) -> u32 {
        let phase = match self.phase_ids.get(MAIN_PHASE) {
            Some(phase) => *phase,
            None => self.add_phase(MAIN_PHASE, None),
        };
        self.phase = Some(phase);
        phase
    }

    fn remark(&mut self, span: Range<usize>, word: &str, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            self.findings.at(span.start, &codes::PLAN_EMPTY_REMARK, format!("the {word} marker has no text"));
            return;
        }
        let remark = Remark { text, marker: span };
        if word == "DECISION" { self.plan.decisions.push(remark) } else { self.plan.blockers.push(remark) }
    }

    fn check_id(&mut self, span: &Range<usize>, word: &str, id: &str) -> bool {
        let good = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !good {
            self.findings.at(span.start, &codes::PLAN_BAD_ID, format!("the {word} marker's id is {id:?}"));
        }
        good
    }

    /// Notes forms that the protocol's own pattern would not have matched.
    fn check_form(&mut self, mark: Mark) {
        let at = mark.box_at();
        let box_byte = self.text.as_bytes()[at];
        if !matches!(box_byte, b' ' | b'x') {
            self.note(at, format!("the box is `[{}]`, not `[ ]` or `[x]`", char::from(box_byte)));
        }
        if !self.text[..at - 1].ends_with("- ") {
            self.note(at, "the box does not follow `- `".to_owned());
        }
        let is_blank = |byte: &u8| byte.is_ascii_whitespace();
        if self.text.as_bytes()[at + 2..mark.text_end as usize].iter().all(is_blank) {
            self.note(at, "the task has no text".to_owned());
        }
    }

    fn note(&mut self, at: usize, message: String) {
        self.findings.at(at, &codes::PLAN_NOT_CANONICAL, message);
    }

    fn close_box(&mut self) {
        if let Some(open) = self.open_box.take()
            && !open.has_task
            && !open.has_criterion
        {
            self.plan.unmarked_boxes += 1;
            self.plan.unmarked.push(Unmarked {
                box_at: open.checkbox.at as u32,
                text_end: open.text_end,
                first_line_end: open.first_line_end,
                last_line_end: open.last_line_end,
            });
        }
    }

    fn finish(mut self) -> Parsed {
        self.close_box();
        keep_last(self.text, &mut self.plan.tasks, self.task_ids, self.findings);
        keep_last(self.text, &mut self.plan.criteria, self.criterion_ids, self.findings);
        self.plan
    }
}

/// Of marks with the same id the last one counts.
fn keep_last(text: &str, marks: &mut Vec<Mark>, ids: Ids, findings: &mut Findings<'_>) {
    let repeated = ids.repeated(|place| marks[place].id(text));
    if repeated.is_empty() {
        return;
    }
    let mut counts = vec![true; marks.len()];
    for (earlier, later) in repeated {
        counts[earlier] = false;
        let line = findings.line(marks[earlier].box_at());
        let message = format!("the id {:?} stands at line {line} too; this one counts", marks[later].id(text));
        findings.at(marks[later].box_at(), &codes::PLAN_DUPLICATE_ID, message);
    }
    let mut counts = counts.into_iter();
    marks.retain(|_| counts.next().expect("one for each mark"));
}

#[cfg(test)]
mod tests;
