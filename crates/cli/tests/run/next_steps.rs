//! `status` and `why` name one next step of a run without a lead. Typing it moves the work on.

use std::fs;

use crate::dialects::SPEC as TWO_AT_ONCE;
use crate::ways_out::{each_dialect, run_with};
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, finish, wait_for};

const TASKS: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";

/// The commands of a line that ends with them.
fn commands(line: &str) -> Option<&str> {
    line.find(": piton ").map(|at| &line[at + 2..])
}

/// What `status` prints first, which is also what `why` prints about the unit.
fn next(yard: &Yard, unit: &str) -> String {
    let status = yard.run(&["status"]).stdout;
    let by_status = status.lines().next().and_then(commands).unwrap_or_else(|| panic!("no command: {status}"));
    let why = yard.run(&["why", unit]).stdout;
    let by_why = why.lines().find(|line| line.starts_with("next ")).and_then(commands);
    assert_eq!(by_why, Some(by_status), "{status}\n{why}");
    let by_json = yard.json(&["status", "--json"])["run"]["command"].clone();
    assert_eq!(by_json, by_status, "{status}");
    by_status.to_owned()
}

/// Types it, and answers with what the work needs.
fn types(yard: &Yard, line: &str) -> Ended {
    let mut ended = None;
    for command in line.split(" && ") {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let words: Vec<&str> = words.iter().map(|word| if *word == "TEXT" { "under the mat" } else { word }).collect();
        ended = Some(yard.piton(&words));
    }
    ended.expect("a command")
}

/// Types what is printed about a unit, which brings its run to the end.
#[track_caller]
fn arrives(yard: &Yard, unit: &str) -> String {
    let line = next(yard, unit);
    let ended = types(yard, &line);
    assert_eq!(ended.code, Some(0), "{line}\n{}", said(&ended));
    line
}

#[test]
fn a_question_is_answered_and_the_run_continues() {
    for (yard, unit, work) in each_dialect() {
        assert_eq!(run_with(&yard, "blocks", &["run", work, "--yes"]).code, Some(4), "{unit}");
        let line = arrives(&yard, unit);
        assert!(line.starts_with(&format!("piton unblock {unit} --message TEXT && piton run ")), "{line}");
    }
}

#[test]
fn a_question_beside_a_failure_is_answered_and_the_failure_is_tried_again() {
    let spec = "docs/EXECUTION-SPEC-PRD-031.md";
    let hook = r#"case $step in WS1) keep WS1; "$PITON" step $PITON_UNIT done WS1 --output WS1.txt; exit 0 ;;
WS2) exit 3 ;; *) until grep -q "exited with 3" "$MARKS/../workspace/.piton/run/runs/1/events.jsonl"; do sleep 0.02; done
"$PITON" block "$PITON_UNIT" --message "where is the key?"; exit 0 ;; esac"#;
    let yard = yard(hook, "", &[(spec, TWO_AT_ONCE)]);
    let ended = yard.piton(&["run", spec, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    set_hook(&yard, "");
    assert!(next(&yard, "build:PRD-031").ends_with(" --retry"), "{}", next(&yard, "build:PRD-031"));
    arrives(&yard, "build:PRD-031");
}

#[test]
fn a_gate_that_a_person_judges_is_judged_and_the_run_continues() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Nice <!-- ACCEPT: nice -->\n\n\
                ## Two\n<!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";
    let yard = yard("", "", &[("plans/p/plan.md", plan)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    let line = arrives(&yard, "plan:p");
    assert_eq!(line, "piton gate plan:p pass nice && piton run plan:p");
    assert_eq!(workers(&yard), ["a", "b"]);
}

/// Begins a run whose worker is held, stops it with its workers or lets it come to its end, and pauses the unit meanwhile.
fn paused(yard: &Yard, unit: &str, work: &str, is_stopped: bool) {
    let lead = yard.command(&["run", work, "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-it").exists(), || yard.piton(&["status"]).stdout);
    if is_stopped {
        yard.run(&["stop", "--workers"]);
        finish(lead);
        yard.run(&["pause", unit, "--message", "not yet"]);
    } else {
        yard.run(&["pause", unit, "--message", "not yet"]);
        fs::write(yard.outer("marks/go"), "").expect("it can be written");
        let ended = finish(lead);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
    }
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
}

#[test]
fn what_a_person_paused_is_continued_by_one_command() {
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";
    let crew = r#"hold it; keep "$step"; for at in 1 2 3 4 5 6; do "$PITON" step "$PITON_UNIT" done $at; done
"$PITON" finish "$PITON_UNIT"; exit 0"#;
    for (unit, work, path, text, hook) in [
        ("crew:Secondary-A", "crew.toml", "crew.toml", agent, crew),
        ("task:copy/T1", "tasks.toml", "tasks.toml", TASKS, "hold it"),
        ("plan:p", "plan:p", "plans/p/plan.md", plan, "hold it"),
    ] {
        for is_stopped in [false, true] {
            let yard = yard(hook, "", &[(path, text)]);
            paused(&yard, unit, work, is_stopped);
            let begun = workers(&yard).len();
            let ended = yard.piton(&["run", work, "--yes"]);
            assert_eq!((ended.code, workers(&yard).len()), (Some(4), begun), "{unit}: {}", said(&ended));
            arrives(&yard, unit);
        }
        // Also as the first command that is typed after the pause.
        let yard = yard(hook, "", &[(path, text)]);
        paused(&yard, unit, work, true);
        arrives(&yard, unit);
    }
}

#[test]
fn an_approval_after_a_pause_continues_a_task() {
    let task = TASKS.replace("subtasks", "acceptance_criteria = [\"fine\"]\nsubtasks");
    let gate = "[gates]\nfine = \"sh check.sh\"\n";
    let yard = yard("echo '# more' >> check.sh", gate, &[("tasks.toml", &task), ("check.sh", "test -e README.md\n")]);
    yard.run(&["approve", "--commands", "tasks.toml"]);
    assert_eq!(yard.piton(&["run", "tasks.toml"]).code, Some(4));
    yard.run(&["pause", "task:copy/T1", "--message", "look first"]);
    assert_eq!(arrives(&yard, "task:copy/T1"), "piton approve task:copy/T1 && piton run tasks.toml");
}

#[test]
fn a_task_that_its_user_is_at_is_taken_over_by_what_is_printed() {
    let yard = yard("exit 3", "", &[("tasks.toml", TASKS)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.run(&["resume", "task:copy/T1"]);
    yard.run(&["step", "task:copy/T1", "done", "one"]);
    let status = yard.run(&["status"]).stdout;
    let line = status.lines().next().and_then(commands).expect("a command").to_owned();
    assert_eq!(line, "piton run tasks.toml --retry");
    let ended = types(&yard, &line);
    assert_eq!((ended.code, is_on_main(&yard, "T1.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_board_that_is_stashed_is_brought_back_and_not_begun_anew() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let yard = yard("keep part; exit 3", story, &[(".gitignore", ".piton/\n.worktrees/\n")]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.git(&["stash", "-u", "-q"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
    let told = "its document is gone; bring it back: piton repair pipeline:S-1";
    assert!(said(&ended).contains(told), "{}", said(&ended));
    yard.run(&["repair", "pipeline:S-1"]);
    arrives(&yard, "pipeline:S-1");
    assert!(is_on_main(&yard, "part.txt"));
}

/// A worker that knows one command, and then types what each answer says is next.
const FOLLOWS: &str = r#"keep "$PITON_STEP$PITON_STAGE"
while [ -n "$next" ]; do
  said=$(eval "$next" 2>&1) || { echo "refused: $next: $said"; exit 0; }
  echo "$next" >> "$MARKS/typed"
  next=$(printf '%s\n' "$said" | sed -n 's/^next: .*: \(piton .*\)/\1/p' | sed 's/--score N/--score 3/')
done
exit 0"#;

fn follows(first: &str, more: &str, files: &[(&str, &str)], named: &str) -> (Yard, String) {
    let yard = yard(&format!("piton() {{ \"$PITON\" \"$@\"; }}\nnext='{first}'\n{FOLLOWS}"), more, files);
    let ended = yard.piton(&["run", named, "--yes"]);
    let typed = fs::read_to_string(yard.outer("marks/typed")).unwrap_or_default();
    assert_eq!(ended.code, Some(0), "{typed}{}", said(&ended));
    (yard, typed)
}

#[test]
fn an_agent_of_a_crew_is_led_from_step_to_step_to_the_end() {
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let (yard, typed) = follows("piton step crew:Secondary-A done 1", "", &[("crew.toml", agent)], "crew.toml");
    let steps = ["step crew:Secondary-A done 1", "step crew:Secondary-A done 2", "step crew:Secondary-A done 3"];
    let rest = [
        "stage crew:Secondary-A S2.P2",
        "step crew:Secondary-A done 4",
        "stage crew:Secondary-A S2.P3",
        "step crew:Secondary-A done 5",
        "finish crew:Secondary-A",
    ];
    let wanted: String = steps.iter().chain(&rest).map(|words| format!("piton {words}\n")).collect();
    assert_eq!((typed, workers(&yard).len()), (wanted, 1));
}

#[test]
fn a_worker_that_types_on_after_the_end_is_not_told_to_open_its_unit_again() {
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let hook = r#"keep part; for at in 1 2 3; do "$PITON" step "$PITON_UNIT" done $at; done
for at in S2.P2 S2.P3; do "$PITON" stage "$PITON_UNIT" $at; done; "$PITON" finish "$PITON_UNIT"
"$PITON" step "$PITON_UNIT" done 4 > "$MARKS/said" 2>&1; exit 0"#;
    let yard = yard(hook, "", &[("crew.toml", agent)]);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    let told = fs::read_to_string(yard.outer("marks/said")).expect("an answer");
    assert!(ended.code == Some(0) && told.contains("end now") && !told.contains("piton reopen"), "{told}");
}

#[test]
fn an_agent_of_a_task_is_led_to_the_end_past_criteria_that_the_lead_judges() {
    let list = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"works\", \"manual\"]\n";
    let gates = "[gates]\nworks = \"true\"\n";
    let (_, typed) = follows("piton step task:copy/T1 done one", gates, &[("tasks.toml", list)], "tasks.toml");
    let rest = [
        "step task:copy/T1 done one",
        "step task:copy/T1 done two",
        "gate task:copy/T1 pass manual",
        "finish task:copy/T1",
    ];
    assert_eq!(typed, rest.map(|words| format!("piton {words}\n")).concat());
}

#[test]
fn a_unit_that_is_paused_after_its_workers_failed_can_be_finished_as_the_documents_say() {
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let hook = r#"keep "$step"; for at in 1 2 3; do "$PITON" step "$PITON_UNIT" done $at; done
for at in S2.P2 S2.P3; do "$PITON" stage "$PITON_UNIT" $at; done; exit 0"#;
    let yard = yard(hook, "", &[("crew.toml", agent)]);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    assert!(ended.code == Some(4) && said(&ended).contains("paused"), "{}", said(&ended));
    yard.run(&["finish", "crew:Secondary-A"]);
    assert!(yard.run(&["finish", "crew:Secondary-A"]).stdout.contains("already complete"));
    let ended = yard.piton(&["run", "crew.toml"]);
    assert!(said(&ended).contains("it was finished by hand"), "{}", said(&ended));
    arrives(&yard, "crew:Secondary-A");
    assert!(is_on_main(&yard, "Secondary-A.txt"));
}

#[test]
fn an_agent_with_no_step_left_is_told_to_finish() {
    let agent = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01\"\ntype = \"secondary\"\n";
    let hook = r#"keep "$step"; for at in 1 2 3 4 5 6; do "$PITON" step "$PITON_UNIT" done $at; done; exit 0"#;
    let yard = yard(hook, "", &[("crew.toml", agent)]);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    let told = "no step is open, and it did not enter the next stage, S2.P2";
    assert!(ended.code == Some(4) && said(&ended).contains(told), "{}", said(&ended));
    set_hook(&yard, r#""$PITON" finish "$PITON_UNIT"; exit 0"#);
    arrives(&yard, "crew:Secondary-A");
    assert!(is_on_main(&yard, "Secondary-A.txt"));
}
