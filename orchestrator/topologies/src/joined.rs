//! Edges joined into links: parallel edges, if they are merged, and the two directions of a link.

use std::collections::{BTreeMap, VecDeque};

use lab_units::{BitsPerSec, Nanos};

use crate::graph::{Graph, GraphEdge};

/// Link between two nodes, made of one or more edges.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// Nodes at the ends, the lower one first.
    pub ends: [usize; 2],
    /// Rate in each direction: the sum over undirected edges, plus the lesser sum over the directed edges of a direction. If
    /// only one direction has directed edges, their sum. `None` if any edge has no rate.
    pub rate: Option<BitsPerSec>,
    /// Least delay of the edges; `None` if any edge has none.
    pub delay: Option<Nanos>,
    /// Number of links that were joined. It counts undirected edges, and directed edges in the direction with more of them.
    pub count: usize,
    /// True if there are edges in one direction only.
    pub is_one_way: bool,
    /// True if the two directions have different rates.
    pub has_two_rates: bool,
    /// True if the two directions have different delays.
    pub has_two_delays: bool,
}

/// Edges by their nodes, the lower one first, in the order of the file.
type Bundles<'a> = BTreeMap<[usize; 2], Vec<&'a GraphEdge>>;

/// Returns one link for all edges between two nodes, in the order of the nodes; self loops are left out.
pub(crate) fn merged(graph: &Graph) -> Vec<Joined> {
    let bundles = bundles(graph).into_iter();
    bundles
        .map(|(ends, edges)| Joined::of(ends, &edges))
        .collect()
}

/// Returns one link for each undirected edge and each pair of opposite directed edges, by nodes, then as in the file;
/// self loops are left out.
pub(crate) fn kept(graph: &Graph) -> Vec<Joined> {
    let bundles = bundles(graph).into_iter();
    bundles
        .flat_map(|(ends, edges)| {
            let links = paired(&edges).into_iter();
            links.map(move |edges| Joined::of(ends, &edges))
        })
        .collect()
}

fn bundles(graph: &Graph) -> Bundles<'_> {
    let mut bundles = Bundles::new();
    for edge in &graph.edges {
        let [a, b] = edge.ends;
        if a != b {
            bundles.entry([a.min(b), a.max(b)]).or_default().push(edge);
        }
    }
    bundles
}

/// Groups the edges between two nodes into links: each undirected edge alone, and each directed edge together with an
/// opposite one: first those of equal rate and delay, then the others in order. An edge without a partner is a link alone.
fn paired<'a>(edges: &[&'a GraphEdge]) -> Vec<Vec<&'a GraphEdge>> {
    let mut partners = vec![None; edges.len()];
    pair(edges, &mut partners, |edge| (edge.rate, edge.delay));
    pair(edges, &mut partners, |_| ());
    let firsts = (0..edges.len()).filter(|&at| partners[at].is_none_or(|partner| partner > at));
    let links = firsts.map(|at| {
        let both = [Some(at), partners[at]].into_iter().flatten();
        both.map(|at| edges[at]).collect()
    });
    links.collect()
}

/// Pairs each directed edge that has no partner with the first opposite one of the same kind that has none.
fn pair<K: Ord>(
    edges: &[&GraphEdge],
    partners: &mut [Option<usize>],
    kind: impl Fn(&GraphEdge) -> K,
) {
    let mut free: BTreeMap<(usize, K), VecDeque<usize>> = BTreeMap::new();
    for (at, edge) in edges.iter().enumerate() {
        if partners[at].is_some() || !edge.is_directed {
            continue;
        }
        let [from, to] = edge.ends;
        let opposite = free.get_mut(&(to, kind(edge)));
        match opposite.and_then(VecDeque::pop_front) {
            Some(partner) => {
                partners[at] = Some(partner);
                partners[partner] = Some(at);
            }
            None => free.entry((from, kind(edge))).or_default().push_back(at),
        }
    }
}

impl Joined {
    /// Returns the link of the edges between two nodes.
    fn of(ends: [usize; 2], edges: &[&GraphEdge]) -> Self {
        // By direction: undirected, from the lower node, from the higher node.
        let mut counts = [0; 3];
        let mut rates: [Option<u64>; 3] = [Some(0); 3];
        for edge in edges {
            let direction = match (edge.is_directed, edge.ends == ends) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => 2,
            };
            counts[direction] += 1;
            let sum = rates[direction].zip(edge.rate);
            rates[direction] = sum.map(|(sum, rate)| sum.saturating_add(rate.get()));
        }
        let [both, up, down] = counts;
        let [shared, rate_up, rate_down] = rates;
        let one_way = match (up, down) {
            (0, _) => rate_down,
            (_, 0) => rate_up,
            (_, _) => rate_up.zip(rate_down).map(|(up, down)| up.min(down)),
        };
        let sum = shared.zip(one_way).map(|(a, b)| a.saturating_add(b));
        let delays: Option<Vec<Nanos>> = edges.iter().map(|edge| edge.delay).collect();
        // Without the delay of one edge, no delay of the file is used.
        let delay_of = |is_up: bool| {
            delays.as_ref()?;
            let own = edges
                .iter()
                .filter(|edge| edge.is_directed && (edge.ends == ends) == is_up);
            own.filter_map(|edge| edge.delay).min()
        };
        let has_two_delays = delay_of(true)
            .zip(delay_of(false))
            .is_some_and(|(a, b)| a != b);
        Self {
            ends,
            rate: sum.and_then(BitsPerSec::new),
            delay: delays.and_then(|delays| delays.into_iter().min()),
            count: both + up.max(down),
            is_one_way: (up == 0) != (down == 0),
            has_two_rates: up > 0 && down > 0 && rate_up != rate_down,
            has_two_delays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edge as its ends, true if it is directed, its rate and its delay; 0 stands for none.
    type Given = (usize, usize, bool, u64, u64);

    fn graph(edges: &[Given]) -> Graph {
        let edge = |&(a, b, is_directed, rate, delay): &Given| GraphEdge {
            ends: [a, b],
            is_directed,
            rate: BitsPerSec::new(rate),
            delay: (delay > 0).then(|| Nanos::new(delay)),
        };
        Graph {
            edges: edges.iter().map(edge).collect(),
            ..Graph::default()
        }
    }

    fn merged(edges: &[Given]) -> Joined {
        let [link] = &super::merged(&graph(edges))[..] else {
            panic!("the edges are between two nodes: {edges:?}");
        };
        link.clone()
    }

    /// Returns the rate and delay of each kept link; 0 stands for none.
    fn kept(edges: &[Given]) -> Vec<(u64, u64)> {
        let links = super::kept(&graph(edges)).into_iter();
        let numbers = |link: Joined| {
            assert_eq!(link.count, 1, "{link:?}");
            let delay = link.delay.map_or(0, Nanos::get);
            (rate(&link).unwrap_or(0), delay)
        };
        links.map(numbers).collect()
    }

    fn rate(link: &Joined) -> Option<u64> {
        link.rate.map(BitsPerSec::get)
    }

    #[test]
    fn parallel_edges_add_their_rates_and_keep_the_least_delay() {
        let link = merged(&[
            (0, 1, false, 10, 7),
            (1, 0, false, 30, 5),
            (1, 1, false, 9, 1),
        ]);
        assert_eq!((rate(&link), link.delay), (Some(40), Some(Nanos::new(5))));
        assert_eq!(
            (link.count, link.is_one_way, link.has_two_rates),
            (2, false, false)
        );
    }

    #[test]
    fn two_directions_are_one_link() {
        let link = merged(&[(0, 1, true, 10, 7), (1, 0, true, 10, 7)]);
        assert_eq!((rate(&link), link.count), (Some(10), 1));
        assert!(!link.is_one_way && !link.has_two_rates);
        let uneven = merged(&[(0, 1, true, 10, 7), (1, 0, true, 4, 7), (0, 1, true, 1, 7)]);
        assert_eq!((rate(&uneven), uneven.count), (Some(4), 2));
        assert!(uneven.has_two_rates && !uneven.has_two_delays);
        let late = merged(&[(0, 1, true, 10, 7), (1, 0, true, 10, 9)]);
        assert!(late.has_two_delays && !late.has_two_rates);
        assert_eq!(late.delay, Some(Nanos::new(7)));
        let unknown = merged(&[(0, 1, true, 10, 7), (1, 0, true, 10, 0)]);
        assert!(!unknown.has_two_delays && unknown.delay.is_none());
        assert!(merged(&[(1, 0, true, 10, 7)]).is_one_way);
    }

    #[test]
    fn an_edge_without_a_number_leaves_the_link_without_it() {
        let link = merged(&[(0, 1, false, 10, 7), (0, 1, false, 0, 0)]);
        assert_eq!((rate(&link), link.delay), (None, None));
    }

    #[test]
    fn kept_edges_have_their_own_numbers_in_the_order_of_the_file() {
        let edges = [
            (0, 1, false, 10, 7),
            (1, 1, false, 9, 1),
            (1, 0, false, 30, 5),
            (0, 1, false, 0, 0),
        ];
        assert_eq!(kept(&edges), [(10, 7), (30, 5), (0, 0)]);
    }

    #[test]
    fn kept_directions_are_paired_with_their_like_before_others() {
        let twins = [
            (0, 1, true, 10, 7),
            (1, 0, true, 4, 7),
            (1, 0, true, 10, 7),
            (0, 1, true, 4, 7),
        ];
        assert_eq!(kept(&twins), [(10, 7), (4, 7)]);
        // The direction that is left pairs with the other that is left, at the lesser rate.
        let uneven = [
            (0, 1, true, 10, 7),
            (0, 1, true, 8, 7),
            (1, 0, true, 10, 7),
            (1, 0, true, 6, 9),
        ];
        assert_eq!(kept(&uneven), [(10, 7), (6, 7)]);
        // One direction without another is a link, too.
        assert_eq!(kept(&uneven[..3]), [(10, 7), (8, 7)]);
    }
}
