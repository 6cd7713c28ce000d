//! Which process is meant: a pid alone is used again by others.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process;

/// A process, told from every other that has or will have its pid: by when it began and in which run of the machine.
///
/// Written `PID START BOOT NAMESPACE`, and read back with [`FromStr`]; older versions wrote no namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its pid.
    pub pid: u32,
    /// When it began, in clock ticks since the machine started.
    pub start: u64,
    /// The run of the machine: the kernel's boot id.
    pub boot: String,
    /// The process namespace in which it has this pid, where the kernel says.
    pub namespace: Option<u64>,
}

impl Identity {
    /// The process that has this pid now; nothing when there is none, or it has ended and only waits to be collected.
    pub fn of(pid: u32) -> Option<Identity> {
        let stat = process::stat(pid)?;
        (!stat.has_ended()).then(|| Identity {
            pid,
            start: stat.start,
            boot: boot_id().to_owned(),
            namespace: namespace(),
        })
    }

    /// This process.
    pub fn current() -> Option<Identity> {
        Identity::of(std::process::id())
    }

    /// Whether exactly this process still runs. One that has ended and only waits to be collected does not. Of a process of
    /// another namespace nothing can be said here: see [`Identity::holds`].
    pub fn is_alive(&self) -> bool {
        let is_it = |now: Identity| (now.start, now.boot) == (self.start, self.boot.clone());
        !self.is_foreign() && Identity::of(self.pid).is_some_and(is_it)
    }

    /// Whether its pid is of another process namespace than ours, such as when a sandbox runs this program.
    pub fn is_foreign(&self) -> bool {
        self.boot == boot_id() && self.namespace.zip(namespace()).is_some_and(|(its, ours)| its != ours)
    }

    /// Whether a process still runs that holds a lock as long as it does. Across namespaces the lock tells.
    pub fn holds(&self, lock: &Path) -> bool {
        if self.is_foreign() { is_locked(lock) } else { self.is_alive() }
    }

    /// A handle of the kernel that means exactly this process, and becomes readable when it ends.
    ///
    /// Nothing when it does not run any more.
    pub fn open(&self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(i32::try_from(self.pid).ok()?)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // What was opened may be a successor. Looked at in this order it cannot: whoever is the right one now was the
        // right one when it was opened.
        self.is_alive().then_some(handle)
    }

    /// Sends a signal to exactly this process; says whether it was there to get it.
    pub fn signal(&self, signal: Signal) -> bool {
        self.pid > 1 && self.open().is_some_and(|handle| pidfd_send_signal(handle, signal).is_ok())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.pid, self.start, self.boot)?;
        self.namespace.map_or(Ok(()), |namespace| write!(f, " {namespace}"))
    }
}

impl FromStr for Identity {
    type Err = ();

    fn from_str(text: &str) -> Result<Identity, ()> {
        let mut words = text.split_ascii_whitespace();
        let mut word = || words.next().ok_or(());
        let (pid, start, boot): (&str, &str, String) = (word()?, word()?, word()?.to_owned());
        let namespace = words.next().map(|word| word.parse().map_err(drop)).transpose()?;
        let (pid, start) = (pid.parse().map_err(drop)?, start.parse().map_err(drop)?);
        let identity = Identity { pid, start, boot, namespace };
        (words.next().is_none() && identity.pid > 1).then_some(identity).ok_or(())
    }
}

/// What tells this run of the machine from others; empty where the kernel does not say.
pub(crate) fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let id = text.trim();
        if id.is_empty() { "-".to_owned() } else { id.to_owned() }
    })
}

/// The process namespace that we are in.
fn namespace() -> Option<u64> {
    static OWN: OnceLock<Option<u64>> = OnceLock::new();
    *OWN.get_or_init(|| fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino()))
}

/// Whether a process has a file locked. A file that cannot be opened counts as locked, so that a living process is never
/// called dead.
fn is_locked(path: &Path) -> bool {
    match File::open(path).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock)) => true,
        Ok(Err(TryLockError::Error(_))) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_tells_of_a_process_of_another_namespace() {
        let own = Identity::current().expect("we run");
        let foreign = Identity { namespace: own.namespace.map(|own| own + 1), ..own.clone() };
        let older = Identity { namespace: None, ..own.clone() };
        assert!(foreign.is_foreign() && !own.is_foreign() && !older.is_foreign() && older.is_alive());
        assert_eq!(foreign.to_string().parse(), Ok(foreign.clone()));
        assert_eq!(older.to_string().parse(), Ok(older));
        let path = std::env::temp_dir().join(format!("piton-lock-{}", own.pid));
        assert!(!foreign.holds(&path) && own.holds(&path), "no lock is there");
        let lock = File::create(&path).expect("it is made");
        assert!(!foreign.holds(&path));
        lock.lock().expect("it is locked");
        assert!(foreign.holds(&path));
        // What ran before the machine was started again holds nothing.
        let earlier = Identity { boot: "another".to_owned(), ..foreign };
        assert!(!earlier.holds(&path) && !earlier.is_foreign());
        fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn this_process_is_alive_and_its_identity_reads_back() {
        let own = Identity::current().expect("we run");
        assert!(own.is_alive());
        assert_eq!(own.to_string().parse(), Ok(own.clone()));
        assert!(own.open().is_some());
    }

    #[test]
    fn a_pid_that_others_use_now_is_nobody_of_ours() {
        let own = Identity::current().expect("we run");
        let forged =
            [Identity { start: own.start + 1, ..own.clone() }, Identity { boot: "another".to_owned(), ..own.clone() }];
        for forged in forged {
            assert!(!forged.is_alive(), "{forged}");
            assert!(forged.open().is_none(), "{forged}");
            assert!(!forged.signal(Signal::CONT), "{forged}");
        }
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        for text in
            ["", "12", "12 3", "x 3 b", "12 3 b more", "12 3 b 4 5", "0 3 b", "1 3 b", "-4 3 b", "99999999999 3 b"]
        {
            assert_eq!(text.parse::<Identity>(), Err(()), "{text:?}");
        }
    }
}
