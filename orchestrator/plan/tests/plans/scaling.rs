//! Tests of scaling whole plans.

use lab_plan::{Plan, PlanError, PlanOptions, address::too_large_for_lab};

use crate::common;

fn scaled(scale: &str) -> Result<Plan, PlanError> {
    let text = common::testbed_text();
    let start = text.find("scale: {").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let text = format!("{}scale: {scale}{}", &text[..start], &text[end..]);
    common::try_plan(&text, &PlanOptions::default())
}

#[test]
fn auto_finds_the_finest_scale_the_guest_carries() {
    let plan = scaled("auto").unwrap();
    let factors = [plan.scale.rate, plan.scale.time, plan.scale.size];
    assert_eq!(
        factors.map(|factor| factor.to_string()),
        ["1/1000", "5", "1/200"]
    );
    assert!(plan.estimate.forwarding_percent <= 50);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

/// Sizes are scaled by rate factor times time factor, so FCTs at the paper's scale do not depend on the rate factor,
/// except that packets are not scaled.
#[test]
fn ideal_fct_in_paper_time_hardly_depends_on_the_scale() {
    let fine = scaled("{ rate: 1/20, time: 1 }").unwrap();
    let coarse = scaled("{ rate: 1/2000, time: 10 }").unwrap();
    let paper =
        |plan: &Plan, at: usize| plan.flows[at].ideal_fct_ns.get() / plan.scale.time.numerator();
    for at in 0..fine.flows.len() {
        let fine = paper(&fine, at);
        let coarse = paper(&coarse, at);
        assert!(coarse >= fine);
        // The difference is three packets of 4 kB at 20 Mbit/s, divided by the time scale of ten.
        assert!(coarse - fine < 700_000, "{fine} {coarse}");
    }
}

#[test]
fn a_scale_that_loses_a_quantity_names_it() {
    let error = scaled("{ rate: 1/2000, time: 1/2000 }")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "`topology.defaults.host_link.delay` is 1 us, which at a scale of 1/2000 is rounded to 1 ns \
         and changed by more than 1/1000 (hint: raise `scale.time`)"
    );
}

/// Of four flows, two are smaller than a packet of 4,096 bytes, and one is exactly one packet.
#[test]
fn flows_below_a_packet_are_counted() {
    let flow = |size: u32| format!("{{ from: dc1/h1, to: dc2/h1, size: {size} B }}");
    let flows = [1, 4_095, 4_096, 4_097].map(flow).join(", ");
    let plan = common::simulated(&format!(
        "name: small
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}]
traffic: [{{ flows: [{flows}] }}]
policies: [ecmp]
"
    ));
    assert_eq!(plan.estimate.sub_packet_flows_percent, 50);
}

#[test]
fn long_flows_exceed_softroces_window_and_are_warned_of() {
    let plan = scaled("{ rate: 1/200, time: 10 }").unwrap();
    let warning = plan
        .warnings
        .iter()
        .find(|warning| warning.code == "rxe-window")
        .unwrap();
    let start = "33 of 45 flows are longer than the 128 packets that a SoftRoCE QP has in flight";
    assert!(warning.text.starts_with(start), "{}", warning.text);
}

#[test]
fn a_round_trip_beyond_any_timeout_is_refused() {
    let error = scaled("{ rate: 1/1000000, time: 1000000 }").unwrap_err();
    assert!(matches!(error, PlanError::QpTimeout { .. }), "{error}");
}

/// The scenario has the maximum size; resolving it must take at most time in proportion to its size.
#[test]
fn the_largest_topology_is_planned_and_drawn() {
    let mut text = "name: large\ntopology:\n  dcs:\n".to_owned();
    for dc in 1..=64 {
        text.push_str(&format!("    - {{ name: dc{dc}, hosts: 64 }}\n"));
    }
    text.push_str("  links:\n");
    // 45 datacenters form a full mesh, and each of the other 19 is linked to one or two of them, so that no destination
    // has more next hops than a switch can choose among.
    let core = (1..=45).flat_map(|from| (from + 1..=45).map(move |to| (from, to)));
    let edge = (46..=64).map(|from| (from, from - 45));
    let second = (46..=60).map(|from| (from, from - 26));
    let links: Vec<(i32, i32)> = core.chain(edge).chain(second).collect();
    for (from, to) in &links {
        let delay = (from + to) % 16 + 1;
        text.push_str(&format!(
            "    - {{ between: [dc{from}, dc{to}], rate: 100 Gbit, delay: {delay} ms }}\n"
        ));
    }
    text.push_str(
        "traffic:\n  - workload: { sizes: workloads/websearch.csv, pairs: all-to-all, load: 0.3, \
         duration: 10 ms, max_flows: 20000 }\npolicies: [ecmp, lcmp]\n\
         scale: { rate: 1/1000, time: 10 }\n",
    );
    let plan = common::plan(&text);
    assert_eq!(links.len(), 1024);
    assert_eq!(
        (plan.nodes.len(), plan.links.len(), plan.flows.len()),
        (4160, 5120, 20_000)
    );
    assert!(lab_plan::render_svg(&plan).ends_with("</svg>\n"));
    assert!(
        lab_plan::render_table(&plan)
            .lines()
            .all(|line| line.chars().count() <= 100)
    );
}

/// A lab has addresses for 255 datacenters; the 256th is the first in the simulator's own block.
#[test]
fn a_network_beyond_a_labs_is_planned_for_the_simulator_alone() {
    let text = |dcs: u32| {
        let mut text = "name: ring\ntopology:\n  dcs:\n".to_owned();
        for dc in 1..=dcs {
            text.push_str(&format!("    - {{ name: dc{dc}, hosts: 1 }}\n"));
        }
        text.push_str("  links:\n");
        for dc in 1..=dcs {
            let next = dc % dcs + 1;
            text.push_str(&format!(
                "    - {{ between: [dc{dc}, dc{next}], rate: 100 Gbit, delay: 1 ms }}\n"
            ));
        }
        text.push_str(
            "traffic: [{ flows: [{ from: dc1/h1, to: dc255/h1, size: 20 MB }] }]\npolicies: [ecmp]\n\
             scale: { rate: 1/1000, time: 10 }\n",
        );
        text
    };
    let is_warned = |plan: &Plan| {
        let mut warnings = plan.warnings.iter().map(|warning| warning.code.as_str());
        warnings.any(|code| code == "too-large-for-lab")
    };
    let most = common::plan(&text(255));
    assert_eq!(too_large_for_lab(most.dcs.len()), None);
    assert!(!is_warned(&most));
    let more = common::plan(&text(256));
    let why = "the topology has 256 datacenters, and a lab has addresses for 255";
    assert_eq!(too_large_for_lab(more.dcs.len()).as_deref(), Some(why));
    assert!(is_warned(&more));
    let last = more.dcs[255].hosts[0];
    assert_eq!(more.nodes[last.index()].addr.to_string(), "100.64.0.1");
    let simulated = common::simulated(&text(256));
    assert!(!is_warned(&simulated));
    // The ring's two paths to the opposite datacenter are equally long.
    let opposite = simulated.dcs[128].hosts[0];
    let dc = simulated.nodes[opposite.index()].dc;
    let row = simulated.switches[0].towards(dc).unwrap();
    assert_eq!((row.hops, row.candidates.len()), (128, 2));
}

/// `tbf` has whole bytes per second, and at most 275 s for its burst.
#[test]
fn a_link_under_a_kilobit_is_planned_for_the_simulator_alone() {
    let text = |rate: &str, faults: &str| {
        format!(
            "name: slow\ntopology:\n  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}]\n  \
             links: [{{ between: [a, b], rate: {rate}, delay: 1 ms }}]\n\
             traffic: [{{ flows: [{{ from: a/h1, to: b/h1, size: 1 MB }}] }}]\npolicies: [ecmp]\n\
             scale: {{ rate: 1/1000, time: 10 }}\n{faults}"
        )
    };
    let why = |text: &str| common::plan(text).wires().too_slow_for_lab();
    assert_eq!(why(&text("1 Mbit", "")), None);
    let slow = "link `a-b` has 999 bit/s in the lab, and Linux shapes links of at least 1 kbit/s";
    let under = text("999 kbit", "");
    assert!(why(&under).unwrap().starts_with(slow));
    let fault = "faults: [{ at: 1 ms, link: a-b, rate: 999 kbit }]\n";
    let slowed = slow.replace("`a-b`", "`a-b`, slowed down by a fault,");
    assert!(why(&text("1 Mbit", fault)).unwrap().starts_with(&slowed));

    let is_warned = |plan: &Plan| {
        let mut warnings = plan.warnings.iter();
        warnings.any(|warning| warning.code == "too-slow-for-lab")
    };
    assert!(is_warned(&common::plan(&under)));
    assert!(!is_warned(&common::plan(&text("1 Mbit", ""))));
    assert!(!is_warned(&common::simulated(&under)));
}

/// Every agent takes 38 MB, and one more may be about to start. A legacy switch has none.
#[test]
fn agents_count_in_the_memory_of_the_lab() {
    let memory = |dcs: u32, legacy: u32| {
        let mut text = "name: line\ntopology:\n  dcs:\n".to_owned();
        for dc in 1..=dcs {
            let agent = if dc <= legacy { ", agent: legacy" } else { "" };
            text.push_str(&format!("    - {{ name: d{dc}, hosts: 1{agent} }}\n"));
        }
        text.push_str("  links:\n");
        for dc in 1..dcs {
            let next = dc + 1;
            text.push_str(&format!(
                "    - {{ between: [d{dc}, d{next}], rate: 1 Gbit, delay: 1 ms }}\n"
            ));
        }
        text.push_str(
            "traffic: [{ flows: [{ from: d1/h1, to: d2/h1, size: 1 kB }] }]\npolicies: [ecmp]\n\
             scale: { rate: 1, time: 1 }\n",
        );
        common::plan(&text).estimate.memory_bytes.get()
    };
    let megabytes = 1_000_000;
    assert_eq!(memory(3, 0) - memory(3, 1), 38 * megabytes);
    assert_eq!(memory(3, 0) - memory(3, 3), 4 * 38 * megabytes);
    // 25 datacenters used 1.95 GB of a guest, of which its kernel and page cache may take 1 GiB.
    assert!(memory(25, 0) + (1 << 30) > 1_950 * megabytes);
    // A guest of 2 GiB had no memory for the 29th of 40 agents.
    assert!(memory(40, 0) + (1 << 30) > (2 << 30) + 11 * 38 * megabytes);
}
