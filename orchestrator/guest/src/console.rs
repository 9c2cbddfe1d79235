//! Reading the kernel's console log.

use std::{fs, path::Path};

/// What the kernel said when it panicked, if it did.
pub(crate) fn panic_message(log: &Path) -> Option<String> {
    let bytes = fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find_map(|line| {
        let at = line.find(PANIC)?;
        Some(line[at..].trim_end().to_owned())
    })
}

const PANIC: &str = "Kernel panic - ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_panic_line_is_found_without_its_time_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("console.log");
        let text = "[ 1.0] ok\r\n[    1.5] Kernel panic - not syncing: sysrq\r\n[ 1.6] CPU: 0\r\n";
        fs::write(&log, text).unwrap();
        let message = panic_message(&log).unwrap();
        assert_eq!(message, "Kernel panic - not syncing: sysrq");
    }

    #[test]
    fn a_log_without_panic_or_no_log_gives_nothing() {
        assert_eq!(panic_message(Path::new("/nonexistent")), None);
    }
}
