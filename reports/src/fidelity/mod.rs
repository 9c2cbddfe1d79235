//! Two runs of one plan, flow by flow: the kernel's against the simulator's, or any two.
//!
//! - `flows`, `same_plan`: the flows of both runs side by side, and the proof that they are the same
//! - `agreement`, `correlation`: agreement of paths, FCTs and slowdowns
//! - `worst`, `side`, `tables`, `sentence`: the flows that differ most, with facts that may explain them
//! - `links`: queues, marks and CNPs of both runs
//! - `bounds`: bounds that a comparison must hold
//! - `figures`, `over_time`, `page`, `write`: the comparison drawn and written
mod agreement;
mod bounds;
mod correlation;
mod error;
mod figures;
pub(crate) mod flows;
mod links;
mod over_time;
mod page;
pub(crate) mod same_plan;
mod sentence;
mod side;
mod tables;
mod worst;
mod write;

use std::path::Path;

use lab_records::{EngineInfo, RunDir, ScaleInfo};
use serde::Serialize;

use self::{
    flows::Flows,
    links::{Links, OverTime},
};
use crate::error::ReportError;
pub use crate::text::{coefficient, share_of, size, small_percent as percent};
pub use agreement::{Agreement, BinPoint, Differences};
pub use bounds::{Bound, Bounds, Broken, ParseBoundError};
pub use error::FidelityError;
pub use links::{CnpPair, LinkPair, LinkSide, PausePair};
pub use side::{Bottleneck, FlowSide, Queue};
pub use worst::WorstFlow;
pub use write::Written;

/// A comparison between two runs of one plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// The scenario's name.
    pub scenario: String,
    /// SHA-256 of the scenario.
    pub scenario_hash: String,
    /// Seed of all sampled values.
    pub seed: u64,
    /// The runs.
    pub runs: [RunFacts; 2],
    /// Agreement for each policy's flows, in the first run's order.
    pub policies: Vec<Agreement>,
    /// Agreement of all flows.
    pub all: Agreement,
    /// Directions of links between datacenters that carried a byte, by policy, link and direction.
    pub links: Vec<LinkPair>,
    /// CNPs by policy; empty unless both runs sampled rates.
    pub cnps: Vec<CnpPair>,
    /// Pauses by policy; empty without PFC.
    pub pauses: Vec<PausePair>,
    /// Policies that one run alone has, with its name.
    pub in_one_run: Vec<(String, String)>,
    /// Compared flows with the largest |ΔFCT| / FCT, largest first.
    pub worst: Vec<WorstFlow>,
}

/// Facts about one of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFacts {
    /// Name in texts: `kernel` and `simulator`, or `first` and `second` for two of one engine.
    pub name: String,
    /// Name of the run directory.
    pub directory: String,
    /// Engine.
    pub engine: String,
    /// Kernel that the run was on.
    pub kernel_release: String,
    /// Version of lcmp-lab.
    pub tool_version: String,
    /// Scale factors, emulated ÷ paper.
    pub scale: ScaleInfo,
    /// SHA-256 of the plan.
    pub plan_hash: String,
    /// Reasons not to trust the run; none for a clean one.
    pub problems: Vec<String>,
}

/// A comparison with the flows that its figures show.
#[derive(Debug)]
pub struct Comparison {
    /// The results.
    pub fidelity: Fidelity,
    flows: Flows,
    bins: Vec<BinPoint>,
    over_time: OverTime,
}

/// Compares the run directories at `first` and `second`.
///
/// # Errors
/// If a run cannot be read, or the runs are not of one plan.
pub fn compare(first: &Path, second: &Path) -> Result<Comparison, FidelityError> {
    let runs = [open(first)?, open(second)?];
    let [first, second] = &runs;
    let infos = [first.info(), second.info()];
    let policies = same_plan::shared_policies(infos)?;
    let flows = Flows::read([first, second], policies)?;
    same_plan::check_flows(&flows, infos)?;
    let bins = agreement::by_size(&flows);
    let (policies, all) = agreement::agreements(&flows, &bins, infos[0].measured_flows());
    let names = names([first, second]);
    let in_one_run = infos.into_iter().zip(names).flat_map(|(info, name)| {
        let alone = info
            .policies
            .iter()
            .filter(|it| !flows.policies.contains(it));
        alone.map(move |policy| (policy.clone(), name.to_owned()))
    });
    let links = Links::read([first, second], &flows)?;
    let truncated = [0, 1].map(|index| flows.truncated[index] + links.truncated[index]);
    let worst = worst::worst(&flows, [first, second], names)?;
    Ok(Comparison {
        fidelity: Fidelity {
            scenario: infos[0].scenario.clone(),
            scenario_hash: infos[0].scenario_hash.clone(),
            seed: infos[0].seed,
            runs: [
                facts(first, names[0], flows.rows[0], truncated[0]),
                facts(second, names[1], flows.rows[1], truncated[1]),
            ],
            policies,
            all,
            links: links.pairs,
            cnps: links.cnps,
            pauses: links.pauses,
            in_one_run: in_one_run.collect(),
            worst,
        },
        flows,
        bins,
        over_time: links.over_time,
    })
}

impl Fidelity {
    /// Returns the labels of the compared policies.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let labels = self.policies.iter().map(|it| it.policy.clone());
        labels.flatten().collect()
    }
}

fn open(dir: &Path) -> Result<RunDir, ReportError> {
    Ok(RunDir::open(dir)?)
}

/// Returns the name of each run in texts.
fn names(runs: [&RunDir; 2]) -> [&'static str; 2] {
    match runs.map(|run| &run.info().engine) {
        [EngineInfo::Kernel, EngineInfo::Sim(_)] => ["kernel", "simulator"],
        _ => ["first run", "second run"],
    }
}

/// Returns the facts of a run that has `rows` flow rows, and `truncated` truncated rows.
pub(crate) fn facts(run: &RunDir, name: &str, rows: u64, truncated: u64) -> RunFacts {
    let info = run.info();
    let mut problems = match run.outcome() {
        Some(outcome) => outcome
            .verdict
            .sentences()
            .into_iter()
            .chain(outcome.lost_rows(rows))
            .collect(),
        None => vec!["the run did not end: it was interrupted, or is still going on".to_owned()],
    };
    if truncated > 0 {
        problems.push(format!("rows that are truncated and left out: {truncated}"));
    }
    let path = run
        .path()
        .canonicalize()
        .unwrap_or_else(|_| run.path().to_owned());
    let directory = path.file_name().unwrap_or_default().to_string_lossy();
    RunFacts {
        name: name.to_owned(),
        directory: directory.into_owned(),
        engine: match info.engine {
            EngineInfo::Kernel => "kernel".to_owned(),
            EngineInfo::Sim(_) => "sim".to_owned(),
        },
        kernel_release: info.kernel_release.clone(),
        tool_version: info.tool_version.clone(),
        scale: info.scale,
        plan_hash: info.plan_hash.clone(),
        problems,
    }
}

/// Directory of a comparison in the first run's, unless another one is asked for.
pub const DIR: &str = "fidelity";

/// File of the page.
pub const PAGE_FILE: &str = "fidelity.html";
