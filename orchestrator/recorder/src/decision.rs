//! Decisions of DCI switches, with the plan's ids where rows have names.
//!
//! Evidence reads each decision several times, and a row has a dozen strings.

use std::net::Ipv4Addr;

use lab_abi::{Rule, Trigger};
use lab_plan::model::{LinkKind, Plan};
use lab_records::{DcPath, DecisionRow};
use lab_units::{DcId, FlowId, Nanos, PortId};
use rustc_hash::FxHashMap;

/// Decision of a DCI switch, by the plan's numbers; times are at the paper's scale.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NumberedDecision {
    /// Index of the policy in the plan.
    pub policy: usize,
    pub repetition: u32,
    /// Time of the decision, relative to the repetition's start.
    pub time: Nanos,
    /// Datacenter of the switch.
    pub dc: DcId,
    /// Flow to which the packet belongs; `None` if it belongs to no scheduled flow.
    pub flow: Option<FlowId>,
    /// Source address of the packet.
    pub src: Ipv4Addr,
    /// Destination address of the packet.
    pub dst: Ipv4Addr,
    /// UDP source port of the packet.
    pub sport: u16,
    /// Trigger and rule in words, see [`Trigger::reason`].
    pub reason: &'static str,
    /// Age of the queue sample from which C_cong was computed; `None` if the policy does not sample queues.
    pub signal_age: Option<Nanos>,
    /// True if the queue sample was older than the policy's sampling interval.
    pub is_stale: bool,
    pub candidates: Vec<CandidateScore>,
    /// Chosen egress port; `None` if the decision chose no port.
    pub chosen: Option<PortId>,
}

/// Candidate of a decision, with its costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CandidateScore {
    /// Egress port.
    pub port: PortId,
    /// Path cost C_path.
    pub c_path: u8,
    /// Congestion cost C_cong.
    pub c_cong: u8,
    /// Total cost C.
    pub cost: u32,
    /// True if the candidate was kept, so that the hash could choose it.
    pub is_kept: bool,
}

/// Numbers of the names that rows of a plan have.
pub struct PlanNumbers<'a> {
    plan: &'a Plan,
    dcs: FxHashMap<&'a str, DcId>,
    /// Egress port to each next hop, by datacenter.
    ports: Vec<FxHashMap<String, PortId>>,
}

impl<'a> PlanNumbers<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let dcs = (0..).filter_map(DcId::from_index).zip(&plan.dcs);
        let mut ports = vec![FxHashMap::default(); plan.dcs.len()];
        for port in (0..plan.ports.len()).filter_map(PortId::from_index) {
            if plan.links[port.link().index()].kind == LinkKind::InterDc {
                let node = plan.ports[port.index()].node;
                let dc = plan.nodes[node.index()].dc;
                ports[dc.index()].insert(plan.next_hop(port), port);
            }
        }
        Self {
            plan,
            dcs: dcs.map(|(id, dc)| (dc.name.as_str(), id)).collect(),
            ports,
        }
    }

    /// Returns the datacenter with this name.
    pub fn dc(&self, name: &str) -> Option<DcId> {
        self.dcs.get(name).copied()
    }

    /// Returns the egress ports on a path; `None` if the plan does not have one of its links.
    pub fn path(&self, path: &DcPath) -> Option<Box<[PortId]>> {
        let mut dcs = path.as_str().split('-');
        let mut at = self.dc(dcs.next()?)?;
        let port = |next| {
            let port = *self.ports[at.index()].get(next)?;
            let node = self.plan.ports[port.peer().index()].node;
            at = self.plan.nodes[node.index()].dc;
            Some(port)
        };
        dcs.map(port).collect()
    }

    /// Returns a row's decision; `None` if the plan lacks one of the row's names, or if the row's lists differ in length.
    pub fn decision(&self, row: &DecisionRow) -> Option<NumberedDecision> {
        let lengths = [
            row.c_path.len(),
            row.c_cong.len(),
            row.cost.len(),
            row.kept.len(),
        ];
        if lengths != [row.candidates.len(); 4] {
            return None;
        }
        let mut policies = self.plan.policies.iter();
        let dc = self.dc(&row.switch)?;
        let port = |name: &String| self.ports[dc.index()].get(name).copied();
        let candidate = |at: usize| {
            Some(CandidateScore {
                port: port(&row.candidates[at])?,
                c_path: row.c_path[at],
                c_cong: row.c_cong[at],
                cost: row.cost[at],
                is_kept: row.kept[at] == 1,
            })
        };
        let candidates = (0..row.candidates.len()).map(candidate);
        Some(NumberedDecision {
            policy: policies.position(|policy| policy.label == row.policy)?,
            repetition: row.repetition,
            time: row.time_ns,
            dc,
            flow: row.flow_id,
            src: row.src,
            dst: row.dst,
            sport: row.sport,
            reason: known_reason(&row.reason)?,
            signal_age: row.signal_age_ns,
            is_stale: row.stale_signals == Some(1),
            candidates: candidates.collect::<Option<_>>()?,
            chosen: match &row.chosen {
                Some(name) => Some(port(name)?),
                None => None,
            },
        })
    }
}

/// Returns the reason with this text that a trigger and a rule can give.
fn known_reason(text: &str) -> Option<&'static str> {
    let triggers = (0..).map_while(Trigger::from_byte);
    let mut reasons = triggers.flat_map(|trigger| {
        let rules = (0..).map_while(Rule::from_byte);
        rules.map(move |rule| trigger.reason(rule))
    });
    reasons.find(|&reason| reason == text)
}
