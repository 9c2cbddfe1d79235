//! What all shards share: the plan, looked up once.
//!
//! - `flow`, `transport`: what hosts send, and how
//! - `ways`, `order`, `policy`: what switches decide among, and how

mod flow;
mod order;
mod policy;
mod transport;
mod ways;

use std::marker::PhantomData;

use lab_plan::{FaultPlan, Flow, Plan, PolicyPlan, WindowPlan};
use lab_units::{BitsPerSec, Ratio};

pub(crate) use self::transport::nic_rate;
pub use self::{
    flow::SimFlow,
    policy::RunPolicy,
    transport::Transport,
    ways::{Rescored, SwitchFacts, Way},
};
use crate::{
    cc::CongestionControl,
    error::SimError,
    network::Network,
    semantics::{NextHopOrder, Semantics},
    te::TeController,
    time::SimTime,
};

/// One policy's run of one repetition, before it starts.
pub struct World<'p, P: Semantics, C: CongestionControl> {
    /// The plan.
    pub plan: &'p Plan,
    /// Its network.
    pub network: Network,
    /// The repetition's flows, by start.
    pub flows: Vec<SimFlow>,
    /// Seed of each node's hash.
    pub hash_seeds: Vec<u32>,
    /// What each datacenter's DCI switch decides with.
    pub switches: Vec<SwitchFacts>,
    /// How they decide.
    pub policy: RunPolicy,
    /// TE controller, if the policy is traffic engineering.
    pub te: Option<TeController>,
    /// Paper bytes for one here.
    pub paper_size: Ratio,
    /// Paper rate for one here.
    pub paper_rate: Ratio,
    /// Ways that a fault gives other scores, by the time of the faults.
    pub rescored: Vec<Rescored>,
    /// The policy is ECMP, without weights.
    pub is_plain_ecmp: bool,
    /// Parameters of the congestion control.
    pub control: C::Parameters,
    /// The round trip that every QP's congestion control starts from; its own flow's if absent.
    pub common_base_rtt: Option<SimTime>,
    /// What windows are made of.
    pub largest_window: u64,
    /// Time shared by all hosts and switches.
    pub transport: Transport,
    /// The shortest way from one datacenter to another: shards may be this far apart in time.
    pub lookahead: SimTime,
    semantics: PhantomData<P>,
}

impl<'p, P: Semantics, C: CongestionControl> World<'p, P, C> {
    /// Of the plan's policy at `policy` and its repetition `repetition`.
    ///
    /// # Errors
    /// What cannot be simulated: see [`SimError`].
    pub fn new(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
    ) -> Result<Self, SimError> {
        Self::with_order(plan, policy, repetition, control, None)
    }

    /// The same with equal next hops in `order`, as a routing table has them, instead of in that of
    /// the semantics.
    ///
    /// # Errors
    /// What cannot be simulated: see [`SimError`].
    pub fn with_order(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
        order: Option<&NextHopOrder>,
    ) -> Result<Self, SimError> {
        let mut network = Network::new(plan)?;
        let run = plan.policies.get(policy).ok_or(SimError::NoPolicy {
            index: policy,
            count: plan.policies.len(),
        })?;
        let of_repetition = plan.flows.iter();
        let mut planned: Vec<&Flow> = of_repetition
            .filter(|flow| flow.repetition == repetition)
            .collect();
        planned.sort_by_key(|flow| (flow.start_ns, flow.id));
        let identities = P::identities(plan, &planned);
        let order = order.or(identities.next_hop_order.as_ref());
        if let Some(order) = order {
            order::order_next_hops(&mut network, order);
        }
        let transport = transport::transport::<P, C>(&plan.transport, &control);
        let flows = flow::flows(&network, &planned, &identities, transport.payload)?;
        let is_plain_ecmp = run.policy == PolicyPlan::Ecmp;
        let rescored = ways::rescored(plan, &network, policy);
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        let switches = ways::switches(plan, &network, run, order);
        let peers: Vec<u32> = network.ports.iter().map(|port| port.peer_dc).collect();
        let te = TeController::new(&run.policy, &switches, &peers);
        let least_delay = lookahead(plan)?;
        Ok(Self {
            hash_seeds: by_sim_node(&network, &identities.hash_seeds),
            // What is told at one tick must be known to all before the next.
            lookahead: te
                .as_ref()
                .map_or(least_delay, |te| least_delay.min(te.interval)),
            switches,
            te,
            paper_size: inverse(plan.scale.size),
            paper_rate: inverse(plan.scale.rate),
            common_base_rtt: identities.common_base_rtt,
            largest_window: identities.largest_window,
            plan,
            network,
            flows,
            policy: RunPolicy::of(&run.policy)?,
            rescored,
            is_plain_ecmp,
            control,
            transport,
            semantics: PhantomData,
        })
    }

    /// Returns the error that ends the run, once there is one.
    #[must_use]
    pub fn failure(&self) -> Option<SimError> {
        Some(self.te.as_ref()?.failure()?.into())
    }

    /// Bytes a QP at `rate` may have unacknowledged, on a line of `line_rate`.
    #[must_use]
    pub fn window(&self, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        match self.transport.window {
            WindowPlan::None => u64::MAX,
            WindowPlan::Bdp => P::window(self.largest_window, rate, line_rate),
            WindowPlan::Bytes(bytes) => bytes.get(),
        }
    }

    /// The same, and no more than its congestion control wants.
    #[must_use]
    pub fn window_of(&self, control: &C, line_rate: BitsPerSec) -> u64 {
        let common = self.window(control.rate(), line_rate);
        control.window_bytes().unwrap_or(u64::MAX).min(common)
    }

    /// Bytes of a data packet with `payload`.
    #[inline]
    #[must_use]
    pub fn data_bytes(&self, payload: u32) -> u32 {
        P::DATA_HEADER_BYTES
            + self.transport.data_extra
            + payload.next_multiple_of(P::PAYLOAD_ALIGN)
    }
}

fn by_sim_node(network: &Network, by_plan_node: &[u32]) -> Vec<u32> {
    let seeds = network.nodes.iter();
    seeds
        .map(|node| by_plan_node.get(node.plan.index()).copied().unwrap_or(0))
        .collect()
}

/// The shortest inter-DC delay, now or after any fault.
fn lookahead(plan: &Plan) -> Result<SimTime, SimError> {
    let inter_dc = |link: &&lab_plan::Link| link.kind == lab_plan::LinkKind::InterDc;
    let mut least = SimTime::MAX;
    for link in plan.links.iter().filter(inter_dc) {
        least = least.min(link.emu.delay_ns.into());
        if least == SimTime::ZERO {
            return Err(SimError::NoDelay {
                link: link.name.clone(),
            });
        }
    }
    for FaultPlan { link, change, .. } in &plan.faults {
        if let lab_plan::FaultChange::Wire(wire) = change {
            least = least.min(wire.delay_ns.into());
            if least == SimTime::ZERO {
                return Err(SimError::NoDelay {
                    link: plan.links[link.index()].name.clone(),
                });
            }
        }
    }
    Ok(least)
}
