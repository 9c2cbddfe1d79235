//! Origin of a run: command line, commit, and the scenario's parameters and their sources.

use std::env;

use lab_parameters::{Parameter, ParameterSet, Preset, Value};
use lab_plan::{Plan, PolicyPlan, PolicyRun, TrainedPlan};
use lab_records::{Asked, Departure, ParameterValue, PolicySettings, Provenance};
use lab_scenario::{
    Arrivals, DemandMatrix, FlowProcess, LoadBase, Pairs, PolicySpec, Scenario, Settings, Traffic,
    Workload,
};
use lab_units::{
    Ratio,
    show::{about_time, counted},
};

use crate::departures::{departures, shown};

/// Returns the origin of a run of `plan`, which was made from `scenario` with the command-line options `asked`.
pub fn provenance(scenario: &Scenario, plan: &Plan, asked: Asked) -> Provenance {
    let policies = plan.policies.iter().map(|run| PolicySettings {
        policy: run.label.clone(),
        parameters: parameters_of(&run.policy),
        values: values_of(scenario, run),
        departures: departures_of(scenario, &run.label),
    });
    Provenance {
        command: command(),
        tool_commit: env!("LCMP_LAB_COMMIT").to_owned(),
        traffic: scenario.traffic.iter().map(traffic).collect(),
        policies: policies.collect(),
        assumed: assumed(scenario),
        settings: (!asked.options.records.is_full()).then(|| settings_of(plan)),
        asked: Some(asked),
    }
}

/// Returns the settings by which runs are compared, with the names that they have in `plan.json`.
fn settings_of(plan: &Plan) -> serde_json::Value {
    serde_json::json!({
        "transport": plan.transport,
        "rdma": plan.rdma,
        "measure": plan.measure,
        "max_table_age_ns": plan.max_table_age_ns,
    })
}

/// Returns the parameters of a policy as in `plan.json`, but with trained weights replaced by their hash.
fn parameters_of(policy: &PolicyPlan) -> serde_json::Value {
    let mut policy = policy.clone();
    if let PolicyPlan::Trained(trained) = &mut policy {
        trained.weights = trained.hash().to_owned();
    }
    serde_json::to_value(policy).expect("a policy is plain data")
}

/// Lists the parameters in which the policy `label` of `scenario` departs from its publication.
fn departures_of(scenario: &Scenario, label: &str) -> Vec<Departure> {
    let policy = scenario
        .policies
        .iter()
        .find(|policy| policy.label() == label);
    policy.map(departures).unwrap_or_default()
}

/// Lists the parameters of the policy of `run` at the paper's scale (before scaling for emulation), each with the value
/// that the engine used if the two differ.
fn values_of(scenario: &Scenario, run: &PolicyRun) -> Vec<ParameterValue> {
    let spec = scenario
        .policies
        .iter()
        .find(|policy| policy.label() == run.label);
    match (spec, &run.policy) {
        (Some(PolicySpec::Lcmp(settings)), PolicyPlan::Lcmp(used)) => values(settings, used),
        (Some(PolicySpec::Ucmp(settings)), PolicyPlan::Ucmp(used)) => values(settings, used),
        (Some(PolicySpec::Te(settings)), PolicyPlan::Te(used)) => values(settings, used),
        (_, PolicyPlan::Trained(used)) => values_of_weights(used),
        (_, PolicyPlan::Ebpf(plan)) => values(&Settings::default(), &plan.parameters),
        _ => Vec::new(),
    }
}

/// Lists the parameters of a policy with trained weights, and the weights' origin.
fn values_of_weights(used: &TrainedPlan) -> Vec<ParameterValue> {
    let Some(header) = used.header() else {
        return Vec::new();
    };
    let value = |parameter: &str, value: String| ParameterValue {
        parameter: parameter.to_owned(),
        value,
        emulated: None,
    };
    let is_scaled = used.interval_ns != header.paper_interval_ns;
    vec![
        ParameterValue {
            emulated: is_scaled.then(|| used.interval_ns.to_string()),
            ..value("interval", header.paper_interval_ns.to_string())
        },
        value("buckets", used.buckets.to_string()),
        value("trainer", used.trainer.to_string()),
        value("training scenario", header.scenario),
        value("training seed", header.seed.to_string()),
        value("training steps", header.steps.to_string()),
        value("weights", format!("SHA-256 {}", used.hash())),
    ]
}

fn values<S: ParameterSet>(settings: &Settings, used: &S) -> Vec<ParameterValue> {
    let preset = settings.preset.unwrap_or_default();
    let declared = S::PARAMETERS
        .iter()
        .filter(|parameter| parameter.is_of(preset));
    let value = |parameter: &Parameter| {
        let used = used.get(parameter.name);
        let given = settings.values.get(parameter.name).copied();
        let words =
            |value: Option<Value>| value.map_or_else(|| "none".to_owned(), |it| it.to_string());
        let derived = parameter
            .derived
            .filter(|_| given.is_none() && preset == Preset::Paper);
        let (value, emulated) = match (used, derived) {
            // Derived values, which depend on the topology, are in emulated units.
            (Some(used), Some(derived)) if parameter.is_scaled => {
                (derived.to_owned(), Some(shown(used)))
            }
            (None, Some(derived)) => (derived.to_owned(), None),
            (Some(Value::Time(_) | Value::Rate(_) | Value::Size(_)), _) if parameter.is_scaled => {
                let paper = given.or_else(|| S::preset(preset).get(parameter.name));
                (words(paper), used.filter(|_| paper != used).map(shown))
            }
            _ => (words(used), None),
        };
        ParameterValue {
            parameter: parameter.name.to_owned(),
            value,
            emulated,
        }
    };
    let preset = (preset == Preset::Artifact).then(|| ParameterValue {
        parameter: "preset".to_owned(),
        value: preset.to_string(),
        emulated: None,
    });
    preset.into_iter().chain(declared.map(value)).collect()
}

/// Returns the arguments of this process, the program name first.
fn command() -> Vec<String> {
    let words = env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

fn traffic(source: &Traffic) -> String {
    match source {
        Traffic::Workload(workload) => workload_text(workload),
        Traffic::Demands(matrix) => matrix_text(matrix),
        Traffic::Flows(flows) => format!("flows listed in the scenario: {}", flows.len()),
        Traffic::FlowFile { path } => format!("flows of the file `{path}`"),
    }
}

fn workload_text(workload: &Workload) -> String {
    let pairs = match &workload.pairs {
        Pairs::AllToAll => "all pairs of datacenters".to_owned(),
        Pairs::Listed(pairs) => {
            let arrow = |both_ways| if both_ways { "↔" } else { "→" };
            pairs
                .iter()
                .map(|pair| format!("{}{}{}", pair.from, arrow(pair.both_ways), pair.to))
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    let base = match workload.load_base {
        LoadBase::HostNic => "the hosts' links",
        LoadBase::DciEgress => "the datacenter's inter-DC links",
        LoadBase::BusiestLink => "the busiest inter-DC link under an even split",
        LoadBase::MinCut => "the tightest cut of the inter-DC network",
    };
    format!(
        "sizes of `{}`, {pairs}, load {} % of {base}, {}",
        workload.sizes,
        percent(workload.load),
        process_text(&workload.process),
    )
}

fn matrix_text(matrix: &DemandMatrix) -> String {
    let pairs = u64::try_from(matrix.rates.len()).unwrap_or(u64::MAX);
    format!(
        "sizes of `{}`, rates of `{}` for {}, scale {} %, {}",
        matrix.sizes,
        matrix.file,
        counted(pairs, "pair"),
        percent(matrix.scale),
        process_text(&matrix.process),
    )
}

fn process_text(process: &FlowProcess) -> String {
    let arrivals = match process.arrivals {
        Arrivals::Poisson => "Poisson arrivals",
        Arrivals::Even => "even arrivals",
    };
    let bursts = process
        .bursts
        .map_or_else(String::new, |length| format!(" in bursts of {length}"));
    let limit = process
        .max_flows
        .map_or_else(String::new, |max| format!(", at most {max} flows"));
    let enough = process.target_flows.map_or_else(String::new, |target| {
        format!(" or until about {target} flows")
    });
    let least = process.min_duration.map_or_else(String::new, |min| {
        format!(", but for at least {}", about_time(min))
    });
    let duration = about_time(process.duration);
    format!("{arrivals}{bursts} over {duration}{enough}{least}{limit}")
}

/// Formats a share in percent, rounded to hundredths, without trailing zeros.
fn percent(share: Ratio) -> String {
    let hundredths = share.scale_nearest(10_000);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Lists the scenario's settings that come from the authors' code or were fitted to the authors' outputs.
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
            "next hops of equal cost are in the order of the authors' routing table `{routes}`"
        ));
    }
    assumed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab_plan::{Engine, PlanOptions};
    use lab_redte::{Divisors, Header, Weights, weights::FORMAT};
    use lab_units::{Nanos, Trainer};

    use super::*;

    /// In the lab, times are ten times longer: 1 ms between samples becomes 10 ms, and TE's interval of 100 ms becomes
    /// 1 s. Path costs are computed from the paper's rates and delays at any scale.
    #[test]
    fn parameters_are_the_papers_and_the_labs_are_marked() {
        let text = "name: test\ntopology:\n  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }]\n  links: \
                    [{ between: [a, b], rate: 1 Gbit, delay: 1 ms }]\ntraffic:\n  - flows: [{ from: a/h1, to: \
                    b/h1, size: 1 MB }]\npolicies: [ecmp, te-100ms, { lcmp: { max_delay: 65536 us } }]\n\
                    scale: { rate: 1/100, time: 10 }\n";
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
        let values = |engine, is_scaled| {
            let options = PlanOptions {
                engine,
                is_scaled,
                ..PlanOptions::default()
            };
            let files = lab_scenario::Files::new();
            let plan = lab_plan::resolve(&scenario, text, &files, &options).unwrap();
            let provenance = provenance(&scenario, &plan, Asked::default());
            provenance
                .policies
                .into_iter()
                .map(|it| it.values)
                .collect::<Vec<_>>()
        };
        let text = |values: &[ParameterValue]| {
            values
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let lab = values(Engine::Kernel, true);
        assert_eq!(text(&lab[0]), "");
        assert_eq!(text(&lab[1]), "interval 100 ms (1 s emulated), buckets 100");
        let lcmp = text(&lab[2]);
        for part in [
            "alpha 3, beta 1,",
            "max_delay 65536 us,",
            "sample_interval 1 ms (10 ms emulated)",
        ] {
            assert!(lcmp.contains(part), "{part}: {lcmp}");
        }
        let sim = values(Engine::Sim, false);
        assert_eq!(text(&sim[1]), "interval 100 ms, buckets 100");
        let paper = |values: &[ParameterValue]| {
            values
                .iter()
                .map(|it| (it.parameter.clone(), it.value.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(paper(&lab[2]), paper(&sim[2]));
    }

    #[test]
    fn trained_weights_are_recorded_as_their_hash_and_origin() {
        let interval = Nanos::from_millis(100);
        let weights = Weights {
            header: Header {
                format: FORMAT,
                scenario: "8dc".to_owned(),
                topology: String::new(),
                divisors: Divisors {
                    utilisation: 1.0,
                    demand: 1.0,
                },
                shapes: Vec::new(),
                paper_interval_ns: interval,
                lag: 1,
                trainer: Trainer::Direct,
                options: BTreeMap::new(),
                seed: 3,
                steps: 440,
                version: String::new(),
                scores: BTreeMap::new(),
            },
            networks: Vec::new(),
        };
        let plan = TrainedPlan {
            trainer: Trainer::Direct,
            interval_ns: Nanos::from_millis(1_000),
            buckets: 100,
            weights: weights.encode(),
        };
        let hash = plan.hash();
        let values = values_of_weights(&plan);
        let text: Vec<String> = values.iter().map(ToString::to_string).collect();
        let expected = format!(
            "interval 100 ms (1 s emulated), buckets 100, trainer direct, training scenario 8dc, training seed 3, \
             training steps 440, weights SHA-256 {hash}"
        );
        assert_eq!(text.join(", "), expected);
        let parameters = parameters_of(&PolicyPlan::Trained(plan.clone()));
        assert_eq!(parameters["trained"]["weights"], hash);
    }
}
