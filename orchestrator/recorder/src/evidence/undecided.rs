//! Flows that finished without a decision of the switch that decides for them.

use std::collections::BTreeSet;

use lab_plan::{Semantics, model::Plan};
use lab_records::FlowRow;
use lab_units::{DcId, FlowId};

use super::share::count;

/// Flows under one policy for which no decision by their source's switch was seen.
#[derive(Default)]
pub(super) struct Undecided {
    /// Finished flows, by repetition and id.
    flows: BTreeSet<(u32, u32)>,
}

impl Undecided {
    /// Adds a finished flow that its source's switch decides for.
    pub fn add(&mut self, plan: &Plan, row: &FlowRow) {
        if row.status.is_finished() && is_decided_at_source(plan, row.flow_id) {
            self.flows.insert((row.repetition, row.flow_id.0));
        }
    }

    /// Handles a decision of the switch at `dc` for a flow's data.
    pub fn decide(&mut self, plan: &Plan, dc: DcId, repetition: u32, flow: u32) {
        let flow_of_plan = &plan.flows[FlowId(flow).index()];
        if plan.nodes[flow_of_plan.src.index()].dc == dc {
            self.flows.remove(&(repetition, flow));
        }
    }

    /// Returns the number of flows without a decision.
    pub fn count(&self) -> u64 {
        count(self.flows.len())
    }
}

/// True if the source's switch has an agent and several next hops towards the destination. The artifact's flow table
/// takes several flows for one, which then share one decision.
fn is_decided_at_source(plan: &Plan, id: FlowId) -> bool {
    let Some(flow) = plan.flows.get(id.index()) else {
        return false;
    };
    let dc = |node: lab_units::NodeId| plan.nodes[node.index()].dc;
    let from = dc(flow.src);
    let to = dc(flow.dst);
    let row = plan
        .switches
        .get(from.index())
        .and_then(|it| it.towards(to));
    let has_choice = row.is_some_and(|row| row.candidates.len() > 1);
    has_choice && !plan.dcs[from.index()].legacy && plan.transport.semantics == Semantics::Paper
}
