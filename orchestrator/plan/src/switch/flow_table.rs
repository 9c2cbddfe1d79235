//! Flow tables of the DCI switches under each policy, equal in both engines.

use lab_parameters::lcmp::MAX_FLOW_TABLE_ENTRIES;
use lab_units::Nanos;

use crate::model::{Plan, PolicyPlan};

/// Capacity of a switch's flow table, and the intervals, after scaling, at which flows are removed from the table.
/// Removals happen at multiples of these intervals after the run's start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowTablePlan {
    /// Maximum number of flows after each eviction.
    pub entries: u32,
    /// Interval between queue samples; at each sample, the least recently seen flows beyond `entries` are evicted.
    pub sample_interval: Nanos,
    /// Interval of garbage collection, which removes idle flows.
    pub gc_interval: Nanos,
    /// Time without a packet after which a flow counts as idle.
    pub idle_timeout: Nanos,
}

impl Plan {
    /// Returns the flow table of switches under `policy`, from LCMP's parameters. A policy without these parameters
    /// gets LCMP's default capacity, so that policies differ only in their decisions; flows then stay in the table
    /// until their deadline, after which no packet can arrive.
    #[must_use]
    pub fn flow_table(&self, policy: &PolicyPlan) -> FlowTablePlan {
        let deadline = self.rdma.flow_deadline_ns;
        policy.lcmp().map_or(
            FlowTablePlan {
                entries: MAX_FLOW_TABLE_ENTRIES,
                sample_interval: self.measure.queues_ns,
                gc_interval: deadline,
                idle_timeout: deadline,
            },
            |lcmp| FlowTablePlan {
                entries: lcmp.flow_table_entries,
                sample_interval: lcmp.sample_interval_ns,
                gc_interval: lcmp.gc_interval_ns,
                idle_timeout: lcmp.idle_timeout_ns,
            },
        )
    }
}
