//! `[answers]` and `[project]`: what workers are told beside their own work. The briefs of stories stand with the stories.

use piton_dialect::pipeline::{Briefs, PROJECT_KEYS};

use super::super::section::{BadFile, Section};

/// Takes what a file tells workers.
pub(super) fn take(root: &mut Section) -> Result<Briefs, BadFile> {
    let mut briefs = Briefs::default();
    if let Some(answers) = root.section("answers")? {
        briefs.answers = answers.into_texts()?.into_iter().map(|(question, text)| (question, text.into())).collect();
    }
    if let Some(mut project) = root.section("project")? {
        for key in PROJECT_KEYS {
            briefs.project.extend(project.words(key)?.map(|value| (key.to_owned(), value)));
        }
        project.finish()?;
    }
    Ok(briefs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Settings;

    #[test]
    fn what_workers_are_told_is_read_and_nothing_is_guessed() {
        let text = "[answers]\n'Who pays?' = 'the rider'\n[project]\nname = 'shop'\ntech = ['Rust', 'SQLite']\n\
                    key_rules = 'no unwrap'\n[[stories]]\nid = 'A-1'\n[stories.brief]\ntech = 'SQL'\n\
                    keyFiles = ['a.rs']\napproach = 'one table'\ncomplexity = 'low'\n[[stories]]\nid = 'A-2'\n";
        let settings = Settings::parse(text).expect("it is right");
        let briefs = settings.briefs;
        assert_eq!(json!(briefs.answers), json!({"Who pays?": "the rider"}));
        assert_eq!(
            json!(briefs.project),
            json!({"name": "shop", "tech": ["Rust", "SQLite"], "key_rules": "no unwrap"})
        );
        let story = json!({"tech": "SQL", "keyFiles": ["a.rs"], "approach": "one table", "complexity": "low"});
        assert_eq!(json!(settings.stories[0].brief), story);
        assert!(settings.stories[1].brief.is_empty() && briefs.stories.is_empty());
        assert_eq!(Settings::parse("").expect("it is right").briefs, super::Briefs::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, want) in [
            ("[answers]\nq = 1\n", "`answers.q` is not a text"),
            ("[project]\nnam = 'x'\n", "there is no setting `project.nam`"),
            ("[project]\ntech = [1]\n", "`project.tech` is neither a text nor a list of texts"),
            ("[[stories]]\nid = 'A'\nbrief = 'x'\n", "`stories[0].brief` is not a table"),
            (
                "[[stories]]\nid = 'A'\n[stories.brief]\nkeyfiles = []\n",
                "there is no setting `stories[0].brief.keyfiles`",
            ),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().message, want);
        }
    }
}
