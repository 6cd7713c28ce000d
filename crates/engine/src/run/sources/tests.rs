use piton_supervisor::GitError;

use super::{Found, History, Source, judge};

/// What git says: one version of a file a letter, nothing where there is none.
#[derive(Debug, Clone, Copy)]
struct Git {
    is_base_here: bool,
    on_head: Option<&'static str>,
    is_written_by_git: bool,
    is_stashed: bool,
}

impl History for Git {
    fn is_base_here(&self) -> Result<bool, GitError> {
        Ok(self.is_base_here)
    }

    fn on_head(&self) -> Result<Option<Vec<u8>>, GitError> {
        Ok(self.on_head.map(|text| text.as_bytes().to_vec()))
    }

    fn is_written_by_git(&self) -> Result<bool, GitError> {
        Ok(self.is_written_by_git)
    }

    fn is_stashed(&self, _: &[u8]) -> Result<bool, GitError> {
        Ok(self.is_stashed)
    }
}

const HERE: Git = Git { is_base_here: true, on_head: None, is_written_by_git: true, is_stashed: false };
const EDITED: Git = Git { is_written_by_git: false, ..HERE };
const STASHED: Git = Git { is_stashed: true, ..HERE };

fn elsewhere(on_head: Option<&'static str>) -> Git {
    Git { is_base_here: false, on_head, ..HERE }
}

#[test]
fn what_counts_is_the_users_word() {
    let same = Found::Same;
    let gits = Found::PutByGit;
    let to = |text: &str| Found::Changed(Some(text.as_bytes().to_vec()));
    let (a, b, c) = (Some("a"), Some("b"), Some("c"));
    // As the user had it, as the base had it then, as the lead began; as it is now, as the base has it now.
    let cases = [
        ("nothing happened", (a, a, a), (a, a), HERE, same),
        ("an edit", (a, a, a), (b, a), EDITED, to("b")),
        ("an edit that is committed", (a, a, a), (b, b), HERE, to("b")),
        ("an edit that is committed since it was seen", (b, a, a), (b, b), HERE, Found::Same),
        ("a commit that is reverted", (b, b, b), (a, a), HERE, to("a")),
        ("an edit that is stashed", (b, a, b), (a, a), STASHED, Found::PutByGit),
        ("an edit that is undone in an editor", (b, a, b), (a, a), EDITED, to("a")),
        ("an edit that is discarded under the lead that did not begin with it", (b, a, a), (a, a), HERE, to("a")),
        ("a pull", (a, a, a), (b, b), HERE, to("b")),
        ("an untracked file that is edited", (a, None, a), (b, None), EDITED, to("b")),
        ("an untracked file that is stashed", (a, None, a), (None, None), STASHED, Found::PutByGit),
        ("an untracked file that is removed", (a, None, a), (None, None), HERE, Found::Changed(None)),
        ("a file that is removed", (a, a, a), (None, a), EDITED, Found::Changed(None)),
        ("another branch with the same", (a, a, a), (a, a), elsewhere(a), Found::Same),
        ("another branch", (a, a, a), (b, a), elsewhere(b), Found::PutByGit),
        ("another branch that has no such file", (a, a, a), (None, a), elsewhere(None), Found::PutByGit),
        ("another branch, and an edit there", (a, a, a), (c, a), elsewhere(b), Found::PutByGit),
        ("another branch, and the base moved", (a, a, a), (b, c), elsewhere(b), to("c")),
        ("another branch that was taken for an edit", (b, a, a), (b, a), elsewhere(b), to("a")),
        ("another branch, and an edit that came along", (b, a, b), (b, a), elsewhere(a), Found::Same),
        ("another branch, and an untracked file", (a, None, a), (b, None), elsewhere(None), to("b")),
        ("a file of another branch alone", (None, None, None), (b, None), elsewhere(b), gits),
    ];
    for (what, (text, before, began), (now, on_base), git, expected) in cases {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let known = Source { text: bytes(text), on_base: bytes(before), began: bytes(began) };
        let found = judge(&known, now.map(str::as_bytes), on_base.map(str::as_bytes), &git).expect("git answers");
        assert_eq!(found, expected, "{what}");
    }
}
