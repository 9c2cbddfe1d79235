//! Fuzz tests: no text makes the parsers panic, and every problem has a location inside the text.

use std::fmt::Debug;

use lab_scenario::{
    Files, ScenarioErrors, SizeCdf, parse, parse_flow_file, parse_suite, parse_with,
};
use proptest::{collection::vec, prelude::*, sample};

const SCENARIOS: &[&str] = &[
    include_str!("../../../scenarios/8dc.yaml"),
    include_str!("../../../scenarios/8dc-fabric.yaml"),
    include_str!("../../../scenarios/fabric.yaml"),
    include_str!("../../../scenarios/smoke.yaml"),
];

const TOPOLOGIES: &[&str] = &[
    include_str!("../../../scenarios/fabric.yaml"),
    "\
dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }, { name: dc3 }]
links:
  - { between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms }
  - { between: [dc2, dc3], rate: 40 Gbit, delay: 5 ms }
",
];

const SUITES: &[&str] = &[include_str!("../../../scenarios/suites/nightly.yaml")];

const DISTRIBUTIONS: &[&str] = &[include_str!("../../../scenarios/workloads/websearch.csv")];

const FLOWS: &str = include_str!("../../artifact/tests/files/data/flows.txt");

/// Short strings that replace or extend parts of a text.
const PARTS: &[&str] = &[
    "", " ", "\n", "\t", "\0", "\u{feff}", "é", "…", "0", "-1", "1e999", ".nan", "0x", "1/0",
    "5 ms", "200 Gbit", "9 MB", "~", "null", "true", "[", "]", "{", "}", "[]", "{}", "- ", ": ",
    ", ", "\"", "'", "|\n", ">-\n", "&a ", "*a", "<<: *a", "!!int ", "!x ", "? ", "---\n", "...\n",
    "# ", "dc1", "dc8/h1", "name", "hosts", "fabric", "lcmp", "auto", "none",
];

/// Longer strings that replace or extend parts of a text.
const LONG_PARTS: &[&str] = &[
    "18446744073709551616 s",
    "%YAML 1.2\n",
    "policies:\n",
    "all-to-all",
];

fn parts() -> sample::Select<&'static str> {
    sample::select([PARTS, LONG_PARTS].concat())
}

fn shown<T: Debug>(source: &str, result: Result<T, ScenarioErrors>) {
    let Err(errors) = result else {
        return;
    };
    assert!(!errors.problems().is_empty());
    for problem in errors.problems() {
        let location = &problem.location;
        let line = source.split('\n').nth(location.line - 1).unwrap();
        assert_eq!(location.text, line.strip_suffix('\r').unwrap_or(line));
        let span = location.text.get(location.span.clone());
        assert!(span.is_some(), "{problem:?}");
        let before = &location.text[..location.span.start];
        assert_eq!(location.column, before.chars().count() + 1);
        assert!(!problem.message().is_empty());
    }
    assert!(errors.to_string().contains("error: "));
    assert!(!errors.coloured().is_empty());
}

/// Passes damaged copies of the texts in `corpus`, as valid UTF-8, to the parser `read`.
fn fuzz<T: Debug>(format: &str, corpus: &[&str], read: impl Fn(&str) -> Result<T, ScenarioErrors>) {
    lab_fuzz::fuzz(format, corpus, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let result = read(&text);
        let is_read = result.is_ok();
        shown(&text, result);
        is_read
    });
}

#[test]
fn a_damaged_scenario_is_read_or_refused() {
    fuzz("scenario", SCENARIOS, |text| parse("any", text.as_bytes()));
}

/// Only the topology's form and values can be wrong, so every problem is in the file.
#[test]
fn a_damaged_topology_file_is_read_or_refused() {
    let scenario = "\
name: any
topology: any.yaml
traffic: [{ workload: { sizes: s.csv, pairs: all-to-all, load: 1%, duration: 1 ms } }]
policies: [ecmp]
";
    fuzz("topology file", TOPOLOGIES, |text| {
        let files = Files::from([("any.yaml".to_owned(), text.to_owned())]);
        match parse_with("scenario", scenario.as_bytes(), &files) {
            // A file without two datacenters that have hosts, or with a topology in a third file, is a problem of the
            // scenario.
            Err(errors) if errors.problems()[0].location.file == "scenario" => Ok(false),
            read => read.map(|_| true),
        }
    });
}

/// Every key is the damaged scenario's, so every problem is in it or, if it lacks a key, at `extends`.
#[test]
fn a_damaged_extended_scenario_is_read_or_refused() {
    fuzz("extended scenario", SCENARIOS, |text| {
        let files = Files::from([("any.yaml".to_owned(), text.to_owned())]);
        let scenario = "name: any\nextends: any.yaml\n";
        match parse_with("scenario", scenario.as_bytes(), &files) {
            Err(errors) if errors.problems()[0].location.file == "scenario" => Ok(false),
            read => read.map(|_| true),
        }
    });
}

#[test]
fn a_damaged_suite_is_read_or_refused() {
    fuzz("suite", SUITES, |text| parse_suite("any", text.as_bytes()));
}

#[test]
fn a_damaged_distribution_is_read_or_refused() {
    fuzz("distribution of sizes", DISTRIBUTIONS, |text| {
        SizeCdf::parse("any", text)
    });
}

#[test]
fn a_damaged_flow_file_is_read_or_refused() {
    fuzz("flow file", &[FLOWS], |text| parse_flow_file("any", text));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        shown(&text, parse("any", &bytes));
        shown(&text, SizeCdf::parse("any", &text));
        shown(&text, parse_flow_file("any", &text));
    }

    #[test]
    fn any_yaml_is_read_or_refused(parts in vec(parts(), 0..40)) {
        let text = parts.concat();
        shown(&text, parse("any", text.as_bytes()));
    }

    #[test]
    fn quantiles_rise_and_stay_within_the_sizes(
        steps in vec((0_u64..1_000_000_000, 0_u64..1_000), 1..20),
        mut shares in vec(any::<u64>(), 2..20),
    ) {
        let total: u64 = steps.iter().map(|(_, weight)| weight + 1).sum();
        let mut text = String::from("bytes,percent\n0,0\n");
        let mut size = 0;
        let mut seen = 0;
        for (rise, weight) in &steps {
            size += rise + 1;
            seen += weight + 1;
            // Percentages are truncated to five decimals; the last one is exact.
            let share = u128::from(seen) * 10_000_000 / u128::from(total);
            text += &format!("{size},{}.{:05}\n", share / 100_000, share % 100_000);
        }
        let cdf = SizeCdf::parse("any", &text).unwrap();
        shares.sort_unstable();
        let sizes: Vec<u64> = shares.iter().map(|&share| cdf.quantile(share).get()).collect();
        prop_assert!(sizes.is_sorted());
        prop_assert!(sizes.iter().all(|&sample| (1..=size).contains(&sample)));
        prop_assert!(cdf.mean() <= lab_units::Ratio::new(size, 1).unwrap());
    }
}
