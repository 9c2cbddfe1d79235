//! Policies with trained weights: the actors of all DCI switches.

use lab_plan::{Plan, PolicyRun, TrainedPlan};
use lab_redte::{Actor, Observation, WeightsError, buckets};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

use crate::{network::Network, te::Buckets, time::SimTime};

/// Actors of a run.
#[derive(Clone, Debug)]
pub struct TrainedPolicy {
    /// Virtual time between two decisions.
    pub interval: SimTime,
    /// The same interval in the plan's unit, for the actors' inputs.
    interval_ns: Nanos,
    /// Number of hash buckets to each destination.
    count: u16,
    /// Largest rate of an inter-DC link.
    largest_rate: BitsPerSec,
    /// Switches by datacenter; `None` for a switch without a choice or without an agent.
    switches: Vec<Option<TrainedSwitch>>,
}

/// Actor of a DCI switch, and its inputs and outputs by port and datacenter.
#[derive(Clone, Debug)]
pub struct TrainedSwitch {
    actor: Actor,
    /// Ports whose sent bytes are inputs.
    pub ports: Vec<u32>,
    /// Destination datacenters whose demands are inputs.
    rows: Vec<u32>,
    heads: Vec<Head>,
}

/// Destination with a choice.
#[derive(Clone, Debug)]
struct Head {
    to_dc: u32,
    ports: Vec<u32>,
    /// Buckets before the first decision, by port.
    provisioned: Vec<u16>,
}

/// Measurements of a switch in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'a> {
    /// Bytes that the ports of [`TrainedSwitch::ports`] sent, and the ports' rates.
    pub links: &'a [(Bytes, BitsPerSec)],
    /// Bytes that the datacenter's hosts sent, by destination datacenter.
    pub demands: &'a [u64],
}

impl TrainedPolicy {
    /// Returns the actors of the policy `trained`, which is the policy of `run`.
    ///
    /// # Errors
    /// If the weights are damaged or for another network.
    pub fn new(
        plan: &Plan,
        network: &Network,
        run: &PolicyRun,
        trained: &TrainedPlan,
    ) -> Result<Self, WeightsError> {
        let mut switches = vec![None; plan.dcs.len()];
        for actor in trained.actors(&plan.te_topology(), &plan.paper_te_capacities())? {
            let at = actor.layout.switch;
            let destinations = &plan.switches[at].destinations;
            let head = |head: &lab_redte::Head| {
                let destination = &destinations[head.row];
                let candidates = destination.candidates.iter();
                Head {
                    to_dc: destination.dc.0,
                    ports: candidates.map(|it| network.port(it.port)).collect(),
                    provisioned: (0..head.candidates)
                        .map(|index| run.buckets_of(at, head.row, index))
                        .collect(),
                }
            };
            let ports = actor.layout.links.iter();
            switches[at] = Some(TrainedSwitch {
                ports: ports
                    .filter_map(|link| Some(network.port(PortId::from_index(*link)?)))
                    .collect(),
                rows: destinations.iter().map(|row| row.dc.0).collect(),
                heads: actor.layout.heads.iter().map(head).collect(),
                actor,
            });
        }
        let largest = plan.largest_te_rate();
        Ok(Self {
            interval: trained.interval_ns.into(),
            interval_ns: trained.interval_ns,
            count: trained.buckets,
            largest_rate: largest.expect("a switch with a choice has inter-DC links"),
            switches,
        })
    }

    /// Returns the actor of the switch in `dc`; `None` if the switch has no choice or no agent.
    #[must_use]
    pub fn switch(&self, dc: u32) -> Option<&TrainedSwitch> {
        self.switches[dc as usize].as_ref()
    }

    /// Returns the hash buckets that `switch` installs, by destination datacenter. `is_live` tells whether a port can
    /// send.
    #[must_use]
    pub fn decide(
        &self,
        switch: &TrainedSwitch,
        measured: &Measurements<'_>,
        is_live: impl Fn(u32) -> bool,
    ) -> Vec<(u32, Buckets)> {
        let demands: Vec<Bytes> = switch
            .rows
            .iter()
            .map(|to_dc| Bytes::new(measured.demands[*to_dc as usize]))
            .collect();
        let decision = switch.actor.decide(&Observation {
            interval: self.interval_ns,
            largest_rate: self.largest_rate,
            links: measured.links,
            demands: &demands,
        });
        let heads = switch.heads.iter().zip(&decision.ratios);
        heads
            .map(|(head, ratios)| {
                let live: Vec<bool> = head.ports.iter().map(|port| is_live(*port)).collect();
                let table = buckets(ratios, &live, &head.provisioned, self.count);
                (head.to_dc, head.ports.iter().copied().zip(table).collect())
            })
            .collect()
    }
}
