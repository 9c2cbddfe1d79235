//! Tests of transport settings, from the scenario into the plan.

use lab_plan::{
    CcPlan, Engine, HostProfile, LinkKind, Plan, PlanOptions, Role, Semantics, Window, frame, pfc,
    rdma, render_table,
    transport::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig},
};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

use crate::common;

/// Returns the smoke scenario with a time scale of 10 and the given `transport` section.
fn text(transport: &str) -> String {
    let text = common::scenario_text("smoke.yaml").replace("time: 100", "time: 10");
    format!("{text}\ntransport: {{ {transport} }}\n")
}

fn plan(transport: &str) -> Plan {
    common::plan(&text(transport))
}

/// Plans the smoke scenario with this `transport` for the simulator, unscaled.
fn simulated(transport: &str) -> Plan {
    common::simulated(&text(transport))
}

fn codes(plan: &Plan) -> Vec<&str> {
    plan.warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}

fn mbit(rate: u64) -> BitsPerSec {
    BitsPerSec::new(rate * 1_000_000).unwrap()
}

#[test]
fn by_default_the_simulator_has_the_kernels_transport() {
    let plan = simulated("");
    let transport = &plan.transport;
    assert_eq!(transport.semantics, Semantics::Paper);
    assert_eq!(transport.cc, CcPlan::None);
    assert_eq!(transport.window, Window::Bdp);
    assert!(!transport.pfc && !transport.ack_priority);
    assert_eq!(transport.payload_bytes, plan.rdma.path_mtu);
    assert_eq!(transport.nack_interval_ns.0, None);
    let timeout = rdma::timeout(plan.rdma.qp_timeout);
    assert_eq!(transport.retransmit_timeout_ns.0, Some(timeout));
    assert_eq!(transport.fabric_buffer_bytes, Bytes::new(32_000_000));
    assert_eq!(transport.dci_buffer_bytes, Bytes::new(6_000_000_000));
    let shown = render_table(&plan);
    assert!(shown.contains("(the paper's is DCQCN with PFC:"), "{shown}");
}

#[test]
fn the_artifacts_semantics_comes_with_its_configuration() {
    let plan = simulated("semantics: artifact");
    let transport = &plan.transport;
    let dcqcn = CcPlan::Dcqcn(DcqcnConfig::ARTIFACT);
    assert_eq!(transport.cc, dcqcn);
    assert_eq!(transport.window, Window::Bdp);
    assert!(transport.pfc && !transport.ack_priority);
    assert_eq!(transport.payload_bytes, 1_000);
    assert_eq!(transport.nack_interval_ns.0, Some(Nanos::new(500_000)));
    assert_eq!(transport.retransmit_timeout_ns.0, None);
    assert_eq!(transport.fabric_buffer_bytes, Bytes::new(33_554_432));
    assert_eq!(transport.dci_buffer_bytes, Bytes::new(134_217_728));
}

#[test]
fn congestion_controls_default_to_the_preset_of_the_semantics() {
    let cc = |text: &str| simulated(text).transport.cc;
    assert_eq!(cc("cc: dcqcn"), CcPlan::Dcqcn(DcqcnConfig::PAPER));
    assert_eq!(cc("cc: dctcp"), CcPlan::Dctcp(DctcpConfig::PAPER));
    assert_eq!(cc("cc: timely"), CcPlan::Timely(TimelyConfig::PAPER));
    assert_eq!(cc("cc: hpcc"), CcPlan::Hpcc(HpccConfig::PAPER));
    let artifact = |name: &str| cc(&format!("semantics: artifact, cc: {name}"));
    assert_eq!(artifact("hpcc"), CcPlan::Hpcc(HpccConfig::ARTIFACT));
    assert_eq!(artifact("timely"), CcPlan::Timely(TimelyConfig::ARTIFACT));
    assert_eq!(artifact("dctcp"), CcPlan::Dctcp(DctcpConfig::ARTIFACT));
    assert_eq!(artifact("none"), CcPlan::None);
    assert_eq!(
        artifact("{ dcqcn: { preset: paper } }"),
        CcPlan::Dcqcn(DcqcnConfig::PAPER)
    );
}

/// Times are multiplied by 10, rates by the scenario's rate factor, sizes by the product of both factors.
#[test]
fn parameters_are_scaled_like_everything_else() {
    let plan = plan("cc: dcqcn, window: 10 MB, retransmit_timeout: 6 ms");
    let scale = plan.scale;
    let CcPlan::Dcqcn(dcqcn) = &plan.transport.cc else {
        panic!("{:?}", plan.transport.cc)
    };
    assert_eq!(dcqcn.alpha_interval_ns, Nanos::new(550_000));
    let rate = scale.rate("", mbit(40)).unwrap();
    assert_eq!(dcqcn.additive_rate_bps, rate);
    assert_ne!(rate, mbit(40));
    let window = scale.size("", Bytes::new(10_000_000)).unwrap();
    assert_eq!(dcqcn.byte_counter_bytes, window);
    assert_eq!(plan.transport.window, Window::Bytes(window));
    assert_eq!(plan.rdma.qp_timeout, 14, "60 ms are less than 67 ms");
    let timeout = Some(rdma::timeout(14));
    assert_eq!(plan.transport.retransmit_timeout_ns.0, timeout);
}

/// An unscaled simulation does not have rxe's defaults.
#[test]
fn the_kernel_and_the_scaled_simulator_have_rxes_window_and_timeouts() {
    let with = |transport: &str, engine| {
        let options = PlanOptions {
            engine,
            is_scaled: true,
            ..PlanOptions::default()
        };
        common::try_plan(&text(transport), &options).unwrap()
    };
    let rxes = Window::Bytes(Bytes::new(128 * 4096));
    for engine in [Engine::Kernel, Engine::Sim] {
        let plain = with("retransmit_timeout: 6 ms", engine).transport;
        assert_eq!(plain.window, rxes);
        assert_eq!(plain.retransmit_timeout_ns.0, Some(rdma::timeout(14)));
        let window = |transport| with(transport, engine).transport.window;
        assert_eq!(window("window: bdp"), Window::Bdp);
        assert_eq!(window("cc: dcqcn"), rxes);
        assert_eq!(window("cc: { dcqcn: { preset: artifact } }"), rxes);
        assert_eq!(window("cc: dctcp"), Window::Bdp);
    }
    let alone = simulated("retransmit_timeout: 6 ms").transport;
    assert_eq!(alone.window, Window::Bdp);
    assert_eq!(alone.retransmit_timeout_ns.0, Some(Nanos::from_millis(6)));
}

#[test]
fn a_timeout_within_the_round_trip_is_warned_of() {
    let is_said = |text: &str| codes(&plan(text)).contains(&"early-timeout");
    assert!(is_said("retransmit_timeout: 1 ms"));
    assert!(!is_said("retransmit_timeout: 1 s"));
}

#[test]
fn a_timely_that_steps_by_segments_scales_them() {
    let plan = plan("cc: { timely: { segment: 64 MB, t_low: 1 ms, t_high: 2 ms } }");
    let segment = plan.scale.size("", Bytes::new(64_000_000)).unwrap();
    let CcPlan::Timely(timely) = plan.transport.cc else {
        panic!("{:?}", plan.transport.cc)
    };
    assert_eq!(timely.segment_bytes, segment);
    assert_eq!(timely.t_low_ns, Nanos::from_millis(10));
}

#[test]
fn packets_have_room_for_the_switches_of_the_longest_path() {
    let text = common::scenario_text("8dc-fabric.yaml");
    let text = format!("{text}\ntransport: {{ cc: hpcc }}\n");
    let CcPlan::Hpcc(hpcc) = common::plan(&text).transport.cc else {
        panic!("not HPCC")
    };
    // On the longest path, a packet passes a leaf, a spine, three DCI switches, a spine and a leaf.
    assert_eq!(hpcc.int_hops, 7);
}

#[test]
fn the_kernel_engine_says_what_it_does_not_honour() {
    let plan = plan("cc: hpcc, pfc: true, window: none");
    let found = plan
        .warnings
        .iter()
        .clone()
        .find(|found| found.code == "transport-ignored");
    insta::assert_snapshot!(found.unwrap().text);
    let is_said = |text: &str| codes(&self::plan(text)).contains(&"transport-ignored");
    assert!(!is_said("retransmit_timeout: 1 s"));
    assert!(is_said("nack_interval: 1 ms"));
    assert!(is_said("retransmit_timeout: none"));
    assert!(is_said("window: bdp"));
    assert!(is_said("payload: 1000"));
    assert!(!is_said("payload: 4096"));
    assert!(!codes(&simulated("cc: hpcc")).contains(&"transport-ignored"));
}

/// Only PFC uses shared buffers; without PFC, each port has its own buffer.
#[test]
fn shared_buffers_without_pfc_are_warned_of() {
    let found = |transport: &str| {
        let plans = [plan(transport), simulated(transport)];
        plans.map(|plan| codes(&plan).contains(&"buffer-ignored"))
    };
    assert_eq!(found("dci_buffer: 1 GB"), [true, true]);
    assert_eq!(found("fabric_buffer: 1 GB"), [true, true]);
    assert_eq!(
        found("pfc: true, cc: dcqcn, dci_buffer: 1 GB"),
        [false, false]
    );
    // In the lab, PFC acts only between DCI switches and hosts.
    let ignored = |transport: &str| codes(&plan(transport)).contains(&"transport-ignored");
    assert!(ignored("pfc: true, cc: dcqcn, fabric_buffer: 1 GB"));
    assert!(!ignored("pfc: true, cc: dcqcn, dci_buffer: 1 GB"));
}

#[test]
fn the_kernel_engine_has_dcqcn_alone() {
    for (cc, is_ignored) in [
        ("dcqcn", false),
        ("{ dcqcn: { gain: 1/16 } }", false),
        ("{ dcqcn: { preset: artifact } }", false),
        ("dctcp", true),
    ] {
        let plan = plan(&format!("cc: {cc}"));
        let is_said = codes(&plan).contains(&"transport-ignored");
        assert_eq!(is_said, is_ignored, "{cc}");
        assert_eq!(plan.transport.cc.in_lab().is_none(), is_ignored, "{cc}");
    }
}

/// Plans a scenario with a marking link, 25 Gbit/s and 5 ms, at a rate scale of 1/2000 and a time scale of 100, so that
/// sizes are divided by 20.
fn marked(transport: &str, ecn: &str, flows: usize) -> Plan {
    let flow = "      - { from: dc1/h1, to: dc2/h1, size: 20 MB }\n";
    let text = format!(
        "name: marks\n\
         topology:\n  \
           dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]\n  \
           links: [{{ between: [dc1, dc2], rate: 25 Gbit, delay: 5 ms, ecn: {{ {ecn} }} }}]\n\
         traffic:\n  - flows:\n{}\
         policies: [ecmp]\n\
         scale: {{ rate: 1/2000, time: 100 }}\n\
         transport: {{ {transport} }}\n",
        flow.repeat(flows)
    );
    common::plan(&text)
}

/// In a round trip, the link carries 12.5 Mbit/s · 1 s = 1.56 MB; a SoftRoCE window is 524 kB.
#[test]
fn dcqcn_without_effect_is_warned_of() {
    let ecn = "k_min: 400 kB, k_max: 1600 kB, p_max: 0.2";
    let is_said = |transport: &str, flows| {
        let plan = marked(transport, ecn, flows);
        codes(&plan).contains(&"dcqcn-inert")
    };
    assert!(is_said("cc: dcqcn", 3));
    assert!(!is_said("cc: dcqcn", 4));
    assert!(!is_said("cc: none", 3));
}

/// A marking threshold of 240 kB is 12 kB after scaling, less than three packets (12.5 kB).
#[test]
fn marks_from_a_packet_on_are_warned_of() {
    let is_said = |cc: &str, k_min: &str| {
        let ecn = format!("k_min: {k_min}, k_max: 1600 kB, p_max: 0.2");
        codes(&marked(cc, &ecn, 4)).contains(&"early-marks")
    };
    assert!(is_said("cc: dcqcn", "240 kB"));
    assert!(!is_said("cc: dcqcn", "260 kB"));
    assert!(!is_said("cc: none", "240 kB"));
}

/// At 50 kbit/s, the 65 packets in the pacer take 43 s.
#[test]
fn a_timeout_outlasts_what_a_paced_qp_has_parked() {
    let ecn = "k_min: 400 kB, k_max: 1600 kB, p_max: 0.2";
    let paced = marked("cc: dcqcn", ecn, 4);
    assert_eq!(paced.rdma.qp_timeout, 24, "68.7 s");
    assert!(!codes(&paced).contains(&"parked-timeout"));
    assert!(marked("cc: none", ecn, 4).rdma.qp_timeout < 24);
    let early = marked("cc: dcqcn, retransmit_timeout: 200 ms", ecn, 4);
    assert!(codes(&early).contains(&"parked-timeout"));
    let fast = "cc: { dcqcn: { min_rate: 1 Gbit } }, retransmit_timeout: 200 ms";
    assert!(!codes(&marked(fast, ecn, 4)).contains(&"parked-timeout"));
}

#[test]
fn congestion_control_by_marks_needs_marks() {
    let is_said = |plan: &Plan| codes(plan).contains(&"cc-without-marks");
    let marks = "delay: 5 ms, ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }";
    for (cc, needs_marks) in [
        ("dcqcn", true),
        ("dctcp", true),
        ("hpcc", false),
        ("none", false),
    ] {
        let text = format!("cc: {cc}");
        assert_eq!(is_said(&simulated(&text)), needs_marks, "{cc}");
        let marked = self::text(&text).replace("delay: 5 ms", marks);
        assert!(marked.contains("ecn:"), "the scenario has such a link");
        assert!(!is_said(&common::simulated(&marked)), "{cc}");
    }
}

/// 100 Gbit/s over a round trip of 1 s is 12.5 GB, twice a DCI switch's buffer.
#[test]
fn pfc_without_room_for_headroom_is_warned_of() {
    let long = |transport: &str| text(transport).replace("delay: 5 ms", "delay: 500 ms");
    let options = |engine| PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    let is_said = |text: &str, engine| {
        let plan = common::try_plan(text, &options(engine)).unwrap();
        codes(&plan).contains(&"pfc-lossy")
    };
    for engine in [Engine::Kernel, Engine::Sim] {
        assert!(is_said(&long("pfc: true"), engine));
        assert!(!is_said(&long("pfc: true, dci_buffer: 200 GB"), engine));
        assert!(!is_said(&long("pfc: false"), engine));
        assert!(!is_said(&text("pfc: true"), engine));
    }
}

/// The warning lists each port that drops packets, with the headroom that it needs: two ports of 12.5 GB at `dc2`, one
/// each at `dc1` and `dc3`.
#[test]
fn the_ports_without_room_are_named_with_their_headrooms() {
    let long = text("pfc: true").replace("delay: 5 ms", "delay: 500 ms");
    let plan = common::simulated(&long);
    let warning = plan
        .warnings
        .iter()
        .find(|found| found.code == "pfc-lossy")
        .unwrap();
    for words in [
        "4 ports of 3 switches",
        "of which 12.5 GB towards `dc1-dc2`; `dc2`",
        "of which 12.5 GB towards `dc1-dc2`, 12.5 GB towards `dc2-dc3`; `dc3`",
        "of which 12.5 GB towards `dc2-dc3`; hint",
    ] {
        assert!(warning.text.contains(words), "{words}: {}", warning.text);
    }
}

#[test]
fn a_lab_has_pfc_with_dcqcn_alone() {
    let is_ignored = |transport: &str| codes(&plan(transport)).contains(&"transport-ignored");
    assert!(is_ignored("pfc: true"));
    assert!(!is_ignored("cc: dcqcn, pfc: true"));
    let beside = PlanOptions {
        engine: Engine::Sim,
        is_scaled: true,
        ..PlanOptions::default()
    };
    let profile = |transport: &str| {
        let plan = common::try_plan(&text(transport), &beside).unwrap();
        plan.transport.profile
    };
    assert_eq!(profile("pfc: true"), HostProfile::Rnic);
    assert_eq!(profile("cc: dcqcn, pfc: true"), HostProfile::Rxe);
    assert_eq!(
        profile("cc: dcqcn, pfc: true, ack_priority: true"),
        HostProfile::Rnic
    );
}

#[test]
fn a_labs_queues_share_the_switchs_buffer_under_pfc() {
    let limit = |transport: &str| {
        let plan = plan(&format!("{transport}, dci_buffer: 3 GB"));
        let link = plan
            .links
            .iter()
            .find(|link| link.kind == LinkKind::InterDc);
        let wire = &link.unwrap().emu;
        assert_ne!(wire.buffer_bytes, plan.transport.dci_buffer_bytes);
        let limit = plan.transport.queue_limit(wire);
        (
            limit == plan.transport.dci_buffer_bytes,
            limit == wire.buffer_bytes,
        )
    };
    assert_eq!(limit("cc: dcqcn, pfc: true"), (true, false));
    assert_eq!(limit("cc: dcqcn"), (false, true));
    assert_eq!(limit("pfc: true"), (false, true));
}

/// The shared bytes and headrooms belong to the DCI switch of `dc1`, which has two hosts and two inter-DC links.
#[test]
fn a_switch_shares_what_reserves_and_headrooms_leave() {
    let plan = simulated("cc: dcqcn, pfc: true, payload: 1000, dci_buffer: 1 GB");
    let switch = plan.switches[0].node;
    let node = &plan.nodes[switch.index()];
    let buffer = pfc::shared_buffer(node, plan.wires(), &plan.transport).unwrap();
    let in_flight = |id: &PortId| {
        let wire = &plan.links[id.link().index()].emu;
        wire.rate_bps.get() * 2 * wire.delay_ns.get() / 8_000_000_000
    };
    let headrooms: Vec<u64> = node
        .ports
        .iter()
        .map(|id| in_flight(id) + 3 * frame::data(1_000, 0) + 64)
        .collect();
    assert_eq!(buffer.headrooms, headrooms);
    let reserves = 8 * 4_096 * headrooms.len() as u64;
    let kept = headrooms.iter().sum::<u64>() + reserves;
    assert_eq!(buffer.shared.get(), 1_000_000_000 - kept);
    assert_eq!(buffer.bytes.get(), 1_000_000_000);
    assert_eq!(
        pfc::shared_buffer(&plan.nodes[0], plan.wires(), &plan.transport).is_some(),
        plan.nodes[0].role != Role::Host
    );
}

#[test]
fn faster_ports_have_larger_shares() {
    let shift = |rate| pfc::threshold_shift(mbit(rate), mbit(100));
    assert_eq!(
        [40, 100, 200, 400, 800, 1_600].map(shift),
        [3, 3, 2, 1, 0, 0]
    );
}

/// Any two datacenters of the smoke scenario have a direct link, so a path has two switches.
#[test]
fn hpcc_is_blind_behind_its_last_hop() {
    let is_blind = |transport: &str| codes(&simulated(transport)).contains(&"hpcc-blind");
    assert!(is_blind("cc: { hpcc: { int_hops: 1 } }"));
    assert!(!is_blind("cc: { hpcc: { int_hops: 2 } }"));
    assert!(!is_blind("cc: hpcc"));
}

#[test]
fn the_artifacts_wraps_are_not_scaled() {
    let options = PlanOptions {
        engine: Engine::Sim,
        is_scaled: true,
        ..PlanOptions::default()
    };
    let text = text("semantics: artifact");
    let scaled = common::try_plan(&text, &options).unwrap();
    assert!(codes(&scaled).contains(&"artifact-scaled"));
    assert!(!codes(&simulated("semantics: artifact")).contains(&"artifact-scaled"));
}

#[test]
fn the_table_shows_transport() {
    let asked = [
        "cc: dcqcn, pfc: true",
        "semantics: artifact",
        "cc: hpcc, window: 1 MB, ack_priority: true",
        "cc: { timely: { preset: artifact } }, window: none",
        "semantics: artifact, cc: dctcp",
        "cc: timely, retransmit_timeout: none",
        "cc: dctcp",
    ];
    let shown = asked.map(|transport| {
        let table = render_table(&simulated(transport));
        let from = table.find("Transport").unwrap();
        let section = table[from..].split("\n\n").next().unwrap();
        format!("{transport}\n{section}\n")
    });
    insta::assert_snapshot!(shown.join("\n"));
}
