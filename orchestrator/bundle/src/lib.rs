//! Evidence bundles: a run directory as one file with a manifest, checked when it is read.
//!
//! A bundle is a tar archive of regular files in one folder, compressed by zstd with a checksum. Its first
//! file is the manifest, which names every other file in order, with its size and SHA-256. The same run
//! gives the same bytes. A manifest shows damage, not forgery: whoever changes a file can write another
//! manifest, and only a second run of the scenario can show that.
//!
//! Must not contain: engines, clocks, terminals.
//!
//! - [`manifest`]: the list of files, names that a file may have
//! - [`pack`], [`unpack`]: run directory to bundle, and back into a new directory
//! - [`derive`]: the numbers of the report from the rows, against those that were kept
//! - [`tables`]: check of a run's rows before it is packed, and comparison of two runs' rows by their keys
//! - [`error`]: reasons to refuse a bundle

pub mod derive;
pub mod error;
mod format;
mod limits;
pub mod manifest;
pub mod pack;
pub mod tables;
pub mod unpack;

pub use derive::{Difference, derive};
pub use error::BundleError;
pub use format::BUNDLE_FORMAT;
pub use limits::Limits;
pub use manifest::{Manifest, Origin, PackedFile};
pub use pack::pack;
pub use tables::{TableDifference, check_tables, compare_tables};
pub use unpack::unpack;
