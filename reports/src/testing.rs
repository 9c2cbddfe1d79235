//! Rows for tests of what is in this crate.

use lab_records::{
    Clock, DcInfo, Engine, FlowRow, FlowStatus, Granularity, LinkInfo, Place, RunInfo, ScaleInfo,
};
use lab_units::{Bytes, FlowId, Nanos, Ratio};

/// Three datacenters: dc1 and dc3 over dc2, and over a link of their own.
pub fn info() -> RunInfo {
    let dc = |name: &str| DcInfo {
        name: name.into(),
        hosts: vec![format!("{name}/h1")],
        legacy: false,
    };
    let link = |a: &str, b: &str, delay_ms: u64| LinkInfo {
        name: format!("{a}-{b}"),
        a: a.into(),
        b: b.into(),
        rate_bps: "100 Gbit".parse().unwrap(),
        delay_ns: Nanos::from_millis(delay_ms),
        buffer_bytes: Bytes::new(1_000_000),
    };
    RunInfo {
        scenario: "three".into(),
        description: String::new(),
        scenario_hash: "00".into(),
        plan_hash: "00".into(),
        tool_version: "0.1.0".into(),
        kernel_release: "6.1.0".into(),
        engine: Engine::Kernel,
        place: Place::Here,
        clock: Clock::Real,
        accel: None,
        scale: ScaleInfo {
            rate: Ratio::ONE,
            time: Ratio::ONE,
            size: Ratio::ONE,
        },
        seed: 1,
        repetitions: 1,
        policies: vec!["a".into(), "b".into()],
        scheduled_flows: 1,
        dcs: ["dc1", "dc2", "dc3"].map(dc).into(),
        links: vec![
            link("dc1", "dc2", 5),
            link("dc2", "dc3", 5),
            link("dc1", "dc3", 50),
        ],
        granularity: Granularity {
            sub_packet_flows_percent: 0,
            packet_vs_delay_percent: 0,
        },
        warnings: Vec::new(),
    }
}

/// A flow of 1 kB, finished if it has a slowdown.
pub fn flow(policy: &str, id: u32, slowdown: Option<f64>) -> FlowRow {
    FlowRow {
        repetition: 0,
        flow_id: FlowId(id),
        policy: policy.into(),
        cc: "none".into(),
        physics: None,
        src_host: "dc1/h1".into(),
        dst_host: "dc3/h1".into(),
        src_dc: "dc1".into(),
        dst_dc: "dc3".into(),
        size_bytes: Bytes::new(1_000),
        start_ns: Nanos::ZERO,
        fct_ns: slowdown.map(|_| Nanos::from_millis(1)),
        ideal_fct_ns: Nanos::from_millis(1),
        slowdown,
        path: None,
        ack_path: None,
        status: match slowdown {
            Some(_) => FlowStatus::Finished,
            None => FlowStatus::TimedOut,
        },
        reason: String::new(),
        generator: "ib_write_bw".into(),
        launch_lateness_ns: None,
        emu_size_bytes: Bytes::new(1_000),
        emu_start_ns: Nanos::ZERO,
        emu_fct_ns: None,
        emu_ideal_fct_ns: Nanos::from_millis(1),
        emu_fct_resolution_ns: None,
    }
}
