//! Whether KVM works here, found out by a bounded trial boot.
//!
//! `/dev/kvm` alone says nothing: under nested virtualisation without hardware help the device is
//! there, and a guest takes minutes to boot or dies of a register its host does not emulate.
//!
//! - `trial`: the boot
//! - `memory`: its result, remembered until this machine boots again

mod memory;
mod trial;

use std::{fmt, fs::OpenOptions, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::cache::Kernel;

/// What is known of KVM on this machine.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvmVerdict {
    /// A guest booted.
    Works,
    /// There is no `/dev/kvm`.
    Absent,
    /// `/dev/kvm` may not be opened by this user.
    Denied,
    /// A guest did not boot.
    Fails {
        /// How the trial ended.
        reason: String,
    },
}

impl fmt::Display for KvmVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::Absent => f.write_str("there is no `/dev/kvm`"),
            Self::Denied => f.write_str("`/dev/kvm` may not be opened by this user"),
            Self::Fails { reason } => write!(f, "a trial boot failed: {reason}"),
        }
    }
}

/// Whether a guest of `kernel` boots under KVM.
///
/// The answer is remembered until the next boot of this machine, in `cache` or, where that may not
/// be written, in the user's own cache directory. `on_trial` is called before a trial, which takes
/// up to six seconds.
pub fn verdict(cache: &Path, kernel: &Kernel, on_trial: impl FnOnce()) -> KvmVerdict {
    match OpenOptions::new().read(true).write(true).open(DEVICE) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return KvmVerdict::Denied,
        Err(_) => return KvmVerdict::Absent,
    }
    let key = memory::Key::of_this_machine(&kernel.release);
    if let Some(verdict) = memory::recall(cache, &key) {
        return verdict;
    }
    on_trial();
    let verdict = match trial::boot(kernel) {
        Ok(()) => KvmVerdict::Works,
        Err(reason) => KvmVerdict::Fails {
            reason: reason.to_string(),
        },
    };
    tracing::info!(%verdict, "KVM was tried");
    memory::remember(cache, &key, &verdict);
    verdict
}

const DEVICE: &str = "/dev/kvm";
