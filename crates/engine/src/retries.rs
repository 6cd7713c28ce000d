//! The retries that a workspace's settings grant to a story.

use piton_model::RetryLimits;
use piton_store::disk::Disk;
use serde_json::Value;

use crate::run::SETTINGS;

/// What `[run]` in `piton.toml` grants; the protocol's own numbers for what it does not say. A mistake elsewhere in the
/// file is the run's affair.
pub(crate) fn limits(disk: &dyn Disk) -> RetryLimits {
    match disk.read(SETTINGS) {
        Ok(content) => granted(&String::from_utf8_lossy(&content.bytes)),
        Err(_) => RetryLimits::default(),
    }
}

fn granted(text: &str) -> RetryLimits {
    let usual = RetryLimits::default();
    let settings: Value = toml::from_str(text).unwrap_or_default();
    let number = |key: &str, usual: u32| {
        settings["run"][key].as_u64().map_or(usual, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    RetryLimits {
        reworks: number("reworks", usual.reworks),
        validations: number("validation_retries", usual.validations),
        respawns: number("respawn", usual.respawns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Settings;

    /// Verbs and findings grant what a run grants.
    #[test]
    fn verbs_and_runs_grant_the_same() {
        for text in ["", "[run]\nreworks = 4\n", "[run]\nrespawn = 0\nvalidation_retries = 3\n"] {
            let limits = Settings::parse(text).expect("it is right").limits;
            let of_run =
                RetryLimits { reworks: limits.rework, validations: limits.validation, respawns: limits.respawn };
            assert_eq!(granted(text), of_run, "{text}");
        }
        assert_eq!(granted("[run]\nreworks = 4\n[worker]\nno such key = 1").reworks, 2, "this is no TOML");
        assert_eq!(granted("[run]\nreworks = 4\n[worker]\nnothing = 1").reworks, 4);
    }
}
