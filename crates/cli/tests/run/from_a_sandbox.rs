//! A lead and its workers as a command in a sandbox sees them: their pids are those of another process namespace.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::whose_word::yard;
use crate::yard::wait_for;

/// Writes another namespace into all that says which process is meant.
fn move_away(directory: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            move_away(&path, from, to);
        } else if path.is_file()
            && let Ok(text) = fs::read_to_string(&path)
            && text.contains(from)
        {
            // In place: the lock is held on this file.
            fs::write(&path, text.replace(from, to)).expect("it can be written");
        }
    }
}

/// A lead that is stopped would outlive a test that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(pid: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().expect("kill is there").success());
}

#[test]
fn lock_tells_whether_a_lead_of_another_namespace_lives() {
    let settings = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
    let yard = yard("hold it", settings, &[]);
    yard.run(&["approve"]);
    let mut command = yard.command(&["run"]);
    let lead = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    wait_for("the worker", || yard.outer("marks/held-it").exists(), || yard.piton(&["status"]).stdout);
    // A lead that does not run cannot write who it is meanwhile.
    signal(&lead.0.id().to_string(), "-STOP");
    let namespace = fs::metadata("/proc/self/ns/pid").expect("it is there").ino();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("it is there");
    let identity = |namespace: u64| format!("{} {namespace}", boot.trim());
    move_away(&yard.workspace.path(".piton/run"), &identity(namespace), &identity(namespace + 1));

    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("lead at work") && status.contains("alive"), "{status}");
    assert!(!yard.run(&["stale"]).stdout.contains("dead"));
    for verb in [&["resume", "pipeline:S-1"][..], &["restart", "pipeline:S-1"]] {
        let refused = yard.piton(verb);
        assert!(refused.code == Some(4) && refused.stderr.contains("is led"), "{verb:?}: {}", refused.stderr);
    }
    // The lock goes with the process that held it.
    drop(lead);
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("has no lead"), "{status}");
    move_away(&yard.workspace.path(".piton/run"), &identity(namespace + 1), &identity(namespace));
    yard.run(&["stop", "--workers"]);
}
