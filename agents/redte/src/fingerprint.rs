//! The hash of a topology.

use std::{collections::BTreeMap, fmt::Write};

use lab_te::Topology;
use lab_units::BitsPerSec;
use sha2::{Digest, Sha256};

/// Returns the SHA-256, in hexadecimal, over the graph, its capacities and the order of its candidates. `capacities`
/// are the links' rates in paper units, so that a scaled copy of a network has the network's hash.
///
/// Links are numbered by first appearance, so that hosts, whose links take indices but are not in the topology, do not
/// change the hash.
#[must_use]
pub fn fingerprint(topology: &Topology, capacities: &[Option<BitsPerSec>]) -> String {
    let mut numbers = BTreeMap::new();
    let mut text = String::from("lcmp-lab topology 1\n");
    for rows in topology.rows() {
        text.push_str("switch\n");
        for row in rows {
            let kind = if row.is_alike { "alike" } else { "to" };
            write_all(&mut text, format_args!("{kind} {}:", row.to));
            for hop in &row.hops {
                let next = numbers.len();
                let number = *numbers.entry(hop.link).or_insert(next);
                let capacity = capacities.get(hop.link).copied().flatten();
                let rate = capacity.map_or(0, BitsPerSec::get);
                write_all(&mut text, format_args!(" {number}>{}@{rate}", hop.next));
            }
            text.push('\n');
        }
    }
    hash(&text)
}

/// Returns the SHA-256 of a text in hexadecimal.
#[must_use]
pub fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Returns bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write_all(&mut text, format_args!("{byte:02x}"));
    }
    text
}

fn write_all(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string has room");
}

#[cfg(test)]
mod tests {
    use lab_te::NextHops;

    use super::*;
    use crate::layout::tests::square;

    fn capacities() -> Vec<Option<BitsPerSec>> {
        (1..=8).map(BitsPerSec::new).collect()
    }

    fn changed(change: impl FnOnce(&mut Vec<Vec<NextHops>>)) -> String {
        let mut rows = square().rows().to_vec();
        change(&mut rows);
        fingerprint(&Topology::new(rows), &capacities())
    }

    #[test]
    fn graph_capacities_and_candidate_order_count() {
        let own = changed(|_| {});
        assert_eq!(own.len(), 64);
        assert_ne!(changed(|rows| rows[0][1].hops.swap(0, 1)), own);
        assert_ne!(changed(|rows| rows[0].swap(0, 1)), own);
        assert_ne!(changed(|rows| rows[0][1].hops[0].next = 2), own);
        assert_ne!(changed(|rows| rows[0][1].is_alike = true), own);
        let mut slower = capacities();
        slower[5] = BitsPerSec::new(1);
        assert_ne!(fingerprint(&square(), &slower), own);
    }

    #[test]
    fn numbers_of_links_do_not_count() {
        let mut rates = vec![None; 3];
        rates.extend(capacities());
        let square = square();
        let rows = square.rows().iter().cloned().map(|mut rows| {
            let hops = rows.iter_mut().flat_map(|row| &mut row.hops);
            hops.for_each(|hop| hop.link += 3);
            rows
        });
        let moved = Topology::new(rows.collect());
        assert_eq!(fingerprint(&moved, &rates), changed(|_| {}));
    }
}
