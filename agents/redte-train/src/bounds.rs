//! Tests of the scores that trainings reach, on 300 intervals that no training saw.

use lab_units::Trainer;
use microlp::{ComparisonOp, OptimizationDirection, Problem as Program};

use crate::{
    constant,
    data::{Data, Interval},
    problem::Problem,
    scores,
    session::{Options, Session},
    testing::{all_to_all, diamond_data, problem_8dc, problem_13dc},
    traffic::{DataSplit, Intervals},
};

/// Mean scores on one network under bursts of 300 ms, at 50 % load.
struct Bursty {
    wcmp: f64,
    /// Scores of five trainings by `direct`.
    trained: [f64; 5],
}

fn bursty(problem: Problem) -> Bursty {
    let mut traffic = all_to_all(&problem, Some(3));
    traffic.loads = vec![traffic.loads[1].clone()];
    let data = Data::sample(problem, &traffic, 1, THREADS).unwrap();
    let trained = [1, 2, 3, 4, 5].map(|seed| {
        let trainer = Trainer::Direct;
        let options = Options {
            trainer,
            seed,
            steps: Options::default_steps(trainer),
            threads: THREADS,
        };
        let mut session = Session::new(&data, options);
        while session.advance() {}
        scores::actors(&data, session.best().0, trainer, &data.held_out).mean
    });
    let held_out = data.held_out.iter().flatten();
    Bursty {
        wcmp: constant::score(&data, &data.provisioned(), held_out),
        trained,
    }
}

#[test]
fn on_13_dcs_every_training_is_within_8_percent_and_beats_wcmp() {
    let Bursty { wcmp, trained } = bursty(problem_13dc());
    for score in trained {
        assert!(score >= 1.0, "{score} beats the optimum");
        assert!(score <= 1.08 && score < wcmp, "{score}, wcmp {wcmp}");
    }
}

#[test]
fn on_8_dcs_no_training_is_worse_than_wcmp_by_over_a_percent() {
    let Bursty { wcmp, trained } = bursty(problem_8dc());
    for score in trained {
        assert!(score <= wcmp * 1.01, "{score}, wcmp {wcmp}");
    }
}

/// On the 8-DC network only the first hop of a path is a choice. Loads are then linear in the shares, and the best
/// constant shares are the solution of a linear program over all intervals: minimise Σ t_k, where t_k times the optimum
/// of interval k is at least the utilisation of every link.
#[test]
fn the_best_constant_split_is_the_linear_programs() {
    let problem = problem_8dc();
    let sampled = all_to_all(&problem, Some(3)).sample(&problem, 1, DataSplit::Training, 1);
    let data = Data::of_intervals(problem, Intervals(sampled.0[..60].to_vec()), THREADS).unwrap();
    let training = || data.training.iter().flatten();
    let best = constant::best(&data, 1).shares;
    let found = constant::score(&data, &best, training());
    let exact = program(&data, &training().collect::<Vec<_>>());
    assert!(
        found >= exact - 1e-6 && found <= exact * 1.003,
        "{found} {exact}"
    );
}

/// Returns the mean ratio of the best constant shares, by the linear program.
fn program(data: &Data, intervals: &[&Interval]) -> f64 {
    let even = data.fluid.even();
    let mut program = Program::new(OptimizationDirection::Minimize);
    let heads: Vec<_> = data.fluid.outputs.iter().flatten().cloned().collect();
    let mut variables = vec![None; even.len()];
    for head in heads {
        let shares: Vec<_> = head
            .map(|at| (at, program.add_var(0.0, (0.0, 1.0))))
            .collect();
        let all = shares.iter().map(|(_, variable)| (*variable, 1.0));
        program.add_constraint(all.collect::<Vec<_>>(), ComparisonOp::Eq, 1.0);
        for (at, variable) in shares {
            variables[at] = Some(variable);
        }
    }
    for interval in intervals {
        let ratio = program.add_var(1.0, (0.0, f64::INFINITY));
        let loads = data.fluid.loads(&interval.demands, &even);
        for (link, utilisation) in loads.utilisations.iter().enumerate() {
            let mut weights = vec![0.0; loads.utilisations.len()];
            weights[link] = 1.0;
            let slopes = data.fluid.gradient(&loads, &even, &weights);
            let mut terms = vec![(ratio, -interval.optimum)];
            let mut at_zero = *utilisation;
            for (at, variable) in variables.iter().enumerate() {
                if let Some(variable) = variable {
                    terms.push((*variable, slopes[at]));
                    at_zero -= slopes[at] * even[at];
                }
            }
            program.add_constraint(terms, ComparisonOp::Le, -at_zero);
        }
    }
    let solution = program.solve().unwrap().into_solution().unwrap();
    solution.objective() / crate::number::float(intervals.len())
}

/// An even split is 1.5 times the optimum, and 2 : 1 is optimal for any demand.
#[test]
fn both_trainers_find_the_capacities_of_two_paths() {
    let data = diamond_data();
    for (trainer, steps, bound) in [(Trainer::Direct, 300, 1.02), (Trainer::Maddpg, 500, 1.2)] {
        let options = Options {
            trainer,
            seed: 1,
            steps,
            threads: 1,
        };
        let mut session = Session::new(&data, options);
        while session.advance() {}
        let untrained = session.curve()[0].score;
        assert!((untrained - 1.5).abs() < 0.01, "{untrained}");
        let best = session.best().1.unwrap();
        assert!(best.score <= bound, "{trainer}: {best:?}");
    }
}

const THREADS: usize = 2;
