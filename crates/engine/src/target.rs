//! From the name that somebody typed to the unit that is written: its place, and its journal.

use piton_dialect::Place;
use piton_model::{Dialect, Id, Time, UnitRef};
use piton_store::disk::DiskError;
use piton_store::{History, Key, seal};

use crate::Workspace;
use crate::find::{NotFound, find_recorded};

/// A unit that is to be written, or whose journal is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub dialect: Dialect,
    /// `dialect:id`, as it is shown.
    pub name: String,
    pub place: Place,
    pub key: Key,
    /// Whether it was found by its journal, in a `.piton` that is ours.
    pub is_journaled: bool,
    /// A document of it that its writer says is saved, so that nobody need wait to see whether more comes.
    pub saved: Option<String>,
}

/// Why there is no target.
#[derive(Debug)]
pub(crate) enum NoTarget {
    NotFound(NotFound),
    Disk(DiskError),
}

impl Target {
    /// Finds a unit that is there.
    ///
    /// A unit with a journal is known by it, so that recording a step does not read the whole workspace.
    pub(crate) fn find(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Target, NoTarget> {
        if let Some(target) = Target::journaled(workspace, wanted, true).map_err(NoTarget::Disk)? {
            return Ok(target);
        }
        let found = find_recorded(workspace, wanted, now).map_err(NoTarget::NotFound)?;
        let document = found.unit.documents.first().map(|document| document.path.to_string());
        let base = base_of(&found.full_name, &found.unit.id);
        let ids = ids_of(found.unit.dialect, &found.unit.id, wanted);
        let has_namesakes = found.name.contains(":./");
        Ok(Target::new(workspace, found.unit.dialect, base, ids, document).typed(wanted, has_namesakes))
    }

    /// Finds a unit by its journal, even when its document is gone; else as it stands there.
    pub(crate) fn find_with_journal(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Target, NoTarget> {
        if let Some(target) = Target::journaled(workspace, wanted, false).map_err(NoTarget::Disk)? {
            return Ok(target);
        }
        Target::find(workspace, wanted, now)
    }

    /// The place of a unit that is to be made: below the directories that were typed, or where its kind lives.
    pub(crate) fn make(workspace: &Workspace, wanted: &UnitRef, dialect: Dialect) -> Target {
        let names = if dialect == Dialect::Task { 2 } else { 1 };
        let (above, id) = wanted.parts.split_at(wanted.parts.len().saturating_sub(names));
        let typed = above.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
        let base = match typed.is_empty() && !wanted.is_whole {
            true => usual_base(workspace, dialect),
            false => typed,
        };
        Target::new(workspace, dialect, base, id.to_vec(), None).typed(wanted, true)
    }

    /// Lets the unit be named as it was typed: that is a name that leads to it.
    fn typed(mut self, wanted: &UnitRef, has_namesakes: bool) -> Target {
        let above = &wanted.parts[..wanted.parts.len().saturating_sub(self.place.id.len())];
        let root = (wanted.is_whole && has_namesakes).then_some(".");
        self.place.typed_below = root.into_iter().chain(above.iter().map(Id::as_str)).collect::<Vec<_>>().join("/");
        self.name = self.place.unit(self.dialect);
        self
    }

    /// Lets the unit be named by the directory that holds it.
    pub(crate) fn by_directory(mut self) -> Target {
        self.place.typed_below = self.place.base.clone();
        self.name = self.place.unit(self.dialect);
        self
    }

    /// A unit of that id in that place.
    pub(crate) fn new(
        workspace: &Workspace,
        dialect: Dialect,
        base: String,
        id: Vec<Id>,
        document: Option<String>,
    ) -> Target {
        let joined = id.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
        let root = workspace.root().display().to_string();
        let place = Place { base: base.clone(), id, document, root, typed_below: String::new() };
        let key = key(dialect, base, joined);
        Target { dialect, name: place.unit(dialect), place, key, is_journaled: false, saved: None }
    }

    /// The one unit of that name that has a journal; where that is asked, only when its document is where it was.
    pub(crate) fn journaled(
        workspace: &Workspace,
        wanted: &UnitRef,
        with_document: bool,
    ) -> Result<Option<Target>, DiskError> {
        let Some(dialect) = wanted.dialect else { return Ok(None) };
        let names = if dialect == Dialect::Task { 2 } else { 1 };
        if wanted.parts.len() < names || seal::inspect(&*workspace.disk)? != seal::Home::Ours {
            return Ok(None);
        }
        let id = &wanted.parts[wanted.parts.len() - names..];
        let joined = id.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
        let directory = Key::directory_of_namesakes(dialect.word(), &fold(dialect, &joined));
        let mut matching = Vec::new();
        let places = workspace.disk.list(&directory);
        let has_namesakes = places.len() > 1;
        for place in places {
            let Some(history) = History::open_path(&*workspace.disk, &format!("{directory}/{place}/journal"))? else {
                continue;
            };
            let Some(head) = history.head()? else { continue };
            let full_name = if head.base.is_empty() { head.id.clone() } else { format!("{}/{}", head.base, head.id) };
            let is_there = !with_document || workspace.disk.stamp(&head.document)?.is_some();
            if is_other_file(workspace, dialect, &head.document, &joined)? {
                continue;
            }
            if is_there && wanted.means(dialect, &full_name) {
                matching.push(head);
            }
        }
        let (Some(head), true) = (matching.pop(), matching.is_empty()) else { return Ok(None) };
        let parts = head.id.split('/').map(Id::parse).collect::<Result<Vec<_>, _>>();
        let id = parts.unwrap_or_else(|_| id.to_vec());
        let target = Target::new(workspace, dialect, head.base, id, Some(head.document));
        Ok(Some(Target { is_journaled: true, ..target.typed(wanted, has_namesakes) }))
    }
}

/// Whether a build's journal was begun for a file of another name, while one of its own name is there now: that is the unit
/// that is meant.
fn is_other_file(workspace: &Workspace, dialect: Dialect, document: &str, id: &str) -> Result<bool, DiskError> {
    let own = match (dialect, document.rsplit_once('/')) {
        (Dialect::Build, Some((directory, _))) => format!("{directory}/{id}.json"),
        _ => return Ok(false),
    };
    Ok(own != document && workspace.disk.stamp(&own)?.is_some())
}

/// The key of a unit's journal, from its full name and its id.
pub(crate) fn key_of(dialect: Dialect, full_name: &str, id: &str) -> Key {
    key(dialect, base_of(full_name, id), id.to_owned())
}

fn key(dialect: Dialect, base: String, id: String) -> Key {
    let folded_id = fold(dialect, &id);
    Key { dialect: dialect.word().to_owned(), base, id, folded_id, document: String::new() }
}

/// What tells an id from others, as part of a file's name.
fn fold(dialect: Dialect, id: &str) -> String {
    match dialect {
        Dialect::Crew => piton_dialect::crew::layout::file_name(id).trim_end_matches(".json").to_owned(),
        Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Task => id.to_owned(),
    }
}

/// The directories before an id.
fn base_of(full_name: &str, id: &str) -> String {
    full_name.strip_suffix(id).unwrap_or("").trim_end_matches('/').to_owned()
}

/// A unit's id as ids; one that a document words in another way keeps the name that was typed.
fn ids_of(dialect: Dialect, id: &str, wanted: &UnitRef) -> Vec<Id> {
    let names = if dialect == Dialect::Task { 2 } else { 1 };
    let parsed = id.split('/').map(Id::parse).collect::<Result<Vec<_>, _>>();
    match parsed {
        Ok(ids) if ids.len() == names => ids,
        _ => wanted.parts[wanted.parts.len().saturating_sub(names)..].to_vec(),
    }
}

/// Where units of a dialect are when nobody says: beside the others, if those are all in one place.
fn usual_base(workspace: &Workspace, dialect: Dialect) -> String {
    let mut bases = std::collections::BTreeSet::new();
    workspace.disk.walk(&mut |path| {
        let base = match dialect {
            Dialect::Crew => piton_dialect::crew::layout::recognise(path).map(|(base, _)| base),
            Dialect::Task => piton_dialect::task::layout::recognise(path).map(|(base, _)| base),
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => None,
        };
        bases.extend(base.map(str::to_owned));
    });
    match (bases.len(), dialect) {
        (1, _) => bases.pop_first().unwrap_or_default(),
        (0, Dialect::Task) if workspace.disk.identity(TASK_BASE).is_ok_and(|found| found.is_some()) => {
            TASK_BASE.to_owned()
        }
        _ => String::new(),
    }
}

/// Where the protocol of tasks was first used.
const TASK_BASE: &str = "docs/agentic-orchestration";
