//! `lcmp-lab scenarios`: lists the built-in scenarios and sweeps, or copies them so that the user can change them.

use std::path::Path;

use lab_scenario::{is_sweep, parse_sweep};
use lab_units::show::{self, sides};
use serde::Serialize;

use crate::{
    args::{Global, ScenariosArgs},
    builtin, caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, show},
};

/// Row of the list of built-in scenarios.
#[derive(Serialize)]
struct BuiltInScenario {
    name: String,
    description: String,
}

/// Runs `lcmp-lab scenarios`.
pub fn scenarios(arguments: &ScenariosArgs, global: &Global) -> Outcome {
    match &arguments.copy {
        Some(folder) => copy(folder),
        None => show(global.json, &rows()?, |rows| {
            let row = |row: &BuiltInScenario| [row.name.clone(), row.description.clone()];
            let rows: Vec<_> = rows.iter().map(row).collect();
            show::table(0, sides(2), &rows).trim_end().to_owned()
        }),
    }
}

fn rows() -> Result<Vec<BuiltInScenario>, Failure> {
    let mut rows = Vec::new();
    for (path, bytes) in builtin::files() {
        let is_yaml = path.extension().is_some_and(|it| it == "yaml");
        if !is_yaml || path.starts_with(SUITES) {
            continue;
        }
        let name = path.with_extension("").display().to_string();
        let text = String::from_utf8_lossy(bytes);
        if is_sweep(&text) {
            let sweep = parse_sweep(&name, bytes).map_err(|errors| Failure::scenario(&errors))?;
            let axes: Vec<String> = sweep
                .axes
                .iter()
                .map(|axis| axis.path.to_string())
                .collect();
            let description = format!("Sweep over {}, for `lcmp-lab sweep`", axes.join(", "));
            rows.push(BuiltInScenario { name, description });
            continue;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = |named: &str| builtin::place(&folder.join(named));
        let files = load::needed_files(&name, bytes, place)?;
        let scenario = load::parse(&name, bytes, &files)?;
        rows.push(BuiltInScenario {
            description: scenario.description,
            name,
        });
    }
    Ok(rows)
}

/// Copies all built-in files into the new folder `folder`.
fn copy(folder: &Path) -> Outcome {
    let action = format!("copy the scenarios into `{}`", folder.display());
    if folder.exists() {
        return Err(Failure::usage(format_args!(
            "`{}` already exists (hint: name a new folder)",
            folder.display()
        )));
    }
    for (path, bytes) in builtin::files() {
        let file = folder.join(path);
        caller::create_dirs(file.parent().unwrap_or(folder)).during(&action)?;
        caller::write(&file, bytes).during(&action)?;
    }
    note(&format!("copied into {}", folder.display()));
    Ok(Exit::Pass)
}

/// Folder of the suites, which the list of scenarios leaves out.
const SUITES: &str = "suites";
