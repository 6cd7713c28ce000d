use std::fs;

use piton_supervisor::{AdoptError, Condition, Exit, Launch, StartError, Stream, Worker, tail};

use crate::lab::{Lab, content_of, end_of, program, until};

#[test]
fn how_a_worker_ended_is_known() {
    let lab = Lab::new();
    for (script, want) in [
        ("exit 0", Exit::Code(0)),
        ("exit 1", Exit::Code(1)),
        ("exit 75", Exit::Code(75)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
    ] {
        let worker = lab.start(script);
        assert_eq!(end_of(&worker).exit, want, "{script}");
    }
    lab.assert_empty("");
}

#[test]
fn the_end_is_known_for_ever_and_to_everybody() {
    let lab = Lab::new();
    let worker = lab.start("echo out; echo err >&2; exit 3");
    let end = end_of(&worker);
    assert_eq!((end.signs.out, end.signs.err, end.leftovers), (4, 4, 0));
    assert!(end.signs.last.is_some());
    let again = Worker::adopt(&program(), worker.home()).expect("it is there");
    assert_eq!(again.condition().expect("it can be read"), Condition::Ended(end));
    assert_eq!(again.launch(), worker.launch());
}

#[test]
fn a_worker_gets_what_it_was_promised() {
    let lab = Lab::new();
    let prompt = lab.write("prompt", "do it\n");
    let launch = lab.launch("cat; pwd; echo $A; echo ${PATH:-none}; ps -o sid= -p $$ | tr -d ' '; echo $$");
    let launch = launch.input(&prompt).set("A", "b c");
    let worker = lab.start_launch(&launch);
    assert_eq!(end_of(&worker).exit, Exit::Code(0));
    let out = tail(worker.home(), Stream::Out, worker.spool(), 1000).expect("it is kept");
    let out = String::from_utf8(out).expect("it is text");
    let lines: Vec<&str> = out.lines().collect();
    let directory = fs::canonicalize(lab.path("")).expect("it is there");
    assert_eq!(lines[..3], ["do it", directory.to_str().expect("it is text"), "b c"]);
    assert_eq!(lines[4], lines[5], "it leads a session of its own");
}

#[test]
fn a_variable_of_the_lead_can_be_kept_from_a_worker() {
    let lab = Lab::new();
    let printed = |launch: Launch| {
        let worker = lab.start_launch(&Launch { argv: vec!["/usr/bin/env".to_owned()], ..launch });
        assert_eq!(end_of(&worker).exit, Exit::Code(0));
        let out = tail(worker.home(), Stream::Out, worker.spool(), 100_000).expect("it is kept");
        String::from_utf8(out).expect("it is text").lines().any(|line| line.starts_with("PATH="))
    };
    assert!(printed(lab.launch("")), "these tests have one");
    assert!(!printed(lab.launch("").unset("PATH")));
}

#[test]
fn what_cannot_be_started_is_said_and_remembered() {
    let lab = Lab::new();
    for (launch, want) in [
        (Launch::new(["/no/such/program"], "/"), "cannot start /no/such/program: No such file"),
        (Launch::new(["/bin/true"], "/no/such/directory"), "cannot enter /no/such/directory: No such file"),
        (
            Launch::new(["/bin/true"], "/").input("/no/such/prompt"),
            "cannot open its input /no/such/prompt: No such file",
        ),
    ] {
        let home = lab.home();
        let Err(StartError::Refused { message }) = Worker::start(&program(), &home, &launch) else {
            panic!("{launch:?} was started");
        };
        assert!(message.starts_with(want), "{message}");
        let found = Worker::adopt(&program(), &home).expect("it was claimed").condition().expect("it can be read");
        let Condition::Ended(end) = found else { panic!("{found:?}") };
        assert_eq!(end.exit, Exit::NotStarted { message });
    }
}

#[test]
fn a_home_has_one_worker_in_its_life() {
    let lab = Lab::new();
    let worker = lab.start("exit 0");
    end_of(&worker);
    let again = Worker::start(&program(), worker.home(), &lab.launch("exit 1"));
    assert!(matches!(again, Err(StartError::Used { .. })), "{again:?}");
    let keeper = std::process::Command::new(env!("CARGO_BIN_EXE_piton")).arg("keep").arg(worker.home()).output();
    let said = String::from_utf8(keeper.expect("it can be started").stdout).expect("it is text");
    assert_eq!(said, "it was given up before\n");
    assert_eq!(end_of(&worker).exit, Exit::Code(0));
}

#[test]
fn what_is_no_home_is_refused() {
    let lab = Lab::new();
    let nothing = Worker::adopt(&program(), &lab.path("nothing"));
    assert!(matches!(nothing, Err(AdoptError::Nothing { .. })), "{nothing:?}");
    let home = lab.home();
    fs::create_dir(&home).expect("it can be made");
    for text in ["", "{", "[]", "{\"mark\":\"x\",\"launch\":{}}"] {
        fs::write(home.join("launch.json"), text).expect("it can be written");
        let broken = Worker::adopt(&program(), &home);
        assert!(matches!(broken, Err(AdoptError::Io { .. })), "{text}: {broken:?}");
    }
}

#[test]
fn leftovers_are_ended() {
    let lab = Lab::new();
    for (what, script) in [
        ("a child in the background", "sleep 1000 & exit 0"),
        ("a daemon", "setsid sh -c 'setsid sleep 1000 & exit 0' & wait; exit 0"),
        ("one without its environment", &format!("setsid env -i /bin/sleep {} & exit 0", unusual())),
        ("many", "for i in 1 2 3 4 5 6 7 8 9; do setsid sh -c 'sleep 1000 & sleep 1000' & done; exit 0"),
        (
            "one that ignores everything it can",
            "setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' & exit 0",
        ),
    ] {
        let worker = lab.start(script);
        let end = end_of(&worker);
        assert_eq!(end.exit, Exit::Code(0), "{what}");
        assert!(end.leftovers > 0, "{what}");
        lab.assert_empty(what);
    }
    assert_eq!(sleepers(), 0);
}

#[test]
fn orphans_that_exit_are_collected_while_the_worker_runs() {
    let lab = Lab::new();
    let script = "i=0; while [ $i -lt 200 ]; do (true &); i=$((i+1)); done; echo made > made; while [ ! -e go ]; do sleep 0.01; done";
    let worker = lab.start(script);
    content_of(&lab.path("made"));
    let keeper = fs::read_to_string(worker.home().join("keeper")).expect("the keeper says who it is");
    let keeper = keeper.split(' ').next().expect("a pid").to_owned();
    until("no zombie is left", || zombies_of(&keeper) == 0);
    lab.write("go", "");
    assert_eq!(end_of(&worker).exit, Exit::Code(0), "the worker's own status is not lost");
}

/// Children of a process that have exited and were not collected.
fn zombies_of(parent: &str) -> usize {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).expect("the keeper runs");
    let is_zombie = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    };
    children.split_ascii_whitespace().filter(is_zombie).count()
}

/// A time to sleep by which our sleepers are told from others.
fn unusual() -> String {
    format!("1000.{}", std::process::id())
}

/// Sleepers that lost their environment, which the lab does not find.
fn sleepers() -> usize {
    let wanted = format!("/bin/sleep\0{}\0", unusual());
    let is_sleeper = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        line == wanted.as_bytes() && environment.is_empty()
    };
    let pids = fs::read_dir("/proc").expect("there is /proc").flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| is_sleeper(*pid)).count()
}
