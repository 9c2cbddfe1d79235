//! Format of a bundle.

/// Version of the bundle format, and the only one that this lcmp-lab reads.
pub const BUNDLE_FORMAT: u64 = 1;

/// Name of the manifest, the first file of a bundle.
pub const MANIFEST_FILE: &str = "manifest.json";

/// Maximum length of each part of a file's name.
pub const MAX_NAME: usize = 96;
