//! Kernel modules of an unpacked kernel package, and their load order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// Modules of one kernel, as indexed by `depmod`.
#[derive(Debug)]
pub(crate) struct ModuleIndex {
    dir: PathBuf,
    /// Files by module name, each with the files that it depends on; paths are relative to `dir`.
    loadable: BTreeMap<String, (String, Vec<String>)>,
    builtin: BTreeSet<String>,
}

impl ModuleIndex {
    /// Reads the module index in `dir`, which is a directory `lib/modules/RELEASE`.
    pub(crate) fn read(dir: &Path) -> io::Result<Self> {
        let dep = fs::read_to_string(dir.join("modules.dep"))?;
        let builtin = fs::read_to_string(dir.join("modules.builtin"))?;
        Ok(Self::parse(dir, &dep, &builtin))
    }

    fn parse(dir: &Path, dep: &str, builtin: &str) -> Self {
        let files = dep.lines().filter_map(|line| line.split_once(':'));
        let loadable = files.map(|(file, needs)| {
            let needs = needs.split_whitespace().map(str::to_owned).collect();
            (module_name(file), (file.to_owned(), needs))
        });
        Self {
            dir: dir.to_owned(),
            loadable: loadable.collect(),
            builtin: builtin.lines().map(module_name).collect(),
        }
    }

    /// Returns the modules among `names` that are neither built in nor available as uncompressed files. A guest cannot
    /// load compressed modules, so they count as missing.
    pub(crate) fn missing<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let has_file =
            |(file, _): &(String, _)| file.ends_with(".ko") && self.dir.join(file).is_file();
        let is_there = |name: &str| {
            self.builtin.contains(name) || self.loadable.get(name).is_some_and(has_file)
        };
        names
            .iter()
            .copied()
            .filter(|name| !is_there(name))
            .collect()
    }

    /// Returns the files of the modules `names` and of their dependencies, each after the files that it depends on.
    ///
    /// Built-in and unknown modules have no file; [`Self::missing`] reports unknown modules.
    pub(crate) fn load_order(&self, names: &[&str]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            self.add_with_needs(name, &mut seen, &mut files);
        }
        files
    }

    fn add_with_needs(&self, name: &str, seen: &mut BTreeSet<String>, files: &mut Vec<PathBuf>) {
        let Some((file, needs)) = self.loadable.get(name) else {
            return;
        };
        if !seen.insert(name.to_owned()) {
            return;
        }
        for need in needs {
            self.add_with_needs(&module_name(need), seen, files);
        }
        files.push(self.dir.join(file));
    }
}

/// Returns the name of the module in a file: `sch_netem` for `kernel/net/sched/sch-netem.ko`.
fn module_name(file: &str) -> String {
    let base = file.rsplit('/').next().unwrap_or(file);
    let stem = base.split_once(".ko").map_or(base, |(stem, _)| stem);
    stem.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "\
kernel/drivers/virtio/virtio.ko:
kernel/drivers/virtio/virtio-ring.ko: kernel/drivers/virtio/virtio.ko
kernel/net/9p/9pnet.ko:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio-ring.ko kernel/drivers/virtio/virtio.ko
";

    fn index() -> ModuleIndex {
        ModuleIndex::parse(Path::new("/m"), DEP, "kernel/net/unix/unix.ko\n")
    }

    #[test]
    fn a_module_comes_after_what_it_needs_and_only_once() {
        let order = index().load_order(&["9pnet_virtio", "virtio_ring"]);
        let names: Vec<_> = order
            .iter()
            .map(|file| module_name(file.to_str().unwrap()))
            .collect();
        assert_eq!(names, ["9pnet", "virtio", "virtio_ring", "9pnet_virtio"]);
    }

    #[test]
    fn built_in_modules_are_neither_missing_nor_loaded() {
        assert!(index().missing(&["unix"]).is_empty());
        assert!(index().load_order(&["unix"]).is_empty());
    }

    #[test]
    fn a_listed_module_without_its_file_is_missing() {
        let names = ["9pnet", "rdma_rxe"];
        assert_eq!(index().missing(&names), names);
    }

    #[test]
    fn a_packed_module_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["veth.ko", "overlay.ko.xz"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let index = ModuleIndex::parse(folder.path(), "veth.ko:\noverlay.ko.xz:\n", "");
        assert_eq!(index.missing(&["veth", "overlay"]), ["overlay"]);
    }

    #[test]
    fn names_do_not_depend_on_spelling_or_compression() {
        assert_eq!(module_name("kernel/a/sch-netem.ko.xz"), "sch_netem");
        assert_eq!(module_name("rdma_rxe.ko"), "rdma_rxe");
    }
}
