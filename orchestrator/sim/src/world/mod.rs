//! Static data that all partitions share: one policy's run in the simulator's numbering.
//!
//! - `flow`, `transport`: flows and transport of the hosts
//! - `round_trip`: longest round trip over all paths of a flow
//! - `switch`, `order`: policy and candidates of the DCI switches

mod flow;
mod order;
mod round_trip;
mod switch;
mod trains;
mod transport;

use std::marker::PhantomData;

use lab_plan::{
    FaultPlan, Flow, FlowTablePlan, PaperUnits, Plan, PolicyPlan, SampledRates, Window,
};
use lab_units::{BitsPerSec, Nanos};

pub(crate) use self::round_trip::Detours;
pub use self::{
    flow::SimFlow,
    switch::{PathCostUpdate, PortCandidate, RunPolicy, SwitchFacts, Transits},
    trains::Trains,
    transport::Transport,
};
use crate::{
    cc::CongestionControl,
    error::SimError,
    network::Network,
    semantics::{NextHopOrder, SemanticsRules},
    te::TeController,
    time::SimTime,
    trained::TrainedPolicy,
};

/// Static data of one policy's run in one repetition.
pub struct World<'p, S: SemanticsRules, C: CongestionControl> {
    pub plan: &'p Plan,
    /// Repetition, from 0.
    pub repetition: u32,
    pub network: Network,
    /// Flows of the repetition, in the order of their starts.
    pub flows: Vec<SimFlow>,
    /// Hash seed of each node, by node number.
    pub hash_seeds: Vec<u32>,
    /// DCI switch of each datacenter.
    pub switches: Vec<SwitchFacts>,
    /// Policy of the DCI switches.
    pub policy: RunPolicy,
    /// Parameters of the DCI switches' flow tables.
    pub flow_table: FlowTablePlan,
    /// TE controller; `None` unless the policy is traffic engineering.
    pub te: Option<TeController>,
    /// Actors of a policy with trained weights; `None` under other policies.
    pub trained: Option<TrainedPolicy>,
    /// QPs whose rates are recorded; `None` if no rates are recorded.
    pub sampled_qps: Option<SampledQps>,
    /// Factors that convert emulated values to the paper's scale, for the records.
    pub paper: PaperUnits,
    /// Path costs that change at faults, in the order of the faults, then candidates that change at reconvergences.
    pub path_cost_updates: Vec<PathCostUpdate>,
    /// Transit rows of all switches, by datacenter, from a time on; empty without tunnels.
    pub transits: Vec<(SimTime, Vec<Transits>)>,
    /// True if candidates change at reconvergences, so that a flow may be pinned to a port that is none any more.
    pub reconverges: bool,
    /// True if the policy is ECMP without weights, so that all candidates cost the same.
    pub is_plain_ecmp: bool,
    /// Parameters of the QPs' congestion control.
    pub control: C::Parameters,
    /// Base RTT that every QP's congestion control uses; `None` if each QP uses the base RTT of its flow.
    pub common_base_rtt: Option<SimTime>,
    /// Largest bandwidth-delay product in bytes, to which windows are proportional.
    pub largest_window: u64,
    /// Transport of all hosts.
    pub transport: Transport,
    /// Wire bytes of a data packet that is not the last of its message.
    pub full_bytes: u32,
    /// Rules for the lengths of trains.
    pub trains: Trains,
    /// Lookahead of the partitions in virtual time: the shortest inter-DC delay or, if shorter, the TE interval.
    pub lookahead: SimTime,
    semantics: PhantomData<S>,
}

/// QPs whose sending rates are recorded.
#[derive(Clone, Debug)]
pub struct SampledQps {
    /// Indices of their flows.
    pub flows: Vec<u32>,
    /// Virtual time between two samples.
    pub interval: Nanos,
}

impl SampledQps {
    fn new(sampled: &SampledRates, flows: &[SimFlow]) -> Self {
        let numbered = (0..).zip(flows);
        let is_sampled = |(_, flow): &(u32, &SimFlow)| sampled.flows.contains(&flow.plan);
        let indices = numbered.filter(is_sampled).map(|(index, _)| index);
        Self {
            flows: indices.collect(),
            interval: sampled.interval,
        }
    }
}

impl<'p, S: SemanticsRules, C: CongestionControl> World<'p, S, C> {
    /// Prepares a run of the plan's policy with index `policy` in repetition `repetition`.
    ///
    /// # Errors
    /// Fails if the plan cannot be simulated: see [`SimError`].
    pub fn new(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
    ) -> Result<Self, SimError> {
        Self::with_order(plan, policy, repetition, control, None, 1)
    }

    /// Prepares a run like [`World::new`], but with next hops of equal hop count in the order of a routing table.
    ///
    /// # Errors
    /// Fails if the plan cannot be simulated: see [`SimError`].
    pub fn with_order(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
        order: Option<&NextHopOrder>,
        train: u32,
    ) -> Result<Self, SimError> {
        let mut network = Network::new(plan)?;
        let run = plan.policies.get(policy).ok_or(SimError::NoPolicy {
            index: policy,
            count: plan.policies.len(),
        })?;
        let mut planned: Vec<&Flow> = plan
            .flows
            .iter()
            .filter(|flow| flow.repetition == repetition)
            .collect();
        planned.sort_by_key(|flow| (flow.start_ns, flow.id));
        let identities = S::identities(plan, &planned);
        let order = order.or(identities.next_hop_order.as_ref());
        if let Some(order) = order {
            order::order_next_hops(&mut network, order);
        }
        let transport = transport::transport::<S, C>(plan, &control);
        let flows = flow::flows(plan, &network, &planned, &identities, &transport)?;
        let is_plain_ecmp = run.policy == PolicyPlan::ECMP;
        let path_cost_updates = switch::path_cost_updates(plan, &network, policy);
        let switches = switch::switches(plan, &network, run, order);
        let transits = switch::transits(plan, &network);
        let peers: Vec<u32> = network.ports.iter().map(|port| port.peer_dc).collect();
        let rows = switches.iter().map(SwitchFacts::te_rows).collect();
        let later = match run.policy {
            PolicyPlan::Te(_) => switch::te_rows_over_time(plan, &switches, &path_cost_updates),
            _ => Vec::new(),
        };
        let te = TeController::new(&run.policy, rows, later, &peers);
        let trained = match &run.policy {
            PolicyPlan::Trained(trained) => {
                let policy = TrainedPolicy::new(plan, &network, run, trained);
                Some(policy.map_err(|error| SimError::Weights(error.to_string()))?)
            }
            _ => None,
        };
        let min_delay = lookahead(plan)?;
        let policy = RunPolicy::of(&run.policy)?;
        let full_bytes = data_bytes::<S>(&transport, transport.payload);
        Ok(Self {
            trains: Trains::new(train, &switches, &policy, full_bytes),
            full_bytes,
            hash_seeds: by_sim_node(&network, &identities.hash_seeds),
            // The demands of one tick must reach the controller before the next tick.
            lookahead: te
                .as_ref()
                .map_or(min_delay, |te| min_delay.min(te.interval)),
            switches,
            te,
            trained,
            sampled_qps: SampledRates::of(plan, repetition).map(|it| SampledQps::new(&it, &flows)),
            paper: PaperUnits::new(&plan.scale),
            common_base_rtt: identities.common_base_rtt,
            largest_window: identities.largest_window,
            plan,
            repetition,
            network,
            flows,
            policy,
            flow_table: plan.flow_table(&run.policy),
            path_cost_updates,
            transits,
            reconverges: !plan.reconvergences.is_empty(),
            is_plain_ecmp,
            control,
            transport,
            semantics: PhantomData,
        })
    }

    /// Returns the error that has ended the run; `None` if there is none.
    #[must_use]
    pub fn failure(&self) -> Option<SimError> {
        Some(self.te.as_ref()?.failure()?.into())
    }

    /// Returns the plan's window in bytes for a QP at `rate`, whose NIC has `line_rate`.
    #[must_use]
    pub fn window(&self, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        match self.transport.window {
            Window::None => u64::MAX,
            Window::Bdp => S::window(self.largest_window, rate, line_rate),
            Window::Bytes(bytes) => bytes.get(),
        }
    }

    /// Returns a QP's window in bytes: the smaller of the plan's window and the congestion control's own.
    #[must_use]
    pub fn window_of(&self, control: &C, line_rate: BitsPerSec) -> u64 {
        let common = self.window(control.rate(), line_rate);
        control.window_bytes().unwrap_or(u64::MAX).min(common)
    }

    /// Returns the wire bytes of a data packet with `payload` bytes of payload.
    #[inline]
    #[must_use]
    pub fn data_bytes(&self, payload: u32) -> u32 {
        data_bytes::<S>(&self.transport, payload)
    }
}

#[inline]
fn data_bytes<S: SemanticsRules>(transport: &Transport, payload: u32) -> u32 {
    S::DATA_HEADER_BYTES + transport.data_extra + payload.next_multiple_of(S::PAYLOAD_ALIGN)
}

fn by_sim_node(network: &Network, by_plan_node: &[u32]) -> Vec<u32> {
    network
        .nodes
        .iter()
        .map(|node| by_plan_node.get(node.plan.index()).copied().unwrap_or(0))
        .collect()
}

/// Returns the shortest inter-DC delay, at the start or after any fault; fails if a delay is 0.
fn lookahead(plan: &Plan) -> Result<SimTime, SimError> {
    let inter_dc = |link: &&lab_plan::Link| link.kind == lab_plan::LinkKind::InterDc;
    let mut min = SimTime::MAX;
    for link in plan.links.iter().filter(inter_dc) {
        min = min.min(link.emu.delay_ns.into());
        if min == SimTime::ZERO {
            return Err(SimError::NoDelay {
                link: link.name.clone(),
            });
        }
    }
    for FaultPlan { link, change, .. } in &plan.faults {
        if let lab_plan::FaultChange::Wire(wire) = change {
            min = min.min(wire.delay_ns.into());
            if min == SimTime::ZERO {
                return Err(SimError::NoDelay {
                    link: plan.links[link.index()].name.clone(),
                });
            }
        }
    }
    Ok(min)
}
