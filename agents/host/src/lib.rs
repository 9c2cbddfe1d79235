//! Host programs: congestion control for SoftRoCE, which has no congestion control of its own.
//!
//! `agents/ebpf/host.bpf.c` paces the data packets of all QPs in a lab according to DCQCN, with the same arithmetic as
//! `lab-dcqcn`. This crate loads the programs and pins them and their maps on a bpffs mount, where the kernel engine
//! finds them, attaches the programs and reads the maps. Must not contain: the plan, the scenario, records, netlink.
//!
//! - [`programs`][]: loading and pinning
//! - [`maps`][]: access to a lab's pinned maps: QPs and counters
//! - [`selftest`][mod@selftest]: comparison of the programs' DCQCN arithmetic with the reference
//! - [`error`][]: errors
//!
//! ```no_run
//! let report = lab_host::selftest(1_000, 1)?; // as root
//! assert_eq!(report.mismatches, 0);
//! # Ok::<(), lab_host::HostError>(())
//! ```

pub mod error;
pub mod maps;
pub mod programs;
pub mod selftest;

pub use error::HostError;
pub use maps::HostMaps;
pub use programs::{HostProgram, Nic, Setup, install, pinned};
pub use selftest::{SelftestReport, selftest};
