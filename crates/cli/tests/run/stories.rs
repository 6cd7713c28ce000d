use crate::yard::{Yard, finish, wait_for};

#[test]
fn stories_go_to_the_end_in_worktrees_of_their_own() {
    let yard = Yard::new(&[("S-1", &[]), ("S-2", &["S-1"]), ("S-3", &[])]);
    let refused = yard.piton(&["run"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stderr.contains("you have not approved"), "{}", refused.stderr);
    yard.run(&["approve"]);
    yard.run(&["run"]);
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!(state["complete"], true);
    for story in ["S-1", "S-2", "S-3"] {
        assert_eq!(state["story_state"][story], "DONE");
        assert_eq!(state["story_results"][story]["stage3"], "PASS, quality 90");
        assert_eq!(yard.text(&format!("{story}-a.txt")), format!("{story}-a\n"));
    }
    assert_eq!(state["git_stats"]["S-1"]["files_changed"], 2);
    let report = yard.read_json(".pipeline/report.json");
    assert_eq!(report["outcome"], "done");
    assert_eq!(report["lanes"][0]["workers"], 4);
    assert!(yard.text(".pipeline/report.md").contains("| pipeline:S-2 | Story S-2 | done | 4 | 0 |"));
    // What waited began after what it waited for was merged.
    let ledger = yard.ledger();
    let at = |task: &str| ledger.iter().position(|(_, known, _)| known == task).expect("it was begun");
    assert!(at("S-1-b") < at("S-2-a"), "{ledger:?}");
    assert_eq!(yard.piton(&["check"]).code, Some(0));
    // Once more: nothing is left to do, and nothing is done.
    yard.run(&["run"]);
    assert_eq!(yard.ledger().len(), 6);
    yard.assert_nothing_left();
}

#[test]
fn stories_that_wait_for_each_other_are_an_error_before_anything_starts() {
    let yard = Yard::new(&[("S-1", &["S-3"]), ("S-2", &["S-1"]), ("S-3", &["S-2"])]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4));
    let want =
        "these wait for each other, so none can begin: pipeline:S-1 → pipeline:S-3 → pipeline:S-2 → pipeline:S-1";
    assert!(ended.stderr.contains(want), "{}", ended.stderr);
    assert!(!yard.workspace.path(".pipeline").exists() && !yard.workspace.path(".piton").exists());
}

#[test]
fn a_no_go_is_validated_again_and_a_fail_worked_on_again() {
    for (bad, key, result) in [("no-go", "validation_retries", "GO"), ("fails", "quality_cycles", "PASS")] {
        let yard = Yard::new(&[("S-1", &[])]).env("BAD", bad);
        yard.run(&["run", "--yes"]);
        let state = yard.read_json(".pipeline/state.json");
        assert_eq!(state[key]["S-1"], 1, "{bad}");
        assert_eq!(state["story_state"]["S-1"], "DONE");
        assert!(state.to_string().contains(result));
        yard.assert_nothing_left();
    }
}

#[test]
fn what_is_not_committed_is_not_merged_and_not_removed() {
    let settings = "[run]\nheartbeat = 1\npatience = 60\ngrace = 0.3\nreworks = 0\n";
    let yard = Yard::with(settings, "[[stories]]\nid = \"S-1\"\n").env("BAD", "dirty");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stdout);
    assert!(ended.stdout.contains("files are not committed: left-behind.txt"), "{}", ended.stdout);
    assert!(yard.workspace.path(".worktrees/story-S-1/left-behind.txt").exists());
    // A person commits it, and the run goes on.
    let tree = yard.workspace.path(".worktrees/story-S-1");
    yard.git(&["-C", tree.to_str().expect("UTF-8"), "add", "-A"]);
    yard.git(&["-C", tree.to_str().expect("UTF-8"), "commit", "-qm", "left behind"]);
    yard.run(&["run", "--retry"]);
    assert_eq!(yard.text("left-behind.txt"), "x\n");
    yard.assert_nothing_left();
}

#[test]
fn a_conflict_pauses_and_changes_nothing() {
    let yard = Yard::new(&[("S-1", &[])]).env("PACE", "0.5");
    yard.run(&["approve"]);
    let lead = yard.command(&["run"]).spawn().expect("it starts");
    wait_for("the first task", || !yard.ledger().is_empty(), String::new);
    yard.workspace.write("S-1-a.txt", "mine\n");
    yard.commit("in between");
    let head = yard.git(&["rev-parse", "main"]);
    let ended = finish(lead);
    assert_eq!(ended.code, Some(4), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("conflicts with main in S-1-a.txt"), "{}", ended.stdout);
    assert_eq!(yard.git(&["rev-parse", "main"]), head);
    assert_eq!(yard.text("S-1-a.txt"), "mine\n");
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_plan_is_explained_and_nothing_is_started() {
    let yard = Yard::new(&[("S-1", &[]), ("S-2", &["S-1"])]);
    let shown = yard.run(&["run", "--explain"]).stdout;
    let agent = yard.outer("agent.sh").display().to_string();
    let want = format!(
        "at most 3 workers at once; restarts after a death: 1, validations after a NO-GO: 1, reworks after a FAIL: 2\n\
         \nwave 1\n  pipeline:S-1  Story S-1\n    worker: /bin/sh {agent} (for all work, [worker])\n\nwave 2\n  \
         pipeline:S-2  Story S-2\n    after pipeline:S-1\n    worker: /bin/sh {agent} (for all work, [worker])\n\n\
         not approved yet (piton approve):\n  worker: /bin/sh {agent}\n"
    );
    assert_eq!(shown, want);
    let plan = yard.json(&["run", "--explain", "--json"]);
    assert_eq!(plan["lanes"][1]["wave"], 2);
    assert_eq!(plan["lanes"][1]["depends_on"][0], "pipeline:S-1");
    assert!(!yard.workspace.path(".pipeline").exists() && !yard.workspace.path(".piton").exists());
}

#[test]
fn a_wrong_key_is_an_error_with_what_was_meant() {
    let yard = Yard::with("[run]\nworker = 3\n", "");
    let ended = yard.piton(&["run", "--explain"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "error: piton.toml: there is no setting `run.worker`\nhint: did you mean `run.workers`?\n"
    );
}

#[test]
fn the_demo_is_complete_although_a_worker_and_the_lead_are_killed() {
    let yard = Yard::new(&[("S-1", &[])]);
    let place = yard.outer("demo");
    let refused = yard.piton(&["demo", yard.outer("").to_str().expect("UTF-8")]);
    assert!(refused.stderr.contains("name a directory that is not there yet: piton demo DIR\n"), "{}", refused.stderr);
    let shown = yard.run(&["demo", place.to_str().expect("UTF-8")]).stdout;
    assert!(shown.contains("-- the lead was killed with -9"), "{shown}");
    assert!(shown.contains("pipeline:TRAIL-4: its worker ended: signal 9"), "{shown}");
    assert!(shown.contains("done: 5 of 5 done"), "{shown}");
    assert!(place.join("guide/TRAIL-5-chapter.md").exists());
    let place = place.to_str().expect("UTF-8");
    for words in [&["status"][..], &["log", "pipeline:TRAIL-4"]] {
        let typed: Vec<&str> = ["-C", place].iter().chain(words).copied().collect();
        assert!(shown.contains(&format!("piton {}\n", typed.join(" "))), "{shown}");
        yard.run(&typed);
    }
    yard.assert_nothing_left();
}
