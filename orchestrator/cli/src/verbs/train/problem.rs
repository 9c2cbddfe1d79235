//! A plan as the network to train for, and a scenario's workloads as its traffic.

use std::collections::BTreeMap;

use lab_parameters::TeConfig;
use lab_plan::{MeanDemand, Plan, mean_demands};
use lab_policy::wcmp;
use lab_redte_train::{Problem, Sizes, Source, Traffic};
use lab_scenario::{Scenario, SizeCdf, Traffic as Entry};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos};

use crate::{failure::Failure, load::Loaded};

/// Returns the network of a plan in paper units.
pub fn problem(plan: &Plan) -> Problem {
    let provisioned = plan.switches.iter().map(|switch| {
        let rows = switch.destinations.iter().map(|row| {
            let paths: Vec<_> = row
                .candidates
                .iter()
                .map(|candidate| candidate.path(row.hops))
                .collect();
            wcmp::buckets(&paths)[..paths.len()].to_vec()
        });
        rows.collect()
    });
    Problem {
        topology: plan.te_topology(),
        capacities: plan.paper_te_capacities(),
        interval: TeConfig::DEFAULT.interval_ns,
        provisioned: provisioned.collect(),
        buckets: TeConfig::DEFAULT.buckets,
    }
}

/// Returns the traffic of the scenario's workloads at each of `scenarios`' loads.
/// Fails on a scenario without workloads, with exit code 2.
pub fn traffic(loaded: &Loaded, scenarios: &[Scenario], plan: &Plan) -> Result<Traffic, Failure> {
    let interval = TeConfig::DEFAULT.interval_ns;
    let mut sizes = Vec::new();
    let mut positions = BTreeMap::new();
    for (traffic, entry) in loaded.scenario.traffic.iter().enumerate() {
        if let Entry::Workload(workload) = entry {
            let text = loaded.files.get(&workload.sizes).map_or("", String::as_str);
            let cdf = SizeCdf::parse(&workload.sizes, text)
                .map_err(|errors| Failure::scenario(&errors))?;
            let burst = workload.bursts.map(|length| intervals(length, interval));
            positions.insert(traffic, (sizes.len(), burst.transpose()?));
            sizes.push(Sizes::of(|u| cdf.quantile(u)));
        }
    }
    if sizes.is_empty() {
        return Err(Failure::usage(
            "the scenario has no workload to take demands from (hint: give `lcmp-lab train` a file of demands by `--demands`)",
        ));
    }
    let loads = scenarios.iter().map(|scenario| {
        let means = mean_demands(scenario).map_err(Failure::usage)?;
        let sources = means.iter().filter_map(|mean| {
            let (sizes, burst) = positions.get(&mean.traffic)?;
            source(plan, mean, interval, (*sizes, *burst))
        });
        Ok(sources.collect())
    });
    Ok(Traffic {
        loads: loads.collect::<Result<_, Failure>>()?,
        sizes,
    })
}

/// Returns the position of a datacenter in the rows of a switch.
pub fn row_of(plan: &Plan, from: DcId, to: DcId) -> Option<usize> {
    let switch = plan.switches.get(from.index())?;
    switch.destinations.iter().position(|row| row.dc == to)
}

fn source(
    plan: &Plan,
    mean: &MeanDemand,
    interval: Nanos,
    (sizes, burst): (usize, Option<u32>),
) -> Option<Source> {
    let bytes = BitsPerSec::new(mean.bps).map_or(Bytes::ZERO, |rate| rate.bytes_in(interval));
    Some(Source {
        switch: mean.from.index(),
        row: row_of(plan, mean.from, mean.to)?,
        mean_bytes: bytes.get() as f64,
        sizes,
        burst,
    })
}

/// Returns the number of intervals in a burst.
fn intervals(length: Nanos, interval: Nanos) -> Result<u32, Failure> {
    let count = length.get() / interval.get();
    u32::try_from(count)
        .ok()
        .filter(|count| *count > 0 && length.get().is_multiple_of(interval.get()))
        .ok_or_else(|| {
            Failure::usage(format_args!(
                "`bursts: {length}`: to train, it must be a multiple of the interval between two decisions, {interval}"
            ))
        })
}
