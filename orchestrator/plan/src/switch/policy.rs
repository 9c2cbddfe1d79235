//! Resolution of policies: parameters, path costs and hash buckets.
//!
//! Path costs are computed from paper quantities. The intervals of a switch agent (sampling, flow-cache garbage
//! collection, idle timeout) are in emulated time.

use lab_parameters::{Preset, TeConfig, Value};
use lab_policy::{
    lcmp::{LcmpConfig, delay_of_shift, path_score},
    own, redte,
};
use lab_redte::{Weights, fingerprint, shipped};
use lab_scenario::{Files, OwnSpec, PolicySpec, Settings, TrainedSpec, WeightSource};
use lab_units::{BitsPerSec, Nanos};

use crate::{
    error::PlanError,
    fabric::te_topology::{paper_capacities, te_topology},
    model::{Candidate, Destination, EbpfPlan, PolicyPlan, PolicyRun, Scale, Switch, TrainedPlan},
    network::Network,
    parameters::resolve,
    round_trip::RoundTrips,
};

/// Inputs from which a policy's parameters are resolved.
pub(crate) struct Inputs<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
    pub scale: &'a Scale,
    pub trips: RoundTrips,
    /// Texts of the files that the scenario names.
    pub files: &'a Files,
}

/// Resolves the policies `specs`, whose labels are distinct; if `wanted` is given, only the policies whose label it
/// contains.
pub(crate) fn runs(
    specs: &[PolicySpec],
    wanted: Option<&[String]>,
    inputs: &Inputs<'_>,
) -> Result<Vec<PolicyRun>, PlanError> {
    let labels: Vec<&str> = specs.iter().map(PolicySpec::label).collect();
    for name in wanted.unwrap_or_default() {
        if !labels.contains(&name.as_str()) {
            return Err(PlanError::Unknown {
                path: "policies".to_owned(),
                what: "policy",
                name: name.clone(),
                hint: format!(" (hint: there are `{}`)", labels.join("`, `")),
            });
        }
    }
    let chosen = specs.iter().enumerate().filter(|(_, spec)| {
        let listed = |names: &[String]| names.iter().any(|name| name == spec.label());
        wanted.is_none_or(listed)
    });
    let runs = chosen
        .map(|(index, spec)| run(index, spec, inputs))
        .collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        return Err(PlanError::NoPolicies);
    }
    Ok(runs)
}

fn run(index: usize, spec: &PolicySpec, inputs: &Inputs<'_>) -> Result<PolicyRun, PlanError> {
    let path = |key: &str| format!("policies[{index}].{key}");
    let scale = inputs.scale;
    let policy = match spec {
        PolicySpec::Buckets(policy) => PolicyPlan::Buckets(policy),
        PolicySpec::Ucmp(settings) => {
            PolicyPlan::Ucmp(resolve(&path("ucmp"), settings, Preset::Paper, &[], scale)?)
        }
        PolicySpec::Te(settings) => {
            PolicyPlan::Te(resolve(&path("te"), settings, Preset::Paper, &[], scale)?)
        }
        PolicySpec::Trained(spec) => {
            PolicyPlan::Trained(trained(&path(redte::name(spec.trainer)), spec, inputs)?)
        }
        PolicySpec::Lcmp(settings) => PolicyPlan::Lcmp(lcmp(&path("lcmp"), settings, inputs)?),
        PolicySpec::Own(spec) => PolicyPlan::Own(known_own(&path("own"), spec)?),
        PolicySpec::Ebpf(spec) => PolicyPlan::Ebpf(EbpfPlan {
            object: spec.object.clone(),
            parameters: table_parameters(&path("ebpf"), inputs)?,
        }),
    };
    Ok(PolicyRun {
        label: spec.label().to_owned(),
        path_scores: path_scores(inputs.switches, &policy),
        buckets: buckets(inputs.switches, &policy),
        policy,
    })
}

fn path_scores(switches: &[Switch], policy: &PolicyPlan) -> Vec<Vec<Vec<u8>>> {
    if policy.lcmp().is_none() {
        return Vec::new();
    }
    of_destinations(switches, |row| {
        row.candidates
            .iter()
            .map(|candidate| path_score_of(policy, candidate))
            .collect()
    })
}

/// Returns the path cost C_path of a candidate; 0 if the policy has no path costs.
pub(crate) fn path_score_of(policy: &PolicyPlan, candidate: &Candidate) -> u8 {
    policy
        .lcmp()
        .map_or(0, |config| candidate.path_score(config))
}

impl Candidate {
    /// Returns the path cost C_path of this candidate under LCMP's parameters `config`.
    #[must_use]
    pub fn path_score(&self, config: &LcmpConfig) -> u8 {
        let (delay, capacity) = scored(self, config.preset);
        path_score(delay, capacity, config)
    }
}

fn buckets(switches: &[Switch], policy: &PolicyPlan) -> Vec<Vec<Vec<u16>>> {
    // A policy assigns buckets either to all paths or to none.
    if policy.buckets(&[]).is_none() {
        return Vec::new();
    }
    of_destinations(switches, |row| buckets_of(policy, row))
}

/// Returns each candidate's number of hash buckets for a destination, as installed at the start of a run; traffic
/// engineering replaces these numbers once it has measured demands.
pub(crate) fn buckets_of(policy: &PolicyPlan, row: &Destination) -> Vec<u16> {
    let paths: Vec<_> = row
        .candidates
        .iter()
        .map(|candidate| candidate.path(row.hops))
        .collect();
    match policy.buckets(&paths) {
        Some(buckets) => buckets[..paths.len()].to_vec(),
        None => vec![1; paths.len()],
    }
}

/// Applies `of` to every destination of every switch.
fn of_destinations<T>(switches: &[Switch], of: impl Fn(&Destination) -> T) -> Vec<Vec<T>> {
    switches
        .iter()
        .map(|switch| switch.destinations.iter().map(&of).collect())
        .collect()
}

/// Returns the plan of a policy with trained weights: from the file that the scenario names, from a training for the
/// scenario, or the program's own for its inter-DC network. An empty text stands for weights that are not trained yet.
fn trained(path: &str, spec: &TrainedSpec, inputs: &Inputs<'_>) -> Result<TrainedPlan, PlanError> {
    let topology = te_topology(inputs.network, inputs.switches);
    let capacities = paper_capacities(&inputs.network.links);
    let file = spec.file();
    let text =
        match file.as_deref() {
            Some(file) => {
                let text = inputs.files.get(file).map(String::as_str);
                text.ok_or_else(|| PlanError::MissingFile {
                    path: format!("{path}.weights"),
                    file: file.to_owned(),
                })?
            }
            None => shipped::find(spec.trainer, &fingerprint(&topology, &capacities)).ok_or_else(
                || PlanError::NoWeights {
                    path: path.to_owned(),
                    trainer: spec.trainer,
                },
            )?,
        };
    if text.is_empty() && matches!(spec.weights, WeightSource::Trained(_)) {
        return Ok(TrainedPlan {
            trainer: spec.trainer,
            interval_ns: inputs.scale.time(path, TeConfig::DEFAULT.interval_ns)?,
            buckets: TeConfig::DEFAULT.buckets,
            weights: String::new(),
        });
    }
    let refused = |source| PlanError::Weights {
        path: path.to_owned(),
        file: file.as_deref().map(str::to_owned),
        source,
    };
    let weights = Weights::decode(text).map_err(refused)?;
    let header = &weights.header;
    if header.trainer != spec.trainer {
        return Err(PlanError::OtherTrainer {
            path: path.to_owned(),
            found: header.trainer,
            policy: redte::name(header.trainer),
        });
    }
    let interval_ns = inputs.scale.time(path, header.paper_interval_ns)?;
    weights.actors(&topology, &capacities).map_err(refused)?;
    Ok(TrainedPlan {
        trainer: spec.trainer,
        interval_ns,
        buckets: TeConfig::DEFAULT.buckets,
        weights: text.to_owned(),
    })
}

fn known_own(path: &str, spec: &OwnSpec) -> Result<String, PlanError> {
    if own::find(&spec.name).is_some() {
        return Ok(spec.name.clone());
    }
    let names: Vec<&str> = own::ALL.iter().map(|policy| policy.name()).collect();
    Err(PlanError::Unknown {
        path: format!("{path}.name"),
        what: "policy",
        name: spec.name.clone(),
        hint: format!(
            " (hint: the policies compiled in are `{}`)",
            names.join("`, `")
        ),
    })
}

/// Returns the delay and capacity from which `preset` computes the path cost: the whole path's with `paper`, the first
/// link's with `artifact`.
pub(crate) fn scored(candidate: &Candidate, preset: Preset) -> (Nanos, BitsPerSec) {
    match preset {
        Preset::Paper => (candidate.paper_delay_ns, candidate.paper_bottleneck_bps),
        Preset::Artifact => (
            candidate.paper_first_link_delay_ns,
            candidate.paper_first_link_bps,
        ),
    }
}

fn lcmp(path: &str, settings: &Settings, inputs: &Inputs<'_>) -> Result<LcmpConfig, PlanError> {
    let derived = [
        ("max_capacity", Value::Rate(largest_rate(inputs.network))),
        ("idle_timeout", Value::Time(idle_timeout(inputs.trips))),
    ];
    resolve(path, settings, Preset::Paper, &derived, inputs.scale)
}

/// Returns the parameters for the tables of a user-defined switch program: the paper's, but with a `max_delay` above
/// the longest path's delay, so that no two paths get equal costs by saturation.
fn table_parameters(path: &str, inputs: &Inputs<'_>) -> Result<LcmpConfig, PlanError> {
    let mut parameters = lcmp(path, &Settings::default(), inputs)?;
    let rows = inputs
        .switches
        .iter()
        .flat_map(|switch| &switch.destinations);
    let delays = rows
        .flat_map(|row| &row.candidates)
        .map(|candidate| candidate.paper_delay_ns);
    let longest = delays.max().unwrap_or(Nanos::ZERO).get() / 1_000;
    let above = u64::BITS - longest.leading_zeros();
    let shift = u8::try_from(above).unwrap_or(u8::MAX);
    let longest = delay_of_shift(shift, parameters.preset);
    parameters.max_delay_ns = parameters.max_delay_ns.max(longest);
    Ok(parameters)
}

/// Returns LCMP's idle timeout: five times the longest base RTT after scaling, and at least one second.
fn idle_timeout(trips: RoundTrips) -> Nanos {
    Nanos::new(trips.base.get().saturating_mul(5)).max(Nanos::from_millis(1_000))
}

/// Returns the maximum rate of an inter-DC link at the paper's scale, LCMP's `max_capacity`.
fn largest_rate(network: &Network) -> BitsPerSec {
    let largest = paper_capacities(&network.links).into_iter().flatten().max();
    // A lab without inter-DC links has no paths to score, so any value will do.
    largest.unwrap_or(LcmpConfig::ARTIFACT.max_capacity_bps)
}
