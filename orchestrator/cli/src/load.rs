//! From a path on the command line to a plan.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use lab_plan::{Engine, Plan, PlanOptions};
use lab_scenario::{Files, Scenario, limits};

use crate::{args::ScenarioArgs, failure::Failure};

/// A scenario and the texts it was read from.
pub struct Loaded {
    /// What it says.
    pub scenario: Scenario,
    /// Its text.
    pub text: String,
    /// The texts of the files it names.
    pub files: Files,
}

/// Reads a scenario and the files it names.
///
/// # Errors
/// With exit code 2, whatever is wrong: the file is the user's.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    let name = path.display().to_string();
    let bytes = read_limited(path, limits::MAX_SCENARIO_BYTES)?;
    let scenario = lab_scenario::parse(&name, &bytes).map_err(Failure::usage)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let mut files = Files::new();
    for named in lab_scenario::files(&scenario) {
        let bytes = read_limited(&base.join(named), limits::MAX_FILE_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Failure::usage(format_args!(
                "`{named}`, named by `{name}`, is not UTF-8: {error}"
            ))
        })?;
        files.insert(named.to_owned(), text);
    }
    let text = String::from_utf8(bytes).expect("a scenario that parses is UTF-8");
    Ok(Loaded {
        scenario,
        text,
        files,
    })
}

/// Reads and plans a scenario for the lab slot `slot`.
///
/// # Errors
/// With exit code 2.
pub fn plan(arguments: &ScenarioArgs, slot: u8) -> Result<(Loaded, Plan), Failure> {
    let loaded = load(&arguments.scenario)?;
    let plan = plan_loaded(&loaded, arguments, slot)?;
    Ok((loaded, plan))
}

/// Plans a scenario that was read.
///
/// # Errors
/// With exit code 2.
pub fn plan_loaded(loaded: &Loaded, arguments: &ScenarioArgs, slot: u8) -> Result<Plan, Failure> {
    let options = PlanOptions {
        slot,
        seed: arguments.seed,
        policies: (!arguments.policies.is_empty()).then(|| arguments.policies.clone()),
        engine: Engine::Kernel,
        is_scaled: true,
    };
    resolve(loaded, &arguments.scenario, &options)
}

/// Plans a scenario that was read from `path`.
///
/// # Errors
/// With exit code 2.
pub fn resolve(loaded: &Loaded, path: &Path, options: &PlanOptions) -> Result<Plan, Failure> {
    lab_plan::resolve(&loaded.scenario, &loaded.text, &loaded.files, options)
        .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))
}

/// Reads a text of at most `limit` bytes.
///
/// # Errors
/// With exit code 2.
pub fn read_text(path: &Path, limit: usize) -> Result<String, Failure> {
    String::from_utf8(read_limited(path, limit)?)
        .map_err(|error| Failure::usage(format_args!("`{}` is not UTF-8: {error}", path.display())))
}

/// One byte more than allowed is read, so that a larger file is refused without being held.
fn read_limited(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let unreadable = |source: std::io::Error| {
        Failure::usage(format_args!("cannot read `{}`: {source}", path.display()))
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Failure::usage(format_args!(
            "`{}` is a directory",
            path.display()
        )));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > limit {
        return Err(Failure::usage(format_args!(
            "`{}` is larger than {limit} bytes, the most such a file may have",
            path.display()
        )));
    }
    Ok(bytes)
}

/// An absolute path, so that it names the same file inside a guest.
///
/// # Errors
/// When the file is not there.
pub fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|source| {
        Failure::usage(format_args!("cannot read `{}`: {source}", path.display()))
    })
}
