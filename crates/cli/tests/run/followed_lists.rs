//! What was done by a list that its user edited while a lead was at work, or before the next one, stays done; what they take
//! out of it again is asked no more.

use std::fs;

use crate::delisted::meanwhile;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, wait_for};

/// Holds each worker the first time, and keeps its prompt.
const HOOK: &str = r#"cat > "$MARKS/told-$step"
if [ "$PITON_STAGE" != 3 ] && ! [ -e "$MARKS/go" ]; then hold first; fi
"#;

fn story(id: &str, title: &str) -> String {
    format!("[[stories]]\nid = \"{id}\"\ntitle = \"{title}\"\nstages = [2, 3]\n")
}

fn task(id: &str, rest: &str) -> String {
    format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\ntitle = \"{id}\"\n{rest}\n")
}

/// Records the subtasks that its prompt has as open, and finishes.
const OBEYS: &str = r#"cat > "$MARKS/told-$step"; keep "$step"
for part in $(sed -n 's/^| - \[ \] //p' "$MARKS/told-$step"); do "$PITON" step "$PITON_UNIT" done "$part"; done
"$PITON" finish "$PITON_UNIT"; exit 0"#;

fn tasks(first: &str, gates: &str, hook: &str) -> Yard {
    yard(hook, gates, &[("tasks.toml", &task("T1", first))])
}

fn list(yard: &Yard, text: &str) {
    yard.workspace.write("tasks.toml", text);
    yard.commit("another list");
}

const TWO: &str = "subtasks = [\"one\", \"two\"]";
const THREE: &str = "subtasks = [\"one\", \"two\", \"three\"]";

#[test]
fn task_that_got_a_subtask_stays_done_when_its_archive_is_tidied_away() {
    let yard = tasks(TWO, "", &format!("[ -e \"$MARKS/go\" ] || hold first\n{OBEYS}"));
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("tasks.toml", task("T1", THREE));
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let before = workers(&yard).len();
    fs::remove_dir_all(yard.workspace.path("progress/checkpoints")).expect("it is there");
    list(&yard, &format!("{}{}", task("T1", THREE), task("T2", TWO)));
    let shown = yard.run(&["run", "tasks.toml", "--explain"]).stdout;
    let one = shown.split("task:copy/T2").next().unwrap_or_default();
    assert!(one.contains("    is done\n"), "{shown}");
    let ended = yard.run(&["run", "tasks.toml"]);
    assert_eq!(workers(&yard)[before..], ["T2"], "{}", said(&ended));
}

#[test]
fn story_whose_title_was_corrected_stays_done_when_its_board_is_stashed() {
    let yard = yard(HOOK, &story("S-1", "One"), &[]);
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.commit("documents are committed");
    let edited = yard.text("piton.toml").replace("\"One\"", "\"The one\"");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", &edited);
        wait_for("the edit", || told(&yard, "changed in its list: title"), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    yard.git(&["add", "piton.toml"]);
    yard.git(&["commit", "-qm", "a title"]);
    yard.git(&["stash", "-u", "-q"]);
    yard.workspace.write("piton.toml", format!("{edited}{}", story("S-2", "Two")));
    yard.git(&["commit", "-qam", "another story"]);
    let ended = yard.run(&["run", "--yes"]);
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-2", "S-2"], "{}", said(&ended));
    assert!(!said(&ended).contains("if that is other work"), "{}", said(&ended));
}

fn told(yard: &Yard, text: &str) -> bool {
    fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).is_ok_and(|told| told.contains(text))
}

#[test]
fn task_whose_subtasks_are_taken_out_is_done_as_a_whole() {
    let yard = tasks(&format!("text = \"Write it.\"\n{TWO}"), "", "exit 1");
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    list(&yard, &task("T1", "text = \"Write it.\""));
    set_hook(&yard, OBEYS);
    let ended = yard.run(&["run", "tasks.toml", "--retry"]);
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
    let told = fs::read_to_string(yard.outer("marks/told-T1")).expect("a prompt");
    assert!(told.contains("| - [ ] T1\n"), "{told}");
}

#[test]
fn criterion_that_is_added_and_taken_out_again_does_not_judge() {
    let with = format!("{TWO}\nacceptance_criteria = [\"tested\"]");
    let yard = tasks(
        TWO,
        "[gates]\ntested = \"test -e tested.txt\"\n",
        &format!("[ -e \"$MARKS/go\" ] || hold first\n{OBEYS}"),
    );
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("tasks.toml", task("T1", &with));
        wait_for("the edit", || told(&yard, "changed in its list: criteria"), || yard.piton(&["status"]).stdout);
    });
    assert!(ended.code == Some(4) && said(&ended).contains("gate tested failed"), "{}", said(&ended));
    let before = workers(&yard).len();
    list(&yard, &task("T1", TWO));
    let ended = yard.run(&["run", "tasks.toml", "--retry", "--yes"]);
    assert!(is_on_main(&yard, "T1.txt"), "{}", said(&ended));
    assert!(workers(&yard).len() <= before + 1, "{}", said(&ended));
}

#[test]
fn subtask_that_is_added_and_corrected_is_asked_as_it_was_corrected() {
    let yard = tasks(TWO, "", "exit 1");
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    list(&yard, &task("T1", "subtasks = [\"one\", \"two\", \"thre\"]"));
    assert_eq!(yard.piton(&["run", "tasks.toml", "--retry"]).code, Some(4));
    list(&yard, &task("T1", THREE));
    set_hook(&yard, OBEYS);
    let ended = yard.run(&["run", "tasks.toml", "--retry"]);
    let told = fs::read_to_string(yard.outer("marks/told-T1")).expect("a prompt");
    assert!(told.contains("| - [ ] three\n") && !told.contains("| - [ ] thre\n"), "{told}\n{}", said(&ended));
}

#[test]
fn criterion_that_a_done_task_gets_is_named_with_the_command_that_opens_it() {
    let yard = tasks(TWO, "[gates]\ntested = \"test -e tested.txt\"\n", "keep tested");
    yard.run(&["run", "tasks.toml", "--yes"]);
    list(&yard, &task("T1", &format!("{TWO}\nacceptance_criteria = [\"tested\"]")));
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    let open = "it is done without what its list has: the criterion \"tested\"; open it for the next run: piton reopen \
                task:copy/T1";
    assert!(said(&ended).contains(open), "{}", said(&ended));
    yard.run(&["reopen", "task:copy/T1"]);
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(said(&ended).contains("gate tested passed"), "{}", said(&ended));
}

#[test]
fn story_that_is_put_back_into_its_list_is_done() {
    let all = ["S-1", "S-2", "S-3"].map(|id| story(id, id));
    let hook = r#"if [ "$PITON_STAGE" = 2 ] && [ "$step" != S-2 ]; then
: > "$MARKS/held-$step"; while [ ! -e "$MARKS/go-$step" ]; do sleep 0.02; done; fi"#;
    let yard = yard(hook, &all.concat(), &[]);
    let whole = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", &whole);
    yard.commit("one at a time");
    let lead = yard.types(&["run", "--yes"]);
    let held = |id: &str| {
        let mark = yard.outer(&format!("marks/held-{id}"));
        wait_for(id, || mark.exists(), || yard.piton(&["status"]).stdout);
    };
    let go = |id: &str| fs::write(yard.outer(&format!("marks/go-{id}")), "").expect("it can be written");
    held("S-1");
    yard.workspace.write("piton.toml", whole.replace(&all[1], ""));
    go("S-1");
    held("S-3");
    assert!(told(&yard, "it was taken out of its list; no worker starts"));
    yard.workspace.write("piton.toml", &whole);
    wait_for("the edit", || told(&yard, "it is in its list again"), || yard.piton(&["status"]).stdout);
    go("S-3");
    let ended = lead.end();
    assert!(said(&ended).contains("done: 3 of 3 done") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn story_that_is_taken_out_of_its_list_is_not_counted_as_done() {
    let yard = yard(HOOK, &format!("{}{}", story("S-1", "One"), story("S-2", "Two")), &[]);
    let one = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", &one);
    yard.commit("one at a time");
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        yard.workspace.write("piton.toml", one.replace(&story("S-2", "Two"), ""));
    });
    assert!(ended.code == Some(0) && said(&ended).contains("done: 1 of 1 done"), "{}", said(&ended));
    let shown = yard.run(&["status"]).stdout;
    assert!(!shown.contains("run 1"), "{shown}");
}

#[test]
fn text_that_is_edited_while_gates_run_is_told_with_the_command_that_does_it() {
    let yard = yard("cat > \"$MARKS/told-$step\"", "", &[]);
    let marks = yard.outer("marks").display().to_string();
    let gate = format!("[gates]\nslow = \": > {marks}/gate; while [ ! -e {marks}/go ]; do sleep 0.02; done\"\n");
    let settings = format!("{}{gate}{}", yard.text("piton.toml"), story("S-1", "One"));
    yard.workspace.write("piton.toml", format!("{settings}text = \"port 80\"\n"));
    yard.commit("a story");
    let lead = yard.types(&["run", "--yes"]);
    wait_for("the gate", || yard.outer("marks/gate").exists(), || yard.piton(&["status"]).stdout);
    yard.workspace.write("piton.toml", format!("{settings}text = \"port 8080\"\n"));
    let edit = "changed in its list: text; its work is complete, and no worker reads that; when it is done, open it \
                again: piton reopen pipeline:S-1";
    wait_for("the edit", || told(&yard, edit), || yard.piton(&["status"]).stdout);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    lead.end();
    yard.run(&["reopen", "pipeline:S-1"]);
    let ended = yard.run(&["run"]);
    let prompt = fs::read_to_string(yard.outer("marks/told-S-1")).expect("a prompt");
    assert!(prompt.contains("port 8080"), "{}", said(&ended));
}

#[test]
fn lane_that_was_paused_before_it_began_is_retried_when_the_run_has_ended() {
    let yard = yard(HOOK, &format!("{}{}", story("S-1", "One"), story("S-2", "Two")), &[]);
    let ready = yard.outer("marks/ready").display().to_string();
    let setup = format!("[worktree]\nsetup = \"case $PWD in *S-2*) test -e {ready};; esac\"\n");
    let settings = format!("{}{setup}", yard.text("piton.toml"));
    yard.workspace.write("piton.toml", settings);
    yard.commit("a set-up");
    let mut next = String::new();
    let ended = meanwhile(&yard, &["run", "--yes"], || {
        let why = || yard.piton(&["why", "pipeline:S-2"]).stdout;
        wait_for("the pause", || why().contains("fix it, and retry"), why);
        next = why();
        fs::write(&ready, "").expect("it can be written");
        // It shows the run to its end, which names the retry.
        let watch = yard.types(&["run"]);
        fs::write(yard.outer("marks/go"), "").expect("it can be written");
        watch.ends_with(4);
    });
    assert!(next.contains("fix it, and retry when the run has ended; watch the run until then: piton run\n"), "{next}");
    assert!(ended.code == Some(4) && said(&ended).contains(": piton run --retry\n"), "{}", said(&ended));
    let ended = yard.run(&["run", "--retry"]);
    assert!(is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn checkpoint_that_is_gone_is_asked_for_before_the_run_too() {
    let yard = yard("if [ \"$PITON_STAGE\" = 3 ]; then exit 1; fi", &story("S-1", "One"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    fs::remove_file(yard.workspace.path(".pipeline/checkpoint-S-1.json")).expect("it is there");
    let shown = yard.run(&["run", "--explain", "--retry"]).stdout;
    assert!(shown.contains("bring it back: piton repair pipeline:S-1"), "{shown}");
    yard.run(&["repair", "pipeline:S-1"]);
    set_hook(&yard, "");
    let ended = yard.run(&["run", "--retry"]);
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn what_is_added_elsewhere_than_in_the_runs_file_is_not_named() {
    let yard = tasks(TWO, "", HOOK);
    let settings = format!("{}{}", yard.text("piton.toml"), story("S-9", "Nine"));
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("piton.toml", settings);
        yard.workspace.write("tasks.toml", format!("{}{}", task("T1", TWO), task("T9", TWO)));
        wait_for("the edit", || told(&yard, "new in its list: "), || yard.piton(&["status"]).stdout);
    });
    let next = "next: do what its list got meanwhile, task:copy/T9: piton run tasks.toml\n";
    assert!(ended.stdout.ends_with(next), "{}", said(&ended));
    yard.run(&["run", "tasks.toml"]);
    assert_eq!(workers(&yard), ["T1", "T9"]);
}

#[test]
fn subtask_that_a_tidied_task_gets_is_done_alone() {
    let yard = tasks(TWO, "", OBEYS);
    yard.run(&["run", "tasks.toml", "--yes"]);
    fs::remove_dir_all(yard.workspace.path("progress/checkpoints")).expect("it is there");
    list(&yard, &task("T1", THREE));
    let shown = yard.run(&["run", "tasks.toml", "--explain"]).stdout;
    assert!(!shown.contains("    is done\n"), "{shown}");
    set_hook(&yard, &format!("date > \"$step.log\"\n{OBEYS}"));
    let ended = yard.run(&["run", "tasks.toml"]);
    let told = fs::read_to_string(yard.outer("marks/told-T1")).expect("a prompt");
    assert!(told.contains("| - [ ] three\n") && !told.contains("| - [ ] one\n"), "{told}{}", said(&ended));
    // It stays done, whatever happens to its document.
    for _ in 0..2 {
        let before = workers(&yard).len();
        for words in [&["run", "tasks.toml", "--explain"][..], &["run", "tasks.toml"]] {
            let shown = said(&yard.run(words));
            assert!(!shown.contains("done without"), "{words:?}: {shown}");
        }
        assert_eq!(workers(&yard).len(), before);
        let _ = fs::remove_dir_all(yard.workspace.path("progress/checkpoints"));
    }
}

#[test]
fn task_whose_document_is_in_the_stash_is_not_done_anew_for_a_subtask() {
    let yard = tasks(TWO, "", OBEYS);
    yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
    yard.commit("documents are committed");
    yard.run(&["run", "tasks.toml", "--yes"]);
    yard.git(&["stash", "-u", "-q"]);
    yard.workspace.write("tasks.toml", task("T1", THREE));
    yard.git(&["commit", "-qm", "three", "tasks.toml"]);
    let ended = yard.run(&["run", "tasks.toml"]);
    let told = "it is done without three of its list; bring its document back: git stash pop, and run it again";
    assert!(said(&ended).contains(told) && workers(&yard).len() == 1, "{}", said(&ended));
}

#[test]
fn subtask_that_is_put_back_is_asked_for() {
    let yard = tasks(TWO, "", "exit 1");
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    list(&yard, &task("T1", "subtasks = [\"one\"]"));
    assert_eq!(yard.piton(&["run", "tasks.toml", "--retry"]).code, Some(4));
    list(&yard, &task("T1", TWO));
    set_hook(&yard, OBEYS);
    let ended = yard.run(&["run", "tasks.toml", "--retry"]);
    let told = fs::read_to_string(yard.outer("marks/told-T1")).expect("a prompt");
    assert!(told.contains("| - [ ] two\n"), "{told}{}", said(&ended));
}

#[test]
fn title_that_is_edited_under_the_last_worker_is_told_with_the_command_that_does_it() {
    let yard = tasks(TWO, "", &format!("[ -e \"$MARKS/go\" ] || hold first\n{OBEYS}"));
    let edited = task("T1", TWO).replace("title = \"T1\"", "title = \"The one\"");
    let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], || {
        yard.workspace.write("tasks.toml", &edited);
        let edit = "changed in its list: title; its last worker is at work, and does not read that; when it is done, open \
                    it again: piton reopen task:copy/T1";
        wait_for("the edit", || told(&yard, edit), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    yard.commit("a title");
    let shown = yard.run(&["run", "tasks.toml", "--explain"]).stdout;
    assert!(shown.contains("it is done as \"T1\", and its list has \"The one\""), "{shown}");
    yard.run(&["reopen", "task:copy/T1"]);
    let ended = yard.run(&["run", "tasks.toml"]);
    let told = fs::read_to_string(yard.outer("marks/told-T1")).expect("a prompt");
    assert!(told.contains("The one"), "{told}{}", said(&ended));
}

#[test]
fn task_that_its_user_began_anew_by_hand_is_done_as_it_is_listed() {
    let yard = tasks("subtasks = [\"one\"]", "", OBEYS);
    yard.run(&["run", "tasks.toml", "--yes"]);
    list(&yard, &task("T1", "subtasks = [\"one\"]").replace("title = \"T1\"", "title = \"The one\""));
    let named = "it is done as \"T1\", and its list has \"The one\"; if that is other work, begin it";
    assert!(said(&yard.run(&["run", "tasks.toml"])).contains(named));
    yard.run(&["start", "task:copy/T1", "--title", "The one", "--step", "one"]);
    yard.run(&["step", "task:copy/T1", "done", "one"]);
    yard.run(&["finish", "task:copy/T1"]);
    for words in [&["run", "tasks.toml", "--explain"][..], &["run", "tasks.toml"]] {
        let shown = said(&yard.run(words));
        assert!(!shown.contains("it is done as"), "{words:?}: {shown}");
    }
}

#[test]
fn agent_that_is_taken_out_of_its_list_before_its_turn_gets_no_worker() {
    let agent = |name: &str, wave: u8| {
        format!(
            "[[agents]]\nagent = \"{name}\"\nfeature = \"{name}\"\ntext = \"x\"\nepic = \"epics/t\"\nwave = {wave}\n"
        )
    };
    let hook = "case $step in *A) hold first;; esac; keep \"$step\"; \"$PITON\" step \"$PITON_UNIT\" done 1 2 3; \
                \"$PITON\" finish \"$PITON_UNIT\"; exit 0";
    let (one, two) = (agent("Secondary-A", 1), agent("Secondary-B", 2));
    let yard = yard(hook, "", &[("crew.toml", &format!("{one}{two}"))]);
    let ended = meanwhile(&yard, &["run", "crew.toml", "--yes"], || {
        yard.workspace.write("crew.toml", &one);
    });
    assert!(is_on_main(&yard, "Secondary-A.txt") && !is_on_main(&yard, "Secondary-B.txt"), "{}", said(&ended));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}
