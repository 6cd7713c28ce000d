//! The block in AGENTS.md or CLAUDE.md that tells an agent that its work is recorded.

const BEGIN: &str = "<!-- piton:begin -->";
const END: &str = "<!-- piton:end -->";

const TEXT: &str = "## Recorded work

Work in this repository is recorded by `piton`, so that it survives crashes and lost context.

- Before starting: `piton status` shows every unit, `piton resume UNIT` gives the exact next action.
- Record each step when it is done: `piton step UNIT done STEP`. In a plan, ticking the box in plan.md is enough.
- Never edit files below `.checkpoint/`, `.piton/` or checkpoints in JSON by hand; use `piton` verbs.
- When stuck: `piton block UNIT --message TEXT`. When something looks wrong: `piton check`, `piton doctor`.
";

/// A text with the block: where it stands already, else at the end.
pub(super) fn add(text: &str) -> Result<String, String> {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = format!("{BEGIN}\n{TEXT}{END}").replace('\n', line_end);
    if let Some((from, to)) = place(text)? {
        return Ok(format!("{}{block}{}", &text[..from], &text[to..]));
    }
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => line_end.to_owned(),
        _ => line_end.repeat(2),
    };
    Ok(format!("{text}{gap}{block}{line_end}"))
}

/// The text without the block, and without the empty line before it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let Some((from, to)) = place(text)? else { return Ok(text.to_owned()) };
    let rest = text[to..].strip_prefix("\r\n").or_else(|| text[to..].strip_prefix('\n')).unwrap_or(&text[to..]);
    let before = &text[..from];
    let one_less = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n')).unwrap_or(before);
    // The empty line before was ours; one that ends a line of text was not.
    let before = if one_less.ends_with('\n') { one_less } else { before };
    Ok(format!("{before}{rest}"))
}

/// Whether the block is there.
pub(super) fn is_there(text: &str) -> bool {
    text.contains(BEGIN)
}

fn place(text: &str) -> Result<Option<(usize, usize)>, String> {
    match (text.find(BEGIN), text.find(END)) {
        (None, None) => Ok(None),
        (Some(from), Some(to)) if from < to => Ok(Some((from, to + END.len()))),
        _ => Err(format!("the markers {BEGIN} and {END} do not enclose anything; put them right by hand")),
    }
}
