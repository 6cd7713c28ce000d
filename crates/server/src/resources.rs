//! Resources: what can be read about units, and which units there are.

use piton_engine::{Problem, ProblemKind, find, json, last_words, log, preview, status};
use piton_model::{Audience, ResumeAction, Row};
use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::answer::words;
use crate::bounds::{MOST_CHARACTERS, fit, shorten_document, shorten_text};
use crate::door::Door;
use crate::tools::{BUDGET, log_page, page_steps, run_of};
use crate::uri::{Kind, STATUS, Uri, read as read_uri};

/// The most units on a page of the list.
const PAGE: usize = 100;

/// The most characters of a document. A plan that is longer is cut, and says so.
const LONGEST_DOCUMENT: usize = 100_000;

const JSON: &str = "application/json";

/// A page of the resources: the status of all units, then each unit and its document. The other kinds have templates.
pub fn list(door: &Door, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let start = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => return Err(ErrorData::invalid_params("that is no cursor of this server", None)),
    };
    let workspace = door.open().map_err(|problem| internal(&problem))?;
    let rows = status(&workspace, None, door.now()).rows;
    let mut resources = Vec::new();
    if start == 0 {
        let about = "All units: how far each is, who works on it, whether they are alive";
        resources.push(Resource::new(STATUS, "status").with_description(about).with_mime_type(JSON));
    }
    resources.extend(rows.iter().skip(start).take(PAGE).flat_map(about_unit));
    let mut page = ListResourcesResult::with_all_items(resources);
    let next = start.saturating_add(PAGE);
    page.next_cursor = (next < rows.len()).then(|| next.to_string());
    Ok(page)
}

fn about_unit(row: &Row) -> [Resource; 2] {
    let unit = row.unit();
    let title = row.title.as_deref().map(|title| shorten_text(title, 200));
    let resource = |kind: Kind, name: String| {
        let resource = Resource::new(kind.of(&unit), name).with_description(kind.about());
        match &title {
            Some(title) => resource.with_title(title),
            None => resource,
        }
    };
    let form = if row.path.ends_with(".md") { "text/markdown" } else { JSON };
    [
        resource(Kind::Unit, unit.clone()).with_mime_type(JSON),
        resource(Kind::Document, row.path.to_string()).with_mime_type(form),
    ]
}

/// How every resource about a unit is called.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: Kind| {
        let template = ResourceTemplate::new(kind.template(), kind.word()).with_description(kind.about());
        match kind.mime_type() {
            Some(form) => template.with_mime_type(form),
            None => template,
        }
    };
    Kind::ALL.into_iter().map(template).collect()
}

/// Reads a resource.
pub fn read(door: &Door, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let parsed = read_uri(uri).ok_or_else(|| missing(uri, "there is no such resource"))?;
    let (text, form) = parsed.and_then(|parsed| text_of(door, &parsed)).map_err(|problem| match problem.kind {
        ProblemKind::Failed | ProblemKind::Busy => internal(&problem),
        ProblemKind::Usage | ProblemKind::Refused | ProblemKind::Missing => missing(uri, &words(&problem)),
    })?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(form)]))
}

fn text_of(door: &Door, uri: &Uri) -> Result<(String, &'static str), Problem> {
    let (workspace, now) = (door.open()?, door.now());
    let Uri::Of(kind, wanted) = uri else {
        let mut report = status(&workspace, None, now);
        let of = report.rows.len();
        report.rows.truncate(PAGE);
        let mut document = json::report(&report);
        document["run"] = run_of(&workspace, now);
        document["page"] = json!({ "shown": report.rows.len(), "of": of });
        return Ok((fit(&document, MOST_CHARACTERS).to_string(), JSON));
    };
    match kind {
        Kind::Unit => {
            let found = find(&workspace, wanted, now).map_err(|error| Problem::not_found(wanted, &error))?;
            let mut document = json::unit(&found, &workspace.root().display().to_string(), now);
            let words = last_words(&workspace, &found.name, &found.unit);
            document["units"][0]["last_worker"] = words.as_ref().map(json::last_words).into();
            document["run"] = run_of(&workspace, now);
            Ok((fit(&page_steps(document, 0), MOST_CHARACTERS).to_string(), JSON))
        }
        Kind::Document => {
            let found = find(&workspace, wanted, now).map_err(|error| Problem::not_found(wanted, &error))?;
            let path = found.unit.documents.first().map(|document| document.path.to_string()).unwrap_or_default();
            let form = if path.ends_with(".md") { "text/markdown" } else { JSON };
            match workspace.read_text(&path) {
                Ok(Some(text)) => Ok((shorten_document(&text, LONGEST_DOCUMENT), form)),
                Ok(None) => Err(Problem::new(ProblemKind::Missing, format!("the document is gone: {path}"))),
                Err(error) => Err(Problem::new(ProblemKind::Failed, format!("cannot read `{path}`: {error}"))),
            }
        }
        Kind::Brief => {
            let seen = preview(&workspace, wanted, BUDGET, Audience::Tools, now)
                .map_err(|error| Problem::record(wanted, &error))?;
            match seen.plan.action {
                ResumeAction::Refuse => Err(Problem::not_resumed(&seen)),
                ResumeAction::Continue | ResumeAction::Restart | ResumeAction::Respawn => {
                    Ok((seen.brief, "text/markdown"))
                }
            }
        }
        Kind::Log => {
            let found = log(&workspace, wanted, now).map_err(|error| Problem::record(wanted, &error))?;
            Ok((fit(&log_page(found, 0), MOST_CHARACTERS).to_string(), JSON))
        }
    }
}

/// The names of units that begin like this, for a client that completes an argument.
pub fn complete(door: &Door, begun: &str) -> Vec<String> {
    let Ok(workspace) = door.open() else { return Vec::new() };
    let rows = status(&workspace, None, door.now()).rows;
    rows.iter().map(Row::unit).filter(|unit| unit.starts_with(begun) || unit.contains(&format!(":{begun}"))).collect()
}

fn missing(uri: &str, why: &str) -> ErrorData {
    ErrorData::resource_not_found(why.to_owned(), Some(json!({ "uri": uri })))
}

fn internal(problem: &Problem) -> ErrorData {
    ErrorData::internal_error(words(problem), None)
}
