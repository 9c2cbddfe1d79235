//! CSV files to batches.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use csv::StringRecord;

use crate::{
    columns::{BATCH_ROWS, Batch},
    error::{Operation, RecordsError},
    rows::Column,
};

/// Calls `visit` with each batch of `columns` of the table at `path`, in order, and returns the
/// number of truncated rows at the end.
///
/// A writer ends every row with a line feed. A last row without one was being written when its
/// writer died: it is counted and left out, even if the rest of it could be read.
pub(crate) fn read<E: From<RecordsError>>(
    path: &Path,
    columns: &[Column],
    visit: &mut dyn FnMut(&Batch) -> Result<(), E>,
) -> Result<u64, E> {
    let (file, truncated) = open_whole_lines(path).map_err(Operation::Read.failed(path))?;
    if file.limit() == 0 {
        return Ok(truncated);
    }
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|error| row_error(path, error))?;
    let position = |column: &Column| {
        let found = header.iter().position(|name| name == column.name);
        found.ok_or_else(|| RecordsError::Row {
            path: path.to_owned(),
            line: 1,
            source: format!("column `{}` is missing", column.name).into(),
        })
    };
    let positions: Vec<usize> = columns.iter().map(position).collect::<Result<_, _>>()?;
    let mut batch = Batch::new(columns);
    let mut record = StringRecord::new();
    let mut is_cut_in_quotes = false;
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            // Cut off at a line feed inside quotes: too few fields, and nothing after it.
            Err(error) if is_short(&error) && is_at_end(&mut reader) => {
                is_cut_in_quotes = true;
                break;
            }
            Err(error) => return Err(row_error(path, error).into()),
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
        if batch.len() == BATCH_ROWS {
            visit(&batch)?;
            batch = Batch::new(columns);
        }
    }
    if !batch.is_empty() {
        visit(&batch)?;
    }
    Ok(truncated.max(is_cut_in_quotes.into()))
}

/// Opens the file at `path` up to its last line feed, with 1 if there is more after it and 0 if
/// not.
fn open_whole_lines(path: &Path) -> io::Result<(io::Take<File>, u64)> {
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; BLOCK];
    let mut end = length;
    let mut whole = 0;
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let block = &mut block[..usize::try_from(end - start).unwrap_or(BLOCK)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(block)?;
        if let Some(last) = block.iter().rposition(|&byte| byte == b'\n') {
            whole = start + last as u64 + 1;
            break;
        }
        end = start;
    }
    file.rewind()?;
    Ok((file.take(whole), u64::from(whole < length)))
}

fn is_short(error: &csv::Error) -> bool {
    matches!(
        error.kind(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } if len < expected_len
    )
}

fn is_at_end<F: Read>(reader: &mut csv::Reader<F>) -> bool {
    matches!(reader.read_record(&mut StringRecord::new()), Ok(false))
}

fn row_error(path: &Path, error: csv::Error) -> RecordsError {
    RecordsError::Row {
        path: path.to_owned(),
        line: error.position().map_or(1, csv::Position::line),
        source: error.into(),
    }
}

/// Bytes read at a time in search of the last line feed; a row is seldom longer.
const BLOCK: usize = 1 << 16;
