//! Estimated duration of a training, from its sizes and from costs per unit measured on two cores.

use lab_redte::TeamLayout;
use lab_redte_train::{Options, Problem, Traffic, traffic::DataSplit};
use lab_units::{Nanos, Trainer};

/// Returns the estimated time to sample the demands of `traffic`, and to solve the linear program of each interval.
pub fn demands(problem: &Problem, traffic: &Traffic) -> Nanos {
    let splits = [
        DataSplit::Training,
        DataSplit::Validation,
        DataSplit::HeldOut,
    ];
    let intervals: usize = splits.iter().map(|it| traffic.intervals(*it)).sum();
    let agents = TeamLayout::new(&problem.topology).agents.into_iter();
    let candidates = count(agents.map(|agent| agent.shape().outputs()).sum());
    let program = PROGRAM + candidates.saturating_mul(candidates).saturating_mul(PAIR);
    Nanos::new(count(intervals).saturating_mul(program))
}

/// Returns the estimated time for all steps of a training with their validations; `direct` may end earlier.
pub fn steps(problem: &Problem, traffic: &Traffic, options: &Options) -> Nanos {
    let agents = TeamLayout::new(&problem.topology).agents.into_iter();
    let parameters = count(agents.map(|agent| agent.shape().parameters()).sum());
    let cost = match options.trainer {
        Trainer::Direct => 200,
        Trainer::Maddpg => 650,
        Trainer::Static => 15,
    };
    let validations = options.steps / Options::period(options.trainer);
    let evaluations = validations.saturating_mul(count(traffic.intervals(DataSplit::Validation)));
    let steps = options.steps.saturating_mul(cost);
    let all = steps.saturating_add(evaluations.saturating_mul(EVALUATION));
    Nanos::new(all.saturating_mul(parameters))
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Time per parameter to evaluate the networks for an interval, ns.
const EVALUATION: u64 = 2;

/// Time of a linear program without the time per pair of candidates, ns.
const PROGRAM: u64 = 500_000;

/// Time of a linear program per pair of candidates, ns.
const PAIR: u64 = 800;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        load,
        verbs::train::{problem, training},
    };

    /// Measured on two cores that other programs used as well: 6 min of training, and 6 s for the demands.
    #[test]
    fn maddpg_takes_minutes_on_the_13_dc_network() {
        let path = Path::new("scenarios/13dc.yaml");
        let loaded = load::load_untrained(path).unwrap();
        let plan = training::plan(&loaded, path).unwrap();
        let problem = problem::problem(&plan);
        let traffic = training::traffic(&loaded, &plan).unwrap();
        let options = training::options(Trainer::Maddpg, 1, None);
        let of_steps = steps(&problem, &traffic, &options).get() / 1_000_000_000;
        assert!((300..480).contains(&of_steps), "{of_steps} s");
        let of_demands = demands(&problem, &traffic).get() / 1_000_000_000;
        assert!((3..10).contains(&of_demands), "{of_demands} s");
    }
}
