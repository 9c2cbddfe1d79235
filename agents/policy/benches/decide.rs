//! Time that one decision takes in Rust, for each policy with six candidates: `cargo bench -p lab-policy`.
//!
//! The simulator makes one decision for the first packet of each flow. `lcmp-lab bench decision` measures the switch
//! program instead.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lab_policy::{Candidate, LcmpConfig, MAX_CANDIDATES, Path, ecmp, lcmp, ucmp_artifact, wcmp};
use lab_units::{BitsPerSec, Nanos};

/// Returns the testbed's six candidates from DC1 to DC8.
fn candidates(buckets: &[u16]) -> [Candidate; 6] {
    let paths = [54, 38, 18, 87, 104, 182];
    std::array::from_fn(|index| Candidate {
        path: paths[index],
        congestion: u8::try_from(index * 20).unwrap_or(u8::MAX),
        is_alive: true,
        buckets: buckets[index],
    })
}

fn rates() -> [BitsPerSec; 6] {
    let gbit = |rate: u64| BitsPerSec::new(rate * 1_000_000_000).expect("a rate above zero");
    [40, 100, 200, 40, 100, 200].map(gbit)
}

fn paths() -> [Path; 6] {
    rates().map(|rate| Path {
        delay: Nanos::from_millis(10),
        capacity: rate,
        link_rate: rate,
        hops: 2,
    })
}

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    let mut hash = 1_u32;
    let mut next = move || {
        hash = hash.wrapping_mul(0x9e37_79b1).wrapping_add(1);
        hash
    };
    let mut te = [0; MAX_CANDIDATES];
    te[..6].copy_from_slice(&[0, 31, 29, 0, 7, 33]);
    for (name, buckets) in [
        ("ecmp", [1; MAX_CANDIDATES]),
        ("wcmp", wcmp::buckets(&paths())),
        ("ucmp-artifact", ucmp_artifact::buckets(&paths())),
        ("te-100ms", te),
    ] {
        let candidates = candidates(&buckets);
        group.bench_function(name, |bencher| {
            bencher.iter(|| ecmp::decide(black_box(&candidates), next()));
        });
    }
    for (name, config) in [
        ("lcmp", LcmpConfig::paper(rates()[2])),
        ("lcmp artifact", LcmpConfig::artifact()),
    ] {
        let candidates = candidates(&[1; 6]);
        group.bench_function(name, |bencher| {
            bencher.iter(|| lcmp::decide(black_box(&candidates), next(), black_box(&config)));
        });
    }
    group.finish();
}

criterion_group!(benches, decide);
criterion_main!(benches);
