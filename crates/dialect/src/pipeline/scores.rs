//! What earlier stages of a story resulted in, as its checkpoint has it.

use serde_json::Value as NewValue;

use super::lead::state_path;
use crate::json::Editor;

/// What earlier stages resulted in; what is not recorded is nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// Stage 0: quality of the plan, 0 to 4.
    pub plan: Option<f64>,
    /// Stage 1: readiness, 1 to 10.
    pub readiness: Option<f64>,
    /// Stage 1: why the last validation said NO-GO, when it did.
    pub no_go: Option<String>,
    /// Stage 3: what the last quality gate found, when it said FAIL.
    pub issues: Option<String>,
}

impl Scores {
    /// Reads a checkpoint. What its own stage gives stands at its top, what earlier ones gave under `stageResults`.
    pub fn read(checkpoint: &[u8]) -> Scores {
        let Ok(editor) = Editor::open(&state_path(), checkpoint) else { return Scores::default() };
        let own = editor.int(&["stage"]);
        let value = |stage: i64, key: &str| {
            let at_top = editor.get(&[key]).filter(|value| own == Some(stage) && !value.is_null());
            at_top.or_else(|| editor.get(&["stageResults", &format!("stage{stage}"), key]))
        };
        let number = |stage, key| value(stage, key).as_ref().and_then(NewValue::as_f64);
        let text = |stage, key| value(stage, key).and_then(|value| value.as_str().map(str::to_owned));
        let when =
            |stage, word: &str, key| text(stage, key).filter(|_| text(stage, "verdict").as_deref() == Some(word));
        Scores {
            plan: number(0, "planScore"),
            readiness: number(1, "readiness"),
            no_go: when(1, "NO-GO", "reason"),
            issues: when(3, "FAIL", "issues"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_found_where_their_stage_left_them() {
        let now = json!({"stage": 3, "verdict": "FAIL", "issues": "no tests", "qualityScore": 40,
            "stageResults": {"stage0": {"planScore": 3}, "stage1": {"verdict": "GO", "readiness": 8, "reason": "x"}}});
        let want = Scores { plan: Some(3.0), readiness: Some(8.0), no_go: None, issues: Some("no tests".to_owned()) };
        assert_eq!(Scores::read(now.to_string().as_bytes()), want);
        let again = json!({"stage": 1, "stageResults": {"stage1": {"verdict": "NO-GO", "reason": "unclear"}}});
        assert_eq!(Scores::read(again.to_string().as_bytes()).no_go.as_deref(), Some("unclear"));
        // A verdict of another stage says nothing about this one.
        let moved = json!({"stage": 2, "verdict": "FAIL", "issues": "old"});
        assert_eq!(Scores::read(moved.to_string().as_bytes()), Scores::default());
        assert_eq!(Scores::read(b"{"), Scores::default());
    }
}
