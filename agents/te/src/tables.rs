//! Conversion of splits to hash buckets.

use crate::{
    TeError,
    program::{self, Split},
    quantise::quantise,
    topology::{Measurements, Topology},
};

/// Bucket tables that the controller installs on the switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// Buckets of the next hops by switch and row; `None` for a destination without deliverable demand, which keeps the
    /// installed buckets.
    pub rows: Vec<Vec<Option<Vec<u16>>>>,
    /// Time in which the most loaded link transmits the interval's traffic, in seconds.
    pub longest_s: f64,
}

/// Returns the tables with `buckets` buckets per destination that minimise the largest link utilisation. Fails if the
/// measurement does not match the topology or the solver fails.
pub fn tables(
    topology: &Topology,
    measured: &Measurements<'_>,
    buckets: u16,
) -> Result<Tables, TeError> {
    let Some(split) = program::split(topology, measured)? else {
        let rows = topology.rows().iter();
        return Ok(Tables {
            rows: rows.map(|rows| vec![None; rows.len()]).collect(),
            longest_s: 0.0,
        });
    };
    let Split { traffic, longest_s } = split;
    let rows = traffic.iter().map(|rows| {
        rows.iter()
            .map(|traffic| quantise(traffic, buckets))
            .collect()
    });
    Ok(Tables {
        rows: rows.collect(),
        longest_s,
    })
}

#[cfg(test)]
mod tests {
    use lab_units::{BitsPerSec, Bytes};
    use proptest::prelude::*;

    use super::*;
    use crate::topology::{Egress, NextHops};

    const BUCKETS: u16 = 100;

    fn rate(gbit: u64) -> Option<BitsPerSec> {
        BitsPerSec::new(gbit * 1_000_000_000)
    }

    fn row(to: usize, hops: &[(usize, usize)]) -> NextHops {
        let hops = hops.iter().map(|&(link, next)| Egress { link, next });
        NextHops {
            to,
            hops: hops.collect(),
            rests: Vec::new(),
            is_alike: false,
        }
    }

    /// Returns a topology with six paths from switch 0 to switch 7, via switches 1 to 6; links 0 to 5 are the first
    /// hops.
    fn testbed() -> (Topology, Vec<Option<BitsPerSec>>) {
        let out: Vec<_> = (0..6).map(|path| (path, path + 1)).collect();
        let mut rows = vec![vec![row(7, &out)]];
        rows.extend((0..6).map(|path| vec![row(7, &[(6 + path, 7)])]));
        rows.push(vec![]);
        let rates = [40, 100, 200, 40, 100, 200].map(rate);
        (Topology::new(rows), [rates, rates].concat())
    }

    fn demands(first: u64) -> Vec<Vec<Bytes>> {
        let mut demands = vec![vec![Bytes::new(first)]];
        demands.extend((0..6).map(|_| vec![Bytes::ZERO]));
        demands.push(vec![]);
        demands
    }

    #[test]
    fn one_pair_is_split_by_capacity() {
        let (topology, capacities) = testbed();
        let demands = demands(680_000_000);
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        // In the ratio 40 : 100 : 200 of 680, 100 buckets are 5.88, 14.7 and 29.4; two paths have each share.
        assert_eq!(found.rows[0][0], Some(vec![6, 15, 29, 6, 15, 29]));
        assert_eq!(found.rows[3][0], Some(vec![100]));
        // 680 MB take 8 ms at 680 Gbit/s.
        assert!(
            (found.longest_s - 0.008).abs() < 1e-9,
            "{}",
            found.longest_s
        );
    }

    #[test]
    fn a_path_with_a_dead_link_gets_no_bucket() {
        let (topology, mut capacities) = testbed();
        capacities[2] = None;
        capacities[6 + 5] = None;
        let demands = demands(1);
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS)
            .expect("the program has a solution")
            .rows[0][0]
            .clone()
            .expect("four paths are left");
        assert_eq!(found, [14, 36, 0, 14, 36, 0]);
    }

    /// Switch 0 has two tunnels to switch 3: over switch 1, whose link 2 has 25 Gbit/s, and over switch 2, whose link 3
    /// has
    /// 100. Switch 1 also has a link to switch 2, over which packets of the first tunnel may not go. Links 0 and 1 have
    /// 100 Gbit/s, so that the tunnels get 20 and 80 of 100 buckets. Without link 2, all go to the second tunnel.
    #[test]
    fn a_tunnel_is_as_wide_as_its_narrowest_link() {
        let hop = |link, next| Egress { link, next };
        let tunnels = NextHops {
            rests: vec![vec![hop(2, 3)], vec![hop(3, 3)]],
            ..row(3, &[(0, 1), (1, 2)])
        };
        let own = NextHops {
            rests: vec![Vec::new(), vec![hop(3, 3)]],
            ..row(3, &[(2, 3), (4, 2)])
        };
        let topology = Topology::new(vec![vec![tunnels], vec![own], vec![], vec![]]);
        let demands = [
            vec![Bytes::new(1_000_000)],
            vec![Bytes::ZERO],
            vec![],
            vec![],
        ];
        let buckets = |capacities: [u64; 5]| {
            let measured = Measurements {
                demands: &demands,
                capacities: &capacities.map(rate),
            };
            let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
            (found.rows[0][0].clone(), found.longest_s)
        };
        let (rows, longest) = buckets([100, 100, 25, 100, 100]);
        assert_eq!(rows, Some(vec![20, 80]));
        // 8 Mbit take 64 µs at 125 Gbit/s.
        assert!((longest - 64e-6).abs() < 1e-9, "{longest}");
        let (rows, _) = buckets([100, 100, 0, 100, 100]);
        assert_eq!(rows, Some(vec![0, 100]));
    }

    #[test]
    fn without_demand_the_installed_buckets_stay() {
        let (topology, capacities) = testbed();
        let measured = Measurements {
            demands: &demands(0),
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        assert!(found.rows.iter().flatten().all(Option::is_none));
        let dead = vec![None; capacities.len()];
        let measured = Measurements {
            demands: &demands(5),
            capacities: &dead,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        assert!(found.rows.iter().flatten().all(Option::is_none));
    }

    /// Switch 0 reaches switch 3 via 1 and via 2. Switch 1 also sends to 3, over the link that switch 0's traffic via 1
    /// uses. If both demands are equal, switch 0 sends all its traffic via 2.
    #[test]
    fn a_pair_yields_a_link_to_another_pair() {
        let rows = vec![
            vec![row(3, &[(0, 1), (1, 2)])],
            vec![row(3, &[(2, 3)])],
            vec![row(3, &[(3, 3)])],
            vec![],
        ];
        let topology = Topology::new(rows);
        let capacities = [100, 100, 100, 100].map(rate);
        let amount = Bytes::new(1_000_000);
        let demands = [vec![amount], vec![amount], vec![Bytes::ZERO], vec![]];
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        assert_eq!(found.rows[0][0], Some(vec![0, 100]));
    }

    /// Of the traffic that it receives, a switch without an agent sends half over the link with the lowest capacity.
    #[test]
    fn a_switch_without_an_agent_splits_alike() {
        let mut legacy = row(3, &[(2, 3), (3, 3)]);
        legacy.is_alike = true;
        let rows = vec![
            vec![row(3, &[(0, 1), (1, 2)])],
            vec![legacy],
            vec![row(3, &[(4, 3)])],
            vec![],
        ];
        let topology = Topology::new(rows);
        let capacities = [100, 100, 100, 10, 20].map(rate);
        let zero = || vec![Bytes::ZERO];
        let demands = [vec![Bytes::new(1_000_000)], zero(), zero(), vec![]];
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        // Via switch 1 at most twice 10 Gbit/s are possible, because it splits its traffic evenly; via switch 2, 20
        // Gbit/s.
        assert_eq!(found.rows[0][0], Some(vec![50, 50]));
        assert_eq!(found.rows[1][0], Some(vec![50, 50]));
    }

    /// The lowest-capacity link of one switch pair determines the largest utilisation; the traffic of the other pair is
    /// still balanced.
    #[test]
    fn links_other_than_the_bottleneck_are_balanced() {
        let rows = vec![
            vec![row(2, &[(0, 2)]), row(3, &[])],
            vec![row(2, &[]), row(3, &[(1, 3), (2, 3)])],
            vec![],
            vec![],
        ];
        let topology = Topology::new(rows);
        let capacities = [1, 100, 300].map(rate);
        let mb = |count: u64| Bytes::new(count * 1_000_000);
        let demands = [vec![mb(100), mb(0)], vec![mb(0), mb(40)], vec![], vec![]];
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        assert_eq!(found.rows[1][1], Some(vec![25, 75]));
        assert_eq!(found.rows[0][1], None);
    }

    /// Switch 0 reaches switch 3 via 1, or via 2, 4 and 5. With equal shares, the largest utilisation of each of the
    /// five switches is 1/2, in total 5/2. With all traffic via 1, two switches have a largest utilisation of 1, in
    /// total only 2.
    #[test]
    fn the_sum_of_utilisations_yields_to_the_largest() {
        let rows = vec![
            vec![row(3, &[(0, 1), (1, 2)])],
            vec![row(3, &[(2, 3)])],
            vec![row(3, &[(3, 4)])],
            vec![],
            vec![row(3, &[(4, 5)])],
            vec![row(3, &[(5, 3)])],
        ];
        let topology = Topology::new(rows);
        let capacities = [100; 6].map(rate);
        let zero = || vec![Bytes::ZERO];
        let amount = vec![Bytes::new(1_000_000)];
        let demands = [amount, zero(), zero(), vec![], zero(), zero()];
        let measured = Measurements {
            demands: &demands,
            capacities: &capacities,
        };
        let found = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
        assert_eq!(found.rows[0][0], Some(vec![50, 50]));
    }

    #[test]
    fn a_measurement_of_another_topology_is_refused() {
        let (topology, capacities) = testbed();
        let measured = Measurements {
            demands: &[],
            capacities: &capacities,
        };
        let error = tables(&topology, &measured, BUCKETS).expect_err("no demands");
        assert_eq!(
            error.to_string(),
            "there are 0 switches with demands, but the topology has 8"
        );
        let measured = Measurements {
            demands: &demands(1),
            capacities: &capacities[..11],
        };
        let error = tables(&topology, &measured, BUCKETS).expect_err("a link is missing");
        assert_eq!(
            error.to_string(),
            "there are 11 link capacities, but the topology has 12"
        );
    }

    /// Returns a ring of six switches with chords; next hops are the neighbours one hop closer.
    fn ring() -> (Topology, usize) {
        let neighbours = |at: usize| [(at + 1) % 6, (at + 5) % 6, (at + 3) % 6];
        let distance = |a: usize, b: usize| match (6 + b - a) % 6 {
            0 => 0,
            1 | 3 | 5 => 1,
            _ => 2,
        };
        let rows = (0..6).map(|at| {
            let others = (0..6).filter(|&to| to != at);
            others
                .map(|to| {
                    let hops = neighbours(at).into_iter().enumerate();
                    let nearer = hops.filter(|&(_, next)| distance(next, to) < distance(at, to));
                    let hops: Vec<_> = nearer.map(|(hop, next)| (3 * at + hop, next)).collect();
                    row(to, &hops)
                })
                .collect()
        });
        (Topology::new(rows.collect()), 18)
    }

    /// Returns the time in which the most loaded link transmits its traffic, in seconds, if every switch splits its
    /// traffic by `share`.
    fn longest(
        topology: &Topology,
        measured: &Measurements<'_>,
        share: impl Fn(usize, usize, usize) -> f64,
    ) -> f64 {
        let mut load = vec![0.0; measured.capacities.len()];
        let rows = topology.rows();
        for (from, demands) in measured.demands.iter().enumerate() {
            for (first, bytes) in demands.iter().enumerate() {
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let mut at = vec![(from, bytes.get() as f64)];
                let to = rows[from][first].to;
                while let Some((switch, amount)) = at.pop() {
                    if switch == to || amount == 0.0 {
                        continue;
                    }
                    let row_index = rows[switch]
                        .iter()
                        .position(|row| row.to == to)
                        .expect("every switch reaches every other");
                    for (index, hop) in rows[switch][row_index].hops.iter().enumerate() {
                        let part = amount * share(switch, row_index, index);
                        load[hop.link] += part;
                        at.push((hop.next, part));
                    }
                }
            }
        }
        let times = load.iter().zip(measured.capacities).map(|(load, rate)| {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let rate = rate.expect("all links are up").get() as f64;
            load * 8.0 / rate
        });
        times.fold(0.0, f64::max)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn no_other_split_has_a_smaller_largest_utilisation(
            demands in prop::collection::vec(prop::collection::vec(0..1_000_000_000u64, 5), 6),
            gbit in prop::collection::vec(1..=400u64, 18),
            shift in 0..7usize,
        ) {
            let (topology, links) = ring();
            let demands: Vec<Vec<Bytes>> = demands
                .into_iter()
                .map(|row| row.into_iter().map(Bytes::new).collect())
                .collect();
            let capacities: Vec<_> = gbit.into_iter().map(rate).collect();
            prop_assert_eq!(capacities.len(), links);
            let measured = Measurements { demands: &demands, capacities: &capacities };
            let split = program::split(&topology, &measured).expect("the program has a solution");
            let Some(split) = split else { return Ok(()) };
            // Simulated forwarding gives the same utilisation as the linear program.
            let share = |switch: usize, row_index: usize, hop: usize| {
                let row: &Vec<f64> = &split.traffic[switch][row_index];
                let total: f64 = row.iter().sum();
                if total > 0.0 { row[hop] / total } else { 0.0 }
            };
            let found = longest(&topology, &measured, share);
            let near = 1e-5 * split.longest_s;
            let alone = program::optimum_s(&topology, &measured).expect("the program has a solution");
            prop_assert!((alone - split.longest_s).abs() <= near, "{alone} {}", split.longest_s);
            prop_assert!((found - split.longest_s).abs() <= near, "{found} {}", split.longest_s);
            // Neither even nor lopsided splits give a lower utilisation.
            let hops = |switch: usize, row_index: usize| topology.rows()[switch][row_index].hops.len();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let even = |switch, row_index, _| 1.0 / hops(switch, row_index) as f64;
            let only = |switch: usize, row_index: usize, hop| {
                f64::from(u8::from((switch + row_index + shift) % hops(switch, row_index) == hop))
            };
            prop_assert!(split.longest_s <= longest(&topology, &measured, even) * (1.0 + 1e-6));
            prop_assert!(split.longest_s <= longest(&topology, &measured, only) * (1.0 + 1e-6));
        }

        #[test]
        fn equal_inputs_give_equal_tables(
            demands in prop::collection::vec(prop::collection::vec(0..1_000_000_000u64, 5), 6),
        ) {
            let (topology, links) = ring();
            let demands: Vec<Vec<Bytes>> = demands
                .into_iter()
                .map(|row| row.into_iter().map(Bytes::new).collect())
                .collect();
            let capacities = vec![rate(100); links];
            let measured = Measurements { demands: &demands, capacities: &capacities };
            let once = tables(&topology, &measured, BUCKETS).expect("the program has a solution");
            prop_assert_eq!(tables(&topology, &measured, BUCKETS).expect("the program has a solution"), once);
        }
    }
}
