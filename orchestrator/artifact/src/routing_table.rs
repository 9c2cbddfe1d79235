//! Routing tables: next hops by node and destination host, in the order in which a hash indexes them.
//!
//! The columns are `src_id,dst_id,next_hop_id`, with next hops separated by `;`. The artifact's order depends on heap
//! addresses, so a run can be repeated only with the table that it wrote.

use std::collections::BTreeMap;

use lab_plan::Plan;
use lab_units::NodeId;

use crate::{error::ArtifactError, ids::NodeIds, rows::Rows};

/// Routing table with the artifact's node numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RoutingTable {
    /// Name of the file, used in messages.
    pub file: String,
    /// Line number (from 1) and next hops in order, by node and destination host.
    pub rows: BTreeMap<(u32, u32), (usize, Vec<u32>)>,
}

impl RoutingTable {
    /// Parses `text`, the contents of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ArtifactError> {
        let mut table = Self {
            file: file.to_owned(),
            rows: BTreeMap::new(),
        };
        let mut rows = Rows::separated(file, text, &[',']);
        rows.expect("the heading")?;
        for row in rows {
            row.has(3, "3: node, destination, next hops")?;
            let hops = row.value(2, "the next hops", "numbers separated by `;`", |text| {
                text.split(';').map(|hop| hop.trim().parse().ok()).collect()
            })?;
            let key = (
                row.number(0, "the node")?,
                row.number(1, "the destination")?,
            );
            table.rows.insert(key, (row.line, hops));
        }
        Ok(table)
    }

    /// Converts the table to the ids of `plan`: next hops in order, by node and destination host. Fails if a row names
    /// a node that is not in the plan.
    pub fn in_plan(
        &self,
        plan: &Plan,
    ) -> Result<BTreeMap<(NodeId, NodeId), Vec<NodeId>>, ArtifactError> {
        let ids = NodeIds::of(plan);
        let translated = self.rows.iter().map(|(&(node, dst), (line, hops))| {
            let ours = |id: u32| {
                ids.ours(id).map_err(|kind| ArtifactError {
                    file: self.file.clone(),
                    line: *line,
                    kind,
                })
            };
            let hops = hops.iter().map(|&hop| ours(hop));
            Ok(((ours(node)?, ours(dst)?), hops.collect::<Result<_, _>>()?))
        });
        translated.collect()
    }
}

/// Returns the order of next hops that applies without a table: by port, for each DCI switch and each host of another
/// datacenter.
#[must_use]
pub fn port_order(plan: &Plan) -> BTreeMap<(NodeId, NodeId), Vec<NodeId>> {
    let mut order = BTreeMap::new();
    for switch in &plan.switches {
        for destination in &switch.destinations {
            let mut ports: Vec<_> = destination
                .candidates
                .iter()
                .map(|candidate| candidate.port)
                .collect();
            ports.sort_unstable();
            let neighbour = |port: &lab_units::PortId| plan.ports[port.peer().index()].node;
            let neighbours: Vec<NodeId> = ports.iter().map(neighbour).collect();
            for host in &plan.dcs[destination.dc.index()].hosts {
                order.insert((switch.node, *host), neighbours.clone());
            }
        }
    }
    order
}
