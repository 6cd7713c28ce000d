//! The user closes the terminal in which a run is at work. Lead and workers go on; another terminal shows the run, and
//! the work arrives.

use std::fs::File;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::facts::has_arrived;
use crate::ground::Ground;
use crate::workers::Who;
use crate::works::{self, Work};

/// A terminal with a command in it; dropping the first of the two closes it.
fn terminal(ground: &Ground, line: &str) -> (File, Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be made");
    grantpt(&master).expect("it is ours");
    unlockpt(&master).expect("it can be opened");
    let name = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("a plain name");
    let slave = || Stdio::from(File::options().read(true).write(true).open(&name).expect("it can be opened"));
    let mut command = ground.prepared("setsid");
    command.args(["--ctty", "--wait", "/bin/sh", "-c", line]).stdin(slave()).stdout(slave()).stderr(slave());
    (File::from(master), command.spawn().expect("setsid starts"))
}

fn closed(work: &Work, who: Who) {
    let ground = work.ground(who);
    ground.policy(who, "hold-work");
    ground.types(&format!("piton approve --commands{}", work.arguments())).succeeds();
    let (screen, mut session) = terminal(&ground, &format!("exec piton run{} --yes", work.arguments()));
    ground.wait_for("a worker", || ground.worker_at("work").is_some());
    // The kernel hangs up: every process of the terminal gets SIGHUP.
    drop(screen);
    // In another terminal the user types the same again, sees the run, and it arrives.
    let lead = ground.run(&format!("{} --yes", work.named));
    ground.lets_go("work");
    let ended = lead.end();
    assert_eq!(
        session.wait().expect("it ends").code(),
        Some(0),
        "the lead went with its terminal\n{ended}\n{}",
        ground.story()
    );
    has_arrived(&ground, work, ended);
}

crate::with_both! {
    fn of_stories(who) {
        closed(&works::STORIES, who);
    }

    fn of_a_build(who) {
        closed(&works::BUILD, who);
    }

    fn of_a_plan(who) {
        closed(&works::PLAN, who);
    }

    fn of_tasks(who) {
        closed(&works::TASKS, who);
    }

    fn of_a_crew(who) {
        closed(&works::CREW, who);
    }
}
