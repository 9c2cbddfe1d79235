//! Errors from an installation, and from a session that cannot begin.

use std::{io, path::PathBuf};

use lab_units::Tool;

use crate::contract::JobError;

/// Installation of perftest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The program is not in `PATH`.
    #[error("cannot find `{tool}` (hint: apt-get install perftest)")]
    Missing {
        /// Program.
        tool: Tool,
    },
    /// The program does not start.
    #[error("cannot run `{tool} --version`: {source}")]
    Run {
        /// Program.
        tool: Tool,
        /// Cause.
        source: io::Error,
    },
    /// The program does not print a version.
    #[error("`{tool} --version` printed `{output}`, which contains no version")]
    NoVersion {
        /// Program.
        tool: Tool,
        /// First line of the output.
        output: String,
    },
}

/// Session that could not begin; none of its processes is left.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A job cannot be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A namespace that cannot be opened.
    #[error("cannot open the network namespace `{path}` of host `{host}`: {source}")]
    Netns {
        /// Host.
        host: String,
        /// Path of the namespace.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The kernel refused a thread, timer or socket.
    #[error("cannot start the threads that launch and start flows: {source}")]
    Thread {
        /// Cause.
        source: io::Error,
    },
}
