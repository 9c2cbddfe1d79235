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
        let lines = text[..whole].split(|&b| b == b'\n').zip(1..);
        let lines = lines.filter(|(line, _)| !line.is_empty());
        let entry = |(line, number): (&[u8], u32)| {
            let path = directory.join(NAME);
            serde_json::from_slice(line).map_err(|error| {
                let text = format!("`{}` line {number}: {error}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, text)
            })
        };
        let entries = lines.map(entry).collect::<Result<_, _>>()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Contents> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join(NAME), text)?;
        Contents::read(directory.path())
    }

    #[test]
    fn a_torn_last_line_was_never_acted_upon() {
        let whole = "\"kept\"\n\"netns-directory\"\n";
        for end in 0..whole.len() {
            let found = read(&whole[..end]).unwrap().entries;
            let lines = whole[..end].matches('\n').count();
            assert_eq!(found.len(), lines, "{:?}", &whole[..end]);
        }
        let all = [Entry::Kept, Entry::NetnsDirectory];
        assert_eq!(read(whole).unwrap().entries, all);
    }

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        let error = read("\"kept\"\n\"burnt\"\n").unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.contains("burnt"),
            "{error}"
        );
    }

    #[test]
    fn without_a_journal_there_is_nothing_to_undo() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Contents::read(directory.path()).unwrap().entries.is_empty());
    }
}
