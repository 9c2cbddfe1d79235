//! All switches' next hops and links.

use std::collections::BTreeMap;

use lab_units::{BitsPerSec, Bytes};

/// Failure to compute how to split an interval's demands.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TeError {
    #[error("there are {found} {what}, but the topology has {expected}")]
    Shape {
        what: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("the linear program was not solved: {why}")]
    Solver { why: String },
}

/// Candidate next hops of all switches.
///
/// The next hops to a destination form a graph without cycles, because each is one hop closer to the destination, or
/// begins a tunnel that ends there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Topology {
    /// Rows by switch; a switch has one row per destination.
    rows: Vec<Vec<NextHops>>,
}

/// Next hops from one switch to one destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NextHops {
    /// Index of the destination switch.
    pub to: usize,
    /// Next hops, in the order of the tables' buckets.
    pub hops: Vec<Egress>,
    /// Links behind each next hop on its tunnel, up to the destination, in the order of `hops`; empty if there are no
    /// tunnels, and each switch on the way chooses again.
    pub rests: Vec<Vec<Egress>>,
    /// True if the switch has no agent and therefore hashes over all live next hops with equal weight.
    pub is_alike: bool,
}

impl NextHops {
    /// Returns the links that the traffic of the next hop with index `hop` crosses without another choice, in order,
    /// each with the switch from which it leads; `switch` is the switch of this row.
    pub(crate) fn links(&self, switch: usize, hop: usize) -> impl Iterator<Item = (usize, usize)> {
        let behind = self.rests.get(hop).into_iter().flatten();
        let all = std::iter::once(&self.hops[hop]).chain(behind);
        all.scan(switch, |from, egress| {
            let at = std::mem::replace(from, egress.next);
            Some((at, egress.link))
        })
    }
}

/// Next hop: the link towards it, and the switch at the link's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Egress {
    /// Index of the directed link in [`Measurements::capacities`].
    pub link: usize,
    /// Index of the switch at the far end of the link.
    pub next: usize,
}

/// Demands and capacities that were measured in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'a> {
    /// Bytes that the hosts of each switch's own datacenter sent, by switch and destination row.
    pub demands: &'a [Vec<Bytes>],
    /// Capacity by directed link; `None` for a link that carries no traffic.
    pub capacities: &'a [Option<BitsPerSec>],
}

impl Topology {
    /// Creates a topology from all switches' next hops.
    #[must_use]
    pub const fn new(rows: Vec<Vec<NextHops>>) -> Self {
        Self { rows }
    }

    /// Returns the rows by switch; a switch has one row per destination.
    #[must_use]
    pub fn rows(&self) -> &[Vec<NextHops>] {
        &self.rows
    }

    /// Checks that a measurement matches this topology.
    pub(crate) fn check(&self, measured: &Measurements<'_>) -> Result<(), TeError> {
        let same = |what, found, expected| {
            if found == expected {
                return Ok(());
            }
            Err(TeError::Shape {
                what,
                found,
                expected,
            })
        };
        same(
            "switches with demands",
            measured.demands.len(),
            self.rows.len(),
        )?;
        for (demands, rows) in measured.demands.iter().zip(&self.rows) {
            same("demands of a switch", demands.len(), rows.len())?;
        }
        let rows = || self.rows.iter().flatten();
        let behind = rows().flat_map(|row| row.rests.iter().flatten());
        let hops = rows().flat_map(|row| &row.hops).chain(behind);
        let links = hops.map(|hop| hop.link + 1).max().unwrap_or(0);
        let found = measured.capacities.len();
        same("link capacities", found.min(links), links)
    }

    /// Returns, by destination, the rows from which it can be reached, each before those of its next hops, with their
    /// usable next hops.
    pub(crate) fn destinations(&self, measured: &Measurements<'_>) -> Vec<Vec<UsableRow>> {
        let mut rows: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.rows.len()];
        for (switch, of_switch) in self.rows.iter().enumerate() {
            for (row, hops) in of_switch.iter().enumerate() {
                rows[hops.to].push((switch, row));
            }
        }
        let of_destination = rows.iter().enumerate();
        of_destination
            .map(|(to, rows)| self.usable(to, rows, measured))
            .collect()
    }

    /// Returns the rows among `rows`, which lead to `to`, from which it can be reached.
    fn usable(
        &self,
        to: usize,
        rows: &[(usize, usize)],
        measured: &Measurements<'_>,
    ) -> Vec<UsableRow> {
        let count = self.rows.len();
        let mut reaches = vec![false; count];
        reaches[to] = true;
        let mut usable = Vec::new();
        for (switch, row) in self.nearest_first(rows) {
            let hops = &self.rows[switch][row];
            let leads = |at: &usize| {
                let mut links = hops.links(switch, *at);
                let is_up = links.all(|(_, it)| measured.capacities[it].is_some());
                is_up && (!hops.rests.is_empty() || reaches[hops.hops[*at].next])
            };
            let found: Vec<usize> = (0..hops.hops.len()).filter(leads).collect();
            if !found.is_empty() {
                reaches[switch] = true;
                usable.push(UsableRow {
                    switch,
                    row,
                    hops: found,
                });
            }
        }
        usable.reverse();
        usable
    }

    /// Orders `rows`, of one destination, so that each comes after those of its next hops.
    fn nearest_first(&self, rows: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let of_switch: BTreeMap<usize, usize> = rows.iter().copied().collect();
        let mut is_entered = vec![false; self.rows.len()];
        let mut ordered = Vec::with_capacity(rows.len());
        let mut waiting: Vec<(usize, bool)> = rows.iter().map(|(it, _)| (*it, false)).collect();
        while let Some((switch, is_ready)) = waiting.pop() {
            let Some(&row) = of_switch.get(&switch) else {
                continue;
            };
            if is_ready {
                ordered.push((switch, row));
            } else if !is_entered[switch] {
                is_entered[switch] = true;
                waiting.push((switch, true));
                let hops = &self.rows[switch][row];
                if hops.rests.is_empty() {
                    waiting.extend(hops.hops.iter().map(|hop| (hop.next, false)));
                }
            }
        }
        ordered
    }
}

/// Row with next hops that lead to its destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UsableRow {
    /// Switch of the row.
    pub switch: usize,
    /// Index of the row at the switch.
    pub row: usize,
    /// Indices of the usable next hops; at least one.
    pub hops: Vec<usize>,
}
