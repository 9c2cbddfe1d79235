//! Proof that two runs are of one plan.
//!
//! The plans of two engines are not the same bytes: `plan.json` has the engine, and perftest moves a
//! flow in whole messages. So facts and flows are compared, not hashes of plans.

use lab_records::{EngineInfo, RunInfo, ScaleInfo};
use lab_units::{Nanos, Ratio};

use super::{
    error::FidelityError,
    flows::{Flows, Recorded},
};
use crate::text;

/// Text of a fact that runs with the same plan share.
type Fact = fn(&RunInfo) -> String;

/// Returns the policies that both runs have, in the first run's order, if both runs' facts agree with one plan.
pub fn shared_policies([first, second]: [&RunInfo; 2]) -> Result<Vec<String>, FidelityError> {
    if first.engine != EngineInfo::Kernel && second.engine == EngineInfo::Kernel {
        return Err(FidelityError::Swapped);
    }
    let facts: [(&str, Fact); 5] = [
        ("the scenario", |info| info.scenario.clone()),
        ("the scenario's SHA-256", |info| info.scenario_hash.clone()),
        ("the seed", |info| info.seed.to_string()),
        ("the number of repetitions", |info| {
            info.repetitions.to_string()
        }),
        ("the number of scheduled flows", |info| {
            info.scheduled_flows.to_string()
        }),
    ];
    for (what, fact) in facts {
        same(what, [fact(first), fact(second)])?;
    }
    let shared: Vec<String> = first
        .policies
        .iter()
        .filter(|policy| second.policies.contains(policy))
        .cloned()
        .collect();
    if shared.is_empty() {
        same(
            "the list of policies",
            [first, second].map(|info| info.policies.join(", ")),
        )?;
    }
    Ok(shared)
}

/// Checks that every flow that both runs have is the same flow: hosts, size, scheduled start.
pub fn check_flows(flows: &Flows, infos: [&RunInfo; 2]) -> Result<(), FidelityError> {
    let scales = infos.map(|info| info.scale);
    for pair in flows.pairs() {
        let key = pair[0].key;
        let policy = &flows.policies[key.policy];
        let of_flow = |what: &str| format!("{what} of flow {} under `{policy}`", key.id);
        if pair[0].hosts != pair[1].hosts {
            let name = |host| flows.names.text(host);
            let hosts = pair.map(|flow| flow.hosts.map(name).join(" to "));
            return Err(other(&of_flow("the pair of hosts"), hosts));
        }
        if !is_same_size(pair, scales) {
            let sizes = pair.map(|flow| format!("{} B", flow.size));
            return Err(other(&of_flow("the size"), sizes));
        }
        if !is_same_start(pair, scales) {
            let starts = pair.map(|flow| text::time_exact(Nanos::new(flow.scheduled())));
            return Err(other(&of_flow("the scheduled start"), starts));
        }
    }
    Ok(())
}

/// True if two sizes are equal but for the rounding of emulated sizes to whole bytes and messages.
fn is_same_size(pair: [&Recorded; 2], scales: [ScaleInfo; 2]) -> bool {
    let [first, second] = pair.map(|flow| flow.size);
    let rounded = scales.map(|scale| 1 + paper(scale.size, MAX_ROUNDED_BYTES));
    let of_long = first.max(second) / MAX_MESSAGE_BYTES;
    first.abs_diff(second) <= rounded.iter().sum::<u64>() + of_long
}

/// True if two scheduled starts are equal but for the rounding of emulated times to nanoseconds.
fn is_same_start(pair: [&Recorded; 2], scales: [ScaleInfo; 2]) -> bool {
    let [first, second] = pair.map(Recorded::scheduled);
    // A start and a lateness are rounded, in emulated and in paper time.
    let rounded: u64 = scales
        .map(|scale| 2 + 2 * paper(scale.time, 1))
        .iter()
        .sum();
    first.abs_diff(second) <= rounded
}

/// Returns an emulated quantity in paper units.
fn paper(scale: Ratio, emulated: u64) -> u64 {
    scale
        .inverse()
        .unwrap_or(Ratio::ONE)
        .scale_nearest(emulated)
}

fn same(what: &str, [first, second]: [String; 2]) -> Result<(), FidelityError> {
    if first == second {
        return Ok(());
    }
    Err(other(what, [first, second]))
}

fn other(what: &str, [first, second]: [String; 2]) -> FidelityError {
    FidelityError::OtherPlan {
        what: what.to_owned(),
        first,
        second,
    }
}

/// Emulated bytes by which rounding to whole messages changes the size of a flow with few messages.
const MAX_ROUNDED_BYTES: u64 = 8;

/// Message size in a flow with many messages; each may be rounded by less than a byte.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;
