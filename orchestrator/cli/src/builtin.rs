//! Scenarios, suites, workloads and published values of the repository, compiled into the program. They are read if a
//! path on the command line names no file.
//!
//! Their paths look like `built-in:scenarios/8dc.yaml`, also in messages. Paths inside a built-in scenario are relative
//! to its folder, as for files.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

/// Returns the path to read `path` from: `path` itself if it exists, else a built-in file or folder of this name. A
/// bare name, such as `smoke` or `paper/fig1`, finds a built-in scenario or suite.
pub fn resolve(path: &Path) -> PathBuf {
    let missing = path
        .symlink_metadata()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let found = missing.then(|| by_path(path).or_else(|| by_name(path)));
    found.flatten().unwrap_or_else(|| path.to_owned())
}

/// Returns the contents of a built-in file; `None` if `path` names no built-in file.
pub fn read(path: &Path) -> Option<&'static [u8]> {
    let wanted = normal(path.to_str()?.strip_prefix(PREFIX)?.as_ref())?;
    let file = FILES.iter().find(|(name, _)| wanted == Path::new(name))?;
    Some(file.1)
}

/// Returns the path, relative to the folder of scenarios, and the contents of each built-in file.
pub fn files() -> impl Iterator<Item = (&'static Path, &'static [u8])> {
    let inner = |path: &'static str| Path::new(path).strip_prefix(FOLDER).ok();
    FILES
        .iter()
        .filter_map(move |(path, bytes)| Some((inner(path)?, *bytes)))
}

/// Returns the path to read the built-in file at `path` from, which is relative to the folder of scenarios.
pub fn place(path: &Path) -> PathBuf {
    prefixed(&Path::new(FOLDER).join(path))
}

/// Returns the names of all built-in scenarios and suites, such as `smoke` or `paper/fig1`.
pub fn names() -> impl Iterator<Item = PathBuf> {
    let paths = files().map(|(path, _)| path);
    let yaml = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    yaml.map(|path| path.with_extension(""))
}

fn by_path(path: &Path) -> Option<PathBuf> {
    let path = normal(path)?;
    let is_there = FILES.iter().any(|(file, _)| {
        let file = Path::new(file);
        file.starts_with(&path) && path != Path::new("")
    });
    is_there.then(|| prefixed(&path))
}

fn by_name(name: &Path) -> Option<PathBuf> {
    let is_named = |path: &Path| {
        let is_yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml");
        let whole = path.strip_prefix(FOLDER).unwrap_or(path).with_extension("");
        is_yaml && (whole == name || path.file_stem() == Some(name.as_os_str()))
    };
    let mut paths = FILES.iter().map(|(path, _)| Path::new(path));
    paths.find(|path| is_named(path)).map(prefixed)
}

fn prefixed(path: &Path) -> PathBuf {
    format!("{PREFIX}{}", path.display()).into()
}

/// Returns a relative path without `.` and `..` parts; `None` if it leaves the folder that it starts from.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

const PREFIX: &str = "built-in:";

const FOLDER: &str = "scenarios";

/// Contents of the built-in files by their paths in the repository, sorted; `build.rs` generates the list.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn files_are_those_of_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (path, bytes) in files() {
            assert_eq!(fs::read(root.join(FOLDER).join(path)).unwrap(), bytes);
        }
        assert!(FILES.len() > 30, "{}", FILES.len());
    }

    #[test]
    fn what_no_file_has_is_built_in_by_path_or_name() {
        let resolved = |path: &str| resolve(path.as_ref()).display().to_string();
        assert_eq!(
            resolved("./scenarios/8dc.yaml"),
            "built-in:scenarios/8dc.yaml"
        );
        assert_eq!(resolved("smoke"), "built-in:scenarios/smoke.yaml");
        for name in ["fig1", "paper/fig1"] {
            assert_eq!(resolved(name), "built-in:scenarios/paper/fig1.yaml");
        }
        assert_eq!(resolved("scenarios/paper"), "built-in:scenarios/paper");
        for other in [
            "src",
            "none",
            "none.yaml",
            "",
            "/scenarios/8dc.yaml",
            "../scenarios",
        ] {
            assert_eq!(resolved(other), other);
        }
    }

    #[test]
    fn paths_in_a_scenario_are_relative_to_it() {
        let folder = Path::new("built-in:scenarios/paper");
        assert!(read(&folder.join("../workloads/websearch.csv")).is_some());
        assert!(read(&folder.join("../../../scenarios/8dc.yaml")).is_none());
        assert!(read(Path::new("scenarios/8dc.yaml")).is_none());
    }

    #[test]
    fn bare_names_are_of_one_file_each() {
        let paths = FILES.iter().map(|(path, _)| Path::new(path));
        let yaml = paths.filter(|path| path.extension().is_some_and(|it| it == "yaml"));
        let stems: Vec<_> = yaml.filter_map(Path::file_stem).collect();
        assert_eq!(stems.iter().collect::<BTreeSet<_>>().len(), stems.len());
    }
}
