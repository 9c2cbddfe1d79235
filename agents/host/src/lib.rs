//! Host programs: congestion control for SoftRoCE, which has none.
//!
//! `agents/ebpf/host.bpf.c` paces the data packets of every QP of a lab by DCQCN, whose law is
//! `lab-dcqcn`'s. This crate loads the programs and pins them and their maps in a BPF file system, where the
//! kernel engine finds what it attaches and reads. Must not contain: the plan, the scenario, records,
//! netlink.
//!
//! - [`programs`][]: loading and pinning
//! - [`maps`][]: pinned maps of a lab: QPs and counters
//! - [`selftest`][mod@selftest]: comparison of the programs' law with its reference
//! - [`error`][]: failures
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
