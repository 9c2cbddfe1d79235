//! The unpacked kernel package guests boot from.
//!
//! `lcmp-lab provision` fills the directory: the distribution's kernel package is downloaded,
//! unpacked and indexed with `depmod`, never installed. Several releases may lie side by side; the
//! newest complete one is taken.

use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::modules::ModuleIndex;

/// Where the kernel package is unpacked unless told otherwise.
pub const DEFAULT_DIR: &str = "/var/cache/lcmp-lab";

/// Names another directory than [`DEFAULT_DIR`].
pub const DIR_VARIABLE: &str = "LCMP_LAB_CACHE";

/// The command that fills the cache.
pub(crate) const FILL_COMMAND: &str = "sudo lcmp-lab provision --guest";

/// Modules that bring up the root file system.
pub const BOOT_MODULES: &[&str] = &["virtio_pci", "9pnet_virtio", "9p", "overlay"];

/// Modules a lab is made of.
pub const LAB_MODULES: &[&str] = &[
    "ib_uverbs",
    "rdma_rxe",
    "veth",
    "sch_netem",
    "sch_tbf",
    "sch_red",
    "sch_ingress",
    "cls_u32",
    "cls_bpf",
    "act_mirred",
];

/// Modules loaded only where the kernel has them: rxe computes its checksums with the first, and
/// loading it early spares the kernel a call of modprobe while flows start.
pub(crate) const USEFUL_MODULES: &[&str] = &["crc32_generic"];

/// The directory the environment names, or the default.
#[must_use]
pub fn default_dir() -> PathBuf {
    std::env::var_os(DIR_VARIABLE)
        .filter(|dir| !dir.is_empty())
        .map_or_else(|| PathBuf::from(DEFAULT_DIR), PathBuf::from)
}

/// Why no kernel of the cache can be booted.
#[derive(Debug, Error)]
pub enum CacheError {
    /// Nothing is there.
    #[error("no kernel package is unpacked in `{}`", dir.display())]
    Empty {
        /// The directory looked in.
        dir: PathBuf,
    },
    /// The modules have no index.
    #[error("kernel `{release}` in `{}` has no module index: {source}", dir.display())]
    NotIndexed {
        /// The cache.
        dir: PathBuf,
        /// The kernel release.
        release: String,
        /// What reading the index failed with.
        source: std::io::Error,
    },
    /// The kernel has not all modules a lab needs.
    #[error(
        "kernel `{release}` in `{}` lacks the modules {}, as the cloud flavour does",
        dir.display(),
        names(missing)
    )]
    Incomplete {
        /// The cache.
        dir: PathBuf,
        /// The kernel release.
        release: String,
        /// The modules it lacks.
        missing: Vec<String>,
    },
}

/// A kernel that guests can boot.
#[derive(Debug)]
pub struct Kernel {
    /// Its release, e.g. `6.1.0-56-amd64`.
    pub release: String,
    /// The image: unpacked where provisioning could unpack it, as emulating the kernel's own
    /// unpacking takes three seconds of every boot.
    pub image: PathBuf,
    /// The directory holding the modules of all releases, `lib/modules`.
    pub modules_root: PathBuf,
    modules: ModuleIndex,
}

impl Kernel {
    /// The newest kernel in `dir` that has every module a lab needs.
    ///
    /// # Errors
    ///
    /// Fails when there is none, with what the newest one lacks.
    pub fn find(dir: &Path) -> Result<Self, CacheError> {
        let mut newest_error = None;
        for release in releases(dir) {
            match Self::open(dir, release) {
                Ok(kernel) => return Ok(kernel),
                Err(error) => newest_error = newest_error.or(Some(error)),
            }
        }
        Err(newest_error.unwrap_or_else(|| CacheError::Empty {
            dir: dir.to_owned(),
        }))
    }

    fn open(dir: &Path, release: String) -> Result<Self, CacheError> {
        let modules_root = dir.join("lib/modules");
        let modules = match ModuleIndex::read(&modules_root.join(&release)) {
            Ok(modules) => modules,
            Err(source) => {
                let dir = dir.to_owned();
                return Err(CacheError::NotIndexed {
                    dir,
                    release,
                    source,
                });
            }
        };
        let missing = [BOOT_MODULES, LAB_MODULES].concat();
        let missing = modules.missing(&missing);
        if !missing.is_empty() {
            return Err(CacheError::Incomplete {
                dir: dir.to_owned(),
                release,
                missing: missing.into_iter().map(str::to_owned).collect(),
            });
        }
        let boot = dir.join("boot");
        let image = [UNPACKED_PREFIX, IMAGE_PREFIX]
            .map(|prefix| boot.join(format!("{prefix}{release}")))
            .into_iter()
            .find(|image| image.is_file())
            .ok_or_else(|| CacheError::Empty {
                dir: dir.to_owned(),
            })?;
        Ok(Self {
            image,
            modules_root,
            modules,
            release,
        })
    }

    /// The files that bring up the root file system, in load order.
    pub(crate) fn boot_modules(&self) -> Vec<PathBuf> {
        self.modules.load_order(BOOT_MODULES)
    }

    /// The files of the lab's modules, in load order, without those loaded at boot.
    pub(crate) fn lab_modules(&self) -> Vec<PathBuf> {
        let boot = self.boot_modules();
        let mut files = self
            .modules
            .load_order(&[LAB_MODULES, USEFUL_MODULES].concat());
        files.retain(|file| !boot.contains(file));
        files
    }
}

/// Releases with an image in `dir`, newest first.
fn releases(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir.join("boot")) else {
        return Vec::new();
    };
    let mut releases: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_prefix(IMAGE_PREFIX).map(str::to_owned))
        .collect();
    releases.sort_by(|a, b| compare_releases(b, a));
    releases
}

/// Orders releases by their numbers, so that `6.1.0-9` comes before `6.1.0-10`.
fn compare_releases(a: &str, b: &str) -> Ordering {
    let numbers = |release: &str| -> Vec<u64> {
        release
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

fn names(modules: &[String]) -> String {
    let quoted: Vec<_> = modules.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

const IMAGE_PREFIX: &str = "vmlinuz-";

const UNPACKED_PREFIX: &str = "vmlinux-";
