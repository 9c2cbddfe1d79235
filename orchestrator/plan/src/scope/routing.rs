//! Candidates of the switches, and the order in which traffic crosses the switches.

use lab_units::{DcId, LinkId, PortId};

use crate::{
    model::{Candidate, Destination, Switch},
    network::Network,
};

/// Network with the candidate tables of its switches.
#[derive(Clone, Copy)]
pub(crate) struct Routing<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
}

impl<'a> Routing<'a> {
    /// Returns the candidates at `from` for `to`; empty if the two are one datacenter.
    pub fn candidates(self, from: DcId, to: DcId) -> &'a [Candidate] {
        let row = self.switches[from.index()].towards(to);
        row.map_or(&[], |row| &row.candidates)
    }

    /// Returns each switch's row for `to`, the farthest switches first: a candidate is always nearer to `to` than its
    /// switch, so the traffic of a switch is complete when the switch is reached. Rows with tunnels have no such order,
    /// and need none, because a switch adds nothing to the choices of others. Old tables of a switch without an agent may
    /// make a loop, whose switches come in any order.
    pub fn farthest_first(self, to: DcId) -> Vec<(DcId, &'a Destination)> {
        self.farthest_first_over(to, &|_| false)
    }

    /// Returns the rows as [`Self::farthest_first`] does, in the order over candidates that are not dead.
    pub fn farthest_first_over(
        self,
        to: DcId,
        is_dead: &impl Fn(PortId) -> bool,
    ) -> Vec<(DcId, &'a Destination)> {
        let mut found = vec![false; self.switches.len()];
        let mut order = Vec::new();
        for from in (0u32..).map(DcId).take(self.switches.len()) {
            self.add_after_candidates((from, to), is_dead, &mut found, &mut order);
        }
        order.reverse();
        order
    }

    /// Appends the row of `at`, unless it has been found, after those of its candidates that are not dead.
    fn add_after_candidates(
        self,
        (at, to): (DcId, DcId),
        is_dead: &impl Fn(PortId) -> bool,
        found: &mut [bool],
        order: &mut Vec<(DcId, &'a Destination)>,
    ) {
        if std::mem::replace(&mut found[at.index()], true) {
            return;
        }
        let Some(row) = self.switches[at.index()].towards(to) else {
            return;
        };
        for candidate in row.candidates.iter().filter(|it| !is_dead(it.port)) {
            self.add_after_candidates((candidate.next_dc, to), is_dead, found, order);
        }
        order.push((at, row));
    }

    /// Returns for each datacenter whether `is_found` holds at a switch that its traffic to `to` can reach.
    pub fn reaches(self, to: DcId, is_found: impl Fn(DcId, &Destination) -> bool) -> Vec<bool> {
        let mut found = vec![false; self.switches.len()];
        for (dc, row) in self.farthest_first(to).into_iter().rev() {
            let mut ahead = row.candidates.iter().filter(|_| row.tunnels.is_empty());
            found[dc.index()] =
                is_found(dc, row) || ahead.any(|candidate| found[candidate.next_dc.index()]);
        }
        found
    }

    /// Returns for each datacenter whether its traffic can reach a switch without a live candidate, given the rows of
    /// one destination in the order of [`Self::farthest_first_over`]. A switch does not send to a dead candidate. A loop
    /// counts as a switch without a live candidate.
    pub fn stranded(
        self,
        rows: &[(DcId, &Destination)],
        is_dead: impl Fn(PortId) -> bool,
    ) -> Vec<bool> {
        let mut stranded = vec![false; self.switches.len()];
        // A candidate that comes before its switch closes a loop.
        let mut is_ahead: Vec<bool> = vec![false; self.switches.len()];
        for (dc, _) in rows {
            is_ahead[dc.index()] = true;
        }
        for (dc, row) in rows.iter().rev() {
            let candidates = row.candidates.iter();
            let mut live = candidates.filter(|it| !is_dead(it.port)).peekable();
            let is_lost = |it: &Candidate| match row.rest_of_tunnel(it.port) {
                Some(behind) => behind.iter().any(|port| is_dead(*port)),
                None => is_ahead[it.next_dc.index()] || stranded[it.next_dc.index()],
            };
            stranded[dc.index()] = live.peek().is_none() || live.any(is_lost);
            is_ahead[dc.index()] = false;
        }
        stranded
    }

    /// Returns for each datacenter whether a path without cut links leads to `to`, given the destination's rows in the order
    /// of [`Self::farthest_first`].
    pub fn connected(
        self,
        to: DcId,
        rows: &[(DcId, &Destination)],
        is_cut: impl Fn(LinkId) -> bool,
    ) -> Vec<bool> {
        let mut connected = vec![false; self.switches.len()];
        for (dc, row) in rows.iter().rev() {
            let candidates = row.candidates.iter();
            let mut live = candidates.filter(|it| !is_cut(it.port.link()));
            connected[dc.index()] = live.any(|it| match row.rest_of_tunnel(it.port) {
                Some(behind) => !behind.iter().any(|port| is_cut(port.link())),
                None => it.next_dc == to || connected[it.next_dc.index()],
            });
        }
        connected
    }

    /// Returns true if a policy chooses at the switch `dc` among the candidates in `row`: there are several, and the
    /// switch is not a legacy switch, which hashes under every policy.
    pub fn is_choice(self, dc: DcId, row: &Destination) -> bool {
        row.candidates.len() > 1 && !self.network.dcs[dc.index()].legacy
    }

    /// Returns the names of the datacenters between which a port sends: its own, and that at the other end.
    pub fn direction(self, port: PortId) -> [String; 2] {
        [port.peer(), port].map(|port| self.name(self.network.neighbour(port).dc))
    }

    /// Returns the name of a datacenter.
    pub fn name(self, dc: DcId) -> String {
        self.network.dcs[dc.index()].name.clone()
    }
}
