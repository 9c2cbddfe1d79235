//! Whether a run can get to its end, as far as that shows before anything is made.

use std::path::Path;

use lab_guest::{cache, probe};
use lab_kernel::doctor::{self, Level};

use crate::failure::Failure;

/// Refuses a run that has nowhere to write to or, in a guest, no guest to run in.
pub fn check(results: &Path, in_guest: bool) -> Result<(), Failure> {
    let directory = doctor::results_directory(results);
    if directory.level == Level::Fail {
        let hint = directory.mend.map(|mend| format!(" (hint: {mend})"));
        return Err(Failure::environment(format_args!(
            "results: {}{}",
            directory.what,
            hint.unwrap_or_default()
        )));
    }
    if !in_guest {
        return Ok(());
    }
    let lacking = probe::lacking(&cache::default_dir());
    if lacking.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = lacking
        .iter()
        .map(|finding| format!("{finding} (hint: {})", finding.remedy()))
        .collect();
    Err(Failure::environment(format_args!(
        "there can be no guest: {}",
        texts.join("; ")
    )))
}
