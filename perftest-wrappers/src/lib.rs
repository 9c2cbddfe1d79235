//! Drives perftest clients and servers, one RDMA flow each, and parses what they print.
pub mod clock;
pub mod command;
pub mod error;
pub mod job;
pub mod outcome;
pub mod probe;
pub mod qp;
pub mod report;
pub mod tool;

pub use clock::MonotonicTime;
pub use command::{CommandLine, client_command, server_command};
pub use error::{HandshakeError, JobError, ProbeError, SessionError};
pub use job::{Endpoint, FlowJob};
pub use outcome::{Event, Exit, FctSource, FlowOutcome, QpNumber, Release, Status};
pub use qp::{required_qp_timeout, wire_bytes};
pub use report::{Bandwidth, ReportError};
pub use tool::{Side, Tool};
