//! Origin of a run of this process: its command, its commit, and what its scenario asks for.

use std::env;

use lab_parameters::Preset;
use lab_plan::Plan;
use lab_records::{Asked, Departure, PolicySettings, Provenance};
use lab_scenario::{Arrivals, LoadBase, Pairs, PolicySpec, Scenario, Settings, Traffic, Workload};
use lab_units::{Ratio, show::about_time};

use crate::departures::departures;

/// Returns the origin of a run of `plan`, which was made from `scenario` with the options `asked`.
pub fn provenance(scenario: &Scenario, plan: &Plan, asked: Asked) -> Provenance {
    let policies = plan.policies.iter().map(|run| PolicySettings {
        policy: run.label.clone(),
        parameters: serde_json::to_value(&run.policy).expect("a policy is plain data"),
        departures: departures_of(scenario, &run.label),
    });
    Provenance {
        command: command(),
        tool_commit: env!("LCMP_LAB_COMMIT").to_owned(),
        traffic: scenario.traffic.iter().map(traffic).collect(),
        policies: policies.collect(),
        assumed: assumed(scenario),
        asked: Some(asked),
    }
}

/// Returns the parameters in which the policy `label` of `scenario` departs from its publication.
fn departures_of(scenario: &Scenario, label: &str) -> Vec<Departure> {
    let mut policies = scenario.policies.iter();
    let policy = policies.find(|policy| policy.label() == label);
    policy.map(departures).unwrap_or_default()
}

/// Returns the command line: of this process, or of the one on the host that booted this guest.
pub fn command() -> Vec<String> {
    let of_host = env::var(COMMAND_VARIABLE).ok();
    let of_host = of_host.and_then(|text| serde_json::from_str(&text).ok());
    of_host.unwrap_or_else(|| {
        env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    })
}

/// Returns [`command`] as the value of [`COMMAND_VARIABLE`].
pub fn command_text() -> String {
    serde_json::to_string(&command()).expect("words are plain data")
}

fn traffic(source: &Traffic) -> String {
    match source {
        Traffic::Workload(workload) => workload_text(workload),
        Traffic::Flows(flows) => format!("flows listed in the scenario: {}", flows.len()),
        Traffic::FlowFile { path } => format!("flows of the file `{path}`"),
    }
}

fn workload_text(workload: &Workload) -> String {
    let pairs = match &workload.pairs {
        Pairs::AllToAll => "all pairs of datacenters".to_owned(),
        Pairs::Listed(pairs) => {
            let arrow = |both_ways| if both_ways { "↔" } else { "→" };
            let pairs = pairs
                .iter()
                .map(|pair| format!("{}{}{}", pair.from, arrow(pair.both_ways), pair.to));
            pairs.collect::<Vec<_>>().join(", ")
        }
    };
    let base = match workload.load_base {
        LoadBase::HostNic => "the hosts' links",
        LoadBase::DciEgress => "the datacenter's inter-DC links",
    };
    let arrivals = match workload.arrivals {
        Arrivals::Poisson => "Poisson arrivals",
        Arrivals::Even => "even arrivals",
    };
    let limit = workload.max_flows;
    let limit = limit.map_or_else(String::new, |max| format!(", at most {max} flows"));
    format!(
        "sizes of `{}`, {pairs}, load {} % of {base}, {arrivals} over {}{limit}",
        workload.sizes,
        percent(workload.load),
        about_time(workload.duration),
    )
}

/// Returns a share in percent, to the nearest hundredth.
fn percent(share: Ratio) -> String {
    let hundredths = share.scale_nearest(10_000);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns what the scenario takes from the authors' code or from a fit to their outputs.
fn assumed(scenario: &Scenario) -> Vec<String> {
    let mut assumed = Vec::new();
    for policy in &scenario.policies {
        if let PolicySpec::Lcmp(Settings {
            preset: Some(Preset::Artifact),
            values,
            ..
        }) = policy
        {
            let label = policy.label();
            assumed.push(match values.get("max_delay") {
                Some(delay) => format!(
                    "{label}: the constants of the authors' code, but `max_delay` is {delay}, which was \
                     fitted to published outputs (their code has 32 ms)"
                ),
                None => format!("{label}: the constants of the authors' code"),
            });
        }
    }
    if let Some(routes) = &scenario.transport.routes {
        assumed.push(format!(
            "the order of equal next hops is that of the authors' routing table `{routes}`"
        ));
    }
    assumed
}

/// Environment variable by which the host passes its command line to the guest.
pub const COMMAND_VARIABLE: &str = "LCMP_LAB_COMMAND";
