//! Upstream changes of SoftRoCE that affect a lab, identified by the kernel's release.
//!
//! These findings are not requirements, because neither change prevents a lab from running. Both changes are hard to
//! test, because one concerns timing and the other a race. A distribution may have backported a change to an older
//! release.

use super::finding::{Finding, Requirement};

/// Returns findings about two upstream changes of SoftRoCE, given the kernel's `release` in the format of `uname -r`;
/// empty if the text contains no version.
#[must_use]
pub fn softroce(release: &str) -> Vec<Finding> {
    let Some(version) = Version::of(release) else {
        return Vec::new();
    };
    vec![tasks(version), packets(version)]
}

/// Reports whether SoftRoCE's tasks (send, complete, respond) run in tasklets or in workqueues.
///
/// <https://github.com/torvalds/linux/commit/9b4b7c1f9f54>, "RDMA/rxe: Add workqueue support for rxe tasks".
fn tasks(version: Version) -> Finding {
    let about = Requirement(
        "SoftRoCE tasks",
        "flow timing differs between tasklets and workqueues",
    );
    about.ok(if version < WORKQUEUES {
        "tasklets run the tasks in softirqs, as before Linux 6.5"
    } else {
        "workqueues run the tasks in threads, which may wait for a CPU, as since Linux 6.5 (9b4b7c1f9f54)"
    })
}

/// Reports what happens when a QP is destroyed while its packets are still in a queue.
///
/// - Before Linux 6.10 a packet holds a reference to its QP, and destroying the QP waits for the packet.
/// - <https://github.com/torvalds/linux/commit/1a633bdc8fd9>, "RDMA/rxe: Let destroy qp succeed with stuck packet":
///   when a packet is freed, the kernel looks up its QP through the packet's socket, which may be gone.
/// - <https://github.com/torvalds/linux/commit/3c3e9a9f2972>, "RDMA/rxe: Flush delayed SKBs while releasing RXE
///   resources", in Linux 6.17, 6.16.4 and 6.12.44: a packet holds a reference to its QP again.
fn packets(version: Version) -> Finding {
    let about = Requirement(
        "SoftRoCE packets",
        "with `cc: dcqcn`, packets in the pacer hold references to their QPs; packets in other queues hold none",
    );
    if version < STUCK_PACKETS {
        return about.ok(
            "a queued packet keeps its QP alive, and the QP is destroyed once the packet is gone",
        );
    }
    let is_fixed = FIXED_STABLE
        .iter()
        .any(|fixed| version.series() == fixed.series() && version >= *fixed)
        || version >= FIXED_FROM;
    if is_fixed {
        return about.ok("a queued packet keeps its QP alive (3c3e9a9f2972)");
    }
    about
        .warn(
            "a QP may be destroyed while its packets are queued, and the kernel may then log a warning or crash: \
             judging by its release, this kernel lacks the fix (commit 3c3e9a9f2972)",
        )
        .with_fix("boot Linux 6.12.44, 6.16.4, 6.17 or newer; for a guest, lcmp-lab provision --kernel PACKAGE")
}

/// Version number of a kernel, such as 6.12.107.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Returns the version at the beginning of a release such as `6.12.107+deb13-amd64` or `7.1-rc3`; `None` if the
    /// text does not begin with a version.
    fn of(release: &str) -> Option<Self> {
        let version = release.split(|c: char| !c.is_ascii_digit() && c != '.');
        let mut numbers = version.take(1).flat_map(|version| version.split('.'));
        let mut next = || numbers.next()?.parse().ok();
        Some(Self::new(next()?, next()?, next().unwrap_or(0)))
    }

    /// Returns the major and minor numbers, which all releases of one stable series share.
    const fn series(self) -> (u32, u32) {
        (self.major, self.minor)
    }
}

/// First release with 9b4b7c1f9f54: "rxe uses workqueues instead of tasklets"
/// (<https://lore.kernel.org/linux-rdma/ZJzUeFT7lLqEjMJn@nvidia.com/>).
const WORKQUEUES: Version = Version::new(6, 5, 0);

/// First release with 1a633bdc8fd9, which lets a QP be destroyed while its packets are queued.
const STUCK_PACKETS: Version = Version::new(6, 10, 0);

/// First releases that contain 3c3e9a9f2972, in those stable series that received it.
const FIXED_STABLE: [Version; 2] = [Version::new(6, 12, 44), Version::new(6, 16, 4)];

/// First mainline release with 3c3e9a9f2972, after which queued packets keep their QP alive.
const FIXED_FROM: Version = Version::new(6, 17, 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_release_begins_with_its_version() {
        for (release, version) in [
            ("6.1.0-48-amd64", Some(Version::new(6, 1, 0))),
            ("6.12.107+deb13-amd64", Some(Version::new(6, 12, 107))),
            ("7.1-rc3", Some(Version::new(7, 1, 0))),
            ("7.3.4", Some(Version::new(7, 3, 4))),
            ("6", None),
            ("linux", None),
            ("", None),
        ] {
            assert_eq!(Version::of(release), version, "{release}");
        }
        assert_eq!(softroce("linux"), []);
    }

    /// Releases just before and just after each change.
    #[test]
    fn upstreams_changes_are_told_by_release() {
        for (release, tasks, packets) in [
            ("6.1.0-56-amd64", "tasklets", Level::Ok),
            ("6.4.16", "tasklets", Level::Ok),
            ("6.5.0", "workqueues", Level::Ok),
            ("6.9.12", "workqueues", Level::Ok),
            ("6.10.0", "workqueues", Level::Warn),
            ("6.12.43+deb13-amd64", "workqueues", Level::Warn),
            ("6.12.44+deb13-amd64", "workqueues", Level::Ok),
            ("6.15.11", "workqueues", Level::Warn),
            ("6.16.3", "workqueues", Level::Warn),
            ("6.16.4", "workqueues", Level::Ok),
            ("6.17.0", "workqueues", Level::Ok),
            ("7.3.4+deb13-amd64", "workqueues", Level::Ok),
        ] {
            let [first, second] = &softroce(release)[..] else {
                panic!("{release}: two findings");
            };
            assert!(first.what.starts_with(tasks), "{release}: {first}");
            assert_eq!(first.level, Level::Ok, "{release}");
            assert_eq!(second.level, packets, "{release}: {second}");
            assert_eq!(second.fix.is_some(), packets == Level::Warn, "{second}");
        }
    }
}
