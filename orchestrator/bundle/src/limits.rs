//! Limits for reading a bundle.

/// Upper bounds for the unpacked contents of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of files.
    pub files: u64,
    /// Maximum total size of all files, in bytes.
    pub bytes: u64,
    /// Maximum ratio of unpacked bytes to the bundle's bytes; packing reduces runs to a sixth or a seventh.
    pub expansion: u64,
    /// Number of unpacked bytes that is permitted regardless of the bundle's size.
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
    /// Returns the limits of a bundle of `packed` bytes.
    pub(crate) fn of_size(self, packed: u64) -> Self {
        let expanded = packed.saturating_mul(self.expansion).max(self.any_size);
        Self {
            bytes: self.bytes.min(expanded),
            ..self
        }
    }
}
