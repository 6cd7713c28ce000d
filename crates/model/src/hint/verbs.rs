//! The verbs that hints name: for each argument its form on the command line, and its name in a call of the tool.
//!
//! Tests compare this table with the real grammar (`crates/cli`) and with the schemas of the tools (`crates/server`).

use Place::{One, Rest, UnitOrPath};
use Taken::{Always, Choice, Flag, List, Never, Number, Value};

/// A verb.
#[derive(Debug, PartialEq, Eq)]
pub struct Verb {
    /// Its words on the command line: `plan mark`.
    pub words: &'static [&'static str],
    /// The tool that does the same; nothing where only a person at a terminal does it.
    pub tool: Option<&'static str>,
    /// Words without an option in front, in their order.
    pub places: &'static [Place],
    /// Options.
    pub options: &'static [(&'static str, Taken)],
    /// Whether it only reads.
    pub reads: bool,
}

/// A word without an option in front, by its name in the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One argument.
    One(&'static str),
    /// All further words, as a list.
    Rest(&'static str),
    /// A unit or a path, each with an argument of its own.
    UnitOrPath,
}

/// What an option is for the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// One value.
    Value(&'static str),
    /// One number.
    Number(&'static str),
    /// An item of a list.
    List(&'static str),
    /// True.
    Flag(&'static str),
    /// A word of an argument that has several: `mode`, `restart`.
    Choice(&'static str, &'static str),
    /// A flag whose effect the tool always has.
    Always,
    /// Something that no tool does.
    Never,
}

const UNIT: &[Place] = &[One("unit")];

/// A verb that records something.
const fn writes(words: &'static [&'static str], places: &'static [Place], options: &'static [(&str, Taken)]) -> Verb {
    Verb { words, tool: Some(words[0]), places, options, reads: false }
}

/// A verb that only reads.
const fn reads(words: &'static [&'static str], places: &'static [Place], options: &'static [(&str, Taken)]) -> Verb {
    Verb { reads: true, ..writes(words, places, options) }
}

/// A verb without a tool: it is for a person.
const fn person(verb: Verb) -> Verb {
    Verb { tool: None, ..verb }
}

macro_rules! verbs {
    ($($(#[$about:meta])* $name:ident = $verb:expr;)*) => {
        $($(#[$about])* pub static $name: Verb = $verb;)*

        /// All verbs.
        pub static VERBS: &[&Verb] = &[$(&$name),*];
    };
}

verbs! {
    /// Lets a run use commands, or continue after a phase.
    APPROVE = person(writes(&["approve"], &[Rest("wanted")], &[("--commands", Never), ("--denied", Never)]));
    /// Records a sign of life.
    BEAT = writes(&["beat"], UNIT, &[]);
    /// Records a blocker.
    BLOCK = writes(&["block"], UNIT, &[("--message", Value("message"))]);
    /// Compares documents with the rules.
    CHECK = reads(&["check"], &[UnitOrPath], &[]);
    /// Makes an example workspace and runs it.
    DEMO = person(writes(&["demo"], &[One("directory")], &[]));
    /// Diagnoses disk, hooks and clients.
    DOCTOR = person(reads(&["doctor"], &[], &[]));
    /// Completes a unit.
    FINISH = writes(&["finish"], UNIT, &[]);
    /// Records the result of gates and criteria.
    GATE = writes(&["gate"], &[One("unit"), One("verdict"), Rest("names")], &[("--step", Value("step"))]);
    /// Runs the command of a gate.
    GATE_RUN = person(writes(&["gate"], &[One("unit"), One("verdict"), Rest("names")], &[("--approve", Never)]));
    /// Lists the messages to an agent.
    INBOX = reads(&["inbox"], &[One("agent")], &[("--from", Value("from"))]);
    /// Marks a message to an agent as read.
    INBOX_READ = person(writes(&["inbox"], &[One("agent")], &[("--read", Never), ("--from", Never)]));
    /// Connects the clients of a repository with Piton.
    INIT = person(writes(&["init"], &[], &[]));
    /// Lists the events of a unit.
    LOG = reads(&["log"], UNIT, &[]);
    /// Serves MCP.
    MCP = person(reads(&["mcp"], &[], &[("--http", Never)]));
    /// Prints what a worker printed.
    OUTPUT = person(reads(&["output"], &[One("unit"), One("step")], &[]));
    /// Pauses a unit.
    PAUSE = writes(&["pause"], UNIT, &[("--reason", Value("reason"))]);
    /// Gives ids to the boxes of a plan.
    PLAN_MARK = Verb { tool: Some("mark_plan"), ..writes(&["plan", "mark"], UNIT, &[]) };
    /// Opens a complete unit again.
    REOPEN = writes(&["reopen"], UNIT, &[]);
    /// Brings documents back into order.
    REPAIR = writes(&["repair"], UNIT, &[]);
    /// Begins a unit again from nothing.
    RESTART = writes(&["restart"], UNIT, &[("--force", Flag("force"))]);
    /// Continues a unit.
    RESUME = writes(&["resume"], UNIT, &[
        ("--force", Flag("force")),
        ("--restart", Choice("mode", "restart")),
        ("--continue", Choice("mode", "continue")),
        ("--fixed", Choice("mode", "fixed")),
    ]);
    /// Runs units with a fleet of workers.
    RUN = person(writes(&["run"], &[Rest("wanted")], &[("--yes", Never), ("--retry", Never)]));
    /// Prints the shape of a document.
    SCHEMA = person(reads(&["schema"], &[One("dialect")], &[]));
    /// Enters a stage or phase.
    STAGE = writes(&["stage"], &[One("unit"), One("stage")], &[]);
    /// Starts a unit.
    START = writes(&["start"], UNIT, &[
        ("--title", Value("title")),
        ("--spec", Value("spec")),
        ("--step", List("steps")),
        ("--gate", List("gates")),
        ("--total", Number("total")),
        ("--feature", Value("feature")),
        ("--stage", Value("stage")),
    ]);
    /// Shows units.
    STATUS = reads(&["status"], UNIT, &[("--all", Always)]);
    /// Begins, completes, fails or skips steps.
    STEP = writes(&["step"], &[One("unit"), One("deed"), Rest("steps")], &[
        ("--title", Value("title")),
        ("--description", Value("description")),
        ("--message", Value("message")),
        ("--by", Value("by")),
    ]);
    /// Asks the lead to end.
    STOP = person(writes(&["stop"], &[], &[("--workers", Never)]));
    /// Gives a unit to another agent.
    TAKEOVER = writes(&["takeover"], UNIT, &[("--as", Value("agent")), ("--force", Flag("force"))]);
    /// Records that a blocker is gone.
    UNBLOCK = writes(&["unblock"], UNIT, &[("--message", Value("message"))]);
    /// Records a verdict or a score.
    VERDICT = writes(&["verdict"], &[One("unit"), One("word")], &[
        ("--score", Number("score")),
        ("--reason", Value("reason")),
        ("--issues", Value("issues")),
        ("--p0", Number("p0")),
        ("--p1", Number("p1")),
    ]);
    /// Explains how a unit was judged.
    WHY = reads(&["why"], UNIT, &[]);
    /// Brings a worktree back.
    WORKTREES_RESTORE = person(writes(&["worktrees", "restore"], &[One("name")], &[]));
}
