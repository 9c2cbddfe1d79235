//! Comparison between two runs of one plan, flow by flow: usually the kernel's and the simulator's.
//!
//! - `flows`, `same_plan`: flows of both runs, and the check that they are the same
//! - `agreement`, `correlation`: agreement of paths, FCTs and slowdowns
//! - `worst`, `side`, `tables`, `sentence`: flows that differ most, with facts that may explain why
//! - `links`: queues, marks, pauses and CNPs in both runs
//! - `bounds`: bounds that a comparison must hold
//! - `answer`, `document`, `figures`, `over_time`: presentation of the comparison
mod agreement;
mod answer;
mod bounds;
mod correlation;
mod document;
mod error;
mod figures;
pub(crate) mod flows;
mod links;
mod over_time;
pub(crate) mod same_plan;
mod sentence;
mod side;
mod tables;
mod worst;

use std::path::Path;

use lab_records::EngineInfo;
use serde::Serialize;

use self::{
    flows::Flows,
    links::{LinkPairs, OverTime},
};
use crate::{
    check::Check,
    error::ReportError,
    facts::{RunFacts, RunOrigin},
};
pub use agreement::{Agreement, BinPoint, Differences};
pub use bounds::{Bounds, ParseBoundError, PolicyBound};
pub use error::FidelityError;
pub use links::{CnpPair, LinkPair, LinkSide, PausePair};
pub use side::{Bottleneck, FlowSide, Queue};
pub use worst::WorstFlow;

/// Comparison of two runs of one plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// Name of the scenario.
    pub scenario: String,
    /// SHA-256 of the scenario's file.
    pub scenario_hash: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Origins of both runs.
    pub runs: [RunOrigin; 2],
    /// Agreement under each policy, in the first run's order.
    pub policies: Vec<Agreement>,
    /// Agreement over the flows of all policies.
    pub all: Agreement,
    /// Directions of inter-DC links that carried data, by policy, link and direction.
    pub links: Vec<LinkPair>,
    /// CNPs by policy; empty unless both runs sampled rates.
    pub cnps: Vec<CnpPair>,
    /// Pauses by policy; empty if the plan has no PFC.
    pub pauses: Vec<PausePair>,
    /// Policies that only one run has, each with the name of that run.
    pub in_one_run: Vec<(String, String)>,
    /// Compared flows with the largest |ΔFCT| / FCT, the largest first.
    pub worst: Vec<WorstFlow>,
}

/// Comparison with the data that its figures show.
#[derive(Debug)]
pub struct FidelityComparison {
    /// Results of the comparison.
    pub fidelity: Fidelity,
    checks: Vec<Check>,
    flows: Flows,
    bins: Vec<BinPoint>,
    over_time: OverTime,
}

/// Compares the run directories at `first` and `second` flow by flow.
///
/// # Errors
/// If a run cannot be read, or the runs do not have the same plan.
pub fn compare(first: &Path, second: &Path) -> Result<FidelityComparison, FidelityError> {
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
    let links = LinkPairs::read([first, second], &flows)?;
    let worst = worst::worst(&flows, [first, second], names)?;
    let fidelity = Fidelity {
        scenario: infos[0].scenario.clone(),
        scenario_hash: infos[0].scenario_hash.clone(),
        seed: infos[0].seed,
        runs: [
            RunOrigin::of(first, names[0]),
            RunOrigin::of(second, names[1]),
        ],
        policies,
        all,
        links: links.pairs,
        cnps: links.cnps,
        pauses: links.pauses,
        in_one_run: in_one_run.collect(),
        worst,
    };
    Ok(FidelityComparison {
        checks: fidelity.runs.iter().flat_map(RunOrigin::checks).collect(),
        fidelity,
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

fn open(dir: &Path) -> Result<RunFacts, ReportError> {
    Ok(RunFacts::open(dir)?)
}

/// Returns the names of the runs in texts: `kernel` and `simulator`, `packets` and `trains`, or else `first run` and
/// `second run`.
fn names(runs: [&RunFacts; 2]) -> [&'static str; 2] {
    match runs.map(|run| &run.info().engine) {
        [EngineInfo::Kernel, EngineInfo::Sim(_)] => ["kernel", "simulator"],
        [EngineInfo::Sim(first), EngineInfo::Sim(second)]
            if first.trains.is_none() && second.trains.is_some() =>
        {
            ["packets", "trains"]
        }
        _ => ["first run", "second run"],
    }
}
