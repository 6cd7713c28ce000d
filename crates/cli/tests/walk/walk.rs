//! One walk: work at random, workers in every mood, a user who interferes; then all of it is led to its end.

use std::collections::{BTreeMap, BTreeSet};

use crate::dice::Dice;
use crate::ground::{Ground, Lead};
use crate::work::{self, Work};
use crate::{checks, settle, user};

const DIALECTS: [&str; 5] = ["pipeline", "plan", "build", "task", "crew"];

/// What workers do besides their work. Each mood concerns one start, so that the walk can end.
const MOODS: [&str; 14] = [
    "good", "good", "good", "good", "slow", "slow", "book", "fails", "nothing", "blocks", "dies", "dirty", "conflict",
    "limit",
];
const MORE_MOODS: [&str; 3] = ["mute", "killed", "refuses"];

pub struct Walk {
    pub ground: Ground,
    pub dice: Dice,
    pub work: Work,
    pub lead: Option<Lead>,
    /// Steps that the user did, ticked or skipped, and when.
    pub by_hand: BTreeMap<String, u128>,
    /// Units whose work the user asked for again, so that it may be done twice.
    pub again: BTreeSet<String>,
    /// Files that the user committed to `main`.
    pub committed: Vec<String>,
    /// Files that the user left uncommitted, with their text.
    pub uncommitted: BTreeMap<String, String>,
    /// How many things the user made; gives each its own name.
    pub made: usize,
    pub is_stashed: bool,
    pub is_aside: bool,
}

/// Walks; panics when something does not hold.
pub fn walk(ground: Ground, seed: u64, result: &mut Option<Ground>) {
    let mut dice = Dice::new(seed);
    let dialect = std::env::var("PITON_WALK_DIALECT").ok();
    let dialect = DIALECTS.into_iter().find(|each| Some(*each) == dialect.as_deref());
    let any = dice.pick(&DIALECTS);
    let work = work::lay(&ground, &mut dice, dialect.unwrap_or(any));
    for step in &work.steps {
        let moods = (0..dice.below(3)).map(|_| mood(&mut dice)).collect::<Vec<_>>().join("\n");
        ground.note(&format!("moods of {}: {}", step.key, moods.replace('\n', " ")));
        std::fs::write(ground.outer("moods").join(&step.key), moods + "\n").expect("moods can be written");
    }
    let walk = Walk {
        ground,
        dice,
        work,
        lead: None,
        by_hand: BTreeMap::new(),
        again: BTreeSet::new(),
        committed: Vec::new(),
        uncommitted: BTreeMap::new(),
        made: 0,
        is_stashed: false,
        is_aside: false,
    };
    let mut walk = Kept { walk: Some(walk), result };
    let walk = walk.walk.as_mut().expect("it is there until it is dropped");
    for _ in 0..1 + walk.dice.below(4) {
        walk.episode();
    }
    settle::settle(walk);
    checks::check(walk);
}

/// Hands the ground back, also when the walk panics: it has the transcript.
struct Kept<'a> {
    walk: Option<Walk>,
    result: &'a mut Option<Ground>,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Some(walk) = self.walk.take() {
            *self.result = Some(walk.ground);
        }
    }
}

fn mood(dice: &mut Dice) -> &'static str {
    if dice.one_in(6) { dice.pick(&MORE_MOODS) } else { dice.pick(&MOODS) }
}

impl Walk {
    /// A run with what the user does meanwhile, and how the user ends it.
    fn episode(&mut self) {
        let retry = if self.dice.one_in(3) { " --retry" } else { "" };
        let yes = if self.dice.one_in(4) { "" } else { " --yes" };
        let named = if self.work.named.is_empty() { String::new() } else { format!(" {}", self.work.named) };
        self.lead = Some(self.ground.leads(&format!("piton run{named}{yes}{retry}")));
        for _ in 0..self.dice.below(3) {
            self.events_later();
            user::acts(self);
        }
        self.events_later();
        let mut lead = self.lead.take().expect("it was started above");
        match self.dice.below(6) {
            0 | 1 => lead.signal("-KILL"),
            2 => lead.signal("-INT"),
            3 => drop(self.ground.types("piton stop")),
            4 => drop(self.ground.types("piton stop --workers")),
            _ => {}
        }
        let ended = lead.wait(&self.ground);
        let is_documented = matches!(ended.code, None | Some(0 | 1 | 4 | 6));
        assert!(is_documented, "`{}` ended with {:?}", ended.line, ended.code);
        if ended.code == Some(0) {
            // Another run would begin from the branch that is checked out.
            user::switch_back(self);
        }
        for _ in 0..self.dice.below(3) {
            user::acts(self);
        }
    }

    /// The command that runs all of it.
    pub fn run_again(&self) -> String {
        format!("piton run {} --yes", self.work.named).replace("  ", " ")
    }

    /// Waits until the lead has told some more events, or has ended.
    fn events_later(&mut self) {
        let count = self.ground.events().len() + self.dice.below(7);
        let Some(lead) = self.lead.as_mut() else { return };
        let ground = &self.ground;
        ground.wait_for("events", || lead.has_ended() || ground.events().len() >= count);
    }

    /// The workers that were started: time in milliseconds, unit, step.
    pub fn ledger(&self) -> Vec<(u128, String, String)> {
        let text = std::fs::read_to_string(self.ground.outer("ledger")).unwrap_or_default();
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            Some((words.first()?.parse().ok()?, (*words.get(1)?).to_owned(), (*words.get(2)?).to_owned()))
        };
        text.lines().filter_map(line).collect()
    }
}

/// The time in milliseconds since 1970.
pub fn now() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later than 1970").as_millis()
}
