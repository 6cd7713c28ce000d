//! Branches and commits that a document names. No protocol asks for them, and documents have them all the same, under keys
//! of many spellings.

use crate::json::{self, Kind, Value};

/// How many are looked for.
const MOST: usize = 20;

/// What a document names of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitNames {
    /// Branches.
    pub branches: Vec<String>,
    /// Commits, by the digits they are named with.
    pub commits: Vec<String>,
}

/// Finds the branches and commits that a JSON document names; none in anything else.
pub fn git_names(bytes: &[u8]) -> GitNames {
    let mut names = GitNames::default();
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if let Ok(json) = json::parse(text.trim_start_matches('\u{feff}')) {
        look_at(json.root(), &mut names);
    }
    names
}

fn look_at(value: Value<'_, '_>, names: &mut GitNames) {
    match value.kind() {
        Kind::Object => {
            for (key, value) in value.entries() {
                if let (Some(key), Some(text)) = (key.as_str(), value.as_str()) {
                    take(&key.to_ascii_lowercase(), &text, names);
                } else {
                    look_at(value, names);
                }
            }
        }
        Kind::Array => value.items().for_each(|item| look_at(item, names)),
        Kind::Null | Kind::True | Kind::False | Kind::Number | Kind::String => {}
    }
}

fn take(key: &str, text: &str, names: &mut GitNames) {
    let (list, name) = if key == "branch" || key.ends_with("_branch") || key.ends_with("branch_name") {
        (&mut names.branches, branch(text))
    } else if key.contains("commit") || key == "sha" || key.ends_with("_sha") {
        (&mut names.commits, commit(text))
    } else {
        return;
    };
    if let Some(name) = name.filter(|name| list.len() < MOST && !list.contains(name)) {
        list.push(name);
    }
}

/// A name that git would accept; not a sentence about one.
fn branch(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+#@".contains(c);
    let is_name = !text.is_empty()
        && text.len() <= 200
        && text.chars().all(is_plain)
        && !text.starts_with(['-', '/', '.'])
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('/');
    is_name.then(|| text.to_owned())
}

/// The digits that a text begins with: often the subject of the commit follows.
fn commit(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    let is_commit = (7..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, branches: &[&str], commits: &[&str]) {
        let found = git_names(document.as_bytes());
        assert_eq!(found.branches, branches, "{document}");
        assert_eq!(found.commits, commits, "{document}");
    }

    #[test]
    fn branches_and_commits_are_found_wherever_they_stand() {
        check(
            r#"{"branch": "feature/quay", "deep": [{"merge_commit_sha": "9BDCE996"}]}"#,
            &["feature/quay"],
            &["9bdce996"],
        );
        check(r#"{"feature_branch": "a", "branch_name": "b", "sha": "0123456"}"#, &["a", "b"], &["0123456"]);
        check(r#"{"last_commit": "357ffea4 build: end of it"}"#, &[], &["357ffea4"]);
    }

    #[test]
    fn words_that_are_none_are_passed_over() {
        check(r#"{"branch": "the one of last week", "commit": "<the SHA>", "branches": "x"}"#, &[], &[]);
        check(r#"{"branch": "--upload-pack=x", "branch_name": "a..b", "commit_sha": "12"}"#, &[], &[]);
        check(r#"{"branch": null, "commit": 12345678}"#, &[], &[]);
        check("not json", &[], &[]);
    }
}
