use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use piton_dialect::{Detail, codes};
use piton_model::{
    Claim, Dialect, Document, Finding, Judgement, Led, Liveness, Patience, Place, Role, Rule, State, Time, Unit,
    UnitRef, judge, shortest_names,
};

use crate::Workspace;
use crate::run::LedUnits;
use crate::survey::{Scope, Seen, Surveyed, survey, written};
use crate::target::Target;
use crate::workspace::source;

/// One unit, with everything that is known about it.
#[derive(Debug)]
pub struct Found {
    /// The unit.
    pub unit: Unit,
    /// `dialect:id`, as short as it can be typed.
    pub name: String,
    /// The directories that hold it and its id.
    pub full_name: String,
    /// Whether somebody works on it, and why we think so.
    pub judgement: Judgement,
    /// What a lead knows about it.
    pub led: Option<Led>,
    /// Everything odd about its documents.
    pub findings: Vec<Finding>,
}

impl Found {
    /// Where it stands: what its documents say, and what a lead knows beyond that.
    pub fn state(&self) -> State {
        let state = self.unit.state.clone();
        self.led.as_ref().map_or(state.clone(), |led| led.state(state))
    }
}

/// Why a name does not lead to a unit.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is no such unit.
    Nothing {
        /// Names that look similar, the most similar first.
        similar: Vec<String>,
    },
    /// Several units have that name.
    Ambiguous {
        /// Their full names.
        names: Vec<String>,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFound::Nothing { .. } => write!(f, "no such unit"),
            NotFound::Ambiguous { names } => write!(f, "{} units have this name ({})", names.len(), names.join(", ")),
        }
    }
}

/// Finds the unit that somebody named.
pub fn find(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Found, NotFound> {
    let (surveyed, name) = survey_one(workspace, wanted, now)?;
    Ok(found(workspace, surveyed, name, &LedUnits::look(workspace, now), now))
}

/// The same as documents have it: what a lead knows about it is not asked.
pub(crate) fn find_recorded(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Found, NotFound> {
    let (surveyed, name) = survey_one(workspace, wanted, now)?;
    Ok(found(workspace, surveyed, name, &LedUnits::default(), now))
}

/// The unit of a name, with the shortest name that it has.
fn survey_one(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<(Surveyed, String), NotFound> {
    let mut all_names = Vec::new();
    let mut matching = Vec::new();
    survey(workspace, &Scope { dialect: wanted.dialect, ..Scope::new(Detail::Full) }, now, &mut |seen| {
        if let Seen::Unit(surveyed) = seen {
            all_names.push((surveyed.unit.dialect, surveyed.full_name.clone()));
            if wanted.means(surveyed.unit.dialect, &surveyed.full_name) {
                matching.push(*surveyed);
            }
        }
    });
    merge_superseded(&mut matching);
    if matching.len() > 1
        && let Some(meant) = full_name_of_recorded(workspace, wanted)
        && let Some(place) = matching.iter().position(|each| each.full_name == meant)
    {
        // A copy of its documents, such as a backup, is no reason not to find the unit that is recorded: verbs write to it, and
        // leads know it by this name.
        return Ok((matching.swap_remove(place), wanted.to_string()));
    }
    let short = |dialect, name: &str| {
        let names = shortest_names(all_names.iter().map(|(dialect, name)| (*dialect, name.as_str())));
        let at = all_names.iter().position(|each| each.0 == dialect && each.1 == name).expect("it was surveyed");
        format!("{dialect}:{}", names[at])
    };
    match matching.len() {
        1 => {
            let surveyed = matching.remove(0);
            let name = short(surveyed.unit.dialect, &surveyed.full_name);
            Ok((surveyed, name))
        }
        0 => Err(NotFound::Nothing { similar: similar(wanted, &all_names) }),
        _ => {
            // Namesakes at the root have nothing before their id by which they could be told.
            let name = |each: &Surveyed| short(each.unit.dialect, &each.full_name);
            let names = matching.iter().map(name).collect();
            Err(NotFound::Ambiguous { names })
        }
    }
}

/// The full name of the only unit of a name that Piton has recorded something of.
fn full_name_of_recorded(workspace: &Workspace, wanted: &UnitRef) -> Option<String> {
    let target = Target::journaled(workspace, wanted, false).ok().flatten()?;
    let id = target.place.id.iter().map(piton_model::Id::as_str).collect::<Vec<_>>().join("/");
    Some(if target.place.base.is_empty() { id } else { format!("{}/{id}", target.place.base) })
}

/// The same, and where it has no document yet, what the last lead knows about it.
pub fn find_or_led(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Found, NotFound> {
    let nothing = match find(workspace, wanted, now) {
        Err(nothing @ NotFound::Nothing { .. }) => nothing,
        other => return other,
    };
    let Some((own, led)) = LedUnits::look(workspace, now).named(wanted) else { return Err(nothing) };
    let (Some(dialect), full_name) = (own.dialect, own.full_name()) else { return Err(nothing) };
    let mut unit = Unit::without_document(dialect, &full_name);
    (unit.state, unit.claim) = (State::Queued, Claim::Nobody { why: "no worker has begun it" });
    let judgement = judge(&unit.claim, &unit.signs, Patience::of(dialect), now);
    let judgement = led.judged(unit.state.lifecycle(), judgement);
    Ok(Found { unit, name: own.to_string(), full_name, judgement, led: Some(led), findings: Vec::new() })
}

/// The steps of a crew's agent by the numbers that commands take; the first has the number 1.
pub fn step_numbers(workspace: &Workspace, found: &Found) -> Vec<String> {
    let document = found.unit.documents.first().filter(|_| found.unit.dialect == Dialect::Crew);
    let content = document.and_then(|document| workspace.read(&document.path).ok());
    let attempt = found.unit.attempt.unwrap_or(0);
    content.map(|content| piton_dialect::crew::step_numbers(&content.bytes, attempt)).unwrap_or_default()
}

pub(crate) fn found(workspace: &Workspace, surveyed: Surveyed, name: String, leads: &LedUnits, now: Time) -> Found {
    let Surveyed { unit, full_name, findings } = surveyed;
    let judgement = judge(&unit.claim, &unit.signs, Patience::of(unit.dialect), now);
    let led = leads.of(unit.dialect, &full_name, unit.attempt, written(&unit));
    let judgement = match &led {
        Some(led) => led.judged(unit.state.lifecycle(), judgement),
        None => match leads.ended(workspace, (unit.dialect, &full_name), unit.attempt, judgement.liveness) {
            Some(fact) => Judgement { liveness: Liveness::Idle, rule: Rule::Process(fact), ..judgement },
            None => judgement,
        },
    };
    Found { unit, name, full_name, judgement, led, findings }
}

/// A unit as its own documents describe it: what a lead knows about it is not asked.
pub(crate) fn find_alone(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Option<Unit> {
    find_recorded(workspace, wanted, now).ok().map(|found| found.unit)
}

/// The same for several units, which are read once, by their names.
pub(crate) fn find_all(workspace: &Workspace, names: &BTreeSet<String>, now: Time) -> BTreeMap<String, Unit> {
    let wanted = names.iter().filter_map(|name| Some((name, UnitRef::parse(name).ok()?)));
    let wanted: Vec<(&String, UnitRef)> = wanted.collect();
    let (mut all, mut several) = (BTreeMap::new(), Vec::new());
    if wanted.is_empty() {
        return all;
    }
    survey(workspace, &Scope::new(Detail::Full), now, &mut |seen| {
        let Seen::Unit(surveyed) = seen else { return };
        let is_meant = |(_, unit): &&(&String, UnitRef)| unit.means(surveyed.unit.dialect, &surveyed.full_name);
        if let Some((name, unit)) = wanted.iter().find(is_meant)
            && all.insert((*name).clone(), surveyed.unit).is_some()
        {
            several.push((*name, unit));
        }
    });
    for (name, unit) in several {
        if let Some(found) = find_alone(workspace, unit, now) {
            all.insert(name.clone(), found);
        }
    }
    all
}

/// Reads the one unit of a target, and nothing else of the workspace; nothing when it cannot be read by itself.
pub(crate) fn read_one(workspace: &Workspace, target: &Target, now: Time) -> Option<Unit> {
    let document = target.place.document.as_deref()?;
    match target.dialect {
        Dialect::Plan => {
            let (directory, _) = piton_dialect::plan::layout::recognise(document)?;
            crate::survey::read_plan(workspace, directory, now)
        }
        Dialect::Task => {
            let content = workspace.read(document).ok()?;
            piton_dialect::task::read_checkpoint(&source(document, &content), now).unit
        }
        Dialect::Crew => {
            let content = workspace.read(document).ok()?;
            piton_dialect::crew::read_checkpoint(&source(document, &content), Detail::Full, now).unit
        }
        Dialect::Pipeline | Dialect::Build => None,
    }
}

/// For each document, the place of the newer one that describes the same unit, when there is one.
pub(crate) fn supersede<'a>(documents: impl Iterator<Item = ((Dialect, &'a str), Option<Time>)>) -> Vec<Option<usize>> {
    let documents: Vec<_> = documents.collect();
    // A survey goes by names, so nearly always each document comes behind the one before, and none repeats.
    let identity_of =
        |((dialect, name), _): &((Dialect, &'a str), Option<Time>)| (*dialect, identity(*dialect, name.as_bytes()));
    let goes_up = |pair: &[((Dialect, &'a str), Option<Time>)]| {
        let ((a_dialect, a), (b_dialect, b)) = (pair[0].0, pair[1].0);
        // What names have in common does not decide, however it folds.
        let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let rest = || identity(a_dialect, &a.as_bytes()[common..]).cmp(identity(b_dialect, &b.as_bytes()[common..]));
        a_dialect.cmp(&b_dialect).then_with(rest).is_lt()
    };
    if documents.windows(2).all(goes_up) {
        return vec![None; documents.len()];
    }
    let keys: Vec<(Dialect, Vec<u8>)> =
        documents.iter().map(identity_of).map(|(dialect, id)| (dialect, id.collect())).collect();
    let mut newest: HashMap<&(Dialect, Vec<u8>), usize> = HashMap::with_capacity(documents.len());
    for (place, (key, (_, written))) in keys.iter().zip(&documents).enumerate() {
        let best = newest.entry(key).or_insert(place);
        if documents[*best].1 < *written {
            *best = place;
        }
    }
    let winner = |(place, key)| Some(newest[key]).filter(|winner| *winner != place);
    keys.iter().enumerate().map(winner).collect()
}

/// Keeps the newest of several documents of one unit, with the others listed and a finding about it.
pub(crate) fn merge_superseded(surveyed: &mut Vec<Surveyed>) {
    let replaced =
        supersede(surveyed.iter().map(|each| ((each.unit.dialect, each.full_name.as_str()), written(&each.unit))));
    let mut losers = Vec::new();
    let mut place = 0..;
    let all = std::mem::take(surveyed);
    let mut places = HashMap::new();
    for each in all {
        let at = place.next().expect("endless");
        match replaced[at] {
            Some(winner) => losers.push((winner, each)),
            None => {
                places.insert(at, surveyed.len());
                surveyed.push(each);
            }
        }
    }
    for (winner, loser) in losers {
        let winner = &mut surveyed[places[&winner]];
        let (Some(new), Some(old)) = (winner.unit.documents.first(), loser.unit.documents.first()) else { continue };
        winner.findings.push(Finding {
            code: &codes::TWO_DOCUMENTS,
            place: Place { path: old.path.clone(), line: None },
            message: format!("{}:{} is also in {}, which is newer", winner.unit.dialect, winner.unit.id, new.path),
        });
        let superseded =
            loser.unit.documents.iter().map(|document| Document { role: Role::Superseded, ..document.clone() });
        winner.unit.documents.extend(superseded);
    }
}

/// What tells units of a dialect apart: agents of a crew are known by file names, which fold.
fn identity(dialect: Dialect, full_name: &[u8]) -> impl Iterator<Item = u8> {
    let folds = dialect == Dialect::Crew;
    full_name.iter().map(move |byte| match *byte {
        b'-' if folds => b'_',
        byte if folds => byte.to_ascii_lowercase(),
        byte => byte,
    })
}

fn similar(wanted: &UnitRef, names: &[(Dialect, String)]) -> Vec<String> {
    let parts: Vec<_> = wanted.parts.iter().map(piton_model::Id::as_str).collect();
    let typed = parts.join("/").to_lowercase();
    let distance = |name: &str| {
        let start = name.rmatch_indices('/').nth(parts.len() - 1).map_or(0, |(at, _)| at + 1);
        let end = name[start..].to_lowercase();
        if end.contains(&typed) || typed.contains(&end) { 0 } else { edit_distance(&end, &typed) }
    };
    let mut near: Vec<_> = names.iter().map(|(dialect, name)| (distance(name), format!("{dialect}:{name}"))).collect();
    near.retain(|(distance, _)| *distance <= 1 + typed.len() / 4);
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The known word that was probably meant.
pub(crate) fn nearest<'k>(typed: &str, known: &[&'k str]) -> Option<&'k str> {
    let best = known.iter().copied().min_by_key(|word| edit_distance(word, typed))?;
    (edit_distance(best, typed) <= 1 + typed.len() / 4).then_some(best)
}

/// The least number of changed, added or removed bytes; names are short.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
