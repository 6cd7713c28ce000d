//! The handoff package: what a person pastes into the new session of an agent.

use piton_model::hint::verbs;
use piton_model::{Moment, Refusal, Unit, text};

use super::layout::stem_of;
use super::write::{Spot, short};
use crate::{Files, Place};

/// What a package stands between.
const LINE: &str = "═══════════════════════════════════════════════════════════";

/// The primary in the names of mailboxes.
const PRIMARY: &str = "primary";

/// Writes the package for the agent of a checkpoint. `from` is the agent that crashed, whose work it goes on with; without
/// one the feature begins again, and nothing is said of a checkpoint.
pub fn handoff(place: &Place, files: &dyn Files, from: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    let spot = Spot::of(place)?;
    let unit = spot.found(files, moment)?.unit;
    let feature = one_line(unit.title.as_deref().unwrap_or("no feature"));
    let (agent, stem) = (one_line(&unit.id), stem_of(&unit.id));
    let epic = if spot.base.is_empty() { place.root.clone() } else { format!("{}/{}", place.root, spot.base) };
    let epic = text::printable(&epic).replace('═', "=");
    let checkpoint = spot.path.strip_prefix(&format!("{}/", spot.base)).unwrap_or(&spot.path);
    let (opening, start) = match from {
        Some(from) => {
            let from = one_line(from);
            let opening = format!(
                "I'm taking over {feature} from crashed {from}.\n\nResuming work from crashed agent {from}.\nCheckpoint File: {checkpoint}\nResume from: {}",
                position(&unit)
            );
            (opening, verbs::RESUME.on(&spot.unit).to("Resume now, with the checkpoint"))
        }
        None => {
            let stage = one_line(unit.stage.as_deref().unwrap_or("the first stage"));
            (format!("I'm joining as {agent} to work on {feature}."), format!("Begin {stage} now.").into())
        }
    };
    let mut package = format!(
        "{LINE}\n{opening}\n\n**Configuration:**\nEpic Path: {epic}\nMy Assignment: {feature}\nMy Agent ID: {agent}\nStage: {}\n\n**Coordination:**\n",
        position(&unit)
    );
    if stem != PRIMARY {
        package.push_str(&format!("- Inbox: agent_comms/{PRIMARY}_to_{stem}.md\n"));
        package.push_str(&format!("- Outbox: agent_comms/{stem}_to_{PRIMARY}.md\n"));
    }
    if from.is_some() {
        package.push_str(&format!("- Checkpoint: {checkpoint}\n"));
    }
    package.push_str(&format!("- STATUS: {feature}/STATUS\n\n{start}\n{LINE}\n"));
    Ok(package)
}

fn position(unit: &Unit) -> String {
    let phase = unit.notes.iter().find(|note| note.label == "phase").map(|note| one_line(&note.text));
    let stage = one_line(unit.stage.as_deref().unwrap_or("no stage"));
    phase.map_or_else(|| stage.clone(), |phase| format!("{stage} ({phase})"))
}

/// What somebody wrote, in a line that cannot end the package.
fn one_line(text: &str) -> String {
    short(&text.split_whitespace().collect::<Vec<_>>().join(" ")).replace('═', "=")
}
