//! Kernel engine: lowers a Plan to steps, makes them true on Linux, runs flows, undoes everything.

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
