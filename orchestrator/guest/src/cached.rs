//! Facts about this machine that are stored in cache files. Each fact has a key and is valid while the key is
//! unchanged.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use lab_files::{Links, draft};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Contents of a cache file: a fact about this machine, and the key for which the fact is valid.
#[derive(Deserialize, Serialize)]
struct Record<T> {
    key: String,
    value: T,
}

/// Returns the fact in `file` if it was stored with the same `key`. The file is searched in `cache`, then in the user's
/// cache directory.
#[must_use]
pub fn load<T: DeserializeOwned>(cache: &Path, file: &str, key: &str) -> Option<T> {
    directories(cache)
        .into_iter()
        .filter_map(|dir| lab_files::read(&dir.join(file), Links::Refuse, MAX_FACT).ok())
        .filter_map(|bytes| serde_json::from_slice::<Record<T>>(&bytes).ok())
        .find(|record| record.key == key)
        .map(|record| record.value)
}

/// Writes a fact to `file` in the first writable cache directory, and returns the path of the file.
///
/// # Errors
/// If no directory is writable; returns the error for the last directory.
pub fn store<T: Serialize>(cache: &Path, file: &str, key: &str, value: &T) -> io::Result<PathBuf> {
    let key = key.to_owned();
    let json = serde_json::to_string(&Record { key, value })?;
    let mut last = io::Error::other("no cache directory");
    for dir in directories(cache) {
        match write(&dir, file, &json) {
            Ok(()) => return Ok(dir.join(file)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Replaces a file atomically, without following links: the directory may be in the home of the user who called sudo.
fn write(dir: &Path, file: &str, json: &str) -> io::Result<()> {
    draft::make_dir(dir)?;
    draft::replace(&dir.join(file), json.as_bytes())
}

/// Returns the directories for cache files: `cache`, then the user's cache directory.
#[must_use]
pub fn directories(cache: &Path) -> Vec<PathBuf> {
    let of_home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let user = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(of_home)
        .map(|dir| dir.join("lcmp-lab"));
    [cache.to_owned()].into_iter().chain(user).collect()
}

/// Returns the model of this machine's first CPU; empty if it is unknown.
#[must_use]
pub fn cpu_model() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    first_model(&cpus)
}

/// Returns the model of the first CPU listed in `/proc/cpuinfo`.
fn first_model(cpuinfo: &str) -> String {
    let fields = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let first = cpuinfo.lines().take_while(|line| !line.is_empty());
    let values = first
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| fields.contains(&name.trim()))
        .map(|(_, value)| value.trim());
    values.collect::<Vec<_>>().join(" ")
}

/// Maximum size of a fact's file in bytes, a thousand times the size of real facts.
const MAX_FACT: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_holds_for_its_key() {
        let cache = tempfile::tempdir().unwrap();
        let file = "fact.json";
        let stored = store(cache.path(), file, "a", &7).unwrap();
        assert_eq!(stored, cache.path().join(file));
        assert_eq!(load(cache.path(), file, "a"), Some(7));
        assert_eq!(load::<u32>(cache.path(), file, "b"), None);
        assert_eq!(
            load::<String>(cache.path(), file, "a"),
            None,
            "another type"
        );
        fs::write(cache.path().join(file), "{").unwrap();
        assert_eq!(load::<u32>(cache.path(), file, "a"), None, "a damaged file");
    }

    #[test]
    fn the_model_is_that_of_the_first_cpu() {
        let info =
            "processor\t: 0\nmodel\t\t: 167\nmodel name\t: X\ncpu MHz\t: 2600.1\n\nmodel\t: 9\n";
        assert_eq!(first_model(info), "167 X");
    }
}
