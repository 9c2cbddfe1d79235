//! Facts of the run.

use lab_records::{
    Clock, EngineInfo, GuestCpu, LiveChange, Location, Phase, RunEnd, RunInfo, Semantics, SimInfo,
    SimWork,
};
use lab_units::{Nanos, Ratio};
use maud::{Markup, html};
use serde_json::Value;

use super::counted;
use crate::{at_work, figures::fault_marks, report::Summary, run::Run, text};

/// Returns the run in one line.
pub fn headline(run: &Run) -> String {
    let info = &run.info;
    let location = match (&info.engine, info.location) {
        (EngineInfo::Sim(sim), _) => {
            format!("in the simulator, semantics {}", semantics(sim.semantics))
        }
        (EngineInfo::Kernel, Location::Here) => {
            format!("on this machine's kernel {}", info.kernel_release)
        }
        (EngineInfo::Kernel, Location::Guest) => {
            format!("on kernel {} in a QEMU guest", info.kernel_release)
        }
    };
    let started = run.started_at.to_string();
    let minute = started.get(..16).unwrap_or(&started).replace('T', " ");
    format!("{minute} UTC, {location}, seed {}", info.seed)
}

/// Returns the facts that a reader of the results needs first.
pub fn brief(run: &Run, summary: &Summary) -> Markup {
    let info = &run.info;
    let counts = run.flows.total();
    let last_start = text::time(run.last_start);
    let end = text::time(Nanos::new(run.grid.edge(run.grid.len())));
    html! {
        dl.brief {
            (fact("policies", &info.policies.join(", ")))
            (fact("flows", &format!(
                "{} a policy, {} of {} finished",
                text::number(info.scheduled_flows),
                text::number(counts.finished),
                text::number(info.total_flows()),
            )))
            @if let Some(measured) = info.measured_sentence() { (fact("measured", &measured)) }
            @if let Some(load) = at_work::load(&summary.evidence) { (fact("load", &load)) }
            (fact("time", &format!("flows start until {last_start}, the last one ends at {end}")))
            (fact("engine", match &info.engine {
                EngineInfo::Kernel => "kernel (namespaces, tc, SoftRoCE, eBPF)",
                EngineInfo::Sim(_) => "simulator",
            }))
            @if info.scale.rate != Ratio::ONE || info.scale.time != Ratio::ONE {
                (fact("scale", &format!(
                    "rates × {}, times × {} in the lab; all values here are the paper's unless \
                     marked emulated",
                    info.scale.rate, info.scale.time
                )))
            }
            @if !info.faults.is_empty() {
                (fact("faults", &fault_marks(run).into_iter().map(|it| it.label).collect::<Vec<_>>().join("; ")))
            }
        }
    }
}

/// Returns the list of all facts of the run.
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
            (engine(run))
            (fact("location", &location(run)))
            (fact("kernel", &info.kernel_release))
            (fact("clock", match (info.clock, &info.engine) {
                (Clock::Virtual, EngineInfo::Kernel) => {
                    "virtual: instructions executed, and jumps over idle"
                }
                (Clock::Virtual, EngineInfo::Sim(_)) => "virtual: the simulator's events",
                (Clock::Real, _) => "real",
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
            (fact("lcmp-lab", &version(info)))
            @if !info.provenance.command.is_empty() {
                (fact("command", &info.provenance.command.join(" ")))
            }
            @for traffic in &info.provenance.traffic { (fact("traffic", traffic)) }
            @for assumed in &info.provenance.assumed { (fact("taken for granted", assumed)) }
            @for settings in &info.provenance.policies {
                (fact(&settings.policy, &parameters(&settings.parameters)))
            }
            (fact("began", &run.started_at.to_string()))
            @match &run.end {
                Some(end) => (ended(run, end)),
                None => (fact("ended", "no: it was interrupted, or is still going on")),
            }
        }
        (warnings(run))
    }
}

fn version(info: &RunInfo) -> String {
    match info.provenance.tool_commit.as_str() {
        "" => info.tool_version.clone(),
        commit => format!("{}, commit {commit}", info.tool_version),
    }
}

/// Returns the changes made while flows ran, besides the scenario's faults.
fn changes(end: &RunEnd) -> Vec<String> {
    let change = |change: &LiveChange| {
        let mut text = change.text.clone();
        if let Some(policy) = &change.policy {
            text += &format!(", under {policy}");
        }
        if let Some(time) = change.time_ns {
            text += &format!(" at {}", text::time(time));
        }
        text
    };
    end.changes.iter().map(change).collect()
}

fn engine(run: &Run) -> Markup {
    let info = &run.info;
    match &info.engine {
        EngineInfo::Kernel => html! {
            (fact("engine", "kernel: namespaces, tc, SoftRoCE, eBPF"))
            // Of those that SoftRoCE can have, only this one has rates.
            @if !run.rates.is_empty() { (fact("congestion control", "dcqcn")) }
        },
        EngineInfo::Sim(sim) => html! {
            (fact("engine", &format!("simulator, {}", counted(sim.threads.into(), "thread"))))
            (fact("semantics", semantics(sim.semantics)))
            (fact("congestion control", &congestion_control(info, sim)))
        },
    }
}

fn semantics(semantics: Semantics) -> &'static str {
    match semantics {
        Semantics::Paper => "of the paper",
        Semantics::Artifact => "of the artifact",
    }
}

/// Returns parameters in words: each name before its value.
fn parameters(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::Object(_) => format!("{name}: {}", parameters(value)),
                _ => format!("{name} {}", parameters(value)),
            };
            joined(fields.iter().map(field).collect())
        }
        Value::Array(values) => joined(values.iter().map(parameters).collect()),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the congestion control of all policies, or each policy's if they differ.
fn congestion_control(info: &RunInfo, sim: &SimInfo) -> String {
    match sim.cc.as_slice() {
        [] => "unknown".to_owned(),
        [first, others @ ..] if others.iter().all(|other| other == first) => first.clone(),
        each => {
            let pairs = info.policies.iter().zip(each);
            let pairs = pairs.map(|(policy, cc)| format!("{policy}: {cc}"));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the work of the simulator and its speed.
fn simulated(work: &SimWork) -> String {
    let per_second = |count: u64| {
        let seconds = text::to_float(work.wall_ns.get().max(1)) / 1e9;
        text::significant(text::to_float(count) / seconds / 1e6, 3)
    };
    let mut fact = format!(
        "{} of virtual time in {}: {} events ({} million a second), {} packet-hops ({} million a \
         second)",
        text::time(work.virtual_ns),
        text::time(work.wall_ns),
        text::number(work.events),
        per_second(work.events),
        text::number(work.packet_hops),
        per_second(work.packet_hops),
    );
    if let Some(memory) = work.peak_memory_bytes {
        fact += &format!(", {} of memory at most", text::size(memory));
    }
    fact
}

fn ended(run: &Run, end: &RunEnd) -> Markup {
    let took = end.ended_at.since(run.started_at);
    let phases = end.phases.iter();
    let phases: Vec<String> = phases.map(phase).collect();
    html! {
        (fact("ended", &format!("{}, after {}", end.ended_at, text::time(took))))
        @if !end.phases.is_empty() { (fact("phases", &phases.join(", "))) }
        (fact("late launches", &end.late_launches.to_string()))
        @for change in changes(end) { (fact("changed while it ran", &change)) }
        @if let Some(work) = &end.sim { (fact("simulated", &simulated(work))) }
        @if let Some(cpu) = end.guest_cpu { (fact("guest's CPU", &guest_cpu(cpu, run.flows.total().flows))) }
    }
}

/// Returns a phase with its duration, also in virtual time if its flows ran in a guest.
fn phase(phase: &Phase) -> String {
    let aside = phase.virtual_ns.map_or_else(String::new, |time| {
        format!(" ({} of virtual time)", text::time(time))
    });
    format!("{} {}{aside}", phase.name, text::time(phase.took_ns))
}

fn guest_cpu(cpu: GuestCpu, flows: u64) -> String {
    let share = text::to_float(cpu.busy_ns.get()) / text::to_float(cpu.available_ns.get().max(1));
    let a_flow = Nanos::new(cpu.busy_ns.get() / flows.max(1));
    format!(
        "{} busy in its own time while flows ran, {}, which is {} a flow",
        text::percent(share),
        text::time(cpu.busy_ns),
        text::time(a_flow),
    )
}

fn location(run: &Run) -> String {
    let accel = run.info.accel.as_deref();
    match (run.info.location, accel) {
        (Location::Here, _) => "this machine".into(),
        (Location::Guest, None) => "QEMU guest".into(),
        (Location::Guest, Some(accel)) => format!("QEMU guest ({accel})"),
    }
}

fn flows(run: &Run) -> String {
    let counts = run.flows.total();
    format!(
        "{} scheduled, {} recorded, {} finished, {} unfinished, {} with a slowdown under 1",
        text::number(run.info.total_flows()),
        text::number(counts.flows),
        text::number(counts.finished),
        text::number(counts.unfinished),
        text::number(counts.below_one)
    )
}

/// Returns the error bounds of starts and FCTs; none for the simulator, which has no error.
fn exactness(run: &Run) -> Option<String> {
    if matches!(run.info.engine, EngineInfo::Sim(_)) {
        return None;
    }
    let late = run.flows.max_lateness;
    let late = late.map(|late| format!("starts at most {} late", text::time(late)));
    let resolution = run.flows.max_resolution;
    let resolution = resolution.map(|span| format!("FCTs measured to ±{}", text::time(span)));
    let known: Vec<String> = late.into_iter().chain(resolution).collect();
    (!known.is_empty()).then(|| format!("{}, emulated", known.join(", ")))
}

/// Returns the number of decisions for each reason, by policy.
fn decisions(run: &Run) -> String {
    let policies = &run.flows.policies;
    let position = |policy: &str| policies.iter().position(|label| label == policy);
    let mut counts: Vec<_> = run.decisions.iter().collect();
    counts.sort_by_key(|it| (position(&it.policy).unwrap_or(usize::MAX), &it.reason));
    let counts = counts.into_iter();
    let counts =
        counts.map(|it| format!("{}: {} {}", it.policy, text::number(it.count), it.reason));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn parameters_are_words_not_json() {
        let value =
            json!({"te": {"interval_ns": 5, "label": "te", "weights": [3, 1], "cap": null}});
        let text = "te: cap null, interval_ns 5, label te, weights 3, 1";
        assert_eq!(super::parameters(&value), text);
        assert_eq!(super::parameters(&json!("ecmp")), "ecmp");
    }
}
