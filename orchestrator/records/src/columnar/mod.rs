//! Large tables by column: Parquet beside the CSV.
//!
//! A table grows as CSV, so that nothing is lost if its writer dies; a large one is copied when its
//! run is closed. The copy has the same columns and values; a column that may be empty is one that
//! may be null. Both ways go a row group at a time, so that memory does not grow with the table.

mod read;
mod write;

use std::path::{Path, PathBuf};

pub(crate) use read::visit;
pub(crate) use write::copy;

use crate::Row;

/// A table of more rows has a copy by column.
pub const LARGE_TABLE_ROWS: u64 = 1_000_000;

/// Where the copy of a table is.
pub(crate) fn path_of<R: Row>(run_dir: &Path) -> PathBuf {
    run_dir.join(R::FILE).with_extension("parquet")
}

/// Rows that are in memory at once: some 20 MB of the widest table.
const GROUP_ROWS: usize = 1 << 16;
