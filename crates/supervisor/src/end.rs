//! How a worker ended, and what it gave as signs of life: as values, and as they stand in its home.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It never began: its program is missing, or its directory, or whoever wanted to start it died before.
    NotStarted {
        /// What was the matter, as a fragment.
        message: String,
    },
    /// Nobody saw it end: its keeper was killed, or the machine stopped.
    Vanished,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::NotStarted { message } => write!(f, "not started: {message}"),
            Exit::Vanished => f.write_str("gone without a status"),
        }
    }
}

/// What is known of a worker that has ended. Nothing of it runs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How.
    pub exit: Exit,
    /// When that was seen.
    pub at: SystemTime,
    /// How much it printed.
    pub signs: Signs,
    /// How many processes it left behind, which were ended.
    pub leftovers: u32,
    /// Whether those were looked for.
    pub(crate) is_swept: bool,
}

/// Signs of life of a worker, from its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signs {
    /// Bytes on standard output, all of them.
    pub out: u64,
    /// Bytes on standard error, all of them.
    pub err: u64,
    /// When the last of them came; it may be a quarter of a second behind.
    pub last: Option<SystemTime>,
}

impl Signs {
    /// As the keeper writes them: always as long, so that they can be written in place.
    pub(crate) fn line(&self) -> String {
        let facts = format!("{:016x} {:016x} {:016x}", self.out, self.err, self.last.map_or(0, milliseconds));
        format!("{facts} {:08x}\n", checksum(&facts))
    }

    /// Nothing when the line is torn: it was read while it was written.
    pub(crate) fn parse(line: &str) -> Option<Signs> {
        let (facts, sum) = line.trim_end().rsplit_once(' ')?;
        if u32::from_str_radix(sum, 16).ok()? != checksum(facts) {
            return None;
        }
        let mut words = facts.split(' ').map(|word| u64::from_str_radix(word, 16).ok());
        let mut word = || words.next().flatten();
        let (out, err, last) = (word()?, word()?, word()?);
        Some(Signs { out, err, last: (last > 0).then(|| from_milliseconds(last)) })
    }
}

impl End {
    pub(crate) fn to_json(&self) -> Value {
        let exit = match &self.exit {
            Exit::Code(code) => json!({ "code": code }),
            Exit::Signal(signal) => json!({ "signal": signal }),
            Exit::NotStarted { message } => json!({ "not_started": message }),
            Exit::Vanished => json!("vanished"),
        };
        json!({
            "exit": exit,
            "at": milliseconds(self.at),
            "out": self.signs.out,
            "err": self.signs.err,
            "last_output": self.signs.last.map(milliseconds),
            "leftovers": self.leftovers,
            "is_swept": self.is_swept,
        })
    }

    pub(crate) fn from_json(value: &Value) -> Option<End> {
        let exit = &value["exit"];
        let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
        let exit = match (number(&exit["code"]), number(&exit["signal"]), exit["not_started"].as_str()) {
            (Some(code), _, _) => Exit::Code(code),
            (_, Some(signal), _) => Exit::Signal(signal),
            (_, _, Some(message)) => Exit::NotStarted { message: message.to_owned() },
            (None, None, None) if exit == "vanished" => Exit::Vanished,
            (None, None, None) => return None,
        };
        let signs = Signs {
            out: value["out"].as_u64()?,
            err: value["err"].as_u64()?,
            last: value["last_output"].as_u64().map(from_milliseconds),
        };
        Some(End {
            exit,
            at: from_milliseconds(value["at"].as_u64()?),
            signs,
            leftovers: value["leftovers"].as_u64().and_then(|number| u32::try_from(number).ok())?,
            is_swept: value["is_swept"].as_bool()?,
        })
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    // A clock before 1970 is broken; nothing is older than that.
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn from_milliseconds(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}

/// FNV-1a: tells a torn line from a whole one.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs() -> Signs {
        Signs { out: 1 << 40, err: 7, last: Some(from_milliseconds(1_794_798_900_123)) }
    }

    #[test]
    fn ends_read_back() {
        let message = "no such program".to_owned();
        for exit in [Exit::Code(0), Exit::Code(-1), Exit::Signal(9), Exit::NotStarted { message }, Exit::Vanished] {
            for signs in [signs(), Signs::default()] {
                let at = from_milliseconds(1_794_798_900_999);
                let end = End { exit: exit.clone(), at, signs, leftovers: 3, is_swept: true };
                assert_eq!(End::from_json(&end.to_json()), Some(end));
            }
        }
        for broken in [json!({}), json!(null), json!({ "exit": "gone" }), json!({ "exit": { "code": 1 } })] {
            assert_eq!(End::from_json(&broken), None, "{broken}");
        }
    }

    #[test]
    fn signs_are_always_as_long_and_torn_ones_are_not_believed() {
        let (old, new) = (Signs::default().line(), signs().line());
        assert_eq!(old.len(), new.len());
        assert_eq!((Signs::parse(&old), Signs::parse(&new)), (Some(Signs::default()), Some(signs())));
        // Wherever a reader finds the new line half written over the old one.
        for at in 1..old.len() - 1 {
            let torn = format!("{}{}", &new[..at], &old[at..]);
            let found = Signs::parse(&torn);
            assert!(found.is_none() || torn == new || torn == old, "{torn}");
        }
        for broken in ["", "\n", "0 0 0 0", "x y z w"] {
            assert_eq!(Signs::parse(broken), None, "{broken:?}");
        }
    }
}
