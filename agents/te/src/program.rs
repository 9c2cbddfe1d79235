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

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Solution, Variable};

use crate::{
    TeError,
    topology::{Measurements, NextHops, Topology},
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
    let max = first.largest();
    // Without this slack for the solver's own tolerance, the second program might have no solution.
    let slack = TOLERANCE * max.max(1.0);
    let best = scaled.solve(Some(max + slack)).unwrap_or(first);
    Ok(Some(Split {
        longest_s: max * scaled.seconds,
        traffic: best.traffic,
    }))
}

/// Returns the [`Split::longest_s`] that [`split`] finds, without solving its second program; 0 if no demand can be
/// delivered. Fails if the measurement does not match the topology or the solver fails.
pub fn optimum_s(topology: &Topology, measured: &Measurements<'_>) -> Result<f64, TeError> {
    topology.check(measured)?;
    let Some(scaled) = Scaled::new(topology, measured) else {
        return Ok(0.0);
    };
    Ok(scaled.solve(None)?.largest() * scaled.seconds)
}

/// Measurements scaled to numbers near 1.
struct Scaled<'a> {
    topology: &'a Topology,
    usable: Vec<Vec<Vec<usize>>>,
    /// Demand by switch and row; 0 if the demand cannot be delivered.
    demands: Vec<Vec<f64>>,
    /// Capacity by link; 0 for a link that carries no traffic.
    capacities: Vec<f64>,
    /// Transmission time that a scaled utilisation of 1 represents, in seconds.
    seconds: f64,
}

/// Solution of a linear program.
struct LpSolution {
    traffic: Vec<Vec<Vec<f64>>>,
    utilisations: Vec<f64>,
}

impl LpSolution {
    fn largest(&self) -> f64 {
        self.utilisations.iter().copied().fold(0.0, f64::max)
    }
}

impl<'a> Scaled<'a> {
    fn new(topology: &'a Topology, measured: &Measurements<'_>) -> Option<Self> {
        let usable = topology.usable(measured);
        let mut total = 0.0;
        let mut demands = Vec::with_capacity(usable.len());
        for (rows, hops) in measured.demands.iter().zip(&usable) {
            let row: Vec<f64> = rows
                .iter()
                .zip(hops)
                .map(|(bytes, hops)| match hops[..] {
                    [] => 0.0,
                    _ => float(bytes.get()),
                })
                .collect();
            total += row.iter().sum::<f64>();
            demands.push(row);
        }
        let rates: Vec<f64> = measured
            .capacities
            .iter()
            .map(|rate| rate.map_or(0.0, |rate| float(rate.get())))
            .collect();
        let largest = rates.iter().copied().fold(0.0, f64::max);
        if total <= 0.0 || largest <= 0.0 {
            return None;
        }
        for demand in demands.iter_mut().flatten() {
            *demand /= total;
        }
        Some(Self {
            topology,
            usable,
            demands,
            capacities: rates.iter().map(|rate| rate / largest).collect(),
            seconds: 8.0 * total / largest,
        })
    }

    /// Minimises the largest utilisation. With `limit`, instead minimises the sum of the switches' largest
    /// utilisations, none of which may exceed `limit`.
    fn solve(&self, limit: Option<f64>) -> Result<LpSolution, TeError> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let rows = self.topology.rows();
        let max = limit.unwrap_or(f64::INFINITY);
        let shared = limit.is_none().then(|| problem.add_var(1.0, (0.0, max)));
        let utilisation = |_| shared.unwrap_or_else(|| problem.add_var(1.0, (0.0, max)));
        let utilisations: Vec<Variable> = rows.iter().map(utilisation).collect();
        let mut variables =
            |hops: &Vec<usize>| hops.iter().map(|_| unbounded(&mut problem)).collect();
        let traffic: Vec<Vec<Vec<Variable>>> = self
            .usable
            .iter()
            .map(|rows| rows.iter().map(&mut variables).collect())
            .collect();
        self.conserve(&mut problem, &traffic);
        self.fit(&mut problem, &traffic, &utilisations);
        let solution = solved(&problem)?;
        let value = |variable: &Variable| solution.var_value(*variable).max(0.0);
        Ok(LpSolution {
            traffic: self.by_hop(&traffic, value),
            utilisations: utilisations.iter().map(value).collect(),
        })
    }

    /// Adds flow conservation: a switch sends what it receives and what its datacenter originates.
    fn conserve(&self, problem: &mut Problem, traffic: &[Vec<Vec<Variable>>]) {
        for (switch, rows) in self.topology.rows().iter().enumerate() {
            for (row_index, row) in rows.iter().enumerate() {
                let out = &traffic[switch][row_index];
                if out.is_empty() {
                    continue;
                }
                let mut balance = LinearExpr::empty();
                for variable in out {
                    balance.add(*variable, 1.0);
                }
                for variable in self.incoming(switch, row.to, traffic) {
                    balance.add(variable, -1.0);
                }
                problem.add_constraint(balance, ComparisonOp::Eq, self.demands[switch][row_index]);
                if row.is_alike {
                    for variable in &out[1..] {
                        let alike = [(*variable, 1.0), (out[0], -1.0)];
                        problem.add_constraint(alike, ComparisonOp::Eq, 0.0);
                    }
                }
            }
        }
    }

    /// Returns the traffic towards `to` that other switches send to `switch`.
    fn incoming(&self, switch: usize, to: usize, traffic: &[Vec<Vec<Variable>>]) -> Vec<Variable> {
        let mut incoming = Vec::new();
        for (other, rows) in self.topology.rows().iter().enumerate() {
            let is_towards = |row: &NextHops| row.to == to && row.rests.is_empty();
            for (row_index, row) in rows.iter().enumerate().filter(|(_, it)| is_towards(it)) {
                let pairs = self.usable[other][row_index]
                    .iter()
                    .zip(&traffic[other][row_index]);
                let here = pairs.filter(|(hop, _)| row.hops[**hop].next == switch);
                incoming.extend(here.map(|(_, variable)| *variable));
            }
        }
        incoming
    }

    /// Adds the capacity constraint of every link, which uses the utilisation variable of the link's switch.
    fn fit(
        &self,
        problem: &mut Problem,
        traffic: &[Vec<Vec<Variable>>],
        utilisations: &[Variable],
    ) {
        let mut place: Vec<Option<usize>> = vec![None; self.capacities.len()];
        // Switch, link and load, in the order in which the links occur.
        let mut loads: Vec<(usize, usize, LinearExpr)> = Vec::new();
        for (switch, rows) in self.topology.rows().iter().enumerate() {
            for (row_index, row) in rows.iter().enumerate() {
                let used = self.usable[switch][row_index].iter();
                for (hop, variable) in used.zip(&traffic[switch][row_index]) {
                    for (from, link) in row.links(switch, *hop) {
                        let at = *place[link].get_or_insert_with(|| {
                            loads.push((from, link, LinearExpr::empty()));
                            loads.len() - 1
                        });
                        loads[at].2.add(*variable, 1.0);
                    }
                }
            }
        }
        for (switch, link, mut load) in loads {
            load.add(utilisations[switch], -self.capacities[link]);
            problem.add_constraint(load, ComparisonOp::Le, 0.0);
        }
    }

    /// Returns the values of the variables in `traffic`, with 0 for unusable next hops.
    fn by_hop(
        &self,
        traffic: &[Vec<Vec<Variable>>],
        value: impl Fn(&Variable) -> f64,
    ) -> Vec<Vec<Vec<f64>>> {
        let mut all = Vec::with_capacity(traffic.len());
        for (switch, rows) in self.topology.rows().iter().enumerate() {
            let mut of_switch = Vec::with_capacity(rows.len());
            for (row_index, row) in rows.iter().enumerate() {
                let mut of_row = vec![0.0; row.hops.len()];
                let used = self.usable[switch][row_index].iter();
                for (hop, variable) in used.zip(&traffic[switch][row_index]) {
                    of_row[*hop] = value(variable);
                }
                of_switch.push(of_row);
            }
            all.push(of_switch);
        }
        all
    }
}

fn unbounded(problem: &mut Problem) -> Variable {
    problem.add_var(0.0, (0.0, f64::INFINITY))
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
