//! Makes a repository's coding agents use Piton, and undoes that: the only settings of other programs that are written.
//!
//! Files are decided about first, as whole texts. What was there is kept in `.piton` before anything is written, so
//! that it can be brought back byte for byte; where somebody edited a file since, only what is ours goes.

mod block;
mod claude;
mod codex;
mod plugin;
#[cfg(test)]
mod tests;
mod tools;

use piton_model::hint::verbs;
use piton_model::{Dialect, Refusal, Time};
use piton_store::disk::{Access, Rename};
use piton_store::journal::Hash;
use piton_store::{ReadError, replace, seal};
use serde_json::{Value, json};

use crate::Workspace;
use crate::record::RecordError;
use crate::run::SETTINGS as RUN;
use tools::Tools;

pub use self::plugin::write_plugin;

/// What was there before, and what was written.
const RECEIPT: &str = ".piton/init";

const SETTINGS: &str = ".claude/settings.json";
const SERVERS: &str = ".mcp.json";
const CODEX: &str = ".codex/config.toml";

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SetupRequest {
    /// Undo it.
    pub remove: bool,
    /// Hooks and server come with the plugin, and not from settings.
    pub plugin: bool,
    /// Codex is used here, although the repository does not show it.
    pub codex: bool,
}

/// What would be written.
#[derive(Debug)]
pub struct Setup {
    /// The files, in order; those that stay as they are as well.
    pub files: Vec<SetupFile>,
    /// What has to be said about it.
    pub notes: Vec<String>,
    /// The dialects that were found.
    pub dialects: Vec<Dialect>,
}

/// A file that is written, removed, or stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupFile {
    /// Its path.
    pub path: &'static str,
    /// What it holds; nothing when it is not there.
    pub before: Option<String>,
    /// What it is to hold; nothing when it is to go.
    pub after: Option<String>,
}

/// Which writes of a session are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of documents.
    Documents,
    /// All: tasks and crews list the files that their workers touch.
    AllFiles,
}

impl SetupFile {
    /// Whether anything is to be done.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// Decides what is to be written. Nothing is.
pub fn plan_setup(workspace: &Workspace, request: &SetupRequest, now: Time) -> Result<Setup, RecordError> {
    let dialects = dialects_in(workspace, now);
    let receipt = Receipt::read(workspace);
    let mut setup = Setup { files: Vec::new(), notes: Vec::new(), dialects };
    let scope = Scope::of(&setup.dialects);
    // Who has the plugin already needs no hooks beside it.
    let has_plugin = text_of(workspace, SETTINGS)?.is_some_and(|text| claude::has_plugin(&text));
    let request = &SetupRequest { plugin: request.plugin || (has_plugin && !request.remove), ..*request };
    let proposal = tools_of(workspace).settings();
    let mut paths = paths(workspace, request, &receipt)?;
    if proposal.is_some() || receipt.find(RUN).is_some() {
        paths.push(RUN);
    }
    for path in paths {
        let before = text_of(workspace, path)?;
        let after = match request.remove {
            true => without(path, before.as_deref(), &receipt, remover(path)),
            // What the plugin brings is not said twice; that it is there is said by the client that installs it.
            false if request.plugin && path == SETTINGS => {
                without(path, before.as_deref(), &receipt, claude::remove_hooks)
            }
            false if request.plugin && path == SERVERS => without(path, before.as_deref(), &receipt, remover(path)),
            // Settings that are there are the user's.
            false if path == RUN => Ok(before.clone().or_else(|| proposal.clone())),
            false => with(path, before.as_deref(), scope).map(Some),
        };
        let after = after.map_err(|why| RecordError::Refused(in_the_way(path, &why, scope)))?;
        if path == SETTINGS && after.as_deref().is_some_and(has_comments) {
            setup.notes.push(format!("{SETTINGS} has comments: Claude Code ignores such a file as a whole, with its hooks; take them out of it"));
        }
        if path == RUN && !request.remove {
            setup.notes.extend(about_settings(before.as_deref(), proposal.as_deref()));
        }
        setup.files.push(SetupFile { path, before, after });
    }
    if request.remove && has_plugin {
        setup.notes.push("the plugin itself goes with: claude plugin uninstall piton@piton --scope project".to_owned());
    }
    Ok(setup)
}

/// The build tools of the repository, as far as workers need them.
fn tools_of(workspace: &Workspace) -> Tools {
    let text = |name: &str| text_of(workspace, name).ok().flatten();
    let is_ignored = |name: &str| {
        let is_there = matches!(workspace.disk.stamp(name), Ok(Some(_)));
        is_there && piton_supervisor::is_ignored(workspace.root(), name)
    };
    Tools::find(&text, &is_ignored)
}

/// What has to be said about the settings of runs.
fn about_settings(before: Option<&str>, proposal: Option<&str>) -> Option<String> {
    match (before, proposal) {
        (None, Some(_)) => {
            let allow = verbs::APPROVE.call();
            Some(allow.to(format!("{RUN} names the build tools that workers may use; allow them with")).to_string())
        }
        (Some(text), Some(proposal)) if text != proposal && !text.contains("allow") => {
            let lines: Vec<&str> = proposal.lines().filter(|line| line.contains(" = ")).collect();
            Some(format!("{RUN} is yours and stays as it is; what workers here may need: {}", lines.join("; ")))
        }
        _ => None,
    }
}

/// Writes what was decided: all of it, or nothing.
pub fn apply_setup(workspace: &Workspace, setup: &Setup, request: &SetupRequest) -> Result<(), RecordError> {
    let changed: Vec<&SetupFile> = setup.files.iter().filter(|file| file.is_changed()).collect();
    let receipt = Receipt::read(workspace);
    if !request.remove && !changed.is_empty() {
        let made = missing_directories(workspace, &changed)?;
        seal::prepare(&*workspace.disk)?;
        receipt.with(setup, made).write(workspace)?;
    }
    let mut done: Vec<&SetupFile> = Vec::new();
    for file in &changed {
        if text_of(workspace, file.path)? != file.before {
            put_back(workspace, &done);
            let message = format!("somebody else has just written {}; nothing is changed, run it again", file.path);
            return Err(RecordError::Failed { message });
        }
        if let Err(error) = put(workspace, file.path, file.after.as_deref()) {
            put_back(workspace, &done);
            return Err(error);
        }
        done.push(file);
    }
    if request.remove {
        match workspace.disk.remove(RECEIPT) {
            Err(error) if !error.is_missing() => return Err(error.into()),
            _ => {}
        }
        receipt.made.iter().for_each(|directory| take_away(workspace, directory));
    }
    Ok(())
}

/// The directories that are about to be made.
fn missing_directories(workspace: &Workspace, changed: &[&SetupFile]) -> Result<Vec<String>, RecordError> {
    let written = changed.iter().filter(|file| file.after.is_some());
    let parents = written.filter_map(|file| file.path.rsplit_once('/')).map(|(directory, _)| directory);
    let mut missing = Vec::new();
    for directory in parents.chain([seal::HOME]) {
        if workspace.disk.stamp(directory)?.is_none() {
            missing.push(directory.to_owned());
        }
    }
    Ok(missing)
}

/// Takes a directory away that was made here, when nothing else came into it. One that stays does no harm.
fn take_away(workspace: &Workspace, directory: &str) {
    let disk = &*workspace.disk;
    let remove = |directory: &str| std::fs::remove_dir(workspace.root().join(directory));
    if directory != seal::HOME {
        let _ = remove(directory);
        return;
    }
    let is_bare = |directory: &str| disk.list(directory).iter().all(|name| name == ".gitignore" || name == "seal");
    // Under another name nobody begins anything in it; what somebody began just before is seen, and brought back.
    let aside = format!("{}left", seal::ASIDE);
    if !is_bare(directory) || disk.rename(directory, &aside, Rename::New).is_err() {
        return;
    }
    if !is_bare(&aside) {
        let _ = disk.rename(&aside, directory, Rename::New);
        return;
    }
    for name in disk.list(&aside) {
        let _ = disk.remove(&format!("{aside}/{name}"));
    }
    let _ = remove(&aside);
}

impl Scope {
    pub(crate) fn of(dialects: &[Dialect]) -> Scope {
        let lists_files = |dialect: &Dialect| match dialect {
            Dialect::Task | Dialect::Crew => true,
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => false,
        };
        if dialects.iter().any(lists_files) { Scope::AllFiles } else { Scope::Documents }
    }
}

/// The dialects that the workspace has documents of.
pub(crate) fn dialects_in(workspace: &Workspace, now: Time) -> Vec<Dialect> {
    let report = crate::status(workspace, None, now);
    Dialect::ALL.into_iter().filter(|dialect| report.rows.iter().any(|row| row.dialect == *dialect)).collect()
}

/// Whether our hooks are in the settings, and whether they are those that would be written now.
pub(crate) fn hooks_state(workspace: &Workspace, scope: Scope) -> Result<HooksState, RecordError> {
    let Some(text) = text_of(workspace, SETTINGS)? else { return Ok(HooksState::Missing) };
    let settings = match piton_dialect::json::Lenient::open(&text) {
        Ok(settings) => settings,
        Err(error) => return Ok(HooksState::Unreadable(error.problem.to_string())),
    };
    if settings.get(&["enabledPlugins", "piton@piton"]) == Some(Value::Bool(true)) {
        return Ok(HooksState::Plugin);
    }
    let own = claude::own_groups(&settings);
    Ok(match () {
        () if own.is_empty() => HooksState::Missing,
        () if !settings.is_strict() => HooksState::Comments,
        () if !claude::is_current(&settings, scope) => HooksState::Old,
        () => HooksState::Current,
    })
}

/// How our hooks stand in the settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HooksState {
    Missing,
    Unreadable(String),
    Comments,
    Old,
    Current,
    Plugin,
}

/// Whether a server of ours is named to Claude Code, and to Codex.
pub(crate) fn has_servers(workspace: &Workspace) -> Result<(bool, bool), RecordError> {
    let unreadable = |path: &str, why: &str| RecordError::Failed { message: format!("{path} cannot be read: {why}") };
    let servers = text_of(workspace, SERVERS)?.map(|text| piton_dialect::json::Lenient::open(&text)).transpose();
    let servers = servers.map_err(|error| unreadable(SERVERS, &error.problem.to_string()))?;
    let claude = servers.is_some_and(|file| file.get(&["mcpServers", "piton"]).is_some());
    let codex = match text_of(workspace, CODEX)? {
        Some(text) => codex::remove(&text).map_err(|why| unreadable(CODEX, &why))? != text,
        None => false,
    };
    Ok((claude, codex))
}

fn paths(workspace: &Workspace, request: &SetupRequest, receipt: &Receipt) -> Result<Vec<&'static str>, RecordError> {
    let is_there = |path: &str| Ok::<bool, RecordError>(workspace.disk.stamp(path)?.is_some());
    let mut paths = vec![SETTINGS];
    if !request.plugin || request.remove || is_there(SERVERS)? {
        paths.push(SERVERS);
    }
    // The host reads AGENTS.md only where there is no CLAUDE.md, or where that one points to it.
    let (agents, claude) = (text_of(workspace, "AGENTS.md")?, text_of(workspace, "CLAUDE.md")?);
    let points = claude.as_ref().is_some_and(|text| text.contains("@AGENTS.md"));
    if agents.is_some() || claude.is_none() {
        paths.push("AGENTS.md");
    }
    if claude.is_some() && (!points || claude.as_deref().is_some_and(block::is_there)) {
        paths.push("CLAUDE.md");
    }
    if request.codex || is_there(".codex")? || receipt.find(CODEX).is_some() {
        paths.push(CODEX);
    }
    Ok(paths)
}

fn with(path: &str, before: Option<&str>, scope: Scope) -> Result<String, String> {
    let text = before.unwrap_or_default();
    match path {
        SETTINGS => claude::add(text, scope),
        SERVERS => claude::add_server(text),
        CODEX => codex::add(text),
        _ => block::add(text),
    }
}

/// What takes all that is ours out of a file.
fn remover(path: &str) -> fn(&str) -> Result<String, String> {
    match path {
        SETTINGS => claude::remove,
        SERVERS => claude::remove_server,
        CODEX => codex::remove,
        RUN => |text| Ok(text.to_owned()),
        _ => block::remove,
    }
}

/// What a file holds without us: what it held before where nobody touched it since, else itself without what is ours.
fn without(
    path: &str,
    text: Option<&str>,
    receipt: &Receipt,
    remove: fn(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(None) };
    let known = receipt.find(path);
    if let Some(kept) = known.filter(|kept| kept.after == Hash::of(text.as_bytes()).to_string()) {
        return Ok(kept.before.clone());
    }
    let rest = remove(text)?;
    // A file that we made, and that nothing is left in, goes.
    let is_nothing = matches!(rest.trim(), "" | "{}");
    let was_there = known.is_some_and(|kept| kept.before.is_some());
    Ok(Some(rest).filter(|rest| !(is_nothing && !was_there && rest != text)))
}

fn has_comments(text: &str) -> bool {
    piton_dialect::json::Lenient::open(text).is_ok_and(|settings| !settings.is_strict())
}

fn in_the_way(path: &str, why: &str, scope: Scope) -> Refusal {
    let refusal = Refusal::document(format!("nothing is changed, because {path} is in the way: {why}"));
    match path {
        SETTINGS => {
            let mut groups = serde_json::Map::new();
            for (event, group) in claude::hooks(scope) {
                let list = groups.entry(event).or_insert_with(|| json!([]));
                list.as_array_mut().into_iter().for_each(|list| list.push(group.clone()));
            }
            refusal.hint(format!("put it right, or add this to it by hand: {}", json!({"hooks": groups})))
        }
        _ => refusal.hint(verbs::INIT.call().to(format!("put {path} right, then run"))),
    }
}

fn text_of(workspace: &Workspace, path: &str) -> Result<Option<String>, RecordError> {
    match workspace.disk.read(path) {
        Ok(content) => String::from_utf8(content.bytes)
            .map(Some)
            .map_err(|_| RecordError::Refused(Refusal::document(format!("{path} is not UTF-8 text")))),
        Err(ReadError::Missing) => Ok(None),
        Err(error) => Err(RecordError::Refused(Refusal::document(format!("cannot read {path}: {error}")))),
    }
}

fn put(workspace: &Workspace, path: &str, text: Option<&str>) -> Result<(), RecordError> {
    let disk = &*workspace.disk;
    match text {
        Some(text) => {
            // A link stays a link: what it leads to is replaced.
            replace(disk, &disk.resolve(path)?, text.as_bytes(), Access::Shared)?;
        }
        None => disk.remove(path)?,
    }
    Ok(())
}

/// Brings back what was written before something failed. Should that fail too, `piton init --remove` does it later.
fn put_back(workspace: &Workspace, done: &[&SetupFile]) {
    for file in done {
        let _ = put(workspace, file.path, file.before.as_deref());
    }
}

/// What was there before anything was written.
#[derive(Debug, Default)]
struct Receipt {
    files: Vec<Kept>,
    /// Directories that were made.
    made: Vec<String>,
}

#[derive(Debug)]
struct Kept {
    path: String,
    before: Option<String>,
    /// What was written, as a digest.
    after: String,
}

impl Receipt {
    fn read(workspace: &Workspace) -> Receipt {
        let is_ours = matches!(seal::inspect(&*workspace.disk), Ok(seal::Home::Ours));
        let bytes = if is_ours {
            workspace.disk.read(RECEIPT).map(|content| content.bytes).unwrap_or_default()
        } else {
            Vec::new()
        };
        let all: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let kept = |file: &Value| {
            let text = |key: &str| file.get(key).and_then(Value::as_str).map(str::to_owned);
            Some(Kept { path: text("path")?, before: text("before"), after: text("after")? })
        };
        let files = all.get("files").and_then(Value::as_array).into_iter().flatten();
        let made = all.get("made").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        // A receipt names nothing else that could be removed.
        let made = made.filter(|made| [".claude", ".codex", seal::HOME].contains(made)).map(str::to_owned);
        Receipt { files: files.filter_map(kept).collect(), made: made.collect() }
    }

    fn find(&self, path: &str) -> Option<&Kept> {
        self.files.iter().find(|kept| kept.path == path)
    }

    /// The same with what is about to be written. What was there before the first time stays what was there before,
    /// unless somebody edited the file since.
    fn with(&self, setup: &Setup, made: Vec<String>) -> Receipt {
        let kept = |file: &SetupFile| {
            let digest = |text: &Option<String>| Hash::of(text.as_deref().unwrap_or_default().as_bytes()).to_string();
            let known = self.find(file.path);
            let before = match known {
                Some(known) if known.after == digest(&file.before) => known.before.clone(),
                Some(_) => without(file.path, file.before.as_deref(), self, remover(file.path))
                    .unwrap_or_else(|_| file.before.clone()),
                None => file.before.clone(),
            };
            Kept { path: file.path.to_owned(), before, after: digest(&file.after) }
        };
        let known = self.made.iter().filter(|known| !made.contains(known)).cloned().collect::<Vec<_>>();
        Receipt { files: setup.files.iter().map(kept).collect(), made: [known, made].concat() }
    }

    fn write(&self, workspace: &Workspace) -> Result<(), RecordError> {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|kept| json!({"path": kept.path, "before": kept.before, "after": kept.after}))
            .collect();
        let text = format!("{:#}\n", json!({"files": files, "made": self.made}));
        replace(&*workspace.disk, RECEIPT, text.as_bytes(), Access::Private)?;
        Ok(())
    }
}
