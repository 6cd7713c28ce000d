//! What a run told already, so that a refusal is printed once: the event of a gate, the rework or the pause that follows from
//! it, the halt of its unit and the end of the run give the same reason.

/// Reasons that were printed, each with the lane or unit that it is about.
#[derive(Debug, Default)]
pub struct Told {
    reasons: Vec<(String, String)>,
}

impl Told {
    /// What is new in an event: all of it, the part of a reason that was not printed yet, or nothing.
    pub fn news(&mut self, name: Option<&str>, kind: &str, text: &str) -> Option<String> {
        let Some(name) = name else { return Some(text.to_owned()) };
        if kind == "started" {
            // What a new worker runs into is news again.
            self.reasons.retain(|(about, _)| !is_related(about, name));
        }
        let is_refusal = match kind {
            // That one passes again is news: the last phase judges once more.
            "gate" => text.contains(" failed: ") || text.contains(" cannot judge: "),
            "rework" | "paused" | "halted" | "not_merged" => true,
            // How a worker ended is said of each, and may be why its lane is paused.
            "ended" => {
                self.reasons.push((name.to_owned(), text.to_owned()));
                false
            }
            _ => false,
        };
        if !is_refusal {
            return Some(text.to_owned());
        }
        let related = self.reasons.iter().filter(|(about, _)| is_related(about, name));
        let rest = related.rev().find_map(|(about, known)| rest(text, about, known));
        self.reasons.push((name.to_owned(), text.to_owned()));
        match (rest, kind) {
            (Some(""), _) => None,
            (rest, "paused") => Some(format!("paused: {}", rest.unwrap_or(without_name(text, name)))),
            (rest, "not_merged") => Some(format!("not merged: {}", rest.unwrap_or(text))),
            (Some(rest), kind) => Some(format!("{kind}: {rest}")),
            (None, _) => Some(without_name(text, name).to_owned()),
        }
    }

    /// Whether a reason of a lane was printed.
    pub fn has(&self, name: &str, reason: &str) -> bool {
        let related = self.reasons.iter().filter(|(about, _)| is_related(about, name));
        related.into_iter().any(|(about, known)| rest(reason, about, known) == Some(""))
    }
}

/// A reason without the name that stands before it anyway.
pub fn without_name<'t>(reason: &'t str, name: &str) -> &'t str {
    let rest = reason.strip_prefix(name);
    rest.and_then(|rest| rest.strip_prefix(": ").or(rest.strip_prefix(' '))).unwrap_or(reason)
}

/// Whether two names are the same, or one is a unit and the other a lane of it.
fn is_related(one: &str, other: &str) -> bool {
    let is_of =
        |lane: &str, unit: &str| lane.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    is_of(one, other) || is_of(other, one)
}

/// What a text says beyond a reason that was printed about `about`; nothing when it says something else.
fn rest<'t>(text: &'t str, about: &str, known: &str) -> Option<&'t str> {
    let own = text.strip_prefix(about).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text);
    // A gate that fails after a good verdict makes it FAIL, with the gate's words.
    let overruled = own.strip_prefix("FAIL: ").unwrap_or(own);
    let known = known.strip_prefix("its worker cannot work: ").unwrap_or(known);
    [own, overruled].into_iter().find_map(|own| match known.starts_with(own) {
        true => Some(""),
        false => own.strip_prefix(known)?.strip_prefix("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_printed_once() {
        let mut told = Told::default();
        let (lane, unit) = (Some("build:A WS1"), Some("build:A"));
        let failed = "gate schema failed: `test -s x` ended with exit code 1";
        let mut says = |name, kind, text: &str, want: Option<&str>| {
            assert_eq!(told.news(name, kind, text).as_deref(), want, "{kind}: {text}");
        };
        says(lane, "gate", failed, Some(failed));
        says(lane, "rework", failed, None);
        says(lane, "started", "WS1 started, attempt 2", Some("WS1 started, attempt 2"));
        says(lane, "gate", failed, Some(failed));
        says(lane, "paused", &format!("{failed}; reworked once"), Some("paused: reworked once"));
        says(unit, "halted", &format!("build:A WS1: {failed}; reworked once"), None);
        says(Some("build:AB"), "gate", failed, Some(failed));
        says(None, "gate", failed, Some(failed));
        says(unit, "ended", failed, Some(failed));
        says(Some("task:a/T"), "paused", "not now", Some("paused: not now"));
        says(Some("task:a/U"), "paused", "task:a/U: lost", Some("paused: lost"));
        says(Some("build:C"), "halted", "build:C WS1: lost", Some("WS1: lost"));
        assert!(told.has("build:A WS1", &format!("{failed}; reworked once")));
        assert!(!told.has("build:A WS2", "another reason"));
    }
}
