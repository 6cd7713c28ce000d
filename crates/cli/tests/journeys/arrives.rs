//! Work arrives: a user types `piton run`, and at the end everything is done, on `main`, and every door says so.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works;

crate::with_both! {
    fn stories(who) {
        let ground = works::STORIES.ground(who);
        has_arrived(&ground, &works::STORIES, ground.run("--yes").end());
    }

    fn a_plan(who) {
        let ground = works::PLAN.ground(who);
        has_arrived(&ground, &works::PLAN, ground.run("plan:260301-0900-hut --yes").end());
    }

    fn a_build(who) {
        let ground = works::BUILD.ground(who);
        has_arrived(&ground, &works::BUILD, ground.run("docs/EXECUTION-SPEC-PRD-031.md --yes").end());
    }

    fn tasks(who) {
        let ground = works::TASKS.ground(who);
        has_arrived(&ground, &works::TASKS, ground.run("tasks.toml --yes").end());
    }

    fn a_crew(who) {
        let ground = works::CREW.ground(who);
        has_arrived(&ground, &works::CREW, ground.run("crew.toml --yes").end());
    }
}

/// A task whose criteria no command judges is finished by its worker, as its prompt says.
#[test]
fn a_task_without_gates_is_finished_by_its_worker() {
    let ground = works::TASKS.ground(Who::Obedient);
    ground.sets_up("");
    ground.commit("no gates");
    ground.run("tasks.toml --yes").end().exits(0, &ground);
    for unit in works::TASKS.units {
        let status = ground.reads(&format!("status {unit}"));
        assert_eq!(status["units"][0]["lifecycle"], "done", "{status}");
    }
}
