//! Warning about pairs of datacenters where a path outside the tables has less delay than every path in them.

use lab_units::{DcId, Nanos, show::about_time};

use super::inspection::{Inspection, warning};
use crate::{
    model::{Role, Warning},
    network::Network,
};

/// Returns a warning about pairs with flows for which a path with more links has less delay than every candidate.
pub(super) fn delay_off_the_tables(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let pairs: Vec<(DcId, DcId)> = inspection
        .pairs
        .keys()
        .copied()
        .filter(|(from, to)| from != to)
        .collect();
    let least = least_delays(network);
    let shorter: Vec<_> = pairs
        .iter()
        .filter_map(|&(from, to)| {
            let of_tables = inspection.switches[from.index()]
                .towards(to)?
                .candidates
                .iter()
                .map(|candidate| candidate.paper_delay_ns)
                .min()?;
            let off_tables = least[from.index()][to.index()]?;
            (off_tables < of_tables).then_some((from, to, of_tables, off_tables))
        })
        .collect();
    // a ÷ b > c ÷ d if a · d > c · b.
    let &(from, to, of_tables, off_tables) = shorter.iter().max_by(|one, other| {
        let product = |a: Nanos, b: Nanos| u128::from(a.get()) * u128::from(b.get());
        product(one.2, other.3).cmp(&product(other.2, one.3))
    })?;
    let name = |dc: DcId| &network.dcs[dc.index()].name;
    let text = format!(
        "for {} of {} pairs of datacenters a path of more links has less delay than every candidate: {} \
         instead of {} one way from {} to {}. Candidates are next hops on paths of the fewest links, so no \
         policy can take it, and the slowdown refers to the best path that tables allow",
        shorter.len(),
        pairs.len(),
        about_time(off_tables),
        about_time(of_tables),
        name(from),
        name(to),
    );
    Some(warning("delay-off-the-tables", text))
}

/// Returns the least one-way delay over any number of links, by source and destination (Floyd–Warshall).
fn least_delays(network: &Network) -> Vec<Vec<Option<Nanos>>> {
    let count = network.dcs.len();
    let mut least = vec![vec![None; count]; count];
    for (from, dc) in network.dcs.iter().enumerate() {
        for port in network.ports_to(dc.dci, Role::DciSwitch) {
            let delay = network.link(port.link()).paper.delay_ns;
            let known = &mut least[from][network.neighbour(port).dc.index()];
            *known = Some(known.map_or(delay, |known: Nanos| known.min(delay)));
        }
    }
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                if let (Some(first), Some(second)) = (least[from][via], least[via][to]) {
                    let sum = first.saturating_add(second);
                    let known = &mut least[from][to];
                    *known = Some(known.map_or(sum, |known| known.min(sum)));
                }
            }
        }
    }
    least
}
