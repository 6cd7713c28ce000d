//! A worker that does what a script says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::write_program;

/// The worker; what a script can say stands at its beginning.
const WORKER: &str = include_str!("scripted.sh");

/// A directory with scripts, one for each unit, and the worker that follows them.
#[derive(Debug, Clone)]
pub struct ScriptedWorker {
    directory: PathBuf,
}

impl ScriptedWorker {
    /// Makes the worker in a directory, which should be outside of the workspace. It records with the given binary.
    pub fn new(directory: &Path, piton: &Path) -> io::Result<ScriptedWorker> {
        fs::create_dir_all(directory)?;
        let directory = fs::canonicalize(directory)?;
        let quote = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let text = WORKER.replace("@SCRIPTS@", &quote(&directory)).replace("@PITON@", &quote(piton));
        let path = directory.join("worker.sh");
        write_program(&path, text.as_bytes())?;
        let worker = ScriptedWorker { directory };
        worker.script("default", "record finish\n")?;
        Ok(worker)
    }

    /// The program to start.
    pub fn program(&self) -> PathBuf {
        self.directory.join("worker.sh")
    }

    /// Gives the script of a unit, `dialect:id`, or of all that have none, `default`.
    pub fn script(&self, unit: &str, script: &str) -> io::Result<()> {
        fs::write(self.directory.join(unit.replace([':', '/'], "-")), script)
    }

    /// What workers did, in order: lines of unit, attempt and deed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }
}
