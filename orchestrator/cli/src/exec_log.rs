//! Log of the commands that `exec` ran in a lab on this kernel. It lies next to the lab's journal, and the run reads it
//! before the lab is taken down.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_kernel::{LabName, journal};
use lab_records::{ChangeKind, LiveChange, UtcTime};

use crate::terminal::note;

/// Adds a command that `exec` runs on `node` to the log of `lab`. A failure is only a warning, because the command
/// itself can still run.
pub fn append(lab: &LabName, node: &str, command: &[OsString]) {
    let mut words = vec![node.into(), "--".into()];
    words.extend(command.iter().map(|word| word.to_string_lossy()));
    let change = LiveChange {
        kind: ChangeKind::Exec,
        policy: None,
        repetition: None,
        time_ns: None,
        at: Some(UtcTime::new(SystemTime::now())),
        text: words.join(" "),
    };
    if let Err(error) = append_to(&path(lab), &change) {
        note(&format!(
            "warning: the run will not record this command: {error}"
        ));
    }
}

/// Returns the commands that `exec` ran in `lab`, in order.
pub fn read(lab: &LabName) -> Vec<LiveChange> {
    read_from(&path(lab))
}

fn path(lab: &LabName) -> PathBuf {
    journal::directory(lab).join("exec.log")
}

fn append_to(path: &Path, change: &LiveChange) -> io::Result<()> {
    let mut line = serde_json::to_vec(change)?;
    line.push(b'\n');
    // A single write appends the whole line, even if another process appends at the same time.
    lab_files::append(path)?.write_all(&line)
}

/// Returns the entries of the log at `path`; empty if it cannot be read. Lines that cannot be parsed, such as an
/// incomplete last one, are left out.
fn read_from(path: &Path) -> Vec<LiveChange> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let entries = text.lines().map(serde_json::from_str);
    entries.filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn commands_are_read_in_order_and_a_cut_line_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("exec.log");
        assert_eq!(read_from(&log), []);
        let change = |text: &str| LiveChange {
            kind: ChangeKind::Exec,
            policy: None,
            repetition: None,
            time_ns: None,
            at: "2026-11-21T09:30:00.000Z".parse().ok(),
            text: text.to_owned(),
        };
        for text in ["dc1 -- ip link", "dc2 -- echo two\nlines"] {
            append_to(&log, &change(text)).unwrap();
        }
        let mut file = File::options().append(true).open(&log).unwrap();
        file.write_all(b"{\"kind\":").unwrap();
        let expected = [change("dc1 -- ip link"), change("dc2 -- echo two\nlines")];
        assert_eq!(read_from(&log), expected);
    }
}
