//! What a plan's state is read from when something is to be recorded: the four error cascades of the protocol.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};

use piton_model::hint::verbs;
use piton_model::text::shell_word;
use piton_model::{Edit, Effect, Hint, Refusal};
use serde_json::json;

use super::super::layout::Paths;
use super::super::{is_recovery, is_state};
use super::beside::{LARGE, beside};
use super::book::Book;
use super::draft::line;
use crate::json::{Json, Kind, Value, parse};
use crate::{Files, content};

/// The bytes of a state and of its backup. They live outside of [`Ground`], which points into them.
pub(in crate::plan) struct Texts<'f> {
    files: &'f dyn Files,
    state: Option<Cow<'f, [u8]>>,
    /// Read only where it is needed: it may be as long as the plan.
    recovery: OnceCell<Option<Cow<'f, [u8]>>>,
}

/// The state that an event builds on, and what had to be done to get it.
pub(in crate::plan) struct Ground<'a> {
    /// The state; nothing when there is none, or none that is whole.
    pub json: Option<Json<'a>>,
    /// Whether its file begins with a byte order mark.
    pub is_marked: bool,
    /// Where it comes from, as the log names it.
    pub from: &'static str,
    /// Broken files that are kept aside.
    pub effects: Vec<Effect>,
    /// What the log says about it.
    pub history: Vec<String>,
    pub warnings: Vec<Hint>,
    /// Whether the state was written for this very text of the plan.
    pub is_current: bool,
    pub(super) files: &'a dyn Files,
}

impl<'f> Texts<'f> {
    /// Reads the state.
    pub fn read(paths: &Paths, files: &'f dyn Files) -> Result<Texts<'f>, Refusal> {
        Ok(Texts { files, state: files.look(&paths.state)?, recovery: OnceCell::new() })
    }

    fn recovery(&self, paths: &Paths) -> Result<Option<&[u8]>, Refusal> {
        if self.recovery.get().is_none() {
            let read = self.files.look(&paths.recovery)?;
            return Ok(self.recovery.get_or_init(|| read).as_deref());
        }
        Ok(self.recovery.get().and_then(Option::as_deref))
    }

    /// Parses the plan, and beside it the state. That one is shorter: who is done with it begins to hash the plan.
    pub fn parse(&self, paths: &Paths) -> Result<(Option<Book<'f>>, Result<Found<'_>, Refusal>), Refusal> {
        let state = self.state.as_deref();
        let is_large = state.is_some_and(|state| state.len() >= LARGE);
        let is_parsing = AtomicBool::new(is_large);
        let other = || {
            let found = look(state, &paths.state);
            self.files.hash_ahead(&paths.plan, &|| is_parsing.load(Ordering::Relaxed));
            found
        };
        let own = || {
            let book = Book::open(paths, self.files);
            is_parsing.store(false, Ordering::Relaxed);
            book
        };
        let (found, book) = beside(self.files, is_large, other, own);
        Ok((book?, found))
    }
}

/// A text that should be a state.
pub(in crate::plan) enum Found<'a> {
    Nothing,
    Broken,
    State(Json<'a>),
}

/// What a state is to hold.
pub(super) enum NewState {
    /// A text that was made.
    Made(String),
    /// The text that was found, with edits.
    Edited(Vec<Edit>),
}

/// Finds the state to build on. A state of something else is never written over.
pub(in crate::plan) fn find<'a>(
    texts: &'a Texts<'_>,
    found: Result<Found<'a>, Refusal>,
    paths: &Paths,
    book: Option<&Book<'_>>,
    now: &str,
) -> Result<Ground<'a>, Refusal> {
    let mut ground = Ground {
        files: texts.files,
        json: None,
        is_marked: texts.state.as_ref().is_some_and(|bytes| bytes.starts_with(MARK)),
        from: "state.json",
        effects: Vec::new(),
        history: Vec::new(),
        warnings: Vec::new(),
        is_current: true,
    };
    if book.is_none() {
        ground.history.push(line(now, "parse_error", &[("fallback", json!("state.json"))]));
        ground.warnings.push(format!("{} cannot be read; the last known state is used", paths.plan).into());
    }
    match found? {
        Found::State(json) => {
            let sum = content::text(json.root(), "checksum");
            if let Some(book) = book
                && sum.as_deref() != Some(book.checksum().as_str())
            {
                ground.is_current = false;
                ground.history.push(line(now, "checksum_mismatch", &[("action", json!("reparse"))]));
            }
            ground.json = Some(json);
        }
        broken_or_nothing => {
            let is_broken = matches!(broken_or_nothing, Found::Broken);
            ground.restore(texts.recovery(paths)?, paths, is_broken, now);
        }
    }
    if book.is_none() && ground.json.is_none() {
        return Err(no_plan(texts.files, paths)?);
    }
    Ok(ground)
}

/// There is neither a plan nor a state. A plan that was never written is begun with one command.
fn no_plan(files: &dyn Files, paths: &Paths) -> Result<Refusal, Refusal> {
    let (directory, plan) = (shell_word(&paths.directory), shell_word(&paths.plan));
    if files.look(&paths.plan)?.is_some() {
        return Ok(Refusal::document(format!("the plan is not UTF-8 text: {}", paths.plan))
            .hint(verbs::CHECK.call().path(&plan).to("see what is wrong with it"))
            .hint(format!("restore it from git: git restore {plan}")));
    }
    let text = r"# Title\n\n## Phase 1: Setup\n<!-- CHECKPOINT: phase-1-setup -->\n\n- [ ] First task <!-- TASK: first-task -->\n- [ ] It works <!-- ACCEPT: it-works -->\n";
    Ok(Refusal::missing(format!("there is no plan.md in {}", paths.directory))
        .hint(format!("write it first, such as: mkdir -p {directory} && printf '{text}' > {plan}")))
}

impl<'a> Ground<'a> {
    /// Takes the backup for the state, or begins with the plan alone when that is broken too.
    fn restore(&mut self, recovery: Option<&'a [u8]>, paths: &Paths, is_broken: bool, now: &str) {
        self.is_current = false;
        self.is_marked = false;
        if is_broken {
            self.keep(&paths.state);
        }
        match look_in_recovery(recovery) {
            Found::State(json) => {
                self.json = Some(json);
                self.from = "recovery.json";
                let event = if is_broken { "state_corrupted" } else { "state_missing" };
                self.history.push(line(now, event, &[("restored_from", json!("recovery.json"))]));
                self.warnings.push(format!("{} was unusable; restored from recovery.json", paths.state).into());
            }
            found => {
                if matches!(found, Found::Broken) {
                    self.keep(&paths.recovery);
                }
                self.from = "plan.md";
                if is_broken || matches!(found, Found::Broken) {
                    self.history.push(line(now, "full_recovery", &[("source", json!("plan.md_reparse"))]));
                    self.warnings.push(format!("{} was unusable; made anew from plan.md", paths.state).into());
                }
            }
        }
    }

    /// A new state's text, in pieces.
    pub(super) fn parts<'s>(&'s self, state: &'s NewState) -> Vec<&'s [u8]> {
        match state {
            NewState::Made(text) => vec![text.as_bytes()],
            NewState::Edited(edits) => {
                let old = self.json.as_ref().map_or("", Json::text);
                Edit::parts(old.as_bytes(), edits).expect("they were made for this text")
            }
        }
    }

    /// Puts a new state into its file.
    pub(super) fn write(&self, state: NewState, paths: &Paths) -> Effect {
        let path = paths.state.clone();
        let start = if self.is_marked { MARK } else { &[] };
        // What was found elsewhere is no edit of this file.
        if let (NewState::Edited(edits), "state.json") = (&state, self.from) {
            let moved = |edit: &Edit| Edit { at: edit.at + start.len(), ..edit.clone() };
            let edits: Vec<Edit> = edits.iter().map(moved).collect();
            if self.files.digest(&path, &[]).is_some() {
                // Nothing in the change needs it, and whoever writes has something to do meanwhile.
                return Effect::Edit { path, edits, digest: None };
            }
        }
        Effect::Write { path, bytes: [&[start], &self.parts(&state)[..]].concat().concat() }
    }

    /// Keeps a broken file's bytes under a name that is free.
    fn keep(&mut self, path: &str) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let taken = self.files.list(directory);
        let to = (1..).map(|number: u64| format!("{name}.corrupt-{number}")).find(|name| !taken.contains(name));
        let to = format!("{directory}/{}", to.unwrap_or_default());
        self.warnings.push(format!("{path} is broken; what it held is kept: {to}").into());
        self.effects.push(Effect::Keep { from: path.to_owned(), to });
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.strip_prefix(MARK).unwrap_or(bytes)).ok()
}

fn look<'a>(bytes: Option<&'a [u8]>, path: &str) -> Result<Found<'a>, Refusal> {
    let Some(bytes) = bytes else { return Ok(Found::Nothing) };
    let Some(json) = text_of(bytes).and_then(|text| parse(text).ok()) else { return Ok(Found::Broken) };
    let root = json.root();
    if root.kind() != Kind::Object || root.entries().next().is_none() {
        return Ok(Found::Broken);
    }
    if !is_state(root) {
        return Err(Refusal::document(format!("this is not a plan's state, and is not written over: {path}"))
            .hint(verbs::CHECK.call().path(path).to("see what it is")));
    }
    if root.get("version").and_then(Value::as_int).is_some_and(|version| version > 2) {
        return Err(Refusal::document(format!("this state is of a newer version than 2: {path}")));
    }
    Ok(Found::State(json))
}

fn look_in_recovery(bytes: Option<&[u8]>) -> Found<'_> {
    let Some(bytes) = bytes else { return Found::Nothing };
    let Some(outer) = text_of(bytes).and_then(|text| parse(text).ok()) else { return Found::Broken };
    let state = Some(outer.root()).filter(|root| is_recovery(*root)).and_then(|root| root.get("state"));
    let state = state.and_then(|state| parse(state.raw()).ok()).filter(|json| is_state(json.root()));
    state.map_or(Found::Broken, Found::State)
}
