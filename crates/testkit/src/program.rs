use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program that can be started at once.
///
/// Another process writes it: a file that this one has open would for a moment be open in every child that another thread
/// starts just then, and what somebody writes into cannot be executed.
pub fn write_program(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    let written = shell.stdin.take().map_or(Ok(()), |mut input| input.write_all(text));
    match shell.wait()?.success() {
        true => written,
        false => Err(io::Error::other(format!("{} could not be written", path.display()))),
    }
}
