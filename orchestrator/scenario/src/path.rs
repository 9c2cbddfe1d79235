//! Paths of files that are named in a file.

use std::path::Path;

/// Resolves the path `named`, written in `file`, against the folder of `file`. Without `file`, the scenario itself
/// contains the path, which stays as written.
pub(crate) fn beside(file: Option<&str>, named: &str) -> String {
    let Some(file) = file else {
        return named.to_owned();
    };
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    folder.join(named).display().to_string()
}
