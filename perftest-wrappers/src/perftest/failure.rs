//! Status of a flow whose process failed.

use lab_units::Side;

use super::process::Output;
use crate::contract::{Exit, Status};

impl Status {
    pub(crate) fn failed(side: Side, exit: Exit, output: &Output) -> Self {
        Self::Failed {
            side,
            exit,
            message: error_lines(output),
        }
    }
}

/// Returns the error lines of a failed process, joined on one line. perftest prints errors to both stdout and stderr,
/// with lines of dashes and empty lines in between.
fn error_lines(output: &Output) -> String {
    let lines = output
        .stdout
        .lines()
        .chain(output.stderr.lines())
        .map(str::trim);
    let words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let errors: Vec<&str> = lines.filter(words).collect();
    errors[errors.len().saturating_sub(MAX_ERROR_LINES)..].join("; ")
}

/// Maximum number of error lines that are kept from a failed process.
const MAX_ERROR_LINES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_process_is_quoted_in_one_line() {
        let rows = [
            include_str!("../../fixtures/no_device.stderr"),
            include_str!("../../fixtures/refused.stderr"),
            include_str!("../../fixtures/gid_out_of_range.stderr"),
            include_str!("../../fixtures/gid_empty.stderr"),
            include_str!("../../fixtures/port_in_use.stderr"),
            include_str!("../../fixtures/peer_gone.stderr"),
        ]
        .map(|stderr| {
            let output = Output {
                stdout: "-----\n\n".to_owned(),
                stderr: stderr.to_owned(),
            };
            Status::failed(Side::Client, Exit::Code(1), &output).to_string()
        });
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn a_process_without_output_is_named_by_its_end() {
        let status = Status::failed(Side::Server, Exit::Signal(11), &Output::default());
        assert_eq!(status.to_string(), "the server was killed by signal 11");
    }
}
