//! What every worker of a journey has: a directory outside of the repository, a policy, and hands.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::follow::commands_of;
use crate::{printed, prompts};

/// How long a worker waits for something that a test has to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The prompt of this worker.
static PROMPT: OnceLock<String> = OnceLock::new();

/// A worker's place in a journey.
pub struct Bench {
    directory: PathBuf,
    policy: Vec<String>,
}

/// What a command left behind.
pub struct Done {
    pub code: i32,
    pub text: String,
}

impl Bench {
    /// The bench that the worker's own script names.
    pub fn of_this_worker() -> Bench {
        let directory = PathBuf::from(variable("JOURNEY"));
        let policy = variable("JOURNEY_POLICY").split_whitespace().map(str::to_owned).collect();
        Bench { directory, policy }
    }

    /// Appends to the journey's log, which a test that fails shows.
    pub fn note(&self, text: &str) {
        let who = format!("{} {} {}", variable("PITON_UNIT"), variable("PITON_STAGE"), variable("PITON_STEP"));
        let line = format!("[{} {}] {}\n", std::process::id(), who.trim_end(), text.trim_end());
        let mut log = OpenOptions::new().append(true).create(true).open(self.directory.join("log")).expect("a log");
        log.write_all(line.as_bytes()).expect("the log can be written");
    }

    /// Waits until no other worker of the journey edits a file that they share. The turn ends with the value.
    pub fn turn(&self) -> fs::File {
        let file = fs::File::create(self.directory.join("turn")).expect("a lock file");
        file.lock().expect("a lock");
        file
    }

    /// Prints a line. The script of the worker leaves its standard output open as the third stream, because the first is
    /// the test program's own.
    pub fn says(&self, line: &str) {
        let mut stream = OpenOptions::new().append(true).open("/proc/self/fd/3").expect("the script opened it");
        writeln!(stream, "{}", line.trim_end()).expect("the keeper reads it");
    }

    /// Keeps a prompt, in the order in which workers were started.
    pub fn keep_prompt(&self, text: &str) {
        // A worker has one prompt.
        let _ = PROMPT.set(text.to_owned());
        let unit = variable("PITON_UNIT").replace([':', '/'], "-");
        for number in 1..1000 {
            let name = format!("prompts/{number:03} {unit} {} {}.md", variable("PITON_STAGE"), variable("PITON_STEP"));
            let claimed = self.directory.join(format!("prompts/.{number:03}"));
            if OpenOptions::new().write(true).create_new(true).open(&claimed).is_ok() {
                fs::write(self.directory.join(name), text).expect("a prompt can be kept");
                return;
            }
        }
    }

    /// Whether the policy says this, and no worker of the journey did it before.
    pub fn takes(&self, policy: &str) -> bool {
        self.policy.iter().any(|each| each == policy)
            && fs::create_dir(self.directory.join("marks").join(policy)).is_ok()
    }

    /// Whether the policy says this, every time.
    pub fn always(&self, policy: &str) -> bool {
        self.policy.iter().any(|each| each == policy)
    }

    /// Says that a point is reached, and waits there until the test lets it go on, when the test asked for that.
    pub fn reaches(&self, point: &str) {
        if !self.takes(&format!("hold-{point}")) {
            return;
        }
        self.note(&format!("holds at {point}"));
        fs::write(self.directory.join("marks").join(format!("at-{point}")), std::process::id().to_string())
            .expect("a mark");
        let since = Instant::now();
        while !self.directory.join("marks").join(format!("go-{point}")).exists() {
            assert!(since.elapsed() < PATIENCE, "nothing let the worker go on at {point}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until as many workers as the policy says are at their work, so that none has ended before another began.
    fn meets(&self) {
        let Some(count) = self.policy.iter().find_map(|each| each.strip_prefix("meet-")) else { return };
        let count: usize = count.parse().expect("a number of workers");
        let name = format!("{}{}", variable("PITON_UNIT"), variable("PITON_STEP")).replace(['/', ':'], "-");
        fs::create_dir_all(self.directory.join("meeting").join(name)).expect("a mark");
        let here = || fs::read_dir(self.directory.join("meeting")).expect("marks").count();
        let since = Instant::now();
        while here() < count {
            assert!(since.elapsed() < PATIENCE, "no other worker came");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Says nothing until the lead asks, when the policy says so; then does what the question says. Or never.
    pub fn is_silent(&self, answer: impl FnOnce(&str)) {
        if self.takes("hang-once") {
            self.note("hangs");
            std::thread::sleep(PATIENCE);
        }
        if !self.takes("silent-once") {
            return;
        }
        let inbox = PathBuf::from(variable("PITON_INBOX"));
        let since = Instant::now();
        while !inbox.exists() {
            assert!(since.elapsed() < PATIENCE, "the lead did not ask");
            std::thread::sleep(Duration::from_millis(5));
        }
        let question = fs::read_to_string(&inbox).unwrap_or_default();
        self.note(&format!("is asked: {question}"));
        answer(&question);
    }

    /// Types a command into a shell, where the worker stands.
    pub fn types(&self, command: &str) -> Done {
        let hints = self.directory.join("hints");
        let before = printed::read(&hints);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::null()).env("PITON_TEST_HINTS", hints);
        let output = shell.output().expect("a shell starts");
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let code = output.status.code().unwrap_or(-1);
        if code == 0 {
            commands_of(command).for_each(|words| printed::typed(&before, &words));
            note_of_prompt(command);
        }
        self.note(&format!("$ {command}\n{text}= {code}"));
        // What the command says is what the worker prints.
        self.says(&format!("$ {command}\n{text}"));
        Done { code, text }
    }

    /// Makes files, or adds a line to each.
    pub fn makes(&self, files: &[String], item: &str) {
        self.meets();
        for file in files {
            let path = Path::new(file);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).expect("a directory can be made");
            }
            let mut made = OpenOptions::new().append(true).create(true).open(path).expect("a file can be made");
            // Two agents may have steps of one name: what they make conflicts, but for those that are to arrive at once.
            let unit =
                if self.policy.iter().any(|each| each == "once") { String::new() } else { variable("PITON_UNIT") };
            writeln!(made, "made for {item} of {unit}").expect("a file can be written");
        }
        if let Some(file) = self.policy.iter().find_map(|each| each.strip_prefix("edits-"))
            && self.takes(&format!("edits-{file}"))
        {
            let text = fs::read_to_string(file).expect("it is there");
            fs::write(file, format!("# changed for {item}\n{text}")).expect("it can be written");
        }
        if self.always("own-branch") {
            self.types(&format!("git switch -q -c mine-{}", std::process::id()));
        }
        self.reaches("work");
    }

    /// Commits everything that is there.
    pub fn commits(&self, message: &str) {
        if !self.leaves_uncommitted() {
            self.types(&format!("git add -A && git commit -q -m {}", super::words::quoted(message)));
        }
    }

    /// Whether this worker forgets to commit: the first one that would.
    pub fn leaves_uncommitted(&self) -> bool {
        let mark = self.directory.join("marks/uncommitted-by");
        if self.takes("uncommitted-once") {
            fs::write(&mark, std::process::id().to_string()).expect("a mark");
        }
        fs::read_to_string(&mark).is_ok_and(|pid| pid == std::process::id().to_string())
    }

    /// Brings another branch in, and keeps both sides of what conflicts.
    pub fn merges(&self, branch: &str) {
        if self.types(&format!("git merge --no-edit {branch}")).code == 0 {
            return;
        }
        let conflicts = self.types("git diff --name-only --diff-filter=U").text;
        for file in conflicts.lines() {
            let text = fs::read_to_string(file).expect("a file with both sides");
            let is_mark =
                |line: &&str| ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| line.starts_with(mark));
            let both: String = text.lines().filter(|line| !is_mark(line)).map(|line| format!("{line}\n")).collect();
            fs::write(file, both).expect("a file can be written");
        }
        self.types("git add -A && git commit -q --no-edit");
    }
}

/// A variable of the environment; nothing when it is not set.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Notes the lines of the prompt's template that a command which worked came from.
fn note_of_prompt(command: &str) {
    let typed: Vec<String> = super::words::split(command).into_iter().map(|word| word.text).collect();
    let (unit, stage) = (variable("PITON_UNIT"), variable("PITON_STAGE"));
    let dialect = unit.split(':').next().unwrap_or_default();
    let is_asked = Path::new(&variable("PITON_INBOX")).exists();
    let prompt = PROMPT.get().map_or("", String::as_str);
    let question = std::fs::read_to_string(variable("PITON_INBOX")).unwrap_or_default();
    let commands = prompts::commands();
    let meant =
        commands.iter().filter(|command| command.is_for(dialect, &stage, is_asked) && command.is_typed_as(&typed));
    let meant = meant.filter(|command| command.is_in(prompt) || command.is_in(&question));
    meant.for_each(|command| printed::executed(&command.site));
}
