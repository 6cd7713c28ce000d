//! Helpers of a session: what they are given, and whether what they say is so.

use piton_dialect::hook::{Helper, claimed, named};
use piton_model::hint::verbs;
use piton_model::{Arg, Dialect, Event, StepState, Unit};

use super::documents::Deed;
use super::{Hook, one_line};
use crate::find::read_one;
use crate::target::Target;

impl Hook<'_> {
    /// A helper is about to start: the state is kept, and which steps it is given.
    pub(super) fn helper_wanted(&mut self, kind: &str, prompt: &str) {
        let Some((target, unit)) = self.helped(prompt) else { return self.beat() };
        let open: Vec<&str> =
            unit.steps.iter().filter(|step| step.state == StepState::Pending).map(|step| step.id.as_str()).collect();
        let steps: Vec<String> = named(prompt, &open).into_iter().map(str::to_owned).collect();
        self.session().want(kind.to_owned(), steps);
        self.record(&target, &Event::BackedUp { reason: "pre_subagent_spawn".to_owned() });
    }

    /// The plan that a helper is to work on: the session's own, else the one that the session was told about and whose
    /// tasks the helper is given.
    fn helped(&mut self, prompt: &str) -> Option<(Target, Unit)> {
        let workspace = self.workspace;
        if let Some(target) = self.unit() {
            let unit = (target.dialect == Dialect::Plan).then(|| read_one(workspace, &target, self.now)).flatten()?;
            return Some((target, unit));
        }
        let target = self.session().shown.as_ref().map(|shown| shown.target(workspace))?;
        let unit = (target.dialect == Dialect::Plan).then(|| read_one(workspace, &target, self.now)).flatten()?;
        let ids: Vec<&str> = unit.steps.iter().map(|step| step.id.as_str()).collect();
        if named(prompt, &ids).is_empty() {
            return None;
        }
        self.bind(&target);
        Some((target, unit))
    }

    /// A helper began: it is told what it was given.
    pub(super) fn helper_started(&mut self, helper: &Helper) {
        let steps = self.session().take_wanted(&helper.kind);
        let Some(target) = self.unit() else { return };
        if !matches!(target.dialect, Dialect::Plan | Dialect::Task | Dialect::Crew) {
            return self.beat();
        }
        let event = Event::HelperStarted { kind: helper.kind.clone(), agent: helper.id.clone(), steps: steps.clone() };
        self.record(&target, &event);
        let Some(unit) = read_one(self.workspace, &target, self.now).filter(|_| target.dialect == Dialect::Plan) else {
            return;
        };
        self.done.reply.context = Some(assignment(&target, &unit, &steps, helper));
    }

    /// A helper ended: what it says is done is looked for in the plan.
    pub(super) fn helper_stopped(&mut self, helper: &Helper, message: &str) {
        let Some(target) = self.unit() else { return };
        if target.dialect != Dialect::Plan {
            if matches!(target.dialect, Dialect::Task | Dialect::Crew) {
                let (kind, agent) = (helper.kind.clone(), helper.id.clone());
                self.record(&target, &Event::HelperStopped { kind, agent, completed: Vec::new() });
            }
            return;
        }
        let result = self.align(&target, Deed::Own);
        self.tell_failure(result);
        let Some(unit) = read_one(self.workspace, &target, self.now) else { return };
        let by = format!("subagent:{}", helper.kind);
        let ids: Vec<&str> = unit.steps.iter().map(|step| step.id.as_str()).collect();
        let claims = claimed(message, &ids);
        let is_done =
            |id: &str| unit.steps.iter().any(|step| step.id == id && matches!(step.state, StepState::Done { .. }));
        let is_own = |id: &&str| {
            unit.steps.iter().any(|step| {
                step.id == **id && matches!(&step.state, StepState::Done { by: Some(known), .. } if *known == by)
            })
        };
        let completed = ids.iter().filter(|id| is_done(id) && (claims.contains(id) || is_own(id)));
        let completed: Vec<String> = completed.map(|id| (*id).to_owned()).collect();
        let (kind, agent) = (helper.kind.clone(), helper.id.clone());
        self.record(&target, &Event::HelperStopped { kind, agent, completed });
        let unshown: Vec<&str> = claims.into_iter().filter(|id| !is_done(id)).collect();
        if let [first, ..] = unshown[..] {
            self.alarm(verbs::STEP.on(&target.name).word("done").name(first, "STEP").with("--by", by_whom(&helper.kind)).to(format!("the subagent {} says that {} is done, but {} does not show it: look at the work, then tick the box, or run", helper.kind, unshown.join(", "), target.place.document.as_deref().unwrap_or("plan.md"))));
        }
    }
}

/// What a helper is told when it begins.
fn assignment(target: &Target, unit: &Unit, steps: &[String], helper: &Helper) -> String {
    let document = target.place.document.as_deref().unwrap_or("plan.md");
    let mut text = format!(
        "This session works on {}, whose tasks are the checkboxes of {document}. A task is done when its box is ticked.\n",
        target.name
    );
    if steps.is_empty() {
        text.push_str("No task of it was assigned to you by name; tick no box that you were not asked to work on.\n");
    } else {
        text.push_str("Assigned to you:\n");
        for step in unit.steps.iter().filter(|step| steps.contains(&step.id)).take(40) {
            let title = step.title.as_deref().map(|title| format!(" \"{}\"", one_line(title, 200).replace('"', "'")));
            text.push_str(&format!("- {}{}\n", step.id, title.unwrap_or_default()));
        }
    }
    let done = verbs::STEP.on(&target.name).word("done").fill("TASK").with("--by", by_whom(&helper.kind));
    text.push_str(&format!(
        "{}\nIn your last message name the tasks that are done by their ids, and no others.\n",
        done.to("When a task is done, tick its box, or run")
    ));
    text
}

/// The writer that a subagent's records name.
fn by_whom(kind: &str) -> Arg {
    Arg::name(&format!("subagent:{kind}"), "NAME")
}
