//! Networks and workloads for tests, from the scenarios of the repository.

use std::cmp::Reverse;

use lab_te::{Egress, NextHops, Topology};
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::{
    data::Data,
    number::float,
    problem::Problem,
    traffic::{DataSplit, Intervals, Sizes, Source, Traffic},
};

/// Link of a scenario, in one direction.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: usize,
    to: usize,
    gbit: u64,
    delay_ms: u64,
}

/// Returns the network of the hand calculation: DC 0 reaches DC 3 via 1 and via 2. Over its interval of 8 s, a link of
/// n bit/s carries n bytes.
pub(crate) fn diamond() -> Problem {
    let row = |hops: &[(usize, usize)]| NextHops {
        to: 3,
        hops: hops
            .iter()
            .map(|&(link, next)| Egress { link, next })
            .collect(),
        rests: Vec::new(),
        is_alike: false,
    };
    Problem {
        topology: Topology::new(vec![
            vec![row(&[(0, 1), (1, 2)])],
            vec![row(&[(2, 3)])],
            vec![row(&[(3, 3)])],
            vec![],
        ]),
        capacities: [4, 2, 4, 2].map(BitsPerSec::new).to_vec(),
        interval: Nanos::from_millis(8_000),
        provisioned: vec![vec![vec![2, 1]], vec![vec![1]], vec![vec![1]], vec![]],
        buckets: 100,
    }
}

/// Returns demands by row number; rows that are not given have zero.
pub(crate) fn demand(given: &[(usize, f64)]) -> Vec<f64> {
    let mut demands = vec![0.0; 3];
    for (row, bytes) in given {
        demands[*row] = *bytes;
    }
    demands
}

/// Returns the paper's 8-DC network with hosts in every datacenter.
pub(crate) fn problem_8dc() -> Problem {
    problem(include_str!("../../../scenarios/8dc.yaml"))
}

/// Returns the paper's 13-DC network.
pub(crate) fn problem_13dc() -> Problem {
    problem(include_str!("../../../scenarios/13dc.yaml"))
}

fn problem(scenario: &str) -> Problem {
    let links: Vec<Link> = scenario.lines().filter_map(link).flatten().collect();
    let count = links.iter().map(|link| link.to).max().unwrap() + 1;
    let mut rows = vec![Vec::new(); count];
    let mut provisioned = vec![Vec::new(); count];
    for from in 0..count {
        for to in (0..count).filter(|to| *to != from) {
            let candidates = candidates(&links, count, from, to);
            let hop = |candidate: &Candidate| Egress {
                link: candidate.link,
                next: links[candidate.link].to,
            };
            rows[from].push(NextHops {
                to,
                hops: candidates.iter().map(hop).collect(),
                rests: Vec::new(),
                is_alike: false,
            });
            let buckets = candidates.iter().map(|it| u16::try_from(it.gbit).unwrap());
            provisioned[from].push(buckets.collect());
        }
    }
    let rate = |link: &Link| BitsPerSec::new(link.gbit * 1_000_000_000);
    Problem {
        topology: Topology::new(rows),
        capacities: links.iter().map(rate).collect(),
        interval: Nanos::from_millis(100),
        provisioned,
        buckets: 100,
    }
}

/// Returns both directions of the link on a line such as `- { between: [dc1, dc2], rate: 200 Gbit, delay: 25 ms }`.
fn link(line: &str) -> Option<[Link; 2]> {
    let (_, rest) = line.split_once("between: [dc")?;
    let numbers: Vec<u64> = rest
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    let [a, b, gbit, delay_ms] = numbers.try_into().ok()?;
    let dc = |number: u64| usize::try_from(number - 1).unwrap();
    let directed = |from, to| Link {
        from: dc(from),
        to: dc(to),
        gbit,
        delay_ms,
    };
    Some([directed(a, b), directed(b, a)])
}

/// Next hop, with the delay and the capacity of the best path over it.
struct Candidate {
    link: usize,
    delay_ms: u64,
    gbit: u64,
}

/// Returns the equal-hop candidates, by delay, then link.
fn candidates(links: &[Link], count: usize, from: usize, to: usize) -> Vec<Candidate> {
    let hops = hops(links, count, to);
    let own = links
        .iter()
        .enumerate()
        .filter(|(_, link)| link.from == from);
    let closer = own.filter(|(_, link)| hops[link.to] < hops[from]);
    let mut found: Vec<Candidate> = closer
        .map(|(index, link)| {
            let beyond = candidates(links, count, link.to, to);
            let best = beyond
                .iter()
                .min_by_key(|it| (it.delay_ms, Reverse(it.gbit)));
            Candidate {
                link: index,
                delay_ms: link.delay_ms + best.map_or(0, |it| it.delay_ms),
                gbit: link.gbit.min(best.map_or(u64::MAX, |it| it.gbit)),
            }
        })
        .collect();
    found.sort_by_key(|it| (it.delay_ms, it.link));
    found
}

/// Returns the number of links to `to`, by datacenter.
fn hops(links: &[Link], count: usize, to: usize) -> Vec<usize> {
    let mut hops = vec![usize::MAX; count];
    hops[to] = 0;
    for distance in 0..count {
        for link in links {
            if hops[link.to] == distance {
                hops[link.from] = hops[link.from].min(distance + 1);
            }
        }
    }
    hops
}

/// Returns WebSearch flows from all datacenters to all, at 30, 50 and 80 % of four hosts' 100 Gbit/s.
pub(crate) fn all_to_all(problem: &Problem, burst: Option<u32>) -> Traffic {
    let sources = |load: f64| {
        let rows = problem.topology.rows().iter().enumerate();
        let of_switch = |(switch, rows): (usize, &Vec<NextHops>)| {
            let mean_bytes = load * 400e9 / 8.0 * 0.1 / float(rows.len());
            let source = move |row| Source {
                switch,
                row,
                mean_bytes,
                sizes: 0,
                burst,
            };
            (0..rows.len()).map(source).collect::<Vec<_>>()
        };
        rows.flat_map(of_switch).collect()
    };
    Traffic {
        loads: [0.3, 0.5, 0.8].map(sources).to_vec(),
        sizes: vec![websearch()],
    }
}

/// Returns the WebSearch distribution, interpolated between its points.
fn websearch() -> Sizes {
    let text = include_str!("../../../scenarios/workloads/websearch.csv");
    let points: Vec<(u64, u64)> = text
        .lines()
        .filter_map(|line| {
            let (size, percent) = line.split_once(',')?;
            Some((size.parse().ok()?, percent.parse().ok()?))
        })
        .collect();
    Sizes::of(|u| {
        let percent = u128::from(u) * 100;
        let scaled = |percent: u64| u128::from(percent) << 64;
        let above = points.partition_point(|point| scaled(point.1) <= percent);
        let low = points[above - 1];
        let high = points[above];
        let rise = u128::from(high.0 - low.0) * (percent - scaled(low.1));
        let size = u128::from(low.0) + rise / scaled(high.1 - low.1);
        Bytes::new(u64::try_from(size).unwrap())
    })
}

/// Returns the data of [`diamond`] under [`diamond_traffic`].
pub(crate) fn diamond_data() -> Data {
    let problem = diamond();
    let sampled = diamond_traffic().sample(&problem, 1, DataSplit::Training, 0);
    Data::of_intervals(problem, Intervals(sampled.0[..100].to_vec()), 1).unwrap()
}

/// Returns bursty flows of one byte from DC 0 of [`diamond`].
pub(crate) fn diamond_traffic() -> Traffic {
    let source = Source {
        switch: 0,
        row: 0,
        mean_bytes: 500.0,
        sizes: 0,
        burst: Some(3),
    };
    Traffic {
        loads: vec![vec![source]],
        sizes: vec![Sizes::of(|_| Bytes::new(1))],
    }
}
