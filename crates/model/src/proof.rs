//! Whether what is recorded as done is really there: asked before a worker starts again.
//!
//! A document says what somebody claimed. Facts are collected elsewhere; what follows from them is decided here.

/// What was found about a unit that is to be gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Steps that are recorded as done and name files.
    pub steps: Vec<DoneStep>,
    /// Gates that are recorded as passed.
    pub gates: Vec<PassedGate>,
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

/// A gate that is recorded as passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedGate {
    /// Its name.
    pub name: String,
    /// What proves it.
    pub proof: GateProof,
    /// Whether the worker that is to start can make it pass again.
    pub is_own: bool,
}

/// What proves that a gate passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateProof {
    /// Its command has run on the files as they are, or a person judged it.
    Proved,
    /// A worker said so, and no command is known that could tell.
    ByWord,
    /// The files have changed since it was run, and it could not be run again.
    NotRun {
        /// Why not.
        why: String,
    },
    /// It was run again and does not pass.
    Fails {
        /// How it ended.
        why: String,
    },
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
    let mut reasons: Vec<String> =
        facts.lost.iter().map(|lost| format!("{lost}; bring it back, then piton run --retry")).collect();
    let mut correction = Correction::default();
    for step in facts.steps.iter().filter(|step| !step.missing.is_empty()) {
        let claim = format!("{} is claimed done, not there: {}", step.step, step.missing.join(", "));
        match step.is_own {
            true => {
                correction.open.push(step.step.clone());
                correction.told.push(claim);
            }
            false => reasons.push(format!("{claim}; bring it back, then piton run --retry")),
        }
    }
    for gate in &facts.gates {
        let name = &gate.name;
        match (&gate.proof, gate.is_own) {
            (GateProof::Proved, _) => {}
            (GateProof::ByWord, _) => {
                correction.told.push(format!("gate {name} was passed by word alone; nothing proves it"));
            }
            (GateProof::NotRun { why }, _) => {
                let told = format!("gate {name} passed before the files changed and was not run again: {why}");
                correction.told.push(told);
            }
            (GateProof::Fails { why }, true) => {
                correction.told.push(format!("gate {name} is recorded as passed and fails: {why}"));
            }
            (GateProof::Fails { why }, false) => {
                reasons.push(format!(
                    "gate {name} is recorded as passed and fails: {why}; mend it, then piton run --retry"
                ));
            }
        }
    }
    match (reasons.is_empty(), correction.told.is_empty()) {
        (false, _) => Proof::Refused { reasons },
        (true, false) => Proof::Corrected(correction),
        (true, true) => Proof::Holds,
    }
}

/// Evidence of a gate, as far as it tells whether the gate has to be run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// A command was run, on files that had this name; none where nobody could tell.
    ByCommand {
        /// The tree of the commit.
        tree: Option<String>,
    },
    /// A worker said so.
    ByWorker,
    /// Somebody else said so: a person.
    ByPerson,
}

/// Whether a gate that is recorded as passed has to be run again, given the tree of the commit now. What cannot be
/// compared, because there is no repository, is believed.
pub fn is_due(judged: &Judged, tree: Option<&str>) -> bool {
    match (judged, tree) {
        (Judged::ByPerson, _) => false,
        (Judged::ByWorker, _) => true,
        (Judged::ByCommand { .. }, None) => false,
        (Judged::ByCommand { tree: before }, Some(now)) => before.as_deref() != Some(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: &str, is_own: bool, missing: &[&str]) -> DoneStep {
        DoneStep { step: step.to_owned(), is_own, missing: missing.iter().map(|file| (*file).to_owned()).collect() }
    }

    fn gate(proof: GateProof, is_own: bool) -> PassedGate {
        PassedGate { name: "lint".to_owned(), proof, is_own }
    }

    fn facts(steps: &[DoneStep], gates: &[PassedGate], lost: &[&str]) -> Facts {
        let lost = lost.iter().map(|lost| (*lost).to_owned()).collect();
        Facts { steps: steps.to_vec(), gates: gates.to_vec(), lost }
    }

    #[test]
    fn what_is_not_there_is_corrected_by_its_own_worker_and_refused_to_others() {
        let (fails, not_run) =
            (GateProof::Fails { why: "ended with 1".into() }, GateProof::NotRun { why: "no".into() });
        for (facts, want) in [
            (facts(&[], &[], &[]), "holds"),
            (facts(&[step("a", true, &[]), step("b", false, &[])], &[], &[]), "holds"),
            (facts(&[], &[gate(GateProof::Proved, false), gate(GateProof::Proved, true)], &[]), "holds"),
            (facts(&[step("a", true, &["x", "y"])], &[], &[]), "open a; a is claimed done, not there: x, y"),
            (
                facts(&[step("b", false, &["x"])], &[], &[]),
                "refused: b is claimed done, not there: x; bring it back, then piton run --retry",
            ),
            (
                facts(&[], &[gate(GateProof::ByWord, true)], &[]),
                "open ; gate lint was passed by word alone; nothing proves it",
            ),
            (
                facts(&[], &[gate(not_run, false)], &[]),
                "open ; gate lint passed before the files changed and was not run again: no",
            ),
            (
                facts(&[], &[gate(fails.clone(), true)], &[]),
                "open ; gate lint is recorded as passed and fails: ended with 1",
            ),
            (
                facts(&[], &[gate(fails, false)], &[]),
                "refused: gate lint is recorded as passed and fails: ended with 1; mend it, then piton run --retry",
            ),
            // One reason to refuse outweighs everything that could be corrected.
            (
                facts(&[step("a", true, &["x"])], &[gate(GateProof::ByWord, true)], &["a commit abc is gone"]),
                "refused: a commit abc is gone; bring it back, then piton run --retry",
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

    #[test]
    fn a_gate_is_run_again_when_its_files_have_changed_or_a_worker_only_said_so() {
        let by = |tree: Option<&str>| Judged::ByCommand { tree: tree.map(str::to_owned) };
        for (judged, tree, want) in [
            (by(Some("t1")), Some("t1"), false),
            (by(Some("t1")), Some("t2"), true),
            (by(None), Some("t2"), true),
            (by(Some("t1")), None, false),
            (by(None), None, false),
            (Judged::ByWorker, Some("t1"), true),
            (Judged::ByWorker, None, true),
            (Judged::ByPerson, Some("t1"), false),
            (Judged::ByPerson, None, false),
        ] {
            assert_eq!(is_due(&judged, tree), want, "{judged:?} {tree:?}");
        }
    }
}
