//! A worktree is more than what git checks out: files that git ignores are copied, and a command makes the rest. Gates
//! need both as much as workers do.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::ground::Ground;
use crate::verdicts::goes_on;
use crate::works::Work;

fn story(ground: &Ground, setup: &str) {
    ground.types("grep -qx .env .gitignore || printf '.env\\nmodules/\\n' >> .gitignore").succeeds();
    ground.write(".env", "KEY=1\n");
    ground.sets_up(&format!(
        "[worktree]\ncopy = [\".env\"]\nsetup = {setup:?}\n\
         [gates]\nready = \"grep -q KEY .env && test -f modules/ready\"\n\
         [[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet\"\ntext = \"Make the file greeting.txt.\"\n"
    ));
}

const MAKES: &str = "mkdir -p modules && cp .env modules/ready";

const STORY: Work = Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| story(ground, MAKES));
const BROKEN: Work =
    Work::new("", &["pipeline:PROJ-1"], &["greeting.txt"], |ground| story(ground, "echo 'no network here'; exit 7"));

crate::with_both! {
    fn workers_and_gates_find_what_git_ignores(who) {
        let ground = STORY.ground(who);
        has_arrived(&ground, &STORY, ground.run("--yes").end());
        assert_eq!(ground.text(".env"), "KEY=1\n");
    }

    fn a_set_up_that_fails_is_a_reason_of_its_own(who) {
        let ground = BROKEN.ground(who);
        let ended = ground.run("--yes").end().exits(4, &ground);
        assert!(ground.prompts().is_empty(), "no worker starts where nothing is set up\n{ended}");
        let why = ground.types("piton why pipeline:PROJ-1").succeeds();
        assert!(why.stdout.contains("no network here") && why.stdout.contains("setup"), "{why}\n{ended}");
        assert_eq!(ground.json(".pipeline/state.json")["crash_count"]["PROJ-1"], 0, "no worker died");
        story(&ground, MAKES);
        ground.commit("a set-up that works");
        ground.types("piton approve").succeeds();
        has_arrived(&ground, &BROKEN, goes_on(&ground, &ended, Situation::default()));
    }
}
