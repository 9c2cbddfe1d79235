//! What the run was.

use std::collections::BTreeMap;

use lab_records::{Clock, Engine, GuestCpu, Place, RunEnd};
use maud::{Markup, html};

use super::counted;
use crate::{run::Run, text};

/// The run in one line.
pub fn headline(run: &Run) -> String {
    let info = &run.info;
    let place = match (info.engine, info.place) {
        (Engine::Sim, _) => "in the simulator".to_owned(),
        (Engine::Kernel, Place::Here) => {
            format!("on this machine's kernel {}", info.kernel_release)
        }
        (Engine::Kernel, Place::Guest) => {
            format!("on kernel {} in a QEMU guest", info.kernel_release)
        }
    };
    let started = run.started_at.to_string();
    let minute = started.get(..16).unwrap_or(&started).replace('T', " ");
    format!("{minute} UTC, {place}, seed {}", info.seed)
}

/// Everything known of the run.
pub fn list(run: &Run) -> Markup {
    let info = &run.info;
    let scale = &info.scale;
    let granularity = &info.granularity;
    html! {
        dl {
            (fact("scenario", &format!("{}, SHA-256 {}", info.scenario, info.scenario_hash)))
            (fact("plan", &format!("SHA-256 {}", info.plan_hash)))
            (fact("policies", &info.policies.join(", ")))
            (fact("seed", &info.seed.to_string()))
            (fact("repetitions", &info.repetitions.to_string()))
            (fact("engine", match info.engine {
                Engine::Kernel => "kernel: namespaces, tc, SoftRoCE, eBPF",
                Engine::Sim => "simulator",
            }))
            (fact("place", &place(run)))
            (fact("kernel", &info.kernel_release))
            (fact("clock", match info.clock {
                Clock::Virtual => "virtual: instructions executed, and jumps over idle",
                Clock::Real => "real",
            }))
            (fact("scale", &format!(
                "rates × {}, times × {}, sizes × {} (emulated ÷ paper)",
                scale.rate, scale.time, scale.size
            )))
            (fact("granularity", &format!(
                "{} % of flows are under one packet; a packet takes at most {} % of the shortest \
                 inter-DC delay to send",
                granularity.sub_packet_flows_percent, granularity.packet_vs_delay_percent
            )))
            (fact("flows", &flows(run)))
            @if let Some(exactness) = exactness(run) { (fact("exactness", &exactness)) }
            @if !run.decisions.is_empty() { (fact("decisions", &decisions(run))) }
            (fact("lcmp-lab", &info.tool_version))
            (fact("began", &run.started_at.to_string()))
            @match &run.end {
                Some(end) => (ended(run, end)),
                None => (fact("ended", "no: it was interrupted, or is still going on")),
            }
        }
        (warnings(run))
    }
}

fn ended(run: &Run, end: &RunEnd) -> Markup {
    let took = end.ended_at.since(run.started_at);
    let phases = end.phases.iter();
    let phases = phases.map(|phase| format!("{} {}", phase.name, text::time(phase.took_ns)));
    html! {
        (fact("ended", &format!("{}, after {}", end.ended_at, text::time(took))))
        @if !end.phases.is_empty() { (fact(phases_name(run), &phases.collect::<Vec<_>>().join(", "))) }
        (fact("late launches", &end.late_launches.to_string()))
        @if let Some(cpu) = end.guest_cpu { (fact("guest's CPU", &guest_cpu(cpu))) }
    }
}

/// A virtual clock leaps while its guest waits for files of this machine.
fn phases_name(run: &Run) -> &'static str {
    match run.info.clock {
        Clock::Virtual => "phases, virtual time",
        Clock::Real => "phases",
    }
}

fn guest_cpu(cpu: GuestCpu) -> String {
    let share = text::to_float(cpu.busy_ns.get()) / text::to_float(cpu.available_ns.get().max(1));
    format!(
        "{} busy in its own time while flows ran",
        text::percent(share)
    )
}

fn place(run: &Run) -> String {
    let accel = run.info.accel.as_deref();
    match (run.info.place, accel) {
        (Place::Here, _) => "here".into(),
        (Place::Guest, None) => "QEMU guest".into(),
        (Place::Guest, Some(accel)) => format!("QEMU guest ({accel})"),
    }
}

fn flows(run: &Run) -> String {
    let tally = &run.tally;
    format!(
        "{} scheduled, {} recorded, {} finished, {} unfinished, {} with a slowdown under 1",
        run.info.total_flows(),
        tally.flows,
        tally.finished,
        tally.unfinished,
        tally.below_one
    )
}

/// How far starts and FCTs are from what they should be.
fn exactness(run: &Run) -> Option<String> {
    let flows = run.flows.iter();
    let late = flows.clone().filter_map(|flow| flow.launch_lateness_ns);
    let late = late
        .max()
        .map(|late| format!("starts at most {} late", text::time(late)));
    let resolution = flows.filter_map(|flow| flow.emu_fct_resolution_ns).max();
    let resolution = resolution.map(|span| format!("FCTs measured to ±{}", text::time(span)));
    let known: Vec<String> = late.into_iter().chain(resolution).collect();
    (!known.is_empty()).then(|| format!("{}, emulated", known.join(", ")))
}

/// How many of each reason, by policy.
fn decisions(run: &Run) -> String {
    let mut counts: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for row in &run.decisions {
        let policy = run.policies.iter().position(|label| *label == row.policy);
        let key = (policy.unwrap_or(usize::MAX), row.reason.as_str());
        *counts.entry(key).or_default() += 1;
    }
    let counts = counts.into_iter().map(|((policy, reason), count)| {
        let policy = run.policies.get(policy).map_or("?", String::as_str);
        format!("{policy}: {count} {reason}")
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn warnings(run: &Run) -> Markup {
    let met = run.end.as_ref().map_or(&[][..], |end| &end.warnings);
    let all: Vec<&String> = run.info.warnings.iter().chain(met).collect();
    html! {
        @if !all.is_empty() {
            h3 { (counted(all.len() as u64, "warning")) }
            ul { @for warning in all { li { (warning) } } }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { dt { (name) } dd { (value) } }
}
