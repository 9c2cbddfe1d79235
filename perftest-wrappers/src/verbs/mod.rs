//! Flows by libibverbs: thousands of them from one process.
//!
//! Each flow is one RDMA write with immediate data on a fresh reliable connection; a flow larger than
//! 8 MiB is a chain of writes, of which the last has the immediate data. Its FCT is the time from the
//! post of the first write to the completion of the last, read from the monotonic clock by a thread that
//! sleeps until a timer or a completion wakes it. Both queue pairs of a flow are made ahead of its
//! start and destroyed after its end, by a second thread, in the order of the flows. They learn of each
//! other in memory: nothing but the flow crosses the emulated network.
//!
//! [`Session`] has the interface of [`perftest::Session`](crate::perftest::Session): the same jobs, events and outcomes.
//!
//! - [`session`]: all flows of a run
//! - inside: `runner` starts flows and takes their completions; `factory` makes and destroys queue pairs;
//!   `pair`, `device`, `object`: owned objects of libibverbs; `sys`: libibverbs; `error`

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
