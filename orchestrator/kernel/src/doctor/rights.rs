//! Check of the capabilities that this process has.

use procfs::process::Process;

use super::finding::{Finding, Requirement};

pub(super) fn finding() -> Finding {
    let root = nix::unistd::geteuid().is_root();
    let status = Process::myself().and_then(|process| process.status());
    judge(root, status.map_or(0, |status| status.capeff))
}

pub(super) fn judge(root: bool, capabilities: u64) -> Finding {
    let lacks = |need: &&(&str, u64)| capabilities & need.1 == 0;
    let lacking: Vec<&str> = NEEDED.iter().filter(lacks).map(|need| need.0).collect();
    match (root, lacking.as_slice()) {
        (true, []) => RIGHTS.ok("root, with all needed capabilities"),
        (false, []) => RIGHTS.ok("all needed capabilities"),
        (true, lacking) => {
            let what = format!("root without {}, as in a container", lacking.join(", "));
            let fix = format!("docker run --cap-add={} …", lacking.join(" --cap-add="));
            RIGHTS.fail(what).with_fix(fix)
        }
        (false, lacking) => {
            let finding = RIGHTS.fail(format!("not root, and lacks {}", lacking.join(", ")));
            finding.with_fix("sudo lcmp-lab doctor")
        }
    }
}

const RIGHTS: Requirement = Requirement(
    "rights",
    "a lab creates namespaces, interfaces and mounts, and loads eBPF programs",
);

pub(super) const CAP_NET_ADMIN: u64 = 1 << 12;
pub(super) const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_BPF: u64 = 1 << 39;

/// Needed capabilities: a name for messages, and a mask of capability bits, any of which suffices.
const NEEDED: [(&str, u64); 3] = [
    ("CAP_NET_ADMIN", CAP_NET_ADMIN),
    ("CAP_SYS_ADMIN", CAP_SYS_ADMIN),
    ("CAP_BPF", CAP_BPF | CAP_SYS_ADMIN),
];
