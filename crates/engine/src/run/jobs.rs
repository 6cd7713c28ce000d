//! Work that takes its time (git, mostly) on a thread, so that the lead goes on beating, looking and answering.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use piton_model::fleet::{MergeOf, MergeResult};

use super::candidacy::Candidacy;
use super::{RunError, failed};

/// What came of a job.
pub(super) enum JobEnd {
    /// A merge was worked out.
    Prepared(MergeOf, Box<Candidacy>),
    /// A target was moved, or was not.
    Merged(MergeOf, MergeResult),
}

/// Jobs that run beside the loop.
pub(super) struct Jobs {
    sender: Sender<JobEnd>,
    receiver: Receiver<JobEnd>,
    writer: UnixStream,
    /// Readable when a job has ended.
    pub reader: UnixStream,
}

impl Jobs {
    pub fn new() -> Result<Jobs, RunError> {
        let (reader, writer) = UnixStream::pair().map_err(failed)?;
        reader.set_nonblocking(true).map_err(failed)?;
        let (sender, receiver) = channel();
        Ok(Jobs { sender, receiver, writer, reader })
    }

    /// Runs a job on a thread of its own. Where the system has none to give, it is run here.
    pub fn run(&self, job: impl FnOnce() -> JobEnd + Send + 'static) -> Result<(), RunError> {
        let sender = self.sender.clone();
        let mut writer = self.writer.try_clone().map_err(failed)?;
        let work = move || {
            // The lead that is gone has no use for the answer; the next one works it out again.
            let _ = sender.send(job());
            let _ = writer.write_all(b"x");
        };
        std::thread::Builder::new().name("git".to_owned()).spawn(work).map(drop).map_err(failed)
    }

    /// What has ended since the last time.
    pub fn ended(&mut self) -> Vec<JobEnd> {
        let mut bytes = [0; 64];
        while let Ok(1..) = self.reader.read(&mut bytes) {}
        self.receiver.try_iter().collect()
    }
}
