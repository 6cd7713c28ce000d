//! How facts of a run are written.

use std::collections::BTreeMap;
use std::time::Duration;

use piton_model::fleet::{Closing, How, LaneState, Worker, WorkerState};
use piton_model::{Rework, Time};
use piton_supervisor::{Kind, Statistics};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// Where a lane stood, as far as another lead needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(in crate::run) enum SavedState {
    /// No worker has begun.
    #[default]
    Queued,
    /// One worker has ended well, and the next is to begin.
    Between,
    /// It had a worker.
    Worked {
        /// How that was started.
        how: SavedHow,
    },
    /// Its worker was dead, and another was to go on.
    Dead { why: String, how: SavedHow },
    /// A gate or a merge refused its work.
    Reworking,
    /// It waited for a limit.
    Parked { until: String },
    /// Its work was complete, and the lead was closing it.
    Closing,
    /// It was on the branch of its phase.
    Integrated,
    /// It was done.
    Done,
    /// It was paused.
    Paused { reason: String },
}

/// How a worker was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::run) enum SavedHow {
    Fresh,
    Session,
    Brief,
}

impl From<How> for SavedHow {
    fn from(how: How) -> SavedHow {
        match how {
            How::Fresh => SavedHow::Fresh,
            How::Session => SavedHow::Session,
            How::Brief => SavedHow::Brief,
        }
    }
}

impl From<SavedHow> for How {
    fn from(how: SavedHow) -> How {
        match how {
            SavedHow::Fresh => How::Fresh,
            SavedHow::Session => How::Session,
            SavedHow::Brief => How::Brief,
        }
    }
}

impl SavedState {
    pub fn of(state: &LaneState) -> SavedState {
        match state {
            LaneState::Queued => SavedState::Queued,
            LaneState::Between => SavedState::Between,
            LaneState::Working(worker) => SavedState::Worked { how: worker.how.into() },
            LaneState::Dead { why, how } | LaneState::Proving { why, how } => {
                SavedState::Dead { why: why.clone(), how: (*how).into() }
            }
            LaneState::Reworking { .. } => SavedState::Reworking,
            LaneState::Parked { until } => SavedState::Parked { until: until.to_string() },
            LaneState::Closing(
                Closing::Queued
                | Closing::Preparing
                | Closing::Gates { .. }
                | Closing::Approving { .. }
                | Closing::Merging
                | Closing::Finishing,
            ) => SavedState::Closing,
            LaneState::Integrated => SavedState::Integrated,
            LaneState::Done => SavedState::Done,
            LaneState::Paused { reason } => SavedState::Paused { reason: reason.clone() },
        }
    }
}

/// A worker that an earlier lead started.
pub(in crate::run) fn adopted(how: How, account: Option<String>, now: Duration) -> LaneState {
    let account = account.unwrap_or_default();
    LaneState::Working(Worker { how, account, since: now, state: WorkerState::Running { last_sign: now } })
}

fn read(text: &str) -> Option<Time> {
    piton_dialect::time::read(text).time()
}

/// Times by name.
pub(super) mod times {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize, Serializer, Time, read};

    pub fn serialize<S: Serializer>(times: &BTreeMap<String, Time>, to: S) -> Result<S::Ok, S::Error> {
        let texts: BTreeMap<&String, String> = times.iter().map(|(name, time)| (name, time.to_string())).collect();
        texts.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Time>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        Ok(texts.into_iter().filter_map(|(name, text)| Some((name, read(&text)?))).collect())
    }
}

/// A moment, where it is known.
pub(super) mod moment {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Time, read};

    pub fn serialize<S: Serializer>(at: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        at.map(|at| at.to_string()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.as_deref().and_then(read))
    }
}

/// When each stage began and ended.
pub(super) mod spans {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize, Serializer, Time, read};

    type Spans = BTreeMap<u8, (Option<Time>, Option<Time>)>;

    pub fn serialize<S: Serializer>(spans: &Spans, to: S) -> Result<S::Ok, S::Error> {
        let text = |time: &Option<Time>| time.map(|time| time.to_string());
        let texts: BTreeMap<u8, _> = spans.iter().map(|(stage, (a, b))| (*stage, (text(a), text(b)))).collect();
        texts.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Spans, D::Error> {
        let texts = BTreeMap::<u8, (Option<String>, Option<String>)>::deserialize(from)?;
        let time = |text: Option<String>| text.as_deref().and_then(read);
        Ok(texts.into_iter().map(|(stage, (a, b))| (stage, (time(a), time(b)))).collect())
    }
}

/// What was done on a branch.
pub(super) mod statistics {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Statistics};

    pub fn serialize<S: Serializer>(git: &Option<Statistics>, to: S) -> Result<S::Ok, S::Error> {
        git.map(|git| [git.commits, git.files, git.insertions, git.deletions]).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Statistics>, D::Error> {
        let numbers = Option::<[u64; 4]>::deserialize(from)?;
        Ok(numbers.map(|[commits, files, insertions, deletions]| Statistics { commits, files, insertions, deletions }))
    }
}

/// A kind of worker by its name.
pub(super) mod kind {
    use super::{Deserialize, Deserializer, Kind, Serialize, Serializer};

    pub fn serialize<S: Serializer>(kind: &Option<Kind>, to: S) -> Result<S::Ok, S::Error> {
        kind.map(Kind::word).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Kind>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.as_deref().and_then(Kind::parse))
    }
}

/// What the next worker is to see to.
pub(super) mod reworks {
    use super::{Deserialize, Deserializer, Rework, Serialize, Serializer, Value, from_json, to_json};

    pub fn serialize<S: Serializer>(reworks: &[Rework], to: S) -> Result<S::Ok, S::Error> {
        reworks.iter().map(to_json).collect::<Vec<Value>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Rework>, D::Error> {
        Ok(Vec::<Value>::deserialize(from)?.iter().filter_map(from_json).collect())
    }
}

fn to_json(rework: &Rework) -> Value {
    match rework {
        Rework::GateFailed { gate, command, exit, tail } => {
            json!({ "kind": "gate", "gate": gate, "command": command, "exit": exit, "tail": tail })
        }
        Rework::Conflict { base, files } => json!({ "kind": "conflict", "base": base, "files": files }),
        Rework::Uncommitted { files } => json!({ "kind": "uncommitted", "files": files }),
        Rework::OtherBranch { found, from, branch, files } => {
            json!({ "kind": "branch", "found": found, "from": from, "branch": branch, "files": files })
        }
        Rework::NoCommit { branch } => json!({ "kind": "no-commit", "branch": branch }),
        Rework::Ignored { files } => json!({ "kind": "ignored", "files": files }),
        Rework::NothingDone { missing, printed } => {
            json!({ "kind": "nothing", "files": missing, "tail": printed })
        }
        Rework::Incomplete { missing } => json!({ "kind": "incomplete", "files": missing }),
        Rework::ReviewFailed { issues } => json!({ "kind": "review", "tail": issues }),
        Rework::BadSettings { file, why } => json!({ "kind": "settings", "file": file, "tail": why }),
        Rework::Unproved { claims } => json!({ "kind": "unproved", "files": claims }),
    }
}

fn from_json(value: &Value) -> Option<Rework> {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = value["files"].as_array().into_iter().flatten();
    let files: Vec<String> = list.filter_map(|file| file.as_str().map(str::to_owned)).collect();
    Some(match value["kind"].as_str()? {
        "gate" => {
            Rework::GateFailed { gate: text("gate"), command: text("command"), exit: text("exit"), tail: text("tail") }
        }
        "conflict" => Rework::Conflict { base: text("base"), files },
        "uncommitted" => Rework::Uncommitted { files },
        "branch" => Rework::OtherBranch { found: text("found"), from: text("from"), branch: text("branch"), files },
        "no-commit" => Rework::NoCommit { branch: text("branch") },
        "ignored" => Rework::Ignored { files },
        "nothing" => Rework::NothingDone { missing: files, printed: text("tail") },
        "incomplete" => Rework::Incomplete { missing: files },
        "review" => Rework::ReviewFailed { issues: text("tail") },
        "settings" => Rework::BadSettings { file: text("file"), why: text("tail") },
        "unproved" => Rework::Unproved { claims: files },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reworks_survive_being_written() {
        let files = || vec!["a".to_owned(), "b".to_owned()];
        let text = || "x\ny".to_owned();
        for rework in [
            Rework::GateFailed { gate: text(), command: text(), exit: text(), tail: text() },
            Rework::Conflict { base: text(), files: files() },
            Rework::Uncommitted { files: files() },
            Rework::OtherBranch { found: text(), from: text(), branch: text(), files: files() },
            Rework::NoCommit { branch: text() },
            Rework::Ignored { files: files() },
            Rework::NothingDone { missing: files(), printed: text() },
            Rework::Incomplete { missing: files() },
            Rework::ReviewFailed { issues: text() },
            Rework::BadSettings { file: text(), why: text() },
            Rework::Unproved { claims: files() },
        ] {
            assert_eq!(from_json(&to_json(&rework)), Some(rework));
        }
    }
}
