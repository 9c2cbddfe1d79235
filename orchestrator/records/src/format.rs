//! Check of a file's format number; see the crate's rules for [formats](crate#formats).
//!
//! [`RunDir::open`](crate::RunDir::open) checks the formats of `run.json` and `plan.json`, so every reader of a run
//! does. Files are not converted between formats, because a conversion error could go unnoticed; a run can be repeated
//! from its `scenario.yaml` instead.

use std::path::Path;

use crate::error::RecordsError;

/// Fails if `found`, the format number of the file at `path`, is not `own`, this program's format number.
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
