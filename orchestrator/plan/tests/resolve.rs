//! Whole plans of hand-made scenarios.

use lab_plan::{PlanOptions, resolve};
use lab_scenario::{
    Agent, Arrivals, Dc, DcPair, Fabric, Generator, InterDcLink, LcmpSpec, LoadBase, Measure,
    Pairs, PolicySpec, ScaleSpec, Scenario, Tool, Topology, Traffic, Wire, Workload,
};
use lab_units::{BitsPerSec, Nanos};

fn wire(rate: &str, delay: &str) -> Wire {
    Wire {
        rate: rate.parse::<BitsPerSec>().unwrap(),
        delay: delay.parse().unwrap(),
        buffer: "128 MB".parse().unwrap(),
        loss: "0".parse().unwrap(),
        ecn: None,
    }
}

fn testbed() -> Scenario {
    let dc = |number: u32| Dc {
        name: format!("dc{number}"),
        fabric: Fabric::Direct {
            hosts: if number == 1 || number == 8 { 4 } else { 0 },
            host_link: wire("100 Gbit", "1 us"),
        },
        agent: Agent::Policy,
    };
    let route = |(via, rate, delay): (u32, &str, &str)| {
        let link = |from: &str, to: &str| InterDcLink {
            between: [from.to_owned(), to.to_owned()],
            wire: wire(rate, delay),
        };
        let via = format!("dc{via}");
        [link("dc1", &via), link(&via, "dc8")]
    };
    let routes = [
        (2, "200 Gbit", "25 ms"),
        (3, "200 Gbit", "250 ms"),
        (4, "100 Gbit", "10 ms"),
        (5, "100 Gbit", "100 ms"),
        (6, "40 Gbit", "5 ms"),
        (7, "40 Gbit", "50 ms"),
    ];
    Scenario {
        name: "8dc".to_owned(),
        description: String::new(),
        topology: Topology {
            dcs: (1..=8).map(dc).collect(),
            links: routes.into_iter().flat_map(route).collect(),
        },
        traffic: vec![Traffic::Workload(Workload {
            sizes: "workloads/bulk.csv".to_owned(),
            pairs: Pairs::Listed(vec![DcPair {
                from: "dc1".to_owned(),
                to: "dc8".to_owned(),
                both_ways: true,
            }]),
            load: "0.3".parse().unwrap(),
            load_base: LoadBase::HostNic,
            arrivals: Arrivals::Poisson,
            duration: Nanos::from_millis(200),
            max_flows: Some(44),
        })],
        policies: vec![
            PolicySpec::Ecmp,
            PolicySpec::Lcmp(LcmpSpec {
                max_delay: Some("524288 us".parse().unwrap()),
                ..LcmpSpec::default()
            }),
        ],
        scale: ScaleSpec::Fixed {
            rate: "1/2000".parse().unwrap(),
            time: "10".parse().unwrap(),
        },
        seed: 1,
        repetitions: 1,
        generator: Generator {
            tool: Tool::IbSendBw,
            mtu: 4096,
            traffic_class: 2,
        },
        measure: Measure {
            queues: Nanos::from_millis(1),
            links: Nanos::from_millis(10),
        },
        faults: Vec::new(),
    }
}

#[test]
fn testbed_plan() {
    let files = [(
        "workloads/bulk.csv".to_owned(),
        include_str!("../../../scenarios/workloads/bulk.csv").to_owned(),
    )];
    let plan = resolve(&testbed(), "", &files.into(), &PlanOptions::default()).unwrap();
    println!("{}", serde_json::to_string_pretty(&plan).unwrap());
}
