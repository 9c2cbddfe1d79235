//! Requirements of a lab on this machine, and the commands that fix what is missing.
//!
//! Nothing is inferred from versions or module names: the steps of a two-host lab are applied once,
//! on a thread with namespaces of its own.
//!
//! - `finding`: result of one check
//! - `feature`: kernel features of a lab, tried one by one with `bpf` and `sandbox`
//! - `placement`: namespace of hosts' NICs, tried with a flow
//! - `rights`, `programs`, `files`, `labs`: requirements of every lab
//! - `modules`: modules that were loaded
//! - `limits`, `network`, `firewall`: further requirements of labs on this kernel

mod bpf;
mod feature;
mod files;
mod finding;
mod firewall;
mod labs;
mod limits;
pub(crate) mod modules;
mod network;
mod placement;
mod programs;
mod rights;
mod sandbox;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::modules::LoadedModules;
pub(crate) use self::feature::modules_directory;
pub use self::{
    feature::kernel_modules,
    files::results_directory,
    finding::{Finding, Level},
    placement::{ProbeError, probe_host_placement},
};

/// Checks the requirements of every lab, in the order in which a person would fix them. Run
/// directories are created in `results`, which may not exist yet.
#[must_use]
pub fn everywhere(results: &Path) -> Vec<Finding> {
    let mut findings = vec![rights::finding()];
    findings.extend(programs::findings());
    findings.extend(files::findings(results));
    findings.extend(labs::findings());
    findings
}

/// Checks the requirements of a lab on this kernel. If this kernel fails, a guest's may do.
///
/// Takes some seconds on a kernel with SoftRoCE, where a flow is tried. Everything created is removed;
/// loaded modules stay, and a finding names them.
#[must_use]
pub fn here() -> Vec<Finding> {
    let before = LoadedModules::now();
    let mut findings = feature::findings();
    if findings.iter().all(|finding| finding.level == Level::Ok) {
        findings.push(placement::finding());
    }
    findings.extend(limits::findings());
    findings.extend(network::findings());
    findings.extend(firewall::finding());
    findings.extend(modules::finding(&before));
    findings
}

/// Lists the features that this kernel lacks for a lab; empty if labs run here.
///
/// Takes some tens of milliseconds. Everything created is removed; loaded modules stay, and a warning names them.
#[must_use]
pub fn missing_here() -> Vec<Finding> {
    let mut findings = modules::telling(feature::findings);
    findings.retain(|finding| finding.level == Level::Fail);
    findings
}
