//! The scenarios that come with the lab.

use std::{fs, path::PathBuf};

use lab_parameters::{LcmpConfig, ParameterSet, Preset};
use lab_scenario::{PolicySpec, Scenario, SizeCdf, files, parse};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// The scenarios in the folder, by file name.
fn all() -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let yaml = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    let mut scenarios: Vec<_> = yaml
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    scenarios.sort();
    scenarios
}

fn read(name: &str, text: &[u8]) -> Scenario {
    parse(name, text).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_scenario_means_what_its_snapshot_says() {
    for (name, text) in all() {
        insta::assert_json_snapshot!(name.clone(), read(&name, &text));
    }
}

#[test]
fn the_files_scenarios_name_are_there_and_can_be_read() {
    for (name, text) in all() {
        let scenario = read(&name, &text);
        for path in files(&scenario) {
            let text = fs::read_to_string(folder().join(path)).unwrap();
            SizeCdf::parse(path, &text).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        }
    }
}

#[test]
fn a_file_named_twice_is_listed_once() {
    let text = fs::read_to_string(folder().join("8dc.yaml")).unwrap();
    let workload = text.split("traffic:\n").nth(1).unwrap();
    let workload = workload.split("\npolicies").next().unwrap();
    let again = text.replace(workload, &format!("{workload}{workload}"));
    assert_eq!(
        files(&read("8dc.yaml", again.as_bytes())),
        ["workloads/bulk.csv"]
    );
}

#[test]
fn every_scenario_names_its_schema_to_editors() {
    for (name, text) in all() {
        let line = b"# yaml-language-server: $schema=scenario.schema.json\n";
        assert!(text.starts_with(line), "{name}");
    }
}

#[test]
fn every_parameter_of_lcmp_can_be_set() {
    let text = fs::read_to_string(folder().join("smoke.yaml")).unwrap();
    let parameters = "\
        { preset: artifact, label: tuned, alpha: 1, beta: 2, w_dl: 3, w_lc: 4, s_path: 16, \
        w_ql: 6, w_tl: 7, w_dp: 8, s_cong: 0, max_delay: 1024 ms, max_capacity: 40 Gbit, \
        trend_shift: 31, duration_shift: 12, high_water: 1, low_water: 0, sample_interval: 15 ms, \
        gc_interval: 16 ms, idle_timeout: 17 ms, flow_table_entries: 50000, \
        congested_threshold: 19, drop_threshold: 255 }";
    let text = text.replace("  - lcmp\n", &format!("  - lcmp: {parameters}\n"));
    let PolicySpec::Lcmp(settings) = &read("smoke.yaml", text.as_bytes()).policies[1] else {
        panic!("the second policy is LCMP")
    };
    assert_eq!(settings.preset, Some(Preset::Artifact));
    assert_eq!(settings.label.as_deref(), Some("tuned"));
    let mut given = parameters.split(", ").skip(2);
    for parameter in LcmpConfig::PARAMETERS {
        let (name, value) = given.next().unwrap().split_once(": ").unwrap();
        assert_eq!(name, parameter.name);
        let value = value.trim_end_matches(" }");
        assert_eq!(settings.values[name].to_string(), value, "{name}");
    }
    assert_eq!(given.next(), None);
}
