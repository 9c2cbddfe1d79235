//! State of KVM on this machine, determined by a trial boot and cached until the machine's next boot.
//!
//! The existence of `/dev/kvm` proves nothing: under nested virtualisation without hardware support the device exists,
//! but a guest takes minutes to boot, or crashes because its host does not emulate a register.

mod trial;

use std::{fmt, fs, fs::OpenOptions, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{cache::Kernel, cached};

/// State of KVM on this machine.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvmVerdict {
    /// The trial boot of a guest with KVM succeeded.
    Works,
    /// `/dev/kvm` does not exist.
    Absent,
    /// This user may not open `/dev/kvm`.
    Denied,
    /// The trial boot of a guest with KVM failed.
    Fails {
        /// Reason why the trial boot failed.
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

/// Returns the state of KVM for guests that boot `kernel`.
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
    if let Some(verdict) = cached::load(cache, FILE, &key) {
        return verdict;
    }
    on_trial();
    let verdict = match trial::boot(kernel) {
        Ok(()) => KvmVerdict::Works,
        Err(reason) => KvmVerdict::Fails {
            reason: reason.to_string(),
        },
    };
    tracing::info!(%verdict, "trial boot with KVM");
    if let Err(error) = cached::store(cache, FILE, &key, &verdict) {
        tracing::debug!(%error, "cannot store the KVM verdict in any directory");
    }
    verdict
}

/// Returns the key of a verdict: the guest's kernel, the first CPU's model, and the random ID of this machine's boot,
/// because virtualisation settings may change with the next boot.
fn key(kernel: &str) -> String {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{kernel}, {}, {}", cached::cpu_model(), boot_id.trim_end())
}

const DEVICE: &str = "/dev/kvm";

const FILE: &str = "kvm-trial.json";
