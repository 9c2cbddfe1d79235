//! Directories to which a lab writes: the results directory and `/run`.

use std::path::{Path, PathBuf};

use lab_units::Bytes;
use nix::{
    errno::Errno,
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};

use super::finding::{Finding, Requirement, in_short};

pub(super) fn findings(results: &Path) -> [Finding; 2] {
    [results_directory(results), run()]
}

/// Checks that run directories can be created in `results`, which may not exist yet, and that the disk has room for a
/// run.
#[must_use]
pub fn results_directory(results: &Path) -> Finding {
    let shown = results.display();
    if results.exists() && !results.is_dir() {
        let what = format!("`{shown}` is not a directory");
        return RESULTS.fail(what).with_fix(ELSEWHERE);
    }
    let Some(directory) = existing(results) else {
        return RESULTS.fail(format!("`{shown}` cannot be created"));
    };
    if let Err(errno) = access(&directory, AccessFlags::W_OK) {
        let directory = directory.display();
        let why = errno.desc();
        let what = format!("cannot write to `{directory}`: {why}");
        return RESULTS.fail(what).with_fix(ELSEWHERE);
    }
    match free(&directory) {
        Ok(free) => room(&shown.to_string(), free),
        Err(errno) => RESULTS.warn(format!("`{shown}`: {}", errno.desc())),
    }
}

pub(super) fn room(shown: &str, free: Bytes) -> Finding {
    let what = format!("{} free for `{shown}`", in_short(free));
    let finding = if free < ONE_RUN {
        RESULTS.fail(format!("{what}; a run may take {ONE_RUN}"))
    } else if free < MANY_RUNS {
        RESULTS.warn(what)
    } else {
        return RESULTS.ok(what);
    };
    finding.with_fix(ELSEWHERE)
}

fn run() -> Finding {
    let about = Requirement(
        "/run",
        "`/run` contains the journals of labs and the files of their namespaces",
    );
    match access("/run", AccessFlags::W_OK) {
        Ok(()) => about.ok("writable"),
        Err(errno) => {
            let finding = about.fail(format!("not writable: {}", errno.desc()));
            finding.with_fix(match errno {
                Errno::EROFS | Errno::ENOENT => "mount -t tmpfs tmpfs /run",
                _ => "sudo lcmp-lab doctor",
            })
        }
    }
}

/// Returns `path` if it is a directory, otherwise its nearest ancestor that is a directory.
pub(super) fn existing(path: &Path) -> Option<PathBuf> {
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

const RESULTS: Requirement = Requirement(
    "results",
    "records and reports are written to this directory",
);
const ELSEWHERE: &str = "lcmp-lab --results DIR …";

/// Disk space that a run of the paper's testbed takes, including its report.
const ONE_RUN: Bytes = Bytes::new(50_000_000);
/// Disk space that ten runs take.
const MANY_RUNS: Bytes = Bytes::new(500_000_000);
