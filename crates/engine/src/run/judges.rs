//! Which gates judge a piece of work, and by which command: those of the lead's settings, or of the settings that a branch changes
//! and a person approved. What the user changes meanwhile is judged by the next lead.

use std::collections::{BTreeMap, BTreeSet};

use piton_model::fleet::{GateKind, GateOf, LaneAt, MergeOf};
use piton_model::{Dialect, UnitRef, is_gate, meant_gate};
use piton_supervisor::quoted;

use super::lead::Lead;
use super::merging::Key;
use super::other_sources::is_elsewhere;
use super::settings::{SETTINGS, Settings};
use super::task_list::removed_criteria;
use super::work::{Work, gates_by_phase};
use crate::evidence::{named_command, toml_key};

/// The command of a gate: the one that the unit's own specification names, else the one of the settings.
pub(super) fn command_of<'c>(
    specified: &'c [(String, String)],
    settings: &'c BTreeMap<String, String>,
    gate: &str,
) -> Option<&'c String> {
    let meant = meant_gate(specified.iter().map(|(name, _)| name.as_str()), gate);
    let own = specified.iter().find(|(name, _)| meant == Some(name));
    own.map(|(_, command)| command).or_else(|| named_command(settings, gate))
}

/// The criteria that a command of the settings judges.
pub(super) fn with_command(
    criteria: impl IntoIterator<Item = String>,
    settings: &BTreeMap<String, String>,
) -> Vec<String> {
    let judged = criteria.into_iter().filter(|gate| named_command(settings, gate).is_some());
    judged.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Gates of the settings that judge nothing although work names a gate like them: two spellings of one name are there, and
/// another one is meant, or none.
pub(super) fn unheard(settings: &Settings, work: &Work) -> Vec<String> {
    let criteria = work.lanes.iter().flat_map(|lane| lane.start.criteria.iter());
    let phases = work.fleet.groups.iter().flat_map(|group| &group.phases);
    let of_phases = phases.flat_map(|phase| phase.gates.iter().map(|gate| &gate.name));
    // A story and an agent's feature are judged by all gates.
    let is_judged_by_all = work.lanes.iter().any(|lane| matches!(lane.dialect, Dialect::Pipeline | Dialect::Crew));
    let lanes = work.fleet.lanes.iter().flat_map(|lane| &lane.gates);
    let named: BTreeSet<&String> = criteria.chain(of_phases).chain(lanes).collect();
    let names = || settings.gates.keys().map(String::as_str);
    let is_heard =
        |gate: &str| is_judged_by_all || named.iter().any(|wanted| meant_gate(names(), wanted) == Some(gate));
    let told = |gate: &str| {
        let wanted = named.iter().find(|wanted| piton_model::is_same_gate(wanted, gate))?;
        Some(format!(
            "gate {} of {SETTINGS} judges nothing: the work names {}, and its name has to be spelled like that",
            toml_key(gate),
            toml_key(wanted)
        ))
    };
    names().filter(|gate| !is_heard(gate)).filter_map(told).collect()
}

impl Lead<'_> {
    /// Whether the lead's settings have a command for a gate.
    pub(super) fn has_command(&self, gate: &str) -> bool {
        named_command(&self.settings.gates, gate).is_some()
    }

    /// The command of a gate, as this lead began with it.
    pub(super) fn gate_command(&self, group: usize, gate: &str) -> Option<String> {
        command_of(&self.work.groups[group].gates, &self.settings.gates, gate).cloned()
    }

    /// The gates that judge a lane's prepared merge. They are worked out for each merge: a branch may take back what a person
    /// approved of it.
    pub(super) fn gates_of_lane(&self, at: LaneAt) -> Vec<String> {
        let approved = self.approved_gates(MergeOf::Lane(at));
        let settings = approved.as_ref().unwrap_or(&self.settings.gates);
        match self.work.lanes[at].dialect {
            Dialect::Pipeline | Dialect::Crew => settings.keys().cloned().collect(),
            Dialect::Task => with_command(self.criteria_of(at), settings),
            // The specification names them, or the phase has them.
            Dialect::Plan | Dialect::Build => self.work.fleet.lanes[at].gates.clone(),
        }
    }

    /// The criteria of a unit that is one lane.
    fn criteria_of(&self, at: LaneAt) -> Vec<String> {
        let work = &self.work.lanes[at];
        let Ok(unit) = self.unit_of(at) else { return work.start.criteria.clone() };
        // A task that its worker calls complete keeps them in its checkpoint.
        let removed = removed_criteria(work, &unit, &self.begun_criteria(at));
        let known = unit.gates.into_iter().map(|gate| gate.name).filter(|gate| !removed.contains(gate));
        work.start.criteria.iter().cloned().chain(known).collect()
    }

    /// Chooses the gates that judge a prepared merge, anew for each.
    pub(super) fn choose_gates(&mut self, of: MergeOf) {
        match of {
            MergeOf::Lane(at) => {
                if let Err(message) = self.drop_criteria(at) {
                    let name = self.work.fleet.lanes[at].name.clone();
                    self.memory.issues.push((name, "record".to_owned(), message));
                }
                self.work.fleet.lanes[at].gates = self.gates_of_lane(at);
            }
            // A criterion for which an approved branch brings a command is judged by that, before the base moves.
            MergeOf::Phase(group, phase) => {
                let Some(approved) = self.approved_gates(of) else { return };
                for gate in &mut self.work.fleet.groups[group].phases[phase].gates {
                    if named_command(&approved, &gate.name).is_some() {
                        gate.kind = GateKind::Command;
                    }
                }
            }
        }
    }

    /// The gates of settings that a branch changes and a person approved: its own version judges it.
    pub(super) fn approved_gates(&self, of: MergeOf) -> Option<BTreeMap<String, String>> {
        let merged = self.merged.get(&Key::from(of)).filter(|merged| merged.own_gates.is_empty())?;
        let (repository, candidate) = (self.repository.as_ref()?, merged.candidate.as_ref()?);
        let base = self.memory.run.base.as_ref()?;
        // What its phase has collected may have been approved with another lane.
        let is_collected = candidate.base_branch != *base;
        let approved = match of {
            MergeOf::Lane(at) if is_collected => {
                let lane = &self.work.fleet.lanes[at];
                self.approved_in(lane.group, lane.phase)
            }
            // An approval holds for later commits that leave the settings alone.
            MergeOf::Lane(at) => {
                let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
                known.and_then(|known| known.approved.clone()).into_iter().collect()
            }
            MergeOf::Phase(group, phase) => self.approved_in(group, phase),
        };
        if approved.is_empty() {
            return None;
        }
        let path = repository.inside().join(SETTINGS).display().to_string();
        let text = |commit: &str| repository.text_at(commit, &path).ok().flatten();
        let before = match is_collected {
            true => repository.tip(base).ok().flatten()?,
            false => candidate.base_commit.clone(),
        };
        // Settings that the base does not have were not a part of the question.
        let (before, own) = (text(&before)?, text(&candidate.commit)?);
        (before != own).then(|| Settings::parse(&String::from_utf8_lossy(&own)).ok()).flatten().map(|own| own.gates)
    }

    /// The commits of a phase's lanes whose changes of what judges them a person approved.
    pub(super) fn approved_in(&self, group: usize, phase: usize) -> Vec<String> {
        let lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, phase));
        lanes.filter_map(|lane| self.memory.lanes.get(&lane.name)?.approved.clone()).collect()
    }

    /// Takes over the gates of approved settings that a merge brought to the base: they judge all that comes after it.
    pub(super) fn take_over_gates(&mut self, gates: BTreeMap<String, String>) {
        self.approved_commands.extend(gates.values().cloned());
        self.settings.gates = gates;
        // Phases of plans that no worker has begun get the gates that have a command by now.
        self.plans.clear();
        for group in 0..self.work.groups.len() {
            if self.work.groups[group].dialect != Dialect::Build {
                continue;
            }
            for phase in 0..self.work.fleet.groups[group].phases.len() {
                self.follow_commands(group, phase);
            }
        }
    }

    /// A phase of a build that has not begun judges by commands what has a command by now.
    fn follow_commands(&mut self, group: usize, phase: usize) {
        let mut lanes = self.work.fleet.lanes.iter().filter(|lane| (lane.group, lane.phase) == (group, phase));
        if !lanes.all(|lane| lane.state == piton_model::fleet::LaneState::Queued) {
            return;
        }
        let commands = self.work.groups[group].gates.clone();
        for gate in &mut self.work.fleet.groups[group].phases[phase].gates {
            let has_command = command_of(&commands, &self.settings.gates, &gate.name).is_some();
            gate.kind = if has_command { GateKind::Command } else { GateKind::Later };
        }
    }

    /// Refuses to let a gate judge that the user changed, added or removed since this lead began: the next lead judges by
    /// what there is then.
    pub(super) fn refuse_changed_gate(&self, of: GateOf, gate: &str) -> Result<(), String> {
        let group = self.group_of(of);
        if let Some(unit) = &self.work.groups[group].unit {
            self.refuse_changed_gates(unit)?;
        }
        let known = command_of(&self.work.groups[group].gates, &self.settings.gates, gate);
        let (specified, settings) = self.commands_of_user(group);
        // What an approved branch adds is neither in the lead's settings nor in the user's.
        match command_of(&specified, &settings, gate) == known {
            true => Ok(()),
            false => Err(self.judge_by_changed(gate)),
        }
    }

    /// Refuses to judge a unit, and to call it done, whose user added a gate or changed its command since this lead began:
    /// the next lead judges by that.
    pub(super) fn refuse_changed_gates(&self, unit: &UnitRef) -> Result<(), String> {
        let Some(group) = self.work.groups.iter().position(|known| known.unit.as_ref() == Some(unit)) else {
            return Ok(());
        };
        let phases = self.work.fleet.groups[group].phases.iter();
        let mut names: BTreeSet<String> = phases.flat_map(|phase| &phase.gates).map(|gate| gate.name.clone()).collect();
        if self.work.groups[group].dialect == Dialect::Build
            && let Some(spec) = self.specification(unit)
        {
            names.extend(spec.phases.iter().flat_map(|phase| phase.gates.clone()));
        }
        let (specified, settings) = self.commands_of_user(group);
        let is_changed = |gate: &String| {
            let now = command_of(&specified, &settings, gate);
            now.is_some_and(|now| self.gate_command(group, gate).as_ref() != Some(now))
        };
        let mut changed: Vec<String> = names.into_iter().filter(is_changed).collect();
        let added = self.added_gates(group, unit).into_iter().filter(|gate| !changed.contains(gate));
        changed.extend(added.collect::<Vec<_>>());
        match changed.is_empty() {
            true => Ok(()),
            false => Err(self.judge_by_changed(&changed.join(", "))),
        }
    }

    /// The gates that a build's specification has in a phase by now, and that this lead does not have there.
    fn added_gates(&self, group: usize, unit: &UnitRef) -> Vec<String> {
        let dialect = self.work.groups[group].dialect;
        let spec = self.specification(unit).filter(|_| dialect == Dialect::Build);
        let known = &self.work.fleet.groups[group];
        let keys: Vec<String> = (0..known.phases.len()).map(|place| known.phase_key(place)).collect();
        let of_lanes = self.work.fleet.lanes.iter().filter(|lane| lane.group == group).flat_map(|lane| &lane.gates);
        let of_lanes: Vec<&String> = of_lanes.collect();
        let is_known = |key: &String, gate: &String| {
            // A phase that was renamed or added has the gates of all.
            let here = known.phases.iter().zip(&keys).filter(|(_, other)| *other == key || !keys.contains(key));
            let here = here.flat_map(|(phase, _)| phase.gates.iter().map(|gate| &gate.name));
            of_lanes.iter().copied().chain(here).any(|name| is_gate(dialect, name, gate))
        };
        let all = spec.iter().flat_map(gates_by_phase);
        all.flat_map(|(key, gates)| gates.into_iter().filter(|gate| !is_known(&key, gate)).collect::<Vec<_>>())
            .collect()
    }

    /// Refuses to merge a story, a task or an agent's work whose user added a gate or changed one since this lead began.
    pub(super) fn refuse_added_gates(&self, at: LaneAt) -> Result<(), String> {
        let now = self.gates_of_user();
        let judged = match self.work.lanes[at].dialect {
            Dialect::Pipeline | Dialect::Crew => now.keys().cloned().collect(),
            Dialect::Task => with_command(self.criteria_of(at), &now),
            // They are judged by phases, see `refuse_changed_gates`.
            Dialect::Plan | Dialect::Build => Vec::new(),
        };
        // A criterion that was added while its gates ran was not among those that judged the work.
        let is_new = |gate: &String| {
            self.work.lanes[at].dialect == Dialect::Task && !self.work.fleet.lanes[at].gates.contains(gate)
        };
        let is_changed =
            |gate: &String| is_new(gate) || named_command(&now, gate) != named_command(&self.settings.gates, gate);
        let changed: Vec<String> = judged.into_iter().filter(is_changed).collect();
        match changed.is_empty() {
            true => Ok(()),
            false => Err(self.judge_by_changed(&changed.join(", "))),
        }
    }

    pub(super) fn judge_by_changed(&self, gates: &str) -> String {
        let mut text = format!("gates changed during the run: {gates}; ");
        let base = self.memory.run.base.as_ref();
        if let Some(base) = base.filter(|_| is_elsewhere(self.workspace, &self.run)) {
            // A lead reads its settings from what is checked out.
            text += &format!("check {base} out: git checkout {}; then ", quoted(base));
        }
        self.command(&["--retry"]).to(text + "judge by them").to_string()
    }

    /// The commands of a group's gates as their user has them now: those of its specification, and those of the settings.
    fn commands_of_user(&self, group: usize) -> (Vec<(String, String)>, BTreeMap<String, String>) {
        let known = &self.work.groups[group];
        let spec = known.unit.as_ref().filter(|_| known.dialect == Dialect::Build);
        let specified = match spec.and_then(|unit| self.specification(unit)) {
            Some(spec) => spec.gates.into_iter().filter_map(|gate| Some((gate.name, gate.command?))).collect(),
            None => known.gates.clone(),
        };
        (specified, self.gates_of_user())
    }

    /// The gates of the settings as their user has them now.
    pub(super) fn gates_of_user(&self) -> BTreeMap<String, String> {
        match Settings::load(&self.as_user_has_it()) {
            Ok(settings) if settings.is_there || !self.settings.is_there => settings.gates,
            // A file that is gone or cannot be read says nothing about gates.
            Ok(_) | Err(_) => self.settings.gates.clone(),
        }
    }
}
