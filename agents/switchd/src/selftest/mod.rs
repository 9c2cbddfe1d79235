//! The switch program against its reference, on packets that need no interface.
//!
//! Random tables and packets go through `BPF_PROG_TEST_RUN`; what the program did to the packet, the
//! flow table and the ring buffer is compared with what `lab-policy` says it must have done.
//!
//! - [`random`][]: seeded choices
//! - [`rows`][]: random rows of the tables
//! - [`switch`][]: random tables, and the reference's answer for a flow
//! - [`packet`][]: frames, and what forwarding may change of them
//! - [`run`][]: the comparison
//! - [`report`][]: what it did and found

mod packet;
mod random;
mod report;
mod rows;
mod run;
mod switch;

pub(crate) use {
    packet::{Frame, roce_frame},
    random::Random,
};
pub use {report::SelftestReport, run::selftest};
