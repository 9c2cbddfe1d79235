//! Demands with their optima, for training and scores.

use lab_redte::{Divisors, TeamLayout, state};
use lab_te::TeError;
use lab_units::Bytes;

use crate::{
    fluid::Fluid,
    optimum, parallel,
    problem::Problem,
    traffic::{DataSplit, Intervals, Traffic},
};

/// Demands of one interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Bytes by switch and row.
    pub measured: Vec<Vec<Bytes>>,
    /// Bytes by row number.
    pub demands: Vec<f64>,
    /// Smallest possible value of the largest link utilisation.
    pub optimum: f64,
}

/// Everything that a training reads: the network, its fluid model, and demands of consecutive intervals, one trace per
/// load.
#[derive(Clone, Debug)]
pub struct Data {
    pub problem: Problem,
    pub fluid: Fluid,
    pub layout: TeamLayout,
    pub divisors: Divisors,
    pub training: Vec<Vec<Interval>>,
    pub validation: Vec<Vec<Interval>>,
    pub held_out: Vec<Vec<Interval>>,
}

/// Reason why demands cannot be trained on.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error(transparent)]
    Solver(#[from] TeError),
    #[error("no switch has a choice of next hops, so there is nothing to train")]
    NoChoice,
    #[error("there is no traffic between datacenters")]
    NoDemand,
    #[error("there are {found} intervals of demands, fewer than {needed}")]
    FewIntervals { found: usize, needed: usize },
}

impl Data {
    /// Samples the demands of `traffic`, and solves the linear program of every interval.
    ///
    /// # Errors
    /// If no switch has a choice, there is no traffic, or the solver fails.
    pub fn sample(
        problem: Problem,
        traffic: &Traffic,
        seed: u64,
        threads: usize,
    ) -> Result<Self, DataError> {
        let all = |split| {
            let loads: Vec<usize> = (0..traffic.loads.len()).collect();
            parallel::map(threads, &loads, |&load| {
                traffic.sample(&problem, seed, split, load)
            })
        };
        let traces = [
            DataSplit::Training,
            DataSplit::Validation,
            DataSplit::HeldOut,
        ]
        .map(all);
        Self::new(problem, traces, threads)
    }

    /// Divides the demands of a file: the first 60 % of its intervals are for training, then 20 % for validation.
    ///
    /// # Errors
    /// If there are fewer than [`MIN_INTERVALS`] intervals; else as for [`Data::sample`].
    pub fn of_intervals(
        problem: Problem,
        intervals: Intervals,
        threads: usize,
    ) -> Result<Self, DataError> {
        let found = intervals.0.len();
        if found < MIN_INTERVALS {
            let needed = MIN_INTERVALS;
            return Err(DataError::FewIntervals { found, needed });
        }
        let mut training = intervals.0;
        let mut validation = training.split_off(found * 3 / 5);
        let held_out = validation.split_off(found / 5);
        let traces = [training, validation, held_out].map(|part| vec![Intervals(part)]);
        Self::new(problem, traces, threads)
    }

    fn new(
        problem: Problem,
        traces: [Vec<Intervals>; 3],
        threads: usize,
    ) -> Result<Self, DataError> {
        let layout = TeamLayout::new(&problem.topology);
        if layout.agents.is_empty() {
            return Err(DataError::NoChoice);
        }
        let fluid = Fluid::new(&problem);
        let solve = |measured: &Vec<Vec<Bytes>>| {
            Ok(Interval {
                demands: Intervals::flat(measured),
                optimum: optimum::utilisation(&problem, measured)?,
                measured: measured.clone(),
            })
        };
        let trace = |intervals: Intervals| -> Result<Vec<Interval>, TeError> {
            let solved = parallel::map(threads, &intervals.0, solve);
            solved.into_iter().collect()
        };
        let part =
            |traces: Vec<Intervals>| traces.into_iter().map(trace).collect::<Result<Vec<_>, _>>();
        let [training, validation, held_out] = traces;
        let training = part(training)?;
        let divisors = divisors(&problem, &fluid, &training).ok_or(DataError::NoDemand)?;
        Ok(Self {
            divisors,
            training,
            validation: part(validation)?,
            held_out: part(held_out)?,
            fluid,
            layout,
            problem,
        })
    }

    /// Returns the joint state after an interval: the inputs of each actor's network.
    #[must_use]
    pub fn states(&self, interval: &Interval, utilisations: &[f64]) -> Vec<Vec<f32>> {
        let share = |bytes: &Bytes| demand(&self.problem, *bytes);
        let state = |agent: &lab_redte::AgentLayout| {
            let links = agent.links.iter().map(|&link| utilisations[link]);
            let demands = interval.measured[agent.switch].iter().map(share);
            self.divisors.inputs(links, demands)
        };
        self.layout.agents.iter().map(state).collect()
    }

    /// Returns WCMP's shares, with which every trace starts.
    #[must_use]
    pub fn provisioned(&self) -> Vec<f64> {
        let rows = self.problem.provisioned.iter().flatten();
        self.fluid.of_buckets(&self.fluid.even(), rows.map(Some))
    }
}

/// Returns a demand as a share of the network's largest rate.
fn demand(problem: &Problem, bytes: Bytes) -> f64 {
    let rate = problem.largest_rate();
    rate.map_or(0.0, |rate| state::share(bytes, rate, problem.interval))
}

/// Returns the divisors of the training demands; `None` without any demand.
fn divisors(problem: &Problem, fluid: &Fluid, training: &[Vec<Interval>]) -> Option<Divisors> {
    let even = fluid.even();
    let intervals = || training.iter().flatten();
    let largest = |interval: &Interval| fluid.loads(&interval.demands, &even).largest().1;
    let utilisation = intervals().map(largest).fold(0.0, f64::max);
    let bytes = intervals()
        .flat_map(|it| it.measured.iter().flatten())
        .max()?;
    let demand = demand(problem, *bytes);
    (utilisation > 0.0 && demand > 0.0).then_some(Divisors {
        utilisation,
        demand,
    })
}

/// Minimum number of intervals in a file of demands.
pub const MIN_INTERVALS: usize = 50;
