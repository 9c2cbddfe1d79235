//! Traffic engineering: where the demands of all datacenters meet.
//!
//! At every tick each switch posts what its own datacenter sent in the interval that ends there, and
//! what its links are. What is computed from that is taken at the next tick. Windows of virtual time
//! are no longer than the interval ([`crate::World::lookahead`]), so that by then every switch has
//! posted, and everybody finds the same demands: whoever is first computes the tables, the others
//! take them, and it does not matter who that is.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use lab_plan::PolicyPlan;
use lab_te::{Hop, Measured, Row, Tables, Topology};
use lab_units::{BitsPerSec, Bytes};

use crate::{time::SimTime, world::SwitchFacts};

/// The demands of the last ticks, and the tables made of them.
#[derive(Debug)]
pub struct Board {
    /// Time between two ticks.
    pub interval: SimTime,
    buckets: u16,
    topology: Topology,
    /// By switch and row, the destination's datacenter and the ports of its ways.
    rows: Vec<Vec<(u32, Vec<u32>)>>,
    rounds: Mutex<BTreeMap<u64, Round>>,
}

/// What is known of one tick.
#[derive(Debug)]
struct Round {
    /// By switch and row.
    demands: Vec<Vec<Bytes>>,
    /// By port; those that are not an egress of a DCI switch have none.
    capacities: Vec<Option<BitsPerSec>>,
    tables: Option<Arc<Tables>>,
}

/// The new buckets of the ways to a datacenter: each port and its share.
pub type Buckets = Vec<(u32, u16)>;

impl Board {
    /// For `policy`, if it is traffic engineering, over the ways of `switches`.
    #[must_use]
    pub fn of(policy: &PolicyPlan, switches: &[SwitchFacts], peers: &[u32]) -> Option<Self> {
        let PolicyPlan::Te(plan) = policy else {
            return None;
        };
        let rows = switches.iter().map(|switch| {
            let ways = (0u32..).zip(&switch.ways);
            let reached = ways.filter(|(_, ways)| !ways.is_empty());
            reached
                .map(|(to_dc, ways)| (to_dc, ways.iter().map(|way| way.port).collect()))
                .collect()
        });
        let rows: Vec<Vec<(u32, Vec<u32>)>> = rows.collect();
        let topology = rows.iter().zip(switches).map(|(rows, switch)| {
            let row = |(to_dc, ports): &(u32, Vec<u32>)| Row {
                to: *to_dc as usize,
                hops: ports
                    .iter()
                    .map(|&port| Hop {
                        link: port as usize,
                        next: peers[port as usize] as usize,
                    })
                    .collect(),
                is_alike: switch.is_legacy,
            };
            rows.iter().map(row).collect()
        });
        Some(Self {
            interval: plan.interval_ns.into(),
            buckets: plan.buckets,
            topology: Topology::new(topology.collect()),
            rows,
            rounds: Mutex::default(),
        })
    }

    /// Notes what the switch of `dc` has seen in the interval before `tick`: bytes by datacenter,
    /// and its links' rates, as far as they are up.
    pub fn post(&self, tick: u64, dc: u32, bytes: &[u64], links: &[(u32, Option<BitsPerSec>)]) {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let round = rounds.entry(tick).or_insert_with(|| Round {
            demands: self
                .rows
                .iter()
                .map(|rows| vec![Bytes::ZERO; rows.len()])
                .collect(),
            capacities: Vec::new(),
            tables: None,
        });
        let rows = &self.rows[dc as usize];
        for (demand, (to_dc, _)) in round.demands[dc as usize].iter_mut().zip(rows) {
            *demand = Bytes::new(bytes[*to_dc as usize]);
        }
        for &(port, rate) in links {
            let port = port as usize;
            if round.capacities.len() <= port {
                round.capacities.resize(port + 1, None);
            }
            round.capacities[port] = rate;
        }
        round.tables = None;
    }

    /// What `dc` installs at the tick after `tick`, by datacenter; what is not there stays.
    ///
    /// # Panics
    /// When the solver gives up: every program that is built here has a solution.
    #[must_use]
    pub fn tables(&self, tick: u64, dc: u32) -> Vec<(u32, Buckets)> {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.retain(|&other, _| other >= tick);
        let Some(round) = rounds.get_mut(&tick) else {
            return Vec::new();
        };
        let tables = Arc::clone(round.tables.get_or_insert_with(|| {
            let measured = Measured {
                demands: &round.demands,
                capacities: &round.capacities,
            };
            let tables = lab_te::tables(&self.topology, &measured, self.buckets);
            Arc::new(tables.unwrap_or_else(|error| panic!("traffic engineering: {error}")))
        }));
        drop(rounds);
        let rows = self.rows[dc as usize].iter().zip(&tables.rows[dc as usize]);
        let new = rows.filter_map(|((to_dc, ports), buckets)| {
            let buckets = buckets.as_ref()?.iter().copied();
            Some((*to_dc, ports.iter().copied().zip(buckets).collect()))
        });
        new.collect()
    }
}
