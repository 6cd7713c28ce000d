//! EXECUTION-SPEC: Markdown whose front matter lists workstreams, phases and gates.

use piton_model::{Document, Finding, Role};

use super::{codes, spec_rules};
use crate::yaml::{self, Kind, Value};
use crate::{Source, codes as any, open_text};

/// What a specification says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// The PRD it belongs to.
    pub prd: Option<String>,
    /// What a person calls that PRD.
    pub title: Option<String>,
    /// The workstreams, in order.
    pub workstreams: Vec<Workstream>,
    /// The phases, in order; the first has the number 1.
    pub phases: Vec<Phase>,
    /// The gates, in order.
    pub gates: Vec<GateRule>,
}

/// A workstream of a specification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workstream {
    /// Its id, such as WS1.
    pub id: String,
    /// What is to be done.
    pub name: Option<String>,
    /// Workstreams that must be done before.
    pub depends_on: Vec<String>,
    /// Files it makes or changes.
    pub outputs: Vec<String>,
    /// The gate that it must pass.
    pub gate: Option<String>,
    /// Who executes it.
    pub executor: Option<String>,
    /// The line it begins at.
    pub line: u32,
}

/// A phase of a specification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// What a person calls it.
    pub name: Option<String>,
    /// The workstreams that are executed in it, in parallel.
    pub parallel: Vec<String>,
    /// The gates that end it.
    pub gates: Vec<String>,
    /// The line it begins at.
    pub line: u32,
}

/// A gate of a specification: a shell command that exits with 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateRule {
    /// Its name.
    pub name: String,
    /// The command.
    pub command: Option<String>,
    /// What success means, in words.
    pub success_criteria: Option<String>,
    /// The line it begins at.
    pub line: u32,
}

/// A specification, and everything odd about it.
#[derive(Debug, Clone)]
pub struct SpecReading {
    /// What it says, when its front matter could be read.
    pub spec: Option<Spec>,
    /// The file.
    pub document: Document,
    /// Everything odd.
    pub findings: Vec<Finding>,
}

/// Reads a specification.
pub fn read_spec(source: &Source<'_>) -> SpecReading {
    let (text, mut findings) = open_text(source);
    let spec = text.and_then(|text| match front_matter(text) {
        None => {
            findings.on_line(1, &codes::BUILD_SPEC_FRONT_MATTER, "there is no front matter between lines of `---`");
            None
        }
        Some((yaml, lines_before)) => match yaml::parse(yaml) {
            Err(error) => {
                let message = format!("the front matter is not YAML: {error}");
                findings.on_line(error.line + lines_before, &codes::BUILD_SPEC_YAML, message);
                None
            }
            Ok(yaml) => {
                for key in yaml.repeated_keys() {
                    let message = format!("the key {:?} stands twice in one map", key.text().unwrap_or_default());
                    findings.on_line(key.line() + lines_before, &any::REPEATED_KEY, message);
                }
                let spec = take(yaml.root(), lines_before);
                spec_rules::check(yaml.root(), &spec, lines_before, &mut findings);
                Some(spec)
            }
        },
    });
    SpecReading { spec, document: source.document(Role::Companion), findings: findings.finish() }
}

/// The PRD that a specification belongs to, by a look at its first lines: cheap enough for every file there is.
pub fn prd_of(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (yaml, _) = front_matter(text)?;
    let value = yaml.lines().find_map(|line| line.strip_prefix("prd:"))?;
    let value = value.split(" #").next().unwrap_or(value);
    let id = value.trim().trim_matches(['"', '\'']);
    (!id.is_empty()).then(|| id.to_owned())
}

/// The text behind the front matter; all of it where there is none.
pub(super) fn body(text: &str) -> &str {
    let Some((yaml, _)) = front_matter(text) else { return text };
    let end = yaml.as_ptr().addr() - text.as_ptr().addr() + yaml.len();
    text[end..].split_once('\n').map_or("", |(_, body)| body)
}

/// The front matter, and how many lines are before it.
fn front_matter(text: &str) -> Option<(&str, u32)> {
    let mut lines_before = 0;
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        match start {
            None if content.is_empty() || content == "\u{feff}" => lines_before += 1,
            None if content == "---" || content == "\u{feff}---" => {
                lines_before += 1;
                start = Some(at + line.len());
            }
            None => return None,
            Some(start) if content == "---" || content == "..." => return Some((&text[start..at], lines_before)),
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

fn take(root: Value<'_>, lines_before: u32) -> Spec {
    Spec {
        prd: root.text_at("prd").or_else(|| root.text_at("prd_id")).map(str::to_owned),
        title: root.text_at("prd_title").or_else(|| root.text_at("title")).map(str::to_owned),
        workstreams: named(root.get("workstreams")).map(|found| workstream(found, lines_before)).collect(),
        phases: named(root.get("execution_phases").or_else(|| root.get("phases")))
            .map(|found| phase(found, lines_before))
            .collect(),
        gates: named(root.get("gates")).map(|found| gate(found, lines_before)).collect(),
    }
}

/// An entry of a map, or an item of a list that may hold its own name.
struct Named<'y> {
    name: Option<&'y str>,
    value: Value<'y>,
    line: u32,
}

fn named<'y>(section: Option<Value<'y>>) -> impl Iterator<Item = Named<'y>> {
    let entries = section.into_iter().flat_map(|section| section.entries());
    let entries = entries.map(|(key, value)| Named { name: key.text(), value, line: key.line() });
    let items = section.into_iter().flat_map(|section| section.items());
    entries.chain(items.map(|item| Named { name: None, value: item, line: item.line() }))
}

impl<'y> Named<'y> {
    /// The id: the key in a map; in a list what the item is, or says of itself.
    fn id(&self, keys: &[&str]) -> String {
        let own = || keys.iter().find_map(|key| self.value.text_at(key));
        self.name.or_else(|| self.value.text()).or_else(own).unwrap_or_default().to_owned()
    }

    fn texts(&self, keys: &[&str]) -> Vec<String> {
        let value = keys.iter().find_map(|key| self.value.get(key).filter(|value| value.kind() != Kind::Null));
        value.map(|value| value.texts().into_iter().map(|(text, _)| text.to_owned()).collect()).unwrap_or_default()
    }

    fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.value.text_at(key)).map(str::to_owned)
    }
}

fn workstream(found: Named<'_>, lines_before: u32) -> Workstream {
    Workstream {
        id: found.id(&["id", "name"]),
        name: found.text(&["name", "title"]),
        depends_on: found.texts(&["depends_on", "dependencies"]),
        outputs: found.texts(&["outputs"]),
        gate: found.text(&["gate"]),
        executor: found.text(&["executor", "agent"]),
        line: found.line + lines_before,
    }
}

fn phase(found: Named<'_>, lines_before: u32) -> Phase {
    let lists = ["workstreams", "parallel", "sequential"];
    // `parallel: true` beside a list of workstreams says how, not which.
    let which = |key: &&str| found.value.get(key).is_some_and(|value| value.kind() == Kind::List);
    let parallel = match lists.iter().find(|key| which(key)) {
        Some(key) => found.texts(&[key]),
        None if found.value.kind() == Kind::List => {
            found.value.texts().into_iter().map(|(text, _)| text.to_owned()).collect()
        }
        None => found.texts(&["workstreams"]),
    };
    Phase {
        name: found.text(&["name", "label", "title"]).or_else(|| found.name.map(str::to_owned)),
        parallel,
        gates: found.texts(&["gates", "gate"]),
        line: found.line + lines_before,
    }
}

fn gate(found: Named<'_>, lines_before: u32) -> GateRule {
    let commands = found.texts(&["command", "commands", "validation_commands"]);
    GateRule {
        name: found.id(&["name", "id"]),
        command: (!commands.is_empty()).then(|| commands.join(" && ")),
        success_criteria: found.text(&["success_criteria", "description"]),
        line: found.line + lines_before,
    }
}
