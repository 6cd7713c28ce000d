//! The work of a walk: a small workspace in one of the dialects, made at random, and what has to be there at its end.

use crate::dice::Dice;
use crate::ground::Ground;

/// What one worker makes.
#[derive(Debug, Clone)]
pub struct Step {
    pub unit: String,
    /// The name of the step in the ledger: `S-1.2`, `dig`, `WS1`, `T1`.
    pub key: String,
    /// The files that the step makes.
    pub files: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Work {
    pub dialect: &'static str,
    /// What is typed behind `piton run`.
    pub named: String,
    pub units: Vec<String>,
    pub steps: Vec<Step>,
    /// Commands that have to pass on `main`.
    pub gates: Vec<String>,
    /// Names of criteria and gates that the user could judge.
    pub criteria: Vec<String>,
    /// The sections of `piton.toml` behind the settings.
    pub sections: String,
}

/// Fails until a worker that was told to has signed.
const SIGNED: &str = "sh look.sh";

/// Fails until the user has repaired it.
const REPAIRED: &str = "sh broken.sh";

pub const PLAN: &str = "plans/260301-0900-hut/plan.md";
pub const SPEC: &str = "docs/EXECUTION-SPEC-PRD-031.md";

/// Writes and commits the work.
pub fn lay(ground: &Ground, dice: &mut Dice, dialect: &'static str) -> Work {
    ground.types("git init -q");
    ground.write("README.md", "A workshop.\n");
    ground.write("shared.txt", "base\n");
    ground.write("look.sh", "test -f sign.txt && exit 0\necho 'create the file sign.txt'\nexit 1\n");
    ground.write("broken.sh", "echo 'the belt is torn'\nexit 1\n");
    let ignored = ".piton/\n.worktrees/\n.pipeline/\n.claude/\nprogress/\nagent_checkpoints/\n.checkpoint/\n";
    ground.write(".gitignore", ignored);
    let gate = gate(dice);
    let work = match dialect {
        "pipeline" => stories(dice, gate),
        "plan" => plan(ground, dice, gate),
        "build" => build(ground, dice, gate),
        "task" => tasks(ground, dice, gate),
        _ => crew(ground, dice, gate),
    };
    let run = format!(
        "[run]\nheartbeat = 1\npatience = 60\nanswer = 10\nlinger = 2\ngrace = 0.3\nstagger = 0\nworkers = {}\n\
         respawn = {}\nreworks = {}\n",
        1 + dice.below(3),
        dice.below(3),
        1 + dice.below(2)
    );
    let worker = format!("[worker]\nadapter = \"command\"\ncommand = [{:?}]\n", ground.outer("worker"));
    ground.write("piton.toml", &format!("{run}{worker}{}", work.sections));
    ground.types("git add -A && git commit -q -m begin");
    work
}

/// The command of the gate that this work has, if any.
fn gate(dice: &mut Dice) -> Option<&'static str> {
    dice.pick(&[None, None, Some("true"), Some(SIGNED), Some(SIGNED), Some(REPAIRED)])
}

fn gates_table(gate: Option<&str>) -> String {
    gate.map_or_else(String::new, |command| format!("[gates]\nsign = {command:?}\n"))
}

/// A story for the list, and what its workers make.
pub fn story(id: &str, after: &[&str], has_stages: bool) -> (String, Vec<Step>) {
    let stages = if has_stages { "" } else { "stages = [2, 3]\n" };
    let text = format!("[[stories]]\nid = {id:?}\ntitle = \"Story {id}\"\ndepends_on = {after:?}\n{stages}");
    let files = if has_stages { vec![format!("{id}-a.txt"), format!("{id}-b.txt")] } else { vec![format!("{id}.txt")] };
    let step = |stage: u8| Step {
        unit: format!("pipeline:{id}"),
        key: format!("{id}.{stage}"),
        files: if stage == 2 { files.clone() } else { Vec::new() },
    };
    (text, (if has_stages { 0 } else { 2 }..4).map(step).collect())
}

fn stories(dice: &mut Dice, gate: Option<&str>) -> Work {
    let mut work = Work { dialect: "pipeline", sections: gates_table(gate), ..Work::default() };
    work.gates.extend(gate.map(str::to_owned));
    for at in 1..=2 + dice.below(2) {
        let before = format!("S-{}", at - 1);
        let after: &[&str] = if at > 1 && dice.one_in(2) { &[&before] } else { &[] };
        let (text, steps) = story(&format!("S-{at}"), after, dice.one_in(3));
        work.sections += &text;
        work.units.push(format!("pipeline:S-{at}"));
        work.steps.extend(steps);
    }
    work
}

fn plan(ground: &Ground, dice: &mut Dice, gate: Option<&str>) -> Work {
    let unit = "plan:260301-0900-hut".to_owned();
    let mut work = Work { dialect: "plan", named: unit.clone(), units: vec![unit.clone()], ..Work::default() };
    let mut text = "# A hut\n\nIt stands in the garden.\n".to_owned();
    let phases = 2 + dice.below(2);
    let gated = dice.below(phases);
    for phase in 0..phases {
        text += &format!("\n## Phase {phase}\n<!-- CHECKPOINT: phase-{phase} -->\n");
        for task in 0..1 + dice.below(2) {
            let key = format!("t{phase}{task}");
            text += &format!("- [ ] Make {key} <!-- TASK: {key} -->\n");
            work.steps.push(Step { unit: unit.clone(), files: vec![format!("{key}.txt")], key });
        }
        if phase == gated && gate.is_some() {
            text += "- [ ] It is signed <!-- ACCEPT: sign -->\n";
            work.criteria.push("sign".to_owned());
        }
        if dice.one_in(5) {
            let name = format!("nice{phase}");
            text += &format!("- [ ] It is nice <!-- ACCEPT: {name} -->\n");
            work.criteria.push(name);
        }
    }
    work.gates.extend(gate.map(str::to_owned));
    work.sections = gates_table(gate);
    ground.write(PLAN, &text);
    work
}

fn build(ground: &Ground, dice: &mut Dice, gate: Option<&str>) -> Work {
    let unit = "build:PRD-031".to_owned();
    let mut work = Work { dialect: "build", named: SPEC.to_owned(), units: vec![unit.clone()], ..Work::default() };
    let (mut streams, mut phases, mut gates) = (String::new(), String::new(), String::new());
    let count = 2 + dice.below(2);
    let gated = dice.below(count);
    for phase in 0..count {
        let keys: Vec<String> = (0..=dice.below(2)).map(|at| format!("WS{phase}{at}")).collect();
        for key in &keys {
            streams += &format!("  {key}:\n    name: Make {key}\n    outputs: [{key}.txt]\n");
            work.steps.push(Step { unit: unit.clone(), key: key.clone(), files: vec![format!("{key}.txt")] });
        }
        let names =
            if phase == gated && gate.is_some() { format!("sign, there{phase}") } else { format!("there{phase}") };
        phases += &format!("  - name: Phase {phase}\n    parallel: [{}]\n    gates: [{names}]\n", keys.join(", "));
        gates += &format!("  there{phase}:\n    command: ls | grep -q {}\n", keys[0]);
        work.gates.push(format!("ls | grep -q {}", keys[0]));
    }
    if let Some(command) = gate {
        gates += &format!("  sign:\n    command: {command}\n");
        work.gates.push(command.to_owned());
    }
    let text = format!(
        "---\nprd: PRD-031\nprd_title: A shed\nworkstreams:\n{streams}execution_phases:\n{phases}gates:\n{gates}---\n# A shed\n"
    );
    ground.write(SPEC, &text);
    work
}

fn tasks(ground: &Ground, dice: &mut Dice, gate: Option<&str>) -> Work {
    let mut work = Work { dialect: "task", named: "tasks.toml".to_owned(), ..Work::default() };
    let mut text = String::new();
    for at in 1..=2 + dice.below(2) {
        let after = if at > 1 && dice.one_in(2) { format!("\"T{}\"", at - 1) } else { String::new() };
        let criteria = if gate.is_some() { "\"sign\", \"nice\"" } else { "\"nice\"" };
        text += &format!(
            "[[tasks]]\nagent = \"copy\"\nid = \"T{at}\"\ntitle = \"Task {at}\"\nsubtasks = [\"one\", \"two\"]\n\
             acceptance_criteria = [{criteria}]\ndepends_on = [{after}]\n"
        );
        let unit = format!("task:copy/T{at}");
        let files = vec![format!("T{at}-one.txt"), format!("T{at}-two.txt")];
        work.steps.push(Step { unit: unit.clone(), key: format!("T{at}"), files });
        work.units.push(unit);
    }
    work.criteria = vec!["sign".to_owned(), "nice".to_owned()];
    work.gates.extend(gate.map(str::to_owned));
    work.sections = gates_table(gate);
    ground.write("tasks.toml", &text);
    work
}

fn crew(ground: &Ground, dice: &mut Dice, gate: Option<&str>) -> Work {
    let mut work = Work { dialect: "crew", named: "crew.toml".to_owned(), ..Work::default() };
    let mut text = String::new();
    let agents = [("Agent-Primary", "primary", 1), ("Secondary-A", "secondary", 1), ("Secondary-B", "secondary", 2)];
    for (name, kind, wave) in agents.into_iter().take(2 + dice.below(2)) {
        text += &format!(
            "[[agents]]\nagent = {name:?}\nfeature = \"feature_{}\"\ntype = {kind:?}\nwave = {wave}\n",
            name.to_lowercase()
        );
        let unit = format!("crew:{name}");
        work.steps.push(Step { unit: unit.clone(), key: name.to_owned(), files: vec![format!("{name}.txt")] });
        work.units.push(unit);
    }
    work.gates.extend(gate.map(str::to_owned));
    work.sections = gates_table(gate);
    ground.write("crew.toml", &text);
    work
}
