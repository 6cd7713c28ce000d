//! Two branches pass their gate alone and fail together. That never ends in "done", and `main` always passes.

use crate::ground::Ground;
use crate::workers::Who;
use crate::works::Work;

const GATE: &str = "! { test -f salt.txt && test -f sugar.txt; }";

const STORIES: Work = Work::new("", &["pipeline:PROJ-1", "pipeline:PROJ-2"], &[], |ground| {
    ground.sets_up(&format!(
        "[gates]\ntaste = {GATE:?}\n\
         [[stories]]\nid = \"PROJ-1\"\ntitle = \"Salt\"\ntext = \"Make the file salt.txt.\"\n\
         [[stories]]\nid = \"PROJ-2\"\ntitle = \"Sugar\"\ntext = \"Make the file sugar.txt.\"\n"
    ));
});

const BUILD: Work = Work::new("docs/EXECUTION-SPEC-PRD-034.md", &["build:PRD-034"], &[], |ground| {
    ground.write(
        "docs/EXECUTION-SPEC-PRD-034.md",
        &format!(
            "---\nprd: PRD-034\nprd_title: A soup\nworkstreams:\n  WS1:\n    name: Salt\n    outputs: [salt.txt]\n    gate: taste\n  \
             WS2:\n    name: Sugar\n    outputs: [sugar.txt]\n    gate: taste\nexecution_phases:\n  - name: All\n    \
             parallel: [WS1, WS2]\n    gates: [taste]\ngates:\n  taste:\n    command: {GATE:?}\n---\n# A soup\n"
        ),
    );
});

const PLAN: Work = Work::new("plan:260304-0900-soup", &["plan:260304-0900-soup"], &[], |ground| {
    ground.sets_up(&format!("[gates]\ntaste = {GATE:?}\n"));
    ground.write(
        "plans/260304-0900-soup/plan.md",
        "# A soup\n\n## All\n<!-- CHECKPOINT: all -->\n- [ ] Add it <!-- TASK: salt -->\n- [ ] Sweeten it <!-- TASK: sugar -->\n\
         - [ ] It tastes <!-- ACCEPT: taste -->\n",
    );
});

fn passes_on_main(ground: &Ground) -> bool {
    let copy = ground.outer("copy");
    ground.git(&format!("clone -q . {}", copy.display()));
    let typed = ground.types(&format!("cd {} && {GATE}", copy.display()));
    std::fs::remove_dir_all(copy).expect("it can be removed");
    typed.code == Some(0)
}

fn never_done(work: &Work, who: Who) {
    let ground = work.ground_with(who, "reworks = 1\n");
    ground.policy(who, "meet-2");
    let ended = ground.run(&format!("{} --yes", work.named)).end().exits(4, &ground);
    assert_ne!(ended.outcome()["outcome"], "done", "{ended}");
    assert!(passes_on_main(&ground), "main fails its own gate\n{ended}\n{}", ground.story());
    let status = ground.reads("status");
    let is_done = |unit: &&serde_json::Value| unit["lifecycle"] == "done";
    let done = status["units"].as_array().expect("units").iter().filter(is_done).count();
    assert!(done < work.units.len(), "{status}\n{}", ground.story());
    let gates: Vec<&str> = ended
        .events
        .iter()
        .filter(|event| event["event"] == "gate")
        .filter_map(|event| event["text"].as_str())
        .collect();
    let (passed, failed) =
        (gates.iter().any(|text| text.ends_with("passed")), gates.iter().any(|text| text.contains("failed")));
    // A phase whose gate is run once for both never saw one of them alone.
    let is_alone = work.units.len() > 1;
    assert!(failed && (passed || !is_alone), "one passed alone, both failed together\n{ended}\n{}", ground.story());
    assert!(!ended.next().is_empty(), "there is a way out");
}

crate::with_both! {
    fn two_stories(who) {
        never_done(&STORIES, who);
    }

    fn two_workstreams(who) {
        never_done(&BUILD, who);
    }

    fn two_tasks_of_a_plan(who) {
        never_done(&PLAN, who);
    }
}
