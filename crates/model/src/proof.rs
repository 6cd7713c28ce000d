//! Whether what is recorded as done is really there: asked before a worker starts again.
//!
//! A document says what somebody claimed. Facts are collected elsewhere; what follows from them is decided here.

/// What was found about a unit that is to be gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Steps that are recorded as done and name files.
    pub steps: Vec<DoneStep>,
    /// Branches and commits that are named and that the repository does not have, in words.
    pub lost: Vec<String>,
}

/// A step that is recorded as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneStep {
    /// Its name.
    pub step: String,
    /// Whether it is the work of the worker that is to start; else nobody would do it again.
    pub is_own: bool,
    /// Files that it names and that are not there.
    pub missing: Vec<String>,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// What is done is done: the worker goes on.
    Holds,
    /// The worker goes on, and has to see to something first.
    Corrected(Correction),
    /// Nobody goes on before a person has looked at it.
    Refused {
        /// Why.
        reasons: Vec<String>,
    },
}

/// What is put right before a worker goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correction {
    /// Steps that are open again, where the dialect knows how.
    pub open: Vec<String>,
    /// What the worker is told.
    pub told: Vec<String>,
}

/// Decides what becomes of a worker that is to start again.
pub fn prove(facts: &Facts) -> Proof {
    let mut reasons: Vec<String> = facts.lost.iter().map(|lost| bring_back(lost)).collect();
    let mut correction = Correction::default();
    for step in facts.steps.iter().filter(|step| !step.missing.is_empty()) {
        let claim = format!("{} is claimed done, not there: {}", step.step, step.missing.join(", "));
        match step.is_own {
            true => {
                correction.open.push(step.step.clone());
                correction.told.push(claim);
            }
            false => reasons.push(bring_back(&claim)),
        }
    }
    match (reasons.is_empty(), correction.told.is_empty()) {
        (false, _) => Proof::Refused { reasons },
        (true, false) => Proof::Corrected(correction),
        (true, true) => Proof::Holds,
    }
}

fn bring_back(lost: &str) -> String {
    format!("{lost}; bring it back, and try again")
}

/// Who called a gate passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// A command that the lead or a person ran.
    ByCommand,
    /// A worker, by word.
    ByWorker,
    /// A person, by word.
    ByPerson,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: &str, is_own: bool, missing: &[&str]) -> DoneStep {
        DoneStep { step: step.to_owned(), is_own, missing: missing.iter().map(|file| (*file).to_owned()).collect() }
    }

    fn facts(steps: &[DoneStep], lost: &[&str]) -> Facts {
        let lost = lost.iter().map(|lost| (*lost).to_owned()).collect();
        Facts { steps: steps.to_vec(), lost }
    }

    #[test]
    fn what_is_not_there_is_corrected_by_its_own_worker_and_refused_to_others() {
        for (facts, want) in [
            (facts(&[], &[]), "holds"),
            (facts(&[step("a", true, &[]), step("b", false, &[])], &[]), "holds"),
            (facts(&[step("a", true, &["x", "y"])], &[]), "open a; a is claimed done, not there: x, y"),
            (
                facts(&[step("b", false, &["x"])], &[]),
                "refused: b is claimed done, not there: x; bring it back, and try again",
            ),
            // One reason to refuse outweighs everything that could be corrected.
            (
                facts(&[step("a", true, &["x"])], &["a commit abc is gone"]),
                "refused: a commit abc is gone; bring it back, and try again",
            ),
        ] {
            let got = match prove(&facts) {
                Proof::Holds => "holds".to_owned(),
                Proof::Corrected(Correction { open, told }) => {
                    format!("open {}; {}", open.join(", "), told.join(" | "))
                }
                Proof::Refused { reasons } => format!("refused: {}", reasons.join(" | ")),
            };
            assert_eq!(got, want, "{facts:?}");
        }
    }
}
