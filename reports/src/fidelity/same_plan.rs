//! Check that two runs have the same plan.
//!
//! The plan files of two engines differ in bytes: `plan.json` contains the engine, and perftest sends a flow in whole
//! messages. So facts and flows are compared, not hashes of plans.

use lab_records::{EngineInfo, RunInfo, ScaleInfo};
use lab_units::{Nanos, Ratio};

use super::{
    error::FidelityError,
    flows::{Flows, Recorded},
};
use crate::text;

/// Function that returns a fact, as text, that runs of the same plan share.
type Fact = fn(&RunInfo) -> String;

/// Checks that the facts of both runs agree with one plan; returns the policies that both runs have, in the first run's
/// order.
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

/// Checks that each flow in both runs has the same hosts, size and scheduled start.
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

/// Returns true if two sizes are equal except for the rounding of emulated sizes to whole bytes and messages.
fn is_same_size(pair: [&Recorded; 2], scales: [ScaleInfo; 2]) -> bool {
    let [first, second] = pair.map(|flow| flow.size);
    let rounded = scales.map(|scale| 1 + paper(scale.size, MAX_ROUNDED_BYTES));
    let of_long = first.max(second) / MAX_MESSAGE_BYTES;
    first.abs_diff(second) <= rounded.iter().sum::<u64>() + of_long
}

/// Returns true if two scheduled starts are equal except for the rounding of emulated times to nanoseconds.
fn is_same_start(pair: [&Recorded; 2], scales: [ScaleInfo; 2]) -> bool {
    let [first, second] = pair.map(Recorded::scheduled);
    // Start and lateness are each rounded once in emulated and once in paper time.
    let rounded: u64 = scales
        .map(|scale| 2 + 2 * paper(scale.time, 1))
        .iter()
        .sum();
    first.abs_diff(second) <= rounded
}

/// Converts an emulated quantity to the paper's scale (before scaling for emulation).
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

/// Maximum difference, in emulated bytes, that rounding to whole messages causes for a flow with few messages.
const MAX_ROUNDED_BYTES: u64 = 8;

/// Message size of a flow with many messages, bytes; rounding changes each message by less than a byte.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;
