//! Files of the paper's NS-3 artifact as scenarios: `import`, and `sim --artifact`.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use lab_artifact::{ImportOptions, RoutingTable, Source};
use lab_plan::Plan;
use lab_scenario::limits;
use lab_sim::semantics::NextHopOrder;

use crate::{
    args::ImportArgs,
    failure::{During, Exit, Failure, Outcome},
    load::{self, Loaded},
    terminal::{note, print},
};

/// Runs `lcmp-lab import`.
pub fn import(arguments: &ImportArgs) -> Outcome {
    let folder = match &arguments.output {
        Some(file) => file.parent().map_or_else(PathBuf::new, Path::to_owned),
        None => PathBuf::new(),
    };
    let options = ImportOptions {
        name: name_of(&arguments.flows),
        max_delay: arguments.max_delay,
    };
    let loaded = loaded(
        &arguments.topology,
        &arguments.flows,
        &relative(&arguments.flows, &folder)?,
        &options,
    )?;
    match &arguments.output {
        Some(path) => {
            fs::write(path, &loaded.text).during(format_args!("write `{}`", path.display()))?;
            note(&format!("wrote {}", path.display()));
        }
        None => print(&loaded.text),
    }
    Ok(Exit::Pass)
}

/// Returns the scenario of `topology` and `flows`; the scenario refers to the flow file as `named`.
///
/// # Errors
/// A file that cannot be read or parsed, with exit code 2.
pub fn loaded(
    topology: &Path,
    flows: &Path,
    named: &str,
    options: &ImportOptions,
) -> Result<Loaded, Failure> {
    let topology_text = load::read_text(topology, limits::MAX_FILE_BYTES)?;
    let flows_text = load::read_text(flows, limits::MAX_FILE_BYTES)?;
    let text = lab_artifact::import(
        Source {
            path: &topology.display().to_string(),
            text: &topology_text,
        },
        Source {
            path: named,
            text: &flows_text,
        },
        options,
    )
    .map_err(Failure::usage)?;
    let scenario = lab_scenario::parse("the imported scenario", text.as_bytes());
    Ok(Loaded {
        scenario: scenario.map_err(Failure::usage)?,
        text,
        files: [(named.to_owned(), flows_text)].into(),
    })
}

/// Returns the order of equal next hops in `plan` by the routing table at `path`.
///
/// # Errors
/// A table that cannot be read, parsed or applied to the plan, with exit code 2.
pub fn order(path: &Path, plan: &Plan) -> Result<NextHopOrder, Failure> {
    let text = load::read_text(path, limits::MAX_FILE_BYTES)?;
    let table = RoutingTable::parse(&path.display().to_string(), &text);
    let neighbours = table.and_then(|table| table.in_plan(plan));
    Ok(NextHopOrder {
        neighbours: neighbours.map_err(Failure::usage)?,
    })
}

/// Returns a scenario name of letters, digits and `-` for a file.
pub fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let kept = stem.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    });
    let name: String = kept.collect();
    match name.trim_matches('-') {
        "" => "artifact".to_owned(),
        name => name.chars().take(MAX_NAME).collect(),
    }
}

/// Returns the relative path from `folder` to `file`.
fn relative(file: &Path, folder: &Path) -> Result<String, Failure> {
    let folder = match folder.as_os_str().is_empty() {
        true => load::absolute(Path::new("."))?,
        false => load::absolute(folder)?,
    };
    let file = load::absolute(file)?;
    let (file, folder): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (file.components().collect(), folder.components().collect());
    let common = file.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder[common..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(file[common..].iter().copied()).collect();
    Ok(path.display().to_string())
}

/// Maximum length of a scenario's name; names of run directories cut longer ones.
const MAX_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_named_after_its_flows() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(
            name("traffic/traffic_WebSearch_8DC.txt"),
            "traffic-websearch-8dc"
        );
        assert_eq!(name("___"), "artifact");
    }

    #[test]
    fn a_file_is_found_from_where_the_scenario_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&a).expect("a folder");
        fs::create_dir(&b).expect("a folder");
        fs::write(a.join("flows.txt"), "").expect("a file");
        let path = relative(&a.join("flows.txt"), &b).expect("a path");
        assert_eq!(path, "../a/flows.txt");
        assert_eq!(
            relative(&a.join("flows.txt"), &a).expect("a path"),
            "flows.txt"
        );
    }
}
