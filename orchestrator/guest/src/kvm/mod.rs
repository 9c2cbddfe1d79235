//! State of KVM on this machine, found by a trial boot and cached until the next boot.
//!
//! `/dev/kvm` alone proves nothing: under nested virtualisation without hardware support the device
//! exists, but a guest takes minutes to boot or dies of a register that its host does not emulate.

mod trial;

use std::{
    env, fmt, fs,
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::cache::Kernel;

/// State of KVM on this machine.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvmVerdict {
    /// A guest booted.
    Works,
    /// There is no `/dev/kvm`.
    Absent,
    /// This user may not open `/dev/kvm`.
    Denied,
    /// A guest did not boot.
    Fails {
        /// End of the trial boot.
        reason: String,
    },
}

impl fmt::Display for KvmVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::Absent => f.write_str("there is no `/dev/kvm`"),
            Self::Denied => f.write_str("this user may not open `/dev/kvm`"),
            Self::Fails { reason } => write!(f, "a trial boot failed: {reason}"),
        }
    }
}

/// Returns the state of KVM for guests of `kernel`.
///
/// The verdict is cached until the next boot of this machine, in `cache` or, if that is not writable,
/// in the user's cache directory. `on_trial` is called before a trial boot, which takes up to 6 s.
pub fn verdict(cache: &Path, kernel: &Kernel, on_trial: impl FnOnce()) -> KvmVerdict {
    match OpenOptions::new().read(true).write(true).open(DEVICE) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return KvmVerdict::Denied,
        Err(_) => return KvmVerdict::Absent,
    }
    let key = key(&kernel.release);
    if let Some(verdict) = load(cache, &key) {
        return verdict;
    }
    on_trial();
    let verdict = match trial::boot(kernel) {
        Ok(()) => KvmVerdict::Works,
        Err(reason) => KvmVerdict::Fails {
            reason: reason.to_string(),
        },
    };
    tracing::info!(%verdict, "trial boot of KVM");
    store(cache, &key, &verdict);
    verdict
}

/// Verdict in its file.
#[derive(Deserialize, Serialize)]
struct Record {
    key: String,
    verdict: KvmVerdict,
}

/// Returns the properties of this machine that a verdict depends on: the guest's kernel, the first
/// CPU's model, and the random number of this boot, since the next may have other virtualisation
/// settings.
fn key(kernel: &str) -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{kernel}, {}, {}", cpu_model(&cpus), boot_id.trim_end())
}

/// Returns the cached verdict for `key`.
fn load(cache: &Path, key: &str) -> Option<KvmVerdict> {
    cache_dirs(cache)
        .into_iter()
        .filter_map(|dir| fs::read(dir.join(FILE)).ok())
        .filter_map(|bytes| serde_json::from_slice::<Record>(&bytes).ok())
        .find(|record| record.key == key)
        .map(|record| record.verdict)
}

/// Writes a verdict to the first writable directory; without one, the next run tries KVM again.
fn store(cache: &Path, key: &str, verdict: &KvmVerdict) {
    let json = serde_json::json!({ "key": key, "verdict": verdict }).to_string();
    let mut dirs = cache_dirs(cache).into_iter();
    if !dirs.any(|dir| write(&dir, &json).is_ok()) {
        tracing::debug!("no directory for the verdict on KVM is writable");
    }
}

/// Writes a temporary file and renames it, so that no reader sees a partial one.
fn write(dir: &Path, json: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let partial = dir.join(format!("{FILE}.{}", std::process::id()));
    fs::write(&partial, json)?;
    fs::rename(&partial, dir.join(FILE))
}

fn cache_dirs(cache: &Path) -> Vec<PathBuf> {
    let of_home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.or_else(of_home);
    let user = user.map(|dir| dir.join("lcmp-lab"));
    [cache.to_owned()].into_iter().chain(user).collect()
}

/// Returns the model of the first CPU in `/proc/cpuinfo`.
fn cpu_model(cpuinfo: &str) -> String {
    let fields = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let first = cpuinfo.lines().take_while(|line| !line.is_empty());
    let values = first.filter_map(|line| line.split_once(':'));
    let values = values.filter(|(name, _)| fields.contains(&name.trim()));
    let values = values.map(|(_, value)| value.trim());
    values.collect::<Vec<_>>().join(" ")
}

const DEVICE: &str = "/dev/kvm";

const FILE: &str = "kvm-trial.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_holds_for_its_key() {
        let cache = tempfile::tempdir().unwrap();
        store(cache.path(), "a", &KvmVerdict::Works);
        assert_eq!(load(cache.path(), "a"), Some(KvmVerdict::Works));
        assert_eq!(load(cache.path(), "b"), None);
        fs::write(cache.path().join(FILE), "{").unwrap();
        assert_eq!(load(cache.path(), "a"), None, "a damaged file");
    }

    #[test]
    fn the_model_is_that_of_the_first_cpu() {
        let info =
            "processor\t: 0\nmodel\t\t: 167\nmodel name\t: X\ncpu MHz\t: 2600.1\n\nmodel\t: 9\n";
        assert_eq!(cpu_model(info), "167 X");
    }
}
