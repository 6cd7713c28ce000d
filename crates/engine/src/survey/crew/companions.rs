//! The files beside an epic's checkpoints, by the agent or feature they belong to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use piton_dialect::Source;
use piton_dialect::crew::layout::{self, File};
use piton_dialect::crew::{
    Mailbox, StatusFile, add_section, add_status, is_whole, read_epic, read_messages, read_status_file,
};
use piton_model::{Document, Finding, Role, Unit};

use crate::Workspace;
use crate::survey::Seen;
use crate::workspace::source;

/// What lies beside the checkpoints of one epic. Everything is found by a key, so that the cost of an agent does
/// not grow with the number of agents.
#[derive(Default)]
pub(super) struct Companions<'a> {
    mailboxes: BTreeMap<String, Mailbox>,
    features: Vec<Feature>,
    by_feature: HashMap<String, usize>,
    by_agent: HashMap<String, usize>,
    epic: Option<Epic>,
    archives: HashMap<&'a str, Vec<&'a str>>,
    backups: HashMap<&'a str, Vec<Backup<'a>>>,
    loose: Vec<Finding>,
}

/// A feature's STATUS file.
pub(super) struct Feature {
    /// The name of its directory.
    pub name: String,
    pub file: StatusFile,
    pub document: Document,
    pub findings: Vec<Finding>,
    claimed: bool,
}

/// `EPIC_README.md`, and each agent's section of it.
struct Epic {
    document: Document,
    sections: HashMap<String, String>,
}

struct Backup<'a> {
    order: (&'a str, u64),
    path: &'a str,
}

impl<'a> Companions<'a> {
    pub fn read(workspace: &Workspace, files: &'a [(Arc<str>, File)], see: &mut dyn FnMut(Seen)) -> Companions<'a> {
        let mut companions = Companions::default();
        for (path, file) in files {
            let stem = last(path).trim_end_matches(".json");
            match file {
                File::Checkpoint | File::Markdown => {}
                File::Archive => {
                    let owner = layout::archive_owner(stem).unwrap_or(stem);
                    companions.archives.entry(owner).or_default().push(path);
                }
                File::Backup => {
                    if let Some((owner, order)) = layout::backup_owner(stem) {
                        companions.backups.entry(owner).or_default().push(Backup { order, path });
                    }
                }
                File::Messages | File::Inbox | File::Status | File::EpicReadme => match workspace.read(path) {
                    Ok(content) => companions.add(*file, &source(path, &content)),
                    Err(finding) => see(Seen::Loose(finding.into_iter().collect())),
                },
            }
        }
        for backups in companions.backups.values_mut() {
            backups.sort_by_key(|backup| std::cmp::Reverse(backup.order));
        }
        companions
    }

    /// Adds to an agent's unit all that belongs to it.
    pub fn add_to(&mut self, unit: &mut Unit, findings: &mut Vec<Finding>, workspace: &Workspace) {
        let agent = layout::agent_key(unit.agent.as_deref().unwrap_or(&unit.id));
        if let Some(place) = self.feature_of(unit, &agent) {
            let feature = &mut self.features[place];
            feature.claimed = true;
            findings.append(&mut feature.findings);
            findings.extend(add_status(unit, &feature.file, feature.document.clone()));
        }
        if let Some(epic) = &self.epic
            && let Some(section) = epic.sections.get(&agent)
        {
            add_section(unit, section, epic.document.clone());
        }
        if let Some(mailbox) = self.mailboxes.get_mut(&agent) {
            mailbox.add_to(unit);
            findings.extend(mailbox.take_findings());
        }
        self.add_copies(unit, workspace);
    }

    /// Takes the STATUS files that no checkpoint's feature or agent has claimed.
    pub fn unclaimed(&mut self) -> Vec<Feature> {
        self.by_feature.clear();
        self.by_agent.clear();
        std::mem::take(&mut self.features).into_iter().filter(|feature| !feature.claimed).collect()
    }

    /// What is odd about files that belong to all, or to agents that have no unit.
    pub fn loose(mut self) -> Vec<Finding> {
        for (agent, mut mailbox) in self.mailboxes {
            self.loose.extend(mailbox.take_findings());
            self.loose.extend(mailbox.untold(&agent));
        }
        self.loose
    }

    fn feature_of(&self, unit: &Unit, agent: &str) -> Option<usize> {
        let by_feature = unit.title.as_deref().and_then(|title| self.by_feature.get(&layout::feature_key(title)));
        by_feature.or_else(|| self.by_agent.get(agent)).copied()
    }

    /// Lists archives, and the newest backup from which the checkpoint could be restored.
    fn add_copies(&self, unit: &mut Unit, workspace: &Workspace) {
        if self.archives.is_empty() && self.backups.is_empty() {
            return;
        }
        let Some(path) = unit.documents.first().map(|document| document.path.clone()) else { return };
        let stem = last(&path).trim_end_matches(".json");
        let copy = |path: &str, role| Document { path: path.into(), role, modified: None };
        let archives = self.archives.get(stem).into_iter().flatten();
        unit.documents.extend(archives.map(|path| copy(path, Role::Archive)));
        let is_good = |path: &str| workspace.read(path).is_ok_and(|content| is_whole(&content.bytes));
        let newest = self.backups.get(stem).into_iter().flatten().find(|backup| is_good(backup.path));
        unit.documents.extend(newest.map(|backup| copy(backup.path, Role::Backup)));
    }

    fn add(&mut self, file: File, source: &Source<'_>) {
        match file {
            File::Messages | File::Inbox => self.add_messages(source),
            File::Status => self.add_feature(source),
            File::EpicReadme => self.add_epic(source),
            File::Checkpoint | File::Markdown | File::Archive | File::Backup => {}
        }
    }

    /// Messages go to the agent that the file's name says; a single message in an inbox says it itself.
    fn add_messages(&mut self, source: &Source<'_>) {
        let (messages, findings) = read_messages(source);
        let said = || messages.iter().find_map(|message| message.get("To")).and_then(|to| to.lines().next());
        let receiver = match layout::parties(source.file_name()) {
            Some((_, to)) => layout::agent_key(to),
            None => layout::agent_key(said().unwrap_or("primary")),
        };
        let mailbox = self.mailboxes.entry(receiver).or_default();
        mailbox.add(source, messages.iter());
        mailbox.add_findings(findings);
    }

    fn add_feature(&mut self, source: &Source<'_>) {
        let (file, findings) = read_status_file(source);
        let directory = source.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let name = last(directory).to_owned();
        let place = self.features.len();
        self.by_feature.insert(layout::feature_key(&name), place);
        if let Some(agent) = file.get("AGENT") {
            self.by_agent.insert(layout::agent_key(agent), place);
        }
        let document = source.document(Role::Companion);
        self.features.push(Feature { name, file, document, findings, claimed: false });
    }

    fn add_epic(&mut self, source: &Source<'_>) {
        let (sections, findings) = read_epic(source);
        // Of two sections of one agent the last one counts; that there are two is told.
        let sections =
            sections.into_iter().map(|section| (layout::agent_key(section.name), section.body.to_owned())).collect();
        self.epic = Some(Epic { document: source.document(Role::Companion), sections });
        self.loose.extend(findings);
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
