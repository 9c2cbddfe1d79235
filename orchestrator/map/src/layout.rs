//! Layout of datacenters in columns and rows.

use std::{cmp::Reverse, collections::VecDeque};

/// Positions of the nodes 0, 1, … in a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Column and row of each node, from 0; a row may be a half, such as 1.5.
    pub places: Vec<(f64, f64)>,
    /// Number of columns.
    pub columns: u32,
    /// Number of rows in the column with the most nodes.
    pub rows: u32,
    /// Number of links at each node.
    degrees: Vec<usize>,
}

impl Layout {
    /// Lays out `nodes` nodes that are joined by `links`.
    ///
    /// Of the nodes in `sites`, the two that are the most hops apart are placed at the left and the right. A node's
    /// column is its number of hops from the leftmost node, so that links lead from a column to the next or stay within
    /// one. Unreachable nodes get a last column of their own. Within a column, nodes are ordered so that links cross
    /// least and neighbours are nearest.
    #[must_use]
    pub fn new(nodes: usize, links: &[(usize, usize)], sites: &[usize]) -> Self {
        let mut neighbours = vec![Vec::new(); nodes];
        for &(a, b) in links {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let mut columns = columns(&neighbours, leftmost(&neighbours, sites));
        for column in 0..columns.len() {
            let (left, rest) = columns.split_at_mut(column);
            let left = left.last().map_or(&[][..], Vec::as_slice);
            rest[0] = best_order(&rest[0], left, &neighbours);
        }
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut places = vec![(0.0, 0.0); nodes];
        for (column, members) in columns.iter().enumerate() {
            let above = f64::from(int(rows - members.len())) / 2.0;
            for (row, &node) in members.iter().enumerate() {
                places[node] = (f64::from(int(column)), above + f64::from(int(row)));
            }
        }
        Self {
            places,
            columns: int(columns.len()),
            rows: int(rows),
            degrees: neighbours.iter().map(Vec::len).collect(),
        }
    }

    /// Returns a link's two ends, beginning with the node that has more links.
    pub(crate) fn hub_first(&self, (a, b): (usize, usize)) -> (usize, usize) {
        if self.degrees[a] >= self.degrees[b] {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// Returns true if both nodes are in the same column.
    #[must_use]
    pub fn share_column(&self, a: usize, b: usize) -> bool {
        (self.places[a].0 - self.places[b].0).abs() < 0.5
    }

    /// Returns the number of nodes between two nodes of the same column; `None` for nodes in different columns.
    pub(crate) fn passed(&self, a: usize, b: usize) -> Option<usize> {
        let is_between = |node: &usize| {
            let row = self.places[*node].1;
            let (first, last) = (self.places[a].1, self.places[b].1);
            self.share_column(a, *node) && first.min(last) < row && row < first.max(last)
        };
        self.share_column(a, b)
            .then(|| (0..self.places.len()).filter(is_between).count())
    }

    /// Returns the direction from a node's column to the side with more space: −1 is left, 1 is right.
    pub(crate) fn roomier_side(&self, node: usize) -> f64 {
        let is_last = self.places[node].0 > f64::from(self.columns) - 1.5;
        if is_last && self.columns > 1 {
            -1.0
        } else {
            1.0
        }
    }
}

/// Returns the first of the `sites` that have the largest distance to another site.
fn leftmost(neighbours: &[Vec<usize>], sites: &[usize]) -> usize {
    let reach = |site: &usize| {
        let hops = hops(neighbours, *site);
        sites.iter().filter_map(|other| hops[*other]).max()
    };
    let farthest = sites.iter().map(|site| (Reverse(reach(site)), *site));
    farthest.min().map_or(0, |(_, site)| site)
}

/// Returns the number of hops from `start` to every node; `None` for unreachable nodes.
fn hops(neighbours: &[Vec<usize>], start: usize) -> Vec<Option<usize>> {
    let mut hops = vec![None; neighbours.len()];
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        if hops[node].is_none() {
            hops[node] = Some(distance);
            queue.extend(neighbours[node].iter().map(|near| (*near, distance + 1)));
        }
    }
    hops
}

/// Returns the nodes of each column, by hops from node `first`, which is alone in the first column.
fn columns(neighbours: &[Vec<usize>], first: usize) -> Vec<Vec<usize>> {
    if neighbours.is_empty() {
        return Vec::new();
    }
    let hops = hops(neighbours, first);
    let farthest = hops.iter().flatten().max().copied().unwrap_or(0);
    let mut columns = vec![Vec::new(); farthest + 2];
    for (node, hops) in hops.iter().enumerate() {
        columns[hops.unwrap_or(farthest + 1)].push(node);
    }
    columns.retain(|column| !column.is_empty());
    columns
}

/// Returns the best order of a column's members given the column to its `left`. For few members this is the order with
/// the least [`disorder`], otherwise the order by the mean row of each member's neighbours.
fn best_order(members: &[usize], left: &[usize], neighbours: &[Vec<usize>]) -> Vec<usize> {
    if members.len() <= MAX_TRIED {
        // Of equally good orders the first is taken, which is the nearest to the order of nodes.
        let best = permutations(members)
            .into_iter()
            .min_by_key(|order| disorder(order, left, neighbours));
        return best.unwrap_or_default();
    }
    let mean = |&node: &usize| {
        let rows: Vec<usize> = neighbours[node]
            .iter()
            .filter_map(|near| left.iter().position(|other| other == near))
            .collect();
        f64::from(int(rows.iter().sum())) / f64::from(int(rows.len().max(1)))
    };
    let mut order = members.to_vec();
    order.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
    order
}

/// Returns the number of crossings among links to the column on the left, plus the number of nodes that links within
/// the column pass.
fn disorder(order: &[usize], left: &[usize], neighbours: &[Vec<usize>]) -> usize {
    let row_in = |column: &[usize], node: usize| column.iter().position(|&other| other == node);
    let mut links = Vec::new();
    let mut passed = 0;
    for (row, &node) in order.iter().enumerate() {
        for &near in &neighbours[node] {
            if let Some(left_row) = row_in(left, near) {
                links.push((left_row, row));
            }
            if let Some(other) = row_in(order, near) {
                passed += other.saturating_sub(row + 1);
            }
        }
    }
    let crosses = |a: &(usize, usize), b: &(usize, usize)| {
        (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)
    };
    let crossings = links
        .iter()
        .enumerate()
        .flat_map(|(at, a)| links[..at].iter().filter(move |b| crosses(a, b)));
    crossings.count() + passed
}

/// Returns all orders of `items`, in lexicographic order of their positions.
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

/// Converts a count to 32 bits, the largest number if it has more.
pub(crate) fn int(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Maximum number of nodes in a column for which all orders are tried.
const MAX_TRIED: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_hops_from_the_site_farthest_from_another() {
        // Nodes 1 and 3 are sites; nodes 0 and 2 are between them.
        let layout = Layout::new(4, &[(1, 0), (1, 2), (0, 3), (2, 3)], &[1, 3]);
        let places = [(1.0, 0.0), (0.0, 0.5), (1.0, 1.0), (2.0, 0.5)];
        assert_eq!(layout.places, places);
        assert_eq!((layout.columns, layout.rows), (3, 2));
        // The nodes form a chain whose first site is in the middle.
        let layout = Layout::new(3, &[(0, 1), (0, 2)], &[0, 1, 2]);
        assert_eq!(layout.places, [(1.0, 0.0), (0.0, 0.0), (2.0, 0.0)]);
    }

    #[test]
    fn a_column_is_ordered_by_its_neighbours_so_that_links_do_not_cross() {
        let layout = Layout::new(5, &[(0, 1), (0, 2), (2, 3), (1, 4)], &[0]);
        assert_eq!(layout.places[3..], [(2.0, 1.0), (2.0, 0.0)]);
    }

    #[test]
    fn neighbours_within_a_column_are_beside_each_other() {
        let layout = Layout::new(4, &[(0, 1), (0, 2), (0, 3), (1, 3)], &[0]);
        let rows: Vec<f64> = layout.places.iter().map(|place| place.1).collect();
        assert_eq!(rows, [1.0, 0.0, 2.0, 1.0]);
        assert_eq!(layout.passed(1, 2), Some(1));
        assert_eq!(layout.passed(1, 3), Some(0));
        assert_eq!(layout.passed(0, 1), None);
    }

    #[test]
    fn a_long_column_is_ordered_by_its_neighbours_too() {
        let mut links = vec![(0, 1), (0, 2)];
        links.extend((0..8).map(|number| (if number % 2 == 0 { 2 } else { 1 }, 3 + number)));
        let rows: Vec<f64> = Layout::new(11, &links, &[0])
            .places
            .iter()
            .map(|place| place.1)
            .collect();
        assert_eq!(rows[3..], [4.0, 0.0, 5.0, 1.0, 6.0, 2.0, 7.0, 3.0]);
    }

    #[test]
    fn unreachable_nodes_have_a_place_too() {
        let layout = Layout::new(2, &[], &[0, 1]);
        assert_eq!(layout.places, [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(Layout::new(0, &[], &[]).columns, 0);
    }
}
