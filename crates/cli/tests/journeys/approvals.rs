//! A person approves: the repository's commands once, and each phase of a build. Neither implies the other, and what
//! the run prints is all that has to be typed.

use crate::facts::has_arrived;
use crate::follow::{Situation, offered};
use crate::ground::Ground;
use crate::lead::{Ended, Lead};
use crate::works::{self, BUILD, Work};

/// Runs without `--yes`, types what is offered, and counts how often a phase waited.
fn approved(ground: &Ground, work: &Work) -> (Ended, usize) {
    let first = ground.run(work.named).end().exits(4, ground);
    // The other way that is offered does without asking at all.
    let approve: Vec<String> =
        offered(&first.stderr).into_iter().filter(|line| line.starts_with("piton approve")).collect();
    assert_eq!(approve.len(), 1, "{first}");
    ground.follows(&approve, Situation::default());
    let mut command = format!("piton run {}", work.named);
    for waited in 0..20 {
        let ended = Lead::start(ground, &command).end();
        if ended.code == Some(0) {
            return (ended, waited);
        }
        let ended = ended.exits(4, ground);
        assert!(ended.told("approval"), "{ended}\n{}", ground.story());
        let mut next = ended.next();
        command = next.pop().expect("a command");
        ground.follows(&next, Situation::default());
    }
    panic!("twenty approvals did not do\n{}", ground.story());
}

crate::with_both! {
    fn each_phase_of_a_build(who) {
        let ground = BUILD.ground(who);
        let (ended, waited) = approved(&ground, &BUILD);
        // Three phases: a person looks after the first and after the second. The last one ends the build.
        assert_eq!(waited, 2, "{}", ground.story());
        has_arrived(&ground, &BUILD, ended);
    }

    fn the_commands_of_stories(who) {
        let ground = works::STORIES.ground(who);
        let (ended, waited) = approved(&ground, &works::STORIES);
        assert_eq!(waited, 0);
        has_arrived(&ground, &works::STORIES, ended);
    }

    fn the_commands_of_a_plan(who) {
        let ground = works::PLAN.ground(who);
        let (ended, _) = approved(&ground, &works::PLAN);
        has_arrived(&ground, &works::PLAN, ended);
    }

    fn the_commands_of_tasks(who) {
        let ground = works::TASKS.ground(who);
        let (ended, waited) = approved(&ground, &works::TASKS);
        assert_eq!(waited, 0);
        has_arrived(&ground, &works::TASKS, ended);
    }

    fn the_commands_of_a_crew(who) {
        let ground = works::CREW.ground(who);
        let (ended, waited) = approved(&ground, &works::CREW);
        assert_eq!(waited, 0);
        has_arrived(&ground, &works::CREW, ended);
    }

    fn a_review_that_ships_with_gates_waits_before_work_begins(who) {
        let ground = BUILD.ground(who);
        ground.types("piton start build:PRD-031 --spec docs/EXECUTION-SPEC-PRD-031.md").succeeds();
        ground.types("piton verdict build:PRD-031 ship_with_gates --p0 0 --p1 2").succeeds();
        ground.types("piton approve docs/EXECUTION-SPEC-PRD-031.md").succeeds();
        let ended = ground.run(BUILD.named).end().exits(4, &ground);
        assert!(ground.prompts().is_empty(), "no worker starts before a person approved\n{ended}");
        let mut next = ended.next();
        let command = next.pop().expect("a command");
        ground.follows(&next, Situation::default());
        let ended = Lead::start(&ground, &format!("{command} --yes")).end();
        has_arrived(&ground, &BUILD, ended);
    }

    fn a_review_that_says_no_is_overridden_with_a_reason(who) {
        let ground = BUILD.ground(who);
        ground.types("piton start build:PRD-031 --spec docs/EXECUTION-SPEC-PRD-031.md").succeeds();
        ground.types("piton verdict build:PRD-031 do_not_ship --p0 1 --p1 0").succeeds();
        ground.types("piton approve docs/EXECUTION-SPEC-PRD-031.md").succeeds();
        let ended = ground.run(&format!("{} --yes", BUILD.named)).end().exits(4, &ground);
        assert!(ground.prompts().is_empty(), "no worker starts on what must not ship\n{ended}");
        let offered: Vec<String> = offered(&ended.said());
        let overriding = offered.iter().find(|command| command.contains("overridden"));
        let overriding = overriding.unwrap_or_else(|| panic!("no way out is offered: {offered:?}\n{ended}"));
        let situation = Situation { text: "the finding is wrong", ..Situation::default() };
        ground.follows(std::slice::from_ref(overriding), situation);
        has_arrived(&ground, &BUILD, ground.run(&format!("{} --yes", BUILD.named)).end());
    }
}
