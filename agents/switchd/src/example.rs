//! Small switch for tests: two inter-DC ports with ids 2 and 4, one port towards the hosts.

use std::net::Ipv4Addr;

use lab_abi::wire::{
    AgentConfig, AttachMode, CandidateConfig, DestinationConfig, EcnConfig, LocalPrefix,
    PolicyConfig, PortConfig,
};
use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};

pub(crate) fn rate(bits_per_sec: u64) -> BitsPerSec {
    BitsPerSec::new(bits_per_sec).expect("not zero")
}

/// Returns a configuration with 8 Mbit/s, that is 1,000 B per millisecond, and a queue of 100 kB per port.
pub(crate) fn config(policy: PolicyConfig) -> AgentConfig {
    let port = |(id, interface, is_queue_sampled): (u32, &str, bool)| {
        let [_, _, _, last] = id.to_be_bytes();
        PortConfig {
            id: PortId(id),
            interface: interface.to_owned(),
            src_mac: Mac([2, 1, 0, 0, 0, last]),
            dst_mac: Mac([2, 2, 0, 0, 0, last]),
            is_queue_sampled,
            is_enabled: true,
            rate_bps: rate(8_000_000),
            buffer_bytes: Bytes::new(100_000),
            ecn: is_queue_sampled.then_some(EcnConfig {
                k_min: Bytes::new(10_000),
                k_max: Bytes::new(50_000),
                p_max: Ratio::ONE,
            }),
            ingress: None,
        }
    };
    let candidate = |port, c_path| CandidateConfig {
        port: PortId(port),
        c_path,
        buckets: 1,
    };
    AgentConfig {
        lab: "lab".to_owned(),
        dc: "dc1".to_owned(),
        switch_id: 176,
        policy,
        time_scale: Ratio::ONE,
        size_scale: Ratio::ONE,
        ports: [(0, "h0", false), (2, "p1", true), (4, "p2", true)]
            .map(port)
            .into(),
        destinations: vec![DestinationConfig {
            addr: Ipv4Addr::new(10, 8, 0, 0),
            prefix_len: 16,
            candidates: vec![candidate(4, 18), candidate(2, 38)],
            size_thresholds: Vec::new(),
        }],
        transits: None,
        local: LocalPrefix {
            addr: Ipv4Addr::new(10, 1, 0, 0),
            prefix_len: 16,
        },
        shared_buffer: None,
        start_ns: Nanos::ZERO,
        sample_interval_ns: Nanos::from_millis(1),
        record_interval_ns: Nanos::from_millis(10),
        link_interval_ns: Nanos::from_millis(20),
        stats_interval_ns: Nanos::from_millis(100),
        demand_interval_ns: None,
        actor: None,
        gc_interval_ns: Nanos::from_millis(1_000),
        idle_timeout_ns: Nanos::from_millis(5_000),
        stale_after_ns: Some(Nanos::from_millis(500)),
        max_table_age_ns: None,
        flow_table_entries: 50_000,
        controller_socket: "/run/lab/controller".to_owned(),
        pin_dir: None,
        attach: AttachMode::Auto,
    }
}
