//! Errors of a perftest installation, and of a session that cannot begin.

use std::{io, path::PathBuf};

use lab_units::Tool;

use crate::contract::JobError;

/// Reason why an installation of perftest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The program is not in `PATH`.
    #[error("cannot find `{tool}` (hint: apt-get install perftest)")]
    Missing { tool: Tool },
    /// The program cannot be started.
    #[error("cannot run `{tool} --version`: {source}")]
    Run { tool: Tool, source: io::Error },
    /// The program does not print a version.
    #[error("`{tool} --version` printed `{output}`, which contains no version")]
    NoVersion {
        tool: Tool,
        /// First line of the output.
        output: String,
    },
}

/// Reason why a session cannot begin. All processes that the session had started have been killed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A job of the session cannot be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A network namespace cannot be opened.
    #[error("cannot open the network namespace `{path}` of host `{host}`: {source}")]
    Netns {
        host: String,
        /// Path of the namespace.
        path: PathBuf,
        source: io::Error,
    },
    /// The kernel refuses to create a thread, timer or socket.
    #[error("cannot start the threads that launch and start flows: {source}")]
    Thread { source: io::Error },
}
