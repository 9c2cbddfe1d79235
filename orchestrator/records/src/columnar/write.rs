//! CSV to Parquet.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use csv::StringRecord;
use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    column::writer::ColumnWriterImpl,
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::{Type, TypePtr},
};

use super::{GROUP_ROWS, path_of};
use crate::{
    Row,
    error::{Operation, RecordsError},
    rows::{Column, Kind},
};

/// Copies the whole table of `R` in `run_dir`, so that a reader sees the whole copy or none.
pub(crate) fn copy<R: Row>(run_dir: &Path) -> Result<(), RecordsError> {
    let source = run_dir.join(R::FILE);
    let target = path_of::<R>(run_dir);
    let draft = target.with_extension("draft");
    let csv = csv::Reader::from_path(&source).map_err(|error| RecordsError::Row {
        path: source.clone(),
        line: 1,
        source: error,
    })?;
    let file = File::create(&draft).map_err(Operation::CreateFile.failed(&draft))?;
    let refused = |source| RecordsError::Parquet {
        path: draft.clone(),
        source,
    };
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let schema = schema(R::COLUMNS).map_err(refused)?;
    let properties = Arc::new(properties.build());
    let mut target_file = SerializedFileWriter::new(file, schema, properties).map_err(refused)?;
    let mut group: Vec<Values> = R::COLUMNS.iter().map(Values::new).collect();
    let mut rows = 0;
    for record in csv.into_records() {
        let record = record.map_err(|error| RecordsError::Row {
            path: source.clone(),
            line: error.position().map_or(1, csv::Position::line),
            source: error,
        })?;
        push(&mut group, &record).map_err(refused)?;
        rows += 1;
        if rows == GROUP_ROWS {
            write_group(&mut target_file, &mut group).map_err(refused)?;
            rows = 0;
        }
    }
    if rows > 0 {
        write_group(&mut target_file, &mut group).map_err(refused)?;
    }
    target_file.finish().map_err(refused)?;
    let synced = target_file.inner().sync_all();
    synced.map_err(Operation::Sync.failed(&draft))?;
    fs::rename(&draft, &target).map_err(Operation::Replace.failed(target))
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Integer => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = match column.optional {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("row").with_fields(fields);
    schema.build().map(Arc::new)
}

/// The values of one column in one row group, and for a column that may be empty, whether each row
/// has one.
struct Values {
    values: TypedValues,
    levels: Option<Vec<i16>>,
}

enum TypedValues {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl Values {
    fn new(column: &Column) -> Self {
        Self {
            values: match column.kind {
                Kind::Integer => TypedValues::Integers(Vec::new()),
                Kind::Float => TypedValues::Floats(Vec::new()),
                Kind::Text => TypedValues::Texts(Vec::new()),
            },
            levels: column.optional.then(Vec::new),
        }
    }

    fn push(&mut self, text: &str) -> Result<(), ParquetError> {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(!text.is_empty()));
            if text.is_empty() {
                return Ok(());
            }
        }
        let not_a_number = |_| ParquetError::General(format!("`{text}` is not a number"));
        match &mut self.values {
            TypedValues::Integers(values) => {
                let number: u64 = text.parse().map_err(|error: std::num::ParseIntError| {
                    ParquetError::General(format!("`{text}`: {error}"))
                })?;
                values.push(number.cast_signed());
            }
            TypedValues::Floats(values) => values.push(text.parse().map_err(not_a_number)?),
            TypedValues::Texts(values) => values.push(text.into()),
        }
        Ok(())
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            TypedValues::Integers(values) => {
                write_values(column.typed::<Int64Type>(), values, levels)?;
            }
            TypedValues::Floats(values) => {
                write_values(column.typed::<DoubleType>(), values, levels)?;
            }
            TypedValues::Texts(values) => {
                write_values(column.typed::<ByteArrayType>(), values, levels)?;
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

fn write_values<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    column.write_batch(values, levels, None)?;
    values.clear();
    Ok(())
}

fn push(group: &mut [Values], record: &StringRecord) -> Result<(), ParquetError> {
    let mut columns = group.iter_mut().zip(record);
    columns.try_for_each(|(column, text)| column.push(text))
}

fn write_group(
    file: &mut SerializedFileWriter<File>,
    group: &mut [Values],
) -> Result<(), ParquetError> {
    let mut rows = file.next_row_group()?;
    for values in group {
        if let Some(mut column) = rows.next_column()? {
            values.write(&mut column)?;
            column.close()?;
        }
    }
    rows.close().map(drop)
}
