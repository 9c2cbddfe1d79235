//! Whether a run can get to its end, as far as that shows before anything is made.

use std::path::Path;

use lab_guest::{
    cache,
    probe::{self, Finding},
};
use lab_kernel::doctor::{self, Level};
use lab_units::Bytes;

use crate::failure::Failure;

/// Refuses a run that has nowhere to write to or, in a guest of `guest_memory`, no guest to run in.
pub fn check(results: &Path, guest_memory: Option<Bytes>) -> Result<(), Failure> {
    let directory = doctor::results_directory(results);
    if directory.level == Level::Fail {
        let hint = directory.mend.map(|mend| format!(" (hint: {mend})"));
        return Err(Failure::environment(format_args!(
            "results: {}{}",
            directory.what,
            hint.unwrap_or_default()
        )));
    }
    let Some(memory) = guest_memory else {
        return Ok(());
    };
    let mut lacking = probe::lacking(&cache::default_dir());
    // This guest's own need, in place of any guest's.
    lacking.retain(|finding| !matches!(finding, Finding::NoMemory { .. }));
    lacking.extend(probe::lacking_memory(memory));
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
