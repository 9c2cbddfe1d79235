//! Directories that a lab writes to: results and `/run`.

use std::path::{Path, PathBuf};

use lab_units::Bytes;
use nix::{
    errno::Errno,
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};

use super::finding::{Finding, in_short};

pub(super) fn findings(results: &Path) -> [Finding; 2] {
    [results_directory(results), run()]
}

/// Checks that run directories can be created in `results`, which may not exist yet, and that a run
/// fits.
#[must_use]
pub fn results_directory(results: &Path) -> Finding {
    let (subject, why) = ("results", "records and reports are written there");
    let shown = results.display();
    if results.exists() && !results.is_dir() {
        return Finding::fail(subject, format!("`{shown}` is not a directory"), why)
            .with_fix(ELSEWHERE);
    }
    let Some(directory) = existing(results) else {
        return Finding::fail(subject, format!("`{shown}` cannot be made"), why);
    };
    if let Err(errno) = access(&directory, AccessFlags::W_OK) {
        let what = format!(
            "cannot write to `{}`: {}",
            directory.display(),
            errno.desc()
        );
        return Finding::fail(subject, what, why).with_fix(ELSEWHERE);
    }
    match free(&directory) {
        Ok(free) => room(&shown.to_string(), free),
        Err(errno) => Finding::warn(subject, format!("`{shown}`: {}", errno.desc()), why),
    }
}

fn room(shown: &str, free: Bytes) -> Finding {
    let (subject, why) = ("results", "records and reports are written there");
    let what = format!("{} free for `{shown}`", in_short(free));
    let finding = if free < ONE_RUN {
        Finding::fail(subject, format!("{what}, a run may take {ONE_RUN}"), why)
    } else if free < MANY_RUNS {
        Finding::warn(subject, what, why)
    } else {
        return Finding::ok(subject, what, why);
    };
    finding.with_fix(ELSEWHERE)
}

fn run() -> Finding {
    let (subject, why) = (
        "/run",
        "a lab's journal and its namespaces' names are there",
    );
    match access("/run", AccessFlags::W_OK) {
        Ok(()) => Finding::ok(subject, "it can be written to", why),
        Err(errno) => {
            let what = format!("it cannot be written to: {}", errno.desc());
            Finding::fail(subject, what, why).with_fix(match errno {
                Errno::EROFS | Errno::ENOENT => "mount -t tmpfs tmpfs /run",
                _ => "sudo lcmp-lab doctor",
            })
        }
    }
}

/// Returns the directory or its nearest existing ancestor.
fn existing(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let found = absolute.ancestors().find(|ancestor| ancestor.is_dir())?;
    Some(found.to_owned())
}

fn free(directory: &Path) -> nix::Result<Bytes> {
    let stat = statvfs(directory)?;
    Ok(Bytes::new(
        stat.blocks_available().saturating_mul(stat.fragment_size()),
    ))
}

const ELSEWHERE: &str = "lcmp-lab --results DIR …";

/// Size of a run of the paper's testbed with its report.
const ONE_RUN: Bytes = Bytes::new(50_000_000);
/// Size of ten runs.
const MANY_RUNS: Bytes = Bytes::new(500_000_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn results_may_be_a_directory_that_does_not_exist_yet() {
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("a/b/results");
        assert_eq!(existing(&results).as_deref(), Some(directory.path()));
        assert_ne!(results_directory(&results).level, Level::Fail);
        assert!(!results.exists());
    }

    #[test]
    fn a_file_system_that_cannot_be_written_to_fails() {
        let finding = results_directory(Path::new("/proc/results"));
        assert_eq!(finding.level, Level::Fail, "{finding}");
    }

    #[test]
    fn room_runs_short_by_degrees() {
        assert_eq!(room("results", Bytes::new(1_000_000)).level, Level::Fail);
        assert_eq!(room("results", Bytes::new(100_000_000)).level, Level::Warn);
        assert_eq!(room("results", Bytes::new(9_000_000_000)).level, Level::Ok);
    }
}
