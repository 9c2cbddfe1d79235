//! Files that are replaced whole or not at all.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use crate::error::{Operation, RecordsError};

/// Writes `text` to `path`, so that a reader sees the old file or the new one.
pub fn write_whole(path: &Path, text: &str) -> Result<(), RecordsError> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft).map_err(Operation::CreateFile.failed(&draft))?;
    file.write_all(text.as_bytes())
        .map_err(Operation::Write.failed(&draft))?;
    file.sync_all().map_err(Operation::Sync.failed(&draft))?;
    fs::rename(&draft, path).map_err(Operation::Replace.failed(path))
}
