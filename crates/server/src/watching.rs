//! Telling clients what has changed. Files are looked at from time to time, by their metadata; the list of units is made
//! anew now and then, as seldom as it is expensive. Only what a client asked for is looked at.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use piton_engine::{Problem, Watch, json, status};
use piton_model::UnitRef;

use crate::door::Door;
use crate::tools::run_of;
use crate::uri::{STATUS, Uri, read as read_uri};

/// The most resources that one client may ask about.
pub const MOST: usize = 100;

/// How many looks at files come between two at the list of units, at least.
const LIST_EVERY: u32 = 10;

/// How many times as long as it took to make the list nobody makes it again.
const REST: u32 = 50;

/// What one client wants to hear about, and how it looked the last time.
#[derive(Debug, Default)]
pub struct Watching {
    units: BTreeMap<String, Watched>,
    wants_status: bool,
    wants_list: bool,
    listed: Option<Listed>,
    /// When the list is made anew, and units that are gone are looked for.
    due: Option<Instant>,
}

#[derive(Debug)]
struct Watched {
    unit: UnitRef,
    /// Nothing while the unit is gone.
    watch: Option<Watch>,
}

/// The list of units as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listed {
    names: u64,
    rows: u64,
}

/// News for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A resource has changed.
    Updated(String),
    /// There are other resources than before.
    List,
}

/// A [`Watching`] that its client's requests and the one who looks share.
pub type Shared = Arc<Mutex<Watching>>;

/// Locks it. Whoever panicked while holding it left nothing half done that matters.
pub fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Watching> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a resource is not watched.
#[derive(Debug)]
pub enum NotWatched {
    /// It is no resource, or its unit is not there.
    Missing(String),
    /// There are too many already.
    TooMany,
}

impl Watching {
    /// Begins to watch a resource.
    pub fn add(&mut self, door: &Door, uri: &str) -> Result<(), NotWatched> {
        let missing = |problem: Problem| NotWatched::Missing(crate::answer::words(&problem));
        let parsed = read_uri(uri).ok_or_else(|| NotWatched::Missing("there is no such resource".to_owned()))?;
        let unit = match parsed.map_err(missing)? {
            Uri::Status => {
                self.wants_status = true;
                self.look_at_list(door);
                return Ok(());
            }
            Uri::Of(_, unit) => unit,
        };
        if self.units.len() >= MOST && !self.units.contains_key(uri) {
            return Err(NotWatched::TooMany);
        }
        let workspace = door.open().map_err(missing)?;
        let watch =
            Watch::of(&workspace, &unit, door.now()).map_err(|error| missing(Problem::not_found(&unit, &error)))?;
        self.units.insert(uri.to_owned(), Watched { unit, watch: Some(watch) });
        Ok(())
    }

    /// The same, where a unit that is not there is waited for.
    pub fn add_or_wait(&mut self, door: &Door, uri: &str) {
        if let (Err(_), Some(Ok(Uri::Of(_, unit)))) = (self.add(door, uri), read_uri(uri))
            && self.units.len() < MOST
        {
            self.units.insert(uri.to_owned(), Watched { unit, watch: None });
        }
    }

    /// Stops watching a resource.
    pub fn remove(&mut self, uri: &str) {
        self.wants_status &= uri != STATUS;
        self.units.remove(uri);
    }

    /// Begins to watch which units there are.
    pub fn add_list(&mut self, door: &Door) {
        if !self.wants_list {
            self.wants_list = true;
            self.look_at_list(door);
        }
    }

    /// Looks at everything that is watched, and says what has changed since the last look.
    pub fn look(&mut self, door: &Door) -> Vec<News> {
        let began = Instant::now();
        let is_due = self.due.is_none_or(|due| began >= due);
        let mut news = if is_due { self.look_at_list(door) } else { Vec::new() };
        // A workspace that cannot be opened now may be there again at the next look.
        let Ok(workspace) = door.open() else { return news };
        for (uri, watched) in &mut self.units {
            let was_there = watched.watch.is_some();
            let may_have_changed = watched.watch.as_mut().map_or(is_due, |watch| watch.has_changed(&workspace));
            if may_have_changed {
                watched.watch = Watch::of(&workspace, &watched.unit, door.now()).ok();
                if was_there || watched.watch.is_some() {
                    news.push(News::Updated(uri.clone()));
                }
            }
        }
        if is_due {
            self.due = Some(Instant::now() + (door.pulse * LIST_EVERY).max(began.elapsed() * REST));
        }
        news
    }

    fn look_at_list(&mut self, door: &Door) -> Vec<News> {
        if !(self.wants_list || self.wants_status) {
            return Vec::new();
        }
        let Ok(workspace) = door.open() else { return Vec::new() };
        let report = status(&workspace, None, door.now());
        let (mut names, mut rows) = (DefaultHasher::new(), DefaultHasher::new());
        for row in &report.rows {
            row.unit().hash(&mut names);
            json::row(row).to_string().hash(&mut rows);
        }
        // Whether a lead is at work is part of the status.
        run_of(&workspace, door.now()).to_string().hash(&mut rows);
        let (names, rows) = (names.finish(), rows.finish());
        let Some(before) = self.listed.replace(Listed { names, rows }) else { return Vec::new() };
        let mut news = Vec::new();
        if self.wants_list && before.names != names {
            news.push(News::List);
        }
        if self.wants_status && before.rows != rows {
            news.push(News::Updated(STATUS.to_owned()));
        }
        news
    }
}
