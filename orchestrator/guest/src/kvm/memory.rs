//! The verdict of the last trial, kept on disk.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::kvm::KvmVerdict;

/// What a verdict holds for.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Key {
    kernel: String,
    cpu: String,
    /// A new boot may bring other virtualisation settings.
    boot_id: String,
}

#[derive(Deserialize, Serialize)]
struct Record {
    key: Key,
    verdict: KvmVerdict,
}

impl Key {
    pub(crate) fn of_this_machine(kernel: &str) -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            kernel: kernel.to_owned(),
            cpu: cpu_model(&cpus),
            boot_id: boot_id.trim_end().to_owned(),
        }
    }
}

/// The verdict remembered for `key`.
pub(crate) fn recall(cache: &Path, key: &Key) -> Option<KvmVerdict> {
    places(cache)
        .into_iter()
        .filter_map(|dir| fs::read(dir.join(FILE)).ok())
        .filter_map(|bytes| serde_json::from_slice::<Record>(&bytes).ok())
        .find(|record| record.key == *key)
        .map(|record| record.verdict)
}

/// Remembers a verdict in the first place that can be written; in none, the next run tries again.
pub(crate) fn remember(cache: &Path, key: &Key, verdict: &KvmVerdict) {
    let Ok(json) = serde_json::to_vec(&serde_json::json!({ "key": key, "verdict": verdict }))
    else {
        return;
    };
    let written = places(cache).iter().any(|dir| write(dir, &json).is_ok());
    if !written {
        tracing::debug!("the verdict on KVM cannot be kept");
    }
}

/// Writes beside the file and renames, so that a reader never sees half of it.
fn write(dir: &Path, json: &[u8]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let draft = dir.join(format!("{FILE}.{}", std::process::id()));
    fs::write(&draft, json)?;
    fs::rename(&draft, dir.join(FILE))
}

fn places(cache: &Path) -> Vec<PathBuf> {
    let user = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let user = user.map(|dir| dir.join("lcmp-lab"));
    [cache.to_owned()].into_iter().chain(user).collect()
}

fn cpu_model(cpuinfo: &str) -> String {
    let fields = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let values = cpuinfo
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| fields.contains(&name.trim()))
        .map(|(_, value)| value.trim());
    values.collect::<Vec<_>>().join(" ")
}

const FILE: &str = "kvm-trial.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn key(boot_id: &str) -> Key {
        Key {
            kernel: "6.1.0".to_owned(),
            cpu: "cpu".to_owned(),
            boot_id: boot_id.to_owned(),
        }
    }

    #[test]
    fn a_verdict_holds_until_the_next_boot() {
        let cache = tempfile::tempdir().unwrap();
        remember(cache.path(), &key("a"), &KvmVerdict::Works);
        assert_eq!(recall(cache.path(), &key("a")), Some(KvmVerdict::Works));
        assert_eq!(recall(cache.path(), &key("b")), None);
    }

    #[test]
    fn a_spoilt_file_is_no_verdict() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join(FILE), "{").unwrap();
        assert_eq!(recall(cache.path(), &key("a")), None);
    }

    #[test]
    fn the_model_is_of_the_first_cpu_only() {
        let info =
            "processor\t: 0\nmodel\t\t: 167\nmodel name\t: X\ncpu MHz\t: 2600.1\n\nmodel\t: 9\n";
        assert_eq!(cpu_model(info), "167 X");
    }
}
