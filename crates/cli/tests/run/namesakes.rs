//! Agents of one name in two epics, as the crew's protocol names them: each keeps its branch, whoever else comes.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};

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
