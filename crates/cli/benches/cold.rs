//! Cold processes, beside the least that could be done in the same run: an empty program, and a program that reads
//! all the bytes.
//!
//! `cargo bench --bench cold`. Figures are medians of ratios within a round.

mod beside;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use beside::{Contender, compare, compile};

fn main() {
    let scratch = beside::scratch();
    let empty = compile(&scratch, "empty", "fn main() {}");
    let read_all = compile(&scratch, "read_all", READ_ALL);
    let piton = PathBuf::from(env!("CARGO_BIN_EXE_piton"));
    let installed = beside::installed(&scratch);

    let ten = crew(&scratch.join("ten"), 10);
    let many = crew(&scratch.join("many"), 100_000);
    let one_file = ten.join("agent_checkpoints/secondary_000000.json");

    let start = contender("an empty program", &empty, &[]);
    let version = contender("piton --version", &piton, &["--version".as_ref()]);
    let check = contender("piton check, one file", &piton, &["check".as_ref(), &one_file]);
    let status_10 = contender("piton status, 10 units", &piton, &["-C".as_ref(), &ten, "status".as_ref()]);
    let copied_check = contender("check, an installed copy", &installed, &["check".as_ref(), &one_file]);
    let copied_status = contender("status, an installed copy", &installed, &["-C".as_ref(), &ten, "status".as_ref()]);
    compare(vec![start, version, check, copied_check, status_10, copied_status], 300);

    let quay = plan(&piton, &scratch.join("plan"), 1_000);
    let start = contender("an empty program", &empty, &[]);
    let idle = hook(&scratch, &piton, &quay, "a hook with nothing to do", "PostToolUse", "src/a.rs");
    let brief = hook(&scratch, &piton, &quay, "a session starts, 1,000 tasks", "SessionStart", "");
    let beat =
        contender("piton beat, 1,000 tasks", &piton, &["-C".as_ref(), &quay, "beat".as_ref(), "plan:quay".as_ref()]);
    compare(vec![start, idle, brief], 200);
    // Whoever comes behind a sync waits for the end of it, so this one is by itself.
    let start = contender("an empty program", &empty, &[]);
    compare(vec![start, beat], 100);

    let (program, root) = (piton.clone(), plan(&piton, &scratch.join("steps"), 1_000));
    let step = Contender::program("piton step done, 1,000 tasks", move |round| {
        let mut command = Command::new(&program);
        command.arg("-C").arg(&root).args(["step", "plan:quay", "done", &format!("task-{}", 3 * round + 1)]);
        command
    });
    let document = quay.join("plans/quay/plan.md");
    let edit = hook(&scratch, &piton, &quay, "a plan was edited, 1,000 tasks", "PostToolUse", "plans/quay/plan.md");
    let edit = edit.after(move |round| {
        let text = fs::read_to_string(&document).expect("the plan is there");
        let (from, to) = if round.is_multiple_of(2) { ("- [ ]", "- [x]") } else { ("- [x]", "- [ ]") };
        fs::write(&document, text.replacen(from, to, 1)).expect("the plan can be written");
    });
    compare(vec![step, edit], 100);

    let checkpoints = many.join("agent_checkpoints");
    let read = contender("reading all bytes", &read_all, &[&checkpoints]);
    let status = contender("piton status, 100,000 units", &piton, &["-C".as_ref(), &many, "status".as_ref()]);
    compare(vec![read, status], 9);
    println!("  peak memory of that status: {} MB", peak_memory(&piton, &many) / 1024);

    fs::remove_dir_all(&scratch).expect("the scratch directory goes");
}

fn contender(name: &str, program: &Path, arguments: &[&Path]) -> Contender<'static> {
    let program = program.to_owned();
    let arguments: Vec<PathBuf> = arguments.iter().map(|argument| argument.to_path_buf()).collect();
    Contender::program(name, move |_| {
        let mut command = Command::new(&program);
        command.args(&arguments);
        command
    })
}

/// A hook with its payload; each session is a new one, and ends before the next begins.
fn hook(scratch: &Path, piton: &Path, root: &Path, name: &str, event: &str, path: &str) -> Contender<'static> {
    let (piton, root, event) = (piton.to_owned(), root.to_owned(), event.to_owned());
    let file = scratch.join(format!("payload-{event}-{}", path.replace('/', "-")));
    let path = root.join(path).display().to_string();
    Contender::timed(name, move |round| {
        let told = |event: &str| {
            format!(
                r#"{{"session_id":"session-{round}","cwd":"/","hook_event_name":"{event}","source":"startup","tool_name":"Edit","tool_input":{{"file_path":"{path}","old_string":"a","new_string":"b"}}}}"#
            )
        };
        let call = |event: &str| {
            fs::write(&file, told(event)).expect("the scratch directory takes a file");
            let input = fs::File::open(&file).expect("it was just written");
            let mut command = Command::new(&piton);
            command.env_clear().arg("-C").arg(&root).arg("hook").arg(event);
            command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
            let began = std::time::Instant::now();
            assert!(command.status().expect("piton starts").success());
            began.elapsed().as_secs_f64()
        };
        let took = call(&event);
        call("SessionEnd");
        took
    })
}

/// Writes and starts a plan.
fn plan(piton: &Path, root: &Path, tasks: usize) -> PathBuf {
    fs::create_dir_all(root.join("plans/quay")).expect("the scratch directory takes a directory");
    fs::write(root.join("plans/quay/plan.md"), beside::plan(tasks)).expect("the scratch directory takes a file");
    let mut start = Command::new(piton);
    start.arg("-C").arg(root).args(["start", "plan:quay"]).stdout(Stdio::null());
    assert!(start.status().expect("piton starts").success());
    root.to_owned()
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
        let path = directory.join(format!("secondary_{i:06}.json"));
        fs::write(path, beside::agent(i)).expect("the scratch directory takes a file");
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
