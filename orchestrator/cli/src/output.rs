//! Results on standard output, everything else on standard error.

use std::io::{self, Write};

use serde::Serialize;

/// Writes a result. A reader that has seen enough, as in `lcmp-lab schema | head`, is no error.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
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
