//! The questions, in the order in which a person would mend what is wrong.

use std::path::Path;

use super::{
    files,
    finding::{Finding, Level},
    firewall, kernel, limits, network, placement, programs, rights,
};

/// Examines this machine. Run directories are made in `results`, which need not be there yet.
///
/// Takes some seconds where this kernel has SoftRoCE, because a transfer is tried. What is made for
/// that is gone afterwards; modules that were loaded stay.
#[must_use]
pub fn doctor(results: &Path) -> Vec<Finding> {
    let mut findings = vec![rights::finding()];
    let kernel = kernel::findings();
    let complete = kernel.iter().all(|finding| finding.level == Level::Ok);
    findings.extend(kernel);
    findings.extend(programs::findings());
    if complete {
        findings.push(placement::finding());
    }
    findings.extend(limits::findings());
    findings.extend(files::findings(results));
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
