//! Flows generated through libibverbs: thousands of flows from one process.
//!
//! Each flow is one RDMA write with immediate data on a new reliable connection. A flow larger than 8 MiB is a chain
//! of writes, of which only the last has immediate data. Its FCT is the time from the posting of the first write to
//! the completion of the last one. It is read from the monotonic clock by a thread that sleeps until a timer or a
//! completion wakes it. A second thread creates both queue pairs of a flow ahead of the flow's start and destroys
//! them after its end, in the order of the flows. The queue pairs exchange addresses in memory, so only the flows'
//! own packets cross the emulated network.
//!
//! [`Session`] has the interface of [`perftest::Session`](crate::perftest::Session): the same jobs, events and outcomes.
//!
//! - [`session`]: all flows of a run
//! - internal: `runner` starts flows and processes their completions; `factory` creates and destroys queue pairs;
//!   `pair`, `device`, `object`: owned objects of libibverbs; `sys`: interface to libibverbs; `error`: errors

#[expect(unsafe_code, reason = "libibverbs is a C library")]
mod device;
mod error;
mod factory;
#[expect(unsafe_code, reason = "libibverbs is a C library")]
mod object;
#[expect(unsafe_code, reason = "libibverbs is a C library")]
mod pair;
mod runner;
pub mod session;
#[expect(unsafe_code, reason = "libibverbs is a C library")]
mod sys;

pub use error::VerbsError;
pub use session::{Aborter, Session};
