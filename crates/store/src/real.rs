//! The real disk behind the seam.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, StatxFlags};

use crate::disk::{
    Access, Disk, DiskError, Handle, Identity, Imprint, LockError, Open, Rename, Stamp, directory_of, name_of,
};
use crate::parents::Holding;
use crate::seal::HOME;
use crate::stop;
use crate::{Content, ReadError, Reader, Tree};

/// File systems that note the time of every change before it can be seen, writing through shared memory included: ext2
/// to ext4, XFS and Btrfs. One in memory does not, and of one elsewhere nobody knows.
const TELLING: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

impl Disk for Tree {
    fn root(&self) -> &Path {
        Tree::root(self)
    }

    fn read(&self, path: &str) -> Result<Content, ReadError> {
        Tree::read(self, path)
    }

    fn reader(&self) -> Option<Reader<'_>> {
        Some(Reader::new(self))
    }

    fn stamp(&self, path: &str) -> Result<Option<Stamp>, DiskError> {
        let directory = match self.parent(path, "look at") {
            Ok(directory) => directory,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        match rustix::fs::statat(&*directory, name_of(path), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stamp_of(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("look at", path, error)),
        }
    }

    fn imprint(&self, path: &str) -> Result<Option<Imprint>, DiskError> {
        let directory = match self.parent(path, "look at") {
            Ok(directory) => directory,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        let kind = rustix::fs::fstatfs(&*directory).map_err(|error| failed("look at", path, error))?.f_type as u64;
        if !TELLING.contains(&kind) {
            return Ok(None);
        }
        match rustix::fs::statat(&*directory, name_of(path), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                Ok(Some(Imprint { stamp: stamp_of(&stat), changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec) }))
            }
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("look at", path, error)),
        }
    }

    fn identity(&self, directory: &str) -> Result<Option<Identity>, DiskError> {
        let name = if directory.is_empty() { "." } else { directory };
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = match rustix::fs::statx(self.directory(), name, AtFlags::SYMLINK_NOFOLLOW, wanted) {
            Ok(found) => found,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(failed("look at", directory, error)),
        };
        let is_directory = FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::Directory;
        Ok(is_directory.then(|| Identity {
            inode: found.stx_ino,
            born: i128::from(found.stx_btime.tv_sec) * 1_000_000_000 + i128::from(found.stx_btime.tv_nsec),
            owner: found.stx_uid,
            is_ours: found.stx_uid == rustix::process::geteuid().as_raw(),
        }))
    }

    fn resolve(&self, path: &str) -> Result<String, DiskError> {
        let is_link = rustix::fs::statat(self.directory(), path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if !is_link {
            return Ok(path.to_owned());
        }
        let outside = || io::Error::other("a symbolic link leads out of the workspace");
        let fail = |error| DiskError { doing: "follow", path: path.to_owned(), error };
        let root = Tree::root(self).canonicalize().map_err(fail)?;
        let target = root.join(path).canonicalize().map_err(fail)?;
        let inside = target.strip_prefix(&root).ok().and_then(Path::to_str);
        inside.map(str::to_owned).ok_or_else(|| fail(outside()))
    }

    fn list(&self, directory: &str) -> Vec<String> {
        Tree::list(self, if directory.is_empty() { "." } else { directory })
    }

    fn walk(&self, visit: &mut dyn FnMut(&str)) {
        crate::walk(Tree::root(self), visit);
    }

    fn open(&self, path: &str, how: Open<'_>) -> Result<Box<dyn Handle>, DiskError> {
        self.open_file(path, how).map(|file| Box::new(file) as Box<dyn Handle>)
    }

    fn unnamed(&self, like: &str) -> Option<Box<dyn Handle>> {
        stop::here();
        let directory = self.parent(like, "create").ok()?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&*directory, ".", flags, Mode::from_raw_mode(0o666)).ok()?;
        self.make_alike(&opened, like, like).ok()?;
        let file = Arc::new(File::from(opened));
        Some(Box::new(RealFile { file, path: like.to_owned(), holding: None, unnamed_in: Some(directory) }))
    }

    fn make_directory(&self, path: &str, access: Access) -> Result<(), DiskError> {
        stop::here();
        let directory = self.parent(path, "make the directory")?;
        let mode = if access == Access::Private { 0o700 } else { 0o777 };
        match rustix::fs::mkdirat(&*directory, name_of(path), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(error) => Err(failed("make the directory", path, error)),
        }
    }

    fn rename(&self, from: &str, to: &str, how: Rename) -> Result<(), DiskError> {
        stop::here();
        let (old, new) = (self.parent(from, "rename")?, self.parent(to, "rename to")?);
        let flags = match how {
            Rename::Replace => RenameFlags::empty(),
            Rename::New => RenameFlags::NOREPLACE,
            Rename::Exchange => RenameFlags::EXCHANGE,
        };
        rustix::fs::renameat_with(&*old, name_of(from), &*new, name_of(to), flags)
            .map_err(|error| refused("rename to", to, error))
    }

    fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        stop::here();
        let (old, new) = (self.parent(from, "link")?, self.parent(to, "link to")?);
        rustix::fs::linkat(&*old, name_of(from), &*new, name_of(to), AtFlags::empty())
            .map_err(|error| refused("link to", to, error))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        stop::here();
        let directory = self.parent(path, "remove")?;
        rustix::fs::unlinkat(&*directory, name_of(path), AtFlags::empty())
            .map_err(|error| failed("remove", path, error))
    }

    fn sync_directory(&self, path: &str) -> Result<(), DiskError> {
        stop::here();
        let directory = self.open_directory(path).map_err(|error| failed("open", path, error))?;
        rustix::fs::fsync(&*directory).map_err(|error| failed("sync the directory", path, error))
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Box<dyn Handle>, LockError> {
        let until = Instant::now() + wait;
        loop {
            let mut file = self.open_file(path, Open::Create(Access::Private))?;
            if !lock_file(&file, until)? {
                let holder = file.read_at(0, 4096).unwrap_or_default();
                return Err(LockError::Busy { holder: String::from_utf8_lossy(&holder).into_owned() });
            }
            // Somebody may have taken the file away while this waited for it; then the lock is worth nothing.
            let same =
                Disk::stamp(self, path)?.is_some_and(|found| file.stamp().is_ok_and(|own| own.inode == found.inode));
            if same {
                file.holding = Some(Holding::new(&self.parents));
                return Ok(Box::new(file));
            }
        }
    }

    fn boot(&self) -> String {
        let mut id = [0; 64];
        let read = File::open("/proc/sys/kernel/random/boot_id").and_then(|mut file| file.read(&mut id)).unwrap_or(0);
        String::from_utf8_lossy(&id[..read]).trim().to_owned()
    }
}

impl Tree {
    /// The directory that holds a path, opened beneath the root.
    fn parent(&self, path: &str, doing: &'static str) -> Result<Arc<OwnedFd>, DiskError> {
        let climbs = Path::new(path).components().any(|part| !matches!(part, Component::Normal(_)));
        if climbs {
            return Err(failed(doing, path, rustix::io::Errno::XDEV));
        }
        match self.open_directory(directory_of(path)) {
            // One may give names in a directory that one may not list.
            Err(rustix::io::Errno::ACCESS) => {
                let name = if directory_of(path).is_empty() { "." } else { directory_of(path) };
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                self.open_at(name, flags, Mode::empty()).map(Arc::new)
            }
            opened => opened,
        }
        .map_err(|error| failed(doing, path, error))
    }

    fn open_directory(&self, path: &str) -> Result<Arc<OwnedFd>, rustix::io::Errno> {
        if let Some(directory) = self.parents.get(path) {
            return Ok(directory);
        }
        let name = if path.is_empty() { "." } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = Arc::new(self.open_at(name, flags, Mode::empty())?);
        self.parents.put(path, &directory);
        Ok(directory)
    }

    fn open_at(&self, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, rustix::io::Errno> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // In our own directory nobody but an intruder makes links.
        if Path::new(path).starts_with(HOME) {
            resolve |= ResolveFlags::NO_SYMLINKS;
        }
        loop {
            match rustix::fs::openat2(self.directory(), path, flags, mode, resolve) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                opened => return opened,
            }
        }
    }

    fn open_file(&self, path: &str, how: Open<'_>) -> Result<RealFile, DiskError> {
        let base = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let (flags, mode) = match how {
            Open::Existing => (base, 0),
            Open::Create(Access::Private) => (base | OFlags::CREATE, 0o600),
            Open::Create(Access::Shared) => (base | OFlags::CREATE, 0o666),
            Open::New { like: "" } => (base | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, 0o600),
            Open::New { .. } => (base | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, 0o666),
        };
        if how != Open::Existing {
            stop::here();
        }
        let doing = if how == Open::Existing { "open" } else { "create" };
        let opened =
            self.open_at(path, flags, Mode::from_raw_mode(mode)).map_err(|error| failed(doing, path, error))?;
        let stat = rustix::fs::fstat(&opened).map_err(|error| failed(doing, path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let error = io::Error::other("it is not a regular file");
            return Err(DiskError { doing, path: path.to_owned(), error });
        }
        if let Open::New { like } = how {
            self.make_alike(&opened, like, path)?;
        }
        Ok(RealFile { file: Arc::new(File::from(opened)), path: path.to_owned(), holding: None, unnamed_in: None })
    }

    /// Gives a new file the mode and, where that is allowed, the owner of the one it is to replace.
    fn make_alike(&self, new: &OwnedFd, like: &str, path: &str) -> Result<(), DiskError> {
        let Ok(old) = rustix::fs::statat(self.directory(), like, AtFlags::empty()) else { return Ok(()) };
        let own = rustix::fs::fstat(new).map_err(|error| failed("look at", path, error))?;
        if own.st_mode != old.st_mode {
            rustix::fs::fchmod(new, Mode::from_raw_mode(old.st_mode))
                .map_err(|error| failed("set the mode of", path, error))?;
        }
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
            let (user, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
            // Only the superuser may give a file away; the content matters more than its owner.
            let _ = rustix::fs::fchown(new, Some(user), Some(group));
        }
        Ok(())
    }
}

struct RealFile {
    file: Arc<File>,
    path: String,
    /// When it is locked.
    holding: Option<Holding>,
    /// The directory that it was made in without a name.
    unnamed_in: Option<Arc<OwnedFd>>,
}

impl RealFile {
    fn fail(&self, doing: &'static str) -> impl Fn(io::Error) -> DiskError + '_ {
        move |error| DiskError { doing, path: self.path.clone(), error }
    }
}

impl Handle for RealFile {
    fn size(&self) -> Result<u64, DiskError> {
        Ok(self.stamp()?.size)
    }

    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail("read")(error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        stop::here();
        self.file.write_all_at(bytes, at).map_err(self.fail("write"))
    }

    fn truncate(&self, size: u64) -> Result<(), DiskError> {
        stop::here();
        self.file.set_len(size).map_err(self.fail("cut"))
    }

    fn name(&self, path: &str) -> Result<(), DiskError> {
        stop::here();
        let directory = self.unnamed_in.as_ref().filter(|_| directory_of(path) == directory_of(&self.path));
        let Some(directory) = directory else { return Err(failed("name", path, rustix::io::Errno::XDEV)) };
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, open, &**directory, name_of(path), AtFlags::SYMLINK_FOLLOW)
            .map_err(|error| failed("name", path, error))
    }

    fn begin_sync(&self) {
        // What is said to be of no use any more the kernel begins to write at once, and then has a place on the disk. It
        // is durable with the next commit of the file system, whichever file is waited for.
        let _ = rustix::fs::fadvise(&*self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    fn sync(&self) -> Result<(), DiskError> {
        stop::here();
        self.file.sync_data().map_err(self.fail("sync"))
    }

    fn stamp(&self) -> Result<Stamp, DiskError> {
        rustix::fs::fstat(self.file.as_fd())
            .map(|stat| stamp_of(&stat))
            .map_err(|error| self.fail("look at")(error.into()))
    }
}

/// Locks a file before a moment. The kernel serves those who wait in the order they came, which asking again and
/// again would not; so a thread waits there, and is left behind when the time is up.
fn lock_file(file: &RealFile, until: Instant) -> Result<bool, DiskError> {
    let fail = |error: rustix::io::Errno| failed("lock", &file.path, error);
    match rustix::fs::flock(&*file.file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
        Err(error) => return Err(fail(error)),
    }
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Ok(false);
    }
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::clone(&file.file);
    std::thread::spawn(move || {
        let locked = loop {
            match rustix::fs::flock(&*shared, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                result => break result,
            }
        };
        // Nobody listens any more when the time was up; the lock goes with the last handle to the file.
        let _ = sender.send(locked);
    });
    match receiver.recv_timeout(left) {
        Ok(locked) => locked.map(|()| true).map_err(fail),
        Err(_) => Ok(false),
    }
}

fn stamp_of(stat: &rustix::fs::Stat) -> Stamp {
    Stamp { inode: stat.st_ino, size: stat.st_size as u64, modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec) }
}

fn nanoseconds(seconds: i64, rest: impl TryInto<i128>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + rest.try_into().unwrap_or(0)
}

/// A file could not get a name. That it is on another file system is said as it is.
fn refused(doing: &'static str, path: &str, error: rustix::io::Errno) -> DiskError {
    DiskError { doing, path: path.to_owned(), error: error.into() }
}

fn failed(doing: &'static str, path: &str, error: rustix::io::Errno) -> DiskError {
    let error = match error {
        rustix::io::Errno::XDEV => io::Error::other("it leads out of the workspace"),
        rustix::io::Errno::LOOP => io::Error::other("there is a symbolic link in its place"),
        other => other.into(),
    };
    DiskError { doing, path: path.to_owned(), error }
}
