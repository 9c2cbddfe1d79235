//! `lcmp-lab validate`: simulates Figure 1 of the paper and compares it with the authors' published outputs.

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
use lab_reports::check::{Answer, Check};
use lab_scenario::limits;
use lab_sim::{
    Job, RunOptions,
    replay::{self, Replay},
    semantics::NextHopOrder,
};
use lab_units::Nanos;
use serde::Serialize;
use serde_json::{Value, json};

use super::{artifact, conclude::conclude};
use crate::{
    args::{self, ValidateArgs},
    batch::BatchProgress,
    failure::{Failure, Outcome},
    load,
    progress::about,
    terminal::note,
};

/// Agreement of one policy's simulation with the artifact's published output.
struct PolicyAgreement {
    label: &'static str,
    flows: Agreement,
    /// Links whose average utilisation is published; empty without published values of this policy.
    links: Vec<LinkAgreement>,
}

/// Agreement of all policies' simulations with the artifact.
struct Validated<'a> {
    artifact: &'a Path,
    policies: Vec<PolicyAgreement>,
}

/// Runs `lcmp-lab validate`.
pub fn validate(arguments: &ValidateArgs, json: bool) -> Outcome {
    let files = Files(&arguments.artifact);
    let (mut plan, order) = plan(&files)?;
    // This is the sampling period of the artifact's monitor.
    plan.measure.links_ns = Nanos::from_millis(1);
    // Results stay in memory, because the comparison needs no records. A signal may end the process at once.
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
    let validated = Validated {
        artifact: &arguments.artifact,
        policies: compare(&files, &plan, &runs)?,
    };
    conclude(&validated, None, json)
}

impl Answer for Validated<'_> {
    const STATES_CHECKS: bool = false;

    fn values(&self) -> impl Serialize {
        json!({
            "artifact": self.artifact,
            "policies": self.policies.iter().map(to_json).collect::<Value>(),
        })
    }

    fn checks(&self) -> Vec<Check> {
        self.policies.iter().flat_map(checks).collect()
    }

    /// Returns a table for each policy.
    fn text(&self) -> String {
        let mut text = String::new();
        for policy in &self.policies {
            let _ = write!(text, "{}\n{}{LINKS_HEADING}", policy.label, policy.flows);
            for link in &policy.links {
                let _ = writeln!(text, "  {link}");
            }
            text.push('\n');
        }
        text
    }
}

/// Paths of files in the artifact's directory.
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

/// Returns the plan of the paper's Figure 1, and the order of equal-cost next hops from the artifact's routing table.
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
            "{label:>10}  {}/{} flows finished after {}",
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

/// Returns a policy's comparison with the artifact as JSON.
fn to_json(policy: &PolicyAgreement) -> Value {
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
}

/// Returns the checks of a policy: all flows are compared and have the published standalone FCT, and FCTs and link
/// utilisations are within bounds. Without published links, the link check is inconclusive.
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
                "the standalone FCT of {} flows differs from the published one",
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
    let no_links = links.is_empty().then(|| {
        let reason = format!("{label}: `{UTILISATION}` has no average utilisation of a link");
        Check::inconclusive(LINK_CHECK, reason)
    });
    let links = links.iter().map(|link| {
        let reason = format!(
            "link {}-{} is used to {:.2} %, but the published average is {:.2} %",
            link.between[0], link.between[1], link.simulated, link.published
        );
        check(
            LINK_CHECK,
            link.relative() <= LINK,
            link.relative(),
            LINK,
            reason,
        )
    });
    let decided = counts.into_iter().chain(percentiles).chain(links);
    decided.chain(no_links).collect()
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
fn number(flows: usize) -> f64 {
    flows as f64
}

const LINKS_HEADING: &str =
    "  average link utilisation, with 1 Gbit = 2^30 bit as in the published averages:\n";

/// Maximum of |ΔFCT| / FCT, the relative difference from the published FCT, for half of the flows.
const P50: f64 = 1e-3;

/// Maximum of |ΔFCT| / FCT, the relative difference from the published FCT, for 99 % of the flows.
const P99: f64 = 0.03;

/// Name of the checks of links.
const LINK_CHECK: &str = "link";

/// Maximum relative difference between simulated and published average utilisation of a link.
const LINK: f64 = 0.01;

#[cfg(test)]
mod tests {
    use lab_reports::check::Judgement;

    use super::*;

    #[test]
    fn links_without_published_values_cannot_be_decided() {
        let mut policy = PolicyAgreement {
            label: "LCMP",
            flows: Agreement::of(&[], &[]),
            links: Vec::new(),
        };
        let of_links = |policy: &PolicyAgreement| {
            let mut checks = checks(policy);
            checks.retain(|check| check.code == LINK_CHECK);
            checks
        };
        let undecided = of_links(&policy);
        assert_eq!(undecided.len(), 1);
        assert_eq!(undecided[0].grade, Judgement::Inconclusive);
        assert!(undecided[0].reason.contains(UTILISATION), "{undecided:?}");

        policy.links.push(LinkAgreement {
            between: [2, 3],
            published: 10.0,
            simulated: 10.05,
        });
        let decided = of_links(&policy);
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0].grade, Judgement::Pass);
    }
}
