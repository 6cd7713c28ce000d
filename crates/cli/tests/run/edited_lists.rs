//! What the user edits in a list of stories or tasks while a lead is at work counts for the worker that starts next.

use crate::delisted::meanwhile;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::wait_for;

/// Holds the first worker, and keeps the prompt of each.
const HOOK: &str = r#"cat > "$MARKS/told-$step-${PITON_STAGE:-0}"
if [ "$step" = S-1 ] && [ "$PITON_STAGE" = 2 ] || [ "$step" = T1 ]; then hold first; fi
if [ "$PITON_STAGE" = 1 ]; then "$PITON" verdict "$PITON_UNIT" GO --score 8; exit 0; fi
"#;

fn story(id: &str, rest: &str) -> String {
    format!("[[stories]]\nid = \"{id}\"\ntitle = \"{id}\"\nstages = [2, 3]\n{rest}\n")
}

fn task(rest: &str) -> String {
    format!("[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\n{rest}\n")
}

fn told(yard: &crate::yard::Yard, worker: &str) -> String {
    std::fs::read_to_string(yard.outer(&format!("marks/told-{worker}"))).expect("it was started")
}

#[test]
fn story_that_waits_is_done_by_the_text_that_its_list_has_when_its_turn_comes() {
    let after = "depends_on = [\"S-1\"]\ntext = \"Listen on port 80.\"";
    let answers = "[answers]\n\"Which port?\" = \"80\"\n";
    let yard = yard(HOOK, &format!("{}{}{answers}", story("S-1", "text = \"Begin.\""), story("S-2", after)), &[]);
    let settings = yard.text("piton.toml").replace("80", "8080").replace("Begin.", "Begin well.");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    for worker in ["S-2-2", "S-2-3"] {
        let told = told(&yard, worker);
        assert!(told.contains("Listen on port 8080.") && !told.contains("port 80."), "{worker}: {told}");
        assert!(told.contains("Which port?: 8080") || told.contains("8080"), "{worker}: {told}");
    }
    assert!(said(&ended).contains("S-2: changed in its list: text; it counts from now on"), "{}", said(&ended));
    // The first worker's prompt has the earlier text, the prompt of the one that judges has the new one.
    assert!(told(&yard, "S-1-2").contains("Begin.") && told(&yard, "S-1-3").contains("Begin well."));
    let told_one =
        "S-1: changed in its list: text; it counts from the next worker on; the running worker keeps what it has";
    assert!(said(&ended).contains(told_one), "{}", said(&ended));
}

#[test]
fn story_that_waits_comes_after_what_its_list_names_when_its_turn_comes() {
    let yard = yard(HOOK, &["S-1", "S-2", "S-3"].map(|id| story(id, "")).concat(), &[]);
    let one_at_a_time = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", &one_at_a_time);
    yard.commit("one at a time");
    let after = one_at_a_time.replace(&story("S-2", ""), &story("S-2", "depends_on = [\"S-3\"]"));
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", after);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-3", "S-3", "S-2", "S-2"], "{}", said(&ended));
    assert!(said(&ended).contains("S-2: changed in its list: dependencies; it counts from now on"), "{}", said(&ended));
    assert_eq!(yard.read_json(".pipeline/state.json")["depends_on"]["S-2"], serde_json::json!(["S-3"]));
}

#[test]
fn story_that_is_added_is_named_with_the_command_that_does_it() {
    let yard = yard(HOOK, &story("S-1", ""), &[]);
    let settings = format!("{}{}", yard.text("piton.toml"), story("S-2", ""));
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
        wait_for("the edit", || told_so(&yard), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let next = "next: do what its list got meanwhile, pipeline:S-2: piton run\n";
    assert!(ended.stdout.ends_with(next), "{}", said(&ended));
    yard.run(&["run"]);
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-2", "S-2"]);
}

fn told_so(yard: &crate::yard::Yard) -> bool {
    let told = std::fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    told.contains("new in its list: pipeline:S-2; this run does not have it, the next one does it")
}

#[test]
fn order_that_a_list_turns_round_is_followed() {
    let stories = [story("S-1", ""), story("S-2", ""), story("S-3", "depends_on = [\"S-2\"]")];
    let yard = yard(HOOK, &stories.concat(), &[]);
    let before = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", &before);
    yard.commit("one at a time");
    let after = before
        .replace(&stories[2], &story("S-3", "").replace("[2, 3]", "[1, 2, 3]"))
        .replace(&stories[1], &story("S-2", "depends_on = [\"S-3\"]"));
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", after);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-3", "S-3", "S-3", "S-2", "S-2"], "{}", said(&ended));
    for told in ["S-2: changed in its list: dependencies;", "S-3: changed in its list: stages, dependencies;"] {
        assert!(said(&ended).contains(told), "{}", said(&ended));
    }
}

#[test]
fn story_that_cannot_follow_its_list_is_held_for_the_next_lead() {
    let cases = [
        (
            vec![("S-2", "S-3"), ("S-3", "S-2")],
            ("S-3", "makes units wait for each other: pipeline:S-2, pipeline:S-3"),
            None,
        ),
        (vec![("S-2", "S-9")], ("S-2", "makes it wait for S-9, which this run does not have"), Some(story("S-9", ""))),
    ];
    for (edits, (held, why), more) in cases {
        let yard = yard(HOOK, &["S-1", "S-2", "S-3"].map(|id| story(id, "")).concat(), &[]);
        let before = yard.text("piton.toml").replace("workers = 2", "workers = 1");
        yard.workspace.write("piton.toml", &before);
        yard.commit("one at a time");
        let edited = edits.iter().fold(before.clone(), |text, (id, after)| {
            text.replace(&story(id, ""), &story(id, &format!("depends_on = [\"{after}\"]")))
        });
        let ended = meanwhile(&yard, &["run", "--yes"], || {
            yard.workspace.write("piton.toml", &edited);
        });
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(said(&ended).contains(why) && !workers(&yard).contains(&"S-2".to_owned()), "{}", said(&ended));
        let shown = yard.run(&["why", &format!("pipeline:{held}")]).stdout;
        assert!(shown.contains(why), "{shown}");
        // The user completes the list, or takes the edit back, and types what is printed, or only continues.
        let is_completed = more.is_some();
        yard.workspace.write("piton.toml", more.map_or(before, |more| format!("{edited}{more}")));
        yard.commit("a whole list");
        yard.run(&["approve"]);
        let ended = if is_completed { yard.run(&["run", "--retry"]) } else { yard.run(&["run"]) };
        assert!(workers(&yard).contains(&"S-2".to_owned()), "{}", said(&ended));
    }
}

#[test]
fn criterion_that_is_added_while_its_task_is_worked_on_judges_it() {
    let gate = "[gates]\ntested = \"test -e tested.txt\"\n";
    let yard = yard(HOOK, gate, &[("tasks.toml", &task("subtasks = [\"one\", \"two\"]"))]);
    let list = task("subtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"tested\"]");
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("tasks.toml", &list);
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("gate tested failed") && !is_on_main(&yard, "T1.txt"), "{}", said(&ended));
    // The user sees that it does not fit this task.
    yard.workspace.write("tasks.toml", task("subtasks = [\"one\", \"two\"] # not tested"));
    yard.commit("not tested");
    let ended = yard.run(&["run", "tasks.toml", "--retry", "--yes"]);
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
}

#[test]
fn criterion_that_is_taken_out_of_its_list_does_not_judge_its_task() {
    let list = |criteria: &str| task(&format!("subtasks = [\"one\", \"two\"]\nacceptance_criteria = [{criteria}]"));
    let gate = "[gates]\ntested = \"test -e tested.txt\"\n";
    let yard = yard("", gate, &[("tasks.toml", &list("\"tested\""))]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert!(ended.code == Some(4) && said(&ended).contains("gate tested failed"), "{}", said(&ended));
    // The user sees that it does not fit this task.
    yard.workspace.write("tasks.toml", list(""));
    yard.commit("not tested");
    let ended = yard.run(&["run", "tasks.toml", "--retry", "--yes"]);
    assert!(said(&ended).contains("criteria taken out of its list, and not judged: tested"), "{}", said(&ended));
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
    let archived = yard.read_json("progress/checkpoints/copy-T1-complete.json");
    assert_eq!(archived["acceptance_criteria_met"], serde_json::json!({}));
    yard.run(&["check"]);
}

#[test]
fn subtask_that_is_added_while_its_task_is_worked_on_is_done_in_the_same_run() {
    let list = |steps: &str| task(&format!("subtasks = [{steps}]"));
    for now in ["\"one\", \"two\", \"three\"", "\"one\", \"three\""] {
        let yard = yard(HOOK, "", &[("tasks.toml", &list("\"one\", \"two\""))]);
        yard.workspace.write("piton.toml", yard.text("piton.toml").replace("respawn = 0", "respawn = 1"));
        yard.commit("one more worker");
        let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
            yard.workspace.write("tasks.toml", list(now));
            // The next worker does what its prompt says.
            let rest = r#"keep three; "$PITON" step "$PITON_UNIT" done three; "$PITON" finish "$PITON_UNIT"; exit 0"#;
            set_hook(&yard, &format!("cat > \"$MARKS/told-again\"\n{rest}"));
        });
        assert_eq!((ended.code, is_on_main(&yard, "three.txt")), (Some(0), true), "{now}: {}", said(&ended));
        assert!(told(&yard, "again").contains("the subtask \"three\" of its list"), "{}", told(&yard, "again"));
        assert_eq!(workers(&yard).len(), 2);
    }
}

#[test]
fn story_begins_at_once_when_its_list_has_it_wait_no_more() {
    let yard = yard(HOOK, &format!("{}{}", story("S-1", ""), story("S-2", "depends_on = [\"S-1\"]")), &[]);
    let settings = yard.text("piton.toml").replace("depends_on = [\"S-1\"]", "");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
        let is_done = || yard.text(".pipeline/state.json").contains("\"S-2\": \"DONE\"");
        crate::yard::wait_for("the second story", is_done, || yard.text(".pipeline/state.json"));
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn task_that_is_given_to_another_agent_in_its_list_is_named_with_its_branch() {
    let yard = yard("keep half; exit 1", "", &[("tasks.toml", &task("subtasks = [\"one\", \"two\"]"))]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.workspace.write("tasks.toml", task("subtasks = [\"one\", \"two\"]").replace("copy", "writer"));
    yard.commit("writer does it");
    let left = "left out, because it is gone or no list has it any more: task:copy/T1";
    assert!(yard.run(&["run", "tasks.toml", "--explain"]).stdout.contains(left));
    yard.workspace.write(".worktrees/task-copy-T1/new.txt", "not committed\n");
    let ended = yard.run(&["run", "tasks.toml", "--retry", "--yes"]);
    let named = "task:copy/T1 is in no list of the run any more; the run continues without it; its work is on the branch \
                 feature/copy-T1-one and in .worktrees/task-copy-T1, not committed";
    assert!(said(&ended).contains(named), "{}", said(&ended));
}

#[test]
fn run_of_a_file_works_from_that_file() {
    let backlog = story("S-1", "text = \"Some day.\"\ndepends_on = [\"S-0\"]") + &story("S-0", "");
    let yard = yard(
        r#"cat > "$MARKS/told-$step-$PITON_STAGE""#,
        &backlog,
        &[("today.toml", &story("S-1", "text = \"Today.\""))],
    );
    let ended = yard.run(&["run", "today.toml", "--yes"]);
    assert!(!said(&ended).contains("in its list"), "{}", said(&ended));
    let told = told(&yard, "S-1-2");
    assert!(told.contains("Today.") && !told.contains("Some day."), "{told}");
}

#[test]
fn mended_list_frees_what_it_held_and_a_broken_one_is_named() {
    let yard = yard(HOOK, &["S-1", "S-2"].map(|id| story(id, "")).concat(), &[]);
    let before = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", &before);
    yard.commit("one at a time");
    let after = |name: &str| before.replace(&story("S-2", ""), &story("S-2", &format!("depends_on = [\"{name}\"]")));
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        let events =
            || std::fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
        let told = |text: &str| crate::yard::wait_for(text, || events().contains(text), events);
        yard.workspace.write("piton.toml", after("S-l"));
        told("makes it wait for S-l, which this run does not have");
        yard.workspace.write("piton.toml", format!("{before}\n[[stories]]\nidd = \"S-3\"\n"));
        told("the run keeps to the list as it was");
        yard.workspace.write("piton.toml", after("S-1"));
        told("changed in its list: dependencies");
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-2", "S-2"], "{}", said(&ended));
}

#[test]
fn story_that_nobody_plans_is_told_its_new_text_alone() {
    let yard = yard("exit 1", &story("S-1", "text = \"Listen on port 80.\""), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("port 80", "port 8080"));
    yard.commit("another port");
    set_hook(&yard, r#"cat > "$MARKS/told-$step-$PITON_STAGE""#);
    yard.run(&["run", "--yes", "--retry"]);
    let told = told(&yard, "S-1-2");
    assert!(told.contains("port 8080.") && !told.contains("port 80."), "{told}");
}

#[test]
fn agent_that_names_its_subtasks_otherwise_is_asked_for_no_others() {
    let by_the_book = |names: &[&str]| {
        let items: Vec<String> =
            names.iter().map(|id| format!("{{\"id\":\"{id}\",\"status\":\"complete\"}}")).collect();
        let count = names.len();
        format!(
            "keep {0}\npython3 - \"$PITON_CHECKPOINT\" <<'X'\nimport json, sys\np = sys.argv[1]; d = json.load(open(p))\n\
             d['subtasks'] = {{'total': {count}, 'completed': {count}, 'in_progress': 0, 'failed': 0, 'items': json.loads('[{1}]')}}\n\
             d['status'] = 'complete'; d['progress_percent'] = 100\njson.dump(d, open(p, 'w'))\nX\nexit 0\n",
            names.last().expect("a name"),
            items.join(",")
        )
    };
    let list = |steps: &str| task(&format!("subtasks = [{steps}]"));
    let yard = yard(&by_the_book(&["post-01", "post-02"]), "", &[("tasks.toml", &list("\"one\", \"two\""))]);
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(is_on_main(&yard, "post-02.txt") && workers(&yard).len() == 1, "{}", said(&ended));
}

#[test]
fn criterion_that_is_taken_out_meanwhile_is_not_asked_for() {
    let list = |criteria: &str| task(&format!("subtasks = [\"one\", \"two\"]\nacceptance_criteria = [{criteria}]"));
    // The one is judged by a command, the other is not judged.
    for (criterion, gate) in [("tested", "[gates]\ntested = \"exit 1\"\n"), ("looks good", "")] {
        let yard = yard(HOOK, gate, &[("tasks.toml", &list(&format!("{criterion:?}")))]);
        let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
            yard.workspace.write("tasks.toml", list(""));
        });
        assert_eq!((ended.code, is_on_main(&yard, "T1.txt")), (Some(0), true), "{criterion}: {}", said(&ended));
    }
}
