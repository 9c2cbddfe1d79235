//! Policies with their parameters resolved, and the path scores that depend on them.
//!
//! Path scores are computed here, from paper quantities. What a switch agent computes with later —
//! sampling, garbage collection, idle time-out — is in the time of the emulated network.

use lab_parameters::{Preset, Value};
use lab_policy::{
    lcmp::{LcmpConfig, delay_of_shift, path_score},
    own, ucmp, ucmp_artifact, wcmp,
};
use lab_scenario::{OwnSpec, PolicySpec, Settings};
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::{
    error::PlanError,
    model::{Candidate, Destination, EbpfPlan, LinkKind, PolicyPlan, PolicyRun, Scale, Switch},
    network::Network,
    parameters::resolve,
    round_trip::RoundTrips,
};

/// Inputs of a policy's parameters.
pub(crate) struct Surroundings<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
    pub scale: &'a Scale,
    pub trips: RoundTrips,
}

/// Resolves `specs`, whose labels differ; if `wanted` is given, those whose label is in it.
pub(crate) fn runs(
    specs: &[PolicySpec],
    wanted: Option<&[String]>,
    surroundings: &Surroundings<'_>,
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
    let runs = chosen.map(|(index, spec)| run(index, spec, surroundings));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        return Err(PlanError::NoPolicies);
    }
    Ok(runs)
}

fn run(
    index: usize,
    spec: &PolicySpec,
    surroundings: &Surroundings<'_>,
) -> Result<PolicyRun, PlanError> {
    let path = |key: &str| format!("policies[{index}].{key}");
    let scale = surroundings.scale;
    let policy = match spec {
        PolicySpec::Ecmp => PolicyPlan::Ecmp,
        PolicySpec::Wcmp => PolicyPlan::Wcmp,
        PolicySpec::Ucmp(settings) => {
            PolicyPlan::Ucmp(resolve(&path("ucmp"), settings, Preset::Paper, &[], scale)?)
        }
        PolicySpec::UcmpArtifact => PolicyPlan::UcmpArtifact,
        PolicySpec::Te(settings) => {
            PolicyPlan::Te(resolve(&path("te"), settings, Preset::Paper, &[], scale)?)
        }
        PolicySpec::Lcmp(settings) => {
            PolicyPlan::Lcmp(lcmp(&path("lcmp"), settings, surroundings)?)
        }
        PolicySpec::Own(spec) => PolicyPlan::Own(known_own(&path("own"), spec)?),
        PolicySpec::Ebpf(spec) => PolicyPlan::Ebpf(EbpfPlan {
            object: spec.object.clone(),
            parameters: table_parameters(&path("ebpf"), surroundings)?,
        }),
    };
    Ok(PolicyRun {
        label: spec.label().to_owned(),
        path_scores: path_scores(surroundings.switches, &policy),
        buckets: buckets(surroundings.switches, &policy),
        policy,
    })
}

fn path_scores(switches: &[Switch], policy: &PolicyPlan) -> Vec<Vec<Vec<u8>>> {
    if policy.lcmp().is_none() {
        return Vec::new();
    }
    of_destinations(switches, |row| {
        let candidates = row.candidates.iter();
        candidates
            .map(|candidate| path_score_of(policy, candidate))
            .collect()
    })
}

/// C_path of a candidate; 0 where the policy has no path scores.
pub(crate) fn path_score_of(policy: &PolicyPlan, candidate: &Candidate) -> u8 {
    policy
        .lcmp()
        .map_or(0, |config| candidate.path_score(config))
}

impl Candidate {
    /// C_path by LCMP with the parameters `config`.
    #[must_use]
    pub fn path_score(&self, config: &LcmpConfig) -> u8 {
        let (delay, capacity) = scored(self, config.preset);
        path_score(delay, capacity, config)
    }
}

fn buckets(switches: &[Switch], policy: &PolicyPlan) -> Vec<Vec<Vec<u16>>> {
    match policy {
        PolicyPlan::Ecmp | PolicyPlan::Lcmp(_) | PolicyPlan::Own(_) | PolicyPlan::Ebpf(_) => {
            Vec::new()
        }
        PolicyPlan::Wcmp | PolicyPlan::Ucmp(_) | PolicyPlan::UcmpArtifact | PolicyPlan::Te(_) => {
            of_destinations(switches, |row| buckets_of(policy, row))
        }
    }
}

/// Hash buckets of a destination's candidates as provisioned: before any demand, and for a flow's
/// first packet.
pub(crate) fn buckets_of(policy: &PolicyPlan, row: &Destination) -> Vec<u16> {
    let candidates = &row.candidates;
    let by = |capacity: fn(&Candidate) -> BitsPerSec| -> Vec<BitsPerSec> {
        candidates.iter().map(capacity).collect()
    };
    let buckets = match policy {
        PolicyPlan::Ecmp | PolicyPlan::Lcmp(_) | PolicyPlan::Own(_) | PolicyPlan::Ebpf(_) => {
            return vec![1; candidates.len()];
        }
        PolicyPlan::Wcmp | PolicyPlan::Te(_) => {
            wcmp::buckets(&by(|candidate| candidate.paper_bottleneck_bps))
        }
        PolicyPlan::Ucmp(config) => ucmp::buckets(&ucmp_paths(row), Bytes::ZERO, config),
        PolicyPlan::UcmpArtifact => {
            ucmp_artifact::buckets(&by(|candidate| candidate.paper_first_link_bps))
        }
    };
    buckets[..candidates.len()].to_vec()
}

/// A destination's candidates as UCMP's paths.
pub(crate) fn ucmp_paths(row: &Destination) -> Vec<ucmp::Path> {
    let path = |candidate: &Candidate| ucmp::Path {
        delay: candidate.paper_delay_ns,
        capacity: candidate.paper_bottleneck_bps,
        hops: row.hops,
    };
    row.candidates.iter().map(path).collect()
}

/// Returns `of` of each destination, switch by switch.
fn of_destinations<T>(switches: &[Switch], of: impl Fn(&Destination) -> T) -> Vec<Vec<T>> {
    let by_switch = switches
        .iter()
        .map(|switch| switch.destinations.iter().map(&of).collect());
    by_switch.collect()
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
        hint: format!(" (hint: compiled in are `{}`)", names.join("`, `")),
    })
}

/// The delay and capacity a preset scores a candidate by: end to end, or of the first link.
pub(crate) fn scored(candidate: &Candidate, preset: Preset) -> (Nanos, BitsPerSec) {
    match preset {
        Preset::Paper => (candidate.paper_delay_ns, candidate.paper_bottleneck_bps),
        Preset::Artifact => (
            candidate.paper_first_link_delay_ns,
            candidate.paper_first_link_bps,
        ),
    }
}

fn lcmp(
    path: &str,
    settings: &Settings,
    surroundings: &Surroundings<'_>,
) -> Result<LcmpConfig, PlanError> {
    let derived = [
        (
            "max_capacity",
            Value::Rate(largest_rate(surroundings.network)),
        ),
        (
            "idle_timeout",
            Value::Time(idle_timeout(surroundings.trips)),
        ),
    ];
    resolve(path, settings, Preset::Paper, &derived, surroundings.scale)
}

/// What a switch program of the user's own finds in its tables: the paper's scores, of delays up to
/// that of the longest path, so that no two paths are alike only for being long.
fn table_parameters(path: &str, surroundings: &Surroundings<'_>) -> Result<LcmpConfig, PlanError> {
    let mut parameters = lcmp(path, &Settings::default(), surroundings)?;
    let rows = surroundings
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

/// Five times the longest base RTT, already emulated; a lab without delays still has a second.
fn idle_timeout(trips: RoundTrips) -> Nanos {
    Nanos::new(trips.base.get().saturating_mul(5)).max(Nanos::from_millis(1_000))
}

/// The largest rate of an inter-DC link, in paper units.
fn largest_rate(network: &Network) -> BitsPerSec {
    let inter_dc = network
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    let largest = inter_dc.map(|link| link.paper.rate_bps).max();
    // A lab of one datacenter has no path to score.
    largest.unwrap_or(LcmpConfig::ARTIFACT.max_capacity_bps)
}
