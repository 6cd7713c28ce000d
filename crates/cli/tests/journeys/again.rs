//! Work that comes again: a build that is restarted, a story whose id is used once more. What an earlier run remembered
//! is history, and everything is done anew.

use crate::facts::has_arrived;
use crate::works::{self, BUILD, STORIES, Work};

crate::with_both! {
    fn a_build_that_is_restarted_is_built_again(who) {
        let ground = BUILD.ground(who);
        has_arrived(&ground, &BUILD, ground.run(&format!("{} --yes", BUILD.named)).end());
        let first = ground.prompts().len();
        assert_eq!(first, 4, "{}", ground.story());
        ground.types("piton restart build:PRD-031").succeeds();
        // Approvals of phases were given to the build that was.
        let ended = ground.run("build:PRD-031").end().exits(4, &ground);
        assert!(ended.told("approval"), "{ended}\n{}", ground.story());
        assert_eq!(ground.prompts().len(), first + 1, "the first phase was built again\n{ended}\n{}", ground.story());
        has_arrived(&ground, &BUILD, ground.run("build:PRD-031 --yes").end());
        assert_eq!(ground.prompts().len(), 2 * first, "{}", ground.story());
        let log = ground.reads("log build:PRD-031").to_string();
        assert_eq!(log.matches("grep -q roof").count(), 2, "each gate was run again: {log}");
    }

    fn a_story_id_that_comes_again_goes_through_all_stages(who) {
        let ground = STORIES.ground(who);
        has_arrived(&ground, &STORIES, ground.run("--yes").end());
        let first = ground.prompts().len();
        ground.types("mv .pipeline .pipeline-first").succeeds();
        ground.sets_up(
            "[[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet louder\"\ntext = \"Make the file loud.txt.\"\n",
        );
        ground.commit("another board");
        let work = Work { units: &["pipeline:PROJ-1"], files: &["greeting.txt", "farewell.txt", "loud.txt"], ..works::STORIES };
        has_arrived(&ground, &work, ground.run("--yes").end());
        let stages: Vec<String> = ground.prompts()[first..].iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(stages.len(), 4, "every stage has a worker: {stages:?}\n{}", ground.story());
        for (stage, name) in stages.iter().enumerate() {
            assert!(name.contains(&format!("pipeline-PROJ-1 {stage}")), "{stages:?}");
        }
    }
}
