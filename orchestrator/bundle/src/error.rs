//! Reasons to reject a bundle, and errors from the file system.

use std::{io, path::PathBuf};

use crate::format::{BUNDLE_FORMAT, MANIFEST_FILE, MAX_NAME};

/// Failure to pack or unpack a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file of this machine cannot be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// Verb for the failed action, such as `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file of the run changed between the two times that packing reads it.
    #[error("`{path}` changed while it was packed (hint: bundle a run after its end)")]
    Changed { path: String },
    /// The run has no report; a bundle must contain the report's numbers, because `verify` recomputes and compares
    /// them.
    #[error("the run has no `{path}` (hint: `lcmp-lab report RUN` writes it)")]
    NoReport {
        /// Path of the missing file.
        path: &'static str,
    },
    /// The file is not a bundle, or its bytes are damaged or truncated.
    #[error("the file is damaged, truncated or not a bundle: {what}")]
    Damaged {
        /// Part of the bundle that cannot be read.
        what: String,
        source: io::Error,
    },
    /// The manifest is not valid JSON, has unknown or missing keys, or contradicts itself.
    #[error("`{MANIFEST_FILE}` of the bundle is not a valid manifest: {problem}")]
    Manifest {
        /// Description of the problem.
        problem: String,
    },
    /// The bundle has another format, because another version of lcmp-lab wrote it.
    #[error(
        "the bundle has format {found}, but this lcmp-lab reads only format {BUNDLE_FORMAT} (hint: {})",
        if *found > BUNDLE_FORMAT { "update lcmp-lab" } else { "pack the run again" }
    )]
    OtherFormat {
        /// Format of the bundle.
        found: u64,
    },
    /// The name is not permitted for a file in a bundle.
    #[error(
        "`{path}` is not a valid file name in a bundle: it must have one or two parts of at most {MAX_NAME} letters, \
         digits, `.`, `_` and `-`, none starting with one of the last three"
    )]
    UnsafePath { path: String },
    /// An archive entry is not a regular file but a link, device or directory.
    #[error("`{path}` in the bundle is not a regular file but {kind}")]
    NotAFile {
        /// Name of the archive entry.
        path: String,
        /// Kind of the archive entry.
        kind: String,
    },
    /// The archive's entries or their order differ from the manifest.
    #[error("the bundle has {found} where its manifest lists {expected}")]
    Unlisted {
        /// Entry that the archive contains.
        found: String,
        /// Entry that the manifest lists.
        expected: String,
    },
    /// A file does not have the manifest's SHA-256.
    #[error("`{path}` differs from its manifest entry: its SHA-256 is {found}, not {expected}")]
    Tampered {
        path: String,
        /// SHA-256 of the file's bytes.
        found: String,
        /// SHA-256 listed in the manifest.
        expected: String,
    },
    /// The bundle exceeds a limit for unpacking.
    #[error("{what} of the bundle: {found}; at most {max} are allowed")]
    TooLarge {
        /// Quantity that exceeds its limit.
        what: String,
        /// Value of the quantity.
        found: u64,
        /// Limit that is exceeded.
        max: u64,
    },
}

impl BundleError {
    /// Returns true for an I/O error on this machine and false for a fault of the bundle or the run.
    #[must_use]
    pub const fn is_of_machine(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    /// Returns a function that turns an I/O error of `action`, such as `read`, on `path` into a [`BundleError::Io`].
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Returns a function that turns an I/O error into [`BundleError::Damaged`]; `what` names the unreadable part.
    pub(crate) fn damaged(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Damaged { what, source }
    }
}
