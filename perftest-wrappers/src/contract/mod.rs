//! Jobs, events, outcomes and instants, shared by both generators.
//!
//! - [`job`]: one flow with its two ends and its schedule
//! - [`outcome`]: outcome of a flow, and the events before it; [`fct`]: flow completion time; [`error`]: causes of a
//!   failure
//! - [`limits`], [`qp`]: limits of a job and of its queue pairs; [`clock`]: instants

pub mod clock;
pub mod error;
pub mod fct;
pub mod job;
pub mod limits;
pub mod outcome;
pub mod qp;

pub use lab_units::{Side, Tool};

pub use clock::MonotonicTime;
pub use error::{HandshakeError, JobError, ReportError};
pub use fct::{Bandwidth, CompletionMarker, Fct, FctSource, MarkerKind};
pub use job::{Endpoint, FlowJob};
pub(crate) use outcome::emit;
pub use outcome::{Event, Exit, FlowOutcome, FlowStart, QpAddress, QpNumber, Status};
pub use qp::wire_bytes;
