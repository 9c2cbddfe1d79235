//! Tests of scenarios that take keys from other scenarios.

mod common;

use lab_scenario::{
    Files, MissingFile, PolicySpec, Scenario, Traffic, files, limits, missing_file, named_files,
    text_with,
};

use common::{parsed, texts};

/// Complete scenario with files in two folders.
const BASE: &str = "\
name: base
description: Two datacenters
seed: 7
topology: ../nets/pair.yaml
traffic:
  - workload: { sizes: w/s.csv, pairs: [{ from: dc1, to: dc2 }], load: 30%, duration: 1 ms }
policies: [ecmp, redte: { weights: w.redte }, ebpf: own.bpf.o]
expect: [\"ecmp.p99 <= 4\"]
";

/// Keys of the topology that [`BASE`] names.
const PAIR: &str = "\
dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }]
links: [{ between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms }]
";

fn accepted(text: &str, files: &Files) -> Scenario {
    parsed(text, files).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Labels of the policies.
fn labels(scenario: &Scenario) -> Vec<&str> {
    scenario.policies.iter().map(PolicySpec::label).collect()
}

#[test]
fn a_key_is_taken_whole_or_not_at_all() {
    let files = texts(&[("base.yaml", BASE), ("../nets/pair.yaml", PAIR)]);
    let read = accepted(
        "name: case\nextends: base.yaml\npolicies: [wcmp]\nexpect: []\n",
        &files,
    );
    assert_eq!(read.name, "case");
    assert_eq!(read.description, "");
    assert_eq!(read.seed, 7);
    assert_eq!(labels(&read), ["wcmp"]);
    assert!(read.expect.is_empty());
    assert_eq!(read.topology.dcs.len(), 2);
}

/// The first scenario that has a key gives it: here policies of the first, the second's seed, and the rest of the third.
#[test]
fn a_scenario_can_extend_one_that_extends_another() {
    let files = texts(&[
        (
            "middle.yaml",
            "name: middle\nextends: base.yaml\nseed: 8\nexpect: []\npolicies: [ecmp]\n",
        ),
        ("base.yaml", BASE),
        ("../nets/pair.yaml", PAIR),
    ]);
    let read = accepted(
        "name: case\nextends: middle.yaml\npolicies: [wcmp]\n",
        &files,
    );
    assert_eq!((read.seed, labels(&read)), (8, vec!["wcmp"]));
    assert_eq!(read.extends, ["middle.yaml", "base.yaml"]);
    assert_eq!(read.expect.len(), 0);
}

/// Files are relative to the scenario that names them, which is in the folder `bases`; the name of a built-in distribution
/// is not a path.
#[test]
fn files_are_beside_the_scenario_that_names_them() {
    let text = "name: case\nextends: bases/base.yaml\n";
    let mut known = Files::new();
    let missing = |files: &Files| missing_file("case.yaml", text.as_bytes(), files).unwrap();
    assert_eq!(
        missing(&known),
        Some(MissingFile {
            path: "bases/base.yaml".to_owned(),
            named_at: "extends".into(),
            named_in: None,
        })
    );
    known.extend(texts(&[("bases/base.yaml", BASE)]));
    assert_eq!(
        missing(&known),
        Some(MissingFile {
            path: "bases/../nets/pair.yaml".to_owned(),
            named_at: "topology".into(),
            named_in: Some("bases/base.yaml".to_owned()),
        })
    );
    known.extend(texts(&[("bases/../nets/pair.yaml", PAIR)]));
    assert_eq!(missing(&known), None);
    let read = accepted(text, &known);
    assert_eq!(
        files(&read),
        [
            "bases/base.yaml",
            "bases/../nets/pair.yaml",
            "bases/w/s.csv",
            "bases/w.redte"
        ]
    );
    assert!(
        read.policies.iter().any(
            |policy| matches!(policy, PolicySpec::Ebpf(own) if own.object == "bases/own.bpf.o")
        )
    );
    let named = named_files(&read);
    assert_eq!(named[2].0, "traffic[0].workload.sizes");
    assert_eq!(
        text_with(&read, text, &known, &named[2].0),
        (Some("bases/base.yaml"), BASE)
    );
    assert_eq!(text_with(&read, text, &known, "name"), (None, text));
    known.extend(texts(&[(
        "bases/base.yaml",
        &BASE.replace("w/s.csv", "websearch"),
    )]));
    let Traffic::Workload(workload) = &accepted(text, &known).traffic[0] else {
        panic!("a workload")
    };
    assert_eq!(workload.sizes, "websearch");
}

/// A graph file is beside the scenario that imports it.
#[test]
fn an_extended_scenario_imports_the_graph_beside_it() {
    let base = BASE.replace(
        "topology: ../nets/pair.yaml",
        "topology: { import: map.csv }",
    );
    let files = texts(&[("bases/base.yaml", &base)]);
    let text = "name: case\nextends: bases/base.yaml\n";
    assert_eq!(
        missing_file("case.yaml", text.as_bytes(), &files).unwrap(),
        Some(MissingFile {
            path: "bases/map.csv".to_owned(),
            named_at: "topology.import".into(),
            named_in: Some("bases/base.yaml".to_owned()),
        })
    );
}

/// A problem of a key is in the file that has the key, and the error shows where that file is extended.
#[test]
fn problems_are_located_where_the_key_is_written() {
    let other = PAIR.replace("dc2", "dc9");
    let mut all = String::new();
    for (text, base, pair) in [
        ("", BASE.replace("30%", "30"), PAIR),
        ("", BASE.replace("seed:", "sed:"), PAIR),
        ("", BASE.replace("traffic:", "traffic: {"), PAIR),
        ("seed: x\n", BASE.replace("30%", "30"), PAIR),
        // The topology of the one scenario does not fit the traffic of the other.
        ("topology: other.yaml\n", BASE.to_owned(), PAIR),
        ("expect: [\"lcmp.p99 <= 4\"]\n", BASE.to_owned(), PAIR),
        ("", BASE.to_owned(), "dcs: []\n"),
    ] {
        let files = texts(&[
            ("base.yaml", &base),
            ("../nets/pair.yaml", pair),
            ("other.yaml", &other),
        ]);
        let text = format!("name: case\nextends: base.yaml\n{text}");
        let errors = parsed(&text, &files).expect_err("a problem");
        all += &format!("{errors}\n\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn problems_with_the_chain_are_located_at_the_key() {
    let mut all = String::new();
    for (extends, files) in [
        ("base.yaml", vec![]),
        ("\" \"", vec![]),
        ("\"a\\tb.yaml\"", vec![]),
        ("[base.yaml]", vec![]),
        // A topology file is not a scenario.
        ("pair.yaml", vec![("pair.yaml", PAIR)]),
        (
            "named.yaml",
            vec![("named.yaml", "name: named\ntopology: zoo:Abilene\n")],
        ),
        (
            "case.yaml",
            vec![("case.yaml", "name: case\nextends: case.yaml\n")],
        ),
        (
            "b.yaml",
            vec![
                ("b.yaml", "name: b\nextends: c.yaml\n"),
                ("c.yaml", "name: c\n\nextends: b.yaml\n"),
            ],
        ),
    ] {
        let text = format!("name: case\nextends: {extends}\n");
        let errors = parsed(&text, &texts(&files)).expect_err("a problem");
        all += &format!("{errors}\n\n");
    }
    insta::assert_snapshot!(all);
}

/// Eight extended scenarios are the most; the ninth is refused, as is a circle whose paths differ each time around.
#[test]
fn a_chain_has_a_bound() {
    let chain = |length: usize| {
        let mut files = Files::new();
        for at in 1..length {
            let text = format!("name: n{at}\nextends: n{}.yaml\n", at + 1);
            files.insert(format!("n{at}.yaml"), text);
        }
        files.insert(format!("n{length}.yaml"), BASE.to_owned());
        files.extend(texts(&[("../nets/pair.yaml", PAIR)]));
        parsed("name: case\nextends: n1.yaml\n", &files)
    };
    assert_eq!(chain(limits::MAX_EXTENDED).unwrap().extends.len(), 8);
    let errors = chain(limits::MAX_EXTENDED + 1).unwrap_err();
    let problem = &errors.problems()[0];
    assert_eq!(
        (&*problem.location.file, problem.location.line),
        ("n8.yaml", 2)
    );
    assert_eq!(
        problem.message(),
        "`extends` leads to more than 8 scenarios"
    );
    let mut around = Files::new();
    let mut path = "a/x.yaml".to_owned();
    for _ in 0..20 {
        around.insert(path.clone(), "name: x\nextends: ../a/x.yaml\n".to_owned());
        path = format!("{}../a/x.yaml", path.trim_end_matches("x.yaml"));
    }
    let errors = parsed("name: case\nextends: a/x.yaml\n", &around).unwrap_err();
    assert!(
        errors.problems()[0]
            .message()
            .contains("more than 8 scenarios")
    );
}

/// A scenario without a topology of its own is not a topology file.
#[test]
fn a_topology_file_has_its_own_topology() {
    let text = BASE.replace("../nets/pair.yaml", "short.yaml");
    let files = texts(&[("short.yaml", "name: short\nextends: base.yaml\n")]);
    let errors = parsed(&text, &files).unwrap_err();
    assert_eq!(
        errors.problems()[0].message(),
        "the topology of `short.yaml` is itself in another file, `base.yaml`"
    );
}
