//! Tests with the published files, which run only if the files are next to the project.

use std::fs;

use lab_artifact::{
    Agreement, FctRow, ImportOptions, NodeIds, RoutingTable, SimulatedFlow, SourceFile, import,
    parse_fct, parse_utilisation,
    published::{self, FLOWS, POLICIES, ROUTES, TOPOLOGY, UTILISATION, beside},
};
use lab_plan::Plan;
use lab_policy::FlowTuple;
use lab_units::Nanos;

fn planned(directory: &std::path::Path, topology: &str, flows: &str) -> Plan {
    let read = |name| fs::read_to_string(directory.join(name)).unwrap();
    let topology_text = read(topology);
    let flows_text = read(flows);
    let options = ImportOptions {
        name: "published".to_owned(),
        max_delay: published::MAX_DELAY,
        routes: None,
    };
    let source = |path, text| SourceFile { path, text };
    let topology = source(topology, &topology_text);
    let text = import(topology, source(flows, &flows_text), &options);
    crate::plan(&text.unwrap(), &[(flows, &flows_text)])
}

fn output(directory: &std::path::Path, policy: &str) -> Vec<FctRow> {
    let name = published::fct(policy);
    let text = fs::read_to_string(directory.join(&name)).unwrap();
    parse_fct(&name, &text).unwrap()
}

fn tuples(plan: &Plan) -> Vec<FlowTuple> {
    NodeIds::of(plan).flow_tuples(plan.flows.iter().map(|flow| (flow.src, flow.dst)))
}

/// For each published flow, the plan must have a flow with the same addresses, ports and ideal FCT.
#[test]
fn standalone_fcts_are_exact_for_every_published_flow() {
    let Some(directory) = beside(
        env!("CARGO_MANIFEST_DIR"),
        "standalone_fcts_are_exact_for_every_published_flow",
    ) else {
        return;
    };
    let plan = planned(&directory, TOPOLOGY, FLOWS);
    let flows: Vec<_> = plan.flows.iter().zip(tuples(&plan)).collect();
    for (_, policy) in POLICIES {
        let rows = output(&directory, policy);
        assert_eq!(rows.len(), flows.len());
        let same = flows.iter().map(|(flow, tuple)| SimulatedFlow {
            flow: *tuple,
            size: flow.size_bytes,
            start: flow.start_ns,
            fct: Some(flow.ideal_fct_ns),
            standalone: flow.ideal_fct_ns,
        });
        let found = Agreement::of(&rows, &same.collect::<Vec<_>>());
        let found = (found.compared, found.same_standalone, found.unknown);
        assert_eq!(found, (7_064, 7_064, 0));
        for row in &rows {
            let place = flows.iter().position(|(_, tuple)| *tuple == row.flow);
            let (flow, _) = flows[place.unwrap()];
            let start = Nanos::from_millis(2_000).saturating_add(flow.start_ns);
            assert_eq!(start, row.start);
        }
    }
}

#[test]
fn the_thirteen_datacenters_are_a_scenario() {
    let Some(directory) = beside(
        env!("CARGO_MANIFEST_DIR"),
        "the_thirteen_datacenters_are_a_scenario",
    ) else {
        return;
    };
    let flows = "traffic/traffic_WebSearch_13DC-0.3util.txt";
    let topology = "topology/topology_LeafSpine_MultiDC13.txt";
    let plan = planned(&directory, topology, flows);
    let sizes = (plan.dcs.len(), plan.nodes.len(), plan.flows.len());
    assert_eq!(sizes, (13, 299, 4_398));
}

/// At each DCI switch, the published routing table must list the same next hops as the plan; their order may differ.
#[test]
fn the_published_routing_table_has_the_plans_next_hops() {
    let Some(directory) = beside(
        env!("CARGO_MANIFEST_DIR"),
        "the_published_routing_table_has_the_plans_next_hops",
    ) else {
        return;
    };
    let plan = planned(&directory, TOPOLOGY, FLOWS);
    let text = fs::read_to_string(directory.join(ROUTES)).unwrap();
    let order = RoutingTable::parse(ROUTES, &text)
        .unwrap()
        .in_plan(&plan)
        .unwrap();
    let ids = NodeIds::of(&plan);
    let dci = ids.ours(176).unwrap();
    let host = ids.ours(112).unwrap();
    let theirs: Vec<u32> = order[&(dci, host)]
        .iter()
        .map(|node| ids.theirs(*node))
        .collect();
    assert_eq!(theirs, [182, 181, 180, 179, 178, 177]);
    let ports = lab_artifact::routing_table::port_order(&plan);
    let by_port: Vec<u32> = ports[&(dci, host)]
        .iter()
        .map(|node| ids.theirs(*node))
        .collect();
    assert_eq!(by_port, [177, 178, 179, 180, 181, 182]);
    for (key, hops) in ports {
        let mut table = order[&key].clone();
        let mut hops = hops;
        table.sort_unstable();
        hops.sort_unstable();
        assert_eq!(table, hops, "{key:?}");
    }
}

#[test]
fn the_published_averages_are_read() {
    let Some(directory) = beside(
        env!("CARGO_MANIFEST_DIR"),
        "the_published_averages_are_read",
    ) else {
        return;
    };
    let text = fs::read_to_string(directory.join(UTILISATION)).unwrap();
    let (policies, links) = parse_utilisation(UTILISATION, &text).unwrap();
    assert_eq!(policies, POLICIES.map(|(_, name)| name));
    assert_eq!(links.len(), 6);
    assert_eq!(links[5].between, [176, 182]);
    assert!((links[5].percent[0] - 30.386).abs() < 1e-3);
}
