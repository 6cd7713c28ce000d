//! What is to be started, as it stands in the worker's home before anything is.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// How much of each stream a segment holds, unless told otherwise.
const SEGMENT: u64 = 2 << 20;

/// What a worker reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing: it is at its end at once.
    Nothing,
    /// This file, from its beginning; absolute.
    File(PathBuf),
}

/// How much of a worker's output is kept: for each of the two streams its beginning and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spool {
    /// The first segment of this many bytes stays, and of the others the last two. Everything is counted.
    pub segment: u64,
}

impl Default for Spool {
    fn default() -> Spool {
        Spool { segment: SEGMENT }
    }
}

/// A process to be started.
///
/// All of it is text, because it is written down before anything is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments. A program without a slash is looked for in `PATH`.
    pub argv: Vec<String>,
    /// Where it works; absolute.
    pub directory: PathBuf,
    /// Variables to set.
    pub set: Vec<(String, String)>,
    /// Variables that it does not get, though the lead has them.
    pub unset: Vec<String>,
    /// What it reads.
    pub input: Input,
    /// How much of its output is kept.
    pub spool: Spool,
    /// What it is for, for people and programs that find its home later.
    pub about: About,
}

/// What a process was started for. The lead that started it may have forgotten; its home has not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The unit, `dialect:id`.
    pub unit: Option<String>,
    /// The step of the unit, where it is not for the whole unit.
    pub step: Option<String>,
    /// The stage, where the unit has several.
    pub stage: Option<u8>,
    /// The attempt, with its own number where several workers share one: `3.17`.
    pub attempt: Option<String>,
    /// The worker's name.
    pub worker: Option<String>,
    /// The gate, or `worktree setup`, where it is a command of the lead and no worker.
    pub gate: Option<String>,
    /// The kind of worker: the name of its adapter in settings.
    pub adapter: Option<String>,
    /// When it was started, in seconds since 1970.
    pub started: Option<i64>,
}

impl About {
    fn to_json(&self) -> Value {
        json!({
            "unit": self.unit,
            "step": self.step,
            "stage": self.stage,
            "attempt": self.attempt,
            "worker": self.worker,
            "gate": self.gate,
            "adapter": self.adapter,
            "started": self.started,
        })
    }

    /// What was written down; of a home that an older version made, what its environment says.
    fn from_json(value: &Value, set: &[(String, String)]) -> About {
        let variable = |name: &str| set.iter().rfind(|(set, _)| set == name).map(|(_, value)| value.clone());
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let stage = value["stage"].as_u64().and_then(|stage| u8::try_from(stage).ok());
        About {
            unit: text("unit").or_else(|| variable("PITON_UNIT")),
            step: text("step").or_else(|| variable("PITON_STEP")),
            stage: stage.or_else(|| variable("PITON_STAGE")?.parse().ok()),
            attempt: text("attempt").or_else(|| variable("PITON_ATTEMPT")),
            worker: text("worker"),
            gate: text("gate"),
            adapter: text("adapter"),
            started: value["started"].as_i64(),
        }
    }
}

impl Launch {
    /// A process that reads nothing and has the lead's environment.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>, directory: impl Into<PathBuf>) -> Launch {
        Launch {
            argv: argv.into_iter().map(Into::into).collect(),
            directory: directory.into(),
            set: Vec::new(),
            unset: Vec::new(),
            input: Input::Nothing,
            spool: Spool::default(),
            about: About::default(),
        }
    }

    /// Sets a variable.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Launch {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Keeps a variable of the lead from it.
    pub fn unset(mut self, name: impl Into<String>) -> Launch {
        self.unset.push(name.into());
        self
    }

    /// Lets it read a file.
    pub fn input(mut self, file: impl Into<PathBuf>) -> Launch {
        self.input = Input::File(file.into());
        self
    }

    /// Says what it is for.
    pub fn about(mut self, about: About) -> Launch {
        self.about = about;
        self
    }

    /// As it is written down; says what cannot be.
    pub(crate) fn to_json(&self) -> Result<Value, String> {
        let path = |path: &Path| match path.to_str() {
            Some(text) if path.is_absolute() => Ok(text.to_owned()),
            Some(text) => Err(format!("a path is not absolute: {text}")),
            None => Err(format!("a path is not UTF-8: {}", path.display())),
        };
        let texts = self.argv.iter().chain(self.set.iter().flat_map(|(name, value)| [name, value])).chain(&self.unset);
        if let Some(text) = texts.into_iter().find(|text| text.contains('\0')) {
            return Err(format!("a NUL stands in {text:?}"));
        }
        if self.argv.first().is_none_or(String::is_empty) {
            return Err("no program is named".to_owned());
        }
        let bad = |name: &&String| name.is_empty() || name.contains('=');
        if let Some(name) = self.set.iter().map(|(name, _)| name).chain(&self.unset).find(bad) {
            return Err(format!("not the name of a variable: {name:?}"));
        }
        let input = match &self.input {
            Input::Nothing => Value::Null,
            Input::File(file) => Value::from(path(file)?),
        };
        Ok(json!({
            "argv": self.argv,
            "directory": path(&self.directory)?,
            "set": self.set,
            "unset": self.unset,
            "input": input,
            "segment": self.spool.segment,
            "about": self.about.to_json(),
        }))
    }

    /// As it was written down; nothing when that is not what it is.
    pub(crate) fn from_json(value: &Value) -> Option<Launch> {
        let texts = |value: &Value| {
            let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        };
        let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        let input = match &value["input"] {
            Value::Null => Input::Nothing,
            file => Input::File(file.as_str()?.into()),
        };
        let set = value["set"].as_array()?.iter().map(pair).collect::<Option<Vec<_>>>()?;
        Some(Launch {
            about: About::from_json(&value["about"], &set),
            argv: texts(&value["argv"]).filter(|argv| !argv.is_empty())?,
            directory: value["directory"].as_str()?.into(),
            set,
            unset: texts(&value["unset"])?,
            input,
            spool: Spool { segment: value["segment"].as_u64().filter(|segment| *segment > 0)? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_reads_back() {
        let plain = Launch::new(["sleep", "5"], "/tmp");
        let full = Launch::new(["a", "b c", "ü\n"], "/tmp/x y").set("A", "1=2").unset("B").input("/tmp/prompt");
        let about = About {
            unit: Some("build:PRD-009".to_owned()),
            step: Some("WS1".to_owned()),
            stage: Some(2),
            attempt: Some("3.17".to_owned()),
            worker: Some("PRD-009-WS1".to_owned()),
            gate: Some("test".to_owned()),
            adapter: Some("claude".to_owned()),
            started: Some(1_794_798_900),
        };
        let known = Launch::new(["a"], "/").about(about);
        for launch in [plain, full, known] {
            let written = launch.to_json().expect("it can be written");
            assert_eq!(Launch::from_json(&written), Some(launch));
        }
    }

    #[test]
    fn what_an_older_version_started_is_known_by_its_environment() {
        let launch = Launch::new(["a"], "/").set("PITON_UNIT", "plan:quay").set("PITON_STEP", "one");
        let launch = launch.set("PITON_ATTEMPT", "3").set("PITON_ATTEMPT", "3.2").set("PITON_STAGE", "0");
        let mut written = launch.to_json().expect("it can be written");
        written.as_object_mut().expect("an object").remove("about");
        let about = Launch::from_json(&written).expect("it reads back").about;
        assert_eq!((about.unit.as_deref(), about.step.as_deref()), (Some("plan:quay"), Some("one")));
        assert_eq!((about.attempt.as_deref(), about.stage, about.started), (Some("3.2"), Some(0), None));
    }

    #[test]
    fn what_no_process_can_be_given_is_refused() {
        let none: [&str; 0] = [];
        for (launch, want) in [
            (Launch::new(none, "/"), "no program is named"),
            (Launch::new([""], "/"), "no program is named"),
            (Launch::new(["a\0b"], "/"), "a NUL stands in \"a\\0b\""),
            (Launch::new(["a"], "/").set("A=B", "x"), "not the name of a variable: \"A=B\""),
            (Launch::new(["a"], "x"), "a path is not absolute: x"),
            (Launch::new(["a"], "/").input("y"), "a path is not absolute: y"),
            (Launch::new(["a"], "/").unset(""), "not the name of a variable: \"\""),
        ] {
            assert_eq!(launch.to_json(), Err(want.to_owned()));
        }
    }
}
