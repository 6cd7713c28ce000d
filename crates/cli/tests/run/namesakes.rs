//! Agents of one name in two epics, as the crew's protocol names them: each keeps its branch, whoever else comes.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, wait_for};

fn agent(epic: &str) -> String {
    format!(
        "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"{epic}-bells\"\ntext = \"Do.\"\nepic = \"epics/{epic}\"\n"
    )
}

/// Does the feature of its own epic, and leaves the epic's name in a file.
const FINISHES: &str = r#"keep "whole-$(basename "$(dirname "$(dirname "$PITON_CHECKPOINT")")")"
"$PITON" step "$PITON_UNIT" done 1 2 3
"$PITON" finish "$PITON_UNIT"
exit 0
"#;

#[test]
fn agent_continues_on_its_branch_when_a_namesake_comes() {
    let (one, two) = (agent("one"), agent("two"));
    // Both from the beginning, or the other one later.
    for first in [format!("{one}{two}"), one.clone()] {
        let yard = yard("keep half; exit 1", "", &[("crew.toml", &first)]);
        assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
        let before = workers(&yard).len();
        set_hook(&yard, FINISHES);
        yard.workspace.write("crew.toml", format!("{one}{two}"));
        yard.commit("the crew");
        let ended = yard.run(&["run", "crew.toml", "--yes", "--retry"]);
        for file in ["half.txt", "whole-one.txt", "whole-two.txt"] {
            assert!(is_on_main(&yard, file), "{file}: {}", said(&ended));
        }
        assert!(!said(&ended).contains("is there already"), "{}", said(&ended));
        assert_eq!(workers(&yard).len(), before + 2, "{}", said(&ended));
        // What is done stays done under each of its names.
        for name in ["crew:epics/one/Secondary-A", "crew:one/Secondary-A"] {
            yard.run(&["run", name, "--yes"]);
        }
        yard.run(&["run", "crew.toml", "--yes"]);
        assert_eq!(workers(&yard).len(), before + 2);
    }
}

#[test]
fn agents_of_one_name_in_two_lists_are_two() {
    let yard = yard("keep half; exit 1", "", &[("one.toml", &agent("one")), ("two.toml", &agent("two"))]);
    assert_eq!(yard.piton(&["run", "one.toml", "--yes"]).code, Some(4));
    set_hook(&yard, FINISHES);
    yard.run(&["run", "two.toml", "--yes"]);
    let shown = yard.run(&["status"]).stdout;
    let rows: Vec<&str> = shown.lines().filter(|line| line.contains("Secondary-A") && line.starts_with("  ")).collect();
    let of = |epic: &str| rows.iter().find(|row| row.contains(epic)).copied().unwrap_or_default();
    assert!(of("one").contains("paused") && of("two").contains("done"), "{shown}");
    // The command in the first line continues the one that is paused.
    assert!(shown.starts_with("run 1 ") && shown.contains(": piton run one.toml --retry\n"), "{shown}");
    let ended = yard.run(&["run", "one.toml", "--retry"]);
    assert!(is_on_main(&yard, "whole-one.txt"), "{}", said(&ended));
    let shown = yard.run(&["status"]).stdout;
    assert!(!shown.contains("paused") && !shown.contains("run 1"), "{shown}");
}

#[test]
fn agent_keeps_its_unit_when_a_namesake_begins_in_another_epic() {
    let hook = format!("keep half; hold it\n{FINISHES}");
    let yard = yard(&hook, "", &[("crew.toml", &agent("one"))]);
    let lead = yard.types(&["run", "crew.toml", "--yes"]);
    wait_for("the worker", || yard.outer("marks/held-it").exists(), || yard.piton(&["status"]).stdout);
    yard.run(&["start", "crew:epics/two/Secondary-A", "--feature", "two-bells"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = lead.end();
    assert_eq!(workers(&yard).len(), 1, "{}", said(&ended));
    assert!(is_on_main(&yard, "whole-one.txt"), "{}", said(&ended));
}

/// A workspace with one epic, and an agent whose list says so, or leaves it out, or spells the agent otherwise.
fn one_epic(list: &str, hook: &str) -> Yard {
    let gate = "[gates]\ntest = \"test -e ready.txt\"\n";
    yard(hook, gate, &[("crew.toml", list), ("epics/one/EPIC_README.md", "# Epic\n")])
}

#[test]
fn agent_is_one_however_its_list_calls_it() {
    let listed = agent("one");
    for list in
        [listed.clone(), listed.replace("epic = \"epics/one\"\n", ""), listed.replace("Secondary-A", "secondary-a")]
    {
        let yard = one_epic(&list, FINISHES);
        if list.contains("secondary-a") {
            yard.run(&["start", "crew:epics/one/Secondary-A", "--feature", "one-bells", "--by", "me"]);
            yard.run(&["pause", "crew:epics/one/Secondary-A", "--reason", "for the crew"]);
        }
        let ended = yard.piton(&["run", "crew.toml", "--yes", "--retry"]);
        assert!(ended.code == Some(4) && said(&ended).contains("gate test failed"), "{list}\n{}", said(&ended));
        yard.workspace.write("ready.txt", "x\n");
        yard.commit("ready");
        let ended = yard.run(&["run", "crew:Secondary-A", "--retry"]);
        assert!(is_on_main(&yard, "whole-one.txt"), "{list}\n{}", said(&ended));
        assert_eq!(workers(&yard).len(), 1, "{list}\n{}", said(&ended));
        let shown = yard.run(&["status"]).stdout;
        assert!(!shown.contains("run 1") && !shown.contains("paused"), "{list}\n{shown}");
    }
}

#[test]
fn agent_without_an_epic_in_its_list_is_adopted_by_the_next_lead() {
    let list = agent("one").replace("epic = \"epics/one\"\n", "");
    let yard = one_epic(&list, &format!("keep ready; hold it\n{FINISHES}"));
    let mut lead = yard.command(&["run", "crew.toml", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-it").exists(), || yard.piton(&["status"]).stdout);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it ends");
    let lead = yard.types(&["run", "crew.toml", "--yes"]);
    let told = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for("the adoption", || told().contains("\"adopted\""), told);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = lead.end();
    assert!(is_on_main(&yard, "whole-one.txt") && workers(&yard).len() == 1, "{}", said(&ended));
}

#[test]
fn run_is_over_when_another_agent_did_its_work() {
    let list = agent("one");
    let yard = yard("keep half; exit 1", "", &[("crew.toml", &list)]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    yard.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]);
    set_hook(&yard, FINISHES);
    yard.workspace.write("crew.toml", list.replace("Secondary-A", "Secondary-C"));
    yard.commit("another agent");
    let ended = yard.run(&["run", "crew.toml"]);
    let shown = yard.run(&["status"]).stdout;
    assert!(!shown.contains("run 1"), "{shown}{}", said(&ended));
}

#[test]
fn agent_that_is_spelt_otherwise_is_waited_for_merged_and_adopted() {
    let two = agent("one").replace("Secondary-A", "Secondary-B") + "depends_on = [\"secondary-a\"]\n";
    let list = agent("one").replace("Secondary-A", "secondary-a") + &two;
    let hook = format!("case $step in *[Aa]) keep ready;; esac\n{FINISHES}");
    let yard = one_epic(&list, &hook);
    yard.run(&["start", "crew:epics/one/Secondary-A", "--feature", "one-bells", "--by", "me"]);
    yard.run(&["pause", "crew:epics/one/Secondary-A", "--reason", "for the crew"]);
    let ended = yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "whole-one.txt") && workers(&yard).len() == 2, "{}", said(&ended));
}

#[test]
fn agents_of_a_list_that_are_one_unit_are_refused() {
    let list = format!("{}{}", agent("one").replace("epic = \"epics/one\"\n", ""), agent("one"));
    let yard = one_epic(&list, FINISHES);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    let why = "Secondary-A and epics/one/Secondary-A of the list are one agent, crew:epics/one/Secondary-A";
    assert!(ended.code == Some(2) && said(&ended).contains(why), "{}", said(&ended));
}
