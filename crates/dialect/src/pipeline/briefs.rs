//! What a pipeline tells its workers about the project and its stories: `business_answers`, `project_brief` and
//! `story_briefs` of the lead's state.

use serde_json::{Map, Value as NewValue};

use super::lead::state_path;
use super::state::is_our_state;
use crate::json::Editor;

/// The keys of a project's brief, in the order of the document.
pub const PROJECT_KEYS: [&str; 4] = ["name", "tech", "type", "key_rules"];

/// The keys of a story's brief, in the order of the document.
pub const STORY_KEYS: [&str; 4] = ["tech", "keyFiles", "approach", "complexity"];

/// What workers are told beside their own story. What nobody wrote down is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Briefs {
    /// Questions and their answers.
    pub answers: Map<String, NewValue>,
    /// The project: [`PROJECT_KEYS`], and whatever else was written down.
    pub project: Map<String, NewValue>,
    /// Stories by their ids: [`STORY_KEYS`], and whatever else was written down.
    pub stories: Map<String, NewValue>,
}

impl Briefs {
    /// Reads the lead's state; nothing is known from one that is torn, or of another tool.
    pub fn read(state: &[u8]) -> Briefs {
        let Ok(editor) = Editor::open(&state_path(), state) else { return Briefs::default() };
        if !editor.look(is_our_state) {
            return Briefs::default();
        }
        let map = |key: &str| match editor.get(&[key]) {
            Some(NewValue::Object(map)) => map,
            _ => Map::new(),
        };
        Briefs { answers: map("business_answers"), project: map("project_brief"), stories: map("story_briefs") }
    }

    /// The same with what the settings say, which counts more, key by key.
    #[must_use]
    pub fn with(mut self, settings: &Briefs) -> Briefs {
        self.answers.extend(settings.answers.clone());
        self.project.extend(settings.project.clone());
        for (id, brief) in &settings.stories {
            let known = self.stories.entry(id.clone()).or_insert_with(|| NewValue::Object(Map::new()));
            match (known, brief) {
                (NewValue::Object(known), NewValue::Object(brief)) => known.extend(brief.clone()),
                (known, brief) => *known = brief.clone(),
            }
        }
        self
    }

    /// A story's brief.
    pub fn story(&self, id: &str) -> Map<String, NewValue> {
        self.stories.get(id).and_then(NewValue::as_object).cloned().unwrap_or_default()
    }
}

/// What a map says, in words: each key with its text, lists with commas between. What says nothing is left out.
pub fn told(map: &Map<String, NewValue>) -> Vec<(String, String)> {
    let entries = map.iter().map(|(key, value)| (key.clone(), words(value)));
    entries.filter(|(_, text)| !text.trim().is_empty()).collect()
}

fn words(value: &NewValue) -> String {
    match value {
        NewValue::Null => String::new(),
        NewValue::String(text) => text.clone(),
        NewValue::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        NewValue::Bool(_) | NewValue::Number(_) | NewValue::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: NewValue) -> Map<String, NewValue> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn settings_count_more_than_an_earlier_state_key_by_key() {
        let state = json!({
            "complete": false,
            "story_state": {"A-1": "STAGE_0"},
            "business_answers": {"Who pays?": "the rider", "When?": "at pick-up"},
            "project_brief": {"name": "shop", "tech": "Rust", "since": 2019},
            "story_briefs": {"A-1": {"tech": "SQL", "approach": "one table"}, "A-2": {"complexity": "low"}},
        });
        let settings = Briefs {
            answers: map(json!({"When?": "at return"})),
            project: map(json!({"tech": ["Rust", "SQLite"]})),
            stories: map(json!({"A-1": {"approach": "two tables"}, "A-3": {"tech": "CSS"}})),
        };
        let both = Briefs::read(state.to_string().as_bytes()).with(&settings);
        assert_eq!(NewValue::Object(both.answers), json!({"Who pays?": "the rider", "When?": "at return"}));
        assert_eq!(
            told(&both.project),
            [
                ("name".to_owned(), "shop".to_owned()),
                ("tech".to_owned(), "Rust, SQLite".to_owned()),
                ("since".to_owned(), "2019".to_owned()),
            ]
        );
        let wanted = json!({"A-1": {"tech": "SQL", "approach": "two tables"}, "A-2": {"complexity": "low"},
            "A-3": {"tech": "CSS"}});
        assert_eq!(NewValue::Object(both.stories), wanted);
    }

    #[test]
    fn the_state_of_another_tool_says_nothing() {
        for state in [&br#"{"pipelines": [], "project_brief": {"name": "x"}}"#[..], b"{\"complete\": tru", b""] {
            assert_eq!(Briefs::read(state), Briefs::default());
        }
    }
}
