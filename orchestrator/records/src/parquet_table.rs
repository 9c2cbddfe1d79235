//! Large tables as Parquet files instead of CSV files.
//!
//! A table is written as CSV, so that no row is lost if its writer dies. At the end of a run, large tables are copied
//! to Parquet and their CSV files are removed. The copy has the same columns and values; a column that may have empty
//! fields is optional. Both reading and writing process one row group at a time, so that memory does not grow with the
//! table. A file that announces more bytes than it has, or a column of the wrong type, is refused before decoding.

use std::{
    fs::{self, File},
    num::NonZero,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Once, mpsc},
    thread,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaDataReader, RowGroupMetaData},
        properties::WriterProperties,
        serialized_reader::SerializedPageReader,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::{Type, TypePtr},
};

use lab_files::Links;

use crate::{
    columns::{BATCH_ROWS, Batch, MAX_BATCH_BYTES, Texts, Values, check_length},
    csv_table, draft,
    error::{Operation, RecordsError},
    parquet_pages::Pages,
    rows::{Column, Kind},
};

/// Number of rows above which a table becomes a Parquet file: as CSV it takes tens of megabytes, as Parquet a tenth.
pub const LARGE_TABLE_ROWS: u64 = 250_000;

/// Name of the threads that decode tables.
const DECODER: &str = "decoder";

/// Maximum number of threads that decode a table; each holds a row group of up to about 20 MB in memory.
const MAX_DECODERS: usize = 4;

/// Returns the path of the Parquet copy for the table at `csv`.
pub(crate) fn path_of(csv: &Path) -> PathBuf {
    csv.with_extension("parquet")
}

/// Copies the table at `csv` to Parquet atomically: a reader sees either the complete copy or none.
pub(crate) fn copy(csv: &Path, columns: &[Column]) -> Result<(), RecordsError> {
    let target = path_of(csv);
    write_file(
        &target,
        || schema(columns),
        |writer, draft| {
            csv_table::read(csv, columns, &mut |batch| {
                write_group(writer, batch).map_err(in_file(draft))
            })
            .map(drop)
        },
    )
}

/// Writes a table of `columns`, each with its name and values, to `path` atomically. Every column is optional.
///
/// # Errors
/// If the file cannot be written; an earlier one then stays.
pub fn write(path: &Path, columns: &[(String, Values)]) -> Result<(), RecordsError> {
    let schema = || {
        let columns = columns.iter();
        schema_of(columns.map(|(name, values)| (name.as_str(), values.kind(), true)))
    };
    let write_columns = |writer: &mut SerializedFileWriter<File>| {
        let mut group = writer.next_row_group()?;
        for (_, values) in columns {
            if let Some(mut column) = group.next_column()? {
                write_values(&mut column, values, true)?;
                column.close()?;
            }
        }
        group.close().map(drop)
    };
    write_file(path, schema, |writer, draft| {
        write_columns(writer).map_err(in_file(draft))
    })
}

/// Writes the file `target` with `write`, which gets the writer and the draft's path; then renames the draft.
fn write_file(
    target: &Path,
    schema: impl FnOnce() -> Result<TypePtr, ParquetError>,
    write: impl FnOnce(&mut SerializedFileWriter<File>, &Path) -> Result<(), RecordsError>,
) -> Result<(), RecordsError> {
    let draft = draft::beside(target);
    let written = write_draft(&draft, schema, write)
        .and_then(|()| fs::rename(&draft, target).map_err(Operation::Replace.failed(target)));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Writes the file `draft` with `write`, as [`write_file`] does.
fn write_draft(
    draft: &Path,
    schema: impl FnOnce() -> Result<TypePtr, ParquetError>,
    write: impl FnOnce(&mut SerializedFileWriter<File>, &Path) -> Result<(), RecordsError>,
) -> Result<(), RecordsError> {
    let file = draft::create(draft).map_err(Operation::CreateFile.failed(draft))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let properties = Arc::new(properties.build());
    let opened = schema().and_then(|schema| SerializedFileWriter::new(file, schema, properties));
    let mut writer = opened.map_err(in_file(draft))?;
    write(&mut writer, draft)?;
    writer.finish().map_err(in_file(draft))?;
    writer
        .inner()
        .sync_all()
        .map_err(Operation::Sync.failed(draft))
}

/// Returns a function from an error to that of the file at `path`.
fn in_file(path: &Path) -> impl Fn(ParquetError) -> RecordsError {
    move |source| RecordsError::Parquet {
        path: path.to_owned(),
        source,
    }
}

/// Removes the CSV of each table in `dir` that has a Parquet copy. Such a CSV holds the rows that were received while a
/// guest ran, before the guest's own writer made the Parquet copy.
///
/// # Errors
/// If the directory cannot be read, or a file cannot be removed.
pub fn remove_copied(dir: &Path) -> Result<(), RecordsError> {
    for entry in fs::read_dir(dir).map_err(Operation::Read.failed(dir))? {
        let copy = entry.map_err(Operation::Read.failed(dir))?.path();
        let csv = copy.with_extension("csv");
        if copy.extension().is_some_and(|it| it == "parquet") && csv.is_file() {
            fs::remove_file(&csv).map_err(Operation::Delete.failed(csv))?;
        }
    }
    Ok(())
}

/// Calls `visit` with each row group of the copy at `path`, reduced to `columns`, in order. Meanwhile, threads decode
/// the next row groups in round-robin order.
pub(crate) fn read<E: From<RecordsError>>(
    path: &Path,
    columns: &[Column],
    visit: &mut dyn FnMut(&Batch) -> Result<(), E>,
) -> Result<(), E> {
    let decoders = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_DECODERS);
    quiet_decoders();
    thread::scope(|scope| {
        let decoder = |first: usize| {
            // The channel has no buffer, so that a decoder thread waits with its batch and decodes no further one into
            // memory.
            let (decoded, batches) = mpsc::sync_channel(0);
            let decode = move || {
                // Sending fails once `visit` has failed, because the receiver is dropped.
                let send = |batch| decoded.send(batch).is_ok();
                let groups = (first..).step_by(decoders);
                let step = || decode(path, columns, groups, |batch| send(Ok(batch)));
                if let Err(error) = without_panic(path, step) {
                    send(Err(error));
                }
            };
            let named = thread::Builder::new().name(DECODER.to_owned());
            named
                .spawn_scoped(scope, decode)
                .map_err(Operation::Read.failed(path))?;
            Ok(batches)
        };
        let batches = (0..decoders)
            .map(decoder)
            .collect::<Result<Vec<_>, RecordsError>>()?;
        // Each decoder ends after its last row group, so the first closed channel means the end of the table.
        let mut in_order = batches
            .iter()
            .cycle()
            .map_while(|batches| batches.recv().ok());
        in_order.try_for_each(|batch: Result<Batch, RecordsError>| visit(&batch?))
    })
}

/// Returns the result of `step`, which decodes the copy at `path`. If the decoder panics on damaged data, returns an
/// error.
fn without_panic(
    path: &Path,
    step: impl FnOnce() -> Result<(), RecordsError>,
) -> Result<(), RecordsError> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref().copied());
        let message = message.unwrap_or("without a message");
        Err(RecordsError::Parquet {
            path: path.to_owned(),
            source: ParquetError::General(format!("its decoder panicked: {message}")),
        })
    })
}

/// Suppresses the panic messages of decoder threads, because their panics are returned as errors.
fn quiet_decoders() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(DECODER) {
                print(panic);
            }
        }));
    });
}

/// Calls `visit` with each row group whose index is in `groups` and in the file, in order, until `visit` returns false.
fn decode(
    path: &Path,
    columns: &[Column],
    groups: impl Iterator<Item = usize>,
    visit: impl Fn(Batch) -> bool,
) -> Result<(), RecordsError> {
    // Each thread opens the file itself, because a shared file has a shared read position.
    let file = lab_files::open(path, Links::Refuse).map_err(Operation::Read.failed(path))?;
    let failed = |source| RecordsError::Parquet {
        path: path.to_owned(),
        source,
    };
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .map_err(failed)?;
    let pages = Arc::new(Pages::of(file).map_err(Operation::Read.failed(path))?);
    let row_groups = metadata.row_groups();
    let rows_of: Vec<usize> = row_groups
        .iter()
        .map(rows)
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    for index in groups.take_while(|&index| index < rows_of.len()) {
        let values = read_group(&pages, &row_groups[index], columns).map_err(failed)?;
        let first = 1 + rows_of[..index].iter().sum::<usize>() as u64;
        let batch = Batch::from_columns(values, first..first + rows_of[index] as u64);
        if !visit(batch) {
            break;
        }
    }
    Ok(())
}

/// Returns the number of rows in a row group, which becomes one batch; fails if it is too large.
fn rows(group: &RowGroupMetaData) -> Result<usize, ParquetError> {
    let rows = usize::try_from(group.num_rows()).unwrap_or(usize::MAX);
    if rows <= BATCH_ROWS {
        Ok(rows)
    } else {
        Err(ParquetError::General(format!(
            "a row group has {} rows, but at most {BATCH_ROWS} are allowed",
            group.num_rows()
        )))
    }
}

fn read_group(
    pages: &Arc<Pages>,
    group: &RowGroupMetaData,
    columns: &[Column],
) -> Result<Vec<(Column, Values)>, ParquetError> {
    columns
        .iter()
        .map(|column| Ok((*column, read_column(pages, group, column)?)))
        .collect()
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    schema_of(
        columns
            .iter()
            .map(|column| (column.name, column.kind, column.optional)),
    )
}

/// Returns the schema of columns, each with its name and type, and true if rows may have no value in it.
fn schema_of<'a>(
    columns: impl Iterator<Item = (&'a str, Kind, bool)>,
) -> Result<TypePtr, ParquetError> {
    let field = |(name, kind, optional)| {
        let logical = match kind {
            Kind::Integer => Some(LogicalType::integer(64, false)),
            Kind::Float => None,
            Kind::Text => Some(LogicalType::String),
        };
        let repetition = if optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let field = Type::primitive_type_builder(name, physical(kind))
            .with_repetition(repetition)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("row").with_fields(fields);
    schema.build().map(Arc::new)
}

/// Returns the physical type that a column's values have in a Parquet file.
const fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Integer => Physical::INT64,
        Kind::Float => Physical::DOUBLE,
        Kind::Text => Physical::BYTE_ARRAY,
    }
}

fn write_group(file: &mut SerializedFileWriter<File>, batch: &Batch) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for (column, values) in batch.columns() {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        write_values(&mut writer, values, column.optional)?;
        writer.close()?;
    }
    group.close().map(drop)
}

fn write_values(
    to: &mut SerializedColumnWriter<'_>,
    values: &Values,
    optional: bool,
) -> Result<(), ParquetError> {
    match values {
        // The column's logical type is unsigned, so the bits can be stored as they are.
        Values::Integers(values) => {
            let values = values.iter().map(|value| value.map(u64::cast_signed));
            write_column::<Int64Type>(to, values, optional)
        }
        Values::Floats(values) => write_column::<DoubleType>(to, values.iter().copied(), optional),
        Values::Texts(texts) => {
            let texts = texts.iter().map(|text| text.map(ByteArray::from));
            write_column::<ByteArrayType>(to, texts, optional)
        }
    }
}

fn write_column<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
    optional: bool,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    let mut present = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    let levels = optional.then_some(&levels[..]);
    let column = writer.typed::<T>();
    column.write_batch(&present, levels, None).map(drop)
}

/// Returns the text that all rows of the column have, if its statistics show that there is only one. The column then
/// need not be decoded; in a row group, most text columns of flows have a single text.
fn only_text(column: &ColumnChunkMetaData) -> Option<&str> {
    let statistics = column.statistics()?;
    let is_exact = statistics.min_is_exact() && statistics.max_is_exact();
    let min = statistics.min_bytes_opt()?;
    let max = statistics.max_bytes_opt()?;
    let is_one = is_exact && min == max && statistics.null_count_opt() == Some(0);
    std::str::from_utf8(min).ok().filter(|_| is_one)
}

fn read_column(
    pages: &Arc<Pages>,
    group: &RowGroupMetaData,
    column: &Column,
) -> Result<Values, ParquetError> {
    let rows = rows(group)?;
    let index = group
        .schema_descr()
        .columns()
        .iter()
        .position(|found| found.path().parts() == [column.name])
        .ok_or_else(|| general(column, "is missing"))?;
    let chunk = group.column(index);
    check_type(chunk, column)?;
    let mut texts = Texts::default();
    if column.kind == Kind::Text
        && let Some(text) = only_text(chunk)
    {
        check_length(column.name, text.len()).map_err(ParquetError::General)?;
        texts.push_all(text, rows);
        return Ok(Values::Texts(texts));
    }
    let reader = SerializedPageReader::new(pages.clone(), chunk, rows, None)?;
    let reader = get_column_reader(chunk.column_descr_ptr(), Box::new(reader));
    Ok(match reader {
        ColumnReader::Int64ColumnReader(reader) => {
            Values::Integers(read_values(reader, rows, i64::cast_unsigned)?)
        }
        ColumnReader::DoubleColumnReader(reader) => {
            Values::Floats(read_values(reader, rows, |number| number)?)
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let mut bytes = 0;
            for text in read_values(reader, rows, |bytes: ByteArray| bytes)? {
                let text = text.as_ref().map(ByteArray::as_utf8).transpose()?;
                let length = text.map_or(0, str::len);
                check_length(column.name, length).map_err(ParquetError::General)?;
                // A small compressed page may contain one long text many times, so lengths are added up.
                bytes += length;
                if bytes > MAX_TEXTS_BYTES {
                    let problem =
                        format!("has more than {MAX_TEXTS_BYTES} bytes of text in a row group");
                    return Err(general(column, &problem));
                }
                texts.push(text);
            }
            Values::Texts(texts)
        }
        ColumnReader::BoolColumnReader(_)
        | ColumnReader::Int32ColumnReader(_)
        | ColumnReader::Int96ColumnReader(_)
        | ColumnReader::FloatColumnReader(_)
        | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            unreachable!("the type was checked")
        }
    })
}

/// Checks that a column chunk has the type of `column`, and no negative offset or size.
fn check_type(chunk: &ColumnChunkMetaData, column: &Column) -> Result<(), ParquetError> {
    let found = chunk.column_type();
    let expected = physical(column.kind);
    if found != expected {
        return Err(general(column, &format!("is {found}, not {expected}")));
    }
    let descriptor = chunk.column_descr();
    if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > i16::from(column.optional) {
        let expected = if column.optional {
            "at most one value"
        } else {
            "one value"
        };
        return Err(general(
            column,
            &format!("does not have {expected} in each row"),
        ));
    }
    let dictionary = chunk.dictionary_page_offset().unwrap_or(0);
    if chunk
        .data_page_offset()
        .min(dictionary)
        .min(chunk.compressed_size())
        < 0
    {
        Err(general(column, "has a negative offset or size"))
    } else {
        Ok(())
    }
}

fn general(column: &Column, problem: &str) -> ParquetError {
    ParquetError::General(format!("column `{}` {problem}", column.name))
}

fn read_values<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let mut levels = Vec::new();
    let mut values = Vec::new();
    let mut read = 0;
    while read < rows {
        let (more, ..) = reader.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if more == 0 {
            return Err(ParquetError::General(format!(
                "a column has only {read} of {rows} values"
            )));
        }
        read += more;
    }
    let mut values = values.into_iter().map(convert);
    if levels.is_empty() {
        return Ok(values.map(Some).collect());
    }
    let value = |level| if level == 0 { None } else { values.next() };
    Ok(levels.into_iter().map(value).collect())
}

/// Maximum size of one column's texts in a row group, in bytes; in a CSV batch, the texts of all columns together are
/// no larger.
const MAX_TEXTS_BYTES: usize = MAX_BATCH_BYTES + (1 << 20);
