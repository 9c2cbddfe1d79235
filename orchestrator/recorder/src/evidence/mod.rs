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
    ArrivalUse, DecisionRow, EngineInfo, Evidence, FlowRow, HashCounts, LinkRow, Mechanism, Met,
    PolicyEvidence, RecordsError, RepetitionEnds, RunDir, RunInfo, SplitRow, SwitchRow,
};
use lab_units::{Nanos, PortId};

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
use crate::{
    decision::{NumberedDecision, PlanNumbers},
    rows::RowBatch,
};

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
    numbers: PlanNumbers<'a>,
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
    /// Shares of next hops; `None` for policies that do not hash over buckets.
    shares: Option<Shares>,
    /// Time of the first fault or crash of an agent.
    first_fault: Option<Nanos>,
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
        let faults = plan.faults.iter().map(|fault| fault.paper_at_ns);
        let crashes = plan.agent_crashes.iter().map(|crash| crash.paper_at_ns);
        let first_fault = faults.chain(crashes).min();
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
            shares: match &run.policy {
                PolicyPlan::Buckets(_) => Some(Shares::default()),
                _ => None,
            },
            first_fault,
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
            numbers: PlanNumbers::new(plan),
            outages: Outages::new(plan),
            policies: plan.policies.iter().map(policy).collect(),
        }
    }

    /// Adds the rows that evidence needs, and the decisions in `rows.numbered`, of which `rows.decisions` are the rows.
    pub fn add(&mut self, rows: &RowBatch) {
        rows.flows.iter().for_each(|row| self.flow(row));
        rows.links.iter().for_each(|row| self.link(row));
        rows.splits.iter().for_each(|row| self.split(row));
        rows.switches.iter().for_each(|row| self.switch(row));
        rows.numbered.iter().for_each(|it| self.decided(it));
    }

    fn flow(&mut self, row: &FlowRow) {
        let plan = self.plan;
        let known = row.path.as_ref();
        let path = known.and_then(|path| self.numbers.path(path));
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            policy.flows.add(row, path);
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
        let numbers = &self.numbers;
        if let Some(policy) = of_label(&mut self.policies, &row.policy) {
            let is_local = matches!(policy.run.policy, PolicyPlan::Trained(_));
            policy.splits.add(row, is_local, || {
                provisioned(plan, numbers, policy.run, row)
            });
        }
    }

    fn switch(&mut self, row: &SwitchRow) {
        let dc = self.numbers.dc(&row.switch);
        if let (Some(policy), Some(dc)) = (of_label(&mut self.policies, &row.policy), dc) {
            policy.samples.switch(row);
            policy.tables.switch(dc, row);
        }
    }

    /// Adds a decision; ignores a row that does not fit the plan, which then counts as unrecorded.
    fn decision(&mut self, row: &DecisionRow) {
        if let Some(decision) = self.numbers.decision(row) {
            self.decided(&decision);
        }
    }

    fn decided(&mut self, decision: &NumberedDecision) {
        let policy = &mut self.policies[decision.policy];
        policy.samples.decide(decision);
        policy.tables.decide(decision);
        policy.failovers.decide(decision);
        policy.crashes.decide(decision);
        if let Some(choice) = DataDecision::of(self.plan, decision) {
            policy.decision(self.plan, &choice);
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
                has_fault: policy.first_fault.is_some(),
                ..policy
                    .shares
                    .as_ref()
                    .map(Shares::counts)
                    .unwrap_or_default()
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
        let decision = choice.decision;
        let repetition = decision.repetition;
        self.undecided
            .decide(plan, decision.dc, repetition, choice.flow);
        if decision.reason == Trigger::FlowAgeing.reason(Rule::Hash) {
            self.rerouted.insert((repetition, choice.flow));
        }
        if !choice.is_first {
            return;
        }
        self.decisions += 1;
        let least = decision.candidates.first().map(|it| it.port);
        self.least_delay += u64::from(decision.chosen == least);
        self.splits.decide(decision);
        let switch = decision.dc.index();
        if let Some(replay) = &mut self.replay {
            let is_cut = |port: PortId| plan.is_cut_at_paper(port.link(), decision.time);
            replay.add(decision, plan.switches[switch].hash_seed, is_cut);
        }
        let destination = &plan.switches[switch].destinations[choice.destination];
        let buckets = (0..destination.candidates.len()).map(|candidate| {
            let buckets = self.run.buckets_of(switch, choice.destination, candidate);
            (destination.candidates[candidate].port, buckets)
        });
        if let Some(shares) = &mut self.shares
            && self.first_fault.is_none_or(|fault| decision.time < fault)
        {
            shares.add((switch, choice.destination), decision, buckets);
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
    decision: &'a NumberedDecision,
    /// Id of the flow.
    flow: u32,
    /// Index of the destination at the switch.
    destination: usize,
    /// True for the flow's first decision; false for a later decision, by failover or flow ageing.
    is_first: bool,
}

impl<'a> DataDecision<'a> {
    fn of(plan: &Plan, decision: &'a NumberedDecision) -> Option<Self> {
        let id = decision.flow?;
        let flow = plan.flows.get(id.index())?;
        let src = &plan.nodes[flow.src.index()];
        let dst = &plan.nodes[flow.dst.index()];
        let is_data = match plan.transport.semantics {
            Semantics::Paper => {
                // Decisions have the addresses of the lab's slot, but the recorded plan has those of slot 0.
                let sender = address::in_slot(decision.src, plan.slot);
                src.addrs().any(|addr| addr == sender)
            }
            // The artifact's decisions have the authors' addresses, so the switch must tell data from ACKs: decisions of
            // the destination's own switch are for ACKs.
            Semantics::Artifact => decision.dc != dst.dc,
        };
        if !is_data || decision.candidates.len() < 2 {
            return None;
        }
        let destination = plan.switches[decision.dc.index()].row_index(dst.dc)?;
        let again = [Trigger::Failover, Trigger::FlowAgeing];
        let is_again = again.map(|trigger| trigger.reason(Rule::Hash) == decision.reason);
        Some(Self {
            decision,
            flow: id.0,
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
fn provisioned(
    plan: &Plan,
    numbers: &PlanNumbers<'_>,
    run: &PolicyRun,
    row: &SplitRow,
) -> Option<Vec<u16>> {
    let switch = numbers.dc(&row.switch)?.index();
    let to_dc = numbers.dc(&row.to_dc)?;
    let destination = plan.switches[switch].row_index(to_dc)?;
    let candidates = &plan.switches[switch].destinations[destination].candidates;
    let buckets = 0..candidates.len();
    Some(
        buckets
            .map(|candidate| run.buckets_of(switch, destination, candidate))
            .collect(),
    )
}
