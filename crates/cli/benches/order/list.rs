//! Finds the functions and writes the list.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::beside::{agent, plan, scratch};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// What stops a program on x86.
const BREAKPOINT: u8 = 0xCC;

pub fn main() {
    let scratch = scratch();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_piton"));
    let functions = functions(&program);
    let mut use_of: BTreeMap<String, Use> = BTreeMap::new();
    for function in functions.values().flatten() {
        use_of.entry(pattern(&function.name)).or_default().size += function.size;
    }
    let mut order = 0;
    for (number, arguments) in commands(&program, &scratch).into_iter().enumerate() {
        let reached = reached(&program, &arguments, &functions);
        println!("  {:>5} functions: piton {}", reached.len(), arguments.words.join(" "));
        for function in reached.iter().flat_map(|address| &functions[address]) {
            let use_of = use_of.entry(pattern(&function.name)).or_default();
            order += 1;
            use_of.first = use_of.first.min(order);
            use_of.commands |= 1 << number;
            use_of.reached.insert(function.name.clone(), function.size);
        }
    }
    use_of.retain(|_, one| one.commands != 0);

    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("start.ld");
    if std::env::args().any(|argument| argument == "write") {
        fs::write(&list, script(&use_of)).expect("the list can be written");
        println!("  written: {}", list.display());
    }
    let known = fs::read_to_string(&list).unwrap_or_default();
    let all: u64 = use_of.values().map(Use::reached).sum();
    let is_listed =
        |name: &str, one: &Use| one.sections(name).iter().all(|section| known.contains(&format!("({section} ")));
    let listed: u64 = use_of.iter().filter(|(name, one)| is_listed(name, one)).map(|(_, one)| one.reached()).sum();
    println!("  {} kB run, {} % of that is in the list by its name", all / 1024, listed * 100 / all.max(1));
    fs::remove_dir_all(&scratch).expect("the scratch directory goes");
}

struct Function {
    name: String,
    size: u64,
}

/// How the functions of one pattern are used.
struct Use {
    /// Of all functions with such a name, in bytes.
    size: u64,
    /// The ones that ran.
    reached: HashMap<String, u64>,
    /// Which commands ran them, a bit each.
    commands: u32,
    /// When the first of them ran.
    first: usize,
}

impl Default for Use {
    fn default() -> Use {
        Use { size: 0, reached: HashMap::new(), commands: 0, first: usize::MAX }
    }
}

impl Use {
    fn reached(&self) -> u64 {
        self.reached.values().sum()
    }

    /// The sections to lay out. A pattern that mostly stands for other functions would bring all of them along, so
    /// these are named one by one, for as long as their hashes hold.
    fn sections(&self, pattern: &str) -> Vec<String> {
        if self.reached() * 2 >= self.size {
            return vec![format!(".text.{pattern}")];
        }
        let mut names: Vec<String> = self.reached.keys().map(|name| format!(".text.{name}")).collect();
        names.sort();
        names
    }
}

struct Arguments {
    words: Vec<String>,
    input: Option<PathBuf>,
    /// A file that somebody writes into before.
    edited: Option<PathBuf>,
}

/// The commands that have to start quickly, in a workspace of their own.
fn commands(program: &Path, scratch: &Path) -> Vec<Arguments> {
    let root = scratch.join("workspace");
    for i in 0..10 {
        put(&root.join(format!("agent_checkpoints/secondary_{i:06}.json")), &agent(i));
    }
    // Most repositories have one plan and nothing else; a session that starts there is told about it.
    let alone = scratch.join("alone");
    let words = [&root, &alone].map(|root| root.display().to_string());
    for root in [&root, &alone] {
        put(&root.join("plans/quay/plan.md"), &plan(200));
    }
    for (root, arguments) in
        [(0, ["start", "plan:quay"]), (0, ["beat", "crew:Secondary-000000"]), (1, ["start", "plan:quay"])]
    {
        let mut command = Command::new(program);
        let status = command.args(["-C", &words[root]]).args(arguments).stdout(Stdio::null()).status();
        assert!(status.expect("piton starts").success(), "piton {} failed", arguments.join(" "));
    }
    let [root_word, _] = &words;
    let checked = root.join("agent_checkpoints/secondary_000000.json").display().to_string();
    let mut commands = vec![vec!["--version".to_owned()], vec!["check".to_owned(), checked]];
    for words in [
        &["status"][..],
        &["beat", "crew:Secondary-000000"],
        &["step", "crew:Secondary-000000", "done", "Answer the open questions"],
        &["beat", "plan:quay"],
        &["step", "plan:quay", "done", "task-1"],
    ] {
        commands.push(["-C", root_word].iter().chain(words).map(|&word| word.to_owned()).collect());
    }
    let mut commands: Vec<Arguments> =
        commands.into_iter().map(|words| Arguments { words, input: None, edited: None }).collect();
    for (root, event, path) in [
        (&root, "PostToolUse", "src/a.rs"),
        (&alone, "SessionStart", ""),
        (&root, "SessionStart", ""),
        (&alone, "PostToolUse", "plans/quay/plan.md"),
    ] {
        let input = scratch.join(format!("payload-{}", commands.len()));
        put(&input, &payload(event, &root.join(path)));
        let words = ["-C", &root.display().to_string(), "hook", event].map(str::to_owned).to_vec();
        let edited = (!path.is_empty()).then(|| root.join(path)).filter(|path| path.exists());
        commands.push(Arguments { words, input: Some(input), edited });
    }
    commands
}

fn payload(event: &str, path: &Path) -> String {
    let path = path.display();
    format!(
        r#"{{"session_id":"s","cwd":"/","hook_event_name":"{event}","source":"startup","tool_name":"Edit","tool_input":{{"file_path":"{path}","old_string":"a","new_string":"b"}}}}"#
    )
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("the scratch directory takes one");
    fs::write(path, text).expect("the scratch directory takes a file");
}

/// Every function of a program by its address; several may share one.
fn functions(program: &Path) -> BTreeMap<u64, Vec<Function>> {
    let mut functions: BTreeMap<u64, Vec<Function>> = BTreeMap::new();
    for line in output(Command::new("nm").arg("-S").arg(program)).lines() {
        let [address, size, "t" | "T" | "w" | "W", name] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let (Ok(address), Ok(size)) = (u64::from_str_radix(address, 16), u64::from_str_radix(size, 16)) else {
            continue;
        };
        functions.entry(address).or_default().push(Function { name: name.to_owned(), size });
    }
    functions
}

fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output().expect("the program starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The functions that a command runs, in the order of their first call: each has a breakpoint, which is gone after it.
#[expect(clippy::zombie_processes, reason = "it is waited for by its id, as a tracer does")]
fn reached(program: &Path, arguments: &Arguments, functions: &BTreeMap<u64, Vec<Function>>) -> Vec<u64> {
    if let Some(path) = &arguments.edited {
        let mut file = OpenOptions::new().append(true).open(path).expect("a document can be edited");
        file.write_all(b"- [x] One more <!-- TASK: task-more -->\n").expect("a document can be edited");
    }
    // The shell waits to be traced, and becomes the program.
    let mut command = Command::new("sh");
    command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).arg(program).args(&arguments.words);
    let input = arguments.input.as_ref().map_or(Stdio::null(), |path| File::open(path).expect("it is there").into());
    let started = command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell starts");
    let child = Pid::from_raw(i32::try_from(started.id()).expect("an id of a process"));
    waitpid(child, Some(WaitPidFlag::WUNTRACED)).expect("a child can be waited for");
    ptrace::seize(child, Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_EXITKILL).expect("a child can be traced");
    kill(child, Signal::SIGCONT).expect("a child can be woken");

    let (mut memory, mut before, mut reached) = (None, HashMap::new(), Vec::new());
    loop {
        let mut signal = None;
        match waitpid(child, None).expect("a child can be waited for") {
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0, "piton {} failed", arguments.words.join(" "));
                return reached;
            }
            WaitStatus::PtraceEvent(_, _, event) if event == ptrace::Event::PTRACE_EVENT_EXEC as i32 => {
                let opened = OpenOptions::new().read(true).write(true).open(format!("/proc/{child}/mem"));
                let opened = opened.expect("its memory opens");
                for &address in functions.keys() {
                    let mut byte = [0];
                    opened.read_exact_at(&mut byte, address).expect("a function can be read");
                    opened.write_all_at(&[BREAKPOINT], address).expect("a function takes a breakpoint");
                    before.insert(address, byte);
                }
                memory = Some(opened);
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                let mut registers = ptrace::getregs(child).expect("registers can be read");
                let address = registers.rip - 1;
                let byte = before.get(&address).expect("only our breakpoints stop it");
                let memory: &File = memory.as_ref().expect("it was opened at the start");
                memory.write_all_at(byte, address).expect("a breakpoint can go");
                registers.rip = address;
                ptrace::setregs(child, registers).expect("registers can be set");
                reached.push(address);
            }
            WaitStatus::Stopped(_, other) => signal = Some(other),
            WaitStatus::Signaled(_, by, _) => panic!("piton {} was ended by {by}", arguments.words.join(" ")),
            _ => {}
        }
        ptrace::cont(child, signal).expect("a child goes on");
    }
}

/// The name of a function without what the compiler's version decides: the hash at its end, or those of its crates.
fn pattern(name: &str) -> String {
    if let Some(at) = name.rfind("17h").filter(|at| name.len() >= at + 20 && name.starts_with("_ZN")) {
        return format!("{}17h????????????????{}", &name[..at], &name[at + 19..]);
    }
    if !name.starts_with("_R") {
        return name.to_owned();
    }
    let mut pattern = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("Cs") {
        let hash = &rest[at + 2..];
        let end = hash.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(hash.len());
        let is_crate = hash[end..].starts_with('_') && end > 5;
        pattern += &rest[..at + 2];
        pattern += if is_crate { "*" } else { &hash[..end] };
        rest = &hash[end..];
    }
    pattern + rest
}

/// The linker's script: what every command runs first, then what fewer of them do.
fn script(use_of: &BTreeMap<String, Use>) -> String {
    let is_rust = |name: &str| name.starts_with("_ZN") || name.starts_with("_R");
    let mut names: Vec<(&String, &Use)> = use_of.iter().filter(|(name, _)| is_rust(name)).collect();
    names.sort_by_key(|(_, one)| (std::cmp::Reverse(one.commands.count_ones()), one.first));
    let mut text = String::from(
        "/* Functions that small commands run, laid side by side: a start then touches fewer pages.\n   \
         Written by `cargo bench --bench order -- write`; a name that is gone does no harm. */\n\
         SECTIONS {\n  .text.start : {\n",
    );
    for object in c_objects(use_of) {
        text += &format!("    *libc.a:{object}(.text .text.*)\n");
    }
    for section in names.into_iter().flat_map(|(name, one)| one.sections(name)) {
        // What is rarely called the compiler puts elsewhere; a start calls some of it.
        let cold = section.replacen(".text.", ".text.unlikely.", 1);
        text += &format!("    *({section} {cold})\n");
    }
    text + "  }\n}\nINSERT BEFORE .text;\n"
}

/// The parts of the C library that hold functions that ran.
fn c_objects(use_of: &BTreeMap<String, Use>) -> Vec<String> {
    let library = output(Command::new("cc").arg("-print-file-name=libc.a"));
    let mut objects = Vec::new();
    for line in output(Command::new("nm").arg("-A").arg(library.trim())).lines() {
        let [place, "t" | "T" | "w" | "W", name] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let object = place.trim_end_matches(|c: char| c.is_ascii_hexdigit()).trim_end_matches(':').rsplit(':').next();
        let object = object.unwrap_or_default().to_owned();
        if use_of.contains_key(name) && !objects.contains(&object) {
            objects.push(object);
        }
    }
    objects
}
