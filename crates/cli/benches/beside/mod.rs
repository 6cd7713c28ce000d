//! Programs beside each other: each round runs every contender once, so that all of them meet the same mood of the
//! machine, and what counts is the median of the ratios within a round.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Something that is timed. It is told the number of the round.
pub struct Contender<'a> {
    name: String,
    prepare: Box<dyn FnMut(usize) + 'a>,
    run: Box<dyn FnMut(usize) -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    /// A program that is started anew each time.
    pub fn program(name: &str, mut command: impl FnMut(usize) -> Command + 'a) -> Contender<'a> {
        let label = name.to_owned();
        Contender::timed(name, move |round| run(&label, &mut command(round)))
    }

    /// Anything that tells how long it took.
    pub fn timed(name: &str, run: impl FnMut(usize) -> f64 + 'a) -> Contender<'a> {
        Contender { name: name.to_owned(), prepare: Box::new(|_| {}), run: Box::new(run) }
    }

    /// What has to happen before, and is not timed. All contenders are prepared before the first of them runs.
    pub fn after(self, prepare: impl FnMut(usize) + 'a) -> Contender<'a> {
        Contender { prepare: Box::new(prepare), ..self }
    }
}

/// Prints each contender's median time and the median of its ratios to the first one, and returns those.
pub fn compare(mut contenders: Vec<Contender<'_>>, rounds: usize) -> Vec<f64> {
    let mut times = vec![Vec::new(); contenders.len()];
    // The first round warms up.
    for round in 0..=rounds {
        contenders.iter_mut().for_each(|contender| (contender.prepare)(round));
        let mut taken = vec![0.0; contenders.len()];
        // Whoever comes behind another finds the disk as that one left it, so they take turns at that too.
        let first = round % contenders.len();
        for place in (first..contenders.len()).chain(0..first) {
            taken[place] = (contenders[place].run)(round);
        }
        if round > 0 {
            times.iter_mut().zip(taken).for_each(|(times, time)| times.push(time));
        }
    }
    let limit = times[0].clone();
    let mut ratios = Vec::new();
    for (contender, times) in contenders.iter().zip(&times) {
        let ratio = median(times.iter().zip(&limit).map(|(time, limit)| time / limit).collect());
        println!("  {:<48} {:>10.3} ms  {ratio:>6.2} x", contender.name, median(times.clone()) * 1e3);
        ratios.push(ratio);
    }
    ratios
}

/// The value in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a program that has to succeed; how long that took, in seconds.
pub fn run(name: &str, command: &mut Command) -> f64 {
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let start = Instant::now();
    let status = command.status().expect("the program starts");
    let taken = start.elapsed().as_secs_f64();
    assert!(status.success(), "{name} failed");
    taken
}

/// Compiles a limit program as our own binary is compiled.
pub fn compile(scratch: &Path, name: &str, text: &str) -> PathBuf {
    let (source, program) = (scratch.join(format!("{name}.rs")), scratch.join(name));
    fs::write(&source, text).expect("the scratch directory takes a file");
    let flags = ["-O", "--edition=2024", "-Ctarget-feature=+crt-static", "-Crelocation-model=static", "-o"];
    let status = Command::new("rustc").args(flags).args([&program, &source]).status().expect("rustc is there");
    assert!(status.success(), "{name} does not compile");
    program
}

/// A directory for one run.
pub fn scratch() -> PathBuf {
    let scratch = std::env::temp_dir().join(format!("piton-bench-{}", std::process::id()));
    fs::create_dir_all(&scratch).expect("a scratch directory");
    scratch
}

/// Our program as an installation leaves it: copied. What a linker has just written lies in the kernel's memory in smaller
/// pieces, and each of them costs every start something. Goals are for the program as it was built.
pub fn installed(scratch: &Path) -> PathBuf {
    let piton = scratch.join("piton");
    fs::copy(env!("CARGO_BIN_EXE_piton"), &piton).expect("the program can be copied");
    piton
}

/// The checkpoint of an agent of a crew, about 1.5 kB.
pub fn agent(number: usize) -> String {
    format!(
        r#"{{
  "agent_id": "Secondary-{number:06}",
  "agent_type": "secondary",
  "session_id": "session-{number}",
  "feature": "feature_{number:06}_search",
  "stage": "S2.P2",
  "phase": "Specification - In Progress",
  "last_checkpoint": "2026-01-15T14:30:00Z",
  "next_checkpoint_expected": "2026-01-15T14:45:00Z",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": [
    "feature_{number:06}_search/spec.md",
    "feature_{number:06}_search/checklist.md"
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
    )
}

/// A plan with phases, prose, code and acceptance criteria, about 130 bytes a task.
pub fn plan(tasks: usize) -> String {
    let mut text = String::from("# A large plan\n\n");
    for i in 0..tasks {
        if i % 50 == 0 {
            text += &format!(
                "\n## Phase {0}\n<!-- CHECKPOINT: phase-{0} -->\n\nSome prose about `phase {0}`.\n\n```sh\nmake phase\n```\n\n",
                i / 50
            );
        }
        let tick = if i % 3 == 0 { 'x' } else { ' ' };
        text += &format!(
            "- [{tick}] Task number {i}: change the module and its tests so that the new behaviour holds everywhere <!-- TASK: task-{i} -->\n"
        );
        if i % 50 == 49 {
            text += &format!("- [ ] The suite passes <!-- ACCEPT: accept-{i} -->\n");
        }
    }
    text
}
