//! Kernel engine: lowers a plan to steps, applies them on Linux, runs flows, undoes everything.
//!
//! [`lab::Reservation`] reserves a name and a slot on this machine, the plan is relabelled for that slot, [`Lab::up`]
//! applies the plan's steps and reads the result back, [`run::Runner`] runs flows, and [`Lab::down`] undoes the steps.
//! If the owner is killed, [`lab::down()`] undoes the steps with nothing but the journal under `/run/lcmp-lab`.
//!
//! Must not contain: decisions that belong in the plan, parsing of scenarios, plotting, terminal output.
//!
//! - [`lower`]: conversion of a plan to steps, without I/O
//! - [`step`]: steps as data, their inverses, and their text as `ip`, `tc`, `rdma`, `sysctl` commands
//! - [`exec`]: application of steps, comparison of the kernel's state with them, undo
//! - [`journal`]: changes of the machine, recorded before they happen
//! - [`lab`]: reservation, bring-up, use, removal and listing of labs
//! - [`run`]: agents, flows and records of one run
//! - `certify`: measurement of every link, and bounds on the results
//! - `clocks`: readings of all clocks at one moment
//! - `connections`: connections that packet filters track, and their limit
//! - `filter`: packet filters, and the packets that they drop
//! - [`doctor`]: requirements of a lab on this machine
//! - [`name`]: names of labs and namespaces
//! - `netlink`: netlink messages, batches and the kernel's answers
//! - `process`: process IDs with start times
//! - `qdisc`: queueing disciplines, as `tc` arguments and in the kernel's units
//!
//! Functions block, except those of [`run`].
//!
//! ```no_run
//! use lab_kernel::{Lab, lab::Reservation, lower::{Clock, HostPlacement, LowerOptions}};
//! use tokio_util::sync::CancellationToken;
//!
//! # fn resolve() -> lab_plan::Plan { unreachable!() }
//! let reservation = Reservation::acquire(&"8dc".parse()?, "scenarios/8dc.yaml")?;
//! let plan = resolve().in_slot(reservation.slot());
//! let options = LowerOptions {
//!     lab: reservation.lab().clone(),
//!     hosts: HostPlacement::RootNamespace,
//!     clock: Clock::Virtual,
//!     delay_lines: true,
//!     cpus: 1,
//! };
//! let cancel = CancellationToken::new();
//! let lab = Lab::up(reservation, &plan, &options, &cancel, &mut |at| eprintln!("{at:?}"))?;
//! assert!(lab.down().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certify;
mod clocks;
mod connections;
pub mod doctor;
pub mod exec;
mod filter;
pub mod journal;
pub mod lab;
pub mod lower;
pub mod name;
mod netlink;
mod process;
mod qdisc;
pub mod run;
pub mod step;
#[cfg(test)]
mod testing;

pub use self::{
    lab::Lab,
    name::LabName,
    netlink::{KernelError, NetlinkError},
    process::ProcessId,
    step::Step,
};
