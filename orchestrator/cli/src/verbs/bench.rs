//! `lcmp-lab bench`: speed of lab creation, decisions, forwarding, failover, traffic generation and trains.
//!
//! - `trains`: error and cost of trains beside packets

mod trains;

use std::{collections::BTreeMap, fmt, path::Path, time::Duration};

use lab_bench::{Cost, Cut, DecisionCost, PacketTimes};
use lab_kernel::{
    LabName,
    lab::{Reservation, UpDown, bench_up_down},
    lower::{Clock, HostPlacement, LowerOptions},
};
use lab_plan::PlanOptions;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    args::{BenchSubject, Global},
    failure::{During, Exit, Failure, Outcome, with_causes},
    progress::about,
    terminal::{self, print, print_json},
    verbs::{measure, train},
};

/// Runs `lcmp-lab bench`.
pub fn bench(subject: &BenchSubject, global: &Global) -> Outcome {
    let json = global.json;
    match subject {
        BenchSubject::Lab { scenario, rounds } => bench_lab(scenario, rounds.repeat, global),
        BenchSubject::Decision => bench_decision(json),
        BenchSubject::Forwarding(rounds) => bench_forwarding(rounds.repeat, json),
        BenchSubject::Failover(rounds) => bench_failover(rounds.repeat, json),
        BenchSubject::Generator { flows, place } => measure::bench(place, *flows, global),
        BenchSubject::Trains { scenario, trains } => trains::bench(scenario, *trains, json),
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

/// Measures how long the creation and removal of a lab take. The lab has no link delays, so that the measurement runs
/// on every kernel.
fn bench_lab(scenario: &Path, repeat: u32, global: &Global) -> Outcome {
    let cancel = CancellationToken::new();
    terminal::cancel_on_signal(&cancel).during("listen to signals")?;
    let loaded = train::load_shown(scenario, &[])?;
    let name = global.lab.as_deref().unwrap_or("bench");
    let lab: LabName = name.parse().map_err(Failure::usage)?;
    let plan = PlanOptions::default();
    let plan = lab_plan::resolve(&loaded.scenario, &loaded.text, &loaded.files, &plan)
        .map_err(Failure::usage)?;
    let mut times: Vec<UpDown> = Vec::new();
    for _ in 0..repeat.max(1) {
        let reservation =
            Reservation::acquire(&lab, &loaded.scenario.name).during("create a lab to measure")?;
        let plan = plan.clone().in_slot(reservation.slot());
        let options = LowerOptions {
            lab: lab.clone(),
            hosts: HostPlacement::OwnNamespace,
            clock: Clock::Real,
            delay_lines: false,
            cpus: 1,
        };
        times.push(bench_up_down(reservation, &plan, &options, &cancel).map_err(environment)?);
    }
    let first = times[0];
    let of = |part: fn(&UpDown) -> Duration| -> Vec<Duration> {
        let mut all: Vec<Duration> = times.iter().map(part).collect();
        all.sort_unstable();
        all
    };
    let up = of(|time| time.up);
    let down = of(|time| time.down);
    if global.json {
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

/// Costs of packets in the switch program: medians in ns. `new_flow_ns` has, for each policy, one median for each
/// number of candidates; the others are measured with the first number.
#[derive(Serialize)]
struct DecisionTimes {
    candidates: [usize; CANDIDATES.len()],
    runs: usize,
    new_flow_ns: BTreeMap<&'static str, Vec<u64>>,
    hit_ns: u64,
    /// Packet that follows the tunnel that another switch has chosen.
    transit_ns: u64,
    passed_ns: u64,
    selftest_packets: u64,
    selftest_mismatches: u64,
}

fn bench_decision(json: bool) -> Outcome {
    let selftest = lab_switchd::selftest(SELFTEST_CASES, SELFTEST_SEED)
        .during("compare the switch program with its reference implementation")?;
    let measured: Vec<DecisionCost> = CANDIDATES
        .iter()
        .map(|count| lab_bench::decision(*count, RUNS).during("measure decisions"))
        .collect::<Result<_, _>>()?;
    let mut new_flow_ns: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
    for (policy, cost) in measured.iter().flat_map(|cost| &cost.new_flow) {
        new_flow_ns.entry(policy).or_default().push(cost.median_ns);
    }
    let median = |of: fn(&DecisionCost) -> Cost| of(&measured[0]).median_ns;
    let times = DecisionTimes {
        candidates: CANDIDATES,
        runs: RUNS,
        new_flow_ns,
        hit_ns: median(|cost| cost.hit),
        transit_ns: median(|cost| cost.transit),
        passed_ns: median(|cost| cost.passed),
        selftest_packets: selftest.packets,
        selftest_mismatches: selftest.mismatches,
    };
    if json {
        print_json(&times);
    } else {
        print(&times.to_string());
    }
    Ok(Exit::Pass)
}

impl fmt::Display for DecisionTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "the switch program and its reference implementation agree on {} of {} packets",
            self.selftest_packets - self.selftest_mismatches,
            self.selftest_packets
        )?;
        write!(f, "medians of {} packets of each kind, ns:", self.runs)?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, cells: &[String]| {
            write!(f, "\n  {name:<24}")?;
            cells.iter().try_for_each(|cell| write!(f, " {cell:>6}"))
        };
        let shown = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>();
        row(
            f,
            "candidates",
            &self.candidates.map(|count| count.to_string()),
        )?;
        for (policy, medians) in &self.new_flow_ns {
            row(f, &format!("new flow, {policy}"), &shown(medians))?;
        }
        row(f, "pinned flow", &shown(&[self.hit_ns]))?;
        row(f, "packet in a tunnel", &shown(&[self.transit_ns]))?;
        row(f, "packet passed on", &shown(&[self.passed_ns]))
    }
}

#[derive(Serialize)]
struct ForwardingTimes {
    rounds: usize,
    packets: u32,
    single: PacketTimesNs,
    batched: PacketTimesNs,
}

#[derive(Serialize)]
struct PacketTimesNs {
    kernel_ns: u64,
    one_flow_ns: u64,
    thousand_flows_ns: u64,
    new_flows_ns: u64,
}

impl From<PacketTimes> for PacketTimesNs {
    fn from(times: PacketTimes) -> Self {
        Self {
            kernel_ns: times.kernel_ns,
            one_flow_ns: times.one_flow_ns,
            thousand_flows_ns: times.thousand_flows_ns,
            new_flows_ns: times.new_flows_ns,
        }
    }
}

fn bench_forwarding(repeat: u32, json: bool) -> Outcome {
    let rounds = usize::try_from(repeat).unwrap_or(usize::MAX);
    let measured = lab_bench::forwarding(rounds, FORWARDED).during("measure forwarding")?;
    let rounds = measured.rounds;
    let packets = measured.packets;
    if json {
        print_json(&ForwardingTimes {
            rounds,
            packets,
            single: measured.single.into(),
            batched: measured.batched.into(),
        });
        return Ok(Exit::Pass);
    }
    print(&format!(
        "one switch and one veth, {packets} packets, median of {rounds} interleaved rounds"
    ));
    for (how, times) in [
        ("packets come one by one:".to_owned(), measured.single),
        (
            format!(
                "packets come in batches of {}:",
                lab_bench::forwarding::BATCH
            ),
            measured.batched,
        ),
    ] {
        print(&how);
        for (name, ns) in [
            ("the kernel's own forwarding", times.kernel_ns),
            ("switch program, 1 pinned flow", times.one_flow_ns),
            (
                "switch program, 1,000 pinned flows",
                times.thousand_flows_ns,
            ),
            ("switch program, all flows new", times.new_flows_ns),
        ] {
            let kilo_packets = 1_000_000 / ns.max(1);
            let percent = 100 * times.kernel_ns / ns.max(1);
            print(&format!(
                "  {name:<36} {ns:>5} ns a packet, {kilo_packets:>5} k packets/s, {}.{:02} x the \
                 kernel's rate",
                percent / 100,
                percent % 100
            ));
        }
    }
    Ok(Exit::Pass)
}

#[derive(Serialize)]
struct FailoverTimes {
    cut: &'static str,
    flows: u32,
    rounds: usize,
    median_ns: u64,
    longest_ns: u64,
    lost_packets: u64,
    packet_gap_ns: u64,
}

fn bench_failover(repeat: u32, json: bool) -> Outcome {
    let rounds = usize::try_from(repeat).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    for (cut, name) in [(Cut::Link, "link down"), (Cut::Command, "taken out")] {
        for flows in PINNED {
            let measured = lab_bench::failover(cut, flows, rounds).during("measure failover")?;
            rows.push(FailoverTimes {
                cut: name,
                flows,
                rounds: measured.rounds,
                median_ns: measured.time.get(),
                longest_ns: measured.longest.get(),
                lost_packets: measured.lost,
                packet_gap_ns: measured.gap.get(),
            });
        }
    }
    if json {
        print_json(&rows);
        return Ok(Exit::Pass);
    }
    print("time from the failure of a flow's port to the flow's first packet on the other port:");
    for row in rows {
        print(&format!(
            "  {}, {:>6} flows pinned: {:>5} us median of {} rounds, {:>5} us the longest; {} packets \
             lost, with one packet sent every {} us",
            row.cut,
            row.flows,
            row.median_ns / 1_000,
            row.rounds,
            row.longest_ns / 1_000,
            row.lost_packets,
            row.packet_gap_ns / 1_000,
        ));
    }
    Ok(Exit::Pass)
}

fn environment(error: impl std::error::Error) -> Failure {
    Failure::environment(with_causes(&error))
}

const CANDIDATES: [usize; 6] = [2, 4, 6, 8, 12, 16];
const FORWARDED: u32 = 40_000;
const PINNED: [u32; 3] = [1, 100, 10_000];
const RUNS: usize = 20_000;
const SELFTEST_CASES: u64 = 100_000;
const SELFTEST_SEED: u64 = 1;
