use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};

use super::*;

/// What the two implementations are compared by: boxes and comments, by position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Box(usize, bool),
    Comment(usize),
}

struct Collect<'t> {
    text: &'t str,
    seen: Vec<Seen>,
}

impl Visit for Collect<'_> {
    fn plain_task(&mut self, task: PlainTask) {
        self.seen.push(Seen::Box(task.checkbox.at, task.checkbox.ticked));
        self.seen.push(Seen::Comment(task.marker));
    }

    fn block(&mut self, block: &Block<'_>) {
        self.seen.extend(block.checkbox.map(|checkbox| Seen::Box(checkbox.at, checkbox.ticked)));
        comments(self.text, block, &mut |span, _| self.seen.push(Seen::Comment(span.start)));
    }
}

fn ours(text: &str) -> Vec<Seen> {
    let mut collect = Collect { text, seen: Vec::new() };
    scan(text, &mut collect);
    collect.seen.sort();
    collect.seen
}

/// The second implementation: a full CommonMark parser.
fn oracle(text: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut raw_block: Option<bool> = None;
    let mut open = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::TaskListMarker(ticked) => seen.push(Seen::Box(range.start + 1, ticked)),
            Event::InlineHtml(html) if html.starts_with("<!--") => seen.push(Seen::Comment(range.start)),
            Event::Start(pulldown_cmark::Tag::HtmlBlock) => (raw_block, open) = (None, false),
            // A comment that does not end within its block is no comment.
            Event::End(pulldown_cmark::TagEnd::HtmlBlock) if open => {
                seen.pop();
            }
            Event::Html(html) => {
                let start = html.trim_start();
                let first_line = *raw_block.get_or_insert_with(|| {
                    start.starts_with("<!--") || !(start.starts_with("<!") || start.starts_with("<?") || is_raw(start))
                });
                if first_line {
                    html_comments(&html, range.start, &mut open, &mut seen);
                }
            }
            _ => {}
        }
    }
    seen.sort();
    seen
}

fn is_raw(start: &str) -> bool {
    let lower = start.to_ascii_lowercase();
    ["<pre", "<script", "<style", "<textarea"].iter().any(|name| {
        lower.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '\t', '>', '\n', '\r']) || rest.is_empty())
    })
}

/// Comments of raw HTML, which may go on over several events.
fn html_comments(html: &str, offset: usize, open: &mut bool, seen: &mut Vec<Seen>) {
    let mut at = 0;
    loop {
        if *open {
            let Some(end) = html[at..].find("-->") else { return };
            at += end + 3;
            *open = false;
        }
        let Some(start) = html[at..].find("<!--") else { return };
        at += start;
        seen.push(Seen::Comment(offset + at));
        at += 4;
        if let Some(rest) = html[at..].strip_prefix(">").or_else(|| html[at..].strip_prefix("->")) {
            at = html.len() - rest.len();
        } else {
            *open = true;
        }
    }
}

fn check(text: &str) {
    assert_eq!(ours(text), oracle(text), "in {text:?}");
}

#[test]
fn the_cases_that_matter_agree_with_the_oracle() {
    for text in [
        "- [ ] one <!-- TASK: a -->\n- [x] two <!-- TASK: b -->\n",
        "* [X] star\n+ [ ] plus\n1. [ ] one\n2) [x] two\n",
        "- [ ] parent\n  - [ ] child <!-- TASK: c -->\n    - [x] grandchild <!-- TASK: g -->\n",
        "```\n- [x] fenced <!-- TASK: f -->\n```\n- [ ] after <!-- TASK: a -->",
        "~~~ md\n- [x] fenced\n```\n<!-- CHECKPOINT: no -->\n~~~\n<!-- CHECKPOINT: yes -->\n",
        "- item\n\n      - [x] indented code <!-- TASK: no -->\n",
        "    - [x] indented code <!-- TASK: no -->\n",
        "text\n    - [x] lazy <!-- TASK: maybe -->\n",
        "- [ ] `<!-- TASK: code -->` and <!-- TASK: real -->\n",
        "- [ ] ``a ` <!-- x -->`` <!-- y -->\n",
        "<!-- outer <!-- TASK: inner --> -->\n",
        "<!-- BLOCKER:\nmulti-line -->\n<!-- CHECKPOINT: p -->\n",
        "> - [ ] quoted <!-- TASK: q -->\n> - [x] again\n",
        "- [ ]\n- [x]\n- [ ]x\n- [-] dash\n- [] none\n",
        "- [ ] lazy\ncontinuation <!-- TASK: l -->\n",
        "- [ ] next line\n  <!-- TASK: n -->\n",
        "\\<!-- not a comment -->\n\n<a title=\"<!-- attribute -->\">\n",
        "<details>\n- [ ] raw <!-- TASK: r -->\n\n- [ ] real <!-- TASK: r -->\n</details>\n",
        "<pre>\n<!-- CHECKPOINT: in pre -->\n</pre>\n<!-- CHECKPOINT: after -->\n",
        "- [ ] crlf <!-- TASK: a -->\r\n- [x] crlf <!-- TASK: b -->\r\n",
        "-\t[ ] tab <!-- TASK: t -->\n\n\t- [ ] tabbed <!-- TASK: u -->\n",
        "- [ ] a\n\n  second paragraph <!-- TASK: late -->\n",
        "-\n  [ ] next line <!-- TASK: n -->\n",
        "-\n\n  not in the item <!-- TASK: n -->\n",
        "# <!-- CHECKPOINT: h --> heading\nTitle <!-- a -->\n===\n",
        "1. one\n\n   - [ ] deep <!-- TASK: d -->\n\n     - [ ] deeper <!-- TASK: e -->\n",
        "- [ ] x <!-- DECISION: use B because of -- dashes -->\n<!--> <!---> a\n",
        "text\n- [ ] interrupts <!-- TASK: i -->\n2. [ ] does not\n",
        "* * *\n- - -\n- - [ ] nested <!-- TASK: n -->\n",
        "- a\n<!-- CHECKPOINT: x -->\n- [ ] b <!-- TASK: b -->\n",
        "no newline at the end - [ ] <!-- TASK: x -->",
    ] {
        check(text);
    }
}

/// Lines from pieces that mean something in Markdown: random bytes would nearly always be paragraphs.
fn markdown() -> impl Strategy<Value = String> {
    let prefix = prop::sample::select(vec![
        "", "", "", "", "- ", "- ", "* ", "1. ", "2) ", "  ", "  ", "    ", "\t", "> ", ">", "   ", "+ ", "-\t",
        "-   ", "-     ", "10. ", "-", "      ",
    ]);
    let piece = prop::sample::select(vec![
        "word",
        "word",
        "word",
        "[ ] ",
        "[ ] ",
        "[ ] ",
        "[x] ",
        "[x] ",
        "[X]",
        "<!-- TASK: a -->",
        "<!-- TASK: a -->",
        "<!-- TASK: a -->",
        "<!--",
        "-->",
        "`",
        "``",
        "```",
        "~~~",
        " ",
        "\\",
        "<div>",
        "</div>",
        "<pre>",
        "</pre>",
        "<a b=\"",
        "\">",
        "---",
        "===",
        "# ",
        "<!-->",
        "<?",
        "?>",
        "<http://x>",
        "<span>",
        "***",
        "\u{e9}",
    ]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\n", "\n", "\r\n", "\n\n"]);
    let line = (prop::collection::vec(prefix, 0..4), prop::collection::vec(piece, 0..5), end)
        .prop_map(|(prefixes, pieces, end)| prefixes.concat() + &pieces.concat() + end);
    prop::collection::vec(line, 0..9).prop_map(|lines| lines.concat())
}

/// Where the oracle itself is known to leave CommonMark: it takes a box that stands in indented code after a
/// tab, it takes a quote mark after a tab, and it closes an item after a blank line when the item holds nothing
/// but a box. (The reference implementation, cmark, agrees with ours in all three.)
fn oracle_is_wrong(text: &str) -> bool {
    let lone_box = |line: &str| [" [ ]", " [x]", " [X]"].iter().any(|lone| line.trim_end().ends_with(lone));
    text.lines().any(|line| line.trim_start_matches('\t').contains('\t') || line.contains("\t>") || lone_box(line))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn any_markdown_agrees_with_the_oracle(text in markdown()) {
        prop_assume!(!oracle_is_wrong(&text));
        prop_assert_eq!(ours(&text), oracle(&text));
    }
}
