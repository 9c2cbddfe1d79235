//! The manifest of a bundle: its files with their sizes and SHA-256 sums, and its origin.

use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    error::BundleError,
    format::{BUNDLE_FORMAT, MANIFEST_FILE, MAX_NAME},
    limits::Limits,
};

/// Contents of `manifest.json`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Format of the bundle, [`BUNDLE_FORMAT`] at the time of writing.
    pub format: u64,
    pub origin: Origin,
    /// All files of the bundle except the manifest, sorted by name.
    pub files: Vec<PackedFile>,
}

/// Run that a bundle contains, and the program that packed it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the run's directory, which is also the name of the archive's folder.
    pub run: String,
    /// Version of the lcmp-lab that packed the bundle.
    pub tool_version: String,
    /// Commit from which the lcmp-lab that packed the bundle was built.
    pub tool_commit: String,
    /// Start of the run in seconds since 1970; all files in the archive have this time.
    pub started_at: u64,
}

/// File listed in a manifest.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedFile {
    /// Name within the run directory, such as `flows.csv` or `figures/paths.csv`.
    pub path: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Format number of a manifest, the only field that manifests of all formats share.
#[derive(Deserialize)]
struct ManifestHead {
    format: u64,
}

impl Manifest {
    /// Parses a manifest. The format is checked first, then the names, order and total size of the files.
    pub(crate) fn read(text: &[u8], limits: &Limits) -> Result<Self, BundleError> {
        let wrong = |error: serde_json::Error| BundleError::Manifest {
            problem: error.to_string(),
        };
        let head: ManifestHead = serde_json::from_slice(text).map_err(wrong)?;
        if head.format != BUNDLE_FORMAT {
            return Err(BundleError::OtherFormat { found: head.format });
        }
        let manifest: Self = serde_json::from_slice(text).map_err(wrong)?;
        manifest.check(limits)?;
        Ok(manifest)
    }

    fn check(&self, limits: &Limits) -> Result<(), BundleError> {
        let too_large = |what: &str, found, max| BundleError::TooLarge {
            what: what.to_owned(),
            found,
            max,
        };
        check_name(&self.origin.run, 1)?;
        let count = self.files.len() as u64;
        if count > limits.files {
            return Err(too_large("number of files", count, limits.files));
        }
        let mut total = 0_u64;
        for file in &self.files {
            check_name(&file.path, 2)?;
            total = total.saturating_add(file.bytes);
        }
        if total > limits.bytes {
            return Err(too_large("bytes", total, limits.bytes));
        }
        let mut pairs = self.files.windows(2);
        match pairs.find(|pair| pair[0].path >= pair[1].path) {
            Some(pair) => Err(BundleError::Manifest {
                problem: format!(
                    "`{}` is listed before `{}`: names must be unique and sorted",
                    pair[0].path, pair[1].path
                ),
            }),
            None => Ok(()),
        }
    }
}

/// Checks that `path` is a relative path of at most `parts` components, each of which is a permitted file name.
pub fn check_name(path: &str, parts: usize) -> Result<(), BundleError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_plain = |part: &str| {
        part.len() <= MAX_NAME
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(plain)
    };
    let is_safe =
        path.split('/').count() <= parts && path.split('/').all(is_plain) && path != MANIFEST_FILE;
    if is_safe {
        Ok(())
    } else {
        Err(BundleError::UnsafePath {
            path: path.to_owned(),
        })
    }
}

/// Running SHA-256 and length of a sequence of bytes.
#[derive(Default)]
pub struct Digester {
    hash: Sha256,
    /// Number of bytes added so far.
    pub bytes: u64,
}

impl Digester {
    /// Adds bytes to the digest.
    pub fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the SHA-256 of all added bytes in lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(self) -> String {
        let digest = self.hash.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Reader that computes the digest of the bytes read from it.
pub struct Digesting<R> {
    /// Reader that supplies the bytes.
    pub inner: R,
    /// Digest of the bytes read so far.
    pub digester: Digester,
}

impl<R: io::Read> Digesting<R> {
    /// Returns a digesting reader around `inner`.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            digester: Digester::default(),
        }
    }
}

impl<R: io::Read> io::Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digester.add(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_manifest_is_read_or_refused() {
        let file = |path: &str| PackedFile {
            path: path.to_owned(),
            bytes: 9,
            sha256: "0".repeat(64),
        };
        let manifest = Manifest {
            format: BUNDLE_FORMAT,
            origin: Origin {
                run: "20261122T101435Z-smoke-b0abe23e".to_owned(),
                tool_version: "0.1.0".to_owned(),
                tool_commit: "abc".to_owned(),
                started_at: 1_000,
            },
            files: vec![file("figures/paths.csv"), file("flows.csv")],
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        lab_fuzz::fuzz("manifest of a bundle", &[text], |bytes| {
            Manifest::read(bytes, &Limits::default()).is_ok()
        });
    }
}
