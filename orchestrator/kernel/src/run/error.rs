//! Why a run did not get to its end.

use std::io;

use lab_abi::wire::AgentConfigError;
use lab_perftest::SessionError;
use lab_records::RecordsError;
use lab_te::TeError;
use lab_units::FlowId;
use thiserror::Error;

use crate::{lab::LabErrorKind, lower::FaultError};

/// Why a run did not get to its end.
#[derive(Debug, Error)]
pub enum RunError {
    /// The user ended it.
    #[error("the run was cancelled")]
    Cancelled,
    /// A switch agent failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// All agents ended while flows ran.
    #[error("no switch agent is left")]
    AgentsGone,
    /// perftest could not be run at all.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabErrorKind),
    /// There is no place to pin the switches' maps.
    #[error("cannot mount a BPF file system for the lab: {0}")]
    Pins(io::Error),
    /// The socket that `tune` asks by cannot be opened.
    #[error("cannot listen to `lcmp-lab tune`: {0}")]
    Tune(io::Error),
    /// The program of traffic engineering has no solution.
    #[error(transparent)]
    Engineering(#[from] TeError),
    /// A fault cannot be applied.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// Rows could not be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Rows could not be brought to where they are kept.
    #[error("cannot keep the rows written so far: {0}")]
    Checkpoint(io::Error),
    /// The guest did not come to rest.
    #[error("cannot wait for the moment to start: {0}")]
    Settle(io::Error),
    /// A flow's end has no RDMA device.
    #[error("host `{host}` has no RDMA device to send from")]
    NoEndpoint {
        /// The host.
        host: String,
    },
    /// A flow ended that is not in the schedule.
    #[error("flow {flow} ended, which is not in the schedule")]
    UnknownFlow {
        /// The flow.
        flow: FlowId,
    },
}

/// Why the agents of a run did not start or did not end well.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The configuration does not fit a switch's tables.
    #[error("agent of `{dc}`: {source}")]
    Config {
        /// The datacenter.
        dc: String,
        /// What does not fit.
        source: AgentConfigError,
    },
    /// The agent's process could not be started or talked to.
    #[error("agent of `{dc}`: cannot {action}: {source}")]
    Io {
        /// The datacenter.
        dc: String,
        /// What was tried.
        action: &'static str,
        /// Why it did not work.
        source: io::Error,
    },
    /// The agent was killed again and again.
    #[error("agent of `{dc}` was killed {times} times (hint: something on this machine ends it)")]
    KilledAgain {
        /// The datacenter.
        dc: String,
        /// How often.
        times: u32,
    },
    /// The agent said why it gave up.
    #[error("agent of `{dc}`: {message}")]
    Reported {
        /// The datacenter.
        dc: String,
        /// The agent's own words.
        message: String,
    },
    /// The agent ended without a word.
    #[error("agent of `{dc}` ended before it was told to")]
    Gone {
        /// The datacenter.
        dc: String,
    },
}

impl AgentError {
    /// What `action` on the agent of `dc` failed with.
    pub(super) fn io(dc: &str, action: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let dc = dc.to_owned();
        move |source| Self::Io { dc, action, source }
    }
}
