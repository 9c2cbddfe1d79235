//! Format of a bundle.

/// Version of the bundle format. This lcmp-lab reads no other version.
pub const BUNDLE_FORMAT: u64 = 1;

/// Name of the manifest, the first file of a bundle.
pub const MANIFEST_FILE: &str = "manifest.json";

/// Maximum length in bytes of each `/`-separated part of a file name.
pub const MAX_NAME: usize = 96;
