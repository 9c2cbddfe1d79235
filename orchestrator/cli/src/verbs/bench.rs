//! `lcmp-lab bench`: this tool's own speed, in figures.

use std::time::Duration;

use lab_kernel::{
    LabName,
    lab::{Claim, UpDown, bench_up_down},
    lower::{Clock, HostPlacement, LowerOptions},
};
use lab_plan::PlanOptions;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    args::{BenchArgs, BenchSubject},
    failure::{During, Exit, Failure, Outcome, with_causes},
    interrupt, load,
    output::{print, print_json},
    progress::about,
};

/// `lcmp-lab bench`.
pub fn bench(arguments: &BenchArgs, json: bool) -> Outcome {
    match arguments.subject {
        BenchSubject::Lab => bench_lab(arguments, json),
        BenchSubject::Decision => bench_decision(json),
    }
}

#[derive(Serialize)]
struct LabTimes {
    namespaces: usize,
    links: usize,
    steps: usize,
    up_ms: Vec<u128>,
    down_ms: Vec<u128>,
}

/// Without delay lines, so that it runs on every kernel: what is measured is creation.
fn bench_lab(arguments: &BenchArgs, json: bool) -> Outcome {
    let cancel = CancellationToken::new();
    interrupt::cancel_on_signal(&cancel).during("listen to signals")?;
    let loaded = load::load(&arguments.scenario)?;
    let lab: LabName = "bench".parse().map_err(Failure::usage)?;
    let mut times: Vec<UpDown> = Vec::new();
    for _ in 0..arguments.repeat.max(1) {
        let claim = Claim::take(&lab, &loaded.scenario.name).during("make a lab to measure")?;
        let options = PlanOptions {
            slot: claim.slot(),
            ..PlanOptions::default()
        };
        let plan = lab_plan::resolve(&loaded.scenario, &loaded.text, &loaded.files, &options)
            .map_err(Failure::usage)?;
        let options = LowerOptions {
            lab: lab.clone(),
            hosts: HostPlacement::OwnNamespace,
            clock: Clock::Real,
            delay_lines: false,
            cpus: 1,
        };
        times.push(bench_up_down(claim, &plan, &options, &cancel).map_err(environment)?);
    }
    let first = times[0];
    let of = |part: fn(&UpDown) -> Duration| -> Vec<Duration> {
        let mut all: Vec<Duration> = times.iter().map(part).collect();
        all.sort_unstable();
        all
    };
    let (up, down) = (of(|time| time.up), of(|time| time.down));
    if json {
        print_json(&LabTimes {
            namespaces: first.namespaces,
            links: first.links,
            steps: first.steps,
            up_ms: up.iter().map(Duration::as_millis).collect(),
            down_ms: down.iter().map(Duration::as_millis).collect(),
        });
        return Ok(Exit::Pass);
    }
    print(&format!(
        "{} namespaces, {} links, {} steps: up in {} (median of {}; {} to {}), down in {} ({} to {})",
        first.namespaces,
        first.links,
        first.steps,
        about(up[up.len() / 2]),
        up.len(),
        about(up[0]),
        about(up[up.len() - 1]),
        about(down[down.len() / 2]),
        about(down[0]),
        about(down[down.len() - 1]),
    ));
    Ok(Exit::Pass)
}

#[derive(Serialize)]
struct DecisionTimes {
    candidates: usize,
    runs: usize,
    lcmp_new_flow_ns: u64,
    ecmp_new_flow_ns: u64,
    hit_ns: u64,
    passed_ns: u64,
    selftest_packets: u64,
    selftest_mismatches: u64,
}

fn bench_decision(json: bool) -> Outcome {
    let selftest = lab_switchd::selftest(SELFTEST_CASES, SELFTEST_SEED)
        .during("hold the switch program against its reference")?;
    let cost = lab_switchd::bench::decision(CANDIDATES, RUNS).during("measure decisions")?;
    if json {
        print_json(&DecisionTimes {
            candidates: cost.candidates,
            runs: cost.runs,
            lcmp_new_flow_ns: cost.lcmp_new_flow.median_ns,
            ecmp_new_flow_ns: cost.ecmp_new_flow.median_ns,
            hit_ns: cost.hit.median_ns,
            passed_ns: cost.passed.median_ns,
            selftest_packets: selftest.packets,
            selftest_mismatches: selftest.mismatches,
        });
        return Ok(Exit::Pass);
    }
    print(&format!(
        "the switch program and its reference agree on {} of {} packets",
        selftest.packets - selftest.mismatches,
        selftest.packets
    ));
    let rows = [
        ("new flow, LCMP", cost.lcmp_new_flow),
        ("new flow, ECMP", cost.ecmp_new_flow),
        ("pinned flow", cost.hit),
        ("not its business", cost.passed),
    ];
    print(&format!(
        "{} candidates, {} packets each:",
        cost.candidates, cost.runs
    ));
    for (name, cost) in rows {
        print(&format!(
            "  {name:<18} {:>5} ns median, {:>5} ns least, {:>5} ns p99",
            cost.median_ns, cost.min_ns, cost.p99_ns
        ));
    }
    Ok(Exit::Pass)
}

fn environment(error: impl std::error::Error) -> Failure {
    Failure::environment(with_causes(&error))
}

const CANDIDATES: usize = 6;
const RUNS: usize = 20_000;
const SELFTEST_CASES: u64 = 100_000;
const SELFTEST_SEED: u64 = 1;
