//! Conversion of topologies and flows to scenarios.

use lab_artifact::{ImportOptions, SourceFile, import, shape::Shape, topology::TopologyFile};
use lab_plan::{LinkKind, Role};
use lab_units::Nanos;

use crate::{data, plan};

fn imported(topology: &str, flows: &str) -> Result<String, String> {
    let options = ImportOptions {
        name: "made-up".to_owned(),
        max_delay: Nanos::from_millis(512),
        routes: None,
    };
    let source = |path, text| SourceFile { path, text };
    let topology = source("made/topology.txt", topology);
    import(topology, source("made/flows.txt", flows), &options).map_err(|error| error.to_string())
}

#[test]
fn a_scenario_says_what_the_files_say() {
    let text = imported(&data("topology.txt"), &data("flows.txt")).unwrap();
    insta::assert_snapshot!(text);
}

/// The plan must have exactly the nodes and links of the topology file.
#[test]
fn the_plan_is_the_topology() {
    let file = TopologyFile::parse("topology.txt", &data("topology.txt")).unwrap();
    let text = imported(&data("topology.txt"), &data("flows.txt")).unwrap();
    let plan = plan(&text, &[]);
    assert_eq!(plan.nodes.len(), usize::try_from(file.nodes).unwrap());
    let ids = lab_artifact::NodeIds::of(&plan);
    let mut theirs: Vec<_> = file
        .links
        .iter()
        .map(|row| (row.between, row.wire.rate, row.wire.delay, row.wire.loss))
        .collect();
    let mut ours: Vec<_> = plan
        .links
        .iter()
        .map(|link| {
            let mut between = [link.a, link.b].map(|node| ids.theirs(node));
            between.sort_unstable();
            (between, link.emu.rate_bps, link.emu.delay_ns, link.emu.loss)
        })
        .collect();
    theirs.sort_by_key(|(between, ..)| *between);
    ours.sort_by_key(|(between, ..)| *between);
    assert_eq!(ours, theirs);
    assert_eq!(plan.transport.semantics, lab_plan::Semantics::Artifact);
}

#[test]
fn the_plans_flows_are_the_files() {
    let text = imported(&data("topology.txt"), &data("flows.txt")).unwrap();
    let plan = plan(&text, &[]);
    let flows = plan.flows.iter().map(|flow| {
        let name = |node: lab_units::NodeId| plan.nodes[node.index()].name.as_str();
        let size = flow.size_bytes.get();
        let start = flow.start_ns.get();
        (name(flow.src), name(flow.dst), size, start)
    });
    let expected = [
        ("dc1/h1", "dc2/h1", 20_000, 1_500),
        ("dc1/h1", "dc2/h1", 1, 1_500),
        ("dc2/h2", "dc1/h2", 1_000_000, 100_000_000),
    ];
    assert_eq!(flows.collect::<Vec<_>>(), expected);
    let ids = lab_artifact::NodeIds::of(&plan);
    let tuples = ids.flow_tuples(plan.flows.iter().map(|flow| (flow.src, flow.dst)));
    let ports: Vec<_> = tuples.iter().map(|tuple| tuple.sport).collect();
    assert_eq!(ports, [10_000, 10_001, 10_000]);
    assert_eq!(tuples[2].src, lab_artifact::ids::address(3));
}

#[test]
fn hosts_on_dci_switches_are_known_too() {
    let topology = "4 0 2 3\n2 3\n0 2 25Gbps 2us 0\n1 3 25Gbps 2us 0\n2 3 40Gbps 5ms 0\n";
    let text = imported(topology, "1\n0 1 3 100 20000 2.0\n").unwrap();
    let plan = plan(&text, &[]);
    let host = plan
        .links
        .iter()
        .find(|link| link.kind == LinkKind::Host)
        .unwrap();
    assert_eq!(host.emu.rate_bps.to_string(), "25 Gbit");
    assert!(plan.nodes.iter().all(|node| node.role != Role::Spine));
}

#[test]
fn datacenters_of_sixteen_hosts_refer_to_the_file() {
    let mut topology = "34 0 2 33\n32 33\n".to_owned();
    for host in 0..32 {
        topology.push_str(&format!("{host} {} 100Gbps 1us 0\n", 32 + host / 16));
    }
    topology.push_str("32 33 40Gbps 5ms 0\n");
    let flows = "1\n3 17 3 100 20000 2.0\n";
    let text = imported(&topology, flows).unwrap();
    assert!(text.contains("flow_file: \"made/flows.txt\""), "{text}");
    let plan = plan(&text, &[("made/flows.txt", flows)]);
    assert_eq!(plan.nodes[plan.flows[0].dst.index()].name, "dc2/h2");
}

/// Each of these changes makes the topology file invalid and must be rejected with an error.
#[test]
fn what_no_scenario_can_say_is_refused_at_its_line() {
    let changes = [
        ("13 6 3 13", "13 3 13"),
        ("13 6 3 13", "13 6 3"),
        ("13 6 3 13", "13 6 3 14"),
        ("13 6 3 13", "13 5 3 13"),
        ("10 11 12\n", "10 11 9\n"),
        ("0 4 100Gbps 1us 0", "0 4 100Gbps 1us"),
        ("0 4 100Gbps 1us 0", "0 4 100GB 1us 0"),
        ("0 4 100Gbps 1us 0", "0 4 100Gbps soon 0"),
        ("0 4 100Gbps 1us 0", "0 13 100Gbps 1us 0"),
        ("0 4 100Gbps 1us 0", "0 1 100Gbps 1us 0"),
        ("0 4 100Gbps 1us 0", "0 5 100Gbps 1us 0"),
        ("0 4 100Gbps 1us 0", "0 6 100Gbps 1us 0"),
        ("1 5 100Gbps 1us 0", "1 5 40Gbps 1us 0"),
        ("4 8 100Gbps 1us 0", "4 9 100Gbps 1us 0"),
        ("8 10 400Gbps", "8 12 400Gbps"),
        ("11 12 100Gbps", "10 12 100Gbps"),
    ];
    let mut said = String::new();
    for (from, to) in changes {
        let topology = data("topology.txt").replace(from, to);
        let error = TopologyFile::parse("topology.txt", &topology)
            .and_then(|file| Shape::recognise(&file))
            .expect_err(to);
        said.push_str(&format!("{to}\n  {error}\n"));
    }
    insta::assert_snapshot!(said);
}

/// Memory for the number of nodes that a topology file states must be allocated only if the links name that many nodes.
#[test]
fn a_count_of_the_file_is_held_against_its_rows() {
    for nodes in ["4294967295", "60000000"] {
        let topology = format!("{nodes} 0 2 1\n0 1\n0 1 40Gbps 5ms 0\n");
        let (refused, memory) =
            lab_fuzz::peak_of(|| imported(&topology, "1\n0 1 3 100 1000 2.0\n").unwrap_err());
        assert_eq!(
            refused,
            "made/topology.txt:1: host 2 has 0 links to a datacenter; it must have at least one"
        );
        assert!(memory < 16 << 20, "{memory} bytes");
    }
}

#[test]
fn flows_of_no_host_are_refused_at_their_line() {
    let flows = "2\n0 2 3 100 1000 2.0\n0 9 3 100 1000 2.0\n";
    let error = imported(&data("topology.txt"), flows).unwrap_err();
    let expected = "made/flows.txt:3: there is no node 9; ids range from 0 to 3";
    assert_eq!(error, expected);
}

#[test]
fn a_damaged_topology_is_imported_or_refused() {
    let topology = data("topology.txt");
    let flows = data("flows.txt");
    lab_fuzz::fuzz("topology of the artifact", &[topology], |bytes| {
        let imported = imported(&String::from_utf8_lossy(bytes), &flows);
        imported.is_ok_and(|text| parses(&text))
    });
}

#[test]
fn damaged_flows_are_imported_or_refused() {
    let topology = data("topology.txt");
    let flows = data("flows.txt");
    lab_fuzz::fuzz("flows of the artifact", &[flows], |bytes| {
        let imported = imported(&topology, &String::from_utf8_lossy(bytes));
        imported.is_ok_and(|text| parses(&text))
    });
}

/// Returns true if the text is a valid scenario.
fn parses(text: &str) -> bool {
    lab_scenario::parse("import.yaml", text.as_bytes()).is_ok()
}
