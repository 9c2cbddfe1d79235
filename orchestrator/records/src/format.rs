//! Comparison of a file's format with the program's own, by the rule of the crate's [formats](crate#formats).
//!
//! [`RunDir::open`](crate::RunDir::open) compares the formats of `run.json` and `plan.json`, so every reader of a run
//! does. There is no conversion: a run can be made again from its `scenario.yaml`, and half-understood data mislead.

use std::path::Path;

use crate::error::RecordsError;

/// Refuses the file at `path` if its format `found` is not `own`, this program's format.
pub(crate) fn check(path: &Path, found: u32, own: u32) -> Result<(), RecordsError> {
    if found == own {
        Ok(())
    } else {
        Err(RecordsError::OtherFormat {
            path: path.to_owned(),
            found,
            own,
        })
    }
}
