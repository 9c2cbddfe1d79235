//! Warning about pairs of datacenters where a path outside the tables has less delay than every path in them.

use lab_units::{
    DcId, Nanos,
    show::{about_time, commas},
};

use super::inspection::{Inspection, warning};
use crate::{model::Warning, paths, scope::choice};

/// Returns a warning about pairs with flows for which a path with more links has less delay than every candidate.
pub(super) fn delay_off_the_tables(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let pairs = inspection.pairs.keys().copied();
    let by_destination = choice::by_destination(pairs.filter(|(from, to)| from != to));
    let mut count = 0;
    let mut shorter = Vec::new();
    for (to, sources) in by_destination {
        let least = paths::least_delays(network, to);
        count += sources.len();
        for from in sources {
            let candidates = inspection.routing().candidates(from, to).iter();
            let of_tables = candidates.map(|candidate| candidate.paper_delay_ns).min();
            if let (Some(of_tables), Some(off_tables)) = (of_tables, least[from.index()])
                && off_tables < of_tables
            {
                shorter.push((from, to, of_tables, off_tables));
            }
        }
    }
    // Pairs are named in the order of their sources.
    shorter.sort_unstable_by_key(|(from, to, ..)| (*from, *to));
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
        commas(shorter.len() as u64),
        commas(count as u64),
        about_time(off_tables),
        about_time(of_tables),
        name(from),
        name(to),
    );
    Some(warning("delay-off-the-tables", text))
}
