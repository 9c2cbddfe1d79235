//! Traffic engineering: the TE controller of all datacenters.
//!
//! At every tick, each switch reports the bytes that its datacenter sent in the interval before the tick, and the rates
//! of its links. The tables computed from these reports are installed at the next tick. A window of virtual time is
//! never longer than the interval ([`crate::World::lookahead`]), so that all switches have reported by then. The first
//! switch that asks computes the tables for all switches, so the order of switches makes no difference.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lab_plan::PolicyPlan;
use lab_te::{Controller, Egress, NextHops, TeError, Topology};
use lab_units::{BitsPerSec, Bytes};

use crate::time::SimTime;

/// TE controller, shared by the partitions of all datacenters.
#[derive(Debug)]
pub struct TeController {
    /// Virtual time between two ticks of the controller.
    pub interval: SimTime,
    /// Tables of the switches, in the order of the times from which they are in force; the first from the start.
    tables: Vec<TeTables>,
    state: Mutex<State>,
}

/// Tables of all switches in a time span without a reconvergence.
#[derive(Debug)]
struct TeTables {
    /// Virtual time from which the tables are in force.
    from: SimTime,
    /// Rows of each switch, indexed by datacenter.
    rows: Vec<Vec<NextHopRow>>,
    topology: Topology,
}

#[derive(Debug)]
struct State {
    controller: Controller,
    /// Index of the tables in force.
    in_force: usize,
    /// First error of the solver, after which no more bucket tables are computed.
    failure: Option<TeError>,
}

/// Next hops of a DCI switch, by destination.
#[derive(Clone, Debug)]
pub struct SwitchRows {
    /// True for a switch without an agent, which splits traffic evenly over its next hops.
    pub is_legacy: bool,
    pub rows: Vec<NextHopRow>,
}

/// Next hops of a DCI switch to one datacenter.
#[derive(Clone, Debug)]
pub struct NextHopRow {
    /// Destination datacenter.
    pub to_dc: u32,
    /// Ports to the next hops.
    pub ports: Vec<u32>,
    /// Egress ports behind each next hop, on its tunnel; empty without tunnels.
    pub rests: Vec<Vec<u32>>,
}

/// New hash buckets of the next hops to one datacenter: each port with its number of buckets.
pub type Buckets = Vec<(u32, u16)>;

impl TeController {
    /// Creates the controller for `policy`, given the next hops of all `switches` at the start and from `later` times on;
    /// `None` if the policy is not traffic engineering. `peers` gives the datacenter at the far end of each port.
    #[must_use]
    pub fn new(
        policy: &PolicyPlan,
        switches: Vec<SwitchRows>,
        later: Vec<(SimTime, Vec<SwitchRows>)>,
        peers: &[u32],
    ) -> Option<Self> {
        let PolicyPlan::Te(plan) = policy else {
            return None;
        };
        let hop = |&port: &u32| Egress {
            link: port as usize,
            next: peers[port as usize] as usize,
        };
        let hops = |ports: &Vec<u32>| ports.iter().map(hop).collect();
        let tables = |(from, switches): (SimTime, Vec<SwitchRows>)| {
            let topology = switches.iter().map(|switch| {
                let row = |row: &NextHopRow| NextHops {
                    to: row.to_dc as usize,
                    hops: hops(&row.ports),
                    rests: row.rests.iter().map(hops).collect(),
                    is_alike: switch.is_legacy,
                };
                switch.rows.iter().map(row).collect()
            });
            TeTables {
                from,
                topology: Topology::new(topology.collect()),
                rows: switches.into_iter().map(|switch| switch.rows).collect(),
            }
        };
        let start = tables((SimTime::ZERO, switches));
        let controller = Controller::new(start.topology.clone(), plan.buckets);
        let all = std::iter::once(start).chain(later.into_iter().map(tables));
        Some(Self {
            interval: plan.interval_ns.into(),
            tables: all.collect(),
            state: Mutex::new(State {
                controller,
                in_force: 0,
                failure: None,
            }),
        })
    }

    /// Records the report of the switch in `dc` for the interval that ends at `tick`: bytes by destination datacenter,
    /// and the rates of its links, whether up or down.
    pub fn report(&self, tick: u64, dc: u32, bytes: &[u64], links: &[(u32, BitsPerSec)]) {
        // A reconvergence changes the ports, but not the destinations.
        let demands: Vec<Bytes> = self.tables[0].rows[dc as usize]
            .iter()
            .map(|row| Bytes::new(bytes[row.to_dc as usize]))
            .collect();
        let controller = &mut self.state().controller;
        controller.add_demands(tick, dc as usize, &demands);
        for &(port, rate) in links {
            controller.set_capacity(tick, port as usize, rate);
        }
    }

    /// Returns the hash buckets that the switch in `dc` installs at `tick`, by destination datacenter. A datacenter
    /// that is not in the list keeps its buckets. The list is empty after a solver error, which ends the run.
    #[must_use]
    pub fn due(&self, tick: u64, dc: u32) -> Vec<(u32, Buckets)> {
        let at = SimTime::from_picos(self.interval.picos().saturating_mul(tick));
        let State {
            controller,
            in_force,
            failure,
        } = &mut *self.state();
        while let Some(next) = self.tables.get(*in_force + 1).filter(|it| it.from <= at) {
            controller.set_topology(next.topology.clone());
            *in_force += 1;
        }
        let tables = match (&failure, controller.due(tick)) {
            (None, Ok(Some(tables))) => tables,
            (None, Err(error)) => {
                *failure = Some(error);
                return Vec::new();
            }
            (Some(_), _) | (None, Ok(None)) => return Vec::new(),
        };
        self.tables[*in_force].rows[dc as usize]
            .iter()
            .zip(&tables.rows[dc as usize])
            .filter_map(|(row, buckets)| {
                let buckets = buckets.as_ref()?.iter().copied();
                Some((row.to_dc, row.ports.iter().copied().zip(buckets).collect()))
            })
            .collect()
    }

    /// Returns the first error of the solver; `None` if there was none.
    #[must_use]
    pub fn failure(&self) -> Option<TeError> {
        self.state().failure.clone()
    }

    /// Locks the state, even if the mutex is poisoned: the thread that panicked has ended the run, and the state is no
    /// longer used.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EndReason, Observer, Progress, RunOptions, World, cc::NoControl, run, semantics::Paper,
        trace::TraceEvent,
    };

    struct Silent;

    impl Observer for Silent {
        fn on_event(&mut self, _: TraceEvent) {}

        fn on_progress(&mut self, _: Progress) -> bool {
            true
        }
    }

    #[test]
    fn a_solver_that_gives_up_ends_the_run_with_its_error() {
        let plan = crate::testing::pair("te: { interval: 1 ms }");
        let mut world: World<'_, Paper, NoControl> = World::new(&plan, 0, 0, ()).expect("a world");
        // Link 9, whose capacity no switch reports.
        let hop = Egress { link: 9, next: 1 };
        let row = NextHops {
            to: 1,
            hops: vec![hop],
            rests: Vec::new(),
            is_alike: false,
        };
        let topology = Topology::new(vec![vec![row.clone()], vec![row]]);
        let te = world.te.as_mut().expect("traffic engineering");
        te.state.get_mut().expect("not shared").controller = Controller::new(topology, 100);

        for threads in [1, 2] {
            let options = RunOptions {
                threads,
                ..RunOptions::default()
            };
            let outcome = run::run(&world, &options, &mut Silent);
            assert_eq!(outcome.reason, EndReason::Stopped);
            let error = world.failure().expect("an error").to_string();
            assert!(error.contains("the topology has 10"), "{error}");
        }
    }
}
