//! Kernel modules that are loaded because of a lab or a trial, most of them by the kernel itself.
//!
//! The modules stay loaded, because unloading `veth` or `rdma_rxe` would delete every device of that kind, including
//! those of other programs: the kernel does not count such devices as uses of the module.

use std::{collections::BTreeSet, fs, path::Path};

use super::{feature::kernel_modules, finding::Finding};

/// Loaded modules as listed in `/proc/modules`, one per line: name, size, number of uses, and the modules that use it.
#[derive(Debug)]
pub(crate) struct LoadedModules(String);

impl LoadedModules {
    /// Reads the list of loaded modules; empty on a kernel without module support.
    pub fn now() -> Self {
        Self(fs::read_to_string(Path::new("/proc/modules")).unwrap_or_default())
    }

    /// Returns the lab modules that have been loaded since this reading, and the modules that these use.
    pub fn since(&self) -> Vec<String> {
        loaded(&self.0, &Self::now().0)
    }
}

/// Runs `work`, and logs a warning that names the modules loaded during `work`.
pub(crate) fn telling<T>(work: impl FnOnce() -> T) -> T {
    let before = LoadedModules::now();
    let result = work();
    let modules = before.since();
    if !modules.is_empty() {
        tracing::warn!("{} (hint: {})", what(&modules), fix(&modules));
    }
    result
}

/// Returns a finding about the modules that were loaded since `before`, that is by the doctor itself; `None` if no
/// module was loaded.
pub(super) fn finding(before: &LoadedModules) -> Option<Finding> {
    let modules = before.since();
    let warn = || Finding::warn("modules", what(&modules), WHY).with_fix(fix(&modules));
    (!modules.is_empty()).then(warn)
}

fn what(modules: &[String]) -> String {
    let names = modules.join("`, `");
    let mut text = format!("the modules `{names}` were loaded, and stay loaded after `down`");
    if modules.iter().any(|module| module == "rdma_rxe") {
        text +=
            "; while `rdma_rxe` is loaded, SoftRoCE occupies UDP port 4791 of the whole machine";
    }
    text
}

fn fix(modules: &[String]) -> String {
    format!(
        "modprobe --remove {}, once no devices of these kinds are in use",
        modules.join(" ")
    )
}

/// Returns the lab modules in `now` that are not in `before`, and the modules that they use. Each module comes before
/// the modules that it uses.
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

const WHY: &str = "the trials of a lab's features loaded these modules";

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `/proc/modules` on Debian's Linux 6.1: `rdma_rxe` was loaded with the modules that it uses, `snd` does
    /// not belong to labs, and `veth` was loaded before.
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
