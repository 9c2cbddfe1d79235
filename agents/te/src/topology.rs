//! Which next hops there are, and over which links.

use lab_units::{BitsPerSec, Bytes};

use crate::TeError;

/// The candidate next hops of all switches.
///
/// For each destination they are a graph without cycles, as every hop is one nearer to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Topology {
    /// By switch, its destinations.
    rows: Vec<Vec<Row>>,
}

/// The next hops of a switch to a destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// The destination's switch.
    pub to: usize,
    /// The next hops, in the order in which tables have their buckets.
    pub hops: Vec<Hop>,
    /// The switch hashes over all next hops that are alive, whatever is computed: it has no agent.
    pub is_alike: bool,
}

/// A next hop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hop {
    /// The directed link to it, by its place in [`Measured::capacities`].
    pub link: usize,
    /// The switch at its end.
    pub next: usize,
}

/// What an interval was like.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// By switch and row, the bytes that the switch's own datacenter sent there.
    pub demands: &'a [Vec<Bytes>],
    /// By directed link, its capacity; none while it is down.
    pub capacities: &'a [Option<BitsPerSec>],
}

impl Topology {
    /// Of the next hops of all switches.
    #[must_use]
    pub const fn new(rows: Vec<Vec<Row>>) -> Self {
        Self { rows }
    }

    /// By switch, its destinations.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Row>] {
        &self.rows
    }

    /// Refuses what does not belong together.
    pub(crate) fn check(&self, measured: &Measured<'_>) -> Result<(), TeError> {
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
        let hops = self.rows.iter().flatten().flat_map(|row| &row.hops);
        let most = hops.map(|hop| hop.link + 1).max().unwrap_or(0);
        let found = measured.capacities.len();
        same("link capacities", found.min(most), most)
    }

    /// By switch and row, the next hops that are alive and from which the destination can be
    /// reached over others that are.
    pub(crate) fn usable(&self, measured: &Measured<'_>) -> Vec<Vec<Vec<usize>>> {
        let count = self.rows.len();
        let mut usable: Vec<Vec<Vec<usize>>> = self
            .rows
            .iter()
            .map(|rows| vec![Vec::new(); rows.len()])
            .collect();
        for to in 0..count {
            let mut reaches = vec![false; count];
            reaches[to] = true;
            // As many rounds as the longest way has hops; the graph of a destination has no cycle.
            for _ in 0..count {
                for (switch, rows) in self.rows.iter().enumerate() {
                    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.to == to) {
                        let leads = |hop: &Hop| {
                            measured.capacities[hop.link].is_some() && reaches[hop.next]
                        };
                        let hops = row.hops.iter().enumerate();
                        let found: Vec<usize> = hops
                            .filter(|(_, hop)| leads(hop))
                            .map(|(at, _)| at)
                            .collect();
                        reaches[switch] |= !found.is_empty();
                        usable[switch][place] = found;
                    }
                }
            }
        }
        usable
    }
}
