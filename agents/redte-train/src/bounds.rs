//! Bounds of what trainings reach.

use std::time::Instant;

use lab_redte::Trainer;

use crate::{scores, session::{Options, Session}, testing::{data, problem_13dc, problem_8dc}};

#[test]
#[ignore = "x"]
fn table() {
    let trainers = std::env::var("T").unwrap_or("direct".into());
    for (name, problem) in [("8dc", problem_8dc()), ("13dc", problem_13dc())] {
        for burst in [None, Some(3), Some(30)] {
            let now = Instant::now();
            let data = data(problem.clone(), burst, 1);
            println!("{name} {burst:?}: data {:?}", now.elapsed());
            let now = Instant::now();
            for score in scores::baselines(&data, &data.held_out, 1, 2).unwrap() {
                println!("  {:24} {:.4} {:?}", score.policy, score.mean, score.by_load);
            }
            println!("  baselines {:?}", now.elapsed());
            for trainer in [Trainer::Direct, Trainer::Maddpg] {
                if !trainers.contains(&trainer.to_string()) { continue; }
                for seed in 1..=std::env::var("S").map_or(1, |s| s.parse().unwrap()) {
                let now = Instant::now();
                let options = Options { trainer, seed, steps: std::env::var("N").map_or(Options::default_steps(trainer), |s| s.parse().unwrap()), threads: 2 };
                let mut session = Session::new(&data, options);
                while session.advance() {}
                let (best, at) = session.best();
                let score = scores::actors(&data, best, trainer, &data.held_out);
                println!("  {:24} {:.4} {:?} best {at:?} steps {} first {:.4} {:?} params {}", score.policy, score.mean, score.by_load, session.step(), session.curve()[0].score, now.elapsed(), best.iter().map(|n| n.parameters.len()).sum::<usize>());
                }
            }
        }
    }
}
