//! Conversion of a parsed text into a [`Scenario`]: parses values, fills in defaults, and checks consistency. It goes
//! on after a problem, so that all problems are reported together.

mod agents;
pub(crate) mod context;
mod contexts;
mod demands;
pub(crate) mod expectations;
mod graph;
mod links;
mod names;
mod parameters;
mod policies;
mod random_faults;
mod topology;
mod traffic;
mod transport;

use std::ops::RangeInclusive;

use lab_units::{
    CandidateSet, Nanos, Ratio, Tool,
    candidates::{DOWNHILL_DELAY, TUNNELS},
};

use self::{context::Context, contexts::Contexts, graph::TopologyForm, topology::IndexedTopology};
use crate::{
    defaults,
    error::{ProblemKind, ScenarioErrors},
    extends::ScenarioChain,
    limits,
    model::{Files, Generator, Measure, Repetitions, ScaleSpec, Scenario, Traffic},
    raw,
    topology_file::{self, WrittenTopology},
    yaml::{At, Text, WordOr},
};

/// Converts the whole chain `chain` into a scenario: the first of the chain, with the keys that it takes from the
/// others.
pub(crate) fn resolve(
    chain: &ScenarioChain<'_>,
    files: &Files,
) -> Result<Scenario, ScenarioErrors> {
    // Without datacenters, every name in the other sections would be unknown, so problems of the topology's file, its
    // form and its graph are reported first.
    let mut all = Contexts::new(chain);
    let mut topology = topology(&mut all, chain, files)?;
    let traffic = {
        let (context, raw) = all.required(|raw| raw.traffic.as_ref());
        traffic::traffic(context, &topology, raw, files)?
    };
    let uses_graph = traffic.iter().any(|entry| match entry {
        Traffic::Demands(matrix) => Some(&matrix.file) == topology.model.import.as_ref(),
        Traffic::Workload(_) | Traffic::Flows(_) | Traffic::FlowFile { .. } => false,
    });
    if !uses_graph {
        let unused = topology.unused_demands.take();
        topology.model.assumptions.extend(unused);
    }
    let policies = {
        let (context, raw) = all.required(|raw| raw.policies.as_ref());
        policies::policies(context, raw)
    };
    let scenario = Scenario {
        expect: {
            let (context, raw) = all.of(|raw| raw.expect.as_ref());
            expectations::expect(context, raw, &topology.model, &policies)
        },
        name: {
            let (context, first) = all.first();
            names::scenario(context, &first.raw.value.name)
        },
        description: {
            let (context, first) = all.first();
            description(context, &first.raw.value)
        },
        extends: chain.extended().map(str::to_owned).collect(),
        candidate_set: {
            let (context, raw) = all.of(|raw| raw.routing.as_ref());
            candidate_set(context, &raw.cloned().unwrap_or_default())
        },
        reconverge_after: {
            let (context, raw) = all.of(|raw| raw.routing.as_ref());
            reconverge_after(context, raw)
        },
        traffic,
        faults: {
            let (context, raw) = all.of(|raw| raw.faults.as_ref());
            links::faults(context, &topology, raw)
        },
        agent_crashes: {
            let (context, raw) = all.of(|raw| raw.faults.as_ref());
            agents::agent_crashes(context, &topology, raw)
        },
        random_faults: {
            let (context, raw) = all.of(|raw| raw.faults.as_ref());
            random_faults::random_faults(context, &topology, raw)
        },
        policies,
        scale: {
            let (context, raw) = all.of(|raw| raw.scale.as_ref());
            scale(context, raw)
        },
        seed: {
            let (context, raw) = all.of(|raw| raw.seed.as_ref());
            let seed = raw.and_then(|text| context.read(text));
            seed.unwrap_or(defaults::SEED)
        },
        repetitions: {
            let (context, raw) = all.of(|raw| raw.repetitions.as_ref());
            repetitions(context, raw)
        },
        generator: {
            let (context, raw) = all.of(|raw| raw.generator.as_ref());
            generator(context, raw)
        },
        measure: {
            let (context, raw) = all.of(|raw| raw.measure.as_ref());
            measure(context, &raw.cloned().unwrap_or_default())
        },
        max_table_age: {
            let (context, raw) = all.of(|raw| raw.max_table_age.as_ref());
            let bounds = limits::MIN_INTERVAL..=limits::MAX_INTERVAL;
            let age = raw.and_then(|text| context.within(text, bounds));
            age.unwrap_or(defaults::MAX_TABLE_AGE)
        },
        transport: {
            let (context, raw) = all.of(|raw| raw.transport.as_ref());
            transport::transport(context, raw)
        },
        topology: topology.model,
    };
    all.finish(scenario)
}

/// Resolves the topology of a chain, which can be in a file of its own.
///
/// # Errors
/// If the topology's file or graph cannot be read or converted, and with the problems of a topology file.
fn topology(
    all: &mut Contexts<'_, '_>,
    chain: &ScenarioChain<'_>,
    files: &Files,
) -> Result<IndexedTopology, ScenarioErrors> {
    let (at, raw) = chain
        .find(|raw| raw.topology.as_ref())
        .expect("a whole chain has a topology");
    let scenario = &chain.texts()[at];
    let file = topology_file::of(scenario, raw, files).map_err(|it| chain.noted(at, it))?;
    if let Some(file) = &file {
        let written = file.written();
        let form = graph::form(written, files)?;
        let mut context = Context::new(written.source);
        let topology = network(&mut context, &form, written.file);
        return context.finish(topology);
    }
    let written = WrittenTopology::of_scenario(scenario, raw);
    let form = graph::form(written, files).map_err(|it| chain.noted(at, it))?;
    let (context, _) = all.required(|raw| raw.topology.as_ref());
    Ok(network(context, &form, None))
}

/// Resolves datacenters and links; `file` is the path of the topology file that has them.
fn network(
    context: &mut Context<'_>,
    form: &TopologyForm<'_>,
    file: Option<&str>,
) -> IndexedTopology {
    let mut topology = topology::topology(context, form);
    topology.model.links = links::links(context, &topology, form);
    topology.model.file = file.map(str::to_owned);
    topology
}

fn description(context: &mut Context<'_>, raw: &raw::Scenario) -> String {
    let Some(text) = raw.description.as_ref() else {
        return String::new();
    };
    let description = text.as_str().trim();
    context.no_control_characters(&text.range(), description);
    description.to_owned()
}

fn candidate_set(context: &mut Context<'_>, raw: &raw::Routing) -> CandidateSet {
    let rule = context.read_or(&raw.candidates, raw::CandidateRule::FewestHops);
    let set = match rule {
        raw::CandidateRule::FewestHops => CandidateSet::FewestHops,
        raw::CandidateRule::DownhillDelay => CandidateSet::DownhillDelay {
            stretch: context.within_or(&raw.stretch, limits::stretches(), defaults::STRETCH),
            max: context.within_or(
                &raw.max,
                limits::MIN_CANDIDATES..=limits::MAX_CANDIDATES,
                defaults::MAX_CANDIDATES,
            ),
        },
        raw::CandidateRule::Tunnels => tunnels(context, raw),
    };
    let bounds = [
        (
            "stretch",
            DOWNHILL_DELAY,
            raw.stretch.as_ref().map(Text::range),
        ),
        ("max", DOWNHILL_DELAY, raw.max.as_ref().map(Text::range)),
        (
            "tunnels",
            TUNNELS,
            raw.tunnels.as_ref().map(|it| it.range.clone()),
        ),
    ];
    for (key, rule, range) in bounds {
        if let Some(range) = range.filter(|_| rule != set.name()) {
            let found = set.name();
            context.problem(&range, ProblemKind::OtherCandidates { key, rule, found });
        }
    }
    set
}

fn tunnels(context: &mut Context<'_>, raw: &raw::Routing) -> CandidateSet {
    let raw = raw.tunnels.as_ref().map(|it| &it.value);
    let bounds = limits::MIN_CANDIDATES..=limits::MAX_CANDIDATES;
    let written = raw.and_then(|it| it.k.as_ref());
    let k = written.and_then(|k| context.within(k, bounds));
    if let Some(disjoint) = raw.and_then(|it| it.disjoint.as_ref()) {
        context.read(disjoint);
    }
    CandidateSet::Tunnels {
        k: k.unwrap_or(defaults::TUNNELS),
    }
}

fn reconverge_after(context: &mut Context<'_>, raw: Option<&raw::Routing>) -> Option<Nanos> {
    let after = &raw?.reconverge.as_ref()?.after;
    context.within(after, Nanos::ZERO..=limits::MAX_DURATION)
}

fn repetitions(
    context: &mut Context<'_>,
    raw: Option<&At<WordOr<raw::RepetitionCount, raw::Repetitions>>>,
) -> Repetitions {
    let bounds = 1..=limits::MAX_REPETITIONS;
    let default = defaults::REPETITIONS;
    let Some(raw) = raw else {
        return Repetitions::both(default);
    };
    match &raw.value {
        WordOr::Word(..) => {
            let count = raw.scalar().and_then(|text| context.within(&text, bounds));
            Repetitions::both(count.unwrap_or(default))
        }
        WordOr::Body(each) => Repetitions {
            lab: context.within_or(&each.lab, bounds.clone(), default),
            sim: context.within_or(&each.sim, bounds, default),
        },
    }
}

fn scale(
    context: &mut Context<'_>,
    raw: Option<&At<WordOr<raw::AutoScale, raw::Scale>>>,
) -> ScaleSpec {
    let Some(raw) = raw else {
        return defaults::SCALE;
    };
    let scale = match &raw.value {
        WordOr::Word(word, _) => {
            context.word::<raw::AutoScale>(&raw.range, word);
            return ScaleSpec::Auto;
        }
        WordOr::Body(scale) => scale,
    };
    let (Some(rate), Some(time)) = (scale.rate.as_ref(), scale.time.as_ref()) else {
        let missing = scale.rate.as_ref().map_or("rate", |_| "time");
        context.problem(&raw.range, ProblemKind::HalfScale { missing });
        return ScaleSpec::Auto;
    };
    let rate = factor(context, rate, &limits::rate_factors(), |rate| {
        match rate.inverse().filter(|_| rate > Ratio::ONE) {
            Some(inverse) => {
                format!(
                    "did you mean `{inverse}`? A lab cannot be faster than the network that it emulates"
                )
            }
            None => "emulated rate / paper rate, such as `1/2000`".to_owned(),
        }
    });
    let time = factor(context, time, &limits::time_factors(), |_| {
        "emulated time / paper time, such as `10`".to_owned()
    });
    ScaleSpec::Fixed {
        rate: rate.unwrap_or(Ratio::ONE),
        time: time.unwrap_or(Ratio::ONE),
    }
}

/// Parses a scale factor; `hint` returns the hint for a factor outside `bounds`.
fn factor(
    context: &mut Context<'_>,
    text: &Text<Ratio>,
    bounds: &RangeInclusive<Ratio>,
    hint: impl Fn(Ratio) -> String,
) -> Option<Ratio> {
    let factor = context.read(text)?;
    if !bounds.contains(&factor) {
        let min = bounds.start();
        let max = bounds.end();
        context.out_of_range(text, format!("{min} to {max} (hint: {})", hint(factor)));
        return None;
    }
    Some(factor)
}

fn generator(
    context: &mut Context<'_>,
    raw: Option<&At<WordOr<raw::GeneratorWord, raw::Generator>>>,
) -> Generator {
    let base = defaults::GENERATOR;
    let raw = match raw.map(|raw| (&raw.range, &raw.value)) {
        None => return base,
        Some((range, WordOr::Word(word, _))) => {
            return match context.word(range, word) {
                Some(raw::GeneratorWord::Verbs) => Generator {
                    tool: Tool::Verbs,
                    ..base
                },
                Some(raw::GeneratorWord::Perftest) | None => base,
            };
        }
        Some((_, WordOr::Body(raw))) => raw,
    };
    let mtu = raw.mtu.as_ref().and_then(|text| {
        let mtu = context.read(text)?;
        if !limits::MTUS.contains(&mtu) {
            let kind = ProblemKind::UnknownWord {
                found: mtu.to_string(),
                known: limits::MTUS.iter().map(u32::to_string).collect(),
                suggestion: None,
            };
            context.problem(&text.range(), kind);
        }
        Some(mtu)
    });
    Generator {
        tool: context.read_or(&raw.tool, base.tool),
        mtu: mtu.unwrap_or(base.mtu),
        traffic_class: context.read_or(&raw.traffic_class, base.traffic_class),
    }
}

fn measure(context: &mut Context<'_>, raw: &raw::Measure) -> Measure {
    let range = limits::MIN_INTERVAL..=limits::MAX_INTERVAL;
    let starts = Nanos::ZERO..=limits::MAX_DURATION;
    let from = context.within_or(&raw.from, starts.clone(), defaults::MEASURE.from);
    let to = raw.to.as_ref().and_then(|text| {
        let to = context.within(text, starts)?;
        if to <= from {
            context.problem(&text.range(), ProblemKind::EmptyWindow { from, to });
        }
        Some(to)
    });
    Measure {
        from,
        to,
        queues: context.within_or(&raw.queues, range.clone(), defaults::MEASURE.queues),
        links: context.within_or(&raw.links, range.clone(), defaults::MEASURE.links),
        switches: context.within_or(&raw.switches, range, defaults::MEASURE.switches),
    }
}
