//! Specifications and lists that their user changes: a run follows what they say now.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-081.md";

/// A specification with these workstreams, a phase each, and more lines below its phases.
fn spec(streams: &[&str], more: &str) -> String {
    let stream = |id: &&str| format!("  {id}: {{name: {id}, outputs: [{id}.txt]}}\n");
    let phase = |id: &&str| format!("  - {{name: P{id}, parallel: [{id}]}}\n");
    let (streams, phases): (String, String) =
        (streams.iter().map(stream).collect(), streams.iter().map(phase).collect());
    format!(
        "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n{phases}{more}---\n# A wall\n"
    )
}

/// Changes the specification while the worker of `held` is at work, and says how the run ended.
fn changed(yard: &Yard, held: &str, text: &str) -> crate::yard::Ended {
    let lead = yard.command(&["run", SPEC, "--yes"]).spawn().expect("it starts");
    let mark = yard.outer(&format!("marks/held-{held}"));
    wait_for("the worker", || mark.exists(), || yard.piton(&["status"]).stdout);
    yard.workspace.write(SPEC, text);
    yard.commit("another specification");
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    finish(lead)
}

#[test]
fn gates_of_a_last_phase_without_workstreams_judge_the_work_before_it() {
    let more = "  - {name: Verify, parallel: [], gates: [e2e]}\ngates:\n  e2e: {command: grep -q good WS1.txt}\n";
    let hook =
        r#"if [ -e "$MARKS/once" ]; then echo good > WS1.txt; git commit -qam good; exit 0; fi; : > "$MARKS/once""#;
    let yard = yard(hook, "", &[(SPEC, &spec(&["WS1"], more))]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn a_workstream_that_is_added_to_a_complete_build_is_built() {
    let yard = yard("", "", &[(SPEC, &spec(&["WS1"], ""))]);
    yard.run(&["run", SPEC, "--yes"]);
    yard.workspace.write(SPEC, spec(&["WS1", "WS2"], ""));
    yard.commit("more");
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    let ended = if ended.code == Some(0) { ended } else { yard.piton(&["run", SPEC, "--yes", "--retry"]) };
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS1".to_owned(), "WS2".to_owned()]), "{}", said(&ended));
}

#[test]
fn every_door_opens_a_complete_build_again_whose_specification_got_a_workstream() {
    let yard = yard("", "", &[(SPEC, &spec(&["WS1"], ""))]);
    yard.run(&["run", SPEC, "--yes"]);
    let more = spec(&["WS1", "WS2"], "").replace("  - {name: PWS2, parallel: [WS2]}\n", "");
    yard.workspace.write(SPEC, more.replace("[WS1]}", "[WS1, WS2]}"));
    yard.commit("more");
    let explained = yard.run(&["run", SPEC, "--explain"]).stdout;
    assert!(!explained.contains("no worker starts"), "{explained}");
    let why = yard.run(&["why", "build:PRD-081"]).stdout;
    assert!(why.contains("open it again for what is missing: piton reopen build:PRD-081"), "{why}");
    assert!(!why.contains("piton unblock"), "{why}");
    yard.run(&["reopen", "build:PRD-081"]);
    let ended = yard.run(&["run", SPEC, "--yes"]);
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_workstream_that_is_added_to_a_phase_during_the_run_comes_before_its_approval() {
    let hook = r#"if [ "$step" = WS1 ]; then hold it; fi"#;
    let yard = yard(hook, "", &[(SPEC, &spec(&["WS1", "WS2"], ""))]);
    yard.run(&["approve", SPEC]);
    let lead = yard.command(&["run", SPEC]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-it").exists(), String::new);
    let more = spec(&["WS1", "WS3", "WS2"], "").replace("  - {name: PWS3, parallel: [WS3]}\n", "");
    yard.workspace.write(SPEC, more.replace("[WS1]}", "[WS1, WS3]}"));
    yard.commit("more");
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let next = "PWS1 is not complete: WS3 is open, added or opened during the run: piton run";
    assert_eq!(said(&ended).matches(next).count(), 2, "once, and as the next step: {}", said(&ended));
    assert!(!said(&ended).contains("piton approve"), "{}", said(&ended));
    let ended = yard.piton(&["run", SPEC]);
    assert!(is_on_main(&yard, "WS3.txt"), "{}", said(&ended));
    yard.run(&["approve", "build:PRD-081"]);
    yard.run(&["run", SPEC]);
    assert!(is_on_main(&yard, "WS2.txt"));
}

#[test]
fn a_workstream_that_is_added_during_the_run_is_not_called_skipped() {
    let yard = yard("hold it", "", &[(SPEC, &spec(&["WS1"], ""))]);
    let ended = changed(&yard, "it", &spec(&["WS1", "WS2"], ""));
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let told = "added to the specification during the run: WS2; do them: piton run";
    assert!(said(&ended).contains(told), "{}", said(&ended));
    yard.run(&["run", SPEC, "--yes", "--retry"]);
    assert!(is_on_main(&yard, "WS2.txt"));
}

#[test]
fn a_workstream_that_is_taken_out_during_the_run_gets_no_worker() {
    let yard = yard("hold it", "", &[(SPEC, &spec(&["WS1", "WS2"], ""))]);
    let ended = changed(&yard, "it", &spec(&["WS1"], ""));
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS1".to_owned()]), "{}", said(&ended));
    assert!(said(&ended).contains("it was taken out of the specification; no worker starts"), "{}", said(&ended));
}

#[test]
fn what_is_listed_twice_is_an_error() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    for (file, text, told) in [
        ("tasks.toml", task, "the task copy/T1 is listed twice"),
        ("crew.toml", agent, "the agent Secondary-A is listed twice"),
    ] {
        let yard = yard("", "", &[(file, &text.repeat(2))]);
        let ended = yard.piton(&["run", file, "--yes"]);
        assert!(ended.code != Some(0) && said(&ended).contains(told), "{}", said(&ended));
    }
}

#[test]
fn a_task_waits_for_the_task_of_its_own_agent() {
    let task = |agent: &str, id: &str, after: &str| {
        format!(
            "[[tasks]]\nagent = \"{agent}\"\nid = \"{id}\"\nsubtasks = [\"one\", \"two\"]\ndepends_on = [{after}]\n"
        )
    };
    let yard = yard("", "", &[]);
    for (after, want) in [("\"T1\"", "copy/T1"), ("\"seo/T1\"", "seo/T1"), ("\"task:copy/T1\"", "copy/T1")] {
        let list = [task("seo", "T1", ""), task("copy", "T1", ""), task("copy", "T2", after)].concat();
        yard.workspace.write("tasks.toml", list);
        let explained = yard.run(&["run", "--explain", "tasks.toml"]).stdout;
        assert!(explained.contains(&format!("after task:{want}")), "{after}: {explained}");
    }
}

#[test]
fn a_criterion_that_is_added_after_a_task_began_is_judged() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    let yard = yard("exit 1", "", &[("tasks.toml", task)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    yard.workspace.write("tasks.toml", format!("{task}acceptance_criteria = [\"seen by legal\"]\n"));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("the criterion \"seen by legal\" is not met"), "{}", said(&ended));
}

#[test]
fn a_story_goes_through_the_stages_that_its_settings_have_now() {
    let story =
        |stages: &str| format!("[[stories]]\nid = \"S-1\"\ntitle = \"One\"\ntext = \"Do it.\"\nstages = {stages}\n");
    let plans = r#"case $PITON_STAGE in
0) "$PITON" step "$PITON_UNIT" begin S-1 --title A --description do; "$PITON" verdict "$PITON_UNIT" PLAN --score 4; exit 0 ;;
1) exit 3 ;; esac"#;
    let yard = yard(plans, &story("[0, 2, 3]"), &[]);
    yard.run(&["run", "--yes"]);
    assert!(is_on_main(&yard, "S-1.txt"));
    // What its validator refused is left out since.
    let refuses =
        plans.replace("1) exit 3", "1) \"$PITON\" verdict \"$PITON_UNIT\" NO-GO --score 3 --reason unclear; exit 0");
    for left in ["[0, 2, 3]", "[2, 3]"] {
        let yard = crate::whose_word::yard(&refuses, &story("[0, 1, 2, 3]"), &[]);
        assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
        let settings = yard.text("piton.toml").replace("[0, 1, 2, 3]", left);
        yard.workspace.write("piton.toml", settings);
        yard.run(&["run", "--yes", "--retry"]);
        assert!(is_on_main(&yard, "S-1.txt"));
    }
    // What its planner could not do is left out since.
    let yard = crate::whose_word::yard("exit 3", &story("[0, 1, 2, 3]"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let settings = yard.text("piton.toml").replace("[0, 1, 2, 3]", "[2, 3]");
    yard.workspace.write("piton.toml", settings);
    set_hook(&yard, "");
    yard.run(&["run", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "S-1.txt"));
}

#[test]
fn a_base_that_was_merged_and_deleted_is_followed() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n<!-- CHECKPOINT: two -->\n\
                - [ ] B <!-- TASK: b -->\n";
    let yard = yard(r#"if [ "$step" = b ]; then exit 1; fi"#, "", &[("plans/p/plan.md", plan)]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.commit("ticks");
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["merge", "-q", "topic"]);
    yard.git(&["branch", "-q", "-d", "topic"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "b.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_base_that_is_gone_is_not_replaced_without_a_proof() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";
    let yard = yard("exit 1", "", &[("plans/p/plan.md", plan)]);
    yard.git(&["checkout", "-q", "-b", "topic"]);
    yard.workspace.write("own.txt", "own\n");
    yard.commit("what main does not have");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["checkout", "-q", "main"]);
    yard.git(&["branch", "-q", "-D", "topic"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert!(said(&ended).contains("the branch topic, which this run merges into, is gone"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "a.txt"));
}

#[test]
fn gates_of_a_first_phase_without_workstreams_are_judged_and_approved_as_printed() {
    let unit = "build:PRD-081";
    let text = spec(&["WS1"], "")
        .replace("execution_phases:\n", "execution_phases:\n  - {name: Preflight, parallel: [], gates: [preflight]}\n");
    let yard = yard("", "", &[(SPEC, &text)]);
    yard.run(&["approve", SPEC]);
    let asked = yard.piton(&["run", SPEC]);
    let judge = format!("piton gate {unit} pass preflight");
    assert!(asked.code == Some(4) && said(&asked).contains(&judge), "{}", said(&asked));
    yard.run(&["gate", unit, "pass", "preflight"]);
    let asked = yard.piton(&["run", SPEC]);
    assert!(said(&asked).contains(&format!("piton approve {unit}")) && workers(&yard).is_empty(), "{}", said(&asked));
    yard.run(&["approve", unit]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["WS1".to_owned()]), "{}", said(&ended));
}

#[test]
fn a_gate_without_a_command_that_is_added_during_the_run_is_asked_about() {
    let hook = "if [ \"$step\" = WS2 ]; then hold it; fi";
    let yard = yard(hook, "", &[(SPEC, &spec(&["WS1", "WS2"], ""))]);
    let text = spec(&["WS1", "WS2"], "").replace("parallel: [WS2]}", "parallel: [WS2], gates: [review]}");
    let ended = changed(&yard, "it", &text);
    let told = "gates changed during the run: review; judge by them: piton run";
    assert!(ended.code == Some(4) && said(&ended).contains(told), "{}", said(&ended));
    let asked = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert!(said(&asked).contains("piton gate build:PRD-081 pass review"), "{}", said(&asked));
    yard.run(&["gate", "build:PRD-081", "pass", "review"]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn an_output_that_is_added_while_its_worker_is_at_work_is_asked_for() {
    let hook =
        r#"if [ -e "$MARKS/again" ]; then keep manual; fi; if [ "$step" = WS2 ]; then : > "$MARKS/again"; hold it; fi"#;
    let yard = yard(hook, "", &[(SPEC, &spec(&["WS1", "WS2"], ""))]);
    let text = spec(&["WS1", "WS2"], "").replace("[WS2.txt]", "[WS2.txt, manual.txt]");
    let ended = changed(&yard, "it", &text);
    assert!(ended.code == Some(4) && said(&ended).contains("manual.txt"), "{}", said(&ended));
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert!(ended.code == Some(0) && is_on_main(&yard, "manual.txt"), "{}", said(&ended));
}

#[test]
fn an_output_that_is_added_to_work_that_is_done_keeps_the_build_open() {
    let hook = r#"if [ -e "$MARKS/go" ]; then keep manual; fi; if [ "$step" = WS2 ]; then hold it; fi"#;
    // The last gate completes the checkpoint, before the lead does.
    let gated =
        spec(&["WS1", "WS2"], "").replace("]}\n---", "], gates: [holds]}\ngates:\n  holds: {command: \"true\"}\n---");
    assert!(gated.contains("gates: [holds]"), "{gated}");
    for text in [spec(&["WS1", "WS2"], ""), gated] {
        let yard = yard(hook, "", &[(SPEC, &text)]);
        let ended = changed(&yard, "it", &text.replace("[WS1.txt]", "[WS1.txt, manual.txt]"));
        let told = "outputs added to the specification during the run: manual.txt; make them: piton run";
        assert!(ended.code == Some(4) && said(&ended).contains(told), "{}", said(&ended));
        let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
        assert!(ended.code == Some(0) && is_on_main(&yard, "manual.txt"), "{}", said(&ended));
    }
}

#[test]
fn a_gate_of_several_phases_is_judged_for_each_of_them() {
    let text = spec(&["WS1", "WS2", "WS3"], "").replace("]}\n", "], gates: [review]}\n");
    let text = text.replace("outputs: [WS1.txt], gates: [review]", "outputs: [WS1.txt]");
    let text = text.replace("outputs: [WS2.txt], gates: [review]", "outputs: [WS2.txt]");
    let text = text.replace("outputs: [WS3.txt], gates: [review]", "outputs: [WS3.txt]");
    let yard = yard("", "", &[(SPEC, &text)]);
    for done in 1..=3 {
        let asked = yard.piton(&["run", SPEC, "--yes"]);
        assert!(said(&asked).contains("piton gate build:PRD-081 pass review"), "{}", said(&asked));
        assert_eq!(workers(&yard).len(), done, "{}", said(&asked));
        assert!(yard.run(&["status"]).stdout.contains("piton gate build:PRD-081 pass review"));
        yard.run(&["gate", "build:PRD-081", "pass", "review"]);
    }
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
}

#[test]
fn work_that_depends_on_a_later_phase_is_rejected_before_the_start() {
    let text = spec(&["WS1", "WS2"], "").replace("outputs: [WS1.txt]", "outputs: [WS1.txt], depends_on: [WS2]");
    let crew = "[[agents]]\nagent = \"A\"\nfeature = \"a\"\ndepends_on = [\"B\"]\n\n[[agents]]\nagent = \"B\"\nfeature = \"b\"\nwave = 2\n";
    let yard = yard("", "", &[(SPEC, &text), ("crew.toml", crew)]);
    for (arguments, message, file) in [
        (["run", SPEC, "--yes"], "WS1 of PWS1 depends on build:PRD-081 WS2, which is in PWS2, after it", SPEC),
        (["run", SPEC, "--explain"], "WS1 of PWS1 depends on build:PRD-081 WS2, which is in PWS2, after it", SPEC),
        (["run", "crew.toml", "--yes"], "crew:A of wave 1 depends on crew:B, which is in wave 2, after it", "run file"),
    ] {
        let ended = yard.piton(&arguments);
        assert!(ended.code != Some(0) && ended.code != Some(4), "{}", said(&ended));
        assert!(said(&ended).contains(message) && said(&ended).contains(file), "{}", said(&ended));
    }
    assert!(workers(&yard).is_empty());
}

#[test]
fn a_workstream_that_a_phase_names_and_nobody_defines_is_named() {
    let text = spec(&["WS1"], "").replace("parallel: [WS1]", "parallel: [WS1, WS7]");
    let yard = yard("", "", &[(SPEC, &text)]);
    for arguments in [["run", SPEC, "--explain"], ["run", SPEC, "--yes"]] {
        let ended = yard.run(&arguments);
        assert!(
            said(&ended).contains("PWS1 names WS7, which is no workstream; no worker builds it"),
            "{}",
            said(&ended)
        );
    }
}

#[test]
fn output_that_a_done_workstream_gets_is_foreseen_as_work() {
    let yard = yard("", "", &[(SPEC, &spec(&["WS1", "WS2"], ""))]);
    yard.run(&["approve", "--commands", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    let is_done = || {
        let shown = yard.run(&["run", "--explain", SPEC]).stdout;
        let one = shown.split("build:PRD-081 WS1").nth(1).unwrap_or_default();
        one.split("build:PRD-081 WS2").next().is_some_and(|one| one.contains("is done"))
    };
    assert!(is_done());
    yard.workspace.write(SPEC, yard.text(SPEC).replace("[WS1.txt]", "[WS1.txt, manual.txt]"));
    yard.commit("a manual");
    assert!(!is_done());
    set_hook(&yard, "if [ \"$step\" = WS1 ]; then keep manual; fi");
    let ended = yard.run(&["run", SPEC, "--yes"]);
    assert!(is_on_main(&yard, "manual.txt"), "{}", said(&ended));
}
