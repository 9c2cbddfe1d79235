//! Evidence that a run tested what it ranks, computed from its plan and its rows.
//!
//! - `crashes`: decisions of switches without an agent
//! - `failover`: re-routing of flows from dead ports
//! - `flows`: concurrency, shared links and paths of flows
//! - `load`: load that the flows offered
//! - `lcmp`: decisions recomputed without one cost
//! - `hash`: test of the next hops' shares
//! - `splits`: splits that traffic engineering or trained weights installed
//! - `sampling`: queue samples, and decisions based on old ones
//! - `tables`: counters of flow tables, and decisions without a row
//! - `outages`: flows of pairs without a next hop
//! - `undecided`: flows without a decision
//! - `share`: conversion of counts to shares

mod crashes;
mod failover;
mod flows;
mod hash;
mod lcmp;
mod load;
mod outages;
mod sampling;
mod share;
mod splits;
mod tables;
#[cfg(test)]
mod tests;
mod undecided;

use std::{collections::BTreeSet, path::Path};

use lab_abi::{Rule, Trigger};
use lab_plan::{
    PaperUnits, Semantics, address,
    model::{Plan, PolicyPlan, PolicyRun},
};
use lab_records::{
    ArrivalUse, DcNames, DecisionRow, EngineInfo, Evidence, FlowRow, HashCounts, LinkRow,
    Mechanism, Met, PolicyEvidence, RecordsError, RepetitionEnds, RunDir, RunInfo, SplitRow,
    SwitchRow,
};
use lab_units::DcId;

use self::{
    crashes::Crashes,
    failover::Failovers,
    flows::Flows,
    hash::Shares,
    lcmp::Replay,
    load::Load,
    outages::{FlowsInOutages, Outages},
    sampling::QueueSamples,
    share::{count, ratio},
    splits::Splits,
    tables::PolicyFlowTables,
    undecided::Undecided,
};
use crate::rows::RowBatch;

/// Computes the evidence that a run of `plan` exercised each policy's mechanism, from the rows in the run directory
/// `run`.
///
/// # Errors
/// If a table cannot be read.
pub fn evidence(plan: &Plan, run: &Path) -> Result<Evidence, RecordsError> {
    let run = RunDir::open(run)?;
    let mut witness = Witness::new(plan, &run.info().engine);
    run.visit(|row: FlowRow| witness.flow(&row))?;
    run.visit(|row: LinkRow| witness.link(&row))?;
    run.visit(|row: SplitRow| witness.split(&row))?;
    run.visit(|row: SwitchRow| witness.switch(&row))?;
    run.visit(|row: DecisionRow| witness.decision(&row))?;
    Ok(witness.evidence(run.info()))
}

/// Collector of a run's evidence, row by row. Of one policy and repetition, rows of a table must be added in order of
/// time, and a traffic-engineering split before the decisions that follow it; otherwise, the order of tables does not
/// matter.
pub struct Witness<'a> {
    plan: &'a Plan,
    /// Names of the datacenters, in the plan's order.
    dcs: DcNames,
    outages: Outages,
    policies: Vec<PolicyWitness<'a>>,
}

/// Collector of the evidence for one policy's mechanism.
struct PolicyWitness<'a> {
    run: &'a PolicyRun,
    flows: Flows,
    ends: RepetitionEnds,
    load: Load,
    links: ArrivalUse,
    /// Number of decisions for the first data packet of a flow, among several candidates.
    decisions: u64,
    replay: Option<Replay<'a>>,
    shares: Shares,
    splits: Splits,
    samples: QueueSamples,
    tables: PolicyFlowTables,
    failovers: Failovers,
    crashes: Crashes,
    in_outages: FlowsInOutages,
    undecided: Undecided,
    least_delay: u64,
    /// Flows that flow ageing has re-routed, as repetition and id.
    rerouted: BTreeSet<(u32, u32)>,
}

impl<'a> Witness<'a> {
    /// Creates the collector for a run of `plan` by `engine`.
    #[must_use]
    pub fn new(plan: &'a Plan, engine: &EngineInfo) -> Self {
        let is_real = matches!(engine, EngineInfo::Kernel);
        let paper = PaperUnits::new(&plan.scale);
        let policy = |run: &'a PolicyRun| PolicyWitness {
            run,
            flows: Flows::default(),
            ends: RepetitionEnds::default(),
            load: Load::default(),
            links: ArrivalUse::default(),
            decisions: 0,
            replay: match &run.policy {
                PolicyPlan::Lcmp(config) => Some(Replay::new(config)),
                _ => None,
            },
            shares: Shares::default(),
            splits: Splits::default(),
            samples: QueueSamples::new(
                run.policy
                    .lcmp()
                    .map(|lcmp| paper.time(lcmp.sample_interval_ns)),
            ),
            tables: PolicyFlowTables::new(is_real),
            failovers: Failovers::new(plan, is_real),
            crashes: Crashes::new(plan, run.policy.agent_interval()),
            in_outages: FlowsInOutages::default(),
            undecided: Undecided::default(),
            least_delay: 0,
            rerouted: BTreeSet::new(),
        };
        Self {
            plan,
            dcs: plan.dcs.iter().map(|dc| dc.name.as_str()).collect(),
            outages: Outages::new(plan),
            policies: plan.policies.iter().map(policy).collect(),
        }
    }

    /// Adds all rows of `rows` from which evidence is computed.
    pub fn add(&mut self, rows: &RowBatch) {
        rows.flows.iter().for_each(|row| self.flow(row));
        rows.links.iter().for_each(|row| self.link(row));
        rows.splits.iter().for_each(|row| self.split(row));
        rows.switches.iter().for_each(|row| self.switch(row));
        rows.decisions.iter().for_each(|row| self.decision(row));
    }

    fn flow(&mut self, row: &FlowRow) {
        let plan = self.plan;
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.flows.add(&self.dcs, row);
            policy.in_outages.add(&self.outages, plan, row);
            policy.ends.flow(row.fields());
            policy.load.add(plan, row);
            policy.links.flow(row.fields());
            policy.undecided.add(plan, row);
        }
    }

    fn link(&mut self, row: &LinkRow) {
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.ends.at(row.repetition, row.time_ns);
            let direction = [&row.link, &row.from_dc, &row.to_dc].map(String::as_str);
            let time = row.time_ns;
            let bytes = row.tx_bytes;
            policy.links.counter(row.repetition, direction, time, bytes);
        }
    }

    fn split(&mut self, row: &SplitRow) {
        let plan = self.plan;
        let dcs = &self.dcs;
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            let is_local = matches!(policy.run.policy, PolicyPlan::Trained(_));
            policy
                .splits
                .add(row, is_local, || provisioned(plan, dcs, policy.run, row));
        }
    }

    fn switch(&mut self, row: &SwitchRow) {
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.samples.switch(row);
            policy.tables.switch(row);
        }
    }

    fn decision(&mut self, row: &DecisionRow) {
        let plan = self.plan;
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.samples.decide(row);
            policy.tables.decide(row);
            policy.failovers.decide(row);
            policy.crashes.decide(row);
        }
        let Some(choice) = DataDecision::of(plan, &self.dcs, row) else {
            return;
        };
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.decision(plan, &choice);
        }
    }

    /// Returns the evidence from the rows so far; `info` has the facts of the run.
    #[must_use]
    pub fn evidence(&self, info: &RunInfo) -> Evidence {
        let policies = self.policies.iter();
        let loads = policies.clone().map(|policy| (&policy.load, &policy.ends));
        let offered = load::offered(self.plan, loads);
        Evidence {
            load: offered.senders,
            covered: offered.covered,
            listed: offered.listed,
            outages: self.outages.infos(self.plan),
            policies: policies
                .map(|policy| PolicyEvidence {
                    policy: policy.run.label.clone(),
                    met: policy.met(info),
                    mechanism: self.mechanism(policy),
                    sampling: policy.samples.counts(),
                    tables: policy.tables.counts(),
                    failovers: policy.failovers.counts(),
                    outages: policy.in_outages.counts(),
                    crashes: policy.crashes.counts(&policy.ends, self.plan.repetitions),
                    unfinished: policy.in_outages.unfinished(),
                    undecided: policy.undecided.count(),
                })
                .collect(),
        }
    }

    fn mechanism(&self, policy: &PolicyWitness<'_>) -> Mechanism {
        let decisions = policy.decisions;
        match (&policy.run.policy, &policy.replay) {
            (PolicyPlan::Lcmp(_), Some(replay)) => {
                let mut counts = replay.counts();
                counts.against_rm_beta = self.against_rm_beta(policy);
                Mechanism::Lcmp(counts)
            }
            (PolicyPlan::Buckets(_), _) => Mechanism::Hash(HashCounts {
                has_fault: !self.plan.faults.is_empty() || !self.plan.agent_crashes.is_empty(),
                ..policy.shares.counts()
            }),
            (PolicyPlan::Ucmp(config), _) if config.ageing => Mechanism::FlowAgeing {
                flows: decisions,
                rerouted: count(policy.rerouted.len()),
            },
            (PolicyPlan::Ucmp(_), _) => Mechanism::MinDelay {
                decisions,
                least_delay: policy.least_delay,
            },
            (PolicyPlan::Te(_) | PolicyPlan::Trained(_), _) => {
                Mechanism::Splits(policy.splits.counts(decisions))
            }
            (PolicyPlan::Lcmp(_) | PolicyPlan::Own(_) | PolicyPlan::Ebpf(_), _) => {
                Mechanism::Unknown { decisions }
            }
        }
    }

    /// Compares the flows' paths under `policy` with their paths under an LCMP policy without C_cong (`beta: 0`): the
    /// policy that differs only in `beta` if the run has one, else the run's first policy without C_cong.
    fn against_rm_beta(&self, policy: &PolicyWitness<'_>) -> Option<lab_records::PathDifference> {
        let config = policy.run.policy.lcmp()?;
        if config.beta == 0 {
            return None;
        }
        let mut without = config.clone();
        without.beta = 0;
        let is_rm_beta = |other: &&PolicyWitness<'_>| match &other.run.policy {
            PolicyPlan::Lcmp(other) => other.beta == 0 && other.alpha > 0,
            _ => false,
        };
        let candidates: Vec<_> = self.policies.iter().filter(is_rm_beta).collect();
        let alike = candidates
            .iter()
            .find(|other| other.run.policy.lcmp() == Some(&without));
        let other = alike.or(candidates.first())?;
        let (flows, differ) = policy.flows.paths_unlike(&other.flows);
        Some(lab_records::PathDifference {
            policy: other.run.label.clone(),
            flows,
            differ,
        })
    }
}

impl PolicyWitness<'_> {
    fn decision(&mut self, plan: &Plan, choice: &DataDecision<'_>) {
        let row = choice.row;
        self.undecided
            .decide(plan, choice.dc, row.repetition, choice.flow);
        if row.reason == Trigger::FlowAgeing.reason(Rule::Hash) {
            self.rerouted.insert((row.repetition, choice.flow));
        }
        if !choice.is_first {
            return;
        }
        self.decisions += 1;
        let is_least = row.chosen.as_ref() == row.candidates.first();
        self.least_delay += u64::from(is_least);
        self.splits.decide(row);
        if let Some(replay) = &mut self.replay {
            replay.add(row, plan.switches[choice.switch].hash_seed);
        }
        let destination = &plan.switches[choice.switch].destinations[choice.destination];
        let buckets = (0..destination.candidates.len()).map(|candidate| {
            let buckets = self
                .run
                .buckets_of(choice.switch, choice.destination, candidate);
            (
                plan.next_hop(destination.candidates[candidate].port),
                buckets,
            )
        });
        let faults = plan.faults.iter().map(|fault| fault.paper_at_ns);
        let crashes = plan.agent_crashes.iter().map(|crash| crash.paper_at_ns);
        let fault = faults.chain(crashes).min();
        if fault.is_none_or(|fault| row.time_ns < fault) {
            self.shares
                .add((choice.switch, choice.destination), row, buckets);
        }
    }

    fn met(&self, info: &RunInfo) -> Met {
        let concurrency = self.flows.concurrency(&self.ends);
        let (flows, overlapping) = self.flows.overlapping(&self.ends);
        Met {
            mean_concurrency: ratio(concurrency.mean_hundredths, 100),
            peak_concurrency: concurrency.peak,
            flows,
            overlapping,
            busiest: self.links.busiest(info),
        }
    }
}

/// Decision for the data of a flow, among several candidates.
struct DataDecision<'a> {
    row: &'a DecisionRow,
    /// Id of the flow.
    flow: u32,
    /// Datacenter of the switch that decided.
    dc: DcId,
    /// Index of the switch in the plan.
    switch: usize,
    /// Index of the destination at the switch.
    destination: usize,
    /// True for the flow's first decision; false for a later decision, by failover or flow ageing.
    is_first: bool,
}

impl<'a> DataDecision<'a> {
    fn of(plan: &Plan, dcs: &DcNames, row: &'a DecisionRow) -> Option<Self> {
        let id = row.flow_id?;
        let flow = plan.flows.get(id.index())?;
        let src = &plan.nodes[flow.src.index()];
        let dst = &plan.nodes[flow.dst.index()];
        let is_data = match plan.transport.semantics {
            Semantics::Paper => {
                // Rows have the addresses of the lab's slot, but the recorded plan has those of slot 0.
                let sender = address::in_slot(row.src, plan.slot);
                src.addrs().any(|addr| addr == sender)
            }
            // The artifact's rows have the authors' addresses, so the switch must tell data from ACKs: decisions of the
            // destination's own switch are for ACKs.
            Semantics::Artifact => row.switch != plan.dcs[dst.dc.index()].name,
        };
        if !is_data || row.candidates.len() < 2 {
            return None;
        }
        let switch = dcs.position(&row.switch)?;
        let dc = DcId::from_index(switch)?;
        let destination = plan.switches[switch].row_index(dst.dc)?;
        let again = [Trigger::Failover, Trigger::FlowAgeing];
        let is_again = again.map(|trigger| trigger.reason(Rule::Hash) == row.reason);
        Some(Self {
            row,
            flow: id.0,
            dc,
            switch,
            destination,
            is_first: is_again == [false; 2],
        })
    }
}

/// Returns the policy with this label.
fn of_label<'p, 'a>(
    policies: &'p mut [PolicyWitness<'a>],
    label: &str,
) -> Option<&'p mut PolicyWitness<'a>> {
    policies.iter_mut().find(|policy| policy.run.label == label)
}

/// Returns, by next datacenter, the hash buckets that a switch had before its first traffic-engineering split.
fn provisioned(plan: &Plan, dcs: &DcNames, run: &PolicyRun, row: &SplitRow) -> Option<Vec<u16>> {
    let switch = dcs.position(&row.switch)?;
    let to_dc = DcId::from_index(dcs.position(&row.to_dc)?)?;
    let destination = plan.switches[switch].row_index(to_dc)?;
    let candidates = &plan.switches[switch].destinations[destination].candidates;
    let buckets = 0..candidates.len();
    Some(
        buckets
            .map(|candidate| run.buckets_of(switch, destination, candidate))
            .collect(),
    )
}
