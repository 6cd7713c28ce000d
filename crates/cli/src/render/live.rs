//! A run while it goes: on a terminal a picture that is drawn again and again, elsewhere a line for each thing that
//! happens.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use piton_engine::run::{LaneView, View, Waiting};
use piton_model::hint::verbs;
use piton_model::text::{cell, columns, fit, headline, printable};
use piton_model::{Age, Time};

use super::told::Told;
use crate::output::write_out;

/// Names are not given more room.
const LONGEST_NAME: usize = 28;

/// Below this many columns there is no room for bars.
const NARROW: usize = 60;

/// Where lines begin that belong to the line above them.
const LINES: &str = "            ";

/// What a watcher sees.
pub struct LiveView {
    is_terminal: bool,
    color: bool,
    /// The size when the terminal does not say one.
    size: (usize, usize),
    /// The last picture, which stands below everything that happened.
    drawn: Vec<Line>,
    /// Whether anything was written: a view that showed nothing leaves nothing behind.
    has_written: bool,
    is_hung_up: bool,
    told: Told,
}

impl LiveView {
    /// Nothing is drawn yet.
    pub fn new(color: bool, width: usize, height: usize) -> LiveView {
        let is_terminal = std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        LiveView {
            is_terminal,
            color,
            size: (width, height),
            drawn: Vec::new(),
            has_written: false,
            is_hung_up: false,
            told: Told::default(),
        }
    }

    /// Something happened: a line that stays. Says whether somebody may have read it.
    pub fn happened(&mut self, at: Time, name: Option<&str>, kind: &str, text: &str) -> bool {
        let Some(text) = self.told.news(name, kind, text) else { return true };
        let at = at.to_string();
        let clock = at.get(11..19).unwrap_or(&at);
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        let (head, lines) = (headline(&text), text.lines().skip(1));
        let first = format!("{clock}  {}", printable(&format!("{name}{head}")));
        // What a worker printed last stands below the reason.
        let page = lines.fold(first, |page, line| format!("{page}\n{LINES}{}", printable(line)));
        self.line(&page)
    }

    /// What was told as an event.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// A line that stays.
    pub fn line(&mut self, line: &str) -> bool {
        if self.is_hung_up {
            return false;
        }
        // Lines that stay are whole; only the picture is cut.
        let drawn = std::mem::take(&mut self.drawn);
        let page = format!("{}{line}\n{}", self.wipe(&drawn), joined(&drawn));
        self.drawn = drawn;
        self.write(&page)
    }

    /// The terminal is gone, or is to be left alone: nothing is drawn on it any more. Elsewhere lines go on.
    pub fn hang_up(&mut self) {
        self.close();
        self.is_hung_up = self.is_terminal;
    }

    /// Draws where everything stands.
    pub fn stands(&mut self, view: &View) {
        if !self.is_terminal || self.is_hung_up {
            return;
        }
        let (width, height) = self.now();
        // Some room stays for what happens.
        let lines = picture(view, width.saturating_sub(1).max(1), height - height / 3, self.color);
        let drawn = std::mem::replace(&mut self.drawn, lines);
        let page = format!("{}{}", self.wipe(&drawn), joined(&self.drawn));
        self.write(&page);
    }

    /// Takes the picture away; what happened stays.
    pub fn close(&mut self) {
        let drawn = std::mem::take(&mut self.drawn);
        if self.has_written {
            let wiped = self.wipe(&drawn);
            self.write(&wiped);
        }
    }

    /// Columns and lines of the terminal now: somebody may have changed its size.
    fn now(&self) -> (usize, usize) {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        size.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(self.size)
    }

    fn wipe(&self, drawn: &[Line]) -> String {
        let widths: Vec<usize> = drawn.iter().map(|line| line.columns).collect();
        // The terminal may have echoed a key that was pressed, such as ^C, so the cursor need not be at the left.
        match rows(&widths, self.now().0) {
            _ if !self.is_terminal || self.is_hung_up => String::new(),
            0 => "\r\x1b[K".to_owned(),
            rows => format!("\r\x1b[{rows}A\x1b[J"),
        }
    }

    /// A reader that has gone away does not end a run.
    fn write(&mut self, text: &str) -> bool {
        self.has_written = true;
        write_out(text)
    }
}

fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

/// How many rows lines of these widths take: a terminal that was made narrower has broken them.
fn rows(drawn: &[usize], width: usize) -> usize {
    drawn.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum()
}

/// A line as it is written, and how wide it is.
struct Line {
    text: String,
    columns: usize,
}

impl Line {
    fn new(text: &str, width: usize, color: Option<&str>) -> Line {
        let text = fit(text, width);
        let columns = columns(&text);
        let text = color.map_or_else(|| text.to_string(), |code| format!("\x1b[{code}m{text}\x1b[0m"));
        Line { text, columns }
    }
}

/// A bar for each lane, those under way first; what waits for a person; a sum.
fn picture(view: &View, width: usize, height: usize, color: bool) -> Vec<Line> {
    let rank = |lane: &LaneView| match &*lane.state {
        "queued" => 2,
        "done" => 3,
        "paused" => 1,
        _ => 0,
    };
    let mut lanes: Vec<&LaneView> = view.lanes.iter().collect();
    lanes.sort_by_key(|lane| rank(lane));
    let longest = lanes.iter().map(|lane| columns(&lane.name)).max().unwrap_or(0);
    let names = longest.min(LONGEST_NAME).min(width / 2);
    let ask = |it: &Waiting| verbs::APPROVE.on(&it.unit).to(format!("{} waits for approval", printable(&it.what)));
    let asks = view.waiting.iter().map(ask);
    let asks: Vec<Line> = asks.map(|ask| Line::new(&ask.to_string(), width, color.then_some("33"))).collect();
    let room = height.saturating_sub(1 + asks.len()).max(1);
    let mut lines: Vec<Line> =
        lanes.iter().take(room).map(|lane| lane_line(lane, view.as_of, names, width, color)).collect();
    lines.extend(asks);
    lines.push(Line::new(&sum(view, lanes.len().saturating_sub(room)), width, None));
    lines
}

fn sum(view: &View, hidden: usize) -> String {
    let done = view.lanes.iter().filter(|lane| lane.state == "done").count();
    let mut sum = format!("{done}/{} done · {}", view.lanes.len(), span(view.seconds()));
    if let Some(eta) = view.eta.filter(|_| done < view.lanes.len()) {
        let _ = write!(sum, " · about {} left", span(eta));
    }
    if let Some(cost) = view.cost {
        let _ = write!(sum, " · ${cost:.2}");
    }
    if view.mode != "running" {
        let _ = write!(sum, " · {}", view.mode);
    }
    if let Some(until) = view.parked_until {
        let _ = write!(sum, " · parked until {until}");
    }
    if hidden > 0 {
        let _ = write!(sum, " · {hidden} more");
    }
    sum
}

fn lane_line(lane: &LaneView, as_of: Time, names: usize, width: usize, color: bool) -> Line {
    const BAR: u64 = 8;
    let full = (lane.done * BAR).checked_div(lane.total.max(1)).unwrap_or(0).min(BAR);
    let bar: String = match width {
        0..NARROW => String::new(),
        _ => (0..BAR).map(|place| if place < full { '█' } else { '░' }).chain([' ']).collect(),
    };
    let stage = lane.stage.map_or_else(String::new, |stage| format!("s{stage} "));
    let mut more: Vec<String> = Vec::new();
    more.extend(lane.reason.clone());
    more.extend(lane.until.map(|until| format!("until {until}")));
    more.extend(lane.last_sign.map(|at| format!("sign {} ago", at.age(as_of))));
    more.extend(lane.worker.clone());
    more.extend(lane.title.clone());
    let more = printable(&more.join(" · ")).into_owned();
    let name = shortened(&printable(&lane.name), names);
    let line = format!("{} {bar}{stage}{:<10} {more}", cell(&name, names), lane.state);
    let code = match &*lane.state {
        "done" => Some("32"),
        "paused" | "dead" => Some("31"),
        "silent" | "parked" | "limited" => Some("33"),
        _ => None,
    };
    Line::new(line.trim_end(), width, code.filter(|_| color))
}

/// A name that is too long loses its middle: its kind and its last part tell it from others.
fn shortened(name: &str, width: usize) -> String {
    if columns(name) <= width || width < 3 {
        return name.to_owned();
    }
    let take = |letters: &mut dyn Iterator<Item = char>, most: usize| {
        let mut taken = String::new();
        for letter in letters {
            taken.push(letter);
            if columns(&taken) > most {
                taken.pop();
                break;
            }
        }
        taken
    };
    let head = take(&mut name.chars(), width / 3);
    let tail = take(&mut name.chars().rev(), width - 1 - columns(&head));
    format!("{head}…{}", tail.chars().rev().collect::<String>())
}

fn span(seconds: u64) -> String {
    Age(std::time::Duration::from_secs(seconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(name: &str, state: &'static str, done: u64) -> LaneView {
        LaneView {
            name: name.to_owned(),
            unit: name.to_owned(),
            work: piton_model::LedWork::Turn,
            attempt: 1,
            home: None,
            until: None,
            title: Some("A title\x1b[2J".to_owned()),
            state: state.into(),
            done,
            total: 4,
            stage: Some(2),
            worker: None,
            last_sign: None,
            reason: None,
            after: Vec::new(),
            known: None,
        }
    }

    #[test]
    fn what_the_terminal_echoed_is_overwritten_with_and_without_a_picture() {
        let live = |is_terminal, is_hung_up| LiveView {
            is_terminal,
            color: false,
            size: (80, 24),
            has_written: true,
            drawn: Vec::new(),
            is_hung_up,
            told: Told::default(),
        };
        assert_eq!(live(true, false).wipe(&[]), "\r\x1b[K");
        assert_eq!(live(true, false).wipe(&[Line::new("x", 80, None)]), "\r\x1b[1A\x1b[J");
        assert_eq!((live(false, false).wipe(&[]), live(true, true).wipe(&[])), (String::new(), String::new()));
    }

    fn view() -> View {
        let at = Time::from_unix_seconds;
        let worker = Some("story-B-s2".to_owned());
        let running = LaneView { worker, last_sign: Some(at(925)), ..lane("pipeline:B", "running", 2) };
        let paused = LaneView { reason: Some("x".repeat(200)), ..lane("pipeline:C", "paused", 1) };
        let wide = LaneView { title: Some("門を直す".to_owned()), ..lane("crew:門-担当", "queued", 0) };
        let lanes = vec![wide, running, paused, lane("pipeline:D", "done", 4)];
        let waiting = vec![Waiting::new("build:PRD-009", "Ground", "phase 0 Ground")];
        View {
            as_of: at(1_000),
            began: at(939),
            lanes,
            cost: Some(0.5),
            eta: Some(120),
            mode: "draining".into(),
            waiting,
            judging: Vec::new(),
            parked_until: None,
            others: Vec::new(),
        }
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn the_picture_has_who_works_first_and_fits_the_terminal() {
        let lines = picture(&view(), 79, 10, false);
        let shown = texts(&lines);
        let cut = format!("pipeline:C   ██░░░░░░ s2 paused     {}…", "x".repeat(42));
        assert_eq!(
            shown,
            [
                "pipeline:B   ████░░░░ s2 running    sign 1m ago · story-B-s2 · A title\\x1b[2J",
                &cut,
                "crew:門-担当 ░░░░░░░░ s2 queued     門を直す",
                "pipeline:D   ████████ s2 done       A title\\x1b[2J",
                "Ground waits for approval: piton approve build:PRD-009",
                "1/4 done · 1m · about 2m left · $0.50 · draining",
            ]
        );
        for width in [10, 24, 40, 59, 60, 79, 119] {
            for line in picture(&view(), width, 10, false) {
                assert!(columns(&line.text) <= width, "{width}: {}", line.text);
                assert_eq!(columns(&line.text), line.columns);
                assert!(!line.text.contains('\x1b'), "{:?}", line.text);
            }
        }
    }

    #[test]
    fn a_long_name_loses_its_middle() {
        for (name, width, want) in [
            ("pipeline:B", 28, "pipeline:B"),
            ("plan:260220-1149-a-long-feature dig-the-pit", 28, "plan:2602…eature dig-the-pit"),
            ("crew:門-担当門-担当門-担当", 14, "crew…当門-担当"),
            ("build:PRD-031 WS1", 8, "bu…1 WS1"),
        ] {
            let short = shortened(name, width);
            assert!(columns(&short) <= width, "{short}");
            assert_eq!(short, want);
        }
    }

    #[test]
    fn where_there_is_little_room_the_sum_stays_and_says_what_is_hidden() {
        let lines = picture(&view(), 79, 3, false);
        let shown = texts(&lines);
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert_eq!(shown[2], "1/4 done · 1m · about 2m left · $0.50 · draining · 3 more");
    }

    #[test]
    fn a_picture_that_a_narrower_terminal_broke_is_wiped_whole() {
        for (drawn, width, want) in [
            (vec![], 80, 0),
            (vec![79, 10, 0], 80, 3),
            (vec![79, 10, 0], 40, 4),
            (vec![79, 10, 0], 20, 6),
            (vec![80], 80, 1),
            (vec![5], 0, 5),
        ] {
            assert_eq!(rows(&drawn, width), want, "{drawn:?} in {width}");
        }
    }
}
