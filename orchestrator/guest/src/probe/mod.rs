//! What a guest takes of this machine, and what of it is there.
//!
//! - `need`: one thing a guest takes, and how it was found
//! - `finding`: one thing that is missing, and the command that mends it
//! - `machine`: the questions

mod finding;
mod machine;
mod need;

use std::path::Path;

use lab_units::Bytes;

pub use finding::Finding;
pub use need::Need;

use crate::{cache::Kernel, kvm, kvm::KvmVerdict};

/// All that a guest takes, with guest kernels in `cache`, in the order in which a person would mend
/// it.
#[must_use]
pub fn needs(cache: &Path) -> Vec<Need> {
    machine::needs(cache)
}

/// What keeps a guest from running; empty when nothing does.
#[must_use]
pub fn lacking(cache: &Path) -> Vec<Finding> {
    needs(cache)
        .into_iter()
        .filter_map(|need| need.found.err())
        .collect()
}

/// What keeps a guest from having `memory`: that this machine has less available; nothing where it
/// does not say what it has.
#[must_use]
pub fn lacking_memory(memory: Bytes) -> Option<Finding> {
    machine::lacking_memory(memory)
}

/// Whether guests run under KVM here; `None` without a kernel to try it with.
///
/// Takes up to six seconds, once per boot of this machine.
#[must_use]
pub fn kvm(cache: &Path) -> Option<KvmVerdict> {
    let kernel = Kernel::find(cache).ok()?;
    Some(kvm::verdict(cache, &kernel, || {}))
}
