//! Transit rows as the agents read them.

use std::collections::BTreeMap;

use lab_abi::wire::{AgentCommand, TransitConfig};
use lab_plan::{Transit, model::Plan};
use lab_units::DcId;

/// Transit rows of all switches during a run; empty without tunnels.
///
/// They are the same for all policies, and are computed before the flows start, because that takes hundreds of
/// milliseconds, which on a guest's virtual clock would pass during the flows.
#[derive(Debug, Default)]
pub struct TransitRows {
    /// Rows from the start, by datacenter.
    start: Vec<Vec<TransitConfig>>,
    /// Commands of each reconvergence, with their agents' datacenters.
    changes: Vec<Vec<(DcId, AgentCommand)>>,
}

impl TransitRows {
    /// Returns the rows of `plan`.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let Some(tables) = plan.transit_tables() else {
            return Self::default();
        };
        let prefix = |dc: DcId| plan.dcs[dc.index()].prefix.addr;
        let config = |row: &Transit| TransitConfig {
            from: prefix(row.from),
            to: prefix(row.to),
            ingress: row.ingress,
            egress: row.egress,
        };
        let commands = |replaced: &Vec<(DcId, Transit)>| {
            let mut by_dc: BTreeMap<DcId, Vec<TransitConfig>> = BTreeMap::new();
            for (dc, row) in replaced {
                by_dc.entry(*dc).or_default().push(config(row));
            }
            let commands = by_dc.into_iter();
            commands
                .map(|(dc, rows)| (dc, AgentCommand::AddTransits(rows)))
                .collect()
        };
        let start = tables.start.iter();
        Self {
            start: start
                .map(|rows| rows.iter().map(config).collect())
                .collect(),
            changes: tables.replaced.iter().map(commands).collect(),
        }
    }

    /// Returns the rows of the switch in `dc` at the start; `None` without tunnels.
    pub(super) fn at_start(&self, dc: DcId) -> Option<&Vec<TransitConfig>> {
        self.start.get(dc.index())
    }

    /// Returns the commands of the plan's reconvergence at `index`.
    pub(super) fn of_reconvergence(&self, index: usize) -> &[(DcId, AgentCommand)] {
        self.changes.get(index).map_or(&[], Vec::as_slice)
    }
}
