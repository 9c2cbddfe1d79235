//! QPs whose rates are recorded over time.

use std::{cmp::Reverse, collections::BTreeSet};

use lab_units::{FlowId, Nanos};

use crate::model::Plan;

/// QPs of a repetition whose rates are recorded, and how often.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SampledRates {
    /// Flows of the QPs.
    pub flows: BTreeSet<FlowId>,
    /// Time between two samples, emulated.
    pub interval: Nanos,
}

impl SampledRates {
    /// Returns a repetition's largest flows, among equal ones the first; none without DCQCN as
    /// published, which both engines have.
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

/// Maximum number of QPs sampled in a repetition: each sample takes ten microseconds of the lab's
/// CPU time.
const MAX_SAMPLED: usize = 32;

/// Intervals of the increase timer between two samples.
const RAISES: u64 = 4;
