//! `lcmp-lab validate`: Figure 1 of the paper, simulated beside its authors' published outputs.
//!
//! - `play`: one policy's run, kept in memory
//! - `show`: how it agrees, and what is out of bounds

mod play;
mod show;

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use lab_artifact::{
    Agreement, FctRow, ImportOptions, LinkAgreement, NodeIds, average_utilisation, parse_fct,
    parse_utilisation,
};
use lab_plan::{Engine, LinkKind, Plan, PlanOptions};
use lab_scenario::limits;
use lab_sim::physics::NextHopOrder;
use lab_units::{BitsPerSec, Nanos};

use self::play::Played;
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
        runs.push((
            label,
            published,
            play(&plan, policy, label, &order, arguments)?,
        ));
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
        let name = format!("fct/fig1/{output}/fct_dcqcn.txt");
        parse_fct(&name, &self.text(&name)?).map_err(Failure::usage)
    }
}

fn plan(files: &Files<'_>) -> Result<Plan, Failure> {
    let options = ImportOptions {
        name: "fig1".to_owned(),
        max_delay: Nanos::from_millis(512),
    };
    let loaded = artifact::loaded(&files.path(TOPOLOGY), &files.path(FLOWS), FLOWS, &options)?;
    let options = PlanOptions {
        engine: Engine::Simulator { is_scaled: false },
        ..PlanOptions::default()
    };
    load::resolve(&loaded, files.0, &options)
}

fn play(
    plan: &Plan,
    policy: usize,
    label: &str,
    order: &NextHopOrder,
    arguments: &ValidateArgs,
) -> Result<Played, Failure> {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = arguments.threads.map_or_else(cores, NonZeroUsize::get);
    let since = Instant::now();
    note(&format!("{label:>10}  {} flows", plan.flows.len()));
    let played = play::play(plan, policy, order, threads, &mut |progress| {
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
    runs: &[(&'static str, Vec<FctRow>, Played)],
) -> Result<Vec<Compared>, Failure> {
    let (columns, averages) =
        parse_utilisation(UTILISATION, &files.text(UTILISATION)?).map_err(Failure::usage)?;
    let ids = NodeIds::of(plan);
    let ends = runs.iter().map(|(_, _, played)| played.last_end());
    let span = ends.max().unwrap_or(Nanos::ZERO);
    let compared = runs
        .iter()
        .zip(POLICIES)
        .map(|((label, published, played), policy)| {
            let utilisation = |between: [u32; 2]| {
                let is_meant = |link: &&lab_plan::Link| {
                    let ends = [link.a, link.b].map(|node| ids.theirs(node));
                    link.kind == LinkKind::InterDc
                        && (ends == between || ends == [between[1], between[0]])
                };
                let link = plan.links.iter().find(is_meant)?;
                let samples = played.carried(link);
                Some(average_utilisation(
                    &samples,
                    plotted_rate(link.emu.rate_bps),
                    played.last_end(),
                    span,
                ))
            };
            let column = columns.iter().position(|column| column == policy.1);
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

/// The rate that the published averages relate a link's bytes to. Two links of the published topology
/// have 25 Gbit/s where the paper has 40, and their averages are 25/40 of what they carried, in every
/// policy's run: inferred from that, as the script's own table of rates is not published.
fn plotted_rate(rate: BitsPerSec) -> BitsPerSec {
    match rate.get() {
        25_000_000_000 => BitsPerSec::new(40_000_000_000).unwrap_or(rate),
        _ => rate,
    }
}

/// The policies in the order that `import` writes them, and what the published files call them.
const POLICIES: [(&str, &str); 3] = [("ECMP", "ECMP"), ("UCMP", "UCMP"), ("LCMP", "Ours")];

const TOPOLOGY: &str = "topology/topology_LeafSpine_MultiDC8.txt";
const FLOWS: &str = "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt";
const ROUTES: &str = "fct/fig1/routing_table.csv";
const UTILISATION: &str = "published/fig1_link_utilization.csv";
