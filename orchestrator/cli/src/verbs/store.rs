//! `lcmp-lab runs`: lists, tags and deletes the run directories in `--results`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use lab_records::{
    EngineInfo, Grade, Reason, RunFile, UtcTime,
    listing::{self, ListedRun},
};
use lab_units::{
    Bytes,
    show::{Side, about_bytes, counted, sides, table},
};
use serde::Serialize;

use crate::{
    args::{Global, RunFilter, RunVerdict, RunsArgs, RunsVerb},
    caller,
    failure::{During, Exit, Failure, Outcome, with_causes},
    terminal::{note, show},
};

/// Row of the list of runs.
#[derive(Debug, Serialize)]
struct StoreRow {
    name: String,
    path: PathBuf,
    #[serde(flatten)]
    facts: Option<Facts>,
    /// Reason why `run.json` cannot be read; `None` if it can.
    problem: Option<String>,
    tags: BTreeSet<String>,
    size_bytes: u64,
}

/// Facts from a run's `run.json`.
#[derive(Debug, Serialize)]
struct Facts {
    started_at: UtcTime,
    scenario: String,
    engine: &'static str,
    /// Maximum number of packets in a train; `None` if each packet is one event.
    #[serde(skip_serializing_if = "Option::is_none")]
    trains: Option<u32>,
    seed: u64,
    policies: Vec<String>,
    flows: u64,
    #[serde(rename = "standing")]
    verdict: RunVerdict,
    /// Reasons for the verdict.
    reasons: Vec<Reason>,
}

/// Runs `lcmp-lab runs`.
pub fn runs(arguments: &RunsArgs, global: &Global) -> Outcome {
    match &arguments.verb {
        None => list(&arguments.filter, global),
        Some(RunsVerb::Tag { run, tags }) => tag(run, tags, &[], global),
        Some(RunsVerb::Untag { run, tags }) => tag(run, &[], tags, global),
        Some(RunsVerb::Delete { runs, filter, all }) => delete(runs, filter, *all, global),
    }
}

fn list(filter: &RunFilter, global: &Global) -> Outcome {
    let entries = matching(filter, global)?;
    show(global.json, &entries, |entries| text(entries))
}

fn matching(filter: &RunFilter, global: &Global) -> Result<Vec<StoreRow>, Failure> {
    let runs = listing::list(&global.results).map_err(|error| Failure::records(&error))?;
    let entries = runs.into_iter().map(StoreRow::of);
    Ok(entries.filter(|entry| entry.matches(filter)).collect())
}

fn tag(run: &Path, add: &[String], remove: &[String], global: &Global) -> Outcome {
    if let Some(wrong) = add.iter().find(|tag| !listing::is_tag(tag)) {
        return Err(Failure::usage(format_args!(
            "`{wrong}` is not a tag (hint: letters, digits and `-_.:/=+`, at most 64 characters)"
        )));
    }
    let path = find(run, global)?;
    caller::become_owner(&path).during("switch to the rights of the run's owner")?;
    let mut tags = listing::tags(&path).map_err(|error| Failure::records(&error))?;
    tags.extend(add.iter().cloned());
    tags.retain(|tag| !remove.contains(tag));
    listing::set_tags(&path, &tags).during("write the tags")?;
    caller::hand_over(&path);
    let run = ListedRun::read(path);
    show(global.json, &[StoreRow::of(run)], |entries| text(entries))
}

fn delete(runs: &[PathBuf], filter: &RunFilter, all: bool, global: &Global) -> Outcome {
    let entries = match runs {
        [] if filter.is_empty() && !all => {
            return Err(Failure::usage(
                "no runs given (hint: name runs, or give a filter with `--yes`, or `--all --yes`)",
            ));
        }
        [] => matching(filter, global)?,
        runs => {
            let found: Vec<PathBuf> = runs
                .iter()
                .map(|run| find(run, global))
                .collect::<Result<_, _>>()?;
            let read = found.into_iter().map(ListedRun::read);
            read.map(StoreRow::of).collect()
        }
    };
    if runs.is_empty() && !global.yes && !entries.is_empty() {
        return Err(Failure::usage(format_args!(
            "these runs would be deleted (hint: `--yes` deletes them):\n{}",
            text(&entries).trim_end()
        )));
    }
    for entry in &entries {
        listing::delete(&entry.path).during(format_args!("delete `{}`", entry.name))?;
    }
    let freed = entries.iter().map(|entry| entry.size_bytes).sum();
    note(&format!(
        "deleted {} of {}",
        counted(entries.len() as u64, "run"),
        about_bytes(Bytes::new(freed))
    ));
    if global.json {
        return show(true, &entries, |_| String::new());
    }
    Ok(Exit::Pass)
}

/// Returns the directory of the run that `run` names: by a path, by its name in the results, or by a unique beginning
/// of that name.
fn find(run: &Path, global: &Global) -> Result<PathBuf, Failure> {
    let is_run = |path: &Path| path.join(lab_records::directory::RUN_FILE).is_file();
    for path in [global.results.join(run), run.to_owned()] {
        if is_run(&path) {
            // The link `latest` stands for the run that it points to.
            return path.canonicalize().during("find the run");
        }
    }
    let runs = listing::list(&global.results).map_err(|error| Failure::records(&error))?;
    let begins = |listed: &&ListedRun| listed.name.starts_with(&*run.to_string_lossy());
    let found: Vec<&ListedRun> = runs.iter().filter(begins).collect();
    match found.as_slice() {
        [only] => Ok(only.path.clone()),
        [] => Err(Failure::usage(format_args!(
            "there is no run `{}` in `{}` (hint: `lcmp-lab runs` lists them)",
            run.display(),
            global.results.display()
        ))),
        several => Err(Failure::usage(format_args!(
            "`{}` begins the names of {} runs in `{}` (hint: give more of the name)",
            run.display(),
            several.len(),
            global.results.display()
        ))),
    }
}

impl StoreRow {
    fn of(run: ListedRun) -> Self {
        let (facts, problem) = match run.file {
            Ok(file) => (Some(Facts::of(file)), None),
            Err(error) => (None, Some(one_line(&with_causes(&error)))),
        };
        Self {
            name: run.name,
            path: run.path,
            facts,
            problem,
            tags: run.tags,
            size_bytes: run.bytes,
        }
    }

    /// Returns true if the run matches the filter. For a run that cannot be read, only its tags are compared.
    fn matches(&self, filter: &RunFilter) -> bool {
        let facts = self.facts.as_ref();
        let is = |holds: &dyn Fn(&Facts) -> bool| facts.is_some_and(holds);
        filter.tag.iter().all(|tag| self.tags.contains(tag))
            && filter
                .scenario
                .as_ref()
                .is_none_or(|name| is(&|facts| facts.scenario == *name))
            && filter
                .policy
                .iter()
                .all(|label| is(&|facts| facts.policies.contains(label)))
            && filter
                .verdict
                .is_none_or(|verdict| is(&|facts| facts.verdict == verdict))
            && filter
                .reason
                .iter()
                .all(|code| is(&|facts| facts.reasons.iter().any(|it| it.code == *code)))
            && filter
                .before
                .is_none_or(|before| is(&|facts| facts.started_at < before))
    }
}

impl Facts {
    fn of(file: RunFile) -> Self {
        let (verdict, reasons) = match file.outcome {
            None => (RunVerdict::Open, Vec::new()),
            Some(outcome) => {
                let verdict = match outcome.verdict.grade {
                    Grade::Valid => RunVerdict::Valid,
                    Grade::Doubtful => RunVerdict::Doubtful,
                    Grade::Invalid => RunVerdict::Invalid,
                };
                (verdict, outcome.verdict.reasons)
            }
        };
        Self {
            started_at: file.started_at,
            engine: match &file.info.engine {
                EngineInfo::Kernel => "kernel",
                EngineInfo::Sim(_) => "sim",
            },
            trains: file.info.trains(),
            seed: file.info.seed,
            flows: file.info.scheduled_flows,
            scenario: file.info.scenario,
            policies: file.info.policies,
            verdict,
            reasons,
        }
    }

    /// Returns the engine with the length of its trains.
    fn engine(&self) -> String {
        let trains = self.trains.map(|length| format!(", trains of {length}"));
        self.engine.to_owned() + &trains.unwrap_or_default()
    }
}

/// Shortens a message to the beginning of its first line, because it may quote the damaged file.
fn one_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_PROBLEM) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn text(entries: &[StoreRow]) -> String {
    if entries.is_empty() {
        return "no runs".to_owned();
    }
    let head = ["run", "engine", "flows", "verdict", "size", "tags"].map(ToOwned::to_owned);
    let row = |entry: &StoreRow| {
        let fact = |of: &dyn Fn(&Facts) -> String| entry.facts.as_ref().map_or("?".to_owned(), of);
        [
            entry.name.clone(),
            fact(&Facts::engine),
            fact(&|facts| facts.flows.to_string()),
            match &entry.problem {
                Some(_) => "unreadable".to_owned(),
                None => fact(&|facts| facts.verdict.name().to_owned()),
            },
            about_bytes(Bytes::new(entry.size_bytes)),
            entry.tags.iter().cloned().collect::<Vec<_>>().join(" "),
        ]
    };
    let rows: Vec<_> = [head].into_iter().chain(entries.iter().map(row)).collect();
    let mut columns = sides(1);
    for at in [1, 3, 5] {
        columns[at] = Side::Left;
    }
    let total = entries.iter().map(|entry| entry.size_bytes).sum();
    let problems: String = entries
        .iter()
        .filter_map(|entry| entry.problem.as_ref())
        .map(|problem| format!("unreadable: {problem}\n"))
        .collect();
    format!(
        "{}{problems}{}, {}",
        table(0, columns, &rows),
        counted(entries.len() as u64, "run"),
        about_bytes(Bytes::new(total))
    )
}

/// Maximum length of a problem in the list of runs, characters.
const MAX_PROBLEM: usize = 300;

#[cfg(test)]
mod tests {
    use lab_records::ReasonCode;

    use super::*;

    #[test]
    fn a_run_is_found_by_the_codes_of_its_reasons() {
        let run = StoreRow {
            name: "run".to_owned(),
            path: PathBuf::new(),
            facts: Some(Facts {
                started_at: "2026-11-21T09:30:00.000Z".parse().unwrap(),
                scenario: "8dc".to_owned(),
                engine: "kernel",
                trains: None,
                seed: 1,
                policies: Vec::new(),
                flows: 200,
                verdict: RunVerdict::Doubtful,
                reasons: [ReasonCode::LateFlows, ReasonCode::HostWaits]
                    .map(|code| Reason::fact(Grade::Doubtful, code))
                    .into(),
            }),
            problem: None,
            tags: BTreeSet::new(),
            size_bytes: 0,
        };
        let matches = |codes: &[ReasonCode]| {
            let filter = RunFilter {
                reason: codes.to_vec(),
                ..RunFilter::default()
            };
            run.matches(&filter)
        };
        assert!(matches(&[]));
        assert!(matches(&[ReasonCode::HostWaits, ReasonCode::LateFlows]));
        assert!(!matches(&[ReasonCode::LateFlows, ReasonCode::LateSamples]));
    }
}
