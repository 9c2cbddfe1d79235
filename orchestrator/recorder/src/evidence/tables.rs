//! Counts of the DCI switches' flow tables, and of decisions without a row.

use std::collections::BTreeMap;

use lab_records::{FlowTables, SwitchRow};
use lab_units::DcId;

use crate::decision::NumberedDecision;

/// Counts of the flow tables under one policy.
#[derive(Default)]
pub(super) struct PolicyFlowTables {
    /// True for the kernel engine, whose agents report decisions over a socket and may lose some. The simulator loses
    /// none, but also counts decisions inside a datacenter, which never have a row.
    can_lose_rows: bool,
    /// Counts by repetition and the switch's datacenter.
    switches: BTreeMap<(u32, DcId), SwitchLoad>,
}

/// Counts of one switch's flow table in one repetition.
#[derive(Default)]
struct SwitchLoad {
    /// Row with the latest counters; `None` if the switch has no row.
    latest: Option<SwitchRow>,
    /// Number of recorded decisions of this switch.
    recorded: u64,
    peak_flows: u64,
    peak_decisions_per_s: u64,
}

impl PolicyFlowTables {
    /// Creates empty counts for one policy; `can_lose_rows` is true for the kernel engine.
    pub fn new(can_lose_rows: bool) -> Self {
        Self {
            can_lose_rows,
            switches: BTreeMap::new(),
        }
    }

    /// Adds a row of counters, which start at 0 in each repetition, for the switch in `dc`.
    pub fn switch(&mut self, dc: DcId, row: &SwitchRow) {
        let table = self.switches.entry((row.repetition, dc)).or_default();
        table.peak_flows = table.peak_flows.max(row.occupancy);
        table.peak_decisions_per_s = table.peak_decisions_per_s.max(row.decisions_per_s);
        table.latest = Some(row.clone());
    }

    /// Adds a recorded decision.
    pub fn decide(&mut self, decision: &NumberedDecision) {
        let switch = (decision.repetition, decision.dc);
        self.switches.entry(switch).or_default().recorded += 1;
    }

    /// Returns the counts; `None` if no switch has a row.
    pub fn counts(&self) -> Option<FlowTables> {
        let mut counts = FlowTables::default();
        let mut has_rows = false;
        for table in self.switches.values() {
            let Some(latest) = &table.latest else {
                continue;
            };
            has_rows = true;
            counts.hits += latest.hits;
            counts.decisions += latest.decisions;
            counts.failovers += latest.failovers;
            counts.fallbacks += latest.fallbacks;
            counts.stale += latest.stale;
            counts.evicted += latest.evicted;
            counts.expired += latest.expired;
            counts.restarts += latest.restarts;
            counts.peak_flows = counts.peak_flows.max(table.peak_flows);
            counts.peak_decisions_per_s =
                counts.peak_decisions_per_s.max(table.peak_decisions_per_s);
            if self.can_lose_rows {
                counts.unrecorded += latest.decisions.saturating_sub(table.recorded);
            }
        }
        has_rows.then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use lab_units::Nanos;

    use super::*;

    fn switch(repetition: u32, decisions: u64, occupancy: u64) -> SwitchRow {
        SwitchRow {
            policy: "lcmp".to_owned(),
            repetition,
            time_ns: Nanos::ZERO,
            switch: "dc1".to_owned(),
            occupancy,
            decisions,
            decisions_per_s: decisions * 10,
            failovers: 1,
            fallbacks: 2,
            stale: 1,
            evicted: 3,
            expired: 4,
            hits: 100,
            restarts: 0,
            samples: None,
            late_samples: None,
        }
    }

    fn decision(repetition: u32) -> NumberedDecision {
        NumberedDecision {
            repetition,
            ..super::super::lcmp::tests::decision()
        }
    }

    #[test]
    fn the_last_counters_add_up_and_the_largest_values_are_kept() {
        let mut tables = PolicyFlowTables::new(true);
        assert_eq!(tables.counts(), None, "no switch has an agent");
        for row in [switch(0, 2, 9), switch(0, 3, 7), switch(1, 4, 5)] {
            tables.switch(DcId(0), &row);
        }
        for repetition in [0, 0, 0, 1, 1, 1, 1] {
            tables.decide(&decision(repetition));
        }
        let counts = FlowTables {
            hits: 200,
            decisions: 7,
            unrecorded: 0,
            peak_decisions_per_s: 40,
            failovers: 2,
            fallbacks: 4,
            stale: 2,
            peak_flows: 9,
            evicted: 6,
            expired: 8,
            restarts: 0,
        };
        assert_eq!(tables.counts(), Some(counts));
    }

    #[test]
    fn a_decision_without_a_row_counts_as_lost_in_the_lab_alone() {
        for (can_lose_rows, unrecorded) in [(true, 2), (false, 0)] {
            let mut tables = PolicyFlowTables::new(can_lose_rows);
            tables.switch(DcId(0), &switch(0, 3, 3));
            tables.decide(&decision(0));
            // Surplus rows in one repetition do not make up for missing rows in another.
            tables.switch(DcId(0), &switch(1, 1, 1));
            tables.decide(&decision(1));
            tables.decide(&decision(1));
            let counts = tables.counts().expect("switches");
            assert_eq!(counts.unrecorded, unrecorded);
        }
    }
}
