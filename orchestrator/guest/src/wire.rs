//! What host and guest say to each other, and the devices they say it on.
//!
//! The request travels in the initramfs. After that there is one control line each way, a JSON
//! object per line on a serial port of its own, so that output can hold any byte.

use std::{ffi::OsString, path::PathBuf};

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::{
    Accelerator, Clock, CpuUse,
    exec::talk::{Answer, Order},
};

/// Where the init script leaves the request and the link to the init program.
pub(crate) const GUEST_DIR: &str = "/run/lcmp-lab-guest";

/// The request's file name in [`GUEST_DIR`].
pub(crate) const REQUEST_FILE: &str = "request.json";

/// The serial port of the inner command's standard output.
pub(crate) const STDOUT_PORT: &str = "/dev/ttyS1";

/// The serial port of the inner command's standard error.
pub(crate) const STDERR_PORT: &str = "/dev/ttyS2";

/// The serial port of the control lines.
pub(crate) const CONTROL_PORT: &str = "/dev/ttyS3";

/// What the guest's init is to do.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct InnerRequest {
    pub argv: Vec<OsString>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub writable: Vec<Export>,
    pub clock: Clock,
    pub engine: Accelerator,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    pub terminal_size: Option<(u16, u16)>,
    /// Module files to load, in order.
    pub modules: Vec<PathBuf>,
    /// The words before those of every command that comes in.
    pub exec_prefix: Vec<OsString>,
    /// The guest stays after the command's end.
    pub stays: bool,
}

/// A host directory exported over 9p.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Export {
    pub tag: String,
    pub path: PathBuf,
}

/// A control line from the guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToHost {
    /// The inner command is about to start.
    Ready {
        kernel: String,
        clocksource: String,
        uptime_ns: Nanos,
    },
    /// The guest's kernel and init are alive.
    Alive,
    /// The inner command ended and what it wrote is on the host.
    Exit {
        code: u8,
        uptime_ns: Nanos,
        cpu: CpuUse,
    },
    /// The guest could not start the inner command.
    Failed { reason: String },
    /// Of a command that came in.
    Command { id: u32, answer: Answer },
}

/// A control line to the guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToGuest {
    /// Send this signal to the inner command's process group.
    Signal { number: i32 },
    /// For a command that comes in.
    Command { id: u32, order: Order },
}
