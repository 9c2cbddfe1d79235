//! Evidence bundles: a run directory as a single file with a manifest, verified when it is read.
//!
//! A bundle is a tar archive of regular files in one folder, compressed by zstd with a checksum. Its first file is
//! the manifest, which lists every other file in order, with its size and SHA-256. Packing the same run yields the
//! same bytes. A manifest reveals damage, not forgery: whoever changes a file can also write a new manifest, and only
//! a second run of the scenario can reveal that.
//!
//! Must not contain: engines, clocks, terminals.
//!
//! - [`manifest`]: list of files, and rules for the names of files
//! - [`pack`], [`unpack`]: conversion of a run directory to a bundle, and back into a new directory
//! - [`derive`]: comparison of the report's stored numbers with those derived from the rows
//! - [`tables`]: check of a run's rows before packing, and comparison of two runs' rows by their keys
//! - [`error`]: reasons to reject a bundle

pub mod derive;
pub mod error;
mod format;
mod limits;
pub mod manifest;
pub mod pack;
pub mod tables;
pub mod unpack;

pub use derive::{Discrepancy, derive};
pub use error::BundleError;
pub use format::BUNDLE_FORMAT;
pub use limits::Limits;
pub use manifest::{Manifest, Origin, PackedFile};
pub use pack::pack;
pub use tables::{TableDifference, check_tables, compare_tables};
pub use unpack::unpack;
