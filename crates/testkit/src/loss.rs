//! What is left of the files when the process dies, or the machine.

use crate::CrashDisk;
use crate::state::{DirectoryNode, FileNode, Node, Pending};

/// What a power cut does to what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerLoss {
    /// Names are kept; contents are as they were synced last.
    ContentsLost,
    /// Names are kept; of the last write to a file a part arrived, and of those before it all.
    ContentsTorn,
    /// Names are kept; files have their length, and zeros where nothing was synced.
    ContentsZeroed,
    /// Each directory has the names of its last sync; contents are kept.
    NamesLost,
    /// Each directory is as it was at some moment since its last sync, each file as in one of the other models. The
    /// seed decides.
    Mixed(u64),
}

impl PowerLoss {
    /// One of each kind.
    pub fn all(seed: u64) -> [PowerLoss; 5] {
        [
            PowerLoss::ContentsLost,
            PowerLoss::ContentsTorn,
            PowerLoss::ContentsZeroed,
            PowerLoss::NamesLost,
            PowerLoss::Mixed(seed),
        ]
    }
}

impl CrashDisk {
    /// The disk as the next process finds it: everything is as it was, and locks are free.
    pub fn after_kill(&self) -> CrashDisk {
        CrashDisk::from_state(self.state().copy())
    }

    /// The disk as the next process finds it when the machine lost power.
    pub fn after_power_loss(&self, loss: PowerLoss) -> CrashDisk {
        let mut state = self.state().copy();
        state.boot += 1;
        let mut dice = Dice(match loss {
            PowerLoss::Mixed(seed) => seed,
            _ => 0,
        });
        for node in &mut state.nodes {
            match node {
                Node::File(file) => lose_contents(file, loss, &mut dice),
                Node::Directory(directory) => lose_names(directory, loss, &mut dice),
            }
        }
        CrashDisk::from_state(state)
    }
}

fn lose_names(directory: &mut DirectoryNode, loss: PowerLoss, dice: &mut Dice) {
    match loss {
        PowerLoss::ContentsLost | PowerLoss::ContentsTorn | PowerLoss::ContentsZeroed => {}
        PowerLoss::NamesLost => directory.names = directory.past[0].clone(),
        PowerLoss::Mixed(_) => {
            let chosen = dice.roll(directory.past.len() + 1);
            if let Some(names) = directory.past.get(chosen) {
                directory.names = names.clone();
            }
        }
    }
    directory.sync();
}

/// What becomes of the bytes of a file that were not synced.
#[derive(Clone, Copy)]
enum Unsynced {
    Lost,
    /// The beginning of the last write arrived.
    Torn,
    /// The end of the last write arrived, and its beginning is zero.
    TornAtStart,
    Zeroed,
    Kept,
}

fn lose_contents(file: &mut FileNode, loss: PowerLoss, dice: &mut Dice) {
    let each = [Unsynced::Lost, Unsynced::Torn, Unsynced::TornAtStart, Unsynced::Zeroed, Unsynced::Kept];
    let unsynced = match loss {
        PowerLoss::ContentsLost => Unsynced::Lost,
        PowerLoss::ContentsTorn => Unsynced::Torn,
        PowerLoss::ContentsZeroed => Unsynced::Zeroed,
        PowerLoss::NamesLost => Unsynced::Kept,
        PowerLoss::Mixed(_) => each[dice.roll(each.len())],
    };
    let mut bytes = file.durable.clone();
    let last = file.pending.iter().rposition(|change| matches!(change, Pending::Write { .. }));
    for (number, change) in file.pending.iter().enumerate() {
        let is_last = Some(number) == last;
        match (change, unsynced) {
            (_, Unsynced::Lost) => {}
            (Pending::Write { at, bytes: new }, Unsynced::Torn) if is_last => {
                // The length may reach the disk before the bytes do.
                bytes.resize(bytes.len().max(at + new.len() * 3 / 4), 0);
                Pending::Write { at: *at, bytes: new[..new.len() / 2].to_vec() }.apply(&mut bytes);
            }
            (Pending::Write { at, bytes: new }, Unsynced::TornAtStart) if is_last => {
                let half = new.len() / 2;
                let torn = [vec![0; half], new[half..].to_vec()].concat();
                Pending::Write { at: *at, bytes: torn }.apply(&mut bytes);
            }
            (Pending::Write { at, bytes: new }, Unsynced::Zeroed) => {
                Pending::Write { at: *at, bytes: vec![0; new.len()] }.apply(&mut bytes);
            }
            (change, _) => change.apply(&mut bytes),
        }
    }
    file.bytes = bytes.clone();
    file.durable = bytes;
    file.pending.clear();
}

/// Numbers that look like chance and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}
