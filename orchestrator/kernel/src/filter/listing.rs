//! Output of the programs that list the rules of packet filters.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

/// Returns the output of a program, or the reason why the program failed.
pub(super) fn output(program: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| format!("`{program}` cannot list its rules: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().next().unwrap_or_default();
    Err(format!("`{program}` cannot list its rules: {why}"))
}
