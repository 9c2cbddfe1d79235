//! Controller that solves each measurement window once and installs the result one window later.

use std::collections::BTreeMap;

use lab_units::{BitsPerSec, Bytes};

use crate::{
    TeError,
    tables::{Tables, tables},
    topology::{Measurements, Topology},
};

/// Controller of all switches, independent of clock and transport.
///
/// Windows are numbered in order of time; a window is one measurement interval. At the end of window k, an engine
/// installs [`Controller::due`] (the tables of window k − 1) and reports the demands and capacities of window k. Every
/// table is therefore based on measurements that are one interval old.
///
/// The controller uses provisioned capacities and ignores liveness: a cut link keeps its capacity. As under every
/// other policy, a switch detects only the carrier of its own ports, and hashes over its live candidates. After a
/// reconvergence, [`Controller::set_topology`] gives it the new candidates.
#[derive(Debug)]
pub struct Controller {
    topology: Topology,
    /// Number of hash buckets per destination.
    buckets: u16,
    /// Measurement windows by number; the first is the window whose tables were requested last.
    windows: BTreeMap<u64, Window>,
}

/// Measurements of one window, and the tables computed from them.
#[derive(Debug, Default)]
struct Window {
    /// Bytes sent, by switch and destination row.
    demands: Vec<Vec<Bytes>>,
    /// Capacity per directed link; `None` for a link that was not reported.
    capacities: Vec<Option<BitsPerSec>>,
    tables: Option<Tables>,
}

impl Controller {
    /// Creates a controller that distributes `buckets` buckets per destination.
    #[must_use]
    pub const fn new(topology: Topology, buckets: u16) -> Self {
        Self {
            topology,
            buckets,
            windows: BTreeMap::new(),
        }
    }

    /// Replaces the next hops, for all tables that are due from now on. The destination rows must be the same.
    pub fn set_topology(&mut self, topology: Topology) {
        self.topology = topology;
        for window in self.windows.values_mut() {
            window.tables = None;
        }
    }

    /// Adds the bytes that the hosts in a switch's datacenter sent during `window`, one number per destination row.
    pub fn add_demands(&mut self, window: u64, switch: usize, demands: &[Bytes]) {
        let sums = &mut self.window(window).demands[switch];
        for (sum, bytes) in sums.iter_mut().zip(demands) {
            *sum = Bytes::new(sum.get().saturating_add(bytes.get()));
        }
    }

    /// Sets the provisioned capacity of a directed link at the end of `window`.
    pub fn set_capacity(&mut self, window: u64, link: usize, capacity: BitsPerSec) {
        let capacities = &mut self.window(window).capacities;
        if capacities.len() <= link {
            capacities.resize(link + 1, None);
        }
        capacities[link] = Some(capacity);
    }

    /// Returns the tables for `window`, computed at the first call; `None` if nothing was reported for the window.
    /// Fails if the measurements do not match the topology or the solver finds no solution.
    pub fn solve(&mut self, window: u64) -> Result<Option<&Tables>, TeError> {
        let Some(window) = self.windows.get_mut(&window) else {
            return Ok(None);
        };
        if window.tables.is_none() {
            let measured = Measurements {
                demands: &window.demands,
                capacities: &window.capacities,
            };
            window.tables = Some(tables(&self.topology, &measured, self.buckets)?);
        }
        Ok(window.tables.as_ref())
    }

    /// Returns the tables to install at the end of `window`, which are the tables of the window before, and discards
    /// all earlier windows.
    pub fn due(&mut self, window: u64) -> Result<Option<&Tables>, TeError> {
        let Some(before) = window.checked_sub(1) else {
            return Ok(None);
        };
        self.windows.retain(|&number, _| number >= before);
        self.solve(before)
    }

    /// Returns the window with `number`, created if needed, for an update of its measurements.
    fn window(&mut self, number: u64) -> &mut Window {
        let rows = self.topology.rows();
        let none = rows.iter().map(|rows| vec![Bytes::ZERO; rows.len()]);
        let window = self.windows.entry(number).or_insert_with(|| Window {
            demands: none.collect(),
            ..Window::default()
        });
        window.tables = None;
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Egress, NextHops};

    /// Returns a controller for two switches: switch 0 reaches switch 1 over links 0 and 1.
    fn controller() -> Controller {
        let hops = [0, 1].map(|link| Egress { link, next: 1 });
        let row = NextHops {
            to: 1,
            hops: hops.into(),
            rests: Vec::new(),
            is_alike: false,
        };
        Controller::new(Topology::new(vec![vec![row], Vec::new()]), 100)
    }

    fn report(controller: &mut Controller, window: u64, bytes: u64, rates: [u64; 2]) {
        controller.add_demands(window, 0, &[Bytes::new(bytes)]);
        for (link, rate) in rates.into_iter().enumerate() {
            let rate = BitsPerSec::new(rate).expect("a rate above zero");
            controller.set_capacity(window, link, rate);
        }
    }

    fn due(controller: &mut Controller, window: u64) -> Option<Vec<u16>> {
        let tables = controller.due(window).unwrap();
        tables.and_then(|tables| tables.rows[0][0].clone())
    }

    #[test]
    fn tables_are_installed_one_window_after_their_measurement() {
        let mut controller = controller();
        assert_eq!(due(&mut controller, 0), None);
        assert_eq!(due(&mut controller, 1), None);
        report(&mut controller, 1, 1_000, [1_000, 1_000]);
        assert_eq!(due(&mut controller, 2), Some(vec![50, 50]));
        report(&mut controller, 2, 1_000, [250, 1_000]);
        assert_eq!(due(&mut controller, 3), Some(vec![20, 80]));
        report(&mut controller, 3, 0, [1_000, 1_000]);
        assert_eq!(due(&mut controller, 4), None, "nothing was sent");
        assert_eq!(due(&mut controller, 6), None, "window 5 was not reported");
        assert!(controller.windows.is_empty());
    }

    /// The demands of a window were measured over two links, and its tables are installed over one.
    #[test]
    fn new_next_hops_count_from_the_next_tables_on() {
        let mut controller = controller();
        report(&mut controller, 1, 1_000, [1_000, 1_000]);
        assert!(controller.solve(1).unwrap().is_some());
        let hop = Egress { link: 1, next: 1 };
        let row = NextHops {
            to: 1,
            hops: vec![hop],
            rests: Vec::new(),
            is_alike: false,
        };
        controller.set_topology(Topology::new(vec![vec![row], Vec::new()]));
        assert_eq!(due(&mut controller, 2), Some(vec![100]));
    }

    #[test]
    fn a_report_after_the_first_solution_counts() {
        let mut controller = controller();
        report(&mut controller, 1, 0, [1_000, 1_000]);
        assert_eq!(due(&mut controller, 2), None);
        controller.add_demands(1, 0, &[Bytes::new(7)]);
        assert_eq!(due(&mut controller, 2), Some(vec![50, 50]));
    }

    #[test]
    fn a_window_without_capacities_is_an_error() {
        let mut controller = controller();
        controller.add_demands(1, 0, &[Bytes::new(7)]);
        let error = controller.due(2).unwrap_err();
        let text = "there are 0 link capacities, but the topology has 2";
        assert_eq!(error.to_string(), text);
    }
}
