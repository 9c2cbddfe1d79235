//! Kernels that guests boot: from a cache of unpacked packages, or an installed kernel.
//!
//! `lcmp-lab provision` downloads the distribution's kernel package, unpacks it in the cache and
//! indexes it with `depmod`; the package is not installed. Guests boot the newest complete release in the
//! cache. If the cache has no complete release, they boot the newest installed kernel whose modules are not compressed,
//! as on Debian 12. Kernels of other packages, downloaded by `lcmp-lab provision --kernel`, are in separate caches in
//! the subdirectories `kernels/RELEASE`. Guests boot these only on request.

use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::modules::ModuleIndex;

/// Default directory of the cache of kernels.
pub const DEFAULT_DIR: &str = "/var/cache/lcmp-lab";

/// Name of the environment variable that overrides [`DEFAULT_DIR`].
pub const DIR_VARIABLE: &str = "LCMP_LAB_CACHE";

/// Command line that fills the cache, shown in hints.
pub(crate) const FILL_COMMAND: &str = "sudo lcmp-lab provision --guest";

/// Modules that the guest needs to mount its root file system.
pub const BOOT_MODULES: &[&str] = &["virtio_pci", "9pnet_virtio", "9p", "overlay"];

/// Modules that the kernel must have for labs.
pub const LAB_MODULES: &[&str] = &[
    "ib_uverbs",
    "rdma_rxe",
    "veth",
    "sch_netem",
    "sch_fq",
    "sch_tbf",
    "sch_red",
    "sch_ingress",
    "cls_u32",
    "cls_bpf",
    "act_mirred",
];

/// Modules that are loaded if the kernel has them and the CPU supports them. rxe computes checksums with the fastest of
/// these modules; loading them early avoids a call of modprobe while flows start.
pub(crate) const USEFUL_MODULES: &[&str] = &["crc32_generic", "crc32_pclmul"];

/// Returns the directory that [`DIR_VARIABLE`] names, or [`DEFAULT_DIR`].
#[must_use]
pub fn default_dir() -> PathBuf {
    let dir = std::env::var_os(DIR_VARIABLE).filter(|dir| !dir.is_empty());
    dir.map_or_else(|| DEFAULT_DIR.into(), PathBuf::from)
}

/// Reason why a cache has no bootable kernel.
#[derive(Debug, Error)]
pub enum CacheError {
    #[error("no kernel package is unpacked in `{}`", dir.display())]
    Empty { dir: PathBuf },
    #[error("kernel `{release}` in `{}` has no module index: {source}", dir.display())]
    NotIndexed {
        dir: PathBuf,
        release: String,
        source: std::io::Error,
    },
    #[error(
        "kernel `{release}` in `{}` lacks the modules {}, as kernels of the cloud flavour do",
        dir.display(),
        names(missing)
    )]
    Incomplete {
        dir: PathBuf,
        release: String,
        missing: Vec<String>,
    },
    #[error("no kernel `{wanted}` for guests in `{}`: {}", dir.display(), known_text(known))]
    NoRelease {
        dir: PathBuf,
        wanted: String,
        known: Vec<String>,
    },
}

fn known_text(known: &[String]) -> String {
    match known {
        [] => "the directory has no kernels".to_owned(),
        known => format!("it has {}", names(known)),
    }
}

/// Returns the cache with the newest kernel of release `wanted`: `cache` itself, or one of the caches in its
/// subdirectories. `wanted` may be only the first numbers of a release: `6.12`.
///
/// # Errors
/// If there is no such kernel, or it cannot be booted.
pub fn of_release(cache: &Path, wanted: &str) -> Result<PathBuf, CacheError> {
    if Kernel::find(cache).is_ok_and(|kernel| is_of(&kernel.release, wanted)) {
        return Ok(cache.to_owned());
    }
    let others = cache.join(OTHERS_DIR);
    let entries = fs::read_dir(&others).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut known: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    known.sort_by(|a, b| compare_releases(b, a));
    let Some(release) = known.iter().find(|release| is_of(release, wanted)) else {
        known.extend(Kernel::find(cache).map(|kernel| kernel.release));
        return Err(CacheError::NoRelease {
            dir: cache.to_owned(),
            wanted: wanted.to_owned(),
            known,
        });
    };
    let dir = others.join(release);
    Kernel::find_in(&dir)?;
    Ok(dir)
}

/// Returns true if `release` equals `wanted` or begins with the same numbers.
fn is_of(release: &str, wanted: &str) -> bool {
    let rest = release.strip_prefix(wanted);
    !wanted.is_empty() && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Kernel that guests can boot.
#[derive(Debug)]
pub struct Kernel {
    /// Release of the kernel, for example `6.1.0-56-amd64`.
    pub release: String,
    /// Path of the kernel image, uncompressed if possible: emulating the kernel's decompression takes 3 s of every
    /// boot.
    pub image: PathBuf,
    /// Directory with the modules of all releases, `lib/modules`.
    pub modules_root: PathBuf,
    modules: ModuleIndex,
}

impl Kernel {
    /// Returns the newest kernel with all modules that labs and guests need: from `cache`, or else an installed kernel.
    /// If there is no such kernel, the error describes the newest kernel in the cache.
    pub fn find(cache: &Path) -> Result<Self, CacheError> {
        Self::find_in(cache).or_else(|error| Self::find_in(Path::new(INSTALLED)).map_err(|_| error))
    }

    fn find_in(dir: &Path) -> Result<Self, CacheError> {
        let mut newest_error = None;
        for release in releases(dir) {
            match Self::open(dir, release) {
                Ok(kernel) => return Ok(kernel),
                Err(error) => newest_error = newest_error.or(Some(error)),
            }
        }
        Err(newest_error.unwrap_or_else(|| empty(dir)))
    }

    fn open(dir: &Path, release: String) -> Result<Self, CacheError> {
        let modules_root = dir.join("lib/modules");
        let modules = ModuleIndex::read(&modules_root.join(&release)).map_err(|source| {
            CacheError::NotIndexed {
                dir: dir.to_owned(),
                release: release.clone(),
                source,
            }
        })?;
        let missing = [BOOT_MODULES, LAB_MODULES].concat();
        let missing = modules.missing(&missing);
        if !missing.is_empty() {
            return Err(CacheError::Incomplete {
                dir: dir.to_owned(),
                release,
                missing: missing.into_iter().map(str::to_owned).collect(),
            });
        }
        let images = [UNPACKED_PREFIX, IMAGE_PREFIX]
            .map(|prefix| dir.join(format!("boot/{prefix}{release}")));
        let image = images
            .into_iter()
            .find(|image| image.is_file())
            .ok_or_else(|| empty(dir))?;
        Ok(Self {
            image,
            modules_root,
            modules,
            release,
        })
    }

    /// Returns the paths of [`BOOT_MODULES`] in load order.
    pub(crate) fn boot_modules(&self) -> Vec<PathBuf> {
        self.modules.load_order(BOOT_MODULES)
    }

    /// Returns the paths of the modules that labs need or use, in load order, without those loaded at boot.
    pub(crate) fn lab_modules(&self) -> Vec<PathBuf> {
        let boot = self.boot_modules();
        let names = [LAB_MODULES, USEFUL_MODULES].concat();
        let mut files = self.modules.load_order(&names);
        files.retain(|file| !boot.contains(file));
        files
    }
}

fn empty(dir: &Path) -> CacheError {
    let dir = dir.to_owned();
    CacheError::Empty { dir }
}

/// Returns the kernel releases that have an image in `dir`, newest first.
fn releases(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("boot")).into_iter().flatten();
    let mut releases: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_prefix(IMAGE_PREFIX).map(str::to_owned))
        .collect();
    releases.sort_by(|a, b| compare_releases(b, a));
    releases
}

/// Compares releases by their numbers: `6.1.0-9` is less than `6.1.0-10`.
fn compare_releases(a: &str, b: &str) -> Ordering {
    let numbers = |release: &str| -> Vec<u64> {
        let parts = release.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

fn names(modules: &[String]) -> String {
    let quoted: Vec<_> = modules.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Root directory of the installed packages' files, which has the same layout as the cache.
const INSTALLED: &str = "/";

const IMAGE_PREFIX: &str = "vmlinuz-";

const UNPACKED_PREFIX: &str = "vmlinux-";

/// Name of the cache's subdirectory that contains the caches of other kernels.
const OTHERS_DIR: &str = "kernels";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_named_by_its_first_numbers() {
        let release = "6.12.57+deb13-amd64";
        for wanted in ["6", "6.12", "6.12.57", "6.12.57+deb13", release] {
            assert!(is_of(release, wanted), "{wanted}");
        }
        for wanted in ["", "6.1", "6.12.5", "12", "6.12.57+deb13-amd64-rt"] {
            assert!(!is_of(release, wanted), "{wanted}");
        }
    }

    #[test]
    fn a_kernel_that_is_not_there_is_an_error_with_those_that_are() {
        let cache = tempfile::tempdir().expect("a temporary directory");
        for name in ["6.9.1-amd64", "6.12.9-amd64", ".unpack.x"] {
            fs::create_dir_all(cache.path().join(OTHERS_DIR).join(name)).expect("created");
        }
        match of_release(cache.path(), "7.0").expect_err("no such kernel") {
            CacheError::NoRelease { known, .. } => {
                assert_eq!(known[..2], ["6.12.9-amd64", "6.9.1-amd64"]);
            }
            error => panic!("{error}"),
        }
        let error = of_release(cache.path(), "6.12").expect_err("an empty directory");
        assert!(matches!(error, CacheError::Empty { .. }), "{error}");
    }
}
