//! Facts of the run.

use lab_records::{
    Clock, EngineInfo, GuestCpu, LiveChange, Location, Phase, PolicySettings, RunEnd, RunInfo,
    Semantics, SimInfo, SimWork,
};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio, show::counted};
use maud::{Markup, html};
use serde_json::Value;

use crate::{at_work, run::Run, series::fault_marks, summary::Summary, text, words};

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
    html! {
        dl.brief {
            (fact("policies", &info.policies.join(", ")))
            (fact("flows", &format!(
                "{} a policy, {} of {} finished",
                text::number(info.scheduled_flows),
                text::number(counts.finished),
                text::number(info.total_flows()),
            )))
            @if let Some(measured) = words::measured(info) { (fact("measured", &measured)) }
            @if let Some(load) = at_work::load(&summary.evidence) { (fact("load", &load)) }
            (fact("time", &times(run)))
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
                (fact("faults", &faults(run)))
            }
        }
    }
}

/// Returns the time in which flows start and end; in a run whose flows did not all finish, the time that it covers.
fn times(run: &Run) -> String {
    let flows = &run.flows;
    let counts = run.flows.total();
    let last_start = text::time(run.last_start);
    if counts.unfinished == 0 {
        let end = text::time(flows.last_completion());
        return format!("the last flow starts at {last_start}; the last completion is at {end}");
    }
    let started = flows.started_count();
    let mut times = format!(
        "the last flow starts at {last_start}; the run ends at {} with {} of them under way",
        text::time(flows.extent.last_end()),
        text::number(started - counts.finished),
    );
    let never = counts.flows - started;
    if never > 0 {
        times += &format!(", and {} never started", text::number(never));
    }
    times
}

fn faults(run: &Run) -> String {
    let mut faults: Vec<String> = fault_marks(run).into_iter().map(|it| it.label).collect();
    let later = run.info.faults.len() - run.faults().count();
    if later > 0 {
        faults.push(format!(
            "{} after the run's end",
            counted(later as u64, "change")
        ));
    }
    faults.join("; ")
}

/// Returns the list with all facts about the run.
pub fn list(run: &Run) -> Markup {
    let info = &run.info;
    let scale = &info.scale;
    let granularity = &info.granularity;
    html! {
        @if scale.rate != Ratio::ONE || scale.time != Ratio::ONE {
            p.note {
                "Rates, times and sizes are the paper's. Those of the lab are marked: emulated, or by the lab's \
                 clock."
            }
        }
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
                (fact(&settings.policy, &parameters(settings)))
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

/// Returns a policy's parameters in words, in paper units, with the lab's emulated value beside each that differs.
/// Records of an earlier lcmp-lab only have the plan's parameters, with emulated times.
fn parameters(settings: &PolicySettings) -> String {
    if settings.values.is_empty() {
        return match &settings.parameters {
            plan @ Value::Object(_) => format!("{} (as in plan.json)", planned(plan)),
            plain => planned(plain),
        };
    }
    settings
        .values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns parameters of the plan as names and values; the unit at the end of a name moves to its value.
fn planned(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::Object(_) => format!("{name}: {}", planned(value)),
                _ => quantity(name, value),
            };
            joined(fields.iter().map(field).collect())
        }
        Value::Array(values) => joined(values.iter().map(planned).collect()),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns a parameter of the plan with its unit.
fn quantity(name: &str, value: &Value) -> String {
    let number = value.as_u64();
    let shown = |unit: &str, show: &dyn Fn(u64) -> Option<String>| {
        let name = name.strip_suffix(unit)?;
        Some(format!("{name} {}", show(number?)?))
    };
    shown("_ns", &|it| Some(text::time_exact(Nanos::new(it))))
        .or_else(|| shown("_bytes", &|it| Some(text::size(Bytes::new(it)))))
        .or_else(|| shown("_bps", &|it| BitsPerSec::new(it).map(text::rate)))
        .or_else(|| shown("_percent", &|it| Some(format!("{it} %"))))
        .unwrap_or_else(|| format!("{name} {}", planned(value)))
}

/// Returns the congestion control of all policies, or each policy's if they differ.
fn congestion_control(info: &RunInfo, sim: &SimInfo) -> String {
    match sim.cc.as_slice() {
        [] => "unknown".to_owned(),
        [first, others @ ..] if others.iter().all(|other| other == first) => first.clone(),
        each => {
            let pairs = info
                .policies
                .iter()
                .zip(each)
                .map(|(policy, cc)| format!("{policy}: {cc}"));
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
        "{} of virtual time in {} by this machine's clock: {} events ({} million a second), {} packet-hops ({} \
         million a second)",
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
    let phases: Vec<String> = end.phases.iter().map(phase).collect();
    html! {
        (fact("ended", &format!("{}, after {} by this machine's clock", end.ended_at, text::time(took))))
        @if !end.phases.is_empty() {
            (fact("phases", &format!("{}, by this machine's clock", phases.join(", "))))
        }
        (fact("late launches", &counted(end.late_launches, "flow")))
        @for change in changes(end) { (fact("changed while it ran", &change)) }
        @if let Some(work) = &end.sim { (fact("simulated", &simulated(work))) }
        @if let Some(cpu) = end.guest_cpu { (fact("guest's CPU", &guest_cpu(cpu, run.flows.total().flows))) }
    }
}

/// Returns a phase with its duration, also in virtual time if its flows ran in a guest.
fn phase(phase: &Phase) -> String {
    let aside = phase.virtual_ns.map_or_else(String::new, |time| {
        format!(" ({} by the lab's clock)", text::time(time))
    });
    format!("{} {}{aside}", phase.name, text::time(phase.took_ns))
}

fn guest_cpu(cpu: GuestCpu, flows: u64) -> String {
    let share = text::to_float(cpu.busy_ns.get()) / text::to_float(cpu.available_ns.get().max(1));
    let a_flow = Nanos::new(cpu.busy_ns.get() / flows.max(1));
    format!(
        "{} busy by the lab's clock while flows ran, {}, which is {} a flow",
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
    let late = run
        .flows
        .max_lateness
        .map(|late| format!("starts at most {} late", text::time(late)));
    let resolution = run
        .flows
        .max_resolution
        .map(|span| format!("FCTs measured to ±{}", text::time(span)));
    let known: Vec<String> = late.into_iter().chain(resolution).collect();
    (!known.is_empty()).then(|| format!("{}, emulated", known.join(", ")))
}

/// Returns the number of decisions for each reason, by policy.
fn decisions(run: &Run) -> String {
    let policies = &run.flows.policies;
    let position = |policy: &str| policies.iter().position(|label| label == policy);
    let mut counts: Vec<_> = run.decisions.iter().collect();
    counts.sort_by_key(|it| (position(&it.policy).unwrap_or(usize::MAX), &it.reason));
    counts
        .into_iter()
        .map(|it| format!("{}: {} {}", it.policy, text::number(it.count), it.reason))
        .collect::<Vec<_>>()
        .join(", ")
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
    use lab_records::{FaultInfo, FlowRow, LinkChange, LinkRow, ParameterValue};
    use lab_sample as sample;
    use lab_units::Bytes;
    use serde_json::json;

    use super::*;
    use crate::testing;

    /// Names of the plan's parameters end with a unit or `_percent`, which moves to the value. Records of this version
    /// have values in paper units.
    #[test]
    fn parameters_have_units_and_the_labs_are_marked() {
        let plan = json!({ "lcmp": {
            "alpha": 3, "keep": "half", "max_delay_ns": 524_288_000_u64, "max_capacity_bps": 200_000_000_000_u64,
            "level_buffer_bytes": null, "share_percent": 50,
        } });
        let mut settings = PolicySettings {
            policy: "lcmp".into(),
            parameters: plan,
            values: Vec::new(),
            departures: Vec::new(),
        };
        assert_eq!(
            parameters(&settings),
            "lcmp: alpha 3, keep half, level_buffer_bytes null, max_capacity 200 Gbit/s, max_delay 524.29 ms, \
             share 50 % (as in plan.json)"
        );
        settings.values = vec![ParameterValue {
            parameter: "sample_interval".into(),
            value: "1 ms".into(),
            emulated: Some("10 ms".into()),
        }];
        assert_eq!(
            parameters(&settings),
            "sample_interval 1 ms (10 ms emulated)"
        );
    }

    /// Flows start at 0, 3 and 8 ms; the run is cut at 4 ms, when the first has finished, and before a link is. The
    /// link has carried the 50 MB that fit at 100 Gbit/s.
    #[test]
    fn a_cut_run_covers_the_time_until_its_end() {
        let millis = Nanos::from_millis;
        let info = RunInfo {
            policies: vec!["a".into()],
            scheduled_flows: 3,
            faults: vec![FaultInfo {
                time_ns: millis(6),
                link: "dc1-dc2".into(),
                change: LinkChange::Down,
                rate_bps: None,
            }],
            ..testing::info()
        };
        let flow = |id: u32, start: u64, slowdown: Option<f64>| FlowRow {
            start_ns: millis(start),
            launch_lateness_ns: (start < 4).then_some(Nanos::ZERO),
            ..testing::flow("a", id, slowdown)
        };
        let counter = |at: u64| LinkRow {
            time_ns: millis(at),
            tx_bytes: Bytes::new(12_500_000 * at),
            ..sample::counter(&info.links[0], "a")
        };
        let written = testing::run(&info, |writer| {
            writer.append(&[counter(2), counter(4)])?;
            let flows = [flow(0, 0, Some(1.0)), flow(1, 3, None), flow(2, 8, None)];
            flows.iter().try_for_each(|row| writer.append_flow(row))
        });
        let run = Run::read(written.dir.path()).unwrap();
        assert_eq!(
            times(&run),
            "the last flow starts at 3 ms; the run ends at 4 ms with 1 of them under way, and 1 never started"
        );
        assert_eq!(faults(&run), "1 change after the run's end");
        let ends: Vec<_> = run.flows.spans(0).iter().map(|it| it.end).collect();
        assert_eq!(ends, [millis(1), millis(4)]);
        let last = run.grid.edge(run.grid.len());
        assert!((4_000_000..4_100_000).contains(&last), "{last}");
        let used = run.used_while_arriving(&run.over_time[0]);
        assert!((used - 1.0).abs() < 1e-9, "{used}");
        assert_eq!(run.flows.of_policy(0, 3).percentile(50), None);
    }

    #[test]
    fn parameters_are_words_not_json() {
        let value =
            json!({"te": {"interval_ns": 5, "label": "te", "weights": [3, 1], "cap": null}});
        let text = "te: cap null, interval 5 ns, label te, weights 3, 1";
        assert_eq!(planned(&value), text);
        assert_eq!(planned(&json!("ecmp")), "ecmp");
    }
}
