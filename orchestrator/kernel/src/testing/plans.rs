//! Plans for tests: topologies resolved from scenarios, with links, switches and policies set by hand.

use std::fmt::Write;

use lab_abi::LcmpConfig;
use lab_plan::{
    PlanOptions,
    model::{
        Candidate, Destination, EcnConfig, LinkConfig, LinkKind, MeasurePlan, Plan, PolicyPlan,
        PolicyRun, Scale, Switch, WirePlan,
    },
    transport::{CcPlan, DcqcnConfig},
};
use lab_units::{Bytes, DcId, Nanos, PortId, Ratio};

/// Returns the parameters of a link that neither loses nor marks packets.
pub(crate) fn wire(rate: &str, delay: &str, buffer: &str) -> WirePlan {
    WirePlan {
        parameters: LinkConfig {
            rate_bps: rate.parse().unwrap(),
            delay_ns: delay.parse().unwrap(),
            buffer_bytes: buffer.parse().unwrap(),
            ..LinkConfig::PAPER
        },
        delay_line_packets: 4096,
    }
}

/// Returns the parameters of a link after adding ECN marking.
pub(crate) fn marking(mut wire: WirePlan) -> WirePlan {
    wire.ecn = Some(EcnConfig {
        k_min: Bytes::new(40_000),
        k_max: Bytes::new(160_000),
        p_max: Ratio::new(1, 5).unwrap(),
    });
    wire
}

/// Returns a plan with two datacenters of one host each, and one link.
pub(crate) fn pair(slot: u8) -> Plan {
    let link = marking(wire("100 Mbit", "25 ms", "620 kB"));
    plan(slot, &["hosts: 1"; 2], &[(0, 1, link)])
}

/// Returns the plan of [`pair`] with DCQCN on the hosts, with its published parameters.
pub(crate) fn paced(slot: u8) -> Plan {
    let mut plan = pair(slot);
    plan.transport.cc = CcPlan::Dcqcn(DcqcnConfig::PAPER);
    plan
}

/// Returns a plan with two datacenters of two hosts each, and one link with the parameters `link`.
pub(crate) fn pair_over(slot: u8, link: WirePlan) -> Plan {
    plan(slot, &["hosts: 2"; 2], &[(0, 1, link)])
}

/// Returns a plan of the paper's testbed: DC1 and DC8 with four hosts each, and six paths between them.
pub(crate) fn testbed(slot: u8) -> Plan {
    let mut links = Vec::new();
    for (via, rate, delay) in [
        (1, "200 Mbit", "12500 us"),
        (2, "200 Mbit", "125 ms"),
        (3, "100 Mbit", "5 ms"),
        (4, "100 Mbit", "50 ms"),
        (5, "40 Mbit", "2500 us"),
        (6, "40 Mbit", "25 ms"),
    ] {
        links.push((0, via, wire(rate, delay, "1 MB")));
        links.push((via, 7, wire(rate, delay, "1 MB")));
    }
    let mut dcs = ["hosts: 0"; 8];
    dcs[0] = "hosts: 4";
    dcs[7] = "hosts: 4";
    plan(slot, &dcs, &links)
}

/// Returns a plan with eight datacenters that have fabrics: 184 nodes and 220 links.
pub(crate) fn fabrics(slot: u8) -> Plan {
    let ring = (0..8).map(|dc| (dc, (dc + 1) % 8));
    let across = (0..4).map(|dc| (dc, dc + 4));
    let link = |(a, b)| (a, b, wire("200 Mbit", "5 ms", "1 MB"));
    let links: Vec<_> = ring.chain(across).map(link).collect();
    let fabric = "fabric: { spines: 2, leaves: 4, hosts_per_leaf: 4 }";
    plan(slot, &[fabric; 8], &links)
}

/// Returns a plan in which two datacenters, of one host each, have two links of different rates and delays.
pub(crate) fn twins(slot: u8) -> Plan {
    let links = [
        (0, 1, wire("200 Mbit", "5 ms", "1 MB")),
        (1, 0, wire("80 Mbit", "7 ms", "1 MB")),
    ];
    plan(slot, &["hosts: 1"; 2], &links)
}

/// Returns the plan for `dcs`, each described by a part of its YAML, and for the `links` between them. The plan has no
/// flows, switches or policies.
fn plan(slot: u8, dcs: &[&str], links: &[(u32, u32, WirePlan)]) -> Plan {
    let mut text = "name: test\ntopology:\n  parallel: keep\n  dcs:\n".to_owned();
    for (number, dc) in (1..).zip(dcs) {
        writeln!(text, "    - {{ name: dc{number}, {dc} }}").unwrap();
    }
    text += "  links:\n";
    for (a, b, _) in links {
        let between = format!("[dc{}, dc{}]", a + 1, b + 1);
        writeln!(
            text,
            "    - {{ between: {between}, rate: 1 Gbit, delay: 1 ms }}"
        )
        .unwrap();
    }
    let last = dcs.len();
    writeln!(
        text,
        "traffic: [{{ flows: [{{ from: dc1/h1, to: dc{last}/h1, size: 1 MB }}] }}]\npolicies: [ecmp]"
    )
    .unwrap();
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
    let files = lab_scenario::Files::new();
    let mut plan = lab_plan::resolve(&scenario, &text, &files, &PlanOptions::default())
        .unwrap()
        .in_slot(slot);
    let inside = wire("200 Mbit", "10 us", "1 MB");
    let mut wires = links.iter().map(|link| link.2);
    for link in &mut plan.links {
        let wire = match link.kind {
            LinkKind::InterDc => wires.next().unwrap(),
            LinkKind::Fabric | LinkKind::Host => inside,
        };
        (link.paper, link.emu) = (wire, wire);
    }
    plan.flows.clear();
    plan.switches.clear();
    plan.policies.clear();
    plan
}

/// Returns a plan in which DC1 and DC4 have a host each, with paths over DC2 and DC3, switch tables, ECMP and LCMP.
/// Emulated sizes are 1/200 of paper sizes, and emulated times are 10 times paper times.
pub(crate) fn routed(slot: u8) -> Plan {
    let wire = wire("100 Mbit", "25 ms", "620 kB");
    let dcs = ["hosts: 1", "hosts: 0", "hosts: 0", "hosts: 1"];
    let mut plan = plan(
        slot,
        &dcs,
        &[(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| (a, b, wire)),
    );
    plan.scale = Scale {
        rate: Ratio::new(1, 2_000).unwrap(),
        time: Ratio::new(10, 1).unwrap(),
        size: Ratio::new(1, 200).unwrap(),
    };
    plan.measure = MeasurePlan {
        queues_ns: Nanos::from_millis(10),
        links_ns: Nanos::from_millis(100),
        switches_ns: Nanos::from_millis(1_000),
        measured: None,
    };
    plan.max_table_age_ns = Nanos::from_millis(10_000);
    plan.rdma.flow_deadline_ns = Nanos::from_millis(9_000);
    // Each entry lists the destinations of a datacenter, and the ports that lead to each of them.
    let tables: [&[(u32, &[u32])]; 4] = [
        &[(3, &[0, 2])],
        &[(0, &[1]), (3, &[4])],
        &[(0, &[3]), (3, &[6])],
        &[(0, &[5, 7])],
    ];
    plan.switches = plan
        .dcs
        .iter()
        .zip(tables)
        .map(|(dc, rows)| Switch {
            node: dc.dci,
            hash_seed: dc.dci.0,
            destinations: rows
                .iter()
                .map(|(to, ports)| destination(&plan, DcId(*to), ports))
                .collect(),
        })
        .collect();
    let lcmp = LcmpConfig::paper(wire.rate_bps);
    plan.policies = vec![
        policy("ecmp", PolicyPlan::ECMP, Vec::new()),
        policy("lcmp", PolicyPlan::Lcmp(lcmp), scores(&plan)),
    ];
    plan
}

fn destination(plan: &Plan, dc: DcId, ports: &[u32]) -> Destination {
    let candidate = |port: &u32| {
        let port = PortId(*port);
        let wire = plan.links[port.link().index()].paper;
        Candidate {
            port,
            next_dc: plan.nodes[plan.ports[port.peer().index()].node.index()].dc,
            extra_hops: 0,
            paper_delay_ns: wire.delay_ns,
            paper_bottleneck_bps: wire.rate_bps,
            paper_first_link_delay_ns: wire.delay_ns,
            paper_first_link_bps: wire.rate_bps,
        }
    };
    Destination {
        tunnels: Vec::new(),
        dc,
        hops: 1,
        candidates: ports.iter().map(candidate).collect(),
    }
}

/// Returns made-up path costs of all candidates: 10 for the first candidate of each destination, 30 for the second.
fn scores(plan: &Plan) -> Vec<Vec<Vec<u8>>> {
    let row = |row: &Destination| [10, 30][..row.candidates.len()].to_vec();
    plan.switches
        .iter()
        .map(|switch| switch.destinations.iter().map(row).collect())
        .collect()
}

fn policy(label: &str, policy: PolicyPlan, path_scores: Vec<Vec<Vec<u8>>>) -> PolicyRun {
    PolicyRun {
        label: label.to_owned(),
        policy,
        path_scores,
        buckets: Vec::new(),
    }
}
