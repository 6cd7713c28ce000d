//! A unit that one process writes for a long time: a lead, a server.

use std::time::{Duration, Instant};

use piton_model::{Event, UnitRef};

use crate::Workspace;
use crate::record::{RecordError, Recorded, Recorder, Session};
use crate::target::Target;

/// How long a document may be behind its journal while events keep coming.
const BEHIND: Duration = Duration::from_secs(1);

/// How many events may be waiting for their document.
const MOST_BEHIND: u32 = 256;

/// Holds a unit and records many events of it.
///
/// Each event is durable when [`Writer::record`] returns. The document is written once for several of them: at the
/// latest when the next event comes a second after it fell behind, at [`Writer::flush`], and when the writer goes. A
/// process that goes idle calls `flush`, so that people who read the document see all of it. Nobody else can write the
/// unit meanwhile.
pub struct Writer<'w> {
    session: Session<'w>,
    behind_since: Option<Instant>,
    behind: u32,
}

impl<'w> Writer<'w> {
    /// Locks a unit that is there.
    pub fn open(workspace: &'w Workspace, wanted: &UnitRef, recorder: &Recorder) -> Result<Writer<'w>, RecordError> {
        let target = Target::find(workspace, wanted, recorder.now)?;
        let mut session = Session::open(workspace, target, recorder)?;
        session.fence_writer(recorder, "write")?;
        session.is_deferring = true;
        Ok(Writer { session, behind_since: None, behind: 0 })
    }

    /// Records an event. When this returns, it is durable.
    pub fn record(&mut self, event: &Event, recorder: &Recorder) -> Result<Recorded, RecordError> {
        let is_due = self.behind_since.is_some_and(|since| since.elapsed() >= BEHIND) || self.behind >= MOST_BEHIND;
        if is_due {
            self.flush(recorder)?;
        }
        let recorded = self.session.record(event, recorder)?;
        if self.session.unit.is_behind() {
            self.behind_since.get_or_insert_with(Instant::now);
            self.behind += 1;
        } else {
            // The documents have changed places; what was seen of them is no longer so.
            (self.behind_since, self.behind) = (None, 0);
            // The event is durable, whatever this finds. Should it fail, the next event looks again.
            let _ = self.session.look_again(recorder);
        }
        Ok(recorded)
    }

    /// Writes the documents, and writes down what others did to them meanwhile.
    pub fn flush(&mut self, recorder: &Recorder) -> Result<(), RecordError> {
        (self.behind_since, self.behind) = (None, 0);
        self.session.unit.flush(&self.session.contact.documents)?;
        self.session.look_again(recorder)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // Should it fail, whoever comes next rolls the document forward.
        let _ = self.session.unit.flush(&self.session.contact.documents);
    }
}
