//! The fluid model: demands and splits become link loads, without packets or queues.
//!
//! With demand d_r of row r (a switch and a destination), share x_c of candidate c, and f_r the row's whole traffic:
//!
//! ```text
//! f_r = d_r + Σ x_c · f_r'        over the candidates c, of rows r', that lead to r's switch
//! u_l = Σ x_c · f_r ÷ capacity    over the candidates c, of rows r, with link l
//! ```
//!
//! Rows and candidates are numbered in the order of switches, rows and next hops; these numbers index all slices here.

use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

use lab_redte::TeamLayout;
use lab_te::quantise;

use crate::problem::Problem;

/// Fluid model of a network.
#[derive(Clone, Debug)]
pub struct Fluid {
    /// Numbers of each switch's rows.
    rows: Vec<Range<usize>>,
    /// Numbers of each row's candidates.
    candidates: Vec<Range<usize>>,
    /// Rows in an order in which every row precedes the rows that it sends to.
    steps: Vec<FluidStep>,
    /// Utilisation that one byte per interval causes, by link.
    per_byte: Vec<f64>,
    /// Candidates of each actor's heads, in the order of its outputs.
    pub outputs: Vec<Vec<Range<usize>>>,
}

#[derive(Clone, Debug)]
struct FluidStep {
    row: usize,
    hops: Vec<Branch>,
}

/// Next hop of a row.
#[derive(Clone, Copy, Debug)]
struct Branch {
    candidate: usize,
    link: usize,
    /// Row for the same destination at the next hop; `None` at the destination.
    row: Option<usize>,
}

/// Traffic of one interval.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Bytes that each row has to send: its demand and what earlier hops send to it.
    received: Vec<f64>,
    /// Utilisation by link.
    pub utilisations: Vec<f64>,
}

impl Loads {
    /// Returns the most utilised link, the first of several, and its utilisation.
    #[must_use]
    pub fn largest(&self) -> (usize, f64) {
        let links = self.utilisations.iter().copied().enumerate();
        links.fold(
            (0, 0.0),
            |largest, link| {
                if link.1 > largest.1 { link } else { largest }
            },
        )
    }
}

impl Fluid {
    /// Creates the model.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let switches = problem.topology.rows();
        let mut rows = Vec::new();
        let mut candidates: Vec<Range<usize>> = Vec::new();
        for switch in switches {
            let first = candidates.len();
            for row in switch {
                let start = candidates.last().map_or(0, |last| last.end);
                candidates.push(start..start + row.hops.len());
            }
            rows.push(first..candidates.len());
        }
        let row_of = |switch: usize, to: usize| {
            let at = switches[switch].iter().position(|row| row.to == to)?;
            Some(rows[switch].start + at)
        };
        let step = |(number, row): (usize, &lab_te::NextHops)| FluidStep {
            row: number,
            hops: candidates[number]
                .clone()
                .zip(&row.hops)
                .map(|(candidate, hop)| Branch {
                    candidate,
                    link: hop.link,
                    row: row_of(hop.next, row.to),
                })
                .collect(),
        };
        let seconds = number_of(problem.interval.get()) / 1e9;
        let per_byte = problem
            .capacities
            .iter()
            .map(|rate| rate.map_or(0.0, |rate| 8.0 / (number_of(rate.get()) * seconds)));
        let layout = TeamLayout::new(&problem.topology);
        let outputs = layout.agents.iter().map(|agent| {
            let heads = agent.heads.iter();
            heads
                .map(|head| candidates[rows[agent.switch].start + head.row].clone())
                .collect()
        });
        Self {
            steps: ordered(switches.iter().flatten().enumerate().map(step).collect()),
            per_byte: per_byte.collect(),
            outputs: outputs.collect(),
            rows,
            candidates,
        }
    }

    /// Returns the traffic of an interval with `demands` in bytes by row, split by `shares` by candidate.
    #[must_use]
    pub fn loads(&self, demands: &[f64], shares: &[f64]) -> Loads {
        let mut received = demands.to_vec();
        let mut utilisations = vec![0.0; self.per_byte.len()];
        for step in &self.steps {
            for hop in &step.hops {
                let sent = received[step.row] * shares[hop.candidate];
                utilisations[hop.link] += sent * self.per_byte[hop.link];
                if let Some(row) = hop.row {
                    received[row] += sent;
                }
            }
        }
        Loads {
            received,
            utilisations,
        }
    }

    /// Returns the derivative, by candidate, of Σ `weights` · utilisation over the links.
    #[must_use]
    pub fn gradient(&self, loads: &Loads, shares: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut by_byte = vec![0.0; self.candidates.len()];
        let mut gradient = vec![0.0; shares.len()];
        for step in self.steps.iter().rev() {
            for hop in &step.hops {
                let beyond = hop.row.map_or(0.0, |row| by_byte[row]);
                let cost = weights[hop.link] * self.per_byte[hop.link] + beyond;
                gradient[hop.candidate] = loads.received[step.row] * cost;
                by_byte[step.row] += shares[hop.candidate] * cost;
            }
        }
        gradient
    }

    /// Returns the derivative of the largest utilisation, by candidate; if several links have it, that of the first.
    #[must_use]
    pub fn gradient_of_largest(&self, loads: &Loads, shares: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.per_byte.len()];
        let (link, _) = loads.largest();
        weights[link] = 1.0;
        self.gradient(loads, shares, &weights)
    }

    /// Returns the shares of ECMP.
    #[must_use]
    pub fn even(&self) -> Vec<f64> {
        let rows = self.candidates.iter();
        rows.flat_map(|row| row.clone().map(|_| 1.0 / crate::number::float(row.len())))
            .collect()
    }

    /// Returns the shares that hash buckets give, by row; a row of `None` keeps its shares in `before`.
    #[must_use]
    pub fn of_buckets<'b>(
        &self,
        before: &[f64],
        buckets: impl IntoIterator<Item = Option<&'b Vec<u16>>>,
    ) -> Vec<f64> {
        let mut shares = before.to_vec();
        for (row, buckets) in self.candidates.iter().zip(buckets) {
            let Some(buckets) = buckets else { continue };
            let total: f64 = buckets.iter().copied().map(f64::from).sum();
            for (share, buckets) in shares[row.clone()].iter_mut().zip(buckets) {
                *share = f64::from(*buckets) / total;
            }
        }
        shares
    }

    /// Returns the shares after rounding to `count` hash buckets per destination.
    #[must_use]
    pub fn rounded(&self, shares: &[f64], count: u16) -> Vec<f64> {
        let rows = self.candidates.iter();
        let buckets: Vec<_> = rows
            .map(|row| quantise(&shares[row.clone()], count))
            .collect();
        self.of_buckets(shares, buckets.iter().map(Option::as_ref))
    }

    /// Returns all links that traffic of a switch's row may take, on any path.
    #[must_use]
    pub fn links_towards(&self, switch: usize, row: usize) -> Vec<usize> {
        let mut reached = BTreeSet::from([self.rows[switch].start + row]);
        let mut links = BTreeSet::new();
        for step in &self.steps {
            if reached.contains(&step.row) {
                links.extend(step.hops.iter().map(|hop| hop.link));
                reached.extend(step.hops.iter().filter_map(|hop| hop.row));
            }
        }
        links.into_iter().collect()
    }

    /// Returns the numbers of a switch's rows.
    #[must_use]
    pub fn rows_of(&self, switch: usize) -> Range<usize> {
        self.rows[switch].clone()
    }
}

/// Orders rows by decreasing length of their longest path.
fn ordered(mut steps: Vec<FluidStep>) -> Vec<FluidStep> {
    let mut lengths = vec![0; steps.len()];
    // Next hops form no cycle, so one pass per hop of the longest path suffices.
    for _ in 0..steps.len() {
        let mut is_changed = false;
        for step in &steps {
            let next = step.hops.iter().filter_map(|hop| hop.row);
            let length = next.map(|row| lengths[row] + 1).max().unwrap_or(0);
            is_changed |= lengths[step.row] != length;
            lengths[step.row] = length;
        }
        if !is_changed {
            break;
        }
    }
    steps.sort_by_key(|step| Reverse(lengths[step.row]));
    steps
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate or a time, not an identifier"
)]
const fn number_of(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use lab_units::Bytes;

    use super::*;
    use crate::{
        optimum,
        random::Random,
        testing::{demand, diamond, problem_8dc, problem_13dc},
        traffic::Intervals,
    };

    /// DC 0 sends 8 to DC 3 over links of capacity 4 and 2, via 1 and 2, and DC 1 sends 2 to DC 3 itself.
    #[test]
    fn loads_are_those_of_the_hand_calculation() {
        let problem = diamond();
        let fluid = Fluid::new(&problem);
        let demands = demand(&[(0, 8.0), (1, 2.0)]);
        let shares = [0.75, 0.25, 1.0, 1.0];
        let loads = fluid.loads(&demands, &shares);
        // Links: 0→1 (4), 0→2 (2), 1→3 (4), 2→3 (2).
        assert_eq!(loads.utilisations, [1.5, 1.0, 2.0, 1.0]);
        assert_eq!(loads.largest(), (2, 2.0));
        // A byte more via 1 uses a fourth of 1→3; all 8 are multiplied by the share.
        let gradient = fluid.gradient_of_largest(&loads, &shares);
        assert_eq!(gradient, [2.0, 0.0, 2.0, 0.0]);
        assert_eq!(fluid.links_towards(0, 0), [0, 1, 2, 3]);
        assert_eq!(fluid.links_towards(1, 0), [2]);
    }

    #[test]
    fn the_gradient_is_that_of_differences() {
        let problem = problem_13dc();
        let fluid = Fluid::new(&problem);
        let mut random = Random::of(&[1]);
        let demands: Vec<f64> = fluid
            .candidates
            .iter()
            .map(|_| 1e6 * random.fraction())
            .collect();
        let shares: Vec<f64> = fluid
            .even()
            .iter()
            .map(|share| share * (0.5 + random.fraction()))
            .collect();
        let weights: Vec<f64> = fluid.per_byte.iter().map(|_| random.fraction()).collect();
        let value = |shares: &[f64]| {
            let loads = fluid.loads(&demands, shares);
            let links = loads.utilisations.iter().zip(&weights);
            links
                .map(|(utilisation, weight)| utilisation * weight)
                .sum::<f64>()
        };
        let gradient = fluid.gradient(&fluid.loads(&demands, &shares), &shares, &weights);
        for candidate in 0..shares.len() {
            let mut more = shares.clone();
            more[candidate] += 1e-4;
            let mut less = shares.clone();
            less[candidate] -= 1e-4;
            let difference = (value(&more) - value(&less)) / 2e-4;
            let error = (gradient[candidate] - difference).abs();
            assert!(
                error <= 1e-6 * difference.abs() + 1e-12,
                "{candidate}: {difference}"
            );
        }
    }

    /// No split of the same demands has a smaller largest utilisation than the optimum, which the linear program's own
    /// tables reach up to rounding.
    #[test]
    fn the_optimum_is_not_beaten() {
        for (number, problem) in (0..).zip([problem_8dc(), problem_13dc()]) {
            let fluid = Fluid::new(&problem);
            for seed in 0..5 {
                let mut random = Random::of(&[2, number, seed]);
                let measured = measured(&problem, &mut random);
                let best = optimum::utilisation(&problem, &measured).unwrap();
                let demands = Intervals::flat(&measured);
                let largest = |shares: &[f64]| fluid.loads(&demands, shares).largest().1;
                for _ in 0..100 {
                    let largest = largest(&split(&fluid, &mut random));
                    assert!(largest >= best * (1.0 - 1e-6), "{largest} {best}");
                }
                let measured = lab_te::Measurements {
                    demands: &measured,
                    capacities: &problem.capacities,
                };
                let tables = lab_te::tables(&problem.topology, &measured, 1_000).unwrap();
                let rows = tables.rows.iter().flatten().map(Option::as_ref);
                let largest = largest(&fluid.of_buckets(&fluid.even(), rows));
                assert!(largest <= best * 1.01, "{largest} {best}");
            }
        }
    }

    /// Returns random demands, of which a third are zero.
    fn measured(problem: &Problem, random: &mut Random) -> Vec<Vec<Bytes>> {
        let mut bytes = |_: &lab_te::NextHops| match random.below(3) {
            0 => Bytes::ZERO,
            _ => Bytes::new(1 + u64::try_from(random.below(1_000_000)).unwrap()),
        };
        let switches = problem.topology.rows().iter();
        switches
            .map(|rows| rows.iter().map(&mut bytes).collect())
            .collect()
    }

    /// Returns random shares, from nearly even to nearly all on one candidate.
    fn split(fluid: &Fluid, random: &mut Random) -> Vec<f64> {
        let power = 1 + i32::try_from(random.below(20)).unwrap();
        let mut shares: Vec<f64> = fluid
            .even()
            .iter()
            .map(|_| random.fraction().powi(power))
            .collect();
        for row in &fluid.candidates {
            let row = &mut shares[row.clone()];
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|share| *share /= total);
        }
        shares
    }
}
