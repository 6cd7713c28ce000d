//! A terminal of our own: the master side of a pseudo-terminal, and a process whose controlling terminal is the other.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::yard::wait_for;

/// A terminal with a session that runs in it.
pub struct Terminal {
    pub child: Child,
    master: File,
    seen: Arc<Mutex<String>>,
    is_closed: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command as the leader of a new session on a terminal of this size.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be used");
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK).expect("reading does not wait");
        let name = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("UTF-8");
        // The size is the terminal's, whichever end sets it.
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("it has a size");
        // The leader of a session without a terminal gets the first one that it opens.
        let mut session = Command::new("setsid");
        session.args(["sh", "-c", "exec \"$@\" <\"$0\" >\"$0\" 2>&1", &name]);
        session.arg(command.get_program()).args(command.get_args());
        session.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        session.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        session.current_dir(command.get_current_dir().expect("a directory"));
        let child = session.spawn().expect("setsid is there");
        let (seen, is_closed) = (Arc::<Mutex<String>>::default(), Arc::<AtomicBool>::default());
        let reader = {
            let file = File::from(master.try_clone().expect("it can be copied"));
            let (seen, is_closed) = (Arc::clone(&seen), Arc::clone(&is_closed));
            std::thread::spawn(move || read(file, &seen, &is_closed))
        };
        Terminal { child, master: File::from(master), seen, is_closed, reader }
    }

    /// Everything that was printed so far.
    pub fn seen(&self) -> String {
        self.seen.lock().expect("no panic").clone()
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_for(text, || self.seen().contains(text), || self.seen());
    }

    /// Types something.
    pub fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// Closes the terminal, as closing its window does or a connection that drops; returns the process that was in it.
    pub fn close(self) -> Child {
        self.is_closed.store(true, Ordering::Relaxed);
        self.reader.join().expect("no panic");
        drop(self.master);
        self.child
    }
}

fn read(mut master: File, seen: &Mutex<String>, is_closed: &AtomicBool) {
    let mut bytes = [0; 4096];
    while !is_closed.load(Ordering::Relaxed) {
        match master.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => seen.lock().expect("no panic").push_str(&String::from_utf8_lossy(&bytes[..count])),
            // Nobody has the other end open yet, or any more; or there is nothing new.
            Err(error) if error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(5) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return,
        }
    }
}
