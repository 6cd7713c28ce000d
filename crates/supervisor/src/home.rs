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
//! | `.exit.N` | room for that, taken before the worker begins | the keeper |

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FallocateFlags, RenameFlags, fallocate, renameat_with};
use serde_json::{Value, json};

use crate::end::{End, Signs};
use crate::full::{self, Room};
use crate::identity::{Identity, boot_id};
use crate::launch::Launch;
use crate::output::Stream;

/// No file that is read whole is longer.
const LONGEST: u64 = 16 << 20;

/// How much room is taken for how a worker ended. What is written about an exit or a signal is much shorter.
const RESERVED: usize = 1024;

/// Room on the disk for how a worker ended, for the two times that it is written down.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    files: Vec<(PathBuf, File)>,
}

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
    /// The run of the machine in which it was claimed.
    pub boot: String,
    pub launch: Launch,
}

impl Claim {
    /// A claim for a new worker.
    pub fn new(launch: &Launch) -> io::Result<Claim> {
        Ok(Claim { mark: new_mark()?, boot: boot_id().to_owned(), launch: launch.clone() })
    }

    /// Whether the machine has not stopped since then.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == boot_id()
    }
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
        let text = json!({ "mark": claim.mark, "boot": claim.boot, "launch": launch }).to_string();
        let aside = self.aside("launch.json", text.as_bytes(), Lasting::PowerLoss)?;
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
        let boot = value["boot"].as_str().map(str::to_owned);
        let claim = mark.zip(boot).zip(Launch::from_json(&value["launch"]));
        let claim = claim.map(|((mark, boot), launch)| Claim { mark, boot, launch });
        claim.map(Some).ok_or_else(|| self.unreadable("launch.json"))
    }

    /// Who is written down as keeper or worker.
    pub fn identity(&self, name: &str) -> Option<Identity> {
        self.read(name).ok()??.parse().ok()
    }

    /// Writes down who is keeper or worker. It survives a crash of any process; when the machine stops, so do they.
    pub fn write_identity(&self, name: &str, identity: &Identity) -> io::Result<()> {
        self.replace(name, identity.to_string().as_bytes(), Lasting::Crash)
    }

    /// How it ended, once that is written down.
    pub fn end(&self) -> io::Result<Option<End>> {
        let Some(value) = self.read_json("exit.json")? else { return Ok(None) };
        End::from_json(&value).map(Some).ok_or_else(|| self.unreadable("exit.json"))
    }

    /// Writes down how it ended, durably. That its leftovers are gone too is not worth waiting for the disk: should it
    /// be forgotten, they are looked for again.
    pub fn write_end(&self, end: &End) -> io::Result<()> {
        let lasting = self.lasting(end)?;
        self.replace("exit.json", end.to_json().to_string().as_bytes(), lasting)
    }

    fn lasting(&self, end: &End) -> io::Result<Lasting> {
        let is_known = end.is_swept && self.end()?.is_some();
        Ok(if is_known { Lasting::Crash } else { Lasting::PowerLoss })
    }

    /// Takes room for how it will end, while there is some: a disk may be full by then.
    pub fn reserve(&self) -> io::Result<Reserve> {
        let take = |number: u8| {
            let path = self.file(&format!(".exit.{number}"));
            let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
            if fallocate(&file, FallocateFlags::empty(), 0, RESERVED as u64).is_err() {
                // A file system that takes no room in advance does so for what is written.
                file.write_all_at(&[b' '; RESERVED], 0)?;
            }
            Ok((path, file))
        };
        Ok(Reserve { files: (0..2).map(take).collect::<io::Result<_>>()? })
    }

    /// The same as [`Home::write_end`], in the room that was taken for it.
    pub fn write_end_reserved(&self, end: &End, reserve: &mut Reserve) -> io::Result<()> {
        let text = end.to_json().to_string();
        let Some((path, file)) = reserve.files.last().filter(|_| text.len() <= RESERVED) else {
            return self.write_end(end);
        };
        full::check(Room::Reserved)?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)?;
        let lasting = self.lasting(end)?;
        if let Lasting::PowerLoss = lasting {
            file.sync_all()?;
        }
        fs::rename(path, self.file("exit.json"))?;
        reserve.files.pop();
        match lasting {
            Lasting::Crash => Ok(()),
            Lasting::PowerLoss => self.sync_directory(),
        }
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

    /// Replaces a file: at every instant it is the old or the new one, whole. When this returns, it is the new one,
    /// whatever of the given happens.
    fn replace(&self, name: &str, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
        let aside = self.aside(name, bytes, lasting)?;
        fs::rename(aside, self.file(name))?;
        match lasting {
            Lasting::Crash => Ok(()),
            Lasting::PowerLoss => self.sync_directory(),
        }
    }

    fn aside(&self, name: &str, bytes: &[u8], lasting: Lasting) -> io::Result<PathBuf> {
        full::check(Room::New)?;
        let path = self.file(&format!(".{name}.{}", std::process::id()));
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        match lasting {
            Lasting::Crash => {}
            Lasting::PowerLoss => file.sync_all()?,
        }
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

/// What a file has to survive.
#[derive(Debug, Clone, Copy)]
enum Lasting {
    /// The end of any process.
    Crash,
    /// The end of the machine.
    PowerLoss,
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
