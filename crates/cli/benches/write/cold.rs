//! One update by a program that starts for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::beside::{Contender, agent, compare, compile, plan};
use crate::{Bench, goal, limits, put};

const ROUNDS: usize = 300;

/// What the document itself does in a shell; with an argument, durably.
const SHELL: &str = include_str!("crew.sh");

pub fn measure(bench: &Bench) {
    let limit = compile(&bench.scratch, "update", limits::UPDATE);
    crew(bench, &limit);
    plans(bench, &limit);
}

fn crew(bench: &Bench, limit: &Path) {
    println!("an agent's checkpoint, cold: backup, replace, history");
    let ours = bench.directory("crew");
    put(&ours.join("agent_checkpoints/secondary_000000.json"), &agent(0));
    let bare = bare_crew(bench, "bare-crew");
    let unit = "crew:Secondary-000000";
    bench.prepare(&ours, &["beat", unit]);
    let step = "Answer the open questions";
    let ratios = compare(
        vec![
            Contender::program("a bare program, three syncs", |round| bare_update(limit, &bare, round)),
            Contender::program("piton step done", |_| bench.piton(&ours, &["step", unit, "done", step]))
                .after(|_| bench.prepare(&ours, &["step", unit, "begin", step])),
            Contender::program("piton beat", |_| bench.piton(&ours, &["beat", unit])),
        ],
        ROUNDS,
    );
    goal("step done at most 1.5 times the bare program", ratios[1], ratios[1] <= 1.5);
    goal("beat at most 1.5 times the bare program", ratios[2], ratios[2] <= 1.5);
    shell(bench, &ours, unit, step);
}

/// The document's own way, where its tools are.
fn shell(bench: &Bench, ours: &Path, unit: &str, step: &str) {
    let has = |tool: &str| {
        let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    if !has("bash") || !has("jq") {
        println!("  bash or jq is not here");
        return;
    }
    let directory = bench.directory("shell");
    put(&directory.join("agent_checkpoints/secondary_a.json"), &agent(0));
    put(&directory.join("update.sh"), SHELL);
    let theirs = |arguments: &[&str]| {
        let mut command = Command::new("bash");
        command.arg("update.sh").args(arguments).current_dir(&directory);
        command
    };
    let ratios = compare(
        vec![
            Contender::program("piton step done", |_| bench.piton(ours, &["step", unit, "done", step]))
                .after(|_| bench.prepare(ours, &["step", unit, "begin", step])),
            Contender::program("the document's own bash and jq, no sync", |_| theirs(&[])),
            Contender::program("the same, made durable", |_| theirs(&["durable"])),
        ],
        ROUNDS / 10,
    );
    goal("at least 20 times faster than bash and jq doing the same", ratios[2], ratios[2] >= 20.0);
}

fn plans(bench: &Bench, limit: &Path) {
    println!("a plan of 200 tasks, cold: plan.md, its state, its log, history");
    let (ours, bare, edited) = (bench.directory("plan"), bench.directory("bare-plan"), bench.directory("edited-plan"));
    let documents = ["plan.md", ".checkpoint/state.json"];
    for workspace in [&ours, &edited] {
        put(&workspace.join("plans/p/plan.md"), &plan(200));
        bench.prepare(workspace, &["start", "plan:p"]);
    }
    for document in documents {
        let text = fs::read_to_string(ours.join("plans/p").join(document)).expect("it was made");
        put(&bare.join(document), &text);
    }
    let open: Vec<String> = (0..200).filter(|i| i % 3 != 0).map(|i| format!("task-{i}")).collect();
    let task = |round: usize| open[round % open.len()].as_str();
    let ratios = compare(
        vec![
            Contender::program("a bare program, five syncs", |round| {
                let mut command = Command::new(limit);
                command.arg(round.to_string()).arg(bare.join("history"));
                command.arg(bare.join(documents[0])).arg("-").arg(bare.join(documents[1])).arg("-");
                command
            }),
            Contender::program("piton step done", |round| bench.piton(&ours, &["step", "plan:p", "done", task(round)])),
            Contender::timed("a hook that is told of an edit", |_| told(bench, &edited))
                .after(|round| edit(&edited, task(round))),
        ],
        open.len() - 1,
    );
    goal("at most 1.5 times the bare program", ratios[1], ratios[1] <= 1.5);
    let state = fs::read_to_string(edited.join("plans/p").join(documents[1])).expect("it was made");
    let ticked = fs::read_to_string(edited.join("plans/p/plan.md")).expect("it is there").matches("- [x]").count();
    assert!(state.contains(&format!("\"completedTasks\": {ticked},")), "the hook recorded what it was told of");
    println!("  told of an edit, beside step done: {:.2} x", ratios[2] / ratios[1]);
}

/// Ticks a box as an agent's tool does.
fn edit(workspace: &Path, task: &str) {
    let path = workspace.join("plans/p/plan.md");
    let text = fs::read_to_string(&path).expect("it is there");
    let lines = text.lines().map(|line| match line.ends_with(&format!("TASK: {task} -->")) {
        true => line.replacen("[ ]", "[x]", 1) + "\n",
        false => format!("{line}\n"),
    });
    let (aside, text) = (path.with_extension("new"), lines.collect::<String>());
    fs::write(&aside, text).and_then(|()| fs::rename(&aside, &path)).expect("it can be edited");
}

/// Tells our program that a tool has edited the plan; how long that took, in seconds.
fn told(bench: &Bench, workspace: &Path) -> f64 {
    let payload = workspace.join("payload");
    let path = workspace.join("plans/p/plan.md").display().to_string();
    put(
        &payload,
        &format!(
            r#"{{"session_id":"s","cwd":"/","hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{{"file_path":"{path}","old_string":"a","new_string":"b"}}}}"#
        ),
    );
    let mut command = bench.piton(workspace, &["hook", "PostToolUse"]);
    let input = fs::File::open(&payload).expect("it was just written");
    command.env_clear().stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    let start = std::time::Instant::now();
    assert!(command.status().expect("piton starts").success(), "the hook failed");
    start.elapsed().as_secs_f64()
}

/// A checkpoint for the bare program.
pub fn bare_crew(bench: &Bench, name: &str) -> std::path::PathBuf {
    let bare = bench.directory(name);
    put(&bare.join("agent_checkpoints/secondary_000000.json"), &agent(0));
    fs::create_dir_all(bare.join("agent_checkpoints/backups")).expect("a directory can be made");
    bare
}

/// The bare program, in a directory of [`bare_crew`].
pub fn bare_update(limit: &Path, bare: &Path, round: usize) -> Command {
    let checkpoints = bare.join("agent_checkpoints");
    let mut command = Command::new(limit);
    command.arg(round.to_string()).arg(bare.join("history"));
    command.arg(checkpoints.join("secondary_000000.json")).arg(checkpoints.join("backups"));
    command
}
