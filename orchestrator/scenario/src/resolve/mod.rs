//! Conversion of a parsed text into a [`Scenario`]: parses values, fills in defaults, and checks consistency. It goes
//! on after a problem, so that all problems are reported together.

pub(crate) mod context;
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

use lab_units::{CandidateSet, Nanos, Ratio, Tool};

use self::{context::Context, graph::TopologyForm, topology::IndexedTopology};
use crate::{
    defaults,
    error::{ProblemKind, ScenarioErrors, SourceText},
    limits,
    model::{Files, Generator, Measure, Repetitions, ScaleSpec, Scenario},
    raw,
    topology_file::{self, WrittenTopology},
    yaml::{At, Text, WordOr},
};

/// Converts `raw`, the parsed form of the text `source`, into a scenario.
pub(crate) fn resolve(
    source: SourceText<'_>,
    raw: &raw::Scenario,
    files: &Files,
) -> Result<Scenario, ScenarioErrors> {
    // Without datacenters, every name in the other sections would be unknown, so problems of the topology's file, its
    // form and its graph are reported first.
    let file = topology_file::of(source, &raw.topology, files)?;
    let written = match &file {
        Some(file) => file.written(),
        None => WrittenTopology::of_scenario(source, &raw.topology),
    };
    let form = graph::form(written, files)?;
    let mut context = Context::new(source);
    let topology = match &file {
        Some(_) => {
            let mut of_file = Context::new(written.source);
            let topology = network(&mut of_file, &form, written.file);
            of_file.finish(topology)?
        }
        None => network(&mut context, &form, None),
    };
    let policies = policies::policies(&mut context, &raw.policies);
    let scenario = Scenario {
        expect: expectations::expect(&mut context, raw, &topology.model, &policies),
        name: names::scenario(&mut context, &raw.name),
        description: description(&mut context, raw),
        candidate_set: candidate_set(&mut context, &raw.routing.0.clone().unwrap_or_default()),
        reconverge_after: reconverge_after(&mut context, raw.routing.as_ref()),
        traffic: traffic::traffic(&mut context, &topology, &raw.traffic),
        faults: links::faults(&mut context, &topology, raw.faults.as_ref()),
        random_faults: random_faults::random_faults(&mut context, &topology, raw.faults.as_ref()),
        policies,
        scale: scale(&mut context, raw.scale.as_ref()),
        seed: context.read_or(&raw.seed, defaults::SEED),
        repetitions: repetitions(&mut context, raw.repetitions.as_ref()),
        generator: generator(&mut context, raw.generator.0.as_ref()),
        measure: measure(&mut context, &raw.measure.0.clone().unwrap_or_default()),
        max_table_age: context.within_or(
            &raw.max_table_age,
            limits::MIN_INTERVAL..=limits::MAX_INTERVAL,
            defaults::MAX_TABLE_AGE,
        ),
        transport: transport::transport(&mut context, raw.transport.as_ref()),
        topology: topology.model,
    };
    context.finish(scenario)
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
    match rule {
        raw::CandidateRule::FewestHops => {
            let bounds = [
                ("stretch", raw.stretch.as_ref().map(Text::range)),
                ("max", raw.max.as_ref().map(Text::range)),
            ];
            for (key, range) in bounds {
                if let Some(range) = range {
                    context.problem(&range, ProblemKind::NotDownhill { key });
                }
            }
            CandidateSet::FewestHops
        }
        raw::CandidateRule::DownhillDelay => CandidateSet::DownhillDelay {
            stretch: context.within_or(&raw.stretch, limits::stretches(), defaults::STRETCH),
            max: context.within_or(
                &raw.max,
                limits::MIN_CANDIDATES..=limits::MAX_CANDIDATES,
                defaults::MAX_CANDIDATES,
            ),
        },
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
