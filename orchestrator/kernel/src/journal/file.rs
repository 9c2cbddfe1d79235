//! Writer and reader of a journal file.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde_json::Value;

use super::{Entry, FORMAT, OWNER_ONLY, if_found};

/// Open journal file, to which entries are appended.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    /// Creates a journal in `directory`; fails if there is one already.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(OWNER_ONLY)
            .open(directory.join(NAME))?;
        Ok(Self { file })
    }

    /// Opens the journal in `directory` for appending, after removing an incomplete last line.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let file = OpenOptions::new().append(true).open(&path)?;
        let whole = whole_lines(&std::fs::read(&path)?).len();
        file.set_len(u64::try_from(whole).unwrap_or(u64::MAX))?;
        Ok(Self { file })
    }

    /// Appends an entry. The change that the entry describes may be made only after this returns.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Entries of a journal; only the first entry if the journal's format has another version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub entries: Vec<Entry>,
}

impl Contents {
    /// Reads the journal in `directory`; without a journal, there are no entries. An incomplete last line is ignored,
    /// because the change that it describes was never made.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let text = if_found(std::fs::read(&path))?.unwrap_or_default();
        Self::parse(&text, &path)
    }

    fn parse(text: &[u8], path: &Path) -> io::Result<Self> {
        let mut lines = whole_lines(text)
            .split(|&b| b == b'\n')
            .zip(1..)
            .filter(|(line, _)| !line.is_empty());
        let entry = |(line, number): (&[u8], u32)| {
            serde_json::from_slice(line).map_err(|error| {
                let text = match other_format(line) {
                    Some(format) => format!(
                        "`{}` has format {format}; this version of lcmp-lab reads format {FORMAT}",
                        path.display()
                    ),
                    None => format!("`{}` line {number}: {error}", path.display()),
                };
                io::Error::new(io::ErrorKind::InvalidData, text)
            })
        };
        let first = lines.next().map(entry).transpose()?;
        let mut contents = Self {
            entries: first.into_iter().collect(),
        };
        if contents.head().is_none_or(|head| head.format == FORMAT) {
            let rest = lines.map(entry).collect::<Result<Vec<_>, _>>()?;
            contents.entries.extend(rest);
        }
        Ok(contents)
    }

    /// Returns the first entry; `None` if the owner was killed before it wrote that entry.
    pub fn head(&self) -> Option<&super::JournalHead> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Lab(head) => Some(head),
            _ => None,
        })
    }
}

/// Returns the complete lines of a journal, without a last line that lacks its newline.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b == b'\n');
    &text[..end.map_or(0, |at| at + 1)]
}

/// Returns the format version in a first entry if it is not [`FORMAT`]. The entry may have other fields than in this
/// version.
fn other_format(line: &[u8]) -> Option<u64> {
    let head: Value = serde_json::from_slice(line).ok()?;
    let format = head.get("lab")?.get("format")?.as_u64()?;
    (format != u64::from(FORMAT)).then_some(format)
}

const NAME: &str = "journal";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::Undone,
        lower::{Clock, HostPlacement, LowerOptions, lower},
        testing,
    };

    fn read(text: &str) -> io::Result<Contents> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join(NAME), text)?;
        Contents::read(directory.path())
    }

    #[test]
    fn a_torn_last_line_is_ignored() {
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
    fn a_torn_last_line_is_cut_off_before_more_lines() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(NAME), "\"kept\"\n\"netns-dir").unwrap();
        let mut journal = Journal::open(directory.path()).unwrap();
        let undone = Entry::Undone(vec![Undone::NetnsDirectory]);
        journal.write(&undone).unwrap();
        let found = Contents::read(directory.path()).unwrap().entries;
        assert_eq!(found, [Entry::Kept, undone]);
    }

    #[test]
    fn an_unknown_line_is_named() {
        let error = read("\"kept\"\n\"burnt\"\n").unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.contains("burnt"),
            "{error}"
        );
    }

    #[test]
    fn lines_after_the_head_of_another_format_are_not_read() {
        let head = r#"{"lab":{"format":1,"lab":"t","scenario":"s","slot":0,"boot_id":"b","since":0,
            "owner":{"process":{"pid":1,"start":1},"command":"c"},"place":"here"}}"#;
        let text = format!("{}\n\"burnt\"\n", head.replace('\n', " "));
        let contents = read(&text).unwrap();
        assert_eq!(contents.head().map(|head| head.format), Some(1));
        assert_eq!(contents.entries.len(), 1);
    }

    #[test]
    fn a_head_of_an_unknown_shape_is_named_by_its_format() {
        let error = read("{\"lab\":{\"format\":99,\"colour\":1}}\n").unwrap_err();
        assert!(error.to_string().contains("has format 99; "), "{error}");
        let error = read("{\"lab\":{}}\n").unwrap_err().to_string();
        assert!(error.contains("line 1: missing field"), "{error}");
    }

    #[test]
    fn others_can_neither_read_nor_lock_a_journal() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        Journal::create(directory.path()).unwrap();
        let journal = std::fs::metadata(directory.path().join(NAME)).unwrap();
        assert_eq!(journal.permissions().mode() & 0o777, OWNER_ONLY);
    }

    #[test]
    fn a_missing_journal_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Contents::read(directory.path()).unwrap().entries.is_empty());
    }

    #[test]
    fn a_damaged_journal_is_read_or_refused() {
        let head = r#"{"lab":{"format":3,"lab":"t","scenario":"s","slot":0,"boot_id":"b","since":0,"owner":{"process":{"pid":1,"start":1},"command":"c"},"place":"here"}}"#;
        let options = LowerOptions {
            lab: "t".parse().unwrap(),
            hosts: HostPlacement::OwnNamespace,
            clock: Clock::Real,
            delay_lines: true,
            cpus: 2,
        };
        let entries = [
            Entry::NetnsDirectory,
            Entry::Do(lower(&testing::pair(0), &options)),
            Entry::Pins("/sys/fs/bpf/t".into()),
            Entry::Kept,
        ];
        let lines = entries.map(|entry| serde_json::to_string(&entry).unwrap());
        let text = format!("{head}\n{}\n", lines.join("\n"));
        lab_fuzz::fuzz("journal", &[text], |bytes| {
            let read = Contents::parse(bytes, "/run/lcmp-lab/t/journal".as_ref());
            read.is_ok_and(|contents| contents.head().is_some())
        });
    }
}
