//! What this machine lacks to run a lab, and the commands that mend it.
//!
//! Nothing is inferred from versions or names of modules: what a lab is made of is made once, in
//! network namespaces that have no name and go with the process that holds them.
//!
//! - `finding`: what was found
//! - `examine`: the questions, in order
//! - `kernel`, `trial`, `bpf`, `modules`: whether this kernel has what a lab is made of
//! - `port`: whether its SoftRoCE can have its UDP port
//! - `placement`, `pair`: whether its SoftRoCE sends from inside a namespace
//! - `rights`, `programs`, `files`, `labs`: what a lab takes wherever it runs
//! - `limits`, `network`, `firewall`: what else it takes of the machine it runs on
//! - `scratch`: namespaces and RDMA devices to try things with

mod bpf;
mod examine;
mod files;
mod finding;
mod firewall;
mod kernel;
mod labs;
mod limits;
mod modules;
mod network;
mod pair;
mod placement;
mod port;
mod programs;
mod rights;
mod scratch;
#[cfg(test)]
mod tests;
mod trial;

pub use self::{
    examine::{everywhere, here, missing_here},
    files::results_directory,
    finding::{Finding, Level},
    placement::{ProbeError, probe_host_placement},
    trial::kernel_modules,
};
