//! Table rows that a guest sends to the host: each message has the name of a table and the bytes appended to it.
//!
//! For each append, the guest sends a header, the file name of the table, and the bytes. The host appends the bytes to
//! the same table in the run directory before it shows that a flow has ended.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use lab_records::{FlowRow, Row};

use crate::{run_dir, terminal::note};

/// Returns the message from guest to host for `bytes` that were appended to the table file `table`.
pub(super) fn message(table: &str, bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + table.len() + bytes.len());
    for count in [table.len(), bytes.len()] {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        message.extend(count.to_le_bytes());
    }
    message.extend(table.as_bytes());
    message.extend(bytes);
    message
}

/// Host's copy of a guest's tables in the run directory.
pub(super) struct CopiedTables {
    dir: PathBuf,
    files: BTreeMap<String, File>,
    /// Beginning of a message that has not arrived completely.
    partial: Vec<u8>,
    /// True once a row of `flows.csv` has arrived.
    has_flows: bool,
}

impl CopiedTables {
    /// Returns the tables in the run directory `dir`. Their files may not exist yet.
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            files: BTreeMap::new(),
            partial: Vec::new(),
            has_flows: false,
        }
    }

    fn append(&mut self, table: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.dir.join(table);
        append(&mut self.files, table, &path, bytes).map_err(|error| {
            io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
        })?;
        if table == FlowRow::FILE && !self.has_flows {
            self.has_flows = true;
            // A failure to update the link is only a warning, because the rows matter more.
            if let Err(failure) = run_dir::make_latest(&self.dir) {
                note(&format!("warning: {}", failure.message));
            }
        }
        Ok(())
    }
}

impl Write for CopiedTables {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.partial);
        let mut rest = all.as_slice();
        while let Some((table, appended, after)) = split(rest)? {
            self.append(table, appended)?;
            rest = after;
        }
        self.partial = rest.to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Appends bytes to the file of a table: all of them, or none if space is lacking.
fn append(
    files: &mut BTreeMap<String, File>,
    table: &str,
    path: &Path,
    bytes: &[u8],
) -> io::Result<()> {
    let file = match files.get_mut(table) {
        Some(file) => file,
        None => files
            .entry(table.to_owned())
            .or_insert(lab_files::append(path)?),
    };
    let before = file.metadata()?.len();
    let written = file.write_all(bytes);
    if written.is_err() {
        let _ = match before {
            0 => fs::remove_file(path),
            before => file.set_len(before),
        };
    }
    written
}

/// Parts of a received message: name of the table, appended bytes, and the bytes after the message.
type AppendedPart<'a> = (&'a str, &'a [u8], &'a [u8]);

/// Splits the first message off `bytes`; `None` if it has not arrived completely.
fn split(bytes: &[u8]) -> io::Result<Option<AppendedPart<'_>>> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
        return Ok(None);
    };
    let count = |at: usize| {
        let word = header[at..].first_chunk().copied().unwrap_or_default();
        usize::try_from(u32::from_le_bytes(word)).unwrap_or(usize::MAX)
    };
    let table = count(0);
    let appended = count(4);
    if table > MAX_NAME || appended > MAX_APPENDED {
        return Err(malformed());
    }
    let Some((message, after)) = rest.split_at_checked(table + appended) else {
        return Ok(None);
    };
    let (table, appended) = message.split_at(table);
    let table = str::from_utf8(table).map_err(|_| malformed())?;
    if is_table(table) {
        Ok(Some((table, appended, after)))
    } else {
        Err(malformed())
    }
}

/// Returns true if `name` can be a table's file name. A guest may write no other file of the host.
fn is_table(name: &str) -> bool {
    let stem = name.strip_suffix(".csv").unwrap_or_default();
    !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn malformed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the guest sent a malformed message instead of table rows",
    )
}

/// Size of a message's header, bytes: two u32 with the lengths of the table's name and the appended bytes.
const HEADER: usize = 8;

/// Maximum length of a table's file name, bytes.
const MAX_NAME: usize = 64;

/// Maximum size of one append, bytes: far more than a writer's buffer, so that only a damaged header exceeds it.
const MAX_APPENDED: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn appends_arrive_whole_and_in_order_however_they_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("flows.csv"), "id\n").unwrap();
        let messages = [
            message("flows.csv", b"1\n"),
            message("certificate.csv", b"link\n"),
            message("flows.csv", b"2\n"),
            message("flows.csv", b"cut here"),
        ]
        .concat();
        for size in [1, 3, 7, messages.len()] {
            let dir = folder.path().join(size.to_string());
            fs::create_dir(&dir).unwrap();
            let mut tables = CopiedTables::new(&dir);
            for part in messages[..messages.len() - 1].chunks(size) {
                tables.write_all(part).unwrap();
            }
            let read = |name| fs::read_to_string(dir.join(name)).unwrap();
            assert_eq!(read("flows.csv"), "1\n2\n", "{size}");
            assert_eq!(read("certificate.csv"), "link\n", "{size}");
        }
    }

    #[test]
    fn latest_moves_with_the_first_flow() {
        let results = tempfile::tempdir().unwrap();
        let dir = results.path().join("run");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("run.json"), "{}").unwrap();
        let mut tables = CopiedTables::new(&dir);
        let latest = results.path().join("latest");
        tables.write_all(&message("links.csv", b"1\n")).unwrap();
        assert!(!latest.exists());
        tables.write_all(&message("flows.csv", b"1\n")).unwrap();
        assert_eq!(fs::read_link(&latest).unwrap(), Path::new("run"));
    }

    #[test]
    fn nothing_but_tables_of_the_run_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "",
            ".csv",
            "../flows.csv",
            "/etc/passwd",
            "run.json",
            "flows.csv\0",
            "Flows.csv",
        ] {
            let error = CopiedTables::new(folder.path()).write_all(&message(name, b"1\n"));
            assert!(error.is_err(), "{name}");
        }
        let long = "a".repeat(MAX_NAME) + ".csv";
        assert!(
            CopiedTables::new(folder.path())
                .write_all(&message(&long, b""))
                .is_err()
        );
        symlink("/dev/null", folder.path().join("flows.csv")).unwrap();
        let through_link =
            CopiedTables::new(folder.path()).write_all(&message("flows.csv", b"1\n"));
        assert!(through_link.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_keeps_what_is_whole() {
        // Every write to this device finds the disk full.
        let full = || OpenOptions::new().append(true).open("/dev/full").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.csv");
        let mut files = BTreeMap::from([("flows.csv".to_owned(), full())]);
        let error = append(&mut files, "flows.csv", &path, b"1\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
