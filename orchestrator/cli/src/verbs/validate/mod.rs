//! `lcmp-lab validate`: Figure 1 of the paper, simulated beside its authors' published outputs.
//!
//! - `show`: how it agrees, and what is out of bounds

mod show;

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use lab_artifact::{
    Agreement, FctRow, ImportOptions, LinkAgreement, parse_fct, parse_utilisation,
    published::{self, FLOWS, POLICIES, ROUTES, TOPOLOGY, UTILISATION},
};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_scenario::limits;
use lab_sim::{
    Job, RunOptions,
    played::{self, Played},
};
use lab_units::Nanos;

use super::artifact;
use crate::{
    args::ValidateArgs,
    failure::{Exit, Failure, Outcome},
    load,
    output::{note, print, print_json},
    progress::about,
};

/// A policy beside its published output.
struct Compared {
    label: &'static str,
    flows: Agreement,
    links: Vec<LinkAgreement>,
}

/// `lcmp-lab validate`.
pub fn validate(arguments: &ValidateArgs, json: bool) -> Outcome {
    let files = Files(&arguments.artifact);
    let mut plan = plan(&files)?;
    // As often as the artifact's monitor.
    plan.measure.links_ns = Nanos::from_millis(1);
    let order = artifact::order(&files.path(ROUTES), &plan)?;
    let mut runs = Vec::new();
    for (policy, (label, output)) in POLICIES.into_iter().enumerate() {
        let published = files.fct(output)?;
        let job = Job {
            order: Some(&order),
            ..Job::new(&plan, policy, 0)
        };
        runs.push((published, play(job, label, arguments)?));
    }
    let compared = compare(&files, &plan, &runs)?;
    if json {
        print_json(&show::json(&compared));
    } else {
        print(&show::text(&compared));
    }
    let broken = show::out_of_bounds(&compared);
    for reason in &broken {
        note(&format!("out of bounds: {reason}"));
    }
    Ok(if broken.is_empty() {
        Exit::Pass
    } else {
        Exit::Failed
    })
}

/// The artifact's directory.
struct Files<'a>(&'a Path);

impl Files<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        load::read_text(&self.path(name), limits::MAX_FILE_BYTES)
    }

    fn fct(&self, output: &str) -> Result<Vec<FctRow>, Failure> {
        let name = published::fct(output);
        parse_fct(&name, &self.text(&name)?).map_err(Failure::usage)
    }
}

fn plan(files: &Files<'_>) -> Result<Plan, Failure> {
    let options = ImportOptions {
        name: "fig1".to_owned(),
        max_delay: published::MAX_DELAY,
    };
    let loaded = artifact::loaded(&files.path(TOPOLOGY), &files.path(FLOWS), FLOWS, &options)?;
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    load::resolve(&loaded, files.0, &options)
}

fn play(job: Job<'_>, label: &str, arguments: &ValidateArgs) -> Result<Played, Failure> {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let options = RunOptions {
        threads: arguments.threads.map_or_else(cores, NonZeroUsize::get),
        ..RunOptions::default()
    };
    let since = Instant::now();
    note(&format!("{label:>10}  {} flows", job.plan.flows.len()));
    let played = played::play(job, &options, &mut |progress| {
        note(&format!(
            "{label:>10}  {}/{} flows after {}",
            progress.work.finished,
            progress.flows,
            about(since.elapsed())
        ));
    });
    let played = played.map_err(Failure::usage)?;
    note(&format!("{label:>10}  done in {}", about(since.elapsed())));
    Ok(played)
}

fn compare(
    files: &Files<'_>,
    plan: &Plan,
    runs: &[(Vec<FctRow>, Played)],
) -> Result<Vec<Compared>, Failure> {
    let (columns, averages) =
        parse_utilisation(UTILISATION, &files.text(UTILISATION)?).map_err(Failure::usage)?;
    let ends = runs.iter().map(|(_, played)| played.last_end());
    let span = ends.max().unwrap_or(Nanos::ZERO);
    let compared = runs.iter().zip(POLICIES);
    let compared = compared.map(|((published, played), (label, output))| {
        let utilisation = |between| played.utilisation(plan, between, span);
        let column = columns.iter().position(|column| column == output);
        Compared {
            label,
            flows: Agreement::of(published, &played.flows),
            links: column.map_or_else(Vec::new, |column| {
                LinkAgreement::of(&averages, column, utilisation)
            }),
        }
    });
    Ok(compared.collect())
}
