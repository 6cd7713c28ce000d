use std::hash::{BuildHasher as _, RandomState};

/// Remembers ids in order to say which of them repeat.
///
/// A plan of 100,000 tasks is read again after every edit, and a map from texts to places would take half of that
/// time in cache misses. This keeps eight bytes an id, in order, and compares only those that share a bit of a small
/// table.
pub(super) struct Ids {
    /// The id's hash in the upper half, its place in the lower.
    hashes: Vec<u64>,
    seed: u64,
}

impl Ids {
    /// Nothing yet, with room for so many. It is seeded, so that no plan can be written to make it slow.
    pub fn new(room: usize) -> Ids {
        Ids { hashes: Vec::with_capacity(room), seed: RandomState::new().hash_one(0) | 1 }
    }

    /// Adds the next id.
    pub fn push(&mut self, id: &str) {
        let mut hash = self.seed ^ id.len() as u64;
        for chunk in id.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let product = u128::from(hash ^ u64::from_le_bytes(word)) * u128::from(self.seed);
            hash = product as u64 ^ (product >> 64) as u64;
        }
        self.hashes.push(hash & 0xffff_ffff_0000_0000 | self.hashes.len() as u64);
    }

    /// Keeps the ids whose hash begins as that of another: few, when there are 16 beginnings for each id.
    fn keep_suspects(&mut self) {
        let bits = (self.hashes.len() as u64 * 16).next_power_of_two().clamp(64, 1 << 32);
        let place = |hash: u64| {
            let bit = hash >> (64 - bits.trailing_zeros());
            ((bit / 64) as usize, 1 << (bit % 64))
        };
        let (mut seen, mut twice) = (vec![0u64; (bits / 64) as usize], Vec::new());
        for hash in &self.hashes {
            let (word, bit) = place(*hash);
            if seen[word] & bit != 0 {
                twice.push((word, bit));
            }
            seen[word] |= bit;
        }
        if twice.is_empty() {
            return self.hashes.clear();
        }
        seen.fill(0);
        twice.iter().for_each(|(word, bit)| seen[*word] |= bit);
        self.hashes.retain(|hash| {
            let (word, bit) = place(*hash);
            seen[word] & bit != 0
        });
    }

    /// The places that repeat an earlier one: pairs of the earlier and the later place, by the later.
    pub fn repeated<'t>(mut self, id_at: impl Fn(usize) -> &'t str) -> Vec<(usize, usize)> {
        self.keep_suspects();
        self.hashes.sort_unstable();
        let mut repeated = Vec::new();
        for same_hash in self.hashes.chunk_by(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
            // Nearly always one id; two different ones share a hash once in four thousand million pairs.
            let mut last_places: Vec<usize> = Vec::new();
            for place in same_hash.iter().map(|hash| (hash & 0xffff_ffff) as usize) {
                match last_places.iter_mut().find(|last| id_at(**last) == id_at(place)) {
                    Some(last) => repeated.push((std::mem::replace(last, place), place)),
                    None => last_places.push(place),
                }
            }
        }
        repeated.sort_unstable_by_key(|(_, later)| *later);
        repeated
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_repetition_is_found_with_the_place_before_it() {
        let ids: Vec<String> = (0..1000).map(|i| format!("task-{}", i % 700)).chain(["task-0".into()]).collect();
        let mut table = Ids::new(0);
        ids.iter().for_each(|id| table.push(id));
        let want: Vec<_> = (700..1000).map(|place| (place - 700, place)).chain([(700, 1000)]).collect();
        assert_eq!(table.repeated(|place| &ids[place]), want);
    }

    proptest! {
        /// Whatever repeats, however much of it: the same as a map says.
        #[test]
        fn what_repeats_is_what_a_map_says(
            ids in proptest::collection::vec((0u32..1500).prop_map(|id| format!("t{id}")), 0..1000),
        ) {
            let mut table = Ids::new(0);
            ids.iter().for_each(|id| table.push(id));
            let mut last = HashMap::new();
            let repeats = ids.iter().enumerate().filter_map(|(place, id)| Some((last.insert(id, place)?, place)));
            let want: Vec<(usize, usize)> = repeats.collect();
            prop_assert_eq!(table.repeated(|place| &ids[place]), want);
        }
    }
}
