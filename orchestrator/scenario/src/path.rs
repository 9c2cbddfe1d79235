//! Paths of files that are named in a file.

use std::path::Path;

/// Returns the path of the file that `file` names `named`, relative to where the path of `file` starts. Without `file`,
/// the scenario names it, and its path stays as written.
pub(crate) fn beside(file: Option<&str>, named: &str) -> String {
    let Some(file) = file else {
        return named.to_owned();
    };
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    folder.join(named).display().to_string()
}
