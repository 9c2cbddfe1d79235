//! One thing a guest takes.

use crate::probe::Finding;

/// Something a guest takes, and how this machine is for it.
#[derive(Debug)]
pub struct Need {
    /// What it is, in a word or two: `busybox`, `guest memory`.
    pub subject: &'static str,
    /// What a guest takes it for.
    pub why: &'static str,
    /// What is there, in words, or what is missing.
    pub found: Result<String, Finding>,
}
