//! Round trips over all paths that a flow's packets may take, rather than only the least-delay path.

use lab_plan::{Flow, Plan, Switch, WirePlan, frame};
use lab_units::{Bytes, DcId, LinkId, Nanos, PortId};

/// Time by which the longest round trip between two datacenters exceeds [`Flow::base_rtt_ns`], the round trip on the
/// path with the least delay at the start.
pub(crate) struct Detours<'p> {
    plan: &'p Plan,
    /// Time of a full packet and its ACK on each link at the start, indexed by link.
    initial: Vec<Nanos>,
    /// Longest such time during the run, indexed by link.
    longest: Vec<Nanos>,
    /// Round trip on the least-delay path in the first tables that have one, by pair; `None` before.
    least: Vec<Option<Nanos>>,
    by_pair: Vec<Nanos>,
}

impl<'p> Detours<'p> {
    /// Computes the detours between all datacenters, with the links' delays at the start of a run.
    pub fn at_start(plan: &'p Plan) -> Self {
        Self::new(plan, |link| link_trip(plan, &plan.links[link.index()].emu))
    }

    /// Computes the detours with each link's longest delay, at the start or after any fault, over the candidates at the
    /// start or after any reconvergence.
    pub fn under_faults(plan: &'p Plan) -> Self {
        let trips = |link| plan.wires().of(link).map(move |wire| link_trip(plan, wire));
        let mut detours = Self::new(plan, |link| trips(link).max().unwrap_or(Nanos::ZERO));
        let mut switches = plan.switches.clone();
        for change in &plan.reconvergences {
            change.apply(&mut switches);
            detours.add(&switches);
        }
        detours
    }

    fn new(plan: &'p Plan, longest: impl Fn(LinkId) -> Nanos) -> Self {
        let links = (0u32..).map(LinkId).take(plan.links.len());
        let initial = plan.links.iter().map(|link| link_trip(plan, &link.emu));
        let pairs = plan.dcs.len() * plan.dcs.len();
        let mut detours = Self {
            plan,
            initial: initial.collect(),
            longest: links.map(longest).collect(),
            least: vec![None; pairs],
            by_pair: vec![Nanos::ZERO; pairs],
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
                let least = *self.least[pair].get_or_insert(found.least_delay);
                let detour = &mut self.by_pair[pair];
                *detour = (*detour).max(found.longest.saturating_sub(least));
            }
        }
    }

    /// Returns the index of a pair.
    const fn pair(&self, from: DcId, to: DcId) -> usize {
        from.index() * self.plan.dcs.len() + to.index()
    }

    /// Returns the longest base RTT among the paths of `flow`, for a full packet and its ACK.
    pub fn longest_round_trip(&self, flow: &Flow) -> Nanos {
        let dc = |host: lab_units::NodeId| self.plan.nodes[host.index()].dc;
        let detour = self.by_pair[self.pair(dc(flow.src), dc(flow.dst))];
        flow.base_rtt_ns.saturating_add(detour)
    }

    /// Returns the round trips from `from` to `to`. `known` caches the results by source; it contains `to`, and
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

/// Returns the time that a full packet and its ACK take on a link, both ways.
fn link_trip(plan: &Plan, wire: &WirePlan) -> Nanos {
    let payload = u64::from(plan.transport.payload_bytes);
    let frames = Bytes::new(frame::data(payload, 0) + frame::ACK);
    let sent = wire.rate_bps.serialize(frames).unwrap_or(Nanos::ZERO);
    wire.delay_ns
        .saturating_add(wire.delay_ns)
        .saturating_add(sent)
}

/// Least-delay and longest round trip between two DCI switches.
#[derive(Clone, Copy, Default)]
struct Trips {
    least_delay: Nanos,
    longest: Nanos,
}

impl Trips {
    /// Returns the round trips over one more link, that of `port`.
    fn behind(self, detours: &Detours<'_>, port: PortId) -> Self {
        let link = port.link().index();
        Self {
            least_delay: self.least_delay.saturating_add(detours.initial[link]),
            longest: self.longest.saturating_add(detours.longest[link]),
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
}
