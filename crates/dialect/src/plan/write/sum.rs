//! The checksum of a plan, computed again after a change without reading everything again.

use sha2::{Digest as _, Sha256};

use super::super::read::checksum_text;

/// In how many parts a text is summed.
const PARTS: usize = 64;

/// A checksum that remembers how it came about, so that a change near the end costs little. Hashing is the larger part
/// of ticking a box in a plan of megabytes.
pub(super) struct Sum {
    /// The state of the computation before each part.
    before: Vec<Sha256>,
    part: usize,
    text: String,
}

impl Sum {
    /// Sums a text.
    pub fn of(bytes: &[u8]) -> Sum {
        let part = (bytes.len() / PARTS).max(4096);
        let mut before = Vec::with_capacity(PARTS + 1);
        let mut hasher = Sha256::new();
        for chunk in bytes.chunks(part) {
            before.push(hasher.clone());
            hasher.update(chunk);
        }
        Sum { before, part, text: checksum_text(&hasher.finalize()) }
    }

    /// The checksum as the state has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The checksum of another text that is the same up to a byte.
    pub fn again(&self, bytes: &[u8], same_until: usize) -> String {
        let part = (same_until.min(bytes.len()) / self.part).min(self.before.len().saturating_sub(1));
        let mut hasher = self.before.get(part).cloned().unwrap_or_default();
        hasher.update(&bytes[(part * self.part).min(bytes.len())..]);
        checksum_text(&hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::checksum;

    #[test]
    fn a_changed_text_has_its_own_sum() {
        for length in [0, 1, 4095, 4096, 4097, 8192, 300_000, 1_000_001] {
            let text: Vec<u8> = (0..length).map(|n: usize| (n % 251) as u8).collect();
            let sum = Sum::of(&text);
            assert_eq!(sum.text(), checksum(&text), "{length}");
            for at in [0, 1, 4095, 4096, length / 2, length.saturating_sub(1)] {
                let mut changed = text.clone();
                changed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
                assert_eq!(sum.again(&changed, at), checksum(&changed), "{length} at {at}");
            }
            let longer = [&text[..], b"more"].concat();
            assert_eq!(sum.again(&longer, length), checksum(&longer), "{length} and more");
        }
    }
}
