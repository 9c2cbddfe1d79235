//! Checks of a lab's requirements on this machine, and commands that fix unmet requirements.
//!
//! No requirement is inferred from versions or module names: the steps of a two-host lab are applied once, on a thread
//! with its own namespaces, and two hosts of a lab in the machine's namespace exchange datagrams.
//!
//! - `finding`: result of one of the checks
//! - `feature`: kernel features that a lab needs
//! - `trial`: trial of each feature, with `bpf` and `sandbox`
//! - `placement`: choice of the namespace for hosts' NICs, by a trial flow
//! - `rights`, `programs`, `files`, `labs`: requirements of every lab
//! - `modules`: kernel modules that labs or trials load
//! - `datagrams`: trial of datagrams between hosts in the root namespace
//! - `limits`, `network`: limits and network state of this machine
//! - `softroce`: upstream changes of SoftRoCE that affect a lab, by the kernel's release

mod bpf;
mod datagrams;
mod feature;
mod files;
mod finding;
mod labs;
mod limits;
pub(crate) mod modules;
mod network;
mod placement;
mod programs;
mod rights;
mod sandbox;
mod softroce;
#[cfg(test)]
mod tests;
mod trial;

use std::path::Path;

use self::modules::LoadedModules;
use crate::lower::HostPlacement;

#[cfg(test)]
pub(crate) use self::datagrams::findings as datagrams;
pub(crate) use self::trial::modules_directory;
pub use self::{
    feature::kernel_modules,
    files::results_directory,
    finding::{Finding, Level},
    limits::{available_memory, peak_memory},
    placement::{ProbeError, probe_host_placement},
    softroce::softroce,
};

/// Checks the requirements of every lab, in the order in which they must be fixed. Run directories are created in
/// `results`, which may not exist yet.
#[must_use]
pub fn everywhere(results: &Path) -> Vec<Finding> {
    let mut findings = vec![rights::finding()];
    findings.extend(programs::findings());
    findings.extend(files::findings(results));
    findings.extend(labs::findings());
    findings
}

/// Checks the requirements of a lab on this kernel. If this kernel does not meet them, a guest's kernel may.
///
/// Takes some seconds on a kernel with SoftRoCE: the check tries a flow and, if labs have their hosts in the root
/// namespace, datagrams. All created objects are removed; loaded modules stay, and a finding names them.
#[must_use]
pub fn here() -> Vec<Finding> {
    let before = LoadedModules::now();
    let mut findings = trial::findings();
    if findings.iter().all(|finding| finding.level == Level::Ok) {
        let (finding, hosts) = placement::finding();
        findings.push(finding);
        findings.extend(softroce(&trial::release()));
        if hosts == Some(HostPlacement::RootNamespace) {
            findings.extend(datagrams::findings());
        }
    }
    findings.extend(limits::findings());
    findings.extend(network::findings());
    findings.extend(modules::finding(&before));
    findings
}

/// Returns findings about the features that a lab needs and this kernel lacks; empty if labs can run here.
///
/// Takes some tens of milliseconds. All created objects are removed; loaded modules stay, and a logged warning names
/// them.
#[must_use]
pub fn missing_here() -> Vec<Finding> {
    let mut findings = modules::telling(trial::findings);
    findings.retain(|finding| finding.level == Level::Fail);
    findings
}
