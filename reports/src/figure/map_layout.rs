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
    /// order of their neighbours to the left, so that fewer links cross.
    pub fn new(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let index = |name: &str| dcs.iter().position(|dc| dc.name == name);
        let mut neighbours = vec![Vec::new(); dcs.len()];
        for link in links {
            if let (Some(a), Some(b)) = (index(&link.a), index(&link.b)) {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        let columns = columns(dcs, &neighbours);
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut places = vec![(0.0, 0.0); dcs.len()];
        for (column, members) in columns.iter().enumerate() {
            let mut members = members.clone();
            if column > 0 {
                let left = &columns[column - 1];
                let height = |&dc: &usize| {
                    let near = neighbours[dc].iter().filter(|near| left.contains(near));
                    let rows: Vec<f64> = near.map(|&near| places[near].1).collect();
                    rows.iter().sum::<f64>() / count(rows.len().max(1))
                };
                members.sort_by(|a, b| height(a).total_cmp(&height(b)).then(a.cmp(b)));
            }
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
    fn what_is_out_of_reach_has_a_place_too() {
        let layout = Layout::new(&[dc("a", 1), dc("b", 1)], &[link("a", "nowhere")]);
        assert_eq!(layout.places, [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(Layout::new(&[], &[]).columns, 0);
    }
}
