//! A directory with homes of workers, and nothing left of them when it goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use piton_supervisor::{Condition, End, KeeperProgram, Launch, Watch, Worker};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The variable by which the processes of a lab are found.
const LAB: &str = "PITON_TEST_LAB";

pub struct Lab {
    root: PathBuf,
    homes: AtomicU32,
}

impl Lab {
    pub fn new() -> Lab {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let name = format!("piton-workers-{}-{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).expect("a directory can be made");
        Lab { root, homes: AtomicU32::new(0) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn home(&self) -> PathBuf {
        self.path(&format!("home-{}", self.homes.fetch_add(1, Ordering::Relaxed)))
    }

    /// A shell script as it is to be started, in the lab's directory.
    pub fn launch(&self, script: &str) -> Launch {
        Launch::new(["/bin/sh", "-c", script], &self.root).set(LAB, self.mark())
    }

    pub fn start(&self, script: &str) -> Worker {
        self.start_launch(&self.launch(script))
    }

    pub fn start_launch(&self, launch: &Launch) -> Worker {
        Worker::start(&program(), &self.home(), launch).expect("the worker starts")
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// The processes of the lab that run now.
    pub fn processes(&self) -> Vec<u32> {
        let wanted = format!("{LAB}={}", self.mark());
        let pids = fs::read_dir("/proc").expect("there is /proc").flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let runs = piton_supervisor::Identity::of(*pid).is_some();
            runs && environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        pids.filter(is_ours).collect()
    }

    /// Asserts that none runs.
    pub fn assert_empty(&self, what: &str) {
        let left = self.processes();
        assert!(left.is_empty(), "{left:?} are left: {what}");
    }

    fn mark(&self) -> String {
        self.root.display().to_string()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if let Ok(worker) = Worker::adopt(&program(), &entry.path()) {
                let _ = worker.force_end();
            }
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The real binary.
pub fn program() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_piton"))
}

/// Waits for a worker's end as a lead does.
pub fn end_of(worker: &Worker) -> End {
    let deadline = Instant::now() + PATIENCE;
    let mut watch = Watch::new().expect("there is epoll");
    loop {
        match worker.condition().expect("its home can be read") {
            Condition::Ended(end) => return end,
            Condition::Running { .. } | Condition::Orphaned { .. } => {}
        }
        watch.add(7, worker).expect("it can be watched");
        let left = deadline.checked_duration_since(Instant::now());
        let left = left.unwrap_or_else(|| panic!("{} does not end", worker.home().display()));
        watch.wait(Some(left)).expect("it can be waited for");
    }
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a file is there, and reads it.
pub fn content_of(path: &Path) -> String {
    let mut text = String::new();
    until(&format!("{} has a line", path.display()), || {
        text = fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text
}
