//! Kernel modules that a lab or its trial loads, most of them through the kernel itself.
//!
//! They stay loaded: unloading `veth` or `rdma_rxe` deletes all devices of the kind, whoever made them, and the kernel
//! does not count these devices as uses of the module.

use std::{collections::BTreeSet, fs, path::Path};

use super::{feature::kernel_modules, finding::Finding};

/// Modules of this kernel as `/proc/modules` lists them: a name, its size, the number of its uses, and the
/// modules that use it.
#[derive(Debug)]
pub(crate) struct LoadedModules(String);

impl LoadedModules {
    /// Reads the modules that are loaded now; empty on a kernel without modules.
    pub fn now() -> Self {
        Self(fs::read_to_string(Path::new("/proc/modules")).unwrap_or_default())
    }

    /// Returns the modules loaded since: modules of labs, and modules that these use.
    pub fn since(&self) -> Vec<String> {
        loaded(&self.0, &Self::now().0)
    }
}

/// Runs `work`, and warns of modules that were loaded meanwhile.
pub(crate) fn telling<T>(work: impl FnOnce() -> T) -> T {
    let before = LoadedModules::now();
    let result = work();
    let modules = before.since();
    if !modules.is_empty() {
        tracing::warn!("{} (hint: {})", what(&modules), fix(&modules));
    }
    result
}

/// Returns the finding about modules that the doctor itself has loaded.
pub(super) fn finding(before: &LoadedModules) -> Option<Finding> {
    let modules = before.since();
    let warn = || Finding::warn("modules", what(&modules), WHY).with_fix(fix(&modules));
    (!modules.is_empty()).then(warn)
}

fn what(modules: &[String]) -> String {
    let names = modules.join("`, `");
    let mut text = format!("`{names}` are loaded from now on, and `down` leaves them loaded");
    if modules.iter().any(|module| module == "rdma_rxe") {
        text += "; with `rdma_rxe`, UDP port 4791 of the whole machine is SoftRoCE's";
    }
    text
}

fn fix(modules: &[String]) -> String {
    format!(
        "modprobe --remove {}, once nobody has devices of these kinds",
        modules.join(" ")
    )
}

/// Returns the modules of `now` that are not in `before`, the users of a module before it.
fn loaded(before: &str, now: &str) -> Vec<String> {
    let before: BTreeSet<&str> = before.lines().filter_map(name).collect();
    let mut ours: BTreeSet<&str> = kernel_modules().collect();
    let mut found = Vec::new();
    // The kernel lists the latest module first; a module uses only modules listed after it.
    for line in now.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(users)) = (words.next(), words.nth(2)) else {
            continue;
        };
        if ours.contains(name) || users.split(',').any(|user| ours.contains(user)) {
            ours.insert(name);
            if !before.contains(name) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

fn name(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

const WHY: &str = "what a lab needs was tried";

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of Debian's Linux 6.1: `rdma_rxe` came with what it uses; `snd` is somebody else's, `veth` was there.
    #[test]
    fn modules_of_a_lab_and_those_they_use_are_told() {
        let before = "veth 40960 0 - Live 0x0\nnf_tables 303104 2 - Live 0x0\n";
        let now = "\
            snd 126976 0 - Live 0x0\n\
            rdma_rxe 192512 0 - Live 0x0\n\
            ib_uverbs 196608 1 rdma_rxe, Live 0x0\n\
            ip6_udp_tunnel 16384 1 rdma_rxe, Live 0x0\n\
            ib_core 458752 2 rdma_rxe,ib_uverbs, Live 0x0\n\
            veth 40960 0 - Live 0x0\n\
            nf_tables 303104 2 - Live 0x0\n";
        let found = loaded(before, now);
        assert_eq!(
            found,
            ["rdma_rxe", "ib_uverbs", "ip6_udp_tunnel", "ib_core"]
        );
        assert!(what(&found).contains("UDP port 4791"));
        assert_eq!(loaded(now, now), Vec::<String>::new());
    }
}
