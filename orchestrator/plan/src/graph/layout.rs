//! Where datacenters stand: in columns by their distance from the one on the left.
//!
//! The two datacenters with hosts that are the most hops apart are left and right. Links then only
//! lead from a column to the next or stay within one, so none runs through a third datacenter but
//! those within a column, which are drawn bent. Inside a column, the order is that which keeps links
//! short.

use std::collections::VecDeque;

/// A point, in pixels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Point {
    pub x: i64,
    pub y: i64,
}

/// A drawing of nodes 0, 1, … on a canvas.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// By node.
    pub places: Vec<Point>,
    /// By node.
    columns: Vec<usize>,
    pub width: i64,
    pub height: i64,
}

impl Layout {
    /// Places `nodes` nodes joined by `links`, of which those in `ends` may be leftmost.
    pub fn of(nodes: usize, links: &[(usize, usize)], ends: &[usize]) -> Self {
        let columns = distances(nodes, links, leftmost(nodes, links, ends));
        let mut stacks = vec![Vec::new(); columns.iter().max().map_or(0, |last| last + 1)];
        for (node, column) in columns.iter().enumerate() {
            stacks[*column].push(node);
        }
        let tallest = stacks.iter().map(Vec::len).max().unwrap_or(0);
        let mut layout = Self {
            places: vec![Point { x: 0, y: 0 }; nodes],
            columns,
            width: 2 * MARGIN_X + COLUMN_GAP * int(stacks.len().saturating_sub(1)),
            height: MARGIN_TOP + MARGIN_BOTTOM + ROW_GAP * int(tallest.saturating_sub(1)),
        };
        for stack in &stacks {
            layout.stack(stack);
        }
        layout.shorten(&mut stacks, links);
        layout
    }

    /// Whether both nodes are in one column.
    pub fn same_column(&self, a: usize, b: usize) -> bool {
        self.columns[a] == self.columns[b]
    }

    /// Spreads the nodes of a column around its middle, from above.
    fn stack(&mut self, stack: &[usize]) {
        let middle = (self.height + MARGIN_TOP - MARGIN_BOTTOM) / 2;
        let top = middle - ROW_GAP * int(stack.len() - 1) / 2;
        for (row, &node) in stack.iter().enumerate() {
            self.places[node] = Point {
                x: MARGIN_X + COLUMN_GAP * int(self.columns[node]),
                y: top + ROW_GAP * int(row),
            };
        }
    }

    /// Swaps nodes within columns as long as that shortens the links.
    fn shorten(&mut self, stacks: &mut [Vec<usize>], links: &[(usize, usize)]) {
        let mut length = self.length(links);
        let mut improved = true;
        while improved {
            improved = false;
            for stack in stacks.iter_mut() {
                for upper in 0..stack.len() {
                    for lower in upper + 1..stack.len() {
                        stack.swap(upper, lower);
                        self.stack(stack);
                        let swapped = self.length(links);
                        if swapped < length {
                            length = swapped;
                            improved = true;
                        } else {
                            stack.swap(upper, lower);
                            self.stack(stack);
                        }
                    }
                }
            }
        }
    }

    /// Sum of the squared heights of all links; those within a column hide others, so they count
    /// double.
    fn length(&self, links: &[(usize, usize)]) -> i64 {
        let length = |&(a, b): &(usize, usize)| {
            let rows = (self.places[a].y - self.places[b].y) / (ROW_GAP / 2);
            rows * rows * if self.same_column(a, b) { 2 } else { 1 }
        };
        links.iter().map(length).sum()
    }
}

/// The first of `ends` that is the farthest from another of them.
fn leftmost(nodes: usize, links: &[(usize, usize)], ends: &[usize]) -> usize {
    let reach = |&end: &usize| {
        let distances = distances(nodes, links, end);
        ends.iter().map(|other| distances[*other]).max()
    };
    let farthest = ends.iter().map(|end| (reach(end), end));
    let first = farthest.min_by_key(|(reach, end)| (std::cmp::Reverse(*reach), *end));
    first.map_or(0, |(_, end)| *end)
}

/// Hops of every node from `start`; nodes that cannot be reached stand with it.
fn distances(nodes: usize, links: &[(usize, usize)], start: usize) -> Vec<usize> {
    let mut distances = vec![None; nodes];
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((node, hops)) = queue.pop_front() {
        if distances[node].is_some() {
            continue;
        }
        distances[node] = Some(hops);
        for &(a, b) in links {
            if a == node {
                queue.push_back((b, hops + 1));
            } else if b == node {
                queue.push_back((a, hops + 1));
            }
        }
    }
    let known = distances.into_iter().map(Option::unwrap_or_default);
    known.collect()
}

/// `count` in the coordinates' type; a canvas has no more than a few thousand pixels.
pub(super) fn int(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Room for a label between two datacenters side by side.
const COLUMN_GAP: i64 = 300;

/// Room for a label between two datacenters one above the other, and for those of a fan.
pub(super) const ROW_GAP: i64 = 104;

const MARGIN_X: i64 = 90;

/// Room for the name and the description.
const MARGIN_TOP: i64 = 110;

/// Room for the notes.
const MARGIN_BOTTOM: i64 = 78;
