//! Programs: perftest with its driver, and tools for inspecting a lab.

use std::path::Path;

use lab_perftest::{Installed, Tool};

use super::finding::Finding;
use crate::exec::netns;

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = match versions() {
        Ok(versions) => Tool::ALL.into_iter().zip(versions).map(perftest).collect(),
        Err(error) => vec![Finding::fail("perftest", error.to_string(), FLOWS)],
    };
    findings.push(driver());
    findings.push(helpers(|program| which::which(program).is_ok()));
    findings
}

type Probed = Result<Installed, lab_perftest::ProbeError>;

fn versions() -> std::io::Result<Vec<Probed>> {
    // On a new thread: the caller may be on a runtime's, which must not block.
    netns::on_thread(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(async {
            let mut versions = Vec::new();
            for tool in Tool::ALL {
                versions.push(lab_perftest::probe(tool).await);
            }
            versions
        }))
    })
}

fn perftest((tool, probed): (Tool, Probed)) -> Finding {
    let subject = tool.name();
    match probed {
        Ok(installed) if installed.is_known() => {
            Finding::ok(subject, format!("version {}", installed.version), FLOWS)
        }
        Ok(installed) => Finding::warn(
            subject,
            format!(
                "version {}, whose start is not known as exactly as that of {}",
                installed.version,
                lab_perftest::probe::KNOWN_VERSION
            ),
            FLOWS,
        ),
        Err(lab_perftest::ProbeError::Missing { .. }) => {
            Finding::fail(subject, "it is not installed", FLOWS)
                .with_fix("apt-get install perftest")
        }
        Err(error) => Finding::fail(subject, error.to_string(), FLOWS)
            .with_fix("apt-get install --reinstall perftest"),
    }
}

/// Checks for the file by which libibverbs finds its driver.
fn driver() -> Finding {
    let (subject, why) = ("libibverbs", "perftest drives SoftRoCE by it");
    if Path::new("/etc/libibverbs.d/rxe.driver").exists() {
        return Finding::ok(subject, "it has a driver for SoftRoCE", why);
    }
    Finding::warn(
        subject,
        "no driver for SoftRoCE in `/etc/libibverbs.d`",
        why,
    )
    .with_fix("apt-get install ibverbs-providers")
}

fn helpers(is_there: impl Fn(&str) -> bool) -> Finding {
    let (subject, why) = (
        "helpers",
        "a person inspects a lab and repairs it with them",
    );
    let missing = HELPERS.iter().filter(|(program, _)| !is_there(program));
    let (programs, mut packages): (Vec<_>, Vec<_>) = missing.copied().unzip();
    if programs.is_empty() {
        return Finding::ok(subject, HELPERS.map(|helper| helper.0).join(", "), why);
    }
    packages.dedup();
    Finding::warn(
        subject,
        format!("not installed: {}", programs.join(", ")),
        why,
    )
    .with_fix(format!("apt-get install {}", packages.join(" ")))
}

const FLOWS: &str = "flows are made with it";

/// Optional programs and their packages; programs of one package are adjacent.
const HELPERS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("rdma", "iproute2"),
    ("modprobe", "kmod"),
    ("ping", "iputils-ping"),
    ("tcpdump", "tcpdump"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn missing_helpers_come_with_their_packages_once_each() {
        let finding = helpers(|program| program == "ping" || program == "modprobe");
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(finding.what, "not installed: ip, tc, rdma, tcpdump");
        assert_eq!(
            finding.fix.as_deref(),
            Some("apt-get install iproute2 tcpdump")
        );
        assert_eq!(helpers(|_| true).level, Level::Ok);
    }

    #[test]
    fn perftest_is_checked_by_its_version() {
        let of = |version: &str| {
            let version = version.to_owned();
            let tool = Tool::SendBw;
            perftest((tool, Ok(Installed { tool, version })))
        };
        assert_eq!(of(lab_perftest::probe::KNOWN_VERSION).level, Level::Ok);
        assert_eq!(of("24.07").level, Level::Warn);
        let tool = Tool::ReadBw;
        let missing = perftest((tool, Err(lab_perftest::ProbeError::Missing { tool })));
        assert_eq!(
            missing.to_string(),
            "fail  ib_read_bw: it is not installed; flows are made with it \
             (hint: apt-get install perftest)"
        );
    }
}
