//! History of a suite: a table to which each run of the suite appends rows, and its Parquet copy.

use std::{io::Write, path::Path};

use crate::{
    csv_table, draft,
    error::{Operation, RecordsError},
    parquet_table,
    rows::{HistoryRow, Row},
};

/// Appends rows to the history in `dir`, creating the directory and the table if necessary, and updates the table's
/// Parquet copy.
///
/// # Errors
/// If a file cannot be written.
pub fn append(dir: &Path, rows: &[HistoryRow]) -> Result<(), RecordsError> {
    draft::make_dir(dir).map_err(Operation::CreateDir.failed(dir))?;
    let path = dir.join(HistoryRow::FILE);
    let is_new = !path.exists();
    let failed = |source| RecordsError::Write {
        path: path.clone(),
        source,
    };
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    if is_new {
        let header = HistoryRow::COLUMNS.iter().map(|column| column.name);
        writer.write_record(header).map_err(failed)?;
    }
    for row in rows {
        writer.serialize(row).map_err(failed)?;
    }
    let text = writer
        .into_inner()
        .expect("a vector is flushed without errors");
    // All rows are appended by one write. If the write is cut off, readers ignore the incomplete last row.
    let mut file = lab_files::append(&path).map_err(Operation::CreateFile.failed(&path))?;
    file.write_all(&text)
        .map_err(Operation::Write.failed(&path))?;
    parquet_table::copy(&path, HistoryRow::COLUMNS)
}

/// Reads the history in `dir`, oldest row first; empty if there is no history.
///
/// # Errors
/// If the table cannot be read.
pub fn read(dir: &Path) -> Result<Vec<HistoryRow>, RecordsError> {
    let path = dir.join(HistoryRow::FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    csv_table::read(&path, HistoryRow::COLUMNS, &mut |batch| {
        for index in 0..batch.len() {
            rows.push(batch.row(index).map_err(|source| RecordsError::Row {
                path: path.clone(),
                line: batch.line(index),
                source: source.into(),
            })?);
        }
        Ok::<(), RecordsError>(())
    })?;
    Ok(rows)
}
