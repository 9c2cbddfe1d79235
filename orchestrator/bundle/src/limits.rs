//! Limits of a bundle that is read.

/// Bounds of what is unpacked.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of files.
    pub files: u64,
    /// Maximum number of bytes of all files.
    pub bytes: u64,
    /// Maximum number of unpacked bytes per byte of the bundle; packing shrinks runs to a sixth or a seventh.
    pub expansion: u64,
    /// Number of unpacked bytes that are allowed whatever the bundle's size.
    pub any_size: u64,
    /// Maximum number of bytes of the manifest.
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
