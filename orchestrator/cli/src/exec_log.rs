//! Log of the commands that `exec` ran in a lab of this kernel, beside the lab's journal; the run reads
//! it before the lab is taken down.

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

/// Adds a command to the log of `lab`; a failure is only a warning, since the command itself can run.
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
            "warning: the run will not know of this command: {error}"
        ));
    }
}

/// Returns the commands that were run in `lab`, in order.
pub fn read(lab: &LabName) -> Vec<LiveChange> {
    read_from(&path(lab))
}

fn path(lab: &LabName) -> PathBuf {
    journal::directory(lab).join("exec.log")
}

fn append_to(path: &Path, change: &LiveChange) -> io::Result<()> {
    let mut line = serde_json::to_vec(change)?;
    line.push(b'\n');
    // One write appends the line whole, whoever else writes.
    lab_files::append(path)?.write_all(&line)
}

/// Returns the entries of a log; empty if there is no log. A line that was cut off is left out.
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
