//! Checks of programs: perftest, libibverbs's driver for SoftRoCE, and tools for inspecting a lab.

use std::path::Path;

use lab_generators::{contract::Tool, perftest::Installed};

use super::finding::{Finding, Requirement};
use crate::exec::netns;

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = match versions() {
        Ok(versions) => Tool::PERFTEST
            .into_iter()
            .zip(versions)
            .map(perftest)
            .collect(),
        Err(error) => vec![Finding::fail("perftest", error.to_string(), FLOWS)],
    };
    findings.push(driver());
    findings.push(helpers(|program| which::which(program).is_ok()));
    findings
}

pub(super) type Probed = Result<Installed, lab_generators::perftest::ProbeError>;

fn versions() -> std::io::Result<Vec<Probed>> {
    // This runs on a new thread, because the caller may be on a thread of an asynchronous runtime, which must not
    // block.
    netns::on_thread(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(async {
            let mut versions = Vec::new();
            for tool in Tool::PERFTEST {
                versions.push(lab_generators::perftest::probe(tool).await);
            }
            versions
        }))
    })
}

pub(super) fn perftest((tool, probed): (Tool, Probed)) -> Finding {
    let about = Requirement(tool.name(), FLOWS);
    match probed {
        Ok(installed) => {
            let version = &installed.version;
            let known = lab_generators::perftest::KNOWN_VERSION;
            if installed.is_known() {
                about.ok(format!("version {version}"))
            } else {
                about.warn(format!(
                    "version {version}, with less exact start times of flows than version {known}"
                ))
            }
        }
        Err(lab_generators::perftest::ProbeError::Missing { .. }) => {
            let finding = about.fail("not installed");
            finding.with_fix("apt-get install perftest")
        }
        Err(error) => {
            let finding = about.fail(error.to_string());
            finding.with_fix("apt-get install --reinstall perftest")
        }
    }
}

/// Checks for the file that tells libibverbs the name of the SoftRoCE driver.
fn driver() -> Finding {
    let about = Requirement(
        "libibverbs",
        "flows fail without the SoftRoCE driver of libibverbs",
    );
    if Path::new("/etc/libibverbs.d/rxe.driver").exists() {
        return about.ok("the SoftRoCE driver is installed");
    }
    let finding = about.fail("no driver for SoftRoCE in `/etc/libibverbs.d`");
    finding.with_fix("apt-get install ibverbs-providers")
}

pub(super) fn helpers(is_there: impl Fn(&str) -> bool) -> Finding {
    let about = Requirement(
        "helpers",
        "users inspect and repair labs with these programs",
    );
    let missing = HELPERS.iter().filter(|(program, _)| !is_there(program));
    let (programs, mut packages): (Vec<_>, Vec<_>) = missing.copied().unzip();
    if programs.is_empty() {
        return about.ok(HELPERS.map(|helper| helper.0).join(", "));
    }
    packages.dedup();
    let finding = about.warn(format!("not installed: {}", programs.join(", ")));
    finding.with_fix(format!("apt-get install {}", packages.join(" ")))
}

const FLOWS: &str = "it generates the flows";

/// Optional programs and the packages that contain them; programs of one package are adjacent.
const HELPERS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("rdma", "iproute2"),
    ("modprobe", "kmod"),
    ("ping", "iputils-ping"),
    ("tcpdump", "tcpdump"),
];
