//! Work whose merge is not on the base is not called done: the user decides whether it is merged again, or is there in another
//! form.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Yard, wait_for};

const STORIES: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\n\
                       stages = [2, 3]\ndepends_on = [\"S-1\"]\n";

const TASKS: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n[[tasks]]\nagent = \"copy\"\n\
                     id = \"T2\"\ntitle = \"T2\"\nsubtasks = [\"one\", \"two\"]\n";

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n\
                    <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|known| *known == step).count()
}

/// The stories after the first is merged and the second has failed. Documents are ignored by git.
fn half_done() -> (Yard, String) {
    let yard = yard(r#"if [ "$step" = S-2 ]; then exit 1; fi"#, STORIES, &[]);
    let start = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(4), true), "{}", said(&ended));
    set_hook(&yard, "");
    (yard, start)
}

#[test]
fn story_whose_merge_is_off_the_base_is_asked_about_before_it_is_built_on() {
    let (yard, start) = half_done();
    yard.git(&["reset", "-q", "--hard", &start]);
    let explained = yard.run(&["run", "--explain"]);
    assert!(said(&explained).contains("is not on main"), "{}", said(&explained));
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, count(&yard, "S-2")), (Some(4), 1), "{}", said(&ended));
    assert!(said(&ended).contains("is not on main; merge it again: piton run --retry"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "S-1.txt") && !is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
    let before = count(&yard, "S-1");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, count(&yard, "S-1")), (Some(0), before), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn story_that_the_base_has_in_another_form_is_done_when_its_user_says_so() {
    let (yard, start) = half_done();
    yard.git(&["reset", "-q", "--hard", &start]);
    yard.workspace.write("one.txt", "in other words\n");
    yard.commit("S-1 in another form");
    let ended = yard.piton(&["run"]);
    let text = said(&ended);
    assert!(text.contains("where main has it in another form, say so: git merge -s ours "), "{text}");
    let commit = text.split("git merge -s ours ").nth(1).and_then(|rest| rest.split(';').next()).expect("it is named");
    yard.git(&["merge", "-q", "-s", "ours", "-m", "S-1 is there", commit]);
    let before = count(&yard, "S-1");
    yard.piton(&["run"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, count(&yard, "S-1")), (Some(0), before), "{}", said(&ended));
    assert_eq!(yard.text("one.txt"), "in other words\n");
    assert!(is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn story_whose_commit_the_user_amends_squashes_or_rebases_is_done() {
    for form in ["amend", "squash"] {
        let (yard, start) = half_done();
        yard.workspace.write("S-1.txt", "corrected\n");
        match form {
            "amend" => drop(yard.git(&["commit", "-q", "-a", "--amend", "--no-edit"])),
            _ => {
                yard.git(&["reset", "-q", "--soft", &start]);
                yard.commit("all of it");
            }
        }
        let before = count(&yard, "S-1");
        let ended = yard.piton(&["run", "--retry"]);
        assert_eq!((ended.code, count(&yard, "S-1")), (Some(0), before), "{form}: {}", said(&ended));
        assert!(is_on_main(&yard, "S-2.txt") && yard.text("S-1.txt") == "corrected\n", "{form}: {}", said(&ended));
    }
}

#[test]
fn story_that_another_branch_has_is_not_done_on_this_one() {
    let yard = yard("", STORIES.split("[[stories]]\nid = \"S-2\"").next().unwrap_or_default(), &[]);
    yard.git(&["checkout", "-q", "-b", "feat"]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(0));
    yard.git(&["checkout", "-q", "main"]);
    let second = STORIES.split("stages = [2, 3]\n").nth(1).unwrap_or_default();
    yard.workspace
        .write("piton.toml", format!("{}{second}stages = [2, 3]\ndepends_on = [\"S-1\"]\n", yard.text("piton.toml")));
    yard.commit("another story");
    let ended = yard.piton(&["run"]);
    assert_eq!((ended.code, count(&yard, "S-2")), (Some(4), 0), "{}", said(&ended));
    assert!(said(&ended).contains("is not on main; merge it again: piton run --retry"), "{}", said(&ended));
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn task_and_step_whose_merges_are_off_the_base_are_asked_about() {
    for (wanted, step, next) in [("tasks.toml", "T1", "T2"), ("plan:p", "a", "b")] {
        // Without files that it names, nothing but its merge proves a step.
        let plain =
            r#"if [ -n "${PITON_STEP:-}" ]; then keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; exit 0; fi"#;
        let yard = yard(&format!("if [ \"$step\" = {next} ]; then exit 1; fi\n{plain}"), "", &[("tasks.toml", TASKS)]);
        yard.workspace.write(".gitignore", format!("{}plans/\n", yard.text(".gitignore")));
        yard.commit("plans are ignored");
        yard.workspace.write("plans/p/plan.md", PLAN);
        let start = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
        assert_eq!(yard.piton(&["run", wanted, "--yes"]).code, Some(4));
        assert!(is_on_main(&yard, &format!("{step}.txt")));
        yard.git(&["reset", "-q", "--hard", &start]);
        set_hook(&yard, plain);
        let before = count(&yard, step);
        let ended = yard.piton(&["run", wanted, "--retry"]);
        assert_eq!((ended.code, count(&yard, step)), (Some(4), before), "{wanted} {}", said(&ended));
        let want = format!("is not on main; merge it again: piton run {wanted} --retry");
        assert!(said(&ended).contains(&want), "{wanted} {}", said(&ended));
        let ended = yard.piton(&["run", wanted, "--retry"]);
        assert_eq!((ended.code, count(&yard, step)), (Some(0), before), "{wanted} {}", said(&ended));
        assert!(is_on_main(&yard, &format!("{step}.txt")), "{wanted} {}", said(&ended));
    }
}

#[test]
fn living_lead_builds_nothing_on_what_was_taken_off_the_base() {
    let stories = STORIES.replace("depends_on = [\"S-1\"]", "depends_on = [\"S-1\", \"S-3\"]");
    let third = "[[stories]]\nid = \"S-3\"\nstages = [2, 3]\n";
    let yard = yard(r#"if [ "$step$PITON_STAGE" = S-32 ]; then hold S-3; fi"#, &format!("{stories}{third}"), &[]);
    let start = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let ended = meanwhile(&yard, &["run", "--yes"], "S-3", || {
        let is_done = || yard.text(".pipeline/state.json").contains("\"S-1\"") && is_on_main(&yard, "S-1.txt");
        wait_for("the work of S-1", is_done, || yard.piton(&["status"]).stdout);
        let is_recorded = || yard.run(&["status", "pipeline:S-1"]).stdout.contains("done");
        wait_for("its record", is_recorded, || yard.piton(&["status"]).stdout);
        yard.git(&["reset", "-q", "--hard", &start]);
    });
    assert_eq!((ended.code, count(&yard, "S-2")), (Some(4), 0), "{}", said(&ended));
    let want = "it builds on pipeline:S-1, whose merge";
    assert!(said(&ended).contains(want), "{}", said(&ended));
    let ended = yard.piton(&["run", "--retry"]);
    assert!(said(&ended).contains("is not on main; merge it again: piton run --retry"), "{}", said(&ended));
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt") && is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
    assert!(fs::exists(yard.workspace.path("S-1.txt")).unwrap_or(false));
}

#[test]
fn step_that_named_its_files_is_asked_about_too() {
    let plan = PLAN.replace("- [ ] B <!-- TASK: b -->\n", "- [ ] B <!-- TASK: b -->\n- [ ] C <!-- TASK: c -->\n");
    let yard = yard(r#"if [ "$step" = c ]; then exit 1; fi"#, "", &[("plans/p/plan.md", &plan)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let text = yard.text("plans/p/plan.md");
    yard.git(&["checkout", "-q", "plans"]);
    yard.git(&["reset", "-q", "--hard", "HEAD~1"]);
    yard.workspace.write("plans/p/plan.md", text);
    assert!(!is_on_main(&yard, "b.txt"));
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert!(said(&ended).contains("is not on main; merge it again"), "{}", said(&ended));
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!((ended.code, count(&yard, "b")), (Some(0), 1), "{}", said(&ended));
    assert!(is_on_main(&yard, "b.txt") && is_on_main(&yard, "c.txt"), "{}", said(&ended));
}
