//! Differences between the plans of runs.

use std::{collections::BTreeMap, str::FromStr};

use lab_records::{Departure, EngineInfo, PolicySettings, RunInfo};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{facts::RunFacts, text};

/// Aspect in which the plans of runs can differ.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Name of the scenario.
    Scenario,
    /// Datacenters and inter-DC links.
    Network,
    /// Rule by which next hops are candidates, and the time after which these follow cuts.
    Candidates,
    /// Planned faults of links.
    Faults,
    /// Workloads and listed flows.
    Traffic,
    /// Policies and their parameters.
    Policies,
    /// Seed of all random draws.
    Seed,
    /// Number of repetitions.
    Repetitions,
    /// Scale factors.
    Scale,
    /// Time limit of the simulation, `--until`.
    Until,
    /// Engine with its semantics and congestion control.
    Engine,
    /// Transport, RDMA and recording settings.
    Settings,
}

/// Aspect in which the runs differ, with its value in each run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// Aspect in which the values differ.
    pub aspect: Aspect,
    /// Values as text, in the order of the runs.
    pub values: Vec<String>,
}

/// Failure to parse the name of an aspect.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{word}` is not an aspect of a plan (hint: one of {})", ASPECTS.map(Aspect::name).join(", "))]
pub struct ParseAspectError {
    word: String,
}

impl Aspect {
    /// Returns the name of the aspect on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Network => "network",
            Self::Candidates => "candidates",
            Self::Faults => "faults",
            Self::Traffic => "traffic",
            Self::Policies => "policies",
            Self::Seed => "seed",
            Self::Repetitions => "repetitions",
            Self::Scale => "scale",
            Self::Until => "until",
            Self::Engine => "engine",
            Self::Settings => "settings",
        }
    }

    /// Returns an aspect of a run as text; runs with equal texts do not differ in it.
    fn value(self, run: &RunFacts, forms: Forms) -> String {
        let info = run.info();
        match self {
            Self::Scenario => info.scenario.clone(),
            Self::Network => network(info, forms.has_link_details),
            Self::Candidates => candidates(info),
            Self::Faults => faults(info, forms.has_fault_details),
            Self::Traffic => traffic(info),
            Self::Policies => policies(info, forms.policies),
            Self::Seed => info.seed.to_string(),
            Self::Repetitions => info.repetitions.to_string(),
            Self::Scale => format!(
                "rates × {}, times × {}, sizes × {}",
                info.scale.rate, info.scale.time, info.scale.size
            ),
            Self::Until => until(info),
            Self::Engine => engine(info),
            Self::Settings => listed(&settings(run)),
        }
    }
}

fn candidates(info: &RunInfo) -> String {
    match info.reconverge_after_ns {
        None => info.candidate_set.to_string(),
        Some(after) => format!("{}, new {after} after cuts", info.candidate_set),
    }
}

impl FromStr for Aspect {
    type Err = ParseAspectError;

    fn from_str(word: &str) -> Result<Self, ParseAspectError> {
        ASPECTS
            .into_iter()
            .find(|aspect| aspect.name() == word)
            .ok_or_else(|| ParseAspectError {
                word: word.to_owned(),
            })
    }
}

/// Lists the aspects in which the plans of `runs` differ.
pub fn differences(runs: &[RunFacts]) -> Vec<Difference> {
    let forms = Forms::of(runs);
    let difference = |aspect: Aspect| {
        let values: Vec<String> = runs.iter().map(|run| aspect.value(run, forms)).collect();
        let is_other = values.iter().any(|value| *value != values[0]);
        is_other.then_some(Difference { aspect, values })
    };
    let mut found: Vec<Difference> = ASPECTS.into_iter().filter_map(difference).collect();
    if let Some(of_settings) = found.iter_mut().find(|it| it.aspect == Aspect::Settings) {
        of_settings.values = differing(&runs.iter().map(settings).collect::<Vec<_>>());
    }
    // Even for the same scenario, the engines have different settings, because messages have different sizes, and
    // different scales, because the lab is a scaled copy. All compared values are in paper units.
    if are_of_two_engines(runs) {
        found.retain(|it| !matches!(it.aspect, Aspect::Settings | Aspect::Scale));
    }
    found
}

/// Returns true if `runs` has runs of both engines.
pub fn are_of_two_engines<'a>(runs: impl IntoIterator<Item = &'a RunFacts>) -> bool {
    let mut are_kernel = runs
        .into_iter()
        .map(|run| run.info().engine == EngineInfo::Kernel);
    let first = are_kernel.next();
    are_kernel.any(|it| Some(it) != first)
}

/// Forms in which aspects are compared; they must be available in the records of all runs.
#[derive(Clone, Copy)]
struct Forms {
    policies: PolicyText,
    /// True if the loss, marking and local links of all runs are known.
    has_link_details: bool,
    /// True if the parameters that faults set are known for all runs, and not rounded by unlike scales.
    has_fault_details: bool,
}

impl Forms {
    fn of(runs: &[RunFacts]) -> Self {
        let has_link_details = runs.iter().all(|run| !run.info().link_details.is_empty());
        Self {
            policies: PolicyText::of(runs),
            has_link_details,
            has_fault_details: has_link_details && are_scaled_alike(runs),
        }
    }
}

fn are_scaled_alike(runs: &[RunFacts]) -> bool {
    let mut scales = runs.iter().map(|run| run.info().scale);
    let first = scales.next();
    scales.all(|scale| Some(scale) == first)
}

/// Form in which policy parameters are compared; it must be available in the records of all runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PolicyText {
    /// All parameters, with values at the paper's scale.
    Values,
    /// All parameters as in the plan, where times are emulated (after scaling).
    Planned,
    /// Only the parameters that depart from the policy's publication.
    Departures,
}

impl PolicyText {
    fn of(runs: &[RunFacts]) -> Self {
        let settings = runs.iter().flat_map(|run| &run.info().provenance.policies);
        let mut parameterised = settings.filter(|it| it.parameters.is_object());
        match (
            parameterised.all(|it| !it.values.is_empty()),
            are_scaled_alike(runs),
        ) {
            (true, _) => Self::Values,
            (false, true) => Self::Planned,
            (false, false) => Self::Departures,
        }
    }
}

fn network(info: &RunInfo, has_details: bool) -> String {
    let dcs = info.dcs.iter().map(|dc| {
        let legacy = if dc.legacy { " (legacy)" } else { "" };
        format!(
            "{} {}{legacy}",
            dc.name,
            text::count(dc.hosts.len(), "host")
        )
    });
    let links = info.links.iter().map(|link| {
        format!(
            "{} {} {} {}",
            link.name, link.rate_bps, link.delay_ns, link.buffer_bytes
        )
    });
    let details = info.link_details.iter().filter(|_| has_details).cloned();
    let parts = dcs.chain(links).chain(details);
    parts.collect::<Vec<_>>().join(", ")
}

fn faults(info: &RunInfo, has_details: bool) -> String {
    let links = info.faults.iter().map(|fault| {
        let rate = fault.rate_bps.map(text::rate);
        format!(
            "{:?} of {} at {}{}",
            fault.change,
            fault.link,
            text::time_exact(fault.time_ns),
            rate.map_or_else(String::new, |rate| format!(" to {rate}")),
        )
    });
    let agents = info.agent_crashes.iter().map(|crash| {
        let from = text::time_exact(crash.from_ns);
        let to = crash
            .to_ns
            .map_or_else(String::new, |to| format!(" to {}", text::time_exact(to)));
        format!("agent of {} down from {from}{to}", crash.dc)
    });
    let details = info.fault_details.iter().filter(|_| has_details).cloned();
    let faults: Vec<String> = links.chain(agents).chain(details).collect();
    match faults.as_slice() {
        [] => "none".to_owned(),
        faults => faults.join(", "),
    }
}

/// Describes where flows come from; an earlier lcmp-lab's records have only the number of flows.
fn traffic(info: &RunInfo) -> String {
    match info.provenance.traffic.as_slice() {
        [] => text::count(
            usize::try_from(info.scheduled_flows).unwrap_or(usize::MAX),
            "flow",
        ),
        sources => sources.join("; "),
    }
}

/// Lists the policies with their parameters; records of an earlier lcmp-lab have only labels.
fn policies(info: &RunInfo, of: PolicyText) -> String {
    let settings = &info.provenance.policies;
    if settings.is_empty() {
        return info.policies.join(", ");
    }
    let joined = |parts: Vec<String>| match parts.as_slice() {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    };
    let policy = |it: &PolicySettings| {
        let parameters = match of {
            PolicyText::Values => {
                let values = it.values.iter();
                joined(
                    values
                        .map(|it| format!("{} {}", it.parameter, it.value))
                        .collect(),
                )
            }
            PolicyText::Planned if it.parameters.is_object() => format!(" {}", it.parameters),
            PolicyText::Planned => String::new(),
            PolicyText::Departures => joined(it.departures.iter().map(Departure::short).collect()),
        };
        format!("{}{parameters}", it.policy)
    };
    settings.iter().map(policy).collect::<Vec<_>>().join(", ")
}

/// Returns the time limit `--until` as text; records of an earlier lcmp-lab do not have it.
fn until(info: &RunInfo) -> String {
    let asked = info.provenance.asked.as_ref();
    let until = asked.and_then(|asked| asked.options.until_ns);
    until.map_or_else(|| "the last flow's end".to_owned(), text::time_exact)
}

fn engine(info: &RunInfo) -> String {
    match &info.engine {
        EngineInfo::Kernel => "kernel".to_owned(),
        EngineInfo::Sim(sim) => {
            let mut cc = sim.cc.clone();
            cc.dedup();
            let trains = match sim.trains {
                None => String::new(),
                Some(length) => format!(", trains of {length}"),
            };
            format!(
                "sim, semantics {:?}, {}{trains}",
                sim.semantics,
                cc.join("/")
            )
            .to_lowercase()
        }
    }
}

/// Returns the parts of the plan that no other aspect covers, by name; empty if the records have none.
fn settings(run: &RunFacts) -> BTreeMap<String, String> {
    let known: Option<PlanSettings> = match &run.info().provenance.settings {
        Some(settings) => PlanSettings::deserialize(settings).ok(),
        None => run.plan().ok().flatten(),
    };
    let plan = known.unwrap_or_default();
    let parts = [plan.transport, plan.rdma, plan.measure];
    let values = parts
        .into_iter()
        .flatten()
        .map(|(name, value)| (name, value.to_string()));
    let age = plan
        .max_table_age_ns
        .map(|age| ("max_table_age_ns".to_owned(), age.to_string()));
    let mut settings: BTreeMap<String, String> = values.chain(age).collect();
    // The deadline is derived from the flows, so it is no setting of its own.
    settings.remove("flow_deadline_ns");
    settings
}

/// Returns, for each run, the settings that are not equal in all runs.
fn differing(runs: &[BTreeMap<String, String>]) -> Vec<String> {
    let is_other = |name: &String| runs.iter().any(|run| run.get(name) != runs[0].get(name));
    let of_run = |run: &BTreeMap<String, String>| {
        let others = run
            .iter()
            .filter(|(name, _)| is_other(name))
            .map(|(name, value)| (name.clone(), value.clone()));
        listed(&others.collect())
    };
    runs.iter().map(of_run).collect()
}

fn listed(settings: &BTreeMap<String, String>) -> String {
    let entries = settings
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    entries.collect::<Vec<_>>().join(", ")
}

/// Parts of the plan that no other aspect covers.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanSettings {
    transport: BTreeMap<String, Value>,
    rdma: BTreeMap<String, Value>,
    measure: BTreeMap<String, Value>,
    max_table_age_ns: Option<Value>,
}

const ASPECTS: [Aspect; 12] = [
    Aspect::Scenario,
    Aspect::Network,
    Aspect::Candidates,
    Aspect::Faults,
    Aspect::Traffic,
    Aspect::Policies,
    Aspect::Seed,
    Aspect::Repetitions,
    Aspect::Scale,
    Aspect::Until,
    Aspect::Engine,
    Aspect::Settings,
];
