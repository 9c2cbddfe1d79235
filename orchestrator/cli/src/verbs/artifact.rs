//! Files of the paper's NS-3 artifact as scenarios: `import`, and `sim --artifact`.

use std::path::{Component, Path, PathBuf};

use lab_artifact::{ImportOptions, RoutingTable, SourceFile};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_scenario::{Files, limits};
use lab_sim::semantics::NextHopOrder;
use lab_units::Nanos;

use crate::{
    args::ImportArgs,
    caller,
    failure::{Failure, Outcome},
    load::{self, Loaded},
};

/// Runs `lcmp-lab import`.
pub fn import(arguments: &ImportArgs) -> Outcome {
    let folder = match &arguments.output {
        Some(file) => file.parent().map_or_else(PathBuf::new, Path::to_owned),
        None => PathBuf::new(),
    };
    let named = |path: &Path| relative(path, &folder);
    let routes = arguments
        .routes
        .as_ref()
        .map(|path| named(path).map(|name| (path, name)))
        .transpose()?;
    let loaded = loaded(
        &arguments.topology,
        (&arguments.flows, &named(&arguments.flows)?),
        routes,
        arguments.max_delay,
    )?;
    // Wrong inputs, such as flows of another topology, are refused here and not by a later verb.
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    load::resolve(&loaded, &arguments.flows, &options)?;
    caller::write_to(arguments.output.as_deref(), &loaded.text)
}

/// Returns the scenario made from `topology`, `flows` and `routes`. `flows` and `routes` are each a path and the name
/// that the scenario uses for the file. Fails with exit code 2 if a file cannot be read or parsed.
pub fn loaded(
    topology: &Path,
    (flows, flows_name): (&Path, &str),
    routes: Option<(&PathBuf, String)>,
    max_delay: Nanos,
) -> Result<Loaded, Failure> {
    let topology_text = load::read_text(topology, limits::MAX_FILE_BYTES)?;
    let flows_text = load::read_text(flows, limits::MAX_FILE_BYTES)?;
    let options = ImportOptions {
        name: name_of(flows),
        max_delay,
        routes: routes.as_ref().map(|(_, name)| name.clone()),
    };
    let source = |path, text| SourceFile { path, text };
    let topology = topology.display().to_string();
    let topology = source(&topology, &topology_text);
    let flows = source(flows_name, &flows_text);
    let text = lab_artifact::import(topology, flows, &options).map_err(Failure::usage)?;
    let scenario = lab_scenario::parse("the imported scenario", text.as_bytes());
    let mut files = Files::from([(flows_name.to_owned(), flows_text)]);
    if let Some((path, name)) = routes {
        files.insert(name, load::read_text(path, limits::MAX_FILE_BYTES)?);
    }
    Ok(Loaded {
        scenario: scenario.map_err(Failure::usage)?,
        text,
        files,
    })
}

/// Returns the order of equal-cost next hops, read from the routing table that the scenario of `plan` names; `None` if
/// the scenario names no table. Fails with exit code 2 if the table cannot be parsed or applied to the plan.
pub fn order(loaded: &Loaded, plan: &Plan) -> Result<Option<NextHopOrder>, Failure> {
    let Some(name) = &loaded.scenario.transport.routes else {
        return Ok(None);
    };
    let text = loaded.files.get(name).map_or("", String::as_str);
    let neighbours = RoutingTable::parse(name, text).and_then(|table| table.in_plan(plan));
    Ok(Some(NextHopOrder {
        neighbours: neighbours.map_err(Failure::usage)?,
    }))
}

/// Returns a scenario name for a file: the file's name without extension, in lower case, with `-` for each character
/// that is not a letter or digit.
pub fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    match name.trim_matches('-') {
        "" => "artifact".to_owned(),
        name => name.chars().take(MAX_NAME).collect(),
    }
}

/// Returns the path of `file` relative to `folder`.
fn relative(file: &Path, folder: &Path) -> Result<String, Failure> {
    // The parent of a bare file name is an empty path, which stands for the working directory.
    let is_bare = folder.as_os_str().is_empty();
    let folder = load::absolute(if is_bare { Path::new(".") } else { folder })?;
    let absolute = load::absolute(file)?;
    let file: Vec<Component<'_>> = absolute.components().collect();
    let folder: Vec<Component<'_>> = folder.components().collect();
    let common = file.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder[common..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(file[common..].iter().copied()).collect();
    Ok(path.display().to_string())
}

/// Maximum length of a scenario's name; longer names would be cut in the names of run directories.
const MAX_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_scenario_is_named_after_its_flows() {
        let name = |path: &str| name_of(Path::new(path));
        let flows = name("traffic/traffic_WebSearch_8DC.txt");
        assert_eq!(flows, "traffic-websearch-8dc");
        assert_eq!(name("___"), "artifact");
    }

    #[test]
    fn a_file_is_found_from_where_the_scenario_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let a = folder.path().join("a");
        let b = folder.path().join("b");
        fs::create_dir(&a).expect("a folder");
        fs::create_dir(&b).expect("a folder");
        fs::write(a.join("flows.txt"), "").expect("a file");
        for (from, expected) in [(&b, "../a/flows.txt"), (&a, "flows.txt")] {
            let path = relative(&a.join("flows.txt"), from).expect("a path");
            assert_eq!(path, expected);
        }
    }
}
