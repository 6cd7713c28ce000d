//! Whatever stops a run, its documents and every door say so, and the commands that they print lead on.

use crate::dialects::{CHECKPOINT, SPEC};
use crate::yard::{Ended, Yard};

const RUN: &str = "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\nstagger = 0\n";

/// Sets another worker, and commits that.
fn set_worker(yard: &Yard, settings: &str, command: &str, more: &str) {
    yard.workspace.write("piton.toml", format!("{settings}[worker]\ncommand = {command}\n{more}"));
    yard.commit("another worker");
}

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

#[test]
fn a_build_whose_worker_cannot_start_has_no_live_agent_and_can_be_resumed() {
    let yard = Yard::with(RUN, "");
    let agent = yard.text("piton.toml");
    let agent = agent.lines().find_map(|line| line.strip_prefix("command = ")).expect("a worker").to_owned();
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", SPEC);
    // It is there, so that only its start shows that it cannot be used.
    let script = yard.outer("worker.sh");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
    set_worker(&yard, RUN, &format!("[{:?}]", script.display().to_string()), "");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let checkpoint = yard.read_json(CHECKPOINT);
    assert_eq!((&checkpoint["status"], &checkpoint["error"]["workstream"]), (&"failed".into(), &"WS1".into()));
    assert_eq!(checkpoint["in_progress_workstreams"].as_array().map(Vec::len), Some(0), "{checkpoint}");
    let unit = yard.json(&["status", "--json"])["units"][0].clone();
    assert_eq!((&unit["lifecycle"], &unit["liveness"]), (&"failed".into(), &"idle".into()), "{unit}");
    let resumed = yard.piton(&["resume", "build:PRD-031", "--fixed"]);
    assert_eq!(resumed.code, Some(0), "{}", said(&resumed));
    set_worker(&yard, RUN, &agent, "");
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes", "--retry"]);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
}

/// A repository with one unit of each dialect, and what is run there.
pub fn each_dialect() -> Vec<(Yard, &'static str, &'static str)> {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"A copy\"\nsubtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"works\"]\n";
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";
    let dialects = [
        ("pipeline:S-1", "pipeline:S-1", "", ""),
        ("plan:p", "plan:p", "plans/p/plan.md", plan),
        ("build:PRD-031", "docs/EXECUTION-SPEC-PRD-031.md", "docs/EXECUTION-SPEC-PRD-031.md", SPEC),
        ("task:copy/T1", "tasks.toml", "tasks.toml", task),
        ("crew:Secondary-A", "crew.toml", "crew.toml", agent),
    ];
    let ground = |(unit, work, path, text): (&'static str, &'static str, &str, &str)| {
        let yard = Yard::with(RUN, "[[stories]]\nid = \"S-1\"\ntitle = \"A story\"\n");
        if !path.is_empty() {
            yard.workspace.write(path, text);
            yard.commit("work");
        }
        (yard, unit, work)
    };
    dialects.into_iter().map(ground).collect()
}

/// What a command that continues a run says again: only the phases of a build ask.
fn yes(unit: &str) -> &'static str {
    if unit.starts_with("build:") { " --yes" } else { "" }
}

pub fn run_with(yard: &Yard, bad: &str, arguments: &[&str]) -> Ended {
    crate::yard::finish(yard.command(arguments).env("BAD", bad).spawn().expect("it starts"))
}

#[test]
fn a_question_that_no_person_answered_starts_no_worker() {
    for (yard, unit, work) in each_dialect() {
        let asked = run_with(&yard, "blocks", &["run", work, "--yes"]);
        assert_eq!(asked.code, Some(4), "{unit}: {}", said(&asked));
        let run = format!("piton run {work}{}", yes(unit));
        let answer = format!("next: answer what blocks it: piton unblock {unit} --message TEXT && {run}\n");
        assert!(asked.stdout.contains(&answer), "{unit}: {}", said(&asked));
        let begun = yard.ledger().len();
        let retried = yard.piton(&["run", work, "--yes", "--retry"]);
        assert_eq!((retried.code, yard.ledger().len()), (Some(4), begun), "{unit}: {}", said(&retried));
        assert!(!retried.stdout.contains(" started"), "{unit}: {}", said(&retried));
        assert!(retried.stdout.contains(&answer), "{unit}: {}", said(&retried));
        let found = yard.json(&["status", unit, "--json"])["units"][0].clone();
        assert_eq!(found["liveness"], "idle", "{unit}: {found}");
        let blockers: Vec<&str> =
            found["blockers"].as_array().into_iter().flatten().filter_map(|it| it.as_str()).collect();
        assert_eq!(blockers.len(), 1, "{unit}: {found}");
        yard.run(&["unblock", unit, "--message", "it is under the mat"]);
        let answered = yard.piton(&["run", work, "--yes"]);
        assert_eq!(answered.code, Some(0), "{unit}: {}", said(&answered));
    }
}

#[test]
fn an_answered_question_pauses_nothing_whatever_is_recorded_after_it() {
    let (yard, unit, work) = each_dialect().remove(3);
    assert_eq!(run_with(&yard, "blocks", &["run", work, "--yes"]).code, Some(4));
    yard.run(&["unblock", unit, "--message", "it is under the mat"]);
    yard.run(&["step", unit, "done", "one"]);
    let ended = yard.piton(&["run", work, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn every_restart_of_a_dead_agent_is_counted() {
    let (yard, unit, work) = each_dialect().remove(4);
    let ended = run_with(&yard, "always-exits", &["run", work, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let started = ended.stdout.lines().filter(|line| line.contains(unit) && line.contains(" started")).count();
    assert_eq!(started, 4, "{}", said(&ended));
    assert!(ended.stdout.contains("; it was restarted 3 times\n"), "{}", said(&ended));
    let report = yard.read_json(".piton/run/report.json");
    assert_eq!(report["lanes"][0]["respawns"], 3, "{report}");
}

const NAMED_GATE: &str = "---\nprd: PRD-031\nprd_title: A shed\nworkstreams:\n  WS1:\n    name: Floor\n    \
outputs: [WS1.txt]\n    gate: level\nexecution_phases:\n  - name: Ground\n    parallel: [WS1]\n    gates: [level]\ngates:\n  \
stands:\n    command: test -f WS1.txt\n---\n# A shed\n";

#[test]
fn a_gate_that_a_specification_names_and_does_not_define_can_be_judged() {
    let yard = Yard::with(RUN, "");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", NAMED_GATE);
    yard.commit("a specification");
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let judge = "or judge it: piton gate build:PRD-031 pass level --step WS1\n";
    assert!(ended.stdout.contains(judge), "{}", said(&ended));
    assert_eq!(yard.read_json(CHECKPOINT)["gates_pending"].to_string(), "[\"level\"]");
    yard.run(&["gate", "build:PRD-031", "pass", "level", "--step", "WS1"]);
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
}

#[test]
fn a_gate_that_a_specification_names_may_have_its_command_in_the_settings() {
    let yard = Yard::with(RUN, "[gates]\nlevel = \"test -f WS1.txt\"\n");
    yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", NAMED_GATE);
    yard.commit("a specification");
    yard.run(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"]);
    let checkpoint = yard.read_json(CHECKPOINT);
    assert_eq!(
        (&checkpoint["status"], checkpoint["gates_pending"].as_array().map(Vec::len)),
        (&"complete".into(), Some(0))
    );
}

#[test]
fn a_unit_that_no_worker_has_begun_is_explained_by_what_its_run_knows() {
    for (yard, unit, work) in each_dialect() {
        if unit.starts_with("plan:") {
            continue;
        }
        let settings = yard.text("piton.toml");
        yard.workspace.write("piton.toml", format!("{settings}[worktree]\nsetup = \"exit 3\"\n"));
        yard.commit("a setup that fails");
        let ended = yard.piton(&["run", work, "--yes"]);
        assert_eq!(ended.code, Some(4), "{unit}: {}", said(&ended));
        assert!(ended.stdout.contains(&format!("next: see why: piton why {unit}\n")), "{unit}: {}", said(&ended));
        let why = yard.run(&["why", unit]).stdout;
        assert!(why.contains("exit code 3") || why.contains("exited with 3"), "{unit}: {why}");
        let next = why.lines().find_map(|line| line.strip_prefix("next       continue the run: ")).expect("a command");
        assert_eq!(next, format!("piton run {work}{} --retry", yes(unit)), "{why}");
        let found = yard.json(&["status", unit, "--json"])["units"][0].clone();
        assert_eq!((&found["lifecycle"], &found["liveness"]), (&"paused".into(), &"idle".into()), "{found}");
        let output = yard.piton(&["output", unit]);
        assert_eq!(output.code, Some(5), "{unit}: {}", said(&output));
        assert!(output.stderr.contains(&format!("hint: continue the run: {next}\n")), "{unit}: {}", said(&output));
        yard.workspace.write("piton.toml", settings);
        yard.commit("no setup");
        let words: Vec<&str> = next.split(' ').skip(1).collect();
        yard.run(&words);
    }
}

#[test]
fn a_unit_that_only_a_run_file_describes_is_run_by_its_name() {
    let (yard, unit, work) = each_dialect().remove(4);
    let settings = yard.text("piton.toml");
    yard.workspace.write("piton.toml", format!("{settings}[worktree]\nsetup = \"exit 3\"\n"));
    yard.commit("a setup that fails");
    assert_eq!(yard.piton(&["run", work, "--yes"]).code, Some(4));
    yard.run(&["why", unit]);
    yard.workspace.write("piton.toml", settings);
    yard.commit("no setup");
    let ended = yard.piton(&["run", unit, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_story_that_a_run_put_off_is_not_offered_for_resuming() {
    let story = |id: &str, after: &str| format!("[[stories]]\nid = {id:?}\ntitle = {id:?}\ndepends_on = [{after}]\n");
    let stories = format!("{}{}", story("S-1", ""), story("S-2", "\"S-1\""));
    let yard = Yard::with(&RUN.replace("[run]\n", "[run]\nrespawn = 0\n"), &stories).env("BAD", "exits");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let listed = yard.run(&["resume"]).stdout;
    assert!(listed.contains("pipeline:S-1") && !listed.contains("pipeline:S-2"), "{listed}");
    let why = yard.run(&["why", "pipeline:S-2"]).stdout;
    assert!(why.contains("resumable  no: its documents do not allow it\n"), "{why}");
    assert!(why.contains("next       continue the run: piton run --retry\n"), "{why}");
    let refused = yard.piton(&["resume", "pipeline:S-2"]);
    assert_eq!(refused.code, Some(4), "{}", said(&refused));
    assert!(refused.stderr.contains("hint: see what it waits for: piton why pipeline:S-2\n"), "{}", said(&refused));
    // Each story's worker exits once.
    assert_eq!(yard.piton(&["run", "--yes", "--retry"]).code, Some(4));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_request_to_stop_names_the_gate_that_the_lead_waits_for() {
    let go = |yard: &Yard| yard.outer("marks/go");
    let yard = Yard::with(RUN, "[[stories]]\nid = \"S-1\"\ntitle = \"A story\"\n");
    let (begun, go) = (yard.outer("marks/gate"), go(&yard));
    let gate = format!("touch {}; while ! [ -e {} ]; do sleep 0.02; done", begun.display(), go.display());
    let settings = yard.text("piton.toml");
    yard.workspace
        .write("piton.toml", settings.replacen("[[stories]]", &format!("[gates]\nslow = {gate:?}\n[[stories]]"), 1));
    yard.commit("a slow gate");
    let lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    crate::yard::wait_for("the gate", || begun.exists(), String::new);
    let want =
        "starts nothing new and ends after the gate or set-up command that runs\nstop it too: piton stop --workers\n";
    // What the lead publishes is a moment behind what it does.
    crate::yard::wait_for("the answer", || yard.run(&["stop"]).stdout.contains(want), || yard.run(&["stop"]).stdout);
    std::fs::write(go, "").expect("it can be written");
    let ended = crate::yard::finish(lead);
    assert!(
        ended.stdout.contains("the lead ends when the gate or set-up command that runs has ended. "),
        "{}",
        said(&ended)
    );
}

/// The specification that the documentation shows.
fn documented_spec() -> &'static str {
    let page = include_str!("../../../../docs/run.md");
    let (_, rest) = page.split_once("```yaml\n").expect("an example");
    rest.split_once("```\n").expect("its end").0
}

#[test]
fn the_specification_in_the_documentation_runs_and_says_what_it_would_do() {
    let yard = Yard::with(RUN, "");
    let path = "docs/EXECUTION-SPEC-PRD-012.md";
    yard.workspace.write(path, documented_spec());
    let worker = yard.outer("makes.sh");
    let make =
        "case $PITON_STEP in WS1) f=schema.sql;; *) f=receipts.txt;; esac; echo x > $f; git add -A; git commit -qm $f";
    std::fs::write(&worker, format!("#!/bin/sh\n{make}\n\"$PITON\" step $PITON_UNIT done $PITON_STEP\n"))
        .expect("a script");
    set_worker(&yard, RUN, &format!("[\"/bin/sh\", {:?}]", worker.display().to_string()), "");
    let check = yard.run(&["check", path]);
    assert!(!check.stdout.contains("warning") && !check.stdout.contains("error"), "{}", said(&check));
    let explained = yard.run(&["run", path, "--explain"]).stdout;
    assert!(explained.contains("build:PRD-012 closes Ground: gates schema, then a person's approval\n"), "{explained}");
    assert!(explained.contains("closes Rest: gates all, schema\n"), "{explained}");
    let approve = explained.lines().find_map(|line| line.strip_prefix("not approved yet (piton ")).expect("a command");
    let approve: Vec<&str> = approve.trim_end_matches("):").split(' ').collect();
    assert_eq!(approve, ["approve", path]);
    yard.run(&approve);
    assert!(!yard.run(&["run", path, "--explain"]).stdout.contains("not approved"));
    assert_eq!(yard.piton(&["run", path]).code, Some(4));
    // A bare id means the unit, as it does everywhere else.
    let approved = yard.run(&["approve", "PRD-012"]);
    assert!(approved.stdout.starts_with("build:PRD-012: approved Ground (run 1)\n"), "{}", said(&approved));
    yard.run(&["run", path]);
    assert_eq!(yard.json(&["status", "build:PRD-012", "--json"])["units"][0]["lifecycle"], "done");
    let wrong = yard.piton(&["approve", "PRD-013"]);
    assert_eq!(wrong.code, Some(5), "{}", said(&wrong));
}

#[test]
fn every_state_has_a_next_command() {
    let next = |yard: &Yard, unit: &str| {
        let why = yard.run(&["why", unit]).stdout;
        let line = why.lines().find_map(|line| line.strip_prefix("next       ")).map(str::to_owned);
        assert_eq!(yard.json(&["why", unit, "--json"])["next"].as_str(), line.as_deref(), "{why}");
        line.unwrap_or_else(|| panic!("no next command: {why}"))
    };
    for (yard, unit, work) in each_dialect() {
        run_with(&yard, "always-exits", &["run", work, "--yes"]);
        assert_eq!(next(&yard, unit), format!("continue the run: piton run {work}{} --retry", yes(unit)));
        run_with(&yard, "blocks", &["run", work, "--yes", "--retry"]);
        let answer = format!("piton unblock {unit} --message TEXT");
        assert!(next(&yard, unit).contains(&answer) || unit.starts_with("build:"), "{unit}: {}", next(&yard, unit));
        yard.run(&["unblock", unit, "--message", "it is under the mat"]);
        yard.run(&["run", work, "--yes"]);
        assert_eq!(next(&yard, unit), format!("see what was done: piton status {unit}"));
    }
}

#[test]
fn a_finished_agent_is_opened_again_for_a_conflict_and_merged() {
    let task = |id: &str| format!("[[tasks]]\nagent = \"copy\"\nid = {id:?}\nsubtasks = [\"one\", \"two\"]\n");
    let agent = |id: &str| format!("[[agents]]\nagent = {id:?}\nfeature = \"f-{id}\"\ntype = \"secondary\"\n");
    let tasks = (format!("{}{}", task("T1"), task("T2")), ["task:copy/T1", "task:copy/T2"]);
    let crew = (format!("{}{}", agent("Secondary-A"), agent("Secondary-B")), ["crew:Secondary-A", "crew:Secondary-B"]);
    for (work, units) in [tasks, crew] {
        let yard = Yard::with(RUN, "");
        let (worker, script) = (yard.outer("conflicts.sh"), yard.outer("agent.sh"));
        // Both change one file before either is merged; the worker that has to merge keeps both lines.
        let text = format!(
            "prompt=$(cat)\ncase $prompt in\n*'git merge main'*) git merge -q main; grep -v '^[<=>]' shared.txt > kept; mv kept \
             shared.txt; git add -A; git commit -qm merged ;;\n*) echo \"$PITON_UNIT\" > shared.txt; git add -A; git commit -qm \
             shared; touch \"$MARKS/${{PITON_UNIT##*[:/]}}-wrote\"; while [ $(ls \"$MARKS\" | grep -c wrote) -lt 2 ]; do sleep \
             0.02; done ;;\nesac\nprintf '%s' \"$prompt\" | sh {:?}\n",
            script.display().to_string()
        );
        std::fs::write(&worker, text).expect("a script");
        yard.workspace.write("work.toml", &work);
        set_worker(&yard, RUN, &format!("[\"/bin/sh\", {:?}]", worker.display().to_string()), "");
        let ended = yard.piton(&["run", "work.toml", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert!(ended.stdout.contains("conflicts with main in shared.txt\n"), "{}", said(&ended));
        let text = yard.text("shared.txt");
        assert!(units.iter().all(|unit| text.contains(unit)), "{text}{}", said(&ended));
    }
}
