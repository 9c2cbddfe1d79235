//! Versions of the installed perftest tools.

use std::{io, path::Path, process::Stdio};

use lab_units::Tool;
use tokio::process::Command;

use super::{error::ProbeError, version::KNOWN_VERSION};

/// Tool of perftest that is installed on this machine, with its version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Installed {
    pub tool: Tool,
    /// Version as printed by the tool: `6.06` for Debian 12's package 4.5+0.17.
    pub version: String,
}

impl Installed {
    /// Returns true if flows of this tool start exactly at their trigger; see
    /// [`FlowStart::exact`](crate::contract::FlowStart::exact).
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.version == KNOWN_VERSION
    }
}

/// Runs `tool` to find out its version.
///
/// # Errors
/// The program is missing, cannot be run, or prints no version.
pub async fn probe(tool: Tool) -> Result<Installed, ProbeError> {
    probe_program(tool, Path::new(tool.name())).await
}

async fn probe_program(tool: Tool, program: &Path) -> Result<Installed, ProbeError> {
    let output = Command::new(program)
        .arg("--version")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProbeError::Missing { tool },
            _ => ProbeError::Run { tool, source },
        })?;
    // perftest exits with an error code when it is asked for its version.
    let text = String::from_utf8_lossy(&output.stdout);
    match version(&text) {
        Some(version) => Ok(Installed {
            tool,
            version: version.to_owned(),
        }),
        None => Err(ProbeError::NoVersion {
            tool,
            output: text.lines().next().unwrap_or_default().to_owned(),
        }),
    }
}

fn version(output: &str) -> Option<&str> {
    let version = output
        .lines()
        .find_map(|line| line.strip_prefix("Version: "))?;
    Some(version.trim()).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_on_its_own_line() {
        assert_eq!(version("Version: 6.06\n"), Some("6.06"));
        assert_eq!(version("warning\nVersion: 24.07 \n"), Some("24.07"));
        assert_eq!(version("Version: \n"), None);
        assert_eq!(version("Usage: ib_send_bw\n"), None);
    }

    #[tokio::test]
    async fn a_missing_tool_comes_with_the_command_that_installs_it() {
        let error = probe_program(Tool::ReadBw, Path::new("/nonexistent/ib_read_bw"))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot find `ib_read_bw` (hint: apt-get install perftest)"
        );
    }
}
