//! Where datacenters are on the map: in columns by hops from the first.

use std::collections::VecDeque;

use lab_records::{DcInfo, LinkInfo};

/// Places of datacenters in a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Column and row of each DC, in the order of the plan; rows may be halves.
    pub places: Vec<(f64, f64)>,
    /// Columns.
    pub columns: usize,
    /// Rows of the longest column.
    pub rows: usize,
}

impl Layout {
    /// Lays out `dcs`: the first with hosts at the left, each other as many columns to its right
    /// as it is hops away, those out of reach in a last column. Within a column they are in the
    /// order in which links cross least and neighbours are nearest.
    pub fn new(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let index = |name: &str| dcs.iter().position(|dc| dc.name == name);
        let mut neighbours = vec![Vec::new(); dcs.len()];
        for link in links {
            if let (Some(a), Some(b)) = (index(&link.a), index(&link.b)) {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        let mut columns = columns(dcs, &neighbours);
        for column in 0..columns.len() {
            let (left, rest) = columns.split_at_mut(column);
            let left = left.last().map_or(&[][..], Vec::as_slice);
            rest[0] = best_order(&rest[0], left, &neighbours);
        }
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut places = vec![(0.0, 0.0); dcs.len()];
        for (column, members) in columns.iter().enumerate() {
            let above = count(rows - members.len()) / 2.0;
            for (row, &dc) in members.iter().enumerate() {
                places[dc] = (count(column), above + count(row));
            }
        }
        Self {
            places,
            columns: columns.len(),
            rows,
        }
    }
}

/// The best order of a column's members beside the column `left` of it: of few members the one of
/// least [`disorder`], of many that of their neighbours' middles.
fn best_order(members: &[usize], left: &[usize], neighbours: &[Vec<usize>]) -> Vec<usize> {
    if members.len() <= MAX_TRIED {
        let orders = permutations(members);
        let by_disorder = |order: &Vec<usize>| disorder(order, left, neighbours);
        // Of equals the first, which is the nearest to the plan's order.
        return orders
            .into_iter()
            .min_by_key(by_disorder)
            .unwrap_or_default();
    }
    let middle = |&dc: &usize| {
        let rows = neighbours[dc].iter();
        let rows = rows.filter_map(|near| left.iter().position(|other| other == near));
        let rows: Vec<usize> = rows.collect();
        count(rows.iter().sum()) / count(rows.len().max(1))
    };
    let mut order = members.to_vec();
    order.sort_by(|a, b| middle(a).total_cmp(&middle(b)).then(a.cmp(b)));
    order
}

/// Crossings of links with the column to the left, and how far links within the column reach past
/// the next row.
fn disorder(order: &[usize], left: &[usize], neighbours: &[Vec<usize>]) -> usize {
    let row_in = |column: &[usize], dc: usize| column.iter().position(|&other| other == dc);
    let mut links = Vec::new();
    let mut reach = 0;
    for (row, &dc) in order.iter().enumerate() {
        for &near in &neighbours[dc] {
            if let Some(left_row) = row_in(left, near) {
                links.push((left_row, row));
            }
            if let Some(other) = row_in(order, near) {
                reach += other.saturating_sub(row + 1);
            }
        }
    }
    let crosses = |a: &(usize, usize), b: &(usize, usize)| {
        (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)
    };
    let pairs = links.iter().enumerate();
    let crossings = pairs.flat_map(|(at, a)| links[..at].iter().filter(move |b| crosses(a, b)));
    crossings.count() + reach
}

/// All orders of `items`, in lexicographic order of their places.
fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        for mut order in permutations(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// With more members a column has too many orders to try them all.
const MAX_TRIED: usize = 6;

/// The DCs of each column.
fn columns(dcs: &[DcInfo], neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let first = dcs.iter().position(|dc| !dc.hosts.is_empty()).unwrap_or(0);
    let mut hops = vec![None; dcs.len()];
    let mut queue = VecDeque::new();
    if first < dcs.len() {
        hops[first] = Some(0);
        queue.push_back((first, 0));
    }
    while let Some((dc, distance)) = queue.pop_front() {
        for &near in &neighbours[dc] {
            if hops[near].is_none() {
                hops[near] = Some(distance + 1);
                queue.push_back((near, distance + 1));
            }
        }
    }
    let farthest = hops.iter().flatten().max().copied().unwrap_or(0);
    let mut columns = vec![Vec::new(); farthest + 2];
    for (dc, hops) in hops.iter().enumerate() {
        columns[hops.unwrap_or(farthest + 1)].push(dc);
    }
    columns.retain(|column| !column.is_empty());
    columns
}

fn count(number: usize) -> f64 {
    crate::text::to_float(number as u64)
}

#[cfg(test)]
mod tests {
    use lab_units::{Bytes, Nanos};

    use super::*;

    fn dc(name: &str, hosts: usize) -> DcInfo {
        DcInfo {
            name: name.into(),
            hosts: (0..hosts).map(|host| format!("{name}/h{host}")).collect(),
            legacy: false,
        }
    }

    fn link(a: &str, b: &str) -> LinkInfo {
        LinkInfo {
            name: format!("{a}-{b}"),
            a: a.into(),
            b: b.into(),
            rate_bps: "1 Gbit".parse().unwrap(),
            delay_ns: Nanos::from_millis(1),
            buffer_bytes: Bytes::new(1),
        }
    }

    #[test]
    fn columns_are_hops_from_the_first_dc_with_hosts() {
        let dcs = [dc("x", 0), dc("a", 1), dc("y", 0), dc("b", 1)];
        let links = [
            link("a", "x"),
            link("a", "y"),
            link("x", "b"),
            link("y", "b"),
        ];
        let layout = Layout::new(&dcs, &links);
        let places = [(1.0, 0.0), (0.0, 0.5), (1.0, 1.0), (2.0, 0.5)];
        assert_eq!(layout.places, places);
        assert_eq!((layout.columns, layout.rows), (3, 2));
    }

    #[test]
    fn a_column_is_ordered_by_its_neighbours_so_that_links_do_not_cross() {
        let dcs = [dc("a", 1), dc("p", 0), dc("q", 0), dc("s", 0), dc("t", 0)];
        let links = [
            link("a", "p"),
            link("a", "q"),
            link("q", "s"),
            link("p", "t"),
        ];
        let layout = Layout::new(&dcs, &links);
        assert_eq!(layout.places[3..], [(2.0, 1.0), (2.0, 0.0)]);
    }

    #[test]
    fn neighbours_within_a_column_are_beside_each_other() {
        let dcs = [dc("a", 1), dc("p", 0), dc("q", 0), dc("r", 0)];
        let links = [
            link("a", "p"),
            link("a", "q"),
            link("a", "r"),
            link("p", "r"),
        ];
        let places = Layout::new(&dcs, &links).places;
        let rows: Vec<f64> = places.iter().map(|place| place.1).collect();
        assert_eq!(rows, [1.0, 0.0, 2.0, 1.0]);
    }

    #[test]
    fn a_long_column_is_ordered_by_its_neighbours_too() {
        let mut dcs = vec![dc("a", 1), dc("x", 0), dc("y", 0)];
        let mut links = vec![link("a", "x"), link("a", "y")];
        for number in 0..8 {
            let name = format!("b{number}");
            dcs.push(dc(&name, 0));
            links.push(link(if number % 2 == 0 { "y" } else { "x" }, &name));
        }
        let places = Layout::new(&dcs, &links).places;
        let rows: Vec<f64> = places.iter().map(|place| place.1).collect();
        assert_eq!(rows[3..], [4.0, 0.0, 5.0, 1.0, 6.0, 2.0, 7.0, 3.0]);
    }

    #[test]
    fn what_is_out_of_reach_has_a_place_too() {
        let layout = Layout::new(&[dc("a", 1), dc("b", 1)], &[link("a", "nowhere")]);
        assert_eq!(layout.places, [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(Layout::new(&[], &[]).columns, 0);
    }
}
