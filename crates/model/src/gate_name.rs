//! Which gate a name means. People write `tests-pass` in a plan and `tests_pass` in the settings, and mean one gate.

use crate::Dialect;

/// A name of a gate as it is compared: case, `-` and `_` make no difference.
pub fn fold_gate(name: &str) -> String {
    name.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Whether two names differ in case, `-` and `_` alone.
pub fn is_same_gate(one: &str, other: &str) -> bool {
    fold_gate(one) == fold_gate(other)
}

/// Whether two names are one gate of a unit. A build's documents spell a gate as they like; elsewhere a name is an id.
pub fn is_gate(dialect: Dialect, one: &str, other: &str) -> bool {
    one == other || dialect == Dialect::Build && is_same_gate(one, other)
}

/// The known name that `wanted` means: the same one, else the only one that differs from it in case, `-` and `_` alone. Two
/// such names are two gates, and neither of them is meant.
pub fn meant_gate<'n>(known: impl IntoIterator<Item = &'n str>, wanted: &str) -> Option<&'n str> {
    let (mut meant, mut is_ambiguous) = (None, false);
    for name in known {
        if name == wanted {
            return Some(name);
        }
        if is_same_gate(name, wanted) {
            is_ambiguous |= meant.is_some_and(|other| other != name);
            meant = Some(name);
        }
    }
    meant.filter(|_| !is_ambiguous)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_itself_or_the_only_one_that_is_spelled_like_it() {
        for (known, wanted, want) in [
            (&["lint", "tests_pass"][..], "tests-pass", Some("tests_pass")),
            (&["Tests_Pass"], "tests-pass", Some("Tests_Pass")),
            (&["tests_pass", "tests-pass"], "tests-pass", Some("tests-pass")),
            (&["tests-pass", "tests_pass"], "tests-pass", Some("tests-pass")),
            (&["tests_pass", "Tests-pass"], "tests-pass", None),
            (&["tests_pass", "tests_pass"], "tests-pass", Some("tests_pass")),
            (&["tests"], "tests-pass", None),
            (&[], "lint", None),
        ] {
            assert_eq!(meant_gate(known.iter().copied(), wanted), want, "{wanted} of {known:?}");
        }
    }
}
