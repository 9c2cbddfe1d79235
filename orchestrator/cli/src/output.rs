//! Results on standard output, everything else on standard error.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Exit;

/// Writes a result. A reader that has seen enough, as in `lcmp-lab schema | head`, is no error; a
/// result that cannot be written ends the process, as there is nothing else to do for it.
pub fn print(text: &str) {
    if let Err(error) = write(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        note(&format!("error: cannot write to standard output: {error}"));
        std::process::exit(i32::from(Exit::Environment.code()));
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Writes a result as JSON.
pub fn print_json<T: Serialize>(value: &T) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&text),
        Err(error) => note(&format!("error: cannot write JSON: {error}")),
    }
}

/// Says something to a person.
pub fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}
