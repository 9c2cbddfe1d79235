//! Tests of the scenarios that come with the lab.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use lab_parameters::{
    DcqcnConfig, DctcpConfig, Domain, HpccConfig, LcmpConfig, LinkConfig, ParameterSet, Preset,
    TeConfig, TimelyConfig, UcmpConfig, Value,
};
use lab_scenario::{
    AgentCrash, CcSpec, Fabric, Fault, FaultSpec, Files, PolicySpec, Scenario, Settings, SizeCdf,
    Traffic, files, limits, missing_file, parse_with,
};
use lab_units::{Nanos, Ratio, Twin};
use serde_json::Value as Json;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns the scenarios in the folder `scenarios`, sorted by file name.
fn all() -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let yaml = names.filter(|name| name.ends_with(".yaml"));
    let read = |name: String| (fs::read(folder().join(&name)).unwrap(), name);
    let mut scenarios: Vec<_> = yaml.map(read).map(|(text, name)| (name, text)).collect();
    scenarios.sort();
    scenarios
}

/// Parses a scenario, whose topology file may be in the folder `scenarios`.
fn read(name: &str, text: &[u8]) -> Scenario {
    let mut files = Files::new();
    while let Some(missing) = missing_file(name, text, &files).unwrap() {
        let text = fs::read_to_string(folder().join(&missing.path)).unwrap();
        files.insert(missing.path, text);
    }
    parse_with(name, text, &files).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Scenario with a distinct value for every key. Policies and `transport` are left out; tests below and in
/// `transport.rs` compare their values with the declarations.
const EVERY_KEY: &str = "\
name: every-key
description: every key
seed: 7
repetitions: { lab: 2, sim: 3 }
max_table_age: 50 ms
topology:
  defaults:
    host_link: { rate: 11 Gbit, delay: 12 us, buffer: 13 kB, loss: 0.014, ecn: { k_min: 1 kB, k_max: 12 kB, p_max: 0.15 } }
    inter_dc: { buffer: 16 kB, loss: 0.017, ecn: none }
  dcs:
    - { name: dc1, hosts: 2, agent: legacy }
    - name: dc2
      fabric:
        spines: 3
        leaves: 4
        hosts_per_leaf: 5
        host_link: { rate: 18 Gbit }
        leaf_spine: { delay: 19 us }
        spine_dci: { buffer: 20 kB }
    - { name: dc3 }
  links:
    - between: [dc1, dc2]
      rate: 21 Gbit
      delay: 22 ms
      buffer: 28 kB
      loss: 1/24
      ecn: { k_min: 25 kB, k_max: 26 kB, p_max: 27% }
    - { between: [dc2, dc3], rate: 29 Gbit, delay: 30 ms }
traffic:
  - workload:
      sizes: s.csv
      pairs: [{ from: dc1, to: dc2, both_ways: true }]
      load: 30%
      load_base: dci-egress
      arrivals: even
      duration: 31 ms
      target_flows: 58
      min_duration: 30 ms
      max_flows: 32
  - workload: { sizes: s.csv, pairs: all-to-all, load: 48%, duration: 49 ms, bursts: 47 ms }
  - flows: [{ from: dc1/h1, to: dc2/h20, size: 33 MB, start: 34 ms }]
  - flow_file: flows.txt
policies: [ecmp]
generator: { tool: ib_read_bw, mtu: 1024, traffic_class: 104 }
measure: { queues: 1 ms, links: 2 ms, switches: 3 ms, from: 4 ms, to: 35 ms }
routing: { candidates: downhill-delay, stretch: 51/50, max: 6, reconverge: { after: 47 ms } }
scale: { rate: 1/36, time: 37 }
faults:
  - { at: 38 ms, link: [dc1, dc2], down: true }
  - { at: 39 ms, link: [dc1, dc2], up: true }
  - { at: 40 ms, link: [dc2, dc3], rate: 41 Gbit }
  - { at: 42 ms, link: [dc2, dc3], delay: 43 ms }
  - { at: 44 ms, link: [dc2, dc3], loss: 0.045 }
  - { at: 45 ms, links: [[dc1, dc2], [dc2, dc3]], down: true }
  - { at: 46 ms, dc: dc2, up: true }
  - { at: 50 ms, agent: dc3, down: true }
  - { at: 51 ms, agent: dc3, up: true }
  - random: { mtbf: 47 ms, mttr: 48 ms, groups: [[[dc1, dc2], [dc3, dc2]]], keep_connected: false, seed: 49 }
expect: [\"ecmp.p99 <= 46\"]
";

/// Scenario that takes its other keys from another one.
const EVERY_KEY_OF_ANOTHER: &str = "\
name: every-key-of-another
extends: every-key.yaml
";

/// Scenario with every key of an imported graph; `zoo` takes the place of `import`.
const EVERY_KEY_OF_A_GRAPH: &str = "\
name: every-key-of-a-graph
topology:
  import: network.csv # or zoo: Abilene
  km_per_ms: 250
  default_rate: 51 Gbit
  default_delay: 54 ms
  hosts: 3
  hosts_at: [Lyon, n7]
  parallel: merge
  missing_coordinates: neighbours
  unlabelled: number
  largest_component: true
  defaults: { inter_dc: { buffer: 52 kB }, host_link: { rate: 53 Gbit } }
traffic:
  - flows: [{ from: n7/h3, to: lyon/h1, size: 1 MB }]
  - demands: { file: demands.csv, scale: 55%, sizes: s.csv, arrivals: even, duration: 56 ms, target_flows: 59, min_duration: 53 ms, max_flows: 57 }
policies: [ecmp]
routing: { candidates: tunnels, tunnels: { k: 5, disjoint: edge } }
";

/// Edge list of [`EVERY_KEY_OF_A_GRAPH`].
const EDGES: &str = "\
source,target,rate,delay
Paris,7,,1 ms
7,Lyon,10 Gbit,2 ms
Lyon,7,30 Gbit,3 ms
Oslo,Bergen,,4 ms
";

/// Demand matrix of [`EVERY_KEY_OF_A_GRAPH`].
const DEMANDS: &str = "\
from,to,rate
n7,Lyon,58 Gbit
";

#[test]
fn every_key_is_read() {
    let schema = lab_scenario::schema();
    let mut keys = BTreeSet::new();
    collect_keys(&schema, &schema, &mut keys);
    let texts = [EVERY_KEY, EVERY_KEY_OF_A_GRAPH, EVERY_KEY_OF_ANOTHER].concat();
    let words: BTreeSet<&str> = texts.split([' ', '\n', '{', ',']).collect();
    let missing: Vec<_> = keys
        .iter()
        .filter(|key| !words.contains(&*format!("{key}:")))
        .collect();
    assert_eq!(missing, [""; 0]);
    insta::assert_json_snapshot!(read("every-key.yaml", EVERY_KEY.as_bytes()));
}

/// The result equals the extended scenario, except for the name, the description and `extends`.
#[test]
fn every_key_is_taken_from_an_extended_scenario() {
    let files = Files::from([("every-key.yaml".to_owned(), EVERY_KEY.to_owned())]);
    let text = EVERY_KEY_OF_ANOTHER.as_bytes();
    let taken = parse_with("another.yaml", text, &files).unwrap_or_else(|it| panic!("{it}"));
    let expected = Scenario {
        name: "every-key-of-another".to_owned(),
        description: String::new(),
        extends: vec!["every-key.yaml".to_owned()],
        ..read("every-key.yaml", EVERY_KEY.as_bytes())
    };
    assert_eq!(taken, expected);
}

/// Two links between `a` and `b`, of which the second is written from the other end, and one from `b` to `c`.
const PARALLEL: &str = "\
name: parallel
topology:
  parallel: keep
  dcs: [{ name: a, hosts: 1 }, { name: b }, { name: c, hosts: 1 }]
  links:
    - { between: [a, b], rate: 100 Gbit, delay: 1 ms }
    - { between: [b, a], rate: 40 Gbit, delay: 2 ms }
    - { between: [b, c], rate: 100 Gbit, delay: 1 ms }
traffic: [{ flows: [{ from: a/h1, to: c/h1, size: 1 MB }] }]
policies: [ecmp]
faults:
";

#[test]
fn a_fault_names_one_of_parallel_links() {
    let links = |faults: &str| {
        let scenario = read("parallel.yaml", format!("{PARALLEL}{faults}").as_bytes());
        let faults = scenario.faults.into_iter();
        let link = |fault: Fault| (fault.link.join("-"), fault.twin);
        faults.map(link).collect::<Vec<_>>()
    };
    let first = ("a-b".to_owned(), Twin::FIRST);
    let second = ("b-a".to_owned(), Twin(1));
    let other = ("b-c".to_owned(), Twin::FIRST);
    for (fault, expected) in [
        ("link: a-b", vec![&first]),
        ("link: b-a", vec![&first]),
        ("link: a-b_2", vec![&second]),
        ("link: b-a_2", vec![&second]),
        ("link: c-b", vec![&other]),
        ("links: [b-a_2, [b, c], a-b]", vec![&second, &other, &first]),
        ("dc: a", vec![&first, &second]),
        ("dc: b", vec![&first, &second, &other]),
    ] {
        let found = links(&format!("  - {{ at: 1 ms, {fault}, down: true }}\n"));
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{fault}");
    }
    // One link is cut while the other is up.
    let both =
        "  - { at: 1 ms, link: a-b_2, down: true }\n  - { at: 2 ms, link: a-b, down: true }\n";
    assert_eq!(links(both), [second, first]);
}

/// The order of the entries is not that of time.
#[test]
fn a_crash_of_an_agent_ends_with_its_next_restart() {
    let faults = "  - { at: 30 ms, agent: a, down: true }
  - { at: 20 ms, agent: a, up: true }
  - { at: 5 ms, agent: c, down: true }
  - { at: 10 ms, agent: a, down: true }\n";
    let scenario = read("crashes.yaml", format!("{PARALLEL}{faults}").as_bytes());
    let crash = |entry, dc: &str, at, restart: Option<u64>| AgentCrash {
        entry,
        dc: dc.to_owned(),
        at: Nanos::from_millis(at),
        restart: restart.map(Nanos::from_millis),
    };
    let expected = [
        crash(3, "a", 10, Some(20)),
        crash(0, "a", 30, None),
        crash(2, "c", 5, None),
    ];
    assert_eq!(scenario.agent_crashes, expected);
    assert!(scenario.faults.is_empty());
}

#[test]
fn a_graph_with_more_nodes_than_the_limit_is_refused() {
    let mut edges = "source,target,delay\n".to_owned();
    for node in 1..=limits::MAX_DCS {
        edges.push_str(&format!("n{node},n{},1 ms\n", node + 1));
    }
    let files = Files::from([("network.csv".to_owned(), edges)]);
    let text = "\
name: chain
topology: { import: network.csv }
traffic: [{ flows: [{ from: n1/h1, to: n2/h1, size: 1 MB }] }]
policies: [ecmp]
";
    let refused = parse_with("chain.yaml", text.as_bytes(), &files).unwrap_err();
    let message = refused.problems()[0].message();
    let said = "the graph has 1025 nodes, but a scenario may have at most 1024 datacenters";
    assert_eq!(message, said);
}

#[test]
fn every_key_of_a_graph_is_read() {
    let texts = [("network.csv", EDGES), ("demands.csv", DEMANDS)];
    let files = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let imported = parse_with(
        "graph.yaml",
        EVERY_KEY_OF_A_GRAPH.as_bytes(),
        &Files::from(files),
    );
    let graph = imported.unwrap_or_else(|errors| panic!("{errors}"));
    let tunnels = lab_units::CandidateSet::Tunnels { k: 5 };
    assert_eq!(graph.candidate_set, tunnels);
    insta::assert_json_snapshot!(graph.topology);
    insta::assert_json_snapshot!(graph.traffic[1]);
    let none = Files::new();
    let file = missing_file("graph.yaml", EVERY_KEY_OF_A_GRAPH.as_bytes(), &none).unwrap();
    assert_eq!(file.unwrap().path, "network.csv");
}

/// Adds the keys at and below `node` to `keys`, except for those under policies and `transport`.
fn collect_keys(schema: &Json, node: &Json, keys: &mut BTreeSet<String>) {
    match node {
        Json::Object(object) => {
            if let Some(name) = node["$ref"].as_str() {
                let target = schema.pointer(name.trim_start_matches('#'));
                return collect_keys(schema, target.unwrap(), keys);
            }
            let properties = node["properties"].as_object().into_iter().flatten();
            let others =
                properties.filter(|(key, _)| !["policies", "transport"].contains(&&***key));
            for (key, value) in others {
                keys.insert(key.clone());
                collect_keys(schema, value, keys);
            }
            let forms = ["anyOf", "items"]
                .iter()
                .filter_map(|form| object.get(*form));
            forms.for_each(|form| collect_keys(schema, form, keys));
        }
        Json::Array(forms) => forms
            .iter()
            .for_each(|form| collect_keys(schema, form, keys)),
        _ => {}
    }
}

/// Checks only that all scenarios can be parsed; snapshots of their plans check the values.
#[test]
fn every_scenario_of_the_lab_is_accepted() {
    let all = all();
    assert!(all.len() >= 18, "{} scenarios", all.len());
    for (name, text) in all {
        read(&name, &text);
    }
}

#[test]
fn the_files_scenarios_name_are_there_and_can_be_read() {
    for (name, text) in all() {
        let scenario = read(&name, &text);
        let is_csv = |path: &&str| path.ends_with(".csv");
        for path in files(&scenario).into_iter().filter(is_csv) {
            let text = fs::read_to_string(folder().join(path)).unwrap();
            SizeCdf::parse(path, &text).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        }
    }
}

#[test]
fn a_file_named_twice_is_listed_once() {
    let text = fs::read_to_string(folder().join("8dc.yaml")).unwrap();
    let workload = text
        .split("traffic:\n")
        .nth(1)
        .unwrap()
        .split("\ngenerator")
        .next()
        .unwrap();
    let workload = format!("{workload}\n");
    let again = text.replace(&workload, &workload.repeat(2));
    let scenario = read("8dc.yaml", again.as_bytes());
    assert_eq!(files(&scenario), ["workloads/websearch.csv"]);
}

/// The key `loss` can be set for each kind of link; a link without the key loses no packets.
#[test]
fn loss_is_read_where_it_is_written_and_nowhere_else() {
    let text = "\
name: lossy
topology:
  defaults:
    host_link: { loss: 1/500 }
    inter_dc: { loss: 0.001 }
  dcs:
    - { name: dc1, hosts: 1 }
    - name: dc2
      fabric:
        spines: 1
        leaves: 1
        hosts_per_leaf: 1
        host_link: { loss: 1/400 }
        leaf_spine: { loss: 0 }
    - { name: dc3, hosts: 1 }
  links:
    - { between: [dc1, dc2], rate: 1 Gbit, delay: 1 ms, loss: 0.02 }
    - { between: [dc2, dc3], rate: 1 Gbit, delay: 1 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc3/h1, size: 1 MB }]
policies: [ecmp]
";
    let topology = read("lossy.yaml", text.as_bytes()).topology;
    let ratio = |part, whole| Ratio::new(part, whole).unwrap();
    let links: Vec<_> = topology.links.iter().map(|link| link.wire.loss).collect();
    assert_eq!(links, [ratio(1, 50), ratio(1, 1_000)]);
    let inside: Vec<_> = topology
        .dcs
        .iter()
        .map(|dc| match &dc.fabric {
            Fabric::Direct { host_link, .. } => vec![host_link.loss],
            Fabric::LeafSpine {
                host_link,
                leaf_spine,
                spine_dci,
                ..
            } => [host_link, leaf_spine, spine_dci]
                .map(|wire| wire.loss)
                .to_vec(),
        })
        .collect();
    let expected = [
        vec![ratio(1, 500)],
        vec![ratio(1, 400), Ratio::ZERO, Ratio::ZERO],
        vec![ratio(1, 500)],
    ];
    assert_eq!(inside, expected);
}

#[test]
fn repetitions_are_of_both_engines_or_of_each() {
    let text = fs::read_to_string(folder().join("smoke.yaml")).unwrap();
    let of = |line: &str| {
        let scenario = read("smoke.yaml", format!("{text}\n{line}\n").as_bytes());
        (scenario.repetitions.lab, scenario.repetitions.sim)
    };
    assert_eq!(of(""), (1, 1));
    assert_eq!(of("repetitions: 4"), (4, 4));
    assert_eq!(of("repetitions: { sim: 8 }"), (1, 8));
    assert_eq!(of("repetitions: { lab: 2, sim: 8 }"), (2, 8));
}

/// Returns a scenario with two workloads: the first has `load`, the second a load of 0.1.
fn two_workloads(load: &str) -> String {
    let workload = |from: &str, to: &str, load: &str| {
        format!(
            "  - workload: {{ sizes: s.csv, pairs: [{{ from: {from}, to: {to} }}], load: {load}, \
             duration: 1 ms }}\n"
        )
    };
    format!(
        "name: two\ntopology:\n  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]\n  \
         links: [{{ between: [dc1, dc2], rate: 1 Gbit, delay: 1 ms }}]\ntraffic:\n{}{}policies: \
         [ecmp]\n",
        workload("dc1", "dc2", load),
        workload("dc2", "dc1", "0.1"),
    )
}

#[test]
fn a_sweep_is_a_run_of_each_of_its_loads() {
    let two = |load| read("two.yaml", two_workloads(load).as_bytes());
    let loads = |scenario: &Scenario| {
        let load = |traffic: &Traffic| match traffic {
            Traffic::Workload(workload) => workload.load.to_string(),
            Traffic::Demands(matrix) => matrix.scale.to_string(),
            Traffic::Flows(_) | Traffic::FlowFile { .. } => String::new(),
        };
        scenario.traffic.iter().map(load).collect::<Vec<_>>()
    };
    let half: Ratio = "1/2".parse().unwrap();

    let swept = two("[0.3, 0.5]");
    assert_eq!(swept.sweep().len(), 2);
    assert_eq!(loads(&swept), ["3/10", "1/10"]);
    let run = swept.at_load(half);
    assert_eq!((run.name.as_str(), run.sweep().len()), ("two-50", 0));
    assert_eq!(loads(&run), ["1/2", "1/10"], "the other is no sweep");

    let plain = two("0.3");
    assert!(plain.sweep().is_empty());
    assert_eq!(loads(&plain.at_load(half)), ["1/2", "1/2"]);
}

#[test]
fn every_scenario_names_its_schema_to_editors() {
    for (name, text) in all() {
        let line = b"# yaml-language-server: $schema=scenario.schema.json\n";
        assert!(text.starts_with(line), "{name}");
    }
}

/// Parses `entry` as the only policy of the smoke scenario, or as its section `transport`.
fn settings(key: &str, entry: &str) -> Settings {
    let text = fs::read_to_string(folder().join("smoke.yaml")).unwrap();
    let scenario = match key {
        "policy" => text.replace("  - lcmp\n", &format!("  - {entry}\n")),
        _ => format!("{text}\ntransport: {{ cc: {{ {entry} }} }}\n"),
    };
    let scenario = read("smoke.yaml", scenario.as_bytes());
    match (&scenario.policies[1], scenario.transport.cc) {
        (_, Some(CcSpec::Dcqcn(settings) | CcSpec::Hpcc(settings)))
        | (_, Some(CcSpec::Timely(settings) | CcSpec::Dctcp(settings))) => settings,
        (PolicySpec::Lcmp(settings) | PolicySpec::Ucmp(settings), _)
        | (PolicySpec::Te(settings), _) => settings.clone(),
        (other, _) => panic!("{other:?}"),
    }
}

/// Checks that every parameter of the preset `artifact`, set to that preset's default, is parsed to the same value.
fn every_parameter_is_read_as_it_is_printed<S: ParameterSet>(key: &str, name: &str) {
    let set = S::preset(Preset::Artifact);
    let declared = S::PARAMETERS
        .iter()
        .filter(|parameter| parameter.is_of(Preset::Artifact));
    let values: BTreeMap<_, _> = declared
        .map(|parameter| (parameter.name, set.get(parameter.name).unwrap()))
        .collect();
    let mut entries: Vec<_> = values
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let has_preset = S::KEYS.contains(&"preset");
    entries.extend(has_preset.then(|| "preset: artifact".to_owned()));
    let found = settings(key, &format!("{name}: {{ {} }}", entries.join(", ")));
    assert_eq!(found.values, values, "{name}");
    assert_eq!(found.preset, has_preset.then_some(Preset::Artifact));
}

#[test]
fn every_parameter_can_be_set() {
    every_parameter_is_read_as_it_is_printed::<LcmpConfig>("policy", "lcmp");
    every_parameter_is_read_as_it_is_printed::<UcmpConfig>("policy", "ucmp");
    every_parameter_is_read_as_it_is_printed::<TeConfig>("policy", "te");
    every_parameter_is_read_as_it_is_printed::<DcqcnConfig>("cc", "dcqcn");
    every_parameter_is_read_as_it_is_printed::<HpccConfig>("cc", "hpcc");
    every_parameter_is_read_as_it_is_printed::<TimelyConfig>("cc", "timely");
    every_parameter_is_read_as_it_is_printed::<DctcpConfig>("cc", "dctcp");
    let labelled = settings("policy", "lcmp: { label: tuned }");
    assert_eq!(labelled.label.as_deref(), Some("tuned"));
}

/// Returns a value of `domain` that is not the default of any link.
fn unusual(domain: Domain) -> Value {
    match domain {
        Domain::Flag => Value::Flag(true),
        Domain::Number { max, .. } => Value::Number(max),
        Domain::Time { max, .. } => Value::Time(max),
        Domain::Rate { max, .. } => Value::Rate(max),
        Domain::Size { max, .. } => Value::Size(max),
        Domain::Share | Domain::ProperFraction => Value::Ratio(Ratio::new(1, 7).unwrap()),
        Domain::Hundredths { max } => Value::Ratio(Ratio::new(max, 1).unwrap()),
        Domain::Words(words) => Value::Word(words[words.len() - 1]),
        Domain::WordOr { quantity, .. } => unusual(*quantity),
    }
}

/// Parameters may be set at a link, as defaults of links inside and between datacenters, and by a fault.
#[test]
fn every_parameter_of_links_is_read_where_it_may_be_set() {
    for parameter in LinkConfig::PARAMETERS {
        let name = parameter.name;
        let value = unusual(parameter.domain);
        let set = format!("{name}: {value}");
        let mut rest = vec!["rate: 1 Gbit", "delay: 1 ms"];
        rest.retain(|entry| !entry.starts_with(name));
        let (default, link) = if parameter.is_required {
            ("", format!("{}, {set}", rest.join(", ")))
        } else {
            (set.as_str(), rest.join(", "))
        };
        let fault = if parameter.is_changeable {
            &set
        } else {
            "down: true"
        };
        let text = format!(
            "name: links\n\
             topology:\n  \
               defaults: {{ host_link: {{ {set} }}, inter_dc: {{ {default} }} }}\n  \
               dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]\n  \
               links: [{{ between: [dc1, dc2], {link} }}]\n\
             traffic:\n  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 1 MB }}]\n\
             policies: [ecmp]\n\
             faults: [{{ at: 1 ms, link: [dc1, dc2], {fault} }}]\n",
        );
        let scenario = read("links.yaml", text.as_bytes());
        let Fabric::Direct { host_link, .. } = &scenario.topology.dcs[0].fabric else {
            panic!("{text}");
        };
        let links = [host_link, &scenario.topology.links[0].wire];
        assert_eq!(links.map(|link| link.get(name)), [Some(value); 2], "{text}");
        let change = if parameter.is_changeable {
            FaultSpec::Set {
                parameter: name,
                value,
            }
        } else {
            FaultSpec::Down
        };
        assert_eq!(scenario.faults[0].change, change);
    }
}
