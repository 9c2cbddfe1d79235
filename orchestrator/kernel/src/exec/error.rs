//! Errors of applying and undoing steps.

use std::{fmt, io};

use lab_host::HostError;
use nix::errno::Errno;

use crate::{
    journal::FORMAT,
    name::{LabName, NetnsName},
    netlink::{KernelError, NetlinkError},
    step::{DeviceChange, Qdisc, QdiscAt, Step},
};

/// Failure to apply a step.
#[derive(Debug, thiserror::Error)]
#[error("`{step}` failed: {cause}{}", Hint { step, cause })]
pub struct StepError {
    pub step: Box<Step>,
    pub cause: StepCause,
}

/// Cause of a step's failure.
#[derive(Debug, thiserror::Error)]
pub enum StepCause {
    /// The kernel refused the request.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A system call or a file access failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An eBPF host program cannot be loaded or opened.
    #[error(transparent)]
    Host(Box<HostError>),
    #[error("there is no interface `{dev}`")]
    NoInterface { dev: String },
}

impl From<HostError> for StepCause {
    fn from(error: HostError) -> Self {
        Self::Host(error.into())
    }
}

impl From<KernelError> for StepCause {
    fn from(error: KernelError) -> Self {
        Self::Netlink(error.into())
    }
}

impl From<Errno> for StepCause {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl StepCause {
    /// Returns the error number that the kernel reported; `None` if the cause has no error number.
    pub(crate) fn errno(&self) -> Option<Errno> {
        let number = match self {
            Self::Netlink(NetlinkError::Kernel(error)) => Some(error.errno()),
            Self::Netlink(NetlinkError::Socket(error)) | Self::Io(error) => error.raw_os_error(),
            Self::Netlink(NetlinkError::Answer(_)) | Self::Host(_) | Self::NoInterface { .. } => {
                None
            }
        };
        number.map(Errno::from_raw)
    }
}

/// Hint for resolving a step's failure; empty if no hint is known.
struct Hint<'a> {
    step: &'a Step,
    cause: &'a StepCause,
}

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut missing = |module| write!(f, " (hint: `modprobe {module}`)");
        match (self.cause.errno(), self.step) {
            (Some(Errno::EPERM | Errno::EACCES), _) => f.write_str(" (hint: run as root)"),
            (Some(Errno::EMFILE | Errno::ENFILE), _) => {
                f.write_str(" (hint: `ulimit -n 65536` lets a process open more files)")
            }
            (Some(Errno::ENOENT), Step::Qdisc(QdiscAt { qdisc, .. })) => missing(match qdisc {
                Qdisc::Tbf(_) => "sch_tbf",
                Qdisc::Red(_) => "sch_red",
                Qdisc::Netem(_) => "sch_netem",
                Qdisc::Fq(_) => "sch_fq",
                Qdisc::Clsact => "sch_ingress",
            }),
            (
                Some(Errno::ENOENT),
                Step::Device {
                    change: DeviceChange::Redirect(_),
                    ..
                },
            ) => missing("act_mirred"),
            (Some(Errno::EOPNOTSUPP), Step::Veth(_)) => missing("veth"),
            (
                Some(Errno::EOPNOTSUPP | Errno::EPROTONOSUPPORT | Errno::EINVAL),
                Step::Device {
                    change: DeviceChange::Rxe(_),
                    ..
                },
            ) => missing("rdma_rxe"),
            _ => Ok(()),
        }
    }
}

/// Calls `work` with each step; stops at the first error.
pub(super) fn each(
    steps: &[Step],
    mut work: impl FnMut(&Step) -> Result<(), StepCause>,
) -> Result<(), StepError> {
    let work = |step| work(step).map_err(|cause| failed(step, cause));
    steps.iter().try_for_each(work)
}

pub(super) fn failed(step: &Step, cause: impl Into<StepCause>) -> StepError {
    StepError {
        step: Box::new(step.clone()),
        cause: cause.into(),
    }
}

/// Failure to remove an object of a lab.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("`{undo}` failed: {error}")]
    Step { undo: String, error: NetlinkError },
    #[error(
        "the journal of lab `{lab}` has format {found}; this program supports {FORMAT} (hint: take the lab \
         down with the version of lcmp-lab that created it)"
    )]
    Format { lab: LabName, found: u32 },
    #[error("cannot remove namespace `{name}`: {error}")]
    Netns { name: NetnsName, error: io::Error },
    #[error("`{what}` was not created by the lab, so it is left unchanged")]
    NotOurs { what: String },
    #[error("process {pid} of the lab did not end")]
    Process { pid: i32 },
    #[error(
        "process {pid} is in control group `{}`, not in the one that the journal states, so it is left running",
        cgroup.trim_end()
    )]
    OtherCgroup { pid: i32, cgroup: String },
    #[error("`{path}`: {error}")]
    File { path: String, error: io::Error },
}

impl UndoError {
    /// Returns true if the object does not belong to the lab, so that another attempt to remove it would be pointless.
    pub(super) const fn is_left(&self) -> bool {
        matches!(self, Self::NotOurs { .. } | Self::OtherCgroup { .. })
    }
}
