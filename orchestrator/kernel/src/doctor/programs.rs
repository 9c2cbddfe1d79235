//! Programs: perftest and its driver, and what helps to look at a lab.

use std::{
    env,
    path::{Path, PathBuf},
};

use lab_perftest::{Installed, Tool};
use nix::unistd::{AccessFlags, access};

use super::{finding::Finding, scratch};

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = match versions() {
        Ok(versions) => Tool::ALL.into_iter().zip(versions).map(perftest).collect(),
        Err(error) => vec![Finding::fail("perftest", error.to_string(), FLOWS)],
    };
    findings.push(driver());
    findings.push(helpers());
    findings
}

type Probed = Result<Installed, lab_perftest::ProbeError>;

fn versions() -> std::io::Result<Vec<Probed>> {
    // On a thread of its own: the caller may be on one of a runtime's, which may not block.
    scratch::on_thread(|| {
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
    let subject = tool.program();
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
                .mended_by("apt-get install perftest")
        }
        Err(error) => Finding::fail(subject, error.to_string(), FLOWS)
            .mended_by("apt-get install --reinstall perftest"),
    }
}

/// libibverbs knows its drivers by files of one line.
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
    .mended_by("apt-get install ibverbs-providers")
}

fn helpers() -> Finding {
    let (subject, why) = ("helpers", "a person looks at a lab and mends it with them");
    let is_missing = |(program, _): &&(&str, &str)| find(program).is_none();
    let missing: Vec<_> = HELPERS.iter().filter(is_missing).collect();
    let list = |pick: fn(&(&'static str, &'static str)) -> &'static str, separator: &str| {
        let mut words: Vec<_> = missing.iter().map(|helper| pick(helper)).collect();
        words.dedup();
        words.join(separator)
    };
    if missing.is_empty() {
        let all = HELPERS.map(|(program, _)| program).join(", ");
        return Finding::ok(subject, all, why);
    }
    let what = format!("not installed: {}", list(|helper| helper.0, ", "));
    let packages = list(|helper| helper.1, " ");
    Finding::warn(subject, what, why).mended_by(format!("apt-get install {packages}"))
}

/// A program of `PATH`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&directories).map(|directory| directory.join(program));
    candidates.find(|path| path.is_file() && access(path, AccessFlags::X_OK).is_ok())
}

const FLOWS: &str = "flows are made with it";

/// Programs that nothing of a lab needs, by package.
const HELPERS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("rdma", "iproute2"),
    ("modprobe", "kmod"),
    ("ping", "iputils-ping"),
    ("tcpdump", "tcpdump"),
];
