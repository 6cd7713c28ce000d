//! Copies of a checkpoint: made before each update, used when it is torn.

use piton_model::hint::verbs;
use piton_model::{Arg, Change, Effect, Hint, Moment, Refusal, Time, Unit};

use super::{Spot, unit_of};
use crate::crew::{is_ours, is_whole, layout};
use crate::json::{self, Editor, Kind};
use crate::{Files, time};

/// How many backups of one agent are kept.
const MOST: usize = 10;

/// A checkpoint as an event finds it.
#[derive(Debug)]
pub(in crate::crew) struct Found {
    pub editor: Editor,
    pub unit: Unit,
    pub origin: Origin,
}

/// Where the text of a checkpoint comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::crew) enum Origin {
    /// The checkpoint itself.
    Document,
    /// This backup, because the checkpoint is torn.
    Backup(String),
}

impl Found {
    /// What has to be said about where it comes from.
    pub fn warnings(&self) -> Vec<Hint> {
        match &self.origin {
            Origin::Document => Vec::new(),
            Origin::Backup(path) => vec![format!("the checkpoint was unreadable and is restored from {path}").into()],
        }
    }
}

/// Finds the checkpoint; nothing when there is no file. A torn one is taken from its newest whole backup.
pub(in crate::crew) fn find(spot: &Spot, files: &dyn Files, moment: &Moment) -> Result<Option<Found>, Refusal> {
    let Some(bytes) = files.read(&spot.path)? else { return Ok(None) };
    if !is_torn(&bytes) {
        let editor = Editor::open(&spot.path, &bytes)?;
        if !editor.look(is_ours) {
            return Err(Refusal::document(format!("this is not an agent's checkpoint: {}", spot.path))
                .hint(verbs::CHECK.call().path(&spot.path).to("see what it is")));
        }
        let unit = unit_of(&spot.path, &editor, moment).ok_or_else(|| unreadable(spot))?;
        return Ok(Some(Found { editor, unit, origin: Origin::Document }));
    }
    let Some((path, bytes)) = newest_whole(spot, files)? else { return Err(unreadable(spot)) };
    let editor = Editor::open(&path, &bytes)?;
    let unit = unit_of(&spot.path, &editor, moment).ok_or_else(|| unreadable(spot))?;
    Ok(Some(Found { editor, unit, origin: Origin::Backup(path) }))
}

/// The backup from which a checkpoint that is gone can be restored: not when it went because it was archived.
pub(super) fn lost(spot: &Spot, files: &dyn Files) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let archived = archived_at(spot, files, &["_crashed_", "_aborted_"]);
    Ok(newest_whole(spot, files)?
        .filter(|(path, _)| stamp_of(path).is_some_and(|at| archived.is_none_or(|then| at > then))))
}

/// Restores a checkpoint that is torn or gone.
pub(super) fn repair(spot: &Spot, files: &dyn Files, moment: &Moment) -> Result<Change, Refusal> {
    let mut change = Change::default();
    let restored = match find(spot, files, moment)? {
        Some(Found { origin: Origin::Document, .. }) => {
            change.summary = "nothing to repair".into();
            return Ok(change);
        }
        Some(found) => {
            change.effects = before_update(spot, files, &found, moment)?;
            let Origin::Backup(path) = found.origin else { return Ok(change) };
            (path, found.editor.into_bytes())
        }
        None => lost(spot, files)?
            .ok_or_else(|| Refusal::missing(format!("there is neither a checkpoint nor a backup of {}", spot.agent)))?,
    };
    // The bytes of the backup as they are: its time says when the agent was last heard of.
    change.summary = format!("restored from {}", restored.0);
    change.effects.push(Effect::Write { path: spot.path.clone(), bytes: restored.1 });
    Ok(change)
}

/// What happens to the old checkpoint before a new one is written: a sound one becomes a backup, and only the last
/// ten of exactly this agent stay; a torn one is kept aside.
pub(super) fn before_update(
    spot: &Spot,
    files: &dyn Files,
    found: &Found,
    moment: &Moment,
) -> Result<Vec<Effect>, Refusal> {
    let from = spot.path.clone();
    if found.origin != Origin::Document {
        return Ok(vec![Effect::Keep { from, to: aside(spot, files, moment) }]);
    }
    let names = files.list(&spot.backups());
    let name = backup_name(spot, &names, moment);
    let to = format!("{}/{name}", spot.backups());
    let mut effects = vec![Effect::Keep { from, to }];
    let old = owned(spot, &names);
    let surplus = (old.len() + 1).saturating_sub(MOST);
    let gone = old.into_iter().take(surplus);
    effects.extend(gone.map(|name| Effect::Remove { path: format!("{}/{name}", spot.backups()) }));
    Ok(effects)
}

/// The name of a new backup. Of the same second it is the last: the number of one that has gone is not given again,
/// or the new one would be taken for the oldest.
fn backup_name(spot: &Spot, names: &[String], moment: &Moment) -> String {
    let stamp = stamp(moment.now);
    let number = |name: &String| {
        let (owner, (at, number)) = layout::backup_owner(name.strip_suffix(".json")?)?;
        (owner == spot.stem() && at == stamp).then_some(number)
    };
    match names.iter().filter_map(number).max() {
        None => format!("{}_{stamp}.json", spot.stem()),
        Some(last) => format!("{}_{stamp}_{}.json", spot.stem(), last.saturating_add(1)),
    }
}

/// Where a torn checkpoint is kept: under a name that nobody takes for a checkpoint.
pub(super) fn aside(spot: &Spot, files: &dyn Files, moment: &Moment) -> String {
    let name = |seconds: i64| format!("{}.json.corrupt_{seconds}", spot.stem());
    free_at(files, spot, moment, name)
}

/// The path of an archive: the agent, why, and the second.
pub(super) fn archive(spot: &Spot, files: &dyn Files, why: &str, moment: &Moment) -> String {
    free_at(files, spot, moment, |seconds| format!("{}_{why}_{seconds}.json", spot.stem()))
}

/// The first free name from now on. Names with anything behind the seconds would be taken for checkpoints.
fn free_at(files: &dyn Files, spot: &Spot, moment: &Moment, name: impl Fn(i64) -> String) -> String {
    let names = files.list(spot.directory());
    let mut seconds = moment.now.unix_seconds();
    while names.contains(&name(seconds)) {
        seconds += 1;
    }
    spot.beside(&name(seconds))
}

/// The oldest backup of this agent, and whether older ones may have been removed.
pub(super) fn oldest(spot: &Spot, files: &dyn Files) -> Result<Option<(Vec<u8>, bool)>, Refusal> {
    let backups = current(spot, files);
    let Some(first) = backups.first() else { return Ok(None) };
    let bytes = files.read(&format!("{}/{first}", spot.backups()))?;
    Ok(bytes.map(|bytes| (bytes, backups.len() >= MOST)))
}

/// The newest backup from which the checkpoint can be restored.
pub(super) fn newest_whole(spot: &Spot, files: &dyn Files) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    for name in current(spot, files).into_iter().rev() {
        let path = format!("{}/{name}", spot.backups());
        let Some(bytes) = files.read(&path)? else { continue };
        // One that cannot be written into would only move the trouble.
        if is_whole(&bytes) && Editor::open(&path, &bytes).is_ok() {
            return Ok(Some((path, bytes)));
        }
    }
    Ok(None)
}

/// The backups since the agent was last restarted: what was given up then is not brought back.
fn current(spot: &Spot, files: &dyn Files) -> Vec<String> {
    let aborted = archived_at(spot, files, &["_aborted_"]);
    let mut names = owned(spot, &files.list(&spot.backups()));
    names.retain(|name| aborted.is_none_or(|then| stamp_of(name).is_some_and(|at| at > then)));
    names
}

/// The backups of exactly this agent, oldest first.
fn owned(spot: &Spot, names: &[String]) -> Vec<String> {
    let order = |name: &String| {
        let (owner, order) = layout::backup_owner(name.strip_suffix(".json")?)?;
        (owner == spot.stem()).then(|| ((order.0.to_owned(), order.1), name.clone()))
    };
    let mut found: Vec<_> = names.iter().filter_map(order).collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// When the agent's checkpoint was last archived for one of these reasons, in seconds since 1970.
fn archived_at(spot: &Spot, files: &dyn Files, why: &[&str]) -> Option<i64> {
    let epoch = |name: &String| {
        let stem = name.strip_suffix(".json")?;
        layout::archive_owner(stem).filter(|owner| *owner == spot.stem())?;
        let (_, epoch) = why.iter().find_map(|word| stem.rsplit_once(word))?;
        epoch.parse().ok()
    };
    files.list(spot.directory()).iter().filter_map(epoch).max()
}

/// When a backup was made, in seconds since 1970.
fn stamp_of(path: &str) -> Option<i64> {
    let name = path.rsplit('/').next()?;
    let (_, (stamp, _)) = layout::backup_owner(name.strip_suffix(".json")?)?;
    let part = |from: usize, to: usize| stamp.get(from..to);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(11, 13)?,
        part(13, 15)?
    );
    time::read(&text).time().map(Time::unix_seconds)
}

/// The time as it stands in the name of a backup: `YYYYMMDD_HHMMSS`.
fn stamp(now: Time) -> String {
    let text = now.to_string();
    text.chars().filter(|c| c.is_ascii_digit() || *c == 'T').map(|c| if c == 'T' { '_' } else { c }).collect()
}

/// Whether bytes are not a JSON object at all: a write was torn, or somebody broke it.
pub(super) fn is_torn(bytes: &[u8]) -> bool {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(body) else { return true };
    !json::parse(text).is_ok_and(|json| json.root().kind() == Kind::Object)
}

fn unreadable(spot: &Spot) -> Refusal {
    let unit = &spot.unit;
    Refusal::document(format!("the checkpoint cannot be read, and no backup of it is whole: {}", spot.path))
        .hint(verbs::CHECK.call().path(&spot.path).to("see what is wrong with it"))
        .hint(
            verbs::START
                .on(unit)
                .filled("--feature", "FEATURE")
                .with("--stage", Arg::Word("S2.P1"))
                .to("keep it aside and begin anew"),
        )
}
