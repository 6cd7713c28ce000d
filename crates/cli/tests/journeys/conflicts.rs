//! Two lanes write the same file. The second one cannot be merged; its worker starts again with the files that conflict,
//! brings both sides together, and the work arrives.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works::Work;

const STORIES: Work = Work::new("", &["pipeline:PROJ-1", "pipeline:PROJ-2"], &["greeting.txt"], |ground| {
    ground.sets_up(
        "[[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet\"\ntext = \"Make the file greeting.txt.\"\n\
             [[stories]]\nid = \"PROJ-2\"\ntitle = \"Wave\"\ntext = \"Make the file greeting.txt.\"\n",
    );
});

const BUILD: Work = Work::new("docs/EXECUTION-SPEC-PRD-032.md", &["build:PRD-032"], &["shed.txt"], |ground| {
    ground.write(
        "docs/EXECUTION-SPEC-PRD-032.md",
        "---\nprd: PRD-032\nprd_title: A shed\nworkstreams:\n  WS1:\n    name: Left\n    outputs: [shed.txt]\n  \
             WS2:\n    name: Right\n    outputs: [shed.txt]\nexecution_phases:\n  - name: All\n    \
             parallel: [WS1, WS2]\n---\n# A shed\n",
    );
});

const PLAN: Work = Work::new("plan:260302-0900-path", &["plan:260302-0900-path"], &["path.txt"], |ground| {
    ground.write(
        "plans/260302-0900-path/plan.md",
        "# A path\n\n## All\n<!-- CHECKPOINT: all -->\n- [ ] Make the file path.txt from the left <!-- TASK: left -->\n\
             - [ ] Make the file path.txt from the right <!-- TASK: right -->\n",
    );
});

const TASKS: Work = Work::new("tasks.toml", &["task:copy/T01", "task:photo/T02"], &["saddle.txt"], |ground| {
    ground.write(
        "tasks.toml",
        "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\ntitle = \"Describe\"\ntext = \"Make the file saddle.txt.\"\n\
             subtasks = [\"one\"]\n[[tasks]]\nagent = \"photo\"\nid = \"T02\"\ntitle = \"Show\"\n\
             text = \"Make the file saddle.txt.\"\nsubtasks = [\"left\"]\n",
    );
});

const CREW: Work = Work::new("crew.toml", &["crew:Agent-Primary", "crew:Secondary-A"], &[], |ground| {
    ground.write(
        "crew.toml",
        "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_form\"\ntype = \"primary\"\n\
             text = \"Make the file form.txt.\"\n[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01_form\"\n\
             type = \"secondary\"\ntext = \"Make the file form.txt.\"\n",
    );
});

fn brought_together(work: &Work, who: Who, file: &str) {
    let ground = work.ground(who);
    // Both begin before either has ended.
    ground.policy(who, "meet-2");
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    has_arrived(&ground, work, ended);
    let lines = ground.git(&format!("show main:{file}"));
    assert!(lines.lines().count() >= 2, "both sides are there: {lines}\n{}", ground.story());
    assert!(!lines.contains("<<<<<<<"), "{lines}");
    let told =
        ground.prompts().iter().any(|(_, prompt)| prompt.to_lowercase().contains("conflict") && prompt.contains(file));
    assert!(told, "a worker was told which file conflicts\n{}", ground.story());
}

crate::with_both! {
    fn of_two_stories(who) {
        brought_together(&STORIES, who, "greeting.txt");
    }

    fn of_two_workstreams(who) {
        brought_together(&BUILD, who, "shed.txt");
    }

    fn of_two_tasks_of_a_plan(who) {
        brought_together(&PLAN, who, "path.txt");
    }

    fn of_two_tasks(who) {
        brought_together(&TASKS, who, "saddle.txt");
    }

    fn of_two_agents_of_a_crew(who) {
        // The book has an agent write the pages of its feature.
        let file = match who {
            Who::Obedient => "form.txt",
            Who::ByTheBook => "feature_01_form/research-phase.md",
        };
        brought_together(&CREW, who, file);
    }
}
