//! Parsing a plan of 100,000 tasks, beside the least that could be done: a scan for lines with a marker.
//!
//! `cargo bench --bench plan`. Figures are ratios of medians within one run.

#[expect(dead_code, reason = "other benchmarks use the rest")]
mod beside;

use std::hint::black_box;
use std::time::Instant;

use beside::plan;
use piton_dialect::Findings;
use piton_dialect::plan::parse;
use pulldown_cmark::{Event, Options, Parser};

const ROUNDS: usize = 15;

type Contender = (&'static str, &'static dyn Fn(&str) -> usize);

fn main() {
    for tasks in [100, 10_000, 100_000] {
        let text = plan(tasks);
        let mut names = Vec::new();
        let mut times: Vec<Vec<f64>> = Vec::new();
        // Interleaved, so that all of them meet the same mood of the machine.
        for _ in 0..ROUNDS {
            let contenders: [Contender; 4] =
                [("line scan", &line_scan), ("ours", &ours), ("sha-256", &sha256), ("pulldown-cmark", &pulldown)];
            names = contenders.iter().map(|(name, _)| *name).collect();
            times.resize(names.len(), Vec::new());
            for ((name, run), times) in contenders.into_iter().zip(&mut times) {
                let start = Instant::now();
                let counted = black_box(run(black_box(&text)));
                times.push(start.elapsed().as_secs_f64());
                assert!(name == "sha-256" || counted == tasks, "{name} counted {counted} of {tasks}");
            }
        }
        let medians: Vec<_> = times.iter_mut().map(|times| median(times)).collect();
        println!("{tasks} tasks, {:.1} MB", text.len() as f64 / 1e6);
        for (name, time) in names.iter().zip(&medians) {
            println!("  {name:<16} {:>9.3} ms  {:>6.2} x the line scan", time * 1e3, time / medians[0]);
        }
    }
}

fn ours(text: &str) -> usize {
    parse(text, &mut Findings::new("plan.md".into(), text)).tasks.len()
}

/// The limit: by lines, the box at the line's start, the marker at its end, into a list.
fn line_scan(text: &str) -> usize {
    let mut tasks: Vec<(&str, bool, &str)> = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |length| start + length);
        let line = &text[start..end];
        start = end + 1;
        let Some(body) = line.strip_suffix(" -->").filter(|_| line.starts_with("- [")) else { continue };
        let Some(at) = memchr::memrchr(b'<', body.as_bytes()) else { continue };
        if let Some(id) = body[at..].strip_prefix("<!-- TASK: ") {
            tasks.push((id, body.as_bytes()[3] == b'x', &body[6..at]));
        }
    }
    black_box(&tasks).len()
}

fn sha256(text: &str) -> usize {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes())[0].into()
}

fn pulldown(text: &str) -> usize {
    let mut is_task = false;
    let mut count = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TASKLISTS) {
        match event {
            Event::TaskListMarker(_) => is_task = true,
            Event::InlineHtml(html) if is_task && html.starts_with("<!-- TASK: ") => {
                is_task = false;
                count += 1;
            }
            _ => {}
        }
    }
    count
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
