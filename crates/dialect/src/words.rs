//! Status words as real files hold them: other case, hyphens, synonyms.

/// The words of one key: what the protocol writes, and what means the same.
#[derive(Debug)]
pub struct Words {
    /// The protocol's own words, spelled as it spells them.
    pub canonical: &'static [&'static str],
    /// Other words, in lower case with `_`, and the canonical word each stands for.
    pub synonyms: &'static [(&'static str, &'static str)],
}

/// What a text is among [`Words`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// One of the protocol's words, spelled right.
    Exact(&'static str),
    /// One of them in another spelling, or a synonym.
    Folded(&'static str),
    /// Something else, perhaps a whole sentence.
    Unknown,
}

impl Words {
    /// Finds the word that a text means.
    pub fn read(&self, text: &str) -> Word {
        if let Some(word) = self.canonical.iter().find(|word| **word == text) {
            return Word::Exact(word);
        }
        let folded = fold(text);
        let canonical = self.canonical.iter().find(|word| fold(word) == folded).copied();
        let synonym = || self.synonyms.iter().find(|(synonym, _)| *synonym == folded).map(|(_, word)| *word);
        canonical.or_else(synonym).map_or(Word::Unknown, Word::Folded)
    }
}

impl Word {
    /// The protocol's word for it.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Word::Exact(word) | Word::Folded(word) => Some(word),
            Word::Unknown => None,
        }
    }
}

fn fold(text: &str) -> String {
    let separator = |c: char| matches!(c, '-' | ' ' | '_');
    let parts: Vec<_> = text.trim().split(separator).filter(|part| !part.is_empty()).collect();
    parts.join("_").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fold_but_sentences_do_not() {
        let words = Words {
            canonical: &["in_progress", "complete", "NO-GO"],
            synonyms: &[("completed", "complete"), ("executing", "in_progress")],
        };
        for (text, want) in [
            ("in_progress", Word::Exact("in_progress")),
            ("in-progress", Word::Folded("in_progress")),
            ("In Progress", Word::Folded("in_progress")),
            ("COMPLETED", Word::Folded("complete")),
            ("executing", Word::Folded("in_progress")),
            ("no_go", Word::Folded("NO-GO")),
            ("complete (all but the tests)", Word::Unknown),
            ("", Word::Unknown),
        ] {
            assert_eq!(words.read(text), want, "{text}");
        }
    }
}
