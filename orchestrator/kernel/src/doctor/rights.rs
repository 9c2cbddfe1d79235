//! Capabilities of this process.

use procfs::process::Process;

use super::finding::Finding;

pub(super) fn finding() -> Finding {
    let root = nix::unistd::geteuid().is_root();
    let status = Process::myself().and_then(|process| process.status());
    judge(root, status.map_or(0, |status| status.capeff))
}

fn judge(root: bool, capabilities: u64) -> Finding {
    let lacks = |&(_, bits): &(&str, u64)| capabilities & bits == 0;
    let lacking: Vec<&str> = NEEDED
        .iter()
        .filter(|need| lacks(need))
        .map(|need| need.0)
        .collect();
    match (root, lacking.as_slice()) {
        (true, []) => Finding::ok("rights", "root, with the capabilities it takes", WHY),
        (false, []) => Finding::ok("rights", "the capabilities it takes", WHY),
        (true, lacking) => {
            let what = format!("root without {}, as in a container", lacking.join(", "));
            Finding::fail("rights", what, WHY).with_fix(format!(
                "docker run {} …",
                lacking
                    .iter()
                    .map(|name| format!("--cap-add={name}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            ))
        }
        (false, lacking) => {
            let what = format!("not root, and without {}", lacking.join(", "));
            Finding::fail("rights", what, WHY).with_fix("sudo lcmp-lab doctor")
        }
    }
}

const WHY: &str = "a lab makes namespaces, interfaces and mounts, and loads eBPF programs";

const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_BPF: u64 = 1 << 39;

/// Needed capabilities by name, each with the bits any of which suffices.
const NEEDED: [(&str, u64); 3] = [
    ("CAP_NET_ADMIN", CAP_NET_ADMIN),
    ("CAP_SYS_ADMIN", CAP_SYS_ADMIN),
    ("CAP_BPF", CAP_BPF | CAP_SYS_ADMIN),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn missing_capabilities_are_named() {
        assert_eq!(judge(true, u64::MAX).level, Level::Ok);
        let container = judge(true, CAP_NET_ADMIN);
        assert_eq!(container.level, Level::Fail);
        assert!(
            container.what.contains("CAP_SYS_ADMIN, CAP_BPF"),
            "{container}"
        );
        let user = judge(false, 0);
        assert_eq!(user.fix.as_deref(), Some("sudo lcmp-lab doctor"));
    }

    #[test]
    fn cap_sys_admin_suffices_for_bpf_on_older_kernels() {
        assert_eq!(judge(true, CAP_NET_ADMIN | CAP_SYS_ADMIN).level, Level::Ok);
    }
}
