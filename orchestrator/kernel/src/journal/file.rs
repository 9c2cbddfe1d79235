//! Writing and reading a journal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use super::Entry;

/// A journal being written.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    /// Starts a journal where there is none.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(directory.join(NAME))?;
        Ok(Self { file })
    }

    /// Writes a line. Only when this returns may what the line names be done.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// What a journal says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub entries: Vec<Entry>,
}

impl Contents {
    /// Reads a journal; without one there is nothing to undo. A last line without its end was
    /// never acted upon.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let text = match std::fs::read(directory.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        let whole = text
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let lines = text[..whole]
            .split(|&b| b == b'\n')
            .filter(|line| !line.is_empty());
        let entries = lines
            .map(serde_json::from_slice)
            .collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// The head, where one was written.
    pub fn head(&self) -> Option<&super::Head> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Lab(head) => Some(head),
            _ => None,
        })
    }
}

const NAME: &str = "journal";
