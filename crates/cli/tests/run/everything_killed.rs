//! Everything of a run is killed at once, as a reboot does: lead, keepers and workers. The next run continues.

use std::fs;
use std::process::{Command, Stdio};

use crate::whose_word::{is_on_main, said, workers, yard};
use crate::yard::{Yard, finish, wait_for};

/// The first three workers of `a` hold until they are killed.
const HOOK: &str =
    r#"if [ "$step" = a ]; then n=$(grep -c '^a$' "$MARKS/workers"); if [ $n -le 3 ]; then hold "a$n"; fi; fi"#;

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";

fn kill_everything(yard: &Yard) {
    let processes = yard.processes();
    let pids = processes.iter().filter_map(|process| process.split(' ').next());
    // One that ended by itself meanwhile is gone as well.
    let _ = Command::new("kill").arg("-9").args(pids).stderr(Stdio::null()).status().expect("kill runs");
}

#[test]
fn runs_go_on_however_often_everything_is_killed() {
    // `respawn` is 0 here: no death of a worker is forgiven.
    let yard = yard(HOOK, "", &[("plans/p/plan.md", PLAN)]);
    yard.run(&["approve", "--commands", "plan:p"]);
    for kill in 1..=3 {
        let lead = yard.command(&["run", "plan:p"]).spawn().expect("it starts");
        let mark = yard.outer(&format!("marks/held-a{kill}"));
        wait_for("the worker", || mark.exists(), || yard.piton(&["status"]).stdout);
        kill_everything(&yard);
        finish(lead);
        wait_for("every process to be gone", || yard.processes().is_empty(), || format!("{:?}", yard.processes()));
    }
    let ended = yard.run(&["run", "plan:p"]);
    assert!(is_on_main(&yard, "a.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 4, "{}", said(&ended));
}

#[test]
fn a_worker_that_is_killed_while_it_is_led_spends_its_respawn() {
    let yard = yard(HOOK, "", &[("plans/p/plan.md", PLAN)]);
    yard.run(&["approve", "--commands", "plan:p"]);
    let hook = format!("{HOOK}\nkill -9 $$");
    fs::write(yard.outer("marks/hook"), hook.replace("hold", ": hold")).expect("it can be written");
    let ended = yard.piton(&["run", "plan:p"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(ended.stdout.contains("its worker was ended by signal 9; `respawn` is 0"), "{}", said(&ended));
}
