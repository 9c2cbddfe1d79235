//! Parquet to rows.

use std::{fs::File, path::Path};

use csv::StringRecord;
use parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArray, DataType, Int64Type},
    errors::ParquetError,
    file::reader::{FileReader, RowGroupReader, SerializedFileReader},
};

use crate::{
    Row,
    error::{Operation, RecordsError},
};

/// Calls `row` with every row of the copy at `path`, in order.
pub(crate) fn visit<R: Row>(path: &Path, row: &mut dyn FnMut(R)) -> Result<(), RecordsError> {
    let file = File::open(path).map_err(Operation::Read.failed(path))?;
    let refused = |source| RecordsError::Parquet {
        path: path.to_owned(),
        source,
    };
    let file = SerializedFileReader::new(file).map_err(refused)?;
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let names: StringRecord = columns.iter().map(|column| column.name()).collect();
    let mut number = 0;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(refused)?;
        let mut columns = read_group(group.as_ref(), &names).map_err(refused)?;
        let mut record = StringRecord::new();
        for _ in 0..group.metadata().num_rows() {
            number += 1;
            record.clear();
            for column in &mut columns {
                record.push_field(&column.next().unwrap_or_default());
            }
            let read = record.deserialize(Some(&names));
            row(read.map_err(|source| RecordsError::Row {
                path: path.to_owned(),
                line: number,
                source,
            })?);
        }
    }
    Ok(())
}

/// A column's values as text, one for each row.
type Texts = Box<dyn Iterator<Item = String>>;

fn read_group(
    group: &dyn RowGroupReader,
    names: &StringRecord,
) -> Result<Vec<Texts>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let read = |(index, name): (usize, &str)| match group.get_column_reader(index)? {
        ColumnReader::Int64ColumnReader(column) => texts::<Int64Type>(column, rows, |number| {
            // Unsigned, as the column's logical type says.
            number.cast_unsigned().to_string()
        }),
        ColumnReader::DoubleColumnReader(column) => {
            texts(column, rows, |number: f64| number.to_string())
        }
        ColumnReader::ByteArrayColumnReader(column) => texts(column, rows, |text: ByteArray| {
            String::from_utf8_lossy(text.data()).into_owned()
        }),
        ColumnReader::BoolColumnReader(_)
        | ColumnReader::Int32ColumnReader(_)
        | ColumnReader::Int96ColumnReader(_)
        | ColumnReader::FloatColumnReader(_)
        | ColumnReader::FixedLenByteArrayColumnReader(_) => Err(ParquetError::General(format!(
            "column `{name}` is of a type that no table has"
        ))),
    };
    names.iter().enumerate().map(read).collect()
}

fn texts<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
    text: impl Fn(T::T) -> String + 'static,
) -> Result<Texts, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while levels.len().max(values.len()) < rows {
        let (read, ..) = column.read_records(rows, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            let read = levels.len().max(values.len());
            return Err(ParquetError::General(format!("{read} of {rows} values")));
        }
    }
    let mut values = values.into_iter();
    if levels.is_empty() {
        return Ok(Box::new(values.map(text)));
    }
    let value = move |level| match level {
        0 => String::new(),
        _ => values.next().map(&text).unwrap_or_default(),
    };
    Ok(Box::new(levels.into_iter().map(value)))
}
