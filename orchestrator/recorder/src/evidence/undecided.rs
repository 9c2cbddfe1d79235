//! Flows that finished although the switch of their source datacenter recorded no decision.

use lab_plan::{Semantics, model::Plan};
use lab_records::FlowRow;
use lab_units::{DcId, FlowId};
use rustc_hash::FxHashSet;

use super::share::count;

/// Finished flows of one policy for which no decision at their source has been added. Flows and decisions may be added
/// in any order.
#[derive(Default)]
pub(super) struct Undecided {
    /// Repetition and id of each finished flow without a decision.
    flows: FxHashSet<(u32, u32)>,
    /// Repetition and id of each flow that had a decision before its row, or one more after it.
    decided: FxHashSet<(u32, u32)>,
}

impl Undecided {
    /// Adds a flow, if it finished and the switch at its source must decide for it.
    pub fn add(&mut self, plan: &Plan, row: &FlowRow) {
        let flow = (row.repetition, row.flow_id.0);
        let is_decided = self.decided.remove(&flow);
        if !is_decided && row.status.is_finished() && is_decided_at_source(plan, row.flow_id) {
            self.flows.insert(flow);
        }
    }

    /// Adds a decision by the switch of `dc` for a flow's data; it counts if `dc` is the flow's source.
    pub fn decide(&mut self, plan: &Plan, dc: DcId, repetition: u32, flow: u32) {
        let flow_of_plan = &plan.flows[FlowId(flow).index()];
        if plan.nodes[flow_of_plan.src.index()].dc == dc && !self.flows.remove(&(repetition, flow))
        {
            self.decided.insert((repetition, flow));
        }
    }

    /// Returns the number of finished flows without a decision.
    pub fn count(&self) -> u64 {
        count(self.flows.len())
    }
}

/// Returns true if the switch of the flow's source datacenter has an agent and, at all times, several next hops to the
/// destination. Always false with the artifact's semantics, where several flows may share a table entry and thus a decision.
fn is_decided_at_source(plan: &Plan, id: FlowId) -> bool {
    let Some(flow) = plan.flows.get(id.index()) else {
        return false;
    };
    let dc = |node: lab_units::NodeId| plan.nodes[node.index()].dc;
    let from = dc(flow.src);
    plan.always_has_choice(from, dc(flow.dst))
        && !plan.dcs[from.index()].legacy
        && plan.transport.semantics == Semantics::Paper
}
