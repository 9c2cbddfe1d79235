//! What this machine can do: run a lab on its own kernel, or in a guest.
//!
//! - `finding`: one thing that is missing, and the command that mends it
//! - `here`: this machine's own kernel, tried by making what a lab makes
//! - `guest`: what running a guest takes

mod finding;
mod guest;
mod here;

use std::path::Path;

pub use finding::Finding;

use crate::{cache::Kernel, kvm, kvm::KvmVerdict};

/// What was found.
#[derive(Debug)]
pub struct Probe {
    /// What keeps a lab from running on this kernel; empty when nothing does.
    pub here: Vec<Finding>,
    /// What keeps a guest from running; empty when nothing does.
    pub guest: Vec<Finding>,
}

impl Probe {
    /// Looks at this machine, with guest kernels in `cache`.
    ///
    /// Whatever is made to try the kernel is made in a network namespace of its own and is gone
    /// afterwards; a module that was loaded for it stays.
    #[must_use]
    pub fn take(cache: &Path) -> Self {
        Self {
            here: here::findings(),
            guest: guest::findings(cache),
        }
    }

    /// Whether a lab can run on this machine's own kernel.
    #[must_use]
    pub fn runs_here(&self) -> bool {
        self.here.is_empty()
    }

    /// Whether a lab can run in a guest.
    #[must_use]
    pub fn runs_in_guest(&self) -> bool {
        self.guest.is_empty()
    }

    /// Whether guests run under KVM here; `None` without a kernel to try it with.
    ///
    /// Takes up to six seconds, once per boot of this machine.
    #[must_use]
    pub fn kvm(cache: &Path) -> Option<KvmVerdict> {
        let kernel = Kernel::find(cache).ok()?;
        Some(kvm::verdict(cache, &kernel, || {}))
    }
}
