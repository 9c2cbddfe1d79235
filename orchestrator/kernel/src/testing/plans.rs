//! Plans for tests, made by hand so that this crate's tests do not depend on how scenarios are
//! read.

use lab_plan::model::{
    Candidate, Destination, EcnPlan, LinkKind, MeasurePlan, Plan, PolicyPlan, PolicyRun, Scale,
    Switch, WirePlan,
};
use lab_units::{Bytes, DcId, Nanos, PortId, Ratio};

use lab_abi::LcmpConfig;

use super::builder::Builder;

/// The inside of a datacenter.
#[derive(Clone, Copy)]
pub(crate) struct Inside {
    pub spines: u32,
    pub leaves: u32,
    /// On the DCI switch itself, or on each leaf when there are leaves.
    pub hosts: u32,
}

/// Hosts on the DCI switch itself.
pub(crate) const fn direct(hosts: u32) -> Inside {
    Inside {
        spines: 0,
        leaves: 0,
        hosts,
    }
}

pub(crate) fn wire(rate: &str, delay: &str, buffer: &str) -> WirePlan {
    WirePlan {
        rate_bps: rate.parse().unwrap(),
        delay_ns: delay.parse().unwrap(),
        buffer_bytes: buffer.parse().unwrap(),
        delay_line_packets: 4096,
        loss: Ratio::new(0, 1).unwrap(),
        ecn: None,
    }
}

pub(crate) fn marking(wire: WirePlan) -> WirePlan {
    WirePlan {
        ecn: Some(EcnPlan {
            k_min: Bytes::new(40_000),
            k_max: Bytes::new(160_000),
            p_max: Ratio::new(1, 5).unwrap(),
        }),
        ..wire
    }
}

/// Two datacenters with a host each, and one link.
pub(crate) fn pair(slot: u8) -> Plan {
    let link = marking(wire("100 Mbit", "25 ms", "620 kB"));
    plan(slot, &[direct(1), direct(1)], &[(0, 1, link)])
}

/// Two datacenters with two hosts each, and one link.
pub(crate) fn pair_over(slot: u8, link: WirePlan) -> Plan {
    plan(slot, &[direct(2), direct(2)], &[(0, 1, link)])
}

/// The paper's testbed: dc1 and dc8 with hosts, six ways between them.
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
    let mut dcs = [direct(0); 8];
    dcs[0] = direct(4);
    dcs[7] = direct(4);
    plan(slot, &dcs, &links)
}

/// Eight datacenters with fabrics: 184 nodes, 220 links.
pub(crate) fn fabrics(slot: u8) -> Plan {
    let inside = Inside {
        spines: 2,
        leaves: 4,
        hosts: 4,
    };
    let ring = (0..8).map(|dc| (dc, (dc + 1) % 8));
    let across = (0..4).map(|dc| (dc, dc + 4));
    let link = |(a, b)| (a, b, wire("200 Mbit", "5 ms", "1 MB"));
    let links: Vec<_> = ring.chain(across).map(link).collect();
    plan(slot, &[inside; 8], &links)
}

pub(crate) fn plan(slot: u8, insides: &[Inside], links: &[(u32, u32, WirePlan)]) -> Plan {
    let mut builder = Builder::new(slot);
    for (dc, inside) in (0..).zip(insides) {
        builder.dc(DcId(dc), *inside);
    }
    for &(a, b, wire) in links {
        let ends = (builder.dcs[a as usize].dci, builder.dcs[b as usize].dci);
        builder.link(ends.0, ends.1, LinkKind::InterDc, wire);
    }
    for (dc, inside) in (0..).zip(insides) {
        builder.fabric(DcId(dc), *inside);
    }
    builder.finish()
}

/// DC1 and DC4 with a host each, a way over DC2 and one over DC3, switch tables, ECMP and LCMP. A
/// packet a paper size 200 times as large, and a paper time of a tenth.
pub(crate) fn routed(slot: u8) -> Plan {
    let wire = wire("100 Mbit", "25 ms", "620 kB");
    let dcs = [direct(1), direct(0), direct(0), direct(1)];
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
    };
    plan.max_table_age_ns = Nanos::from_millis(10_000);
    plan.rdma.flow_deadline_ns = Nanos::from_millis(9_000);
    // By DC: each destination and the ports towards it.
    let ways: [&[(u32, &[u32])]; 4] = [
        &[(3, &[0, 2])],
        &[(0, &[1]), (3, &[4])],
        &[(0, &[3]), (3, &[6])],
        &[(0, &[5, 7])],
    ];
    plan.switches = plan
        .dcs
        .iter()
        .zip(ways)
        .map(|(dc, ways)| Switch {
            node: dc.dci,
            hash_seed: dc.dci.0,
            destinations: ways
                .iter()
                .map(|(to, ports)| destination(&plan, DcId(*to), ports))
                .collect(),
        })
        .collect();
    let lcmp = LcmpConfig::paper(wire.rate_bps);
    plan.policies = vec![
        policy("ecmp", PolicyPlan::Ecmp, Vec::new()),
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
            paper_delay_ns: wire.delay_ns,
            paper_bottleneck_bps: wire.rate_bps,
            paper_first_link_delay_ns: wire.delay_ns,
            paper_first_link_bps: wire.rate_bps,
        }
    };
    Destination {
        dc,
        hops: 1,
        candidates: ports.iter().map(candidate).collect(),
    }
}

/// 10 for each destination's first candidate, 30 for the next.
fn scores(plan: &Plan) -> Vec<Vec<Vec<u8>>> {
    let row = |row: &Destination| [10, 30][..row.candidates.len()].to_vec();
    let switches = plan.switches.iter();
    switches
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
