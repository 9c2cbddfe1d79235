//! Tests with files made to mislead a reader or to exhaust its memory.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    os::unix::fs::symlink,
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use lab_records::{
    FlowRow, LinkRow, RecordsError, Row, RunDir, RunWriter,
    listing::{self, ListedRun},
};
use lab_sample::{counter, end, flow, info, link, now};
use parquet::{
    basic::{Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{
        metadata::{ParquetMetaDataReader, ParquetMetaDataWriter},
        properties::WriterProperties,
        writer::SerializedFileWriter,
    },
    schema::types::Type,
};
use tempfile::TempDir;

/// Returns a run with two flows; tables with more than `large` rows are Parquet.
fn run(large: u64) -> (TempDir, RunDir) {
    let results = tempfile::tempdir().expect("a directory");
    let mut writer = RunWriter::create(results.path(), now(), &info())
        .expect("a run")
        .with_large_table(large);
    for policy in ["ecmp", "lcmp"] {
        writer.append_flows([&flow(policy)]).expect("a row");
        writer
            .append(&[counter(&link("dc1", "dc8", 200, 5), policy)])
            .expect("a row");
    }
    let (dir, _) = writer.finish(end()).expect("the end");
    let run = RunDir::open(&dir).expect("a run");
    (results, run)
}

fn refused<R: Row + std::fmt::Debug>(run: &RunDir) -> String {
    let error = run.table::<R>().expect_err("it is refused");
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    format!("{error}: {}", cause.unwrap_or_default())
}

/// Writes a table with one row whose column `odd` has the type `physical`; the other columns have the right type.
fn write_with_odd(path: &Path, odd: &str, physical: Physical, repetition: Repetition) {
    let columns = LinkRow::COLUMNS.iter();
    let physical_of = |name: &str, kind| match kind {
        _ if name == odd => physical,
        lab_records::Kind::Integer => Physical::INT64,
        lab_records::Kind::Float => Physical::DOUBLE,
        lab_records::Kind::Text => Physical::BYTE_ARRAY,
    };
    let fields = columns.clone().map(|column| {
        let field =
            Type::primitive_type_builder(column.name, physical_of(column.name, column.kind));
        let repetition = if column.name == odd {
            repetition
        } else {
            Repetition::REQUIRED
        };
        Arc::new(field.with_repetition(repetition).build().expect("a type"))
    });
    let schema = Type::group_type_builder("row").with_fields(fields.collect());
    let schema = Arc::new(schema.build().expect("a schema"));
    let file = File::create(path).expect("a file");
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    for column in columns {
        let mut writer = group.next_column().expect("a column").expect("one more");
        let levels = (column.name == odd && repetition != Repetition::REQUIRED).then_some(&[1][..]);
        let repeated =
            (column.name == odd && repetition == Repetition::REPEATED).then_some(&[0][..]);
        match physical_of(column.name, column.kind) {
            Physical::INT64 => drop(writer.typed::<Int64Type>().write_batch(
                &[1],
                levels,
                repeated,
            )),
            Physical::DOUBLE => drop(writer.typed::<DoubleType>().write_batch(
                &[1.0],
                levels,
                repeated,
            )),
            _ => drop(writer.typed::<ByteArrayType>().write_batch(
                &[ByteArray::from("ecmp")],
                levels,
                repeated,
            )),
        }
        writer.close().expect("written");
    }
    group.close().expect("written");
    writer.close().expect("written");
}

#[test]
fn a_column_of_another_type_is_an_error_with_file_and_column() {
    let (_results, run) = run(1);
    let path = run.path().join("links.parquet");
    for (column, physical, found) in [
        ("tx_bytes", Physical::BYTE_ARRAY, "BYTE_ARRAY, not INT64"),
        ("tx_bytes", Physical::DOUBLE, "DOUBLE, not INT64"),
        ("policy", Physical::INT64, "INT64, not BYTE_ARRAY"),
        ("policy", Physical::DOUBLE, "DOUBLE, not BYTE_ARRAY"),
    ] {
        write_with_odd(&path, column, physical, Repetition::REQUIRED);
        let text = refused::<LinkRow>(&run);
        assert!(text.contains("links.parquet`"), "{text}");
        let expected = format!("column `{column}` is {found}");
        assert!(text.contains(&expected), "{text}");
        // Batches of columns are read without a row type.
        let read = run.visit_batches::<LinkRow, RecordsError>(&[column], |_| Ok(()));
        assert!(read.is_err());
    }
    for repetition in [Repetition::OPTIONAL, Repetition::REPEATED] {
        write_with_odd(&path, "tx_bytes", Physical::INT64, repetition);
        let text = refused::<LinkRow>(&run);
        let expected = "column `tx_bytes` does not have one value in each row";
        assert!(text.contains(expected), "{text}");
    }
    write_with_odd(&path, "tx_bytes", Physical::INT64, Repetition::REQUIRED);
    assert_eq!(run.table::<LinkRow>().expect("a table").rows.len(), 1);
}

/// If a column's statistics show a single text, its pages are not read, so only the footer gives the number of rows.
#[test]
fn a_footer_cannot_announce_more_rows_than_a_batch_has() {
    let (_results, run) = run(1);
    let path = run.path().join("flows.parquet");
    let bytes = fs::read(&path).expect("a file");
    let file = File::open(&path).expect("a file");
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = metadata.expect("metadata");
    let length: [u8; 4] = *bytes[..bytes.len() - 4].last_chunk().expect("a length");
    let length = usize::try_from(u32::from_le_bytes(length)).expect("a length");
    for rows in [-1, 65_537, 1_200_000_000, i64::MAX] {
        let mut changed = metadata.clone().into_builder();
        let group = changed
            .take_row_groups()
            .remove(0)
            .into_builder()
            .set_num_rows(rows)
            .build();
        let changed = changed.add_row_group(group.expect("a row group")).build();
        let mut forged = bytes[..bytes.len() - 8 - length].to_vec();
        ParquetMetaDataWriter::new(&mut forged, &changed)
            .finish()
            .expect("a footer");
        fs::write(&path, &forged).expect("a file");
        let (text, memory) = lab_fuzz::peak_of(|| refused::<FlowRow>(&run));
        assert!(text.contains("a row group has"), "{text}");
        assert!(memory < 64 << 20, "{memory} bytes");
    }
}

#[test]
fn a_row_is_bounded_before_it_is_in_memory() {
    let (_results, run) = run(100);
    let path = run.path().join("flows.csv");
    let whole = fs::read_to_string(&path).expect("a table");
    let (head, tail) = whole.split_once("lcmp").expect("a label");
    // The table is written in pieces, because concurrent tests measure the memory of this process.
    let write = |quote: &str, piece: &str, length: usize| {
        let mut file = BufWriter::new(File::create(&path).expect("a file"));
        write!(file, "{head}{quote}").expect("the head");
        for _ in 0..length / piece.len() {
            file.write_all(piece.as_bytes()).expect("a piece");
        }
        write!(file, "{quote}{tail}").expect("the tail");
        file.flush().expect("the file");
    };
    let too_long = "it has more than the allowed 1048576 bytes";
    for (quote, piece, length, words) in [
        ("", "x", 65_536, "at most 65535 are allowed"),
        ("", "x", 2 << 20, too_long),
        ("", "x", 64 << 20, too_long),
        // Line ends inside quotes do not end a row.
        ("\"", "x\n", 64 << 20, too_long),
    ] {
        write(quote, piece, length);
        let (refused, memory) = lab_fuzz::peak_of(|| refused::<FlowRow>(&run));
        assert!(refused.contains(words), "{refused:.200}");
        assert!(refused.contains("at line 3"), "{refused:.200}");
        assert!(memory < 48 << 20, "{memory} bytes");
    }
    // The last row has no line end: its writer died while writing it, or the file is not a table.
    fs::write(&path, whole.clone() + &"x".repeat(1_000)).expect("a table");
    let table = run.table::<FlowRow>().expect("a table");
    assert_eq!((table.rows.len(), table.truncated), (2, 1));
    let file = File::create(&path).expect("a file");
    file.set_len(1 << 40).expect("a hole");
    assert!(refused::<FlowRow>(&run).contains("have no line end"));
}

/// Pipes, devices and links in place of a run's files are refused at once, without waiting for data.
#[test]
fn nothing_but_regular_files_are_read() {
    let secret = tempfile::NamedTempFile::new().expect("a file");
    fs::write(secret.path(), "the secret").expect("a file");
    for name in [
        "run.json",
        "plan.json",
        "flows.csv",
        "links.parquet",
        "tags.txt",
    ] {
        for (kind, words) in [
            ("pipe", "a pipe or a device"),
            ("/dev/zero", "a symbolic link"),
            ("secret", "a symbolic link"),
        ] {
            let (_results, run) = run(if name == "links.parquet" { 1 } else { 100 });
            let dir = run.path().to_owned();
            let path = run.path().join(name);
            let _ = fs::remove_file(&path);
            match kind {
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&path).status();
                    assert!(made.expect("mkfifo runs").success());
                }
                "secret" => symlink(secret.path(), &path).expect("a symbolic link"),
                device => symlink(device, &path).expect("a symbolic link"),
            }
            let (result, read) = mpsc::channel();
            thread::spawn(move || {
                let of_list = ListedRun::read(dir.clone())
                    .file
                    .err()
                    .map(|error| chain(&error));
                let of_tables = RunDir::open(&dir).and_then(|run| {
                    run.flows()?;
                    run.table::<LinkRow>()
                });
                result.send((of_list, of_tables.map_err(|error| chain(&error))))
            });
            let (of_list, of_tables) = read
                .recv_timeout(Duration::from_secs(60))
                .unwrap_or_else(|_| panic!("{name}: {kind}: it waits"));
            let text = match name {
                "tags.txt" => of_list.expect("a problem"),
                _ => of_tables.expect_err("it is refused"),
            };
            assert!(
                text.contains(words) && text.contains(name),
                "{name}: {text}"
            );
            assert!(!text.contains("the secret"), "{text}");
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(chain);
    format!("{error}: {}", cause.unwrap_or_default())
}

#[test]
fn a_bad_run_is_one_of_the_list() {
    let (results, good) = run(100);
    for (name, file, text) in [
        ("long", "tags.txt", "x".repeat(70_000)),
        ("large", "tags.txt", "tag\n".repeat(70_000)),
        ("json", "run.json", "{".to_owned()),
    ] {
        let dir = results.path().join(name);
        fs::create_dir(&dir).expect("a directory");
        fs::copy(good.path().join("run.json"), dir.join("run.json")).expect("a copy");
        fs::write(dir.join(file), text).expect("a file");
    }
    let runs = listing::list(results.path()).expect("a list");
    let readable: Vec<_> = runs.iter().filter(|run| run.file.is_ok()).collect();
    assert_eq!((runs.len(), readable.len()), (4, 1));
    assert!(runs.iter().all(|run| run.tags.is_empty()));
    // The tags of such a run can still be replaced.
    listing::set_tags(&results.path().join("long"), &["kept".to_owned()].into()).expect("tags");
    let run = ListedRun::read(results.path().join("long"));
    assert!(run.file.is_ok() && run.tags.len() == 1);
}
