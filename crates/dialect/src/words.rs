//! Status words as real files hold them: other case, hyphens, synonyms.

/// The words of one key: what the protocol writes, and what means the same.
#[derive(Debug)]
pub struct Words {
    /// The protocol's own words, spelled as it spells them.
    pub canonical: &'static [&'static str],
    /// Other words, in lower case with `_`, and the canonical word each stands for.
    pub synonyms: &'static [(&'static str, &'static str)],
    /// Whether a text that is none of these still has a meaning of its own.
    pub is_understood: fn(&str) -> bool,
}

/// For [`Words::is_understood`], where nothing else has a meaning.
pub fn nothing_else(_: &str) -> bool {
    false
}

/// What a text is among [`Words`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// One of the protocol's words, spelled right.
    Exact(&'static str),
    /// One of them in another spelling, or a synonym.
    Folded(&'static str),
    /// A word that the protocol does not have, but whose meaning is clear.
    Other,
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
        match canonical.or_else(synonym) {
            Some(word) => Word::Folded(word),
            None if (self.is_understood)(text) => Word::Other,
            None => Word::Unknown,
        }
    }
}

impl Word {
    /// The protocol's word for it.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Word::Exact(word) | Word::Folded(word) => Some(word),
            Word::Other | Word::Unknown => None,
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
            is_understood: |text| text == "paused",
        };
        for (text, want) in [
            ("in_progress", Word::Exact("in_progress")),
            ("in-progress", Word::Folded("in_progress")),
            ("In Progress", Word::Folded("in_progress")),
            ("COMPLETED", Word::Folded("complete")),
            ("executing", Word::Folded("in_progress")),
            ("no_go", Word::Folded("NO-GO")),
            ("complete (all but the tests)", Word::Unknown),
            ("paused", Word::Other),
            ("", Word::Unknown),
        ] {
            assert_eq!(words.read(text), want, "{text}");
        }
    }
}
