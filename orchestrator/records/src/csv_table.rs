//! Reader of CSV files into batches.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use csv::StringRecord;
use lab_files::{Bounded, Links};

use crate::{
    columns::{BATCH_ROWS, Batch, MAX_BATCH_BYTES},
    error::{Operation, RecordsError},
    rows::Column,
};

/// Calls `visit` with each batch of `columns` from the table at `path`, in order, and returns the number of truncated
/// rows at the table's end, 0 or 1.
///
/// A writer ends every row with a line feed. If the last row has no line feed, its writer died while writing the row:
/// the row is counted as truncated and omitted, even if its fields could be parsed. A row of more than [`MAX_ROW`]
/// bytes is refused before it is read into memory.
pub(crate) fn read<E: From<RecordsError>>(
    path: &Path,
    columns: &[Column],
    visit: &mut dyn FnMut(&Batch) -> Result<(), E>,
) -> Result<u64, E> {
    let (file, truncated) = open_whole_lines(path).map_err(Operation::Read.failed(path))?;
    if file.limit() == 0 {
        return Ok(truncated);
    }
    let mut reader = csv::Reader::from_reader(Bounded::new(file, MAX_ROW));
    let header = reader
        .headers()
        .map_err(|error| row_error(path, 1, error))?;
    let position = |column: &Column| {
        header
            .iter()
            .position(|name| name == column.name)
            .ok_or_else(|| RecordsError::Row {
                path: path.to_owned(),
                line: 1,
                source: format!("column `{}` is missing", column.name).into(),
            })
    };
    let positions: Vec<usize> = columns.iter().map(position).collect::<Result<_, _>>()?;
    let mut batch = Batch::new(columns);
    let mut record = StringRecord::new();
    let mut is_cut_in_quotes = false;
    let mut bytes = 0;
    loop {
        reader.get_mut().renew();
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            // The file ends at a line feed inside quotes, so the last row has too few fields.
            Err(error) if is_short(&error) && is_at_end(&mut reader) => {
                is_cut_in_quotes = true;
                break;
            }
            Err(error) => return Err(row_error(path, line, error).into()),
        }
        let line = record.position().map_or(1, csv::Position::line);
        let texts = positions.iter().map(|&position| &record[position]);
        batch
            .push(texts, line)
            .map_err(|problem| RecordsError::Row {
                path: path.to_owned(),
                line,
                source: problem.into(),
            })?;
        bytes += record.as_slice().len();
        if batch.len() == BATCH_ROWS || bytes >= MAX_BATCH_BYTES {
            visit(&batch)?;
            batch = Batch::new(columns);
            bytes = 0;
        }
    }
    if !batch.is_empty() {
        visit(&batch)?;
    }
    Ok(truncated.max(is_cut_in_quotes.into()))
}

/// Opens the file at `path` up to its last line feed; also returns 1 if bytes follow the last line feed, else 0.
fn open_whole_lines(path: &Path) -> io::Result<(io::Take<File>, u64)> {
    let mut file = lab_files::open(path, Links::Refuse)?;
    let length = file.seek(SeekFrom::End(0))?;
    // No row is longer than `MAX_ROW`, so the last line feed must be within the last `MAX_ROW` bytes.
    let start = length.saturating_sub(MAX_ROW);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    (&mut file).take(MAX_ROW).read_to_end(&mut end)?;
    let whole = match end.iter().rposition(|&byte| byte == b'\n') {
        Some(last) => start + last as u64 + 1,
        None if start == 0 => 0,
        None => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the file's last {MAX_ROW} bytes have no line end, so it is not a table"),
            ));
        }
    };
    file.rewind()?;
    Ok((file.take(whole), u64::from(whole < length)))
}

fn is_short(error: &csv::Error) -> bool {
    matches!(
        error.kind(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } if len < expected_len
    )
}

fn is_at_end<F: Read>(reader: &mut csv::Reader<Bounded<F>>) -> bool {
    reader.get_mut().renew();
    matches!(reader.read_record(&mut StringRecord::new()), Ok(false))
}

/// Returns the error for the row at `line`; a line number that `error` gives itself takes precedence.
fn row_error(path: &Path, line: u64, error: csv::Error) -> RecordsError {
    RecordsError::Row {
        path: path.to_owned(),
        line: error.position().map_or(line, csv::Position::line),
        source: error.into(),
    }
}

/// Maximum length of a row in bytes: a thousand times the longest row that the writer produces.
const MAX_ROW: u64 = 1 << 20;
