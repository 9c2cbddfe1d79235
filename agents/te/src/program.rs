//! The linear program: the split that minimises the largest link utilisation.
//!
//! Forwarding is by destination, and so are the variables: x_{s,j,n} is the traffic towards j that switch s sends to
//! its next hop n. With d_{s,j} the demand of the switch's own datacenter, and counting the traffic that arrives from
//! switches further away:
//!
//! ```text
//! minimise U
//! Σ_n x_{s,j,n} = d_{s,j} + Σ_{s',n' at s} x_{s',j,n'}      for all s ≠ j
//! Σ_j x_{s,j,n} ≤ U · c_{s,n}                               for all links (s, n)
//! x ≥ 0
//! ```
//!
//! Its optimum equals that of the program over all paths that the next hops allow, because a destination's next hops form
//! no cycle under any candidate set, and switches can implement its solution.
//!
//! With tunnels, other switches only forward. So the first equation has no incoming traffic, and in the second
//! x_{s,j,n} counts at every link of its tunnel: the program divides demands among tunnels.
//!
//! If a single link determines U, the rest of the solution is arbitrary. A second program therefore keeps U fixed and
//! minimises Σ_s U_s, the sum of each switch's largest utilisation. The published code of RedTE rewards its agents by
//! the same two quantities.
//!
//! Demands are divided by their sum and capacities by the largest capacity, so that all numbers are near 1.

use std::{collections::BTreeMap, ops::Range};

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Solution, Variable};

use crate::{
    TeError,
    topology::{Measurements, NextHops, Topology, UsableRow},
};

/// Traffic to every next hop, as a share of the sum of all demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Traffic by switch, destination row and next hop.
    pub traffic: Vec<Vec<Vec<f64>>>,
    /// Time in which the most loaded link transmits the interval's traffic, in seconds; divided by the interval's
    /// length, this is the largest link utilisation.
    pub longest_s: f64,
}

/// Returns the split of the measured demands that minimises the largest link utilisation; `None` if no demand can be
/// delivered. Fails if the measurement does not match the topology or the solver fails.
pub fn split(topology: &Topology, measured: &Measurements<'_>) -> Result<Option<Split>, TeError> {
    topology.check(measured)?;
    let Some(scaled) = Scaled::new(topology, measured) else {
        return Ok(None);
    };
    let first = scaled.solve(None)?;
    let max = first.largest;
    // Without this slack for the solver's own tolerance, the second program might have no solution.
    let slack = TOLERANCE * max.max(1.0);
    let best = scaled.solve(Some(max + slack)).unwrap_or(first);
    Ok(Some(Split {
        longest_s: max * scaled.seconds,
        traffic: scaled.traffic(&best.values),
    }))
}

/// Returns the [`Split::longest_s`] that [`split`] finds, without solving its second program; 0 if no demand can be
/// delivered. Fails if the measurement does not match the topology or the solver fails.
pub fn optimum_s(topology: &Topology, measured: &Measurements<'_>) -> Result<f64, TeError> {
    topology.check(measured)?;
    let Some(scaled) = Scaled::new(topology, measured) else {
        return Ok(0.0);
    };
    Ok(scaled.solve(None)?.largest * scaled.seconds)
}

/// Demands that can be delivered, scaled to numbers near 1, as amounts of traffic on every next hop.
struct Scaled<'a> {
    topology: &'a Topology,
    /// Bounds of the traffic that arrives at a row with a choice.
    balances: Vec<Balance>,
    /// Number of variables.
    variables: usize,
    /// Next hops that can have traffic.
    hops: Vec<LoadedHop>,
    /// Capacity by link; 0 for a link that carries no traffic.
    capacities: Vec<f64>,
    /// Transmission time that a scaled utilisation of 1 represents, in seconds.
    seconds: f64,
}

/// Amount of traffic: a constant and multiples of variables.
#[derive(Clone, Debug, Default)]
struct Amount {
    constant: f64,
    /// Factor by variable.
    terms: BTreeMap<usize, f64>,
}

/// Row with a choice: its variables add up to the traffic that arrives.
struct Balance {
    variables: Range<usize>,
    arriving: Amount,
}

/// Traffic of one next hop.
struct LoadedHop {
    switch: usize,
    row: usize,
    hop: usize,
    traffic: Amount,
}

impl Amount {
    const fn of(constant: f64) -> Self {
        Self {
            constant,
            terms: BTreeMap::new(),
        }
    }

    fn variable(index: usize) -> Self {
        Self {
            constant: 0.0,
            terms: BTreeMap::from([(index, 1.0)]),
        }
    }

    fn is_zero(&self) -> bool {
        self.constant <= 0.0 && self.terms.is_empty()
    }

    fn add(&mut self, other: &Self) {
        self.constant += other.constant;
        for (variable, factor) in &other.terms {
            *self.terms.entry(*variable).or_default() += factor;
        }
    }

    fn divided(&self, by: f64) -> Self {
        let terms = self.terms.iter();
        Self {
            constant: self.constant / by,
            terms: terms.map(|(at, factor)| (*at, factor / by)).collect(),
        }
    }

    fn value(&self, values: &[f64]) -> f64 {
        let terms = self.terms.iter().map(|(at, factor)| factor * values[*at]);
        self.constant + terms.sum::<f64>()
    }
}

/// Solution of a linear program.
struct LpSolution {
    /// Values of the variables.
    values: Vec<f64>,
    /// Largest utilisation that the program allows, or the limit it was given.
    largest: f64,
}

impl<'a> Scaled<'a> {
    fn new(topology: &'a Topology, measured: &Measurements<'_>) -> Option<Self> {
        let rates: Vec<f64> = measured
            .capacities
            .iter()
            .map(|rate| rate.map_or(0.0, |rate| float(rate.get())))
            .collect();
        let largest = rates.iter().copied().fold(0.0, f64::max);
        let destinations = topology.destinations(measured);
        let rows = destinations.iter().flatten();
        let total: f64 = rows
            .map(|row| float(measured.demands[row.switch][row.row].get()))
            .sum();
        if total <= 0.0 || largest <= 0.0 {
            return None;
        }
        let mut scaled = Self {
            topology,
            balances: Vec::new(),
            variables: 0,
            hops: Vec::new(),
            capacities: rates.iter().map(|rate| rate / largest).collect(),
            seconds: 8.0 * total / largest,
        };
        for rows in &destinations {
            let demand =
                |row: &UsableRow| float(measured.demands[row.switch][row.row].get()) / total;
            scaled.forward(rows, demand);
        }
        Some(scaled)
    }

    /// Adds the traffic to one destination, from row to row. Only rows with a choice that traffic can reach get variables:
    /// on a large network most rows have one next hop or no traffic.
    fn forward(&mut self, rows: &[UsableRow], demand: impl Fn(&UsableRow) -> f64) {
        let mut arriving: BTreeMap<usize, Amount> = BTreeMap::new();
        for row in rows {
            let mut amount = arriving.remove(&row.switch).unwrap_or_default();
            amount.add(&Amount::of(demand(row)));
            if amount.is_zero() {
                continue;
            }
            let hops = &self.topology.rows()[row.switch][row.row];
            let count = row.hops.len();
            let is_choice = count > 1 && !hops.is_alike;
            let first = self.variables;
            for (at, &hop) in row.hops.iter().enumerate() {
                let traffic = if is_choice {
                    Amount::variable(first + at)
                } else {
                    amount.divided(float(count as u64))
                };
                if hops.rests.is_empty() {
                    let next = arriving.entry(hops.hops[hop].next).or_default();
                    next.add(&traffic);
                }
                self.hops.push(LoadedHop {
                    switch: row.switch,
                    row: row.row,
                    hop,
                    traffic,
                });
            }
            if is_choice {
                self.variables += count;
                self.balances.push(Balance {
                    variables: first..self.variables,
                    arriving: amount,
                });
            }
        }
    }

    /// Minimises the largest utilisation. With `limit`, instead minimises the sum of the switches' largest
    /// utilisations, none of which may exceed `limit`.
    fn solve(&self, limit: Option<f64>) -> Result<LpSolution, TeError> {
        let loads = self.loads();
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let max = limit.unwrap_or(f64::INFINITY);
        let switches = self.topology.rows().len();
        let mut least = vec![0.0_f64; switches];
        for (link, (switch, load)) in &loads {
            if load.terms.is_empty() {
                least[*switch] = least[*switch].max(load.constant / self.capacities[*link]);
            }
        }
        let utilisations: Vec<Variable> = match limit {
            None => {
                let least = least.iter().copied().fold(0.0, f64::max);
                vec![problem.add_var(1.0, (least, max)); switches]
            }
            Some(_) => {
                let of = |least: &f64| problem.add_var(1.0, (least.min(max), max));
                least.iter().map(of).collect()
            }
        };
        let variables: Vec<Variable> = (0..self.variables)
            .map(|_| problem.add_var(0.0, (0.0, f64::INFINITY)))
            .collect();
        for balance in &self.balances {
            let mut sum = LinearExpr::empty();
            for variable in balance.variables.clone() {
                sum.add(variables[variable], 1.0);
            }
            for (variable, factor) in &balance.arriving.terms {
                sum.add(variables[*variable], -factor);
            }
            problem.add_constraint(sum, ComparisonOp::Eq, balance.arriving.constant);
        }
        for (link, (switch, load)) in &loads {
            if load.terms.is_empty() {
                continue;
            }
            let mut sum = LinearExpr::empty();
            for (variable, factor) in &load.terms {
                sum.add(variables[*variable], *factor);
            }
            sum.add(utilisations[*switch], -self.capacities[*link]);
            problem.add_constraint(sum, ComparisonOp::Le, -load.constant);
        }
        let solution = solved(&problem)?;
        let value = |variable: &Variable| solution.var_value(*variable).max(0.0);
        let largest = utilisations.iter().map(value).fold(0.0, f64::max);
        Ok(LpSolution {
            values: variables.iter().map(value).collect(),
            largest,
        })
    }

    /// Returns the load of each link that can have traffic, with the switch that the link begins at.
    fn loads(&self) -> BTreeMap<usize, (usize, Amount)> {
        let mut loads = BTreeMap::new();
        for it in &self.hops {
            let row = &self.topology.rows()[it.switch][it.row];
            for (from, link) in row.links(it.switch, it.hop) {
                let load = loads.entry(link).or_insert((from, Amount::default()));
                load.1.add(&it.traffic);
            }
        }
        loads
    }

    /// Returns the traffic by switch, row and next hop.
    fn traffic(&self, values: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let zeros = |row: &NextHops| vec![0.0; row.hops.len()];
        let rows = self.topology.rows().iter();
        let mut traffic: Vec<Vec<Vec<f64>>> =
            rows.map(|rows| rows.iter().map(zeros).collect()).collect();
        for it in &self.hops {
            traffic[it.switch][it.row][it.hop] = it.traffic.value(values);
        }
        traffic
    }
}

fn solved(problem: &Problem) -> Result<Solution, TeError> {
    let gave_up = |why: String| TeError::Solver { why };
    let outcome = problem
        .solve()
        .map_err(|error| gave_up(error.to_string()))?;
    outcome
        .into_solution()
        .map_err(|_| gave_up("it was interrupted".to_owned()))
}

/// Converts a number to a float; numbers above 2^53 are rounded.
#[expect(clippy::cast_precision_loss, reason = "a share of a sum is wanted")]
const fn float(number: u64) -> f64 {
    number as f64
}

/// Numerical tolerance of the solver.
const TOLERANCE: f64 = 1e-7;
