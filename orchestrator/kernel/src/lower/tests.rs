use lab_plan::{
    model::{FaultChange, FaultPlan, Role},
    transport::{CcPlan, DctcpConfig, TimelyConfig},
};
use lab_units::{LinkId, Nanos, NodeId};

use super::{
    Clock, HostPlacement, Layout, LowerOptions, lower, lower_after, lower_fault, lower_repair,
    rdma_device,
};
use crate::{
    step::{DeviceChange, Step},
    testing,
};

fn options(hosts: HostPlacement, clock: Clock) -> LowerOptions {
    LowerOptions {
        lab: "t".parse().unwrap(),
        hosts,
        clock,
        delay_lines: true,
        cpus: 2,
    }
}

fn listing(steps: &[Step]) -> String {
    let line = |step: &Step| match step.undo() {
        Some(undo) => format!("{step}    # undo: {undo}\n"),
        None => format!("{step}\n"),
    };
    steps.iter().map(line).collect()
}

#[test]
fn steps_of_two_datacenters_with_hosts_in_the_root_namespace() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    insta::assert_snapshot!(listing(&lower(&testing::pair(0), &options)));
}

#[test]
fn steps_of_two_datacenters_with_hosts_in_namespaces_in_real_time() {
    let options = options(HostPlacement::OwnNamespace, Clock::Real);
    insta::assert_snapshot!(listing(&lower(&testing::pair(1), &options)));
}

/// Each end is a pair of interfaces, the other one in the namespace for delay lines.
#[test]
fn parallel_links_have_interfaces_of_their_own_with_their_own_rates() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let text = listing(&lower(&testing::twins(0), &options));
    let count = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    for (end, rate) in [
        ("l0d1-d2", 200),
        ("l0d2-d1", 200),
        ("l0d1-d2_2", 80),
        ("l0d2-d1_2", 80),
    ] {
        assert_eq!(count(&format!(" link add {end} ")), 1, "{end}: {text}");
        let shaper = format!("dev {end} root handle 1: tbf rate {rate}000000bit ");
        assert_eq!(count(&shaper), 1, "{end}: {text}");
    }
}

#[test]
fn hosts_with_congestion_control_have_a_pacer() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let plain = listing(&lower(&testing::pair(0), &options));
    let paced = listing(&lower(&testing::paced(0), &options));
    let added = paced.lines().filter(|line| !plain.contains(line));
    insta::assert_snapshot!(added.collect::<Vec<_>>().join("\n"));
}

#[test]
fn other_congestion_controls_have_no_pacer() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let mut plan = testing::pair(0);
    let plain = lower(&plan, &options);
    for cc in [
        CcPlan::Timely(TimelyConfig::PAPER),
        CcPlan::Dctcp(DctcpConfig::PAPER),
    ] {
        plan.transport.cc = cc;
        assert_eq!(lower(&plan, &options), plain);
    }
}

/// Three frames of 4,190 B (12,570 B) wait in the delay line's `netem` and are subtracted from the buffer (620 kB) and
/// from the thresholds (40 kB and 160 kB). At p = 1/10, `red` marks after 1 to 10 packets, 5.5 on average, so it marks
/// 18 %, near the plan's 20 %; at p = 1/5 it would mark after 1 to 5 packets, or 33 %.
#[test]
fn a_legacy_switch_marks_by_a_qdisc() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let mut plan = testing::pair(0);
    let marked_by_agents = listing(&lower(&plan, &options));
    plan.dcs[0].legacy = true;
    let steps = listing(&lower(&plan, &options));
    let added = steps
        .lines()
        .filter(|line| !marked_by_agents.contains(line));
    assert_eq!(
        added.collect::<Vec<_>>(),
        [
            "tc -n lcmp-t-dc1 qdisc add dev l0d1-d2 parent 1:1 handle 10: red limit 607430 min 27430 \
             max 147430 probability 0.100000 ecn nodrop"
        ]
    );
}

#[test]
fn steps_of_the_testbed() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    insta::assert_snapshot!(listing(&lower(&testing::testbed(0), &options)));
}

#[test]
fn the_fabrics_are_184_nodes_and_220_links() {
    let plan = testing::fabrics(0);
    assert_eq!((plan.nodes.len(), plan.links.len()), (184, 220));
    let options = options(HostPlacement::OwnNamespace, Clock::Virtual);
    let steps = lower(&plan, &options);
    let count = |kind: fn(&&Step) -> bool| steps.iter().filter(kind).count();
    assert_eq!(count(|step| matches!(step, Step::Netns { .. })), 184 + 1);
    assert_eq!(count(|step| matches!(step, Step::Veth(_))), 220 + 12);
}

#[test]
fn faults_become_steps_on_the_fiber_and_the_egress_queues() {
    let mut plan = testing::pair(0);
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let as_planned = plan.links[0].emu;
    let slower = testing::marking(testing::wire("50 Mbit", "25 ms", "620 kB"));
    let mut longer = slower;
    longer.delay_ns = Nanos::new(40_000_000);
    let wires = [slower, longer, as_planned, longer].map(FaultChange::Wire);
    let changes = [FaultChange::Down, FaultChange::Up]
        .into_iter()
        .chain(wires);
    let faults = changes
        .zip(0..)
        .map(|(change, at)| fault(LinkId(0), at, change));
    plan.faults = faults.collect();
    let mut text = String::new();
    for fault in &plan.faults {
        text += &listing(&lower_fault(&plan, &options, fault).unwrap());
        text += "\n";
    }
    text += "repaired:\n";
    text += &listing(&lower_repair(&plan, &options));
    insta::assert_snapshot!(text);
}

/// Link 0 has 100 Mbit/s. The first fault sets its rate to 50 Mbit/s, the second cuts the link, and the third restores
/// it.
#[test]
fn links_and_queues_are_compared_as_faults_left_them() {
    let mut plan = testing::pair(0);
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let slower = testing::wire("50 Mbit", "25 ms", "620 kB");
    let changes = [
        FaultChange::Wire(slower),
        FaultChange::Down,
        FaultChange::Up,
    ];
    let faults = changes
        .into_iter()
        .zip(0..)
        .map(|(change, at)| fault(LinkId(0), at, change));
    plan.faults = faults.collect();
    let after =
        |count: usize| listing(&lower_after(&plan, &options, &plan.faults[..count]).unwrap());
    let planned = after(0);
    for (rate, carriers, count) in [(100, 4, 0), (50, 4, 1), (50, 0, 2), (50, 4, 3)] {
        let text = after(count);
        let lines = |words: &str| text.lines().filter(|line| line.contains(words)).count();
        // The two shapers and the two delay lines must all have this rate.
        assert_eq!(lines(&format!(" rate {rate}000000bit")), 4, "{text}");
        // The names are those of two switch ports and of two ends of the fiber.
        assert_eq!(
            ["l0d1-d2", "l0d2-d1", "f0", "f1"]
                .map(|dev| lines(&format!("link set dev {dev} up")))
                .iter()
                .sum::<usize>(),
            carriers,
            "{text}"
        );
        assert_eq!(
            text.lines().count(),
            planned.lines().count() - (4 - carriers)
        );
    }
}

#[test]
fn what_no_fault_changes_needs_no_repair() {
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    assert!(lower_repair(&testing::pair(0), &options).is_empty());
}

fn fault(link: LinkId, at: u64, change: FaultChange) -> FaultPlan {
    FaultPlan {
        at_ns: Nanos::new(at),
        paper_at_ns: Nanos::new(at),
        link,
        change,
        path_cost_updates: Vec::new(),
    }
}

#[test]
fn a_link_inside_a_datacenter_has_no_faults() {
    let plan = testing::pair(0);
    let options = options(HostPlacement::RootNamespace, Clock::Virtual);
    let fault = fault(LinkId(1), 0, FaultChange::Down);
    let error = lower_fault(&plan, &options, &fault).unwrap_err();
    let expected = "link `dc1-dc1/h1` is inside a datacenter, but faults are possible only on links between datacenters";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn nothing_of_the_root_namespace_is_changed_but_what_is_the_labs_own() {
    let options = options(HostPlacement::RootNamespace, Clock::Real);
    let steps = lower(&testing::testbed(2), &options);
    let ours = |text: &str| text.contains("l2d");
    for step in steps.iter().filter(|step| step.netns_name().is_none()) {
        let own = match step {
            Step::SharedSysctl { .. } => true,
            Step::Rule(rule) => rule.table > 1 << 30,
            step => ours(&step.to_string()),
        };
        assert!(own, "{step}");
    }
}

#[test]
fn flows_take_the_rdma_devices_that_are_created_for_their_hosts() {
    let plan = testing::pair(3);
    let options = options(HostPlacement::RootNamespace, Clock::Real);
    let steps = lower(&plan, &options);
    let created = steps.iter().filter_map(|step| match step {
        Step::Device {
            change: DeviceChange::Rxe(name),
            ..
        } => Some(name.clone()),
        _ => None,
    });
    let layout = Layout::new(&plan, &options);
    let nodes = (0..).map(NodeId).zip(&plan.nodes);
    let hosts = nodes.filter(|(_, node)| node.role == Role::Host);
    let taken = hosts.filter_map(|(host, _)| rdma_device(&layout, host));
    let expected = ["rxe_l3d1h1", "rxe_l3d2h1"];
    assert_eq!(created.collect::<Vec<_>>(), expected);
    assert_eq!(taken.collect::<Vec<_>>(), expected);
}

#[test]
fn steps_survive_their_text_form() {
    let options = options(HostPlacement::RootNamespace, Clock::Real);
    for step in lower(&testing::paced(3), &options) {
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step, "{text}");
    }
}
