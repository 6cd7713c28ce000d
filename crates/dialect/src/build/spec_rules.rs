//! The rules inside of a specification.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::spec::Spec;
use crate::yaml::{Kind, Value};
use crate::{Findings, graph};

/// Checks the rules.
pub(super) fn check(root: Value<'_>, spec: &Spec, lines_before: u32, findings: &mut Findings<'_>) {
    aliases(root, lines_before, findings);
    if spec.workstreams.is_empty() {
        findings.on_line(lines_before, &codes::BUILD_SPEC_EMPTY, "the front matter has no `workstreams`");
        return;
    }
    let places: HashMap<_, _> =
        spec.workstreams.iter().enumerate().map(|(n, stream)| (stream.id.as_str(), n)).collect();
    let phases = phases(spec, &places, findings);
    dependencies(spec, &places, &phases, findings);
    gates(spec, findings);
}

fn aliases(root: Value<'_>, lines_before: u32, findings: &mut Findings<'_>) {
    for (key, value) in root.entries().filter(|(_, value)| value.kind() == Kind::Alias) {
        let message = format!("`{}` is an alias, which is not followed", key.text().unwrap_or_default());
        findings.on_line(value.line() + lines_before, &codes::BUILD_SPEC_ALIAS, message);
    }
}

/// The phase of each workstream, when it is in one.
fn phases(spec: &Spec, places: &HashMap<&str, usize>, findings: &mut Findings<'_>) -> Vec<Option<usize>> {
    let mut phase_of = vec![None; spec.workstreams.len()];
    for (number, phase) in spec.phases.iter().enumerate() {
        for id in &phase.parallel {
            match places.get(id.as_str()) {
                None => {
                    let message = format!("phase {} names {id:?}, which is no workstream", number + 1);
                    findings.on_line(phase.line, &codes::BUILD_SPEC_UNKNOWN_WORKSTREAM, message);
                }
                Some(place) if phase_of[*place].is_some() => {
                    let message = format!("{id:?} is in phase {} and in one before it", number + 1);
                    findings.on_line(phase.line, &codes::BUILD_SPEC_PHASED_TWICE, message);
                }
                Some(place) => phase_of[*place] = Some(number),
            }
        }
    }
    let unphased = spec.workstreams.iter().zip(&phase_of).filter(|(_, phase)| phase.is_none());
    for (stream, _) in unphased {
        let message = format!("{:?} is in no phase", stream.id);
        findings.on_line(stream.line, &codes::BUILD_SPEC_UNPHASED, message);
    }
    phase_of
}

fn dependencies(spec: &Spec, places: &HashMap<&str, usize>, phase_of: &[Option<usize>], findings: &mut Findings<'_>) {
    let mut edges = vec![Vec::new(); spec.workstreams.len()];
    for (place, stream) in spec.workstreams.iter().enumerate() {
        for id in &stream.depends_on {
            let Some(dependency) = places.get(id.as_str()).copied() else {
                let message = format!("{:?} depends on {id:?}, which is no workstream", stream.id);
                findings.on_line(stream.line, &codes::BUILD_SPEC_UNKNOWN_DEPENDENCY, message);
                continue;
            };
            edges[place].push(dependency);
            if let (Some(own), Some(needed)) = (phase_of[place], phase_of[dependency])
                && needed >= own
            {
                let code = if needed == own { &codes::BUILD_SPEC_SAME_PHASE } else { &codes::BUILD_SPEC_ORDER };
                let (own, needed) = (own + 1, needed + 1);
                let message = format!("{:?} in phase {own} depends on {id:?} in phase {needed}", stream.id);
                findings.on_line(stream.line, code, message);
            }
        }
    }
    for cycle in graph::cycles(&edges) {
        let named = graph::describe(&cycle, |place| &spec.workstreams[place].id);
        let message = format!("workstreams depend on each other: {named}");
        findings.on_line(spec.workstreams[cycle[0]].line, &codes::BUILD_SPEC_CYCLE, message);
    }
}

fn gates(spec: &Spec, findings: &mut Findings<'_>) {
    for gate in spec.gates.iter().filter(|gate| gate.command.is_none()) {
        let message = format!("the gate {:?} has no `command`", gate.name);
        findings.on_line(gate.line, &codes::BUILD_SPEC_GATE_COMMAND, message);
    }
    if spec.gates.is_empty() {
        return;
    }
    let defined: HashSet<_> = spec.gates.iter().map(|gate| gate.name.as_str()).collect();
    let by_streams = spec.workstreams.iter().flat_map(|stream| stream.gate.iter().map(|gate| (gate, stream.line)));
    let by_phases = spec.phases.iter().flat_map(|phase| phase.gates.iter().map(|gate| (gate, phase.line)));
    for (gate, line) in by_streams.chain(by_phases).filter(|(gate, _)| !defined.contains(gate.as_str())) {
        findings.on_line(line, &codes::BUILD_SPEC_UNKNOWN_GATE, format!("the gate {gate:?} is not in `gates`"));
    }
}
