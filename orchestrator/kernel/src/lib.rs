//! Kernel engine: lowers a Plan to steps, makes them true on Linux, runs flows, undoes everything.
//!
//! A lab's life: [`lab::Claim`] takes a name and a slot on this machine, the plan is resolved with
//! that slot, [`Lab::up`] makes it and reads all of it back, [`run::Runner`] runs flows in it, and
//! [`Lab::down`] undoes it. Whatever happens in between, kill -9 and power cut included, the journal
//! under `/run/lcmp-lab` says what there is, and [`lab::down()`] needs nothing else.
//!
//! Must not contain: decisions that a plan could make, parsing of scenarios, plotting, terminals.
//!
//! - [`lower`]: a plan becomes steps; pure
//! - [`step`]: steps as data, their undo, and their spelling with `ip`, `tc`, `rdma`, `sysctl`
//! - [`exec`]: steps are made true, read back, undone
//! - [`journal`]: what was done to the machine, written down before it is done
//! - [`lab`]: claiming, bringing up, using, taking down, listing labs
//! - [`run`]: agents, flows and records of one run
//! - [`doctor`]: what this machine lacks
//! - [`name`]: names of labs and namespaces
//! - `netlink`: messages, batches, and what the kernel answers
//! - `process`: processes, told apart from later ones of the same number
//!
//! Functions block, those of [`run`] apart.
//!
//! ```no_run
//! use lab_kernel::{Lab, lab::Claim, lower::{Clock, HostPlacement, LowerOptions}};
//! use tokio_util::sync::CancellationToken;
//!
//! # fn resolve(slot: u8) -> lab_plan::Plan { unreachable!() }
//! let claim = Claim::take(&"8dc".parse()?, "scenarios/8dc.yaml")?;
//! let plan = resolve(claim.slot());
//! let options = LowerOptions {
//!     lab: claim.lab().clone(),
//!     hosts: HostPlacement::RootNamespace,
//!     clock: Clock::Virtual,
//!     delay_lines: true,
//!     cpus: 1,
//! };
//! let cancel = CancellationToken::new();
//! let lab = Lab::up(claim, &plan, &options, &cancel, &mut |at| eprintln!("{at:?}"))?;
//! assert!(lab.down().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod doctor;
pub mod exec;
pub mod journal;
pub mod lab;
pub mod lower;
pub mod name;
mod netlink;
mod process;
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
