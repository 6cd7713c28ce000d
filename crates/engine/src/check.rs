use std::fmt;
use std::path::{Path, PathBuf};

use piton_dialect::{Detail, check_file};
use piton_model::{Finding, Time, UnitRef};
use piton_store::{ReadError, read_named};

use crate::find::{NotFound, find, merge_superseded};
use crate::survey::{Scope, Seen, survey};
use crate::workspace::{source, unreadable};
use crate::{OpenError, Workspace};

/// What to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Everything in the workspace.
    Workspace,
    /// One unit.
    Unit(UnitRef),
    /// A file, or every document below a directory.
    Path(PathBuf),
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Findings, by path and line.
    pub findings: Vec<Finding>,
    /// How many documents were read.
    pub files: usize,
}

/// Why a check could not be made.
#[derive(Debug)]
pub enum CheckError {
    /// No such unit, or several.
    Unit(NotFound),
    /// No such path.
    Missing {
        /// That path.
        path: PathBuf,
    },
    /// A directory that cannot be read.
    Open(OpenError),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Unit(error) => error.fmt(f),
            CheckError::Missing { path } => write!(f, "there is no such file: {}", path.display()),
            CheckError::Open(error) => error.fmt(f),
        }
    }
}

/// Checks documents against the rules of their dialects. Nothing is written.
pub fn check(workspace: &Workspace, target: &Target, now: Time) -> Result<Checked, CheckError> {
    let mut checked = match target {
        Target::Workspace => everything(workspace, None, now),
        Target::Unit(unit) => {
            let found = find(workspace, unit, now).map_err(CheckError::Unit)?;
            Checked { files: found.unit.documents.len(), findings: found.findings }
        }
        Target::Path(path) => path_target(workspace, path, now)?,
    };
    checked.findings.sort_by(|a, b| (&a.place.path, a.place.line).cmp(&(&b.place.path, b.place.line)));
    Ok(checked)
}

fn everything(workspace: &Workspace, below: Option<&str>, now: Time) -> Checked {
    let mut findings = Vec::new();
    let mut units = Vec::new();
    survey(workspace, &Scope { below, ..Scope::new(Detail::Full) }, now, &mut |seen| match seen {
        Seen::Unit(surveyed) => units.push(*surveyed),
        Seen::Loose(loose) => findings.extend(loose),
        Seen::Line(_) => unreachable!("units are asked for in full"),
    });
    merge_superseded(&mut units);
    findings.extend(units.into_iter().flat_map(|each| each.findings));
    Checked { findings, files: workspace.files_read() }
}

/// Checks what somebody named: a directory like a workspace, a file by itself. Inside of the workspace a link that
/// leads out is not followed; elsewhere the name is taken as it is.
fn path_target(workspace: &Workspace, path: &Path, now: Time) -> Result<Checked, CheckError> {
    let inside = workspace.relative(path);
    if path.is_dir() {
        // Inside of the workspace a directory is a part of it, so that a dialect's own directory is recognised.
        if let Some(inside) = &inside {
            return Ok(everything(workspace, Some(inside), now));
        }
        let other = Workspace::open(Some(path), path).map_err(CheckError::Open)?;
        return Ok(everything(&other, None, now));
    }
    let shown = path.to_string_lossy();
    let content = match inside {
        Some(inside) => workspace.disk.read(&inside),
        None => read_named(path),
    };
    let findings = match content {
        Ok(content) => check_file(&source(&shown, &content), now),
        Err(ReadError::Missing) => return Err(CheckError::Missing { path: path.to_owned() }),
        Err(error) => unreadable(&shown, &error).into_iter().collect(),
    };
    Ok(Checked { findings, files: 1 })
}
