//! Flows by perftest: drives its clients and servers, one RDMA flow each, and parses their output.
//!
//! Each flow is one `ib_send_bw`, `ib_write_bw` or `ib_read_bw` pair. Both processes are started,
//! connected and given their queue pairs long before the flow, over 127.0.0.1 and through a *gate*
//! of this module, which forwards their handshake and holds back its last message. Sending that message
//! is the flow's start trigger: a thread with an absolute timer sends it some 20 µs after the scheduled
//! instant and reports the lateness. No handshake crosses the emulated network and none is in the FCT,
//! which is perftest's own: first post to last completion.
//!
//! A perftest process calibrates its clock for 0.22 s of CPU before it reports. Receivers are stopped
//! before that and killed; a sender calibrates when no other process wants the CPU.
//!
//! A [`Session`] is all flows of one run. It has an outcome for every flow, and leaves no process
//! behind, however it ends.
//!
//! Duties of the caller:
//! - the loopback interface is up in every namespace given;
//! - [`Session::run`] gets a whole second ([`round_up_to`](crate::contract::MonotonicTime::round_up_to)) where runs
//!   are to be compared: the kernel's periodic work then meets the flows in the same places;
//! - with one or two CPUs, `ksoftirqd` runs at real-time priority (`chrt -f -p 50`). Linux 6.1
//!   leaves packets to a woken `ksoftirqd`, which at ordinary priority waits for a process's time
//!   slice: flows of one schedule then differed by up to 6 ms between runs, and by 4 µs with it;
//! - in a guest in virtual time, [`Options::ready_within`] is `None`;
//! - flows over a path that loses everything end at their deadline only: rxe takes the retry count
//!   of perftest's queue pairs, 7, for "for ever".
//!
//! - [`command`]: jobs as command lines
//! - [`session`]: all flows of a run
//! - [`report`], `fct`: perftest's reports, and the FCT in them; `failure`: error lines of a process that failed
//! - [`mod@probe`]: installed versions; [`error`]
//! - inside: `pair` makes a flow ready by a `handshake`, `trigger` starts it, `flow` follows it to its
//!   end; `process` has the children and their namespaces, `cpu` keeps them off the CPU
//!
//! ```no_run
//! use lab_generators::{
//!     contract::{Endpoint, FlowJob, MonotonicTime, Tool},
//!     perftest::{Options, Session, SessionError},
//! };
//! use lab_units::{Bytes, FlowId, Nanos};
//!
//! # async fn example() -> Result<(), SessionError> {
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
//!     flow_label: 0,
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

pub mod command;
mod cpu;
pub mod error;
mod failure;
mod fct;
mod flow;
mod handshake;
mod options;
mod pair;
pub mod probe;
mod process;
pub mod report;
pub mod session;
mod trigger;
mod version;

pub use command::{CommandLine, client_command, server_command};
pub use error::{ProbeError, SessionError};
pub use options::Options;
pub use probe::{Installed, probe};
pub use session::{Aborter, Session};
pub use version::KNOWN_VERSION;
