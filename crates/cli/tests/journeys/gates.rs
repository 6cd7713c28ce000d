//! A gate fails. The worker starts again with the command and what it printed; when that does not help the work is
//! paused with a way out, and nothing that failed is on `main`.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::ground::Ground;
use crate::verdicts::goes_on;
use crate::workers::Who;
use crate::works::Work;

/// Says what it misses; its command does not.
const ASKS: &str = "sh look.sh";

/// The worker cannot make it pass. What it prints stands in no prompt but that of a rework.
const NEVER: &str = "sh wet.sh";

/// The scripts of the gates.
fn look(ground: &Ground) {
    ground.write("wet.sh", "echo 'the paint is wet'\nexit 1\n");
    ground.write("look.sh", "test -f sign.txt && exit 0\necho 'create the file sign.txt'\nexit 1\n");
}

fn stories(ground: &Ground, gate: &str) {
    look(ground);
    ground.sets_up(&format!(
        "[gates]\nsign = {gate:?}\n[[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet\"\ntext = \"Make the file greeting.txt.\"\n"
    ));
}

fn build(ground: &Ground, gate: &str) {
    look(ground);
    ground.write(
        "docs/EXECUTION-SPEC-PRD-033.md",
        &format!(
            "---\nprd: PRD-033\nprd_title: A shed\nworkstreams:\n  WS1:\n    name: All\n    outputs: [shed.txt]\n    gate: sign\n\
             execution_phases:\n  - name: All\n    parallel: [WS1]\n    gates: [sign]\ngates:\n  sign:\n    command: {gate:?}\n\
             ---\n# A shed\n"
        ),
    );
}

fn plan(ground: &Ground, gate: &str) {
    look(ground);
    ground.sets_up(&format!("[gates]\nsign = {gate:?}\n"));
    ground.write(
        "plans/260303-0900-sign/plan.md",
        "# A sign\n\n## All\n<!-- CHECKPOINT: all -->\n- [ ] Cut the board <!-- TASK: cut -->\n\
         - [ ] It says where <!-- ACCEPT: sign -->\n",
    );
}

fn task(ground: &Ground, gate: &str) {
    look(ground);
    ground.sets_up(&format!("[gates]\nsign = {gate:?}\n"));
    ground.write(
        "tasks.toml",
        "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\ntitle = \"Describe the sign\"\nsubtasks = [\"one\"]\n\
         acceptance_criteria = [\"sign\"]\n",
    );
}

fn crew(ground: &Ground, gate: &str) {
    look(ground);
    ground.sets_up(&format!("[gates]\nsign = {gate:?}\n"));
    ground.write(
        "crew.toml",
        "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_sign\"\ntype = \"primary\"\n",
    );
}

const STORIES: Work = Work::new("", &["pipeline:PROJ-1"], &[], |ground| stories(ground, ASKS));
const BUILD: Work = Work::new("docs/EXECUTION-SPEC-PRD-033.md", &["build:PRD-033"], &[], |ground| build(ground, ASKS));
const PLAN: Work = Work::new("plan:260303-0900-sign", &["plan:260303-0900-sign"], &[], |ground| plan(ground, ASKS));
const TASK: Work = Work::new("tasks.toml", &["task:copy/T01"], &[], |ground| task(ground, ASKS));
const CREW: Work = Work::new("crew.toml", &["crew:Agent-Primary"], &[], |ground| crew(ground, ASKS));

const WET_STORIES: Work = Work::new("", &["pipeline:PROJ-1"], &[], |ground| stories(ground, NEVER));
const WET_BUILD: Work =
    Work::new("docs/EXECUTION-SPEC-PRD-033.md", &["build:PRD-033"], &[], |ground| build(ground, NEVER));
const WET_PLAN: Work =
    Work::new("plan:260303-0900-sign", &["plan:260303-0900-sign"], &[], |ground| plan(ground, NEVER));
const WET_TASK: Work = Work::new("tasks.toml", &["task:copy/T01"], &[], |ground| task(ground, NEVER));
const WET_CREW: Work = Work::new("crew.toml", &["crew:Agent-Primary"], &[], |ground| crew(ground, NEVER));

fn passes_after_a_rework(work: &Work, who: Who) {
    let ground = work.ground(who);
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    has_arrived(&ground, work, ended);
    assert!(ground.git("ls-tree --name-only main").contains("sign.txt"), "{}", ground.story());
    let told =
        |(_, prompt): &(String, String)| prompt.contains("create the file sign.txt") && prompt.contains("sh look.sh");
    assert!(ground.prompts().iter().any(told), "a worker got the command and what it printed\n{}", ground.story());
}

fn pauses_with_a_way_out(work: &Work, who: Who, mend: fn(&Ground, &str)) {
    let ground = work.ground_with(who, "reworks = 1\n");
    let before = ground.git("rev-parse main");
    let ended = ground.run(&format!("{} --yes", work.named)).end().exits(4, &ground);
    assert_eq!(ground.git("rev-parse main"), before, "what failed its gate is not on main\n{ended}");
    let why = ground.types(&format!("piton why {}", work.units[0])).succeeds();
    assert!(why.stdout.contains("the paint is wet"), "{why}\n{ended}");
    // Stage 3 of a story is told why the last review failed; it is no rework.
    let is_rework = |(name, prompt): &&(String, String)| !name.contains(" 3 ") && prompt.contains("the paint is wet");
    let workers = ground.prompts().iter().filter(is_rework).count();
    assert_eq!(workers, 1, "reworks = 1 grants one rework\n{}", ground.story());
    // The user mends the gate, and types what the run said.
    mend(&ground, "true");
    ground.commit("the paint is dry");
    let situation = Situation { text: "it is dry", ..Situation::default() };
    ground.types(&format!("piton approve --commands{}", work.arguments())).succeeds();
    has_arrived(&ground, work, goes_on(&ground, &ended, situation));
}

crate::with_both! {
    fn of_a_story_passes_after_a_rework(who) {
        passes_after_a_rework(&STORIES, who);
    }

    fn of_a_build_passes_after_a_rework(who) {
        passes_after_a_rework(&BUILD, who);
    }

    fn of_a_plan_passes_after_a_rework(who) {
        passes_after_a_rework(&PLAN, who);
    }

    fn of_a_task_passes_after_a_rework(who) {
        passes_after_a_rework(&TASK, who);
    }

    fn of_a_crew_passes_after_a_rework(who) {
        passes_after_a_rework(&CREW, who);
    }

    fn of_a_story_never_passes(who) {
        pauses_with_a_way_out(&WET_STORIES, who, stories);
    }

    fn of_a_build_never_passes(who) {
        pauses_with_a_way_out(&WET_BUILD, who, build);
    }

    fn of_a_plan_never_passes(who) {
        pauses_with_a_way_out(&WET_PLAN, who, plan);
    }

    fn of_a_task_never_passes(who) {
        pauses_with_a_way_out(&WET_TASK, who, task);
    }

    fn of_a_crew_never_passes(who) {
        pauses_with_a_way_out(&WET_CREW, who, crew);
    }
}
