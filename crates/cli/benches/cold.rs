//! Cold processes, beside the least that could be done in the same run: an empty program, and a program that reads
//! all the bytes.
//!
//! `cargo bench --bench cold`. Figures are medians of ratios: each round runs every contender once, in turn, so that
//! all of them meet the same mood of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() {
    let scratch = std::env::temp_dir().join(format!("piton-bench-{}", std::process::id()));
    fs::create_dir_all(&scratch).expect("a scratch directory");
    let empty = compile(&scratch, "empty", "fn main() {}");
    let read_all = compile(&scratch, "read_all", READ_ALL);
    let piton = PathBuf::from(env!("CARGO_BIN_EXE_piton"));

    let ten = crew(&scratch.join("ten"), 10);
    let many = crew(&scratch.join("many"), 100_000);
    let one_file = ten.join("agent_checkpoints/secondary_000000.json");

    let start = Contender::new("an empty program", &empty, &[]);
    let version = Contender::new("piton --version", &piton, &["--version".as_ref()]);
    let check = Contender::new("piton check, one file", &piton, &["check".as_ref(), &one_file]);
    let status_10 = Contender::new("piton status, 10 units", &piton, &["-C".as_ref(), &ten, "status".as_ref()]);
    compare(&[start, version, check, status_10], 300);

    let read = Contender::new("reading all bytes", &read_all, &[&many.join("agent_checkpoints")]);
    let status = Contender::new("piton status, 100,000 units", &piton, &["-C".as_ref(), &many, "status".as_ref()]);
    compare(&[read, status], 9);
    println!("  peak memory of that status: {} MB", peak_memory(&piton, &many) / 1024);

    fs::remove_dir_all(&scratch).expect("the scratch directory goes");
}

struct Contender {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

impl Contender {
    fn new(name: &'static str, program: &Path, arguments: &[&Path]) -> Contender {
        Contender {
            name,
            program: program.to_owned(),
            arguments: arguments.iter().map(|each| each.to_path_buf()).collect(),
        }
    }

    fn run(&self) -> f64 {
        let start = Instant::now();
        let status = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the program starts");
        assert!(status.success(), "{} failed", self.name);
        start.elapsed().as_secs_f64()
    }
}

/// Prints each contender's median time, and the median of its ratios to the first one.
fn compare(contenders: &[Contender], rounds: usize) {
    for contender in contenders {
        contender.run();
    }
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(contender.run());
        }
    }
    let limit = times[0].clone();
    for (contender, times) in contenders.iter().zip(&times) {
        let ratio = median(times.iter().zip(&limit).map(|(time, limit)| time / limit).collect());
        println!("{:<30} {:>9.3} ms  {ratio:>5.2} x", contender.name, median(times.clone()) * 1e3);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compiles a limit program as our own binary is compiled.
fn compile(scratch: &Path, name: &str, text: &str) -> PathBuf {
    let (source, program) = (scratch.join(format!("{name}.rs")), scratch.join(name));
    fs::write(&source, text).expect("the scratch directory takes a file");
    let flags = ["-O", "--edition=2024", "-Ctarget-feature=+crt-static", "-Crelocation-model=static", "-o"];
    let status = Command::new("rustc").args(flags).args([&program, &source]).status().expect("rustc is there");
    assert!(status.success(), "{name} does not compile");
    program
}

const READ_ALL: &str = r#"
use std::io::Read as _;
fn main() {
    let mut bytes = Vec::new();
    let mut total = 0;
    for entry in std::fs::read_dir(std::env::args().nth(1).unwrap()).unwrap() {
        bytes.clear();
        std::fs::File::open(entry.unwrap().path()).unwrap().read_to_end(&mut bytes).unwrap();
        total += bytes.len();
    }
    println!("{total}");
}
"#;

/// Writes a crew of agents, about 1.5 kB each.
fn crew(root: &Path, agents: usize) -> PathBuf {
    let directory = root.join("agent_checkpoints");
    fs::create_dir_all(&directory).expect("the scratch directory takes a directory");
    for i in 0..agents {
        let text = format!(
            r#"{{
  "agent_id": "Secondary-{i:06}",
  "agent_type": "secondary",
  "session_id": "session-{i}",
  "feature": "feature_{i:06}_search",
  "stage": "S2.P2",
  "phase": "Specification - In Progress",
  "last_checkpoint": "2026-01-15T14:30:00Z",
  "next_checkpoint_expected": "2026-01-15T14:45:00Z",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": [
    "feature_{i:06}_search/spec.md",
    "feature_{i:06}_search/checklist.md"
  ],
  "recovery_instructions": "Go on with the specification: the section about ranking is half written, the checklist has three open questions.",
  "current_step": "Writing the section about ranking",
  "completed_steps": [
    "Read the guide for this stage",
    "Wrote the requirements",
    "Wrote the section about indexing"
  ],
  "next_steps": [
    "Finish the section about ranking",
    "Answer the open questions",
    "Ask for the review"
  ],
  "coordination_state": {{
    "last_inbox_check": "2026-01-15T14:28:00Z",
    "unread_messages": 0,
    "last_epic_readme_update": "2026-01-15T14:15:00Z",
    "last_status_update": "2026-01-15T14:15:00Z"
  }}
}}
"#
        );
        fs::write(directory.join(format!("secondary_{i:06}.json")), text).expect("the scratch directory takes a file");
    }
    root.to_owned()
}

/// The most memory that `status` had at any time, in kB.
fn peak_memory(piton: &Path, workspace: &Path) -> u64 {
    let mut child = Command::new(piton)
        .arg("-C")
        .arg(workspace)
        .arg("status")
        .stdout(Stdio::piped())
        .spawn()
        .expect("piton starts");
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let high =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(high.unwrap_or(0));
        std::thread::yield_now();
    }
    peak
}
