//! Round trips over all paths that a flow's packets may take, rather than only the least-delay path.

use lab_plan::{Flow, Plan, Switch, WirePlan, frame};
use lab_units::{Bytes, DcId, LinkId, Nanos, NodeId, PortId};

/// Time by which the longest round trip between two datacenters exceeds [`Flow::base_rtt_ns`], the round trip on the
/// path with the least delay at the start.
///
/// Switches choose the paths of data and of ACKs separately, from the tables towards their destinations. With the
/// candidate set `downhill-delay`, ACKs may take paths that data cannot take in the other direction.
pub(crate) struct Detours<'p> {
    plan: &'p Plan,
    /// Times on each link at the start, indexed by link.
    initial: Vec<Trip>,
    /// Longest times on each link during the run, indexed by link.
    longest_on_link: Vec<Trip>,
    /// Times on the least-delay path in the first tables that have one, by pair; `None` before.
    least: Vec<Option<Trip>>,
    /// Longest times of any path, by pair.
    longest: Vec<Trip>,
}

impl<'p> Detours<'p> {
    /// Computes the detours between all datacenters, with the links' delays at the start of a run.
    pub fn at_start(plan: &'p Plan) -> Self {
        Self::new(plan, |link| Trip::over(plan, &plan.links[link.index()].emu))
    }

    /// Computes the detours with each link's longest delay, at the start or after any fault, over the candidates at the
    /// start or after any reconvergence.
    pub fn under_faults(plan: &'p Plan) -> Self {
        let trips = |link| {
            let wires = plan.wires().of(link);
            wires.map(move |wire| Trip::over(plan, wire))
        };
        let mut detours = Self::new(plan, |link| trips(link).fold(Trip::default(), Trip::max));
        let mut switches = plan.switches.clone();
        for change in &plan.reconvergences {
            change.apply(&mut switches);
            detours.add(&switches);
        }
        detours
    }

    fn new(plan: &'p Plan, longest_on_link: impl Fn(LinkId) -> Trip) -> Self {
        let links = (0u32..).map(LinkId).take(plan.links.len());
        let initial = plan.links.iter().map(|link| Trip::over(plan, &link.emu));
        let pairs = plan.dcs.len() * plan.dcs.len();
        let mut detours = Self {
            plan,
            initial: initial.collect(),
            longest_on_link: links.map(longest_on_link).collect(),
            least: vec![None; pairs],
            longest: vec![Trip::default(); pairs],
        };
        detours.add(&plan.switches);
        detours
    }

    /// Adds the paths that the tables of `switches` allow; the first tables are those at the start.
    fn add(&mut self, switches: &[Switch]) {
        let ids = || (0u32..).map(DcId).zip(switches);
        for (to, _) in ids() {
            let mut known = vec![None; switches.len()];
            known[to.index()] = Some(Trips::default());
            for (from, _) in ids().filter(|(_, switch)| switch.towards(to).is_some()) {
                let found = self.trips(switches, (from, to), &mut known);
                let pair = self.pair(from, to);
                self.least[pair].get_or_insert(found.least_delay);
                self.longest[pair] = self.longest[pair].max(found.longest);
            }
        }
    }

    /// Returns the index of a pair.
    const fn pair(&self, from: DcId, to: DcId) -> usize {
        from.index() * self.plan.dcs.len() + to.index()
    }

    /// Returns the longest base RTT among the paths of `flow`, for a full packet and its ACK.
    pub fn longest_round_trip(&self, flow: &Flow) -> Nanos {
        let dc = |host: NodeId| self.plan.nodes[host.index()].dc;
        let there = self.pair(dc(flow.src), dc(flow.dst));
        let back = self.pair(dc(flow.dst), dc(flow.src));
        let detour = self.least[there].map_or(Nanos::ZERO, |least| {
            let longest = Trip {
                data: self.longest[there].data,
                ack: self.longest[back].ack,
            };
            longest.both().saturating_sub(least.both())
        });
        flow.base_rtt_ns.saturating_add(detour)
    }

    /// Returns the trips from `from` to `to`. `known` caches the results by source; it contains `to`, and
    /// every datacenter that the search is still visiting, so that a damaged plan whose candidates form a cycle ends the
    /// search, too.
    fn trips(
        &self,
        switches: &[Switch],
        (from, to): (DcId, DcId),
        known: &mut [Option<Trips>],
    ) -> Trips {
        if let Some(trips) = known[from.index()] {
            return trips;
        }
        known[from.index()] = Some(Trips::default());
        let row = switches[from.index()].towards(to);
        let candidates = row.map_or(&[][..], |row| &row.candidates);
        let mut found: Option<Trips> = None;
        for candidate in candidates {
            let tunnel = row.and_then(|row| row.rest_of_tunnel(candidate.port));
            let rest = match tunnel {
                Some(ports) => ports
                    .iter()
                    .fold(Trips::default(), |rest, port| rest.behind(self, *port)),
                None => self.trips(switches, (candidate.next_dc, to), known),
            };
            let through = rest.behind(self, candidate.port);
            // The first candidate has the least delay.
            let trips = found.get_or_insert(through);
            trips.longest = trips.longest.max(through.longest);
        }
        let found = found.unwrap_or_default();
        known[from.index()] = Some(found);
        found
    }
}

/// Time of a full packet and time of its ACK, over a link or a path.
#[derive(Clone, Copy, Default)]
struct Trip {
    data: Nanos,
    ack: Nanos,
}

impl Trip {
    /// Returns the times on a link.
    fn over(plan: &Plan, wire: &WirePlan) -> Self {
        let payload = u64::from(plan.transport.payload_bytes);
        let sent = |bytes| {
            let time = wire.rate_bps.serialize(Bytes::new(bytes));
            time.unwrap_or(Nanos::ZERO)
        };
        let data = sent(frame::data(payload, 0));
        // Both times add up to one rounded serialisation, so that equal paths there and back have no detour.
        let both = sent(frame::data(payload, 0) + frame::ACK);
        Self {
            data: data.saturating_add(wire.delay_ns),
            ack: both.saturating_sub(data).saturating_add(wire.delay_ns),
        }
    }

    const fn both(self) -> Nanos {
        self.data.saturating_add(self.ack)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            data: self.data.saturating_add(other.data),
            ack: self.ack.saturating_add(other.ack),
        }
    }

    /// Returns the longer times of both.
    fn max(self, other: Self) -> Self {
        Self {
            data: self.data.max(other.data),
            ack: self.ack.max(other.ack),
        }
    }
}

/// Trips on the least-delay path and longest trips between two DCI switches.
#[derive(Clone, Copy, Default)]
struct Trips {
    least_delay: Trip,
    longest: Trip,
}

impl Trips {
    /// Returns the trips over one more link, that of `port`.
    fn behind(self, detours: &Detours<'_>, port: PortId) -> Self {
        let link = port.link().index();
        Self {
            least_delay: self.least_delay.plus(detours.initial[link]),
            longest: self.longest.plus(detours.longest_on_link[link]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// One path takes 10 ms, another 500 ms; a third one shares the second link of the first.
    #[test]
    fn the_longest_candidate_counts_and_a_single_path_has_no_detour() {
        let plan = testing::plan(
            "
name: detour
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 250 ms }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 250 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc4/h1, size: 1 MB }]
policies: [ecmp]
",
        );
        let longest = Detours::at_start(&plan).longest_round_trip(&plan.flows[0]);
        let extra = longest.saturating_sub(plan.flows[0].base_rtt_ns);
        assert_eq!(extra, Nanos::from_millis(2 * 490));
        let pair = testing::pair("ecmp");
        let only = Detours::at_start(&pair).longest_round_trip(&pair.flows[0]);
        assert_eq!(only, pair.flows[0].base_rtt_ns);
    }

    /// From dc1 to dc2, data must take the link of 10 ms, since dc4 is no nearer to dc2 than dc1 is. ACKs may also return by
    /// dc3 and dc4 in 19.1 ms, because each of them is nearer to dc1 than the switch before it. On a link of 100 Gbit/s, a
    /// packet of 4,154 B takes 333 ns, and with its ACK of 62 B 338 ns.
    #[test]
    fn acks_may_return_on_a_longer_path_than_that_of_the_data() {
        let plan = testing::plan(
            "
name: back
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }, { name: dc3 }, { name: dc4 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 10 ms }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 9500 us }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 600 us }
    - { between: [dc4, dc1], rate: 100 Gbit, delay: 9 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 1 MB }]
policies: [ecmp]
routing: { candidates: downhill-delay, stretch: 3 }
",
        );
        let longest = Detours::at_start(&plan).longest_round_trip(&plan.flows[0]);
        let extra = longest.saturating_sub(plan.flows[0].base_rtt_ns);
        assert_eq!(extra, Nanos::new(9_100_000 + 2 * (338 - 333)));
    }
}
