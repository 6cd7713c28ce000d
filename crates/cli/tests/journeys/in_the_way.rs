//! Something of the user's is in the way of a merge. It is never touched; when it is gone, only the merge is done again.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::verdicts::goes_on;
use crate::works::STORIES;

crate::with_both! {
    fn a_file_that_the_user_did_not_commit(who) {
        let ground = STORIES.ground(who);
        ground.policy(who, "hold-work");
        let mut lead = ground.run("--yes");
        lead.worker_at("work");
        ground.write("greeting.txt", "the user's own\n");
        ground.lets_go("work");
        let ended = lead.end().exits(4, &ground);
        assert_eq!(ground.text("greeting.txt"), "the user's own\n", "{ended}");
        assert!(ended.said().contains("greeting.txt"), "the file is named\n{ended}");
        let workers = ground.prompts().len();
        ground.types("rm greeting.txt").succeeds();
        has_arrived(&ground, &STORIES, goes_on(&ground, &ended, Situation::default()));
        let again = ground.prompts().into_iter().skip(workers).filter(|(name, _)| name.contains("PROJ-1")).count();
        assert_eq!(again, 0, "only the merge was refused, so only the merge is done again\n{}", ground.story());
    }

    fn a_tag_with_the_name_of_the_branch(who) {
        let ground = STORIES.ground(who);
        ground.types("git tag main").succeeds();
        let ended = ground.run("--yes").end();
        ground.types("git tag -d main").succeeds();
        has_arrived(&ground, &STORIES, ended);
    }

    fn a_hook_that_refuses_commits(who) {
        let ground = STORIES.ground(who);
        ground.write(".git/hooks/pre-merge-commit", "#!/bin/sh\nexit 1\n");
        ground.types("chmod +x .git/hooks/pre-merge-commit").succeeds();
        has_arrived(&ground, &STORIES, ground.run("--yes").end());
    }
}
