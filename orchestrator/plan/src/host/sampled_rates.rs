//! Selection of QPs whose sending rates are recorded over time.

use std::{cmp::Reverse, collections::BTreeSet};

use lab_units::{FlowId, Nanos};

use crate::model::Plan;

/// QPs of one repetition whose sending rates are recorded, and the recording interval.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SampledRates {
    /// Flows whose QPs are sampled.
    pub flows: BTreeSet<FlowId>,
    /// Emulated time between two samples of a QP's rate.
    pub interval: Nanos,
}

impl SampledRates {
    /// Selects the largest flows of a repetition, and the lowest ids among flows of equal size. Returns `None` unless
    /// the congestion control is DCQCN, which both engines implement.
    #[must_use]
    pub fn of(plan: &Plan, repetition: u32) -> Option<Self> {
        let dcqcn = plan.transport.cc.in_lab()?;
        let mut flows: Vec<_> = plan
            .flows
            .iter()
            .filter(|flow| flow.repetition == repetition)
            .map(|flow| (Reverse(flow.size_bytes), flow.id))
            .collect();
        flows.sort_unstable();
        flows.truncate(MAX_SAMPLED);
        Some(Self {
            flows: flows.into_iter().map(|(_, flow)| flow).collect(),
            interval: Nanos::new(dcqcn.increase_interval_ns.get().saturating_mul(RAISES)),
        })
    }
}

/// Maximum number of sampled QPs per repetition: each sample takes ten microseconds of the lab's CPU time.
const MAX_SAMPLED: usize = 32;

/// Number of DCQCN increase timers between two samples.
const RAISES: u64 = 4;
