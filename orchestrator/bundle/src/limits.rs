//! Limits on the unpacked size of a bundle, so that a small file cannot fill a disk.

/// Upper bounds for the unpacked contents of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of files.
    pub files: u64,
    /// Maximum total size of all files, in bytes.
    pub bytes: u64,
    /// Maximum ratio of unpacked to packed size; real runs have a ratio of about 6 or 7.
    pub expansion: u64,
    /// Unpacked size in bytes that is allowed regardless of `expansion`.
    pub any_size: u64,
    /// Maximum size of the manifest, in bytes.
    pub manifest: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 1_000,
            bytes: 16 << 30,
            expansion: 100,
            any_size: 256 << 20,
            manifest: 1 << 20,
        }
    }
}

impl Limits {
    /// Returns the limits for a bundle of `packed` bytes: `bytes` is at most `expansion` times `packed` or `any_size`,
    /// whichever is larger.
    pub(crate) fn of_size(self, packed: u64) -> Self {
        let expanded = packed.saturating_mul(self.expansion).max(self.any_size);
        Self {
            bytes: self.bytes.min(expanded),
            ..self
        }
    }
}
