//! The questions, in the order in which a person would mend what is wrong.
//!
//! What a lab takes wherever it runs is apart from what it takes of the kernel it runs on: where this
//! one does not do, another may, in a guest.

use std::path::Path;

use super::{
    files,
    finding::{Finding, Level},
    firewall, kernel, labs, limits, network, placement, programs, rights,
};

/// What a lab takes of this machine wherever it runs. Run directories are made in `results`, which
/// need not be there yet.
#[must_use]
pub fn everywhere(results: &Path) -> Vec<Finding> {
    let mut findings = vec![rights::finding()];
    findings.extend(programs::findings());
    findings.extend(files::findings(results));
    findings.extend(labs::findings());
    findings
}

/// What a lab takes of the kernel it runs on, found on this one.
///
/// Takes some seconds where this kernel has SoftRoCE, because a transfer is tried. What is made for
/// that is gone afterwards; modules that were loaded stay.
#[must_use]
pub fn here() -> Vec<Finding> {
    let mut findings = kernel::findings();
    if findings.iter().all(|finding| finding.level == Level::Ok) {
        findings.push(placement::finding());
    }
    findings.extend(limits::findings());
    findings.extend(network::findings());
    findings.extend(firewall::finding());
    findings
}

/// What makes a lab impossible on this kernel; nothing where a lab can run.
///
/// Takes some tens of milliseconds, and leaves nothing behind but modules that were loaded.
#[must_use]
pub fn missing_here() -> Vec<Finding> {
    let mut findings = kernel::findings();
    findings.retain(|finding| finding.level == Level::Fail);
    findings
}
