//! A worker's home: the directory where everything about one worker stands, for whoever leads.
//!
//! | file | holds | written by |
//! |---|---|---|
//! | `launch.json` | what is to be started, and the mark of its processes | the lead, before it starts the keeper |
//! | `lock` | nothing; the keeper holds its lock as long as it lives | the keeper |
//! | `keeper`, `worker` | who they are | the keeper; the worker itself, before it becomes its program |
//! | `control` | a pipe with requests to stop | the lead |
//! | `signs` | how much output there was and when the last came | the keeper |
//! | `stdout.N`, `stderr.N` | segment N of a stream | the keeper |
//! | `exit.json` | how it ended | the keeper; whoever finds that there is none any more |

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::identity::Identity;
use crate::launch::Launch;
use crate::output::Stream;
use crate::worker::{End, Signs};

/// No file that is read whole is longer.
const LONGEST: u64 = 16 << 20;

/// The directory of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub path: PathBuf,
}

/// What stands in it before anything is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Stands in the environment of all processes of the worker.
    pub mark: String,
    pub launch: Launch,
}

impl Home {
    pub fn new(path: &Path) -> Home {
        Home { path: path.to_owned() }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn segment(&self, stream: Stream, number: u64) -> PathBuf {
        self.file(&format!("{}.{number}", stream.word()))
    }

    /// Writes down what is to be started, durably. Fails with `AlreadyExists` when the home has had a worker.
    pub fn claim(&self, claim: &Claim) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let launch = claim.launch.to_json().map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
        let text = json!({ "mark": claim.mark, "launch": launch }).to_string();
        let aside = self.aside("launch.json", text.as_bytes())?;
        let placed = renameat_with(CWD, &aside, CWD, self.file("launch.json"), RenameFlags::NOREPLACE);
        if let Err(error) = placed {
            fs::remove_file(&aside)?;
            return Err(error.into());
        }
        self.sync_directory()?;
        // The directory's own name has to last too.
        self.path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    }

    /// What was claimed; nothing when nothing was, or it cannot be read.
    pub fn claimed(&self) -> io::Result<Option<Claim>> {
        let Some(value) = self.read_json("launch.json")? else { return Ok(None) };
        let mark = value["mark"].as_str().filter(|mark| is_mark(mark)).map(str::to_owned);
        let claim = mark.zip(Launch::from_json(&value["launch"])).map(|(mark, launch)| Claim { mark, launch });
        claim.map(Some).ok_or_else(|| self.unreadable("launch.json"))
    }

    /// Who is written down as keeper or worker.
    pub fn identity(&self, name: &str) -> Option<Identity> {
        self.read(name).ok()??.parse().ok()
    }

    pub fn write_identity(&self, name: &str, identity: &Identity) -> io::Result<()> {
        self.write_durably(name, identity.to_string().as_bytes())
    }

    /// How it ended, once that is written down.
    pub fn end(&self) -> io::Result<Option<End>> {
        let Some(value) = self.read_json("exit.json")? else { return Ok(None) };
        End::from_json(&value).map(Some).ok_or_else(|| self.unreadable("exit.json"))
    }

    pub fn write_end(&self, end: &End) -> io::Result<()> {
        self.write_durably("exit.json", end.to_json().to_string().as_bytes())
    }

    /// What the keeper counted. A line that is torn, because it is just being written, is read again.
    pub fn signs(&self) -> io::Result<Signs> {
        for _ in 0..10 {
            match self.read("signs")? {
                None => break,
                Some(line) if line.is_empty() => break,
                Some(line) => match Signs::parse(&line) {
                    Some(signs) => return Ok(signs),
                    None => std::thread::yield_now(),
                },
            }
        }
        Ok(Signs::default())
    }

    /// The file whose lock a keeper holds.
    pub fn lock(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.file("lock"))
    }

    /// A small file as text; nothing when there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<String>> {
        let mut text = String::new();
        match File::open(self.file(name)) {
            Ok(file) => file.take(LONGEST).read_to_string(&mut text).map(|_| Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_json(&self, name: &str) -> io::Result<Option<Value>> {
        let Some(text) = self.read(name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| self.unreadable(name))
    }

    /// Replaces a file. When this returns, it is there whatever happens; before, the old one is, whole.
    fn write_durably(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let aside = self.aside(name, bytes)?;
        fs::rename(aside, self.file(name))?;
        self.sync_directory()
    }

    fn aside(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.file(&format!(".{name}.{}", std::process::id()));
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn unreadable(&self, name: &str) -> io::Error {
        let message = format!("cannot make sense of {}", self.file(name).display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// A new mark, that no other worker has.
pub(crate) fn new_mark() -> io::Result<String> {
    Ok(random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a text can be a mark; one that is too short would be found in strangers.
pub(crate) fn is_mark(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Sixteen random bytes.
pub(crate) fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
