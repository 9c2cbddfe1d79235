//! Policy parameters of a scenario that differ from the policy's publication.

use lab_parameters::{LcmpConfig, Parameter, ParameterSet, Preset, TeConfig, UcmpConfig, Value};
use lab_records::{Departure, Reference};
use lab_scenario::{PolicySpec, Settings};
use lab_units::show::{about_bytes, about_time};

/// Lists the parameters of `policy` whose values differ from the publication or, where the publication states none,
/// from the default.
pub fn departures(policy: &PolicySpec) -> Vec<Departure> {
    match policy {
        PolicySpec::Lcmp(settings) => of::<LcmpConfig>(settings),
        PolicySpec::Ucmp(settings) => of::<UcmpConfig>(settings),
        PolicySpec::Te(settings) => of::<TeConfig>(settings),
        PolicySpec::Buckets(_)
        | PolicySpec::Trained(_)
        | PolicySpec::Own(_)
        | PolicySpec::Ebpf(_) => Vec::new(),
    }
}

fn of<S: ParameterSet>(settings: &Settings) -> Vec<Departure> {
    let preset = settings.preset.unwrap_or_default();
    let authors_code = (preset == Preset::Artifact).then(|| Departure {
        parameter: "preset".to_owned(),
        value: preset.to_string(),
        reference: Reference::Paper(format!("preset {}", Preset::Paper)),
    });
    let declared = S::PARAMETERS
        .iter()
        .filter(|parameter| parameter.is_of(preset));
    let departing = declared.filter_map(|parameter| {
        let default = default::<S>(parameter, preset);
        let value = settings.values.get(parameter.name).copied().or(default)?;
        parameter.departs(value, default).then(|| Departure {
            parameter: parameter.name.to_owned(),
            value: shown(value),
            reference: reference(parameter, default),
        })
    });
    authors_code.into_iter().chain(departing).collect()
}

/// Returns the default of a parameter under `preset`; `None` if it depends on the topology.
fn default<S: ParameterSet>(parameter: &Parameter, preset: Preset) -> Option<Value> {
    let is_derived = preset == Preset::Paper && parameter.derived.is_some();
    S::preset(preset)
        .get(parameter.name)
        .filter(|_| !is_derived)
}

fn reference(parameter: &Parameter, default: Option<Value>) -> Reference {
    match (parameter.published, default) {
        (Some(published), _) => Reference::Paper(published.words.to_owned()),
        (None, Some(default)) => Reference::OurReading(shown(default)),
        (None, None) => Reference::OurReading(parameter.derived.unwrap_or_default().to_owned()),
    }
}

/// Formats `value`, rounded like quantities in the report.
pub fn shown(value: Value) -> String {
    match value {
        Value::Time(time) => about_time(time),
        Value::Size(size) => about_bytes(size),
        Value::Flag(_) | Value::Number(_) | Value::Rate(_) | Value::Ratio(_) | Value::Word(_) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departing(policy: &str) -> Vec<String> {
        let text = format!(
            "name: test\ntopology:\n  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}]\n  links: \
             [{{ between: [a, b], rate: 1 Gbit, delay: 1 ms }}]\ntraffic:\n  - flows: [{{ from: a/h1, \
             to: b/h1, size: 1 kB }}]\npolicies:\n  - {policy}\n"
        );
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
        let departures = departures(&scenario.policies[0]);
        departures.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults_and_what_the_paper_names_do_not_depart() {
        for policy in [
            "ecmp",
            "lcmp",
            "ucmp",
            "te-100ms",
            "rm-beta",
            "lcmp: { max_delay: 65536 us }",
        ] {
            assert_eq!(departing(policy), [""; 0], "{policy}");
        }
    }

    #[test]
    fn a_departure_names_the_papers_value() {
        assert_eq!(departing("ucmp: { alpha: 10 }"), ["alpha 10 (paper: 0.5)"]);
        assert_eq!(
            departing("rm-beta: { max_delay: 524288 us }"),
            ["max_delay 524.3 ms (paper: 32 or 64 ms)"]
        );
        assert_eq!(
            departing("lcmp: { level_buffer: 1 GB }"),
            ["level_buffer 1 GB (paper: the port's egress buffer)"]
        );
    }

    #[test]
    fn where_the_paper_gives_no_value_our_reading_is_named() {
        assert_eq!(
            departing("lcmp: { sample_interval: 10 ms, keep: floor, max_capacity: 400 Gbit }"),
            [
                "max_capacity 400 Gbit (our reading: the maximum rate of an inter-DC link)",
                "sample_interval 10 ms (our reading: 1 ms)",
                "keep floor (our reading: half)",
            ]
        );
    }

    #[test]
    fn the_authors_code_departs_as_a_whole() {
        assert_eq!(
            departing("lcmp: { preset: artifact, max_delay: 512 ms }"),
            [
                "preset artifact (paper: preset paper)",
                "max_delay 512 ms (paper: 32 or 64 ms)",
            ]
        );
    }
}
