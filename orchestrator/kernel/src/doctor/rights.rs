//! Whether this process may do what a lab takes.

use std::fs;

use super::finding::Finding;

pub(super) fn finding() -> Finding {
    let root = nix::unistd::geteuid().is_root();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    judge(root, effective(&status).unwrap_or(0))
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
            Finding::fail("rights", what, WHY).mended_by(format!(
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
            Finding::fail("rights", what, WHY).mended_by("sudo lcmp-lab doctor")
        }
    }
}

/// The effective capabilities in `/proc/<pid>/status`.
fn effective(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

const WHY: &str = "a lab makes namespaces, interfaces and mounts, and loads eBPF programs";

const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_BPF: u64 = 1 << 39;

/// By name, and the capabilities any of which will do.
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
    fn capabilities_are_the_effective_ones() {
        let status = "CapInh:\t0000000000000000\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n";
        assert_eq!(effective(status), Some(0x1ff_ffff_ffff));
        assert_eq!(effective("CapBnd:\t0\n"), None);
    }

    #[test]
    fn what_is_lacking_is_named() {
        assert_eq!(judge(true, u64::MAX).level, Level::Ok);
        let container = judge(true, CAP_NET_ADMIN);
        assert_eq!(container.level, Level::Fail);
        assert!(
            container.what.contains("CAP_SYS_ADMIN, CAP_BPF"),
            "{container}"
        );
        let user = judge(false, 0);
        assert_eq!(user.mend.as_deref(), Some("sudo lcmp-lab doctor"));
    }

    #[test]
    fn older_kernels_have_no_capability_of_its_own_for_bpf() {
        assert_eq!(judge(true, CAP_NET_ADMIN | CAP_SYS_ADMIN).level, Level::Ok);
    }
}
