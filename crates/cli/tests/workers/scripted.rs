use std::fs;
use std::path::Path;

use piton_supervisor::{Adapter, CommandLine, LimitScope, Outcome, PromptBy, Reading, Work, Worker};
use piton_testkit::ScriptedWorker;

use crate::lab::{Lab, end_of, program};

/// A workspace with a plan of two steps, and a worker for it.
struct Bench {
    lab: Lab,
    scripted: ScriptedWorker,
}

impl Bench {
    fn new() -> Bench {
        let lab = Lab::new();
        let plan = lab.path("work/plans/260220-1149-feature/plan.md");
        fs::create_dir_all(plan.parent().expect("it is in a directory")).expect("it can be made");
        let text = "# Feature\n\n## Phase 1: All\n\n- [ ] One <!-- TASK: one -->\n- [ ] Two <!-- TASK: two -->\n";
        fs::write(plan, text).expect("it can be written");
        let binary = Path::new(env!("CARGO_BIN_EXE_piton"));
        let scripted = ScriptedWorker::new(&lab.path("scripts"), binary).expect("it can be made");
        Bench { lab, scripted }
    }

    /// Runs a worker with this script to its end.
    fn run(&self, script: &str) -> (Worker, Outcome) {
        self.scripted.script("plan:260220-1149-feature", script).expect("it can be written");
        let argv = vec![self.scripted.program().display().to_string()];
        let adapter = Adapter::Command(CommandLine { argv, prompt: PromptBy::Stdin });
        let root = self.lab.path("work");
        let work = Work {
            unit: "plan:260220-1149-feature".to_owned(),
            attempt: 0,
            checkpoint: root.join("plans/260220-1149-feature/plan.md"),
            directory: root.clone(),
            root,
            prompt: self.lab.write("prompt", "do it\n"),
            session: None,
            grants: piton_supervisor::Grants::default(),
        };
        let launch = adapter.start(&work).expect("the prompt is there").unset("PITON_ATTEMPT");
        let worker = Worker::start(&program(), &self.lab.home(), &launch).expect("it starts");
        let end = end_of(&worker);
        let mut reading = Reading::new(adapter.kind(), &worker);
        let outcome = adapter.kind().judge(&end.exit, reading.finish().expect("it can be read"), worker.launch());
        (worker, outcome)
    }

    fn plan(&self) -> String {
        fs::read_to_string(self.lab.path("work/plans/260220-1149-feature/plan.md")).expect("it is there")
    }
}

#[test]
fn a_worker_records_its_steps_and_a_successor_goes_on() {
    let bench = Bench::new();
    let script = "once begun record start\nonce one record step 'done' one\nonce dead die\nrecord step 'done' two\n";
    let (_, outcome) = bench.run(script);
    assert_eq!(outcome, Outcome::Died { reason: "signal 9".to_owned() });
    assert!(bench.plan().contains("- [x] One") && bench.plan().contains("- [ ] Two"), "{}", bench.plan());
    let (_, outcome) = bench.run(script);
    assert_eq!(outcome, Outcome::Finished, "{}", bench.scripted.log());
    assert!(bench.plan().contains("- [x] Two"), "{}", bench.plan());
    let deeds: Vec<String> = bench.scripted.log().lines().map(|line| line.split(' ').skip(2).collect()).collect();
    assert_eq!(deeds, ["start", "start", "stepdoneone", "die", "start", "stepdonetwo"]);
}

#[test]
fn what_a_worker_says_at_its_end_is_understood() {
    let bench = Bench::new();
    let (_, outcome) = bench.run("echo working\nlimit 2026-11-16T03:15:00Z\n");
    let Outcome::Limited(limit) = outcome else { panic!("{outcome:?}") };
    assert_eq!((limit.scope, limit.resets_at), (LimitScope::Worker, Some(1_794_798_900)));
    let (_, outcome) = bench.run("echo oops >&2\nexit 3\n");
    assert_eq!(outcome, Outcome::Failed { reason: "exit code 3: oops".to_owned() });
    let (_, outcome) = bench.run("record step 'done' nowhere\n");
    assert!(matches!(&outcome, Outcome::Failed { reason } if reason.starts_with("exit code 1: ")), "{outcome:?}");
    let (worker, outcome) = bench.run("flood 3000000\ndaemon\nexit 0\n");
    assert_eq!(outcome, Outcome::Finished);
    assert!(end_of(&worker).leftovers > 0);
}
