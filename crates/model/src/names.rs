/// Names in their order, in one piece of memory: of the steps of a plan there may be a hundred thousand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// Where each of them ends in the text.
    ends: Vec<usize>,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }

    /// The first of them.
    pub fn first(&self) -> Option<&str> {
        self.iter().next()
    }

    /// All of them behind each other, as one text.
    pub fn joined(&self) -> &str {
        &self.text
    }
}

impl<S: AsRef<str>> Extend<S> for Names {
    fn extend<I: IntoIterator<Item = S>>(&mut self, names: I) {
        for name in names {
            self.text.push_str(name.as_ref());
            self.ends.push(self.text.len());
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Names {
        let mut all = Names::default();
        all.extend(names);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_as_they_went_in() {
        for names in [&[][..], &["one"], &["one", "", "two words", "ü"], &["", ""]] {
            let all: Names = names.iter().collect();
            assert_eq!(all.iter().collect::<Vec<_>>(), names);
            assert_eq!(
                (all.len(), all.is_empty(), all.first()),
                (names.len(), names.is_empty(), names.first().copied())
            );
            assert_eq!(all.joined(), names.concat());
        }
    }

    #[test]
    fn the_same_text_in_other_pieces_is_another_list() {
        assert_ne!(Names::from_iter(["ab", "c"]), Names::from_iter(["a", "bc"]));
    }
}
