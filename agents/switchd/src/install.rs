//! From the configuration to the switch's tables: pure, so that it can be tested without a kernel.

use lab_abi::{
    Preset,
    rows::{
        CandidateRow, DestinationRow, MECHANISM_BUCKETS, MECHANISM_LCMP, PortRow, PrefixKey,
        SwitchParams, SwitchTable,
    },
    wire::{AgentConfig, DestinationConfig, PolicyConfig, PortConfig},
};
use lab_policy::lcmp::Levels;
use lab_units::PortId;

use crate::shared::port_state;

/// The slot of each port: its place in the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Vec<PortId>);

impl Slots {
    pub(crate) fn new(ports: &[PortConfig]) -> Self {
        Self(ports.iter().map(|port| port.id).collect())
    }

    /// The slot of `port`.
    pub(crate) fn of(&self, port: PortId) -> Option<usize> {
        self.0.iter().position(|&id| id == port)
    }

    /// The port in `slot`.
    pub(crate) fn port(&self, slot: u32) -> Option<PortId> {
        self.0.get(usize::try_from(slot).ok()?).copied()
    }
}

/// The switch table: `ifindexes` and liveness in the order of the configuration's ports.
pub(crate) fn switch_table(config: &AgentConfig, links: &[(u32, bool)]) -> SwitchTable {
    let mut table = SwitchTable {
        params: params(config),
        ..SwitchTable::default()
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
    table
}

fn params(config: &AgentConfig) -> SwitchParams {
    let common = SwitchParams {
        seed: config.switch_id,
        stale_after_ns: config.stale_after_ns.map_or(0, lab_units::Nanos::get),
        ..SwitchParams::default()
    };
    match &config.policy {
        PolicyConfig::Ecmp => SwitchParams {
            mechanism: MECHANISM_BUCKETS,
            ..common
        },
        PolicyConfig::Lcmp(lcmp) => SwitchParams {
            mechanism: MECHANISM_LCMP,
            artifact: match lcmp.preset {
                Preset::Paper => 0,
                Preset::Artifact => 1,
            },
            alpha: u32::from(lcmp.alpha),
            beta: u32::from(lcmp.beta),
            congested_threshold: u32::from(lcmp.congested_threshold),
            drop_threshold: u32::from(lcmp.drop_threshold),
            ..common
        },
    }
}

/// A destination's row; ECMP is one bucket for each candidate.
pub(crate) fn destination(
    config: &DestinationConfig,
    slots: &Slots,
) -> (PrefixKey, DestinationRow) {
    let mut row = DestinationRow::default();
    for (slot, candidate) in row.candidates.iter_mut().zip(&config.candidates) {
        let port = slots
            .of(candidate.port)
            .and_then(|slot| u32::try_from(slot).ok())
            .expect("a validated candidate's port is one of the switch");
        *slot = CandidateRow {
            port,
            buckets: 1,
            path: candidate.c_path,
            pad: 0,
        };
        row.count += 1;
    }
    (PrefixKey::new(config.addr, config.prefix_len), row)
}
