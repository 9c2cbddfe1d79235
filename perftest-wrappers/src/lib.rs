//! Drives perftest clients and servers, one RDMA flow each, and parses what they print.
//!
//! Each flow is one `ib_send_bw`, `ib_write_bw` or `ib_read_bw` pair. Both processes are started,
//! connected and given their queue pairs long before the flow, over 127.0.0.1 and through a *gate*
//! of ours, which passes their handshake on and holds back its last message. Sending that message
//! is the flow's start: a thread with an absolute timer does it, some 20 µs after the scheduled
//! instant, and says how late it was. No handshake rides the emulated network and none is in the
//! FCT, which is perftest's own: first post to last completion.
//!
//! A perftest process calibrates its clock for 0.22 s of CPU before it reports. Receivers never
//! come to that (they are suspended when they are ready, and killed), and a sender does it when
//! nobody else wants the CPU.
//!
//! A [`Session`] is all flows of one run. It has a row for every flow, whatever happened to it, and
//! leaves no process behind, however it ends.
//!
//! Must not contain: anything that makes devices, namespaces or qdiscs (the caller has them ready),
//! and no knowledge of plans or records.
//!
//! What the caller sees to:
//! - the loopback interface is up in every namespace given;
//! - [`Session::run`] gets a whole second ([`MonotonicTime::round_up_to`]) where runs are to be
//!   compared: the kernel's periodic work then meets the flows in the same places;
//! - with one or two CPUs, `ksoftirqd` runs at real-time priority (`chrt -f -p 50`). Linux 6.1
//!   leaves packets to it once it was woken, and at ordinary priority it waits for some process's
//!   time slice: flows of one schedule then differed by up to 6 ms between runs, and by 4 µs with it;
//! - in a guest in virtual time, [`Options::ready_within`] is `None`;
//! - flows over a path that loses everything end at their deadline only: rxe takes the retry count
//!   of perftest's queue pairs, 7, for "for ever".
//!
//! - [`Tool`], [`job`], [`command`]: what is to be run, and its command lines
//! - [`session`], [`outcome`]: running it, and what became of it
//! - [`report`], [`fct`]: what perftest says, and the FCT in it
//! - [`qp`]: what a queue pair can do; [`mod@probe`]: what is installed; [`clock`], [`error`]
//! - inside: `start` and `pair` make a flow ready, `handshake` knows the bytes, `release` lets it
//!   go, `flow` sees it to its end; `launch` and `process` hold the children; `brake`, `stops` and
//!   `priority` keep them off the CPU; `netns` enters namespaces
//!
//! ```no_run
//! use lab_perftest::{Endpoint, FlowJob, MonotonicTime, Options, Session, Tool};
//! use lab_units::{Bytes, FlowId, Nanos};
//!
//! # async fn example() -> Result<(), lab_perftest::SessionError> {
//! let host = |name: &str| Endpoint {
//!     host: name.to_owned(),
//!     rdma_device: format!("rxe-{name}"),
//!     gid_index: 1,
//!     netns: None,
//! };
//! let job = FlowJob {
//!     flow: FlowId(0),
//!     tool: Tool::SendBw,
//!     src: host("dc1-h1"),
//!     dst: host("dc8-h1"),
//!     message_bytes: Bytes::new(20_000),
//!     messages: 5,
//!     start: Nanos::from_millis(250),
//!     qp_timeout: 19,
//!     path_mtu: 4096,
//!     traffic_class: 106,
//!     deadline: Nanos::from_millis(30_000),
//! };
//! let (events, _watch) = tokio::sync::mpsc::unbounded_channel();
//! let session = Session::prepare(vec![job], &Options::default(), events).await?;
//! let t0 = MonotonicTime::now().round_up_to(Nanos::from_millis(1_000));
//! for row in session.run(t0).await? {
//!     tracing::info!(flow = %row.flow, "{}", row.status);
//! }
//! # Ok(())
//! # }
//! ```

mod brake;
pub mod clock;
pub mod command;
pub mod error;
pub mod fct;
mod flow;
mod handshake;
pub mod job;
mod launch;
mod netns;
pub mod outcome;
mod pair;
mod priority;
pub mod probe;
mod process;
pub mod qp;
mod release;
pub mod report;
pub mod session;
mod start;
mod stops;

pub use lab_units::{Side, Tool};

pub use clock::MonotonicTime;
pub use command::{CommandLine, client_command, server_command};
pub use error::{HandshakeError, JobError, ProbeError, SessionError};
pub use fct::{Fct, FctSource, Sign, SignKind};
pub use job::{Endpoint, FlowJob};
pub use outcome::{Event, Exit, FlowOutcome, QpAddress, QpNumber, Release, Status};
pub use probe::{Installed, probe};
pub use qp::wire_bytes;
pub use report::{Bandwidth, ReportError};
pub use session::{Aborter, Options, Session};
