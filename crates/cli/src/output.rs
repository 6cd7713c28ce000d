use std::io::{self, Write as _};

use crate::failure::{FAILED, Failure};

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(FAILED, format!("cannot write to standard output: {error}"))),
    }
}

/// Writes to standard output; says whether somebody may have read it.
pub fn write_out(text: &str) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Writes one JSON document to standard output.
pub fn print_json(document: &serde_json::Value) -> Result<(), Failure> {
    print(&crate::render::json_text(document))
}
