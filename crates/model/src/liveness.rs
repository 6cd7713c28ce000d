use std::fmt;
use std::time::Duration;

use crate::{Age, Claim, Dialect, Time};

/// Whether somebody really works on a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Liveness {
    /// A process fact says that the worker is gone.
    Dead,
    /// No sign for so long that the worker has probably crashed.
    Stale,
    /// No sign for longer than expected; perhaps slow.
    Late,
    /// A recent sign of life.
    Alive,
    /// A worker is claimed, but no sign of it could be read.
    Unknown,
    /// Nobody is expected to work on it now.
    Idle,
}

impl Liveness {
    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            Liveness::Alive => "alive",
            Liveness::Late => "late",
            Liveness::Stale => "stale",
            Liveness::Dead => "dead",
            Liveness::Idle => "idle",
            Liveness::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// How long silence is tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From this age on a worker is late.
    pub late: Duration,
    /// From this age on it is stale.
    pub stale: Duration,
}

impl Patience {
    /// What the dialect's document prescribes, or 30 and 60 minutes where it is silent.
    pub fn of(dialect: Dialect) -> Patience {
        let minutes = |late: u64, stale: u64| Patience {
            late: Duration::from_secs(late * 60),
            stale: Duration::from_secs(stale * 60),
        };
        match dialect {
            Dialect::Task => minutes(10, 30),
            Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Crew => minutes(30, 60),
        }
    }
}

/// Where a sign of life comes from, the most believable first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Piton's own journal: a recorded event or beat.
    Journal,
    /// A time that the document holds, by the name of its key.
    Field(&'static str),
    /// The time at which the file was last written.
    FileTime,
}

impl Source {
    fn rank(&self) -> u8 {
        match self {
            Source::Journal => 0,
            Source::Field(_) => 1,
            Source::FileTime => 2,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Journal => write!(f, "the journal"),
            Source::Field(key) => write!(f, "`{key}`"),
            Source::FileTime => write!(f, "the file's modification time"),
        }
    }
}

/// What a source says: a time, or words where a time should be (`N/A`, `PAUSED`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A moment.
    At(Time),
    /// Something else.
    Words(String),
}

/// A sign of life, believable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// Who says it.
    pub source: Source,
    /// What it says.
    pub said: Said,
}

/// The sign that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Believed {
    /// Who said it.
    pub source: Source,
    /// The time it gave.
    pub at: Time,
    /// How old that is.
    pub age: Age,
}

/// A sign that did not decide, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedOver {
    /// It lies too far in the future to be true.
    Future {
        /// Who said it.
        source: Source,
        /// The time it gave.
        at: Time,
    },
    /// It is not a time.
    Words {
        /// Who said it.
        source: Source,
        /// What it said.
        words: String,
    },
    /// A more believable or newer sign was there.
    Weaker {
        /// Who said it.
        source: Source,
        /// The time it gave.
        at: Time,
    },
}

/// The rule that led to a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Nobody is expected to work, for this reason.
    NobodyExpected(&'static str),
    /// A worker is claimed, and the age of the believed sign was compared.
    Compared(Patience),
    /// A worker is claimed, and there was nothing to compare.
    NoSign,
    /// A lead has the unit or had it, and its processes decide.
    Process(String),
}

/// What is known about a worker's life, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The result.
    pub liveness: Liveness,
    /// The rule that led to it.
    pub rule: Rule,
    /// The newest believable sign; it is reported even where nobody is expected to work.
    pub believed: Option<Believed>,
    /// What else was there.
    pub passed_over: Vec<PassedOver>,
}

/// Judges whether a worker lives.
///
/// The most believable source that gives a possible time decides; among equals the newest does. Both
/// borders belong to the worse side: at exactly `stale` it is stale.
pub fn judge(claim: &Claim, signs: &[Sign], patience: Patience, now: Time) -> Judgement {
    let mut times = Vec::with_capacity(signs.len());
    let mut passed_over = Vec::new();
    for sign in signs {
        let source = sign.source.clone();
        match &sign.said {
            Said::Words(words) => passed_over.push(PassedOver::Words { source, words: words.clone() }),
            Said::At(at) if at.is_impossible(now) => {
                passed_over.push(PassedOver::Future { source, at: *at });
            }
            Said::At(at) => times.push((source, *at)),
        }
    }
    times.sort_by_key(|(source, at)| (source.rank(), std::cmp::Reverse(*at)));
    let mut times = times.into_iter();
    let believed = times.next().map(|(source, at)| Believed { source, at, age: at.age(now) });
    passed_over.extend(times.map(|(source, at)| PassedOver::Weaker { source, at }));

    let (liveness, rule) = match (claim, &believed) {
        (Claim::Nobody { why }, _) => (Liveness::Idle, Rule::NobodyExpected(why)),
        (Claim::Worker, None) => (Liveness::Unknown, Rule::NoSign),
        (Claim::Worker, Some(believed)) => {
            let liveness = match believed.age.0 {
                age if age >= patience.stale => Liveness::Stale,
                age if age >= patience.late => Liveness::Late,
                _ => Liveness::Alive,
            };
            (liveness, Rule::Compared(patience))
        }
    };
    Judgement { liveness, rule, believed, passed_over }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_771_588_140;

    fn field(seconds_ago: i64) -> Sign {
        Sign { source: Source::Field("last_checkpoint"), said: Said::At(Time::from_unix_seconds(NOW - seconds_ago)) }
    }

    fn file(seconds_ago: i64) -> Sign {
        Sign { source: Source::FileTime, ..field(seconds_ago) }
    }

    fn journal(seconds_ago: i64) -> Sign {
        Sign { source: Source::Journal, ..field(seconds_ago) }
    }

    fn words() -> Sign {
        Sign { source: Source::Field("next_checkpoint_expected"), said: Said::Words("N/A (paused)".into()) }
    }

    #[test]
    fn the_borders_are_exact_and_belong_to_the_worse_side() {
        for (dialect, seconds, want) in [
            (Dialect::Crew, 1799, Liveness::Alive),
            (Dialect::Crew, 1800, Liveness::Late),
            (Dialect::Crew, 3599, Liveness::Late),
            (Dialect::Crew, 3600, Liveness::Stale),
            (Dialect::Task, 599, Liveness::Alive),
            (Dialect::Task, 600, Liveness::Late),
            (Dialect::Task, 1799, Liveness::Late),
            (Dialect::Task, 1800, Liveness::Stale),
        ] {
            let got = judge(&Claim::Worker, &[field(seconds)], Patience::of(dialect), Time::from_unix_seconds(NOW));
            assert_eq!(got.liveness, want, "{dialect} after {seconds} s");
        }
    }

    #[test]
    fn the_most_believable_possible_time_decides() {
        let hour = 3600;
        for (signs, want, by) in [
            (vec![file(10), field(2 * hour)], Liveness::Stale, Source::Field("last_checkpoint")),
            (vec![file(10), field(2 * hour), journal(60)], Liveness::Alive, Source::Journal),
            (vec![journal(2 * hour), field(10)], Liveness::Stale, Source::Journal),
            (vec![field(-2 * hour), file(10)], Liveness::Alive, Source::FileTime),
            (vec![field(-2 * hour), file(2 * hour)], Liveness::Stale, Source::FileTime),
            (vec![field(-60), file(2 * hour)], Liveness::Alive, Source::Field("last_checkpoint")),
            (vec![words(), file(10)], Liveness::Alive, Source::FileTime),
            (vec![field(2 * hour), field(10)], Liveness::Alive, Source::Field("last_checkpoint")),
        ] {
            let got = judge(&Claim::Worker, &signs, Patience::of(Dialect::Crew), Time::from_unix_seconds(NOW));
            assert_eq!((got.liveness, got.believed.expect("a sign").source), (want, by), "{signs:?}");
            assert_eq!(got.passed_over.len(), signs.len() - 1);
        }
    }

    #[test]
    fn only_a_claimed_worker_can_be_missing() {
        let now = Time::from_unix_seconds(NOW);
        let nobody = Claim::Nobody { why: "it is complete" };
        let got = judge(&nobody, &[field(9_999_999)], Patience::of(Dialect::Crew), now);
        assert_eq!((got.liveness, got.rule), (Liveness::Idle, Rule::NobodyExpected("it is complete")));
        let got = judge(&Claim::Worker, &[], Patience::of(Dialect::Crew), now);
        assert_eq!((got.liveness, got.rule), (Liveness::Unknown, Rule::NoSign));
        // When every time lies in the future there is no possible one: that is not a sign of life.
        let got = judge(&Claim::Worker, &[field(-9_999)], Patience::of(Dialect::Crew), now);
        assert_eq!(got.liveness, Liveness::Unknown);
    }
}
