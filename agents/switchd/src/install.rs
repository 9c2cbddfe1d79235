//! Tables of a switch, computed from its configuration without access to the kernel.

use lab_abi::{
    Preset,
    dcqcn::{CongestionPoint, MAX_THRESHOLD},
    pfc::SharedBuffer,
    rows::{
        CandidateRow, DestinationRow, MAX_PORTS, MAX_SIZE_THRESHOLDS, MECHANISM_BUCKETS,
        MECHANISM_LCMP, PORT_ALIVE, PortQueueRow, PortRow, PrefixKey, SizeThresholdRow,
        SwitchParams, SwitchTable, TransitKey, WAIT_UNIT_BITS, keep_word,
    },
    wire::{AgentConfig, PortConfig, TransitConfig},
};
use lab_policy::lcmp::Levels;
use lab_units::{Nanos, PortId};

use crate::buffer::{shared_buffer, wait};

/// Slots of the ports: a port's slot is its index in the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Vec<PortId>);

impl Slots {
    pub(crate) fn new(ports: &[PortConfig]) -> Self {
        Self(ports.iter().map(|port| port.id).collect())
    }

    /// Returns the slot of `port`; `None` if it is not a port of the switch.
    pub(crate) fn of(&self, port: PortId) -> Option<usize> {
        self.0.iter().position(|&id| id == port)
    }

    /// Returns the id of the port in `slot`; `None` if the slot is unused.
    pub(crate) fn port(&self, slot: u32) -> Option<PortId> {
        self.0.get(usize::try_from(slot).ok()?).copied()
    }
}

/// Rows of all tables of a switch, ready to be written to the program's maps.
#[derive(Clone, Debug)]
pub struct SwitchTables {
    pub(crate) switch: SwitchTable,
    pub(crate) buffer: Option<SharedBuffer>,
    pub(crate) transits: Vec<(TransitKey, u32)>,
    pub(crate) destinations: Vec<(PrefixKey, DestinationRow)>,
}

impl SwitchTables {
    /// Computes the tables for `config`; `links` holds the interface index and liveness of each port.
    ///
    /// Times and counts are taken over from `before`, the table of a killed agent (all zeros if there was none).
    #[must_use]
    pub fn new(config: &AgentConfig, links: &[(u32, bool)], before: &SwitchTable) -> Self {
        let slots = Slots::new(&config.ports);
        let rows = 0..config.destinations.len();
        let transit_rows = config.transits.as_deref().unwrap_or_default();
        Self {
            switch: switch_table(config, links, before),
            buffer: shared_buffer(config, links),
            transits: transits(config, transit_rows, |slot| links[slot].0),
            destinations: rows.map(|row| destination(config, row, &slots)).collect(),
        }
    }
}

fn switch_table(config: &AgentConfig, links: &[(u32, bool)], before: &SwitchTable) -> SwitchTable {
    let mut table = SwitchTable {
        params: params(config),
        ports: [PortRow::default(); MAX_PORTS],
        ..*before
    };
    for ((row, port), &(ifindex, is_alive)) in table.ports.iter_mut().zip(&config.ports).zip(links)
    {
        *row = PortRow {
            state: port_state(Levels::default(), is_alive),
            ifindex,
            src_mac: port.src_mac.0,
            dst_mac: port.dst_mac.0,
        };
    }
    for (row, port) in table.queues.iter_mut().zip(&config.ports) {
        *row = PortQueueRow {
            busy_until_ns: row.busy_until_ns,
            marks: row.marks,
            ..queue(config, port)
        };
    }
    table
}

/// Returns the row of a port's virtual queue in its empty state.
pub(crate) fn queue(config: &AgentConfig, port: &PortConfig) -> PortQueueRow {
    if port.ecn.is_none() && config.shared_buffer.is_none() {
        return PortQueueRow::default();
    }
    let threshold = |queue| (wait(port.rate_bps, queue) >> WAIT_UNIT_BITS).min(MAX_THRESHOLD);
    let congestion = port.ecn.map(|ecn| CongestionPoint {
        k_min: threshold(ecn.k_min),
        k_max: threshold(ecn.k_max),
        p_max_q32: ecn.p_max.scale_nearest(1 << 32),
    });
    let byte_time = (NANOS_OF_BIT_PER_BYTE << 20) / u128::from(port.rate_bps.get());
    let limit = config
        .shared_buffer
        .map_or(port.buffer_bytes, |it| it.bytes);
    PortQueueRow {
        byte_time_q20: u64::try_from(byte_time).map_or(MAX_BYTE_TIME, |it| it.min(MAX_BYTE_TIME)),
        max_wait_ns: wait(port.rate_bps, limit),
        congestion: congestion.unwrap_or(UNMARKED),
        ..PortQueueRow::default()
    }
}

/// Marking thresholds that no packet's waiting time reaches.
pub(crate) const UNMARKED: CongestionPoint = CongestionPoint {
    k_min: u64::MAX,
    k_max: u64::MAX,
    p_max_q32: 0,
};

/// Time per byte at 1 bit/s, ns.
const NANOS_OF_BIT_PER_BYTE: u128 = 8_000_000_000;

/// Maximum time per byte; its product with the largest packet fits in u64.
const MAX_BYTE_TIME: u64 = 1 << 46;

/// Returns the decision parameters of `config`.
pub(crate) fn params(config: &AgentConfig) -> SwitchParams {
    let free_bits = u32::MAX.checked_shr(u32::from(config.local.prefix_len));
    let has_flow_ageing = config
        .destinations
        .iter()
        .any(|row| !row.size_thresholds.is_empty());
    let common = SwitchParams {
        seed: config.switch_id,
        stale_after_ns: config.stale_after_ns.map_or(0, Nanos::get),
        max_table_age_ns: config.max_table_age_ns.map_or(0, Nanos::get),
        local_addr: config.local.addr.to_bits().to_be(),
        local_mask: (!free_bits.unwrap_or(0)).to_be(),
        flow_ageing: u32::from(has_flow_ageing),
        tunnels: u32::from(config.transits.is_some()),
        ..SwitchParams::default()
    };
    match config.policy.congestion() {
        None => SwitchParams {
            mechanism: MECHANISM_BUCKETS,
            ..common
        },
        Some(lcmp) => SwitchParams {
            mechanism: MECHANISM_LCMP,
            artifact: match lcmp.preset {
                Preset::Paper => 0,
                Preset::Artifact => 1,
            },
            keep: keep_word(lcmp.keep_rule()),
            alpha: u32::from(lcmp.alpha),
            beta: u32::from(lcmp.beta),
            congested_threshold: u32::from(lcmp.congested_threshold),
            drop_threshold: u32::from(lcmp.drop_threshold),
            ..common
        },
    }
}

/// Returns the map's entries for `rows`, with their egress ports' slots. `ifindex` returns the interface index of a slot.
pub(crate) fn transits(
    config: &AgentConfig,
    rows: &[TransitConfig],
    ifindex: impl Fn(usize) -> u32,
) -> Vec<(TransitKey, u32)> {
    let slots = Slots::new(&config.ports);
    let row = |row: &TransitConfig| {
        let key = TransitKey {
            src: row.from.to_bits().to_be(),
            dst: row.to.to_bits().to_be(),
            ifindex: ifindex(slots.of(row.ingress)?),
        };
        Some((key, u32::try_from(slots.of(row.egress)?).ok()?))
    };
    rows.iter().filter_map(row).collect()
}

/// Returns the row for the destination at `index` in the configuration; if demands are counted, the destination's
/// demand counter has the same index.
pub(crate) fn destination(
    config: &AgentConfig,
    index: usize,
    slots: &Slots,
) -> (PrefixKey, DestinationRow) {
    let is_counted = config.demand_interval_ns.is_some();
    let config = &config.destinations[index];
    let demand = u32::try_from(index + 1).ok().filter(|_| is_counted);
    let mut row = DestinationRow {
        demand: demand.unwrap_or(0),
        size_thresholds: [SizeThresholdRow::NEVER; MAX_SIZE_THRESHOLDS],
        ..DestinationRow::default()
    };
    for (slot, threshold) in row.size_thresholds.iter_mut().zip(&config.size_thresholds) {
        let cheapest = threshold.cheapest.iter().copied();
        *slot = SizeThresholdRow::of(threshold.from_bytes.get(), cheapest);
    }
    for (slot, candidate) in row.candidates.iter_mut().zip(&config.candidates) {
        let port = slots
            .of(candidate.port)
            .and_then(|slot| u32::try_from(slot).ok());
        *slot = CandidateRow {
            port: port.expect("a validated candidate's port is one of the switch"),
            buckets: candidate.buckets,
            path: candidate.c_path,
            pad: 0,
        };
        row.count += 1;
    }
    (PrefixKey::new(config.addr, config.prefix_len), row)
}

/// Returns the state word of a port: Q, T, D and C_cong in its low bytes, and PORT_ALIVE if the port is alive.
pub(crate) fn port_state(levels: Levels, is_alive: bool) -> u64 {
    let Levels {
        queue,
        trend,
        duration,
        congestion,
    } = levels;
    let word = u64::from(u32::from_le_bytes([queue, trend, duration, congestion]));
    if is_alive { word | PORT_ALIVE } else { word }
}

#[cfg(test)]
mod tests {
    use lab_abi::{
        LcmpConfig,
        rows::KEEP_FLOOR_OR_ALL,
        wire::{PolicyConfig, SharedBufferConfig},
    };

    use lab_units::Bytes;

    use super::*;
    use crate::example;

    #[test]
    fn candidates_become_slots_in_their_order() {
        let config = example::config(PolicyConfig::Buckets);
        let slots = Slots::new(&config.ports);
        let (prefix, row) = destination(&config, 0, &slots);
        let addr = std::net::Ipv4Addr::new(10, 8, 0, 0);
        assert_eq!(prefix, PrefixKey::new(addr, 16));
        let rows = row.candidates.map(|row| (row.port, row.buckets, row.path));
        assert_eq!((row.count, row.demand), (2, 0));
        assert_eq!(rows[..3], [(2, 1, 18), (1, 1, 38), (0, 0, 0)]);
        assert_eq!((slots.port(2), slots.port(3)), (Some(PortId(4)), None));
    }

    #[test]
    fn a_demand_that_is_counted_has_a_row_of_its_own() {
        let mut config = example::config(PolicyConfig::Buckets);
        config.demand_interval_ns = Some(Nanos::from_millis(100));
        let slots = Slots::new(&config.ports);
        assert_eq!(destination(&config, 0, &slots).1.demand, 1);
    }

    #[test]
    fn ports_have_their_links_and_addresses() {
        let config = example::config(PolicyConfig::Buckets);
        let before = SwitchTable {
            expired: 5,
            ..SwitchTable::default()
        };
        let table = switch_table(&config, &[(7, true), (8, true), (9, false)], &before);
        assert_eq!(table.expired, 5);
        let ports = table.ports.map(|port| (port.ifindex, port.state));
        let expected = [(7, PORT_ALIVE), (8, PORT_ALIVE), (9, 0), (0, 0)];
        assert_eq!(ports[..4], expected);
        assert_eq!(table.ports[1].src_mac, [2, 1, 0, 0, 0, 2]);
        assert_eq!(table.ports[1].dst_mac, [2, 2, 0, 0, 0, 2]);
    }

    #[test]
    fn a_queue_counts_time_at_its_ports_rate() {
        let config = example::config(PolicyConfig::Buckets);
        let before = SwitchTable {
            queues: [PortQueueRow {
                busy_until_ns: 7,
                marks: 3,
                ..PortQueueRow::default()
            }; MAX_PORTS],
            ..SwitchTable::default()
        };
        let table = switch_table(&config, &[], &before);
        let expected = PortQueueRow {
            busy_until_ns: 7,
            marks: 3,
            // At 8 Mbit/s a byte takes 1 µs, so 10, 50 and 100 kB take 10, 50 and 100 ms.
            byte_time_q20: 1_000 << 20,
            max_wait_ns: 100_000_000,
            congestion: CongestionPoint {
                k_min: 10_000_000 / 64,
                k_max: 50_000_000 / 64,
                p_max_q32: 1 << 32,
            },
        };
        assert_eq!(table.queues[1], expected);
        // Packets towards the hosts are not marked.
        let kept = PortQueueRow {
            busy_until_ns: 7,
            marks: 3,
            ..PortQueueRow::default()
        };
        assert_eq!(table.queues[0], kept);
    }

    #[test]
    fn under_pfc_every_queue_is_timed_and_may_fill_the_shared_buffer() {
        let mut config = example::config(PolicyConfig::Buckets);
        config.shared_buffer = Some(SharedBufferConfig {
            bytes: Bytes::new(400_000),
            shared_bytes: Bytes::new(300_000),
            lowest_rate_bps: example::rate(8_000_000),
        });
        let [towards_hosts, marking] = [0, 1].map(|port| queue(&config, &config.ports[port]));
        for queue in [towards_hosts, marking] {
            assert_eq!(
                (queue.byte_time_q20, queue.max_wait_ns),
                (1_000 << 20, 400_000_000)
            );
        }
        assert_eq!(towards_hosts.congestion, UNMARKED);
        assert_eq!(marking.congestion.k_min, 10_000_000 / 64);
    }

    #[test]
    fn thresholds_and_times_of_slow_ports_are_bounded() {
        let config = example::config(PolicyConfig::Buckets);
        let mut port = config.ports[1].clone();
        port.rate_bps = example::rate(1);
        let queue = queue(&config, &port);
        assert_eq!(queue.byte_time_q20, MAX_BYTE_TIME);
        let congestion = queue.congestion;
        let thresholds = (congestion.k_min, congestion.k_max);
        assert_eq!(thresholds, (MAX_THRESHOLD, MAX_THRESHOLD));
    }

    #[test]
    fn parameters_are_those_of_the_policy() {
        let ecmp = params(&example::config(PolicyConfig::Buckets));
        assert_eq!((ecmp.mechanism, ecmp.seed), (MECHANISM_BUCKETS, 176));
        assert_eq!(ecmp.local_addr.to_ne_bytes(), [10, 1, 0, 0]);
        assert_eq!(ecmp.local_mask.to_ne_bytes(), [255, 255, 0, 0]);
        let lcmp = params(&example::config(PolicyConfig::Lcmp(LcmpConfig::artifact())));
        assert_eq!((lcmp.mechanism, lcmp.artifact), (MECHANISM_LCMP, 1));
        assert_eq!((lcmp.alpha, lcmp.beta), (3, 1));
        assert_eq!(lcmp.keep, KEEP_FLOOR_OR_ALL);
        assert_eq!((lcmp.congested_threshold, lcmp.drop_threshold), (204, 204));
        assert_eq!(lcmp.stale_after_ns, 500_000_000);
    }

    #[test]
    fn a_ports_word_has_q_lowest_and_liveness_on_top() {
        let levels = Levels {
            queue: 0x11,
            trend: 0x22,
            duration: 0x33,
            congestion: 0x44,
        };
        assert_eq!(port_state(levels, false), 0x4433_2211);
        assert_eq!(port_state(levels, true), 0x8000_0000_4433_2211);
    }
}
