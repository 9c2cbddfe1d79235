//! Reasons to refuse a bundle, and errors of the file system.

use std::{io, path::PathBuf};

use crate::format::{BUNDLE_FORMAT, MANIFEST_FILE, MAX_NAME};

/// Error of packing or unpacking a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file of this machine cannot be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// Words for the failed action: `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file of the run changed while it was packed.
    #[error("`{path}` changed while it was packed (hint: bundle a run after its end)")]
    Changed {
        /// The file.
        path: String,
    },
    /// The run has no report, whose numbers a bundle keeps.
    #[error("the run has no `{path}` (hint: `lcmp-lab report RUN` writes it)")]
    NoReport {
        /// The missing file.
        path: &'static str,
    },
    /// The file is not a bundle, or its bytes are damaged or cut off.
    #[error("the bundle is damaged, cut off, or no bundle: {what}")]
    Damaged {
        /// The part that cannot be read.
        what: String,
        /// Cause.
        source: io::Error,
    },
    /// The manifest cannot be parsed, or contradicts itself.
    #[error("`{MANIFEST_FILE}` of the bundle is no manifest: {problem}")]
    Manifest {
        /// Problem in words.
        problem: String,
    },
    /// Another version of lcmp-lab wrote the bundle in another format.
    #[error(
        "the bundle has format {found}, this lcmp-lab reads {BUNDLE_FORMAT} (hint: {})",
        if *found > BUNDLE_FORMAT { "update lcmp-lab" } else { "pack the run again" }
    )]
    OtherFormat {
        /// Format of the bundle.
        found: u64,
    },
    /// A name that no file of a bundle may have.
    #[error(
        "`{path}` is no name of a bundle's file: one or two parts of at most {MAX_NAME} letters, \
         digits, `.`, `_` and `-` that start with none of the last three"
    )]
    UnsafePath {
        /// The name.
        path: String,
    },
    /// An entry that is not a regular file: a link, device or directory.
    #[error("`{path}` in the bundle is not a regular file but {kind}")]
    NotAFile {
        /// Name of the entry.
        path: String,
        /// Kind of the entry.
        kind: String,
    },
    /// The archive does not hold what the manifest says, in its order.
    #[error("the bundle has {found} where its manifest has {expected}")]
    Unlisted {
        /// Entry of the archive.
        found: String,
        /// Entry of the manifest.
        expected: String,
    },
    /// A file does not have the manifest's SHA-256.
    #[error("`{path}` is not what the manifest says: its SHA-256 is {found}, not {expected}")]
    Tampered {
        /// The file.
        path: String,
        /// SHA-256 of the bytes.
        found: String,
        /// SHA-256 of the manifest.
        expected: String,
    },
    /// The bundle is larger than is unpacked.
    #[error("{what} of the bundle: {found}, at most {max} are unpacked")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        found: u64,
        /// Maximum.
        max: u64,
    },
}

impl BundleError {
    /// True if this machine is at fault, not the bundle.
    #[must_use]
    pub const fn is_of_machine(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    /// Returns a function that makes the error for `action` on a file on this machine.
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

    /// Returns a function that makes the error of bytes that cannot be read as `what`.
    pub(crate) fn damaged(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Damaged { what, source }
    }
}
