//! A small run for tests: in a guest, with two datacenters and one link. A test changes only the fields that it checks.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lab_records::{
    CertifiedRow, Clock, Conduct, DcInfo, DcPath, EngineInfo, Evidence, FlowRow, FlowStatus,
    Granularity, GuestCpu, LinkBounds, LinkInfo, LinkRow, Location, Mechanism, Met, Phase,
    PolicyEvidence, Provenance, QueueRow, RunEnd, RunInfo, ScaleInfo, UtcTime,
};
use lab_units::{BitsPerSec, Bytes, CandidateSet, FlowId, Nanos};

/// Transit datacenters of sample runs with six routes: name, and for each of two links the rate in Gbit/s and the
/// one-way delay in ms.
pub const ROUTES: [(&str, u64, u64); 6] = [
    ("dc2", 200, 25),
    ("dc3", 200, 250),
    ("dc4", 100, 10),
    ("dc5", 100, 100),
    ("dc6", 40, 5),
    ("dc7", 40, 50),
];

/// Returns the start time of the sample run: 2026-11-21T09:30:00Z.
#[must_use]
pub fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_253_400)
}

/// Returns the facts of the sample run that are known before its first flow starts.
#[must_use]
pub fn info() -> RunInfo {
    let ratio = |text: &str| text.parse().expect("a ratio");
    RunInfo {
        scenario: "8dc".into(),
        description: "six routes".into(),
        scenario_hash: "5ce0a710".repeat(8),
        plan_hash: "1f2e3d4c".repeat(8),
        tool_version: "0.1.0".into(),
        kernel_release: "6.1.0-56-amd64".into(),
        engine: EngineInfo::Kernel,
        location: Location::Guest,
        clock: Clock::Virtual,
        accel: Some("tcg".into()),
        scale_fits: None,
        scale: ScaleInfo {
            rate: ratio("1/2000"),
            time: ratio("10"),
            size: ratio("1/200"),
        },
        seed: 1,
        repetitions: 1,
        policies: vec!["ecmp".into(), "lcmp".into()],
        scheduled_flows: 1,
        has_same_flows: false,
        measured: None,
        with_choice: None,
        candidate_set: CandidateSet::default(),
        reconverge_after_ns: None,
        dcs: vec![dc("dc1", 1), dc("dc8", 1)],
        links: vec![link("dc1", "dc8", 200, 5)],
        link_details: Vec::new(),
        faults: Vec::new(),
        fault_details: Vec::new(),
        agent_crashes: Vec::new(),
        granularity: Granularity {
            sub_packet_flows_percent: 0,
            packet_vs_delay_percent: 3,
        },
        warnings: vec!["`dc1-dc8` is short".into()],
        assumptions: Vec::new(),
        provenance: Provenance::default(),
    }
}

/// Returns a datacenter with `hosts` hosts, named `dc1/h1` and so on.
#[must_use]
pub fn dc(name: &str, hosts: u32) -> DcInfo {
    DcInfo {
        name: name.into(),
        hosts: (1..=hosts).map(|host| format!("{name}/h{host}")).collect(),
        legacy: false,
    }
}

/// Returns a link with `gbit` Gbit/s and a one-way delay of `delay_ms` ms.
#[must_use]
pub fn link(a: &str, b: &str, gbit: u64, delay_ms: u64) -> LinkInfo {
    LinkInfo {
        name: format!("{a}-{b}"),
        a: a.into(),
        b: b.into(),
        rate_bps: BitsPerSec::new(gbit * 1_000_000_000).expect("a positive rate"),
        delay_ns: Nanos::from_millis(delay_ms),
        buffer_bytes: Bytes::new(100_000_000),
    }
}

/// Returns a sample of the byte counter for the link direction from `a` to `b`: 0 bytes at time 0.
#[must_use]
pub fn counter(link: &LinkInfo, policy: &str) -> LinkRow {
    LinkRow {
        policy: policy.into(),
        repetition: 0,
        time_ns: Nanos::ZERO,
        link: link.name.clone(),
        from_dc: link.a.clone(),
        to_dc: link.b.clone(),
        tx_bytes: Bytes::new(0),
        emu_tx_bytes: Bytes::new(0),
        rate_bps: link.rate_bps,
        drops: 0,
        tx_packets: None,
        marks: None,
    }
}

/// Returns a sample of the empty egress queue at the link's end `a`, at time 0.
#[must_use]
pub fn queue(link: &LinkInfo, policy: &str) -> QueueRow {
    QueueRow {
        policy: policy.into(),
        repetition: 0,
        time_ns: Nanos::ZERO,
        switch: link.a.clone(),
        port: "l0p1a0".into(),
        to_dc: link.b.clone(),
        backlog_bytes: Bytes::new(0),
        emu_backlog_bytes: Bytes::new(0),
        queue_level: 0,
        trend_level: 0,
        duration_level: 0,
        congestion_cost: 0,
    }
}

/// Returns the facts known at the sample run's end, 90.5 s after its start.
#[must_use]
pub fn end() -> RunEnd {
    RunEnd {
        ended_at: UtcTime::new(now() + Duration::from_millis(90_500)),
        phases: vec![Phase {
            name: "build-up".into(),
            took_ns: Nanos::from_millis(700),
            virtual_ns: None,
        }],
        guest_cpu: Some(GuestCpu {
            busy_ns: Nanos::from_millis(300),
            available_ns: Nanos::from_millis(1_000),
        }),
        lab: None,
        sim: None,
        late_launches: 0,
        conduct: Conduct::default(),
        retransmissions: BTreeMap::new(),
        warnings: Vec::new(),
        problems: Vec::new(),
        is_interrupted: false,
        evidence: Evidence::default(),
        changes: Vec::new(),
    }
}

/// Returns the link certificate of a direction with 100 Mbit/s and 50 ms: its measured rate, delay and buffer equal the
/// planned ones.
#[must_use]
pub fn certified(from: &str, to: &str) -> CertifiedRow {
    let rate: BitsPerSec = "100 Mbit".parse().expect("a rate");
    let delay = Nanos::from_millis(50);
    let bounds = LinkBounds::of(Location::Guest, Clock::Virtual);
    CertifiedRow {
        link: format!("{from}-{to}"),
        from: from.into(),
        to: to.into(),
        emu_rate_bps: rate,
        emu_measured_rate_bps: Some(rate),
        emu_rate_bound_bps: bounds.rate(rate),
        emu_delay_ns: delay,
        emu_measured_delay_ns: Some(delay),
        emu_delay_bound_ns: bounds.delay(delay),
        emu_spread_ns: Some(Nanos::ZERO),
        emu_spread_bound_ns: bounds.spread(),
        queue_packets: 150,
        measured_queue_packets: Some(150),
        queue_bound_packets: LinkBounds::QUEUE_PACKETS,
        sent: 190,
        lost: 0,
        disordered: 0,
        foreign: 0,
        problem: None,
    }
}

/// Returns the evidence of a policy that made nine decisions, of which nothing else is known.
#[must_use]
pub fn evidence(policy: &str) -> PolicyEvidence {
    PolicyEvidence {
        policy: policy.into(),
        met: Met::default(),
        mechanism: Mechanism::Unknown { decisions: 9 },
        sampling: None,
        tables: None,
        failovers: Vec::new(),
        outages: Vec::new(),
        crashes: Vec::new(),
        unfinished: None,
        undecided: 0,
    }
}

/// Returns a finished flow from `dc1/h1` to `dc8/h1`, with 100 MB, an FCT of 30 ms and a slowdown of 1.5.
#[must_use]
pub fn flow(policy: &str) -> FlowRow {
    FlowRow {
        repetition: 0,
        flow_id: FlowId(0),
        policy: policy.into(),
        cc: "none".into(),
        semantics: None,
        src_host: "dc1/h1".into(),
        dst_host: "dc8/h1".into(),
        src_dc: "dc1".into(),
        dst_dc: "dc8".into(),
        size_bytes: Bytes::new(100_000_000),
        start_ns: Nanos::new(1_500),
        fct_ns: Some(Nanos::from_millis(30)),
        ideal_fct_ns: Nanos::from_millis(20),
        slowdown: Some(1.5),
        path: Some(DcPath::new(["dc1", "dc8"])),
        ack_path: None,
        status: FlowStatus::Finished,
        reason: String::new(),
        generator: "ib_write_bw".into(),
        launch_lateness_ns: Some(Nanos::ZERO),
        emu_size_bytes: Bytes::new(500_000),
        emu_start_ns: Nanos::new(15_000),
        emu_fct_ns: Some(Nanos::from_millis(300)),
        emu_ideal_fct_ns: Nanos::from_millis(200),
        emu_fct_resolution_ns: Some(Nanos::new(40)),
    }
}

/// Links of the paper's 13-DC topology: DC numbers at both ends, rate in Gbit/s, one-way delay in ms.
pub const THIRTEEN_DCS: [(u32, u32, u64, u64); 20] = [
    (1, 3, 200, 1),
    (2, 3, 40, 1),
    (2, 6, 40, 1),
    (2, 8, 40, 1),
    (3, 4, 40, 1),
    (3, 5, 200, 5),
    (3, 6, 100, 1),
    (3, 7, 200, 10),
    (4, 5, 40, 1),
    (4, 7, 40, 1),
    (5, 7, 100, 5),
    (5, 11, 200, 5),
    (6, 9, 100, 5),
    (6, 10, 100, 1),
    (7, 11, 200, 10),
    (8, 12, 40, 1),
    (9, 12, 100, 5),
    (10, 12, 100, 1),
    (11, 12, 200, 5),
    (12, 13, 200, 1),
];
