//! Facts of the run: scenario, engine, machine and course.

use lab_records::{
    Clock, EngineInfo, GuestCpu, LiveChange, Location, Phase, PolicySettings, RunEnd, RunInfo,
    Semantics, SimInfo, SimWork,
};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio, show::counted};
use serde_json::Value;

use super::Question;
use crate::{
    document::{Block, Medium},
    run::Run,
    text, words,
};

/// Report section on how the run was made. It names the candidate set and reconvergence unless they are the default.
pub const QUESTION: Question = Question {
    id: "run",
    title: "How was the run made?",
    is_open: false,
    figures: &[],
    blocks: |inputs| {
        let facts = Block::Facts(Medium::Page, facts(inputs.run));
        about_scale(inputs.run).into_iter().chain([facts]).collect()
    },
    values: None,
};

fn about_scale<'a>(run: &Run) -> Option<Block<'a>> {
    let scale = &run.info.scale;
    let note = "Rates, times and sizes are at the paper's scale. Those of the lab are marked `emulated` or \
                `by the lab's clock`.";
    let is_scaled = scale.rate != Ratio::ONE || scale.time != Ratio::ONE;
    is_scaled.then(|| Block::Note(Medium::Page, note.to_owned()))
}

fn facts(run: &Run) -> Vec<Fact> {
    let info = &run.info;
    let scale = &info.scale;
    let granularity = &info.granularity;
    let provenance = &info.provenance;
    let mut facts = vec![
        fact(
            "scenario",
            format!("{}, SHA-256 {}", info.scenario, info.scenario_hash),
        ),
        fact("plan", format!("SHA-256 {}", info.plan_hash)),
        fact("policies", info.policies.join(", ")),
        fact("seed", info.seed.to_string()),
        fact("repetitions", info.repetitions.to_string()),
    ];
    let candidates = || fact("candidates", info.candidate_set.to_string());
    facts.extend((!info.candidate_set.is_default()).then(candidates));
    let after = |after| fact("reconvergence", format!("{after} after cuts and repairs"));
    facts.extend(info.reconverge_after_ns.map(after));
    facts.extend(engine(run));
    facts.extend([
        fact("location", location(run)),
        fact("kernel", info.kernel_release.as_str()),
        fact("clock", clock(info)),
        fact(
            "scale",
            format!(
                "rates × {}, times × {}, sizes × {} (emulated ÷ paper)",
                scale.rate, scale.time, scale.size
            ),
        ),
        fact(
            "granularity",
            format!(
                "{} % of flows are smaller than one packet; sending a packet takes at most {} % of the shortest \
                 inter-DC delay",
                granularity.sub_packet_flows_percent, granularity.packet_vs_delay_percent
            ),
        ),
        fact("flows", flows(run)),
    ]);
    facts.extend(exactness(run).map(|it| fact("exactness", it)));
    let decisions = || fact("decisions", decisions(run));
    facts.extend((!run.decisions.is_empty()).then(decisions));
    facts.push(fact("lcmp-lab", version(info)));
    let command = || fact("command", provenance.command.join(" "));
    facts.extend((!provenance.command.is_empty()).then(command));
    facts.extend(listed("traffic", provenance.traffic.clone()));
    facts.extend(listed("assumed", provenance.assumed.clone()));
    let settings = provenance.policies.iter();
    facts.extend(settings.map(|it| fact(&it.policy, parameters(it))));
    facts.push(fact("began", run.started_at.to_string()));
    let never_ended = "no: the run was interrupted, or is still running";
    facts.extend(match &run.end {
        Some(end) => ended(run, end),
        None => vec![fact("ended", never_ended)],
    });
    facts.extend(assumptions(run));
    facts.extend(warnings(run));
    facts
}

fn clock(info: &RunInfo) -> &'static str {
    match (info.clock, &info.engine) {
        (Clock::Virtual, EngineInfo::Kernel) => {
            "virtual: counts executed instructions, and skips idle time"
        }
        (Clock::Virtual, EngineInfo::Sim(_)) => "virtual: the simulator's events",
        (Clock::Real, _) => "real",
    }
}

fn version(info: &RunInfo) -> String {
    match info.provenance.tool_commit.as_str() {
        "" => info.tool_version.clone(),
        commit => format!("{}, commit {commit}", info.tool_version),
    }
}

/// Describes the changes made to the lab while flows ran, apart from the scenario's faults.
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

fn engine(run: &Run) -> Vec<Fact> {
    let info = &run.info;
    match &info.engine {
        EngineInfo::Kernel => {
            let mut facts = vec![fact("engine", "kernel: namespaces, tc, SoftRoCE, eBPF")];
            // Of the congestion controls that SoftRoCE can have, only DCQCN has rates.
            facts.extend((!run.rates.is_empty()).then(|| fact("congestion control", "dcqcn")));
            facts
        }
        EngineInfo::Sim(sim) => vec![
            fact(
                "engine",
                format!(
                    "{}, {}",
                    words::simulator(sim),
                    counted(sim.threads.into(), "thread")
                ),
            ),
            fact("semantics", semantics(sim.semantics)),
            fact("congestion control", congestion_control(info, sim)),
        ],
    }
}

/// Returns the semantics of a simulation as words that follow "semantics".
pub fn semantics(semantics: Semantics) -> &'static str {
    match semantics {
        Semantics::Paper => "of the paper",
        Semantics::Artifact => "of the artifact",
    }
}

/// Lists a policy's parameters at the paper's scale, each followed by the lab's emulated (scaled) value if the two
/// differ. Records of earlier lcmp-lab versions only have the plan's parameters, with emulated times.
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

/// Lists parameters of the plan with their values; a unit at the end of a name moves to the value.
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

/// Formats a parameter of the plan with its value and unit.
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

/// Returns the congestion control of all policies, or of each policy if they differ.
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

/// Describes the simulator's work and its speed.
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
        fact += &format!(", peak memory {}", text::size(memory));
    }
    fact
}

fn ended(run: &Run, end: &RunEnd) -> Vec<Fact> {
    let took = text::time(end.ended_at.since(run.started_at));
    let phases: Vec<String> = end.phases.iter().map(phase).collect();
    let phases = format!("{}, by this machine's clock", phases.join(", "));
    let mut facts = vec![fact(
        "ended",
        format!("{}, after {took} by this machine's clock", end.ended_at),
    )];
    facts.extend((!end.phases.is_empty()).then(|| fact("phases", phases)));
    facts.push(fact("late launches", counted(end.late_launches, "flow")));
    facts.extend(listed("changed while it ran", changes(end)));
    facts.extend(end.sim.as_ref().map(|it| fact("simulated", simulated(it))));
    let cpu = end.guest_cpu;
    facts.extend(cpu.map(|it| fact("guest's CPU", guest_cpu(it, run.flows.total().flows))));
    facts
}

/// Formats a phase with its duration; if flows ran in a guest in this phase, the virtual time follows.
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
        "CPU busy for {} of the lab's time while flows ran: {} of CPU time, or {} per flow",
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
        "{} scheduled, {} recorded, {} finished, {} unfinished, {} impossibly fast",
        text::number(run.info.total_flows()),
        text::number(counts.flows),
        text::number(counts.finished),
        text::number(counts.unfinished),
        text::number(counts.below_one)
    )
}

/// Describes the error bounds of starts and FCTs; `None` for the simulator, whose values are exact.
fn exactness(run: &Run) -> Option<String> {
    if matches!(run.info.engine, EngineInfo::Sim(_)) {
        return None;
    }
    let late = run
        .flows
        .max_lateness
        .map(|late| format!("flows start at most {} late", text::time(late)));
    let resolution = run
        .flows
        .max_resolution
        .map(|span| format!("FCTs measured to ±{}", text::time(span)));
    let known: Vec<String> = late.into_iter().chain(resolution).collect();
    (!known.is_empty()).then(|| format!("{}, emulated", known.join(", ")))
}

/// Lists the number of decisions for each reason, by policy.
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

fn assumptions(run: &Run) -> Option<Fact> {
    let all = run.info.assumptions.clone();
    listed(&counted(all.len() as u64, "assumption"), all)
}

fn warnings(run: &Run) -> Option<Fact> {
    let at_end = run.end.as_ref().map_or(&[][..], |end| &end.warnings);
    let all: Vec<String> = run.info.warnings.iter().chain(at_end).cloned().collect();
    listed(&counted(all.len() as u64, "warning"), all)
}

/// Entry of a list of facts: a term and its values.
type Fact = (String, Vec<String>);

fn fact(term: &str, value: impl Into<String>) -> Fact {
    (term.to_owned(), vec![value.into()])
}

/// Returns a fact with several values; `None` if `values` is empty.
fn listed(term: &str, values: Vec<String>) -> Option<Fact> {
    (!values.is_empty()).then(|| (term.to_owned(), values))
}

#[cfg(test)]
mod tests {
    use lab_records::ParameterValue;
    use serde_json::json;

    use super::*;

    /// Names of parameters in the plan end with a unit or `_percent`, which moves to the value. Records of this version
    /// have values at the paper's scale.
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

    #[test]
    fn parameters_are_words_not_json() {
        let value =
            json!({"te": {"interval_ns": 5, "label": "te", "weights": [3, 1], "cap": null}});
        let text = "te: cap null, interval 5 ns, label te, weights 3, 1";
        assert_eq!(planned(&value), text);
        assert_eq!(planned(&json!("ecmp")), "ecmp");
    }
}
