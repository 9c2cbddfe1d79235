//! Mirror of a run's tables: passes all bytes that are appended to them to a receiver while the run goes on.

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Receiver of all bytes that are appended to a run's tables. While no receiver is set, bytes only go to the files.
#[derive(Clone, Default)]
pub(crate) struct Mirror(Arc<OnceLock<Mutex<Box<Append>>>>);

/// Receiver function: gets a table's file name and the bytes that were appended.
pub(crate) type Append = dyn FnMut(&str, &[u8]) + Send;

impl Mirror {
    /// Sets the receiver to `append`; has no effect if a receiver is already set.
    pub(crate) fn set(&self, append: Box<Append>) {
        let _ = self.0.set(Mutex::new(append));
    }

    fn append(&self, table: &str, bytes: &[u8]) {
        if let Some(append) = self.0.get() {
            let mut append = append.lock().unwrap_or_else(PoisonError::into_inner);
            append(table, bytes);
        }
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mirror")
    }
}

/// Open file of a table; all bytes written to the file also go to a mirror.
#[derive(Debug)]
pub(crate) struct TableFile {
    name: &'static str,
    file: File,
    mirror: Mirror,
}

impl TableFile {
    /// Creates the file of the table `name` at `path`; fails if it exists.
    pub(crate) fn create(path: &Path, name: &'static str, mirror: Mirror) -> io::Result<Self> {
        let file = File::create_new(path)?;
        Ok(Self { name, file, mirror })
    }

    /// Flushes the data of the table's file to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.mirror.append(self.name, &bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
