//! `lcmp-lab validate`: Figure 1 of the paper, simulated and compared with its authors' outputs.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use lab_artifact::{
    Agreement, FctRow, LinkAgreement, parse_fct, parse_utilisation,
    published::{self, FLOWS, POLICIES, ROUTES, TOPOLOGY, UTILISATION},
};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_reports::check::{Answered, Check, Judgement};
use lab_scenario::limits;
use lab_sim::{
    Job, RunOptions,
    replay::{self, Replay},
    semantics::NextHopOrder,
};
use lab_units::Nanos;

use serde_json::{Value, json};

use super::{artifact, conclude::tell};
use crate::{
    args::{self, ValidateArgs},
    batch::BatchProgress,
    failure::{Exit, Failure, Outcome},
    load,
    progress::about,
    terminal::{note, print, print_json},
};

/// Agreement of a simulated policy with its published output.
struct PolicyAgreement {
    label: &'static str,
    flows: Agreement,
    links: Vec<LinkAgreement>,
}

/// Runs `lcmp-lab validate`.
pub fn validate(arguments: &ValidateArgs, json: bool) -> Outcome {
    let files = Files(&arguments.artifact);
    let (mut plan, order) = plan(&files)?;
    // Sampling period of the artifact's monitor.
    plan.measure.links_ns = Nanos::from_millis(1);
    // The comparison needs no records, so the replays stay in memory, and a signal may end the process at once.
    let mut progress = BatchProgress::of(POLICIES.len());
    let mut runs = Vec::new();
    for (policy, (label, output)) in POLICIES.into_iter().enumerate() {
        let published = files.fct(output)?;
        let job = Job {
            order: order.as_ref(),
            ..Job::new(&plan, policy, 0)
        };
        let since = Instant::now();
        runs.push((published, simulate(job, label, arguments)?));
        progress.made(since.elapsed());
        note(&progress.line());
    }
    let compared = compare(&files, &plan, &runs)?;
    let checks: Vec<Check> = compared.iter().flat_map(checks).collect();
    if json {
        let values = json!({
            "artifact": arguments.artifact,
            "policies": to_json(&compared),
        });
        print_json(&Answered::new(&values, &checks, Vec::new(), None));
    } else {
        print(&text(&compared));
    }
    tell(&checks);
    Ok(Exit::of_judgement(Judgement::of(&checks)))
}

/// Directory of the artifact.
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

/// Returns Figure 1's plan and its order of equal next hops.
fn plan(files: &Files<'_>) -> Result<(Plan, Option<NextHopOrder>), Failure> {
    let loaded = artifact::loaded(
        &files.path(TOPOLOGY),
        (&files.path(FLOWS), FLOWS),
        Some((&files.path(ROUTES), ROUTES.to_owned())),
        published::MAX_DELAY,
    )?;
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = load::resolve(&loaded, files.0, &options)?;
    let order = artifact::order(&loaded, &plan)?;
    Ok((plan, order))
}

fn simulate(job: Job<'_>, label: &str, arguments: &ValidateArgs) -> Result<Replay, Failure> {
    let options = RunOptions {
        threads: args::threads(arguments.threads),
        ..RunOptions::default()
    };
    let since = Instant::now();
    note(&format!("{label:>10}  {} flows", job.plan.flows.len()));
    replay::replay(job, &options, &mut |progress| {
        note(&format!(
            "{label:>10}  {}/{} flows after {}",
            progress.work.finished,
            progress.flows,
            about(since.elapsed())
        ));
    })
    .map_err(Failure::usage)
}

fn compare(
    files: &Files<'_>,
    plan: &Plan,
    runs: &[(Vec<FctRow>, Replay)],
) -> Result<Vec<PolicyAgreement>, Failure> {
    let (columns, averages) =
        parse_utilisation(UTILISATION, &files.text(UTILISATION)?).map_err(Failure::usage)?;
    let ends = runs.iter().map(|(_, replay)| replay.last_end());
    let span = ends.max().unwrap_or(Nanos::ZERO);
    let compared = runs
        .iter()
        .zip(POLICIES)
        .map(|((published, replay), (label, output))| {
            let utilisation = |between| replay.utilisation(plan, between, span);
            let column = columns.iter().position(|column| column == output);
            PolicyAgreement {
                label,
                flows: Agreement::of(published, &replay.flows),
                links: column.map_or_else(Vec::new, |column| {
                    LinkAgreement::of(&averages, column, utilisation)
                }),
            }
        });
    Ok(compared.collect())
}

/// Returns a table for each policy.
fn text(compared: &[PolicyAgreement]) -> String {
    let mut text = String::new();
    for policy in compared {
        let _ = write!(text, "{}\n{}{LINKS_HEADING}", policy.label, policy.flows);
        for link in &policy.links {
            let _ = writeln!(text, "  {link}");
        }
        text.push('\n');
    }
    text
}

/// Returns the comparisons as JSON.
fn to_json(compared: &[PolicyAgreement]) -> Value {
    let policy = |policy: &PolicyAgreement| {
        let flows = &policy.flows;
        let links = policy.links.iter().map(|link| {
            json!({
                "between": link.between,
                "published_percent": link.published,
                "simulated_percent": link.simulated,
            })
        });
        json!({
            "policy": policy.label,
            "published": flows.published,
            "compared": flows.compared,
            "unfinished": flows.unfinished,
            "unknown": flows.unknown,
            "same_standalone": flows.same_standalone,
            "same_fct": flows.same_fct,
            "other_path": flows.other_path,
            "difference_p50": flows.percentile(50),
            "difference_p99": flows.percentile(99),
            "links": links.collect::<Vec<_>>(),
        })
    };
    compared.iter().map(policy).collect()
}

/// Checks a policy: every flow is compared and has the published standalone FCT, FCTs and links differ little.
fn checks(policy: &PolicyAgreement) -> Vec<Check> {
    let PolicyAgreement {
        label,
        flows,
        links,
    } = policy;
    let check = |code, holds, found, bound, reason| {
        Check::of(
            code,
            holds,
            Some(found),
            bound,
            format!("{label}: {reason}"),
        )
    };
    let published = number(flows.published);
    let flow_counts = [
        (
            "compared",
            flows.compared,
            format!(
                "{} of {} flows are compared",
                flows.compared, flows.published
            ),
        ),
        (
            "standalone",
            flows.same_standalone,
            format!(
                "the standalone FCT of {} flows is not the published one",
                flows.published.saturating_sub(flows.same_standalone)
            ),
        ),
    ];
    let counts = flow_counts.map(|(code, count, reason)| {
        check(
            code,
            count >= flows.published,
            number(count),
            published,
            reason,
        )
    });
    let percentiles = [(50, "fct-p50", P50), (99, "fct-p99", P99)].map(|(percent, code, bound)| {
        let found = flows.percentile(percent).unwrap_or(f64::INFINITY);
        let reason =
            format!("|ΔFCT| / FCT p{percent} is {found:.1e}; it must be at most {bound:.0e}");
        check(code, found <= bound, found, bound, reason)
    });
    let links = links.iter().map(|link| {
        let reason = format!(
            "link {}-{} carries {:.2} %, published {:.2} %",
            link.between[0], link.between[1], link.simulated, link.published
        );
        check(
            "link",
            link.relative() <= LINK,
            link.relative(),
            LINK,
            reason,
        )
    });
    counts.into_iter().chain(percentiles).chain(links).collect()
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
fn number(flows: usize) -> f64 {
    flows as f64
}

const LINKS_HEADING: &str =
    "  average link utilisation, with a Gbit of 2^30 bit as the published averages have it:\n";

/// Maximum relative difference between FCTs for half of the flows.
const P50: f64 = 1e-3;

/// Maximum relative difference between FCTs for 99 % of the flows.
const P99: f64 = 0.03;

/// Maximum relative difference of a link's average utilisation.
const LINK: f64 = 0.01;
