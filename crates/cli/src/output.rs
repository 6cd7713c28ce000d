use std::io::{self, Write as _};

use crate::failure::{FAILED, Failure};

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes()).map(drop)
}

/// Writes bytes to standard output; says whether there is still a reader.
pub fn print_bytes(bytes: &[u8]) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
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
