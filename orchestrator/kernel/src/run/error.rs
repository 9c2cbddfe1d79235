//! Errors that end a run.

use std::io;

use lab_abi::wire::AgentConfigError;
use lab_generators::{perftest::SessionError, verbs::VerbsError};
use lab_records::RecordsError;
use lab_te::TeError;
use lab_units::FlowId;
use thiserror::Error;

use super::kill::KillCause;
use crate::{lab::LabErrorKind, lower::FaultError};

/// Reason why a run ends early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The user cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
    /// A switch agent failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// All agents ended before the run was over.
    #[error("all switch agents ended before the run was over")]
    AgentsGone,
    /// perftest cannot be run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The verbs generator cannot run.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    #[error(transparent)]
    Lab(#[from] LabErrorKind),
    /// The BPF file system in which the switches' maps are pinned cannot be mounted.
    #[error("cannot mount a BPF file system for the lab: {0}")]
    Pins(io::Error),
    /// The socket for `lcmp-lab tune` cannot be opened.
    #[error("cannot open the socket for `lcmp-lab tune`: {0}")]
    Tune(io::Error),
    /// The linear program of traffic engineering could not be solved.
    #[error(transparent)]
    Engineering(#[from] TeError),
    /// A fault cannot be applied.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// Rows of the records cannot be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The run's inputs cannot be recorded.
    #[error("cannot record the run's inputs: {0}")]
    Inputs(io::Error),
    /// The kernel's timer tick, with which the start of a repetition is aligned, cannot be read.
    #[error("cannot read the kernel's timer tick: {0}")]
    Clock(io::Error),
    /// The watchdog, which measures CPU load and clock jumps while flows run, cannot be started.
    #[error("cannot start the watchdog: {0}")]
    Watchdog(io::Error),
    /// A host has no RDMA device.
    #[error("host `{host}` has no RDMA device to send from")]
    NoEndpoint { host: String },
    /// A flow that is not in the schedule ended.
    #[error("flow {flow}, which is not in the schedule, ended")]
    UnknownFlow { flow: FlowId },
}

/// Failure of a switch's agent.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The configuration does not fit a switch's tables.
    #[error("agent of `{dc}`: {source}")]
    Config {
        dc: String,
        source: AgentConfigError,
    },
    /// The agent's process could not be started, or communication with it failed.
    #[error("agent of `{dc}`: cannot {action}: {source}")]
    Io {
        dc: String,
        action: &'static str,
        source: io::Error,
    },
    /// The agent's process ended by SIGKILL, which the run did not send.
    #[error("agent of `{dc}` was killed by signal 9: {cause}")]
    Killed { dc: String, cause: KillCause },
    /// The agent was killed more often than it may be restarted.
    #[error(
        "agent of `{dc}` was killed {times} times (hint: something on this machine kills it); the last time, {last}"
    )]
    KilledAgain {
        dc: String,
        times: u32,
        /// Error of the last end.
        last: Box<Self>,
    },
    /// The agent reported an error.
    #[error("agent of `{dc}`: {message}")]
    Reported { dc: String, message: String },
    /// The agent was asked to end but did not end in time.
    #[error(
        "agent of `{dc}` was asked to end but has sent nothing for {seconds} s (hint: something on this machine \
         stopped it; its last reports are missing)"
    )]
    Silent {
        dc: String,
        /// Time since the agent's last message, in seconds.
        seconds: u64,
    },
    /// The switch's tables in the kernel differ from the plan's.
    #[error(
        "agent of `{dc}`: the switch's tables differ from the plan: {} (hint: another program changed them, \
         or the agent is from another build)",
        differences.join("; ")
    )]
    Tables {
        dc: String,
        differences: Vec<String>,
    },
    /// The agent ended without having been asked to.
    #[error("agent of `{dc}` ended unexpectedly")]
    Gone { dc: String },
}

impl AgentError {
    /// Returns a function that makes the error for a failed `action` on the agent of `dc`.
    pub(super) fn io(dc: &str, action: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let dc = dc.to_owned();
        move |source| Self::Io { dc, action, source }
    }
}
