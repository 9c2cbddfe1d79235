//! Time that one decision of a switch takes, from its measurements to the hash buckets of all its destinations:
//! `cargo bench -p lab-redte`.
//!
//! The networks are those of the switches with most parameters in `scenarios/8dc.yaml` and `scenarios/13dc.yaml`. A
//! decision should take at most 5 µs; the linear program of `te-100ms` takes milliseconds.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lab_redte::{Actor, AgentLayout, Divisors, Head, Mlp, Observation, buckets};
use lab_units::{BitsPerSec, Bytes, Nanos};

/// Switch, its numbers of links out and destinations, and the candidates for each destination with a choice.
const SWITCHES: [(&str, usize, usize, &[usize]); 3] = [
    ("dc1 of 8", 6, 7, &[6]),
    ("dc3 of 13", 6, 12, &[2, 4, 4]),
    ("dc11 of 13", 3, 12, &[2, 3, 2, 2, 3]),
];

fn actor(links: usize, rows: usize, candidates: &[usize]) -> Actor {
    let head = |(row, &candidates)| Head { row, candidates };
    let layout = AgentLayout {
        switch: 0,
        links: (0..links).collect(),
        rows,
        heads: candidates.iter().enumerate().map(head).collect(),
    };
    let shape = layout.shape();
    let mut state = 1_u32;
    let parameter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap_or(0)) / 131_072.0 - 0.25
    };
    let parameters = (0..shape.parameters()).map(parameter).collect();
    Actor {
        network: Mlp::new(shape, parameters),
        layout,
        divisors: Divisors {
            utilisation: 1.5,
            demand: 0.1,
        },
    }
}

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    let rate = BitsPerSec::new(100_000_000_000).expect("a rate above zero");
    for (name, links, rows, candidates) in SWITCHES {
        let actor = actor(links, rows, candidates);
        let sent = vec![(Bytes::new(500_000_000), rate); links];
        let demands = vec![Bytes::new(100_000_000); rows];
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let decision = actor.decide(&Observation {
                    interval: Nanos::from_millis(100),
                    largest_rate: rate,
                    links: black_box(&sent),
                    demands: black_box(&demands),
                });
                let table = |ratios: &Vec<f32>| {
                    buckets(
                        ratios,
                        &[true; 8][..ratios.len()],
                        &[1; 8][..ratios.len()],
                        100,
                    )
                };
                decision.ratios.iter().map(table).collect::<Vec<_>>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decide);
criterion_main!(benches);
