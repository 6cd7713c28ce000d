//! What gates may do besides passing and failing: be broken, write files, be changed by the work that they judge.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::ground::Ground;
use crate::verdicts::goes_on;
use crate::works::Work;

fn story(ground: &Ground, gate: &str) {
    ground.sets_up(&format!(
        "[gates]\nlook = {gate:?}\n[[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet\"\ntext = \"Make the file greeting.txt.\"\n"
    ));
    ground.write("look.sh", "exit 0\n");
}

const BROKEN: Work =
    Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| story(ground, "no-such-program --all"));
const WRITES: Work = Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| {
    story(ground, "echo made by the gate > gate.log && echo more >> README.md");
});
const SCRIPTED: Work = Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| story(ground, "sh look.sh"));

const SCRIPTED_TASK: Work = Work::new("tasks.toml", &["task:copy/T01"], &[], |ground| {
    story(ground, "sh look.sh");
    ground.write(
        "tasks.toml",
        "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\ntitle = \"Describe\"\nsubtasks = [\"one\"]\nacceptance_criteria = [\"look\"]\n",
    );
});
const SCRIPTED_CREW: Work = Work::new("crew.toml", &["crew:Agent-Primary"], &[], |ground| {
    story(ground, "sh look.sh");
    ground.write(
        "crew.toml",
        "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_form\"\ntype = \"primary\"\n",
    );
});

/// Passes when the file has five lines: the first worker's and one of each rework.
const FIVE: &str = "test $(wc -l < greeting.txt) -ge 5";
const FIVE_TIMES: Work = Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| story(ground, FIVE));
const FIVE_TIMES_BUILT: Work = Work::new(
    "docs/EXECUTION-SPEC-PRD-037.md",
    &["build:PRD-037"],
    &["greeting.txt"],
    |ground| {
        ground.write(
        "docs/EXECUTION-SPEC-PRD-037.md",
        &format!(
            "---\nprd: PRD-037\nprd_title: A greeting\nworkstreams:\n  WS1:\n    name: All\n    outputs: [greeting.txt]\n    \
             gate: five\nexecution_phases:\n  - name: All\n    parallel: [WS1]\n    gates: [five]\ngates:\n  five:\n    \
             command: {FIVE:?}\n---\n# A greeting\n"
        ),
    );
    },
);

fn is_reworked_four_times(work: &Work, who: crate::workers::Who) {
    let ground = work.ground_with(who, "reworks = 4\n");
    has_arrived(&ground, work, ground.run(&format!("{} --yes", work.named)).end());
    let lines = ground.git("show main:greeting.txt");
    assert!(lines.lines().count() >= 5, "{lines}");
}

fn waits_for_a_person(work: &Work, who: crate::workers::Who) {
    let ground = work.ground(who);
    ground.policy(who, "edits-look.sh");
    let ended = ground.run(&format!("{} --yes", work.named)).end().exits(4, &ground);
    let before = ground.git("show main:look.sh");
    assert_eq!(before, "exit 0\n", "it is not on main before a person approved\n{ended}");
    assert!(ended.said().contains("look.sh"), "the file is named\n{ended}");
    has_arrived(&ground, work, goes_on(&ground, &ended, Situation::default()));
    assert_ne!(ground.git("show main:look.sh"), before, "a person approved it");
}

crate::with_both! {
    fn a_broken_gate_judges_no_work(who) {
        let ground = BROKEN.ground(who);
        let ended = ground.run("--yes").end().exits(4, &ground);
        assert!(ended.said().contains("no-such-program"), "{ended}");
        let workers = ground.prompts().len();
        assert_eq!(workers, 4, "no worker can mend a gate that does not run\n{}", ground.story());
        story(&ground, "true");
        ground.commit("a gate that runs");
        ground.types("piton approve").succeeds();
        has_arrived(&ground, &BROKEN, goes_on(&ground, &ended, Situation::default()));
        assert_eq!(ground.prompts().len(), workers, "only the gate was missing\n{}", ground.story());
    }

    fn a_gate_that_writes_files_is_no_obstacle(who) {
        let ground = WRITES.ground(who);
        has_arrived(&ground, &WRITES, ground.run("--yes").end());
        assert!(!ground.git("ls-tree -r --name-only main").contains("gate.log"), "what a gate writes is not merged");
        assert_eq!(ground.git("show main:README.md"), "A workshop.\n");
    }

    fn four_reworks_are_four_reworks_of_a_story(who) {
        is_reworked_four_times(&FIVE_TIMES, who);
    }

    fn four_reworks_are_four_reworks_of_a_build(who) {
        is_reworked_four_times(&FIVE_TIMES_BUILT, who);
    }

    fn work_that_changes_its_own_gate_waits_for_a_person(who) {
        waits_for_a_person(&SCRIPTED, who);
    }

    fn a_task_that_changes_its_own_gate_waits_for_a_person(who) {
        waits_for_a_person(&SCRIPTED_TASK, who);
    }

    fn an_agent_that_changes_its_own_gate_waits_for_a_person(who) {
        waits_for_a_person(&SCRIPTED_CREW, who);
    }
}
