//! Flows of one policy in memory.

use std::collections::BTreeMap;

use lab_records::FlowCounts;
use lab_units::{Bytes, Nanos};

use crate::population::Population;

/// Flows of one policy.
#[derive(Default)]
pub struct PolicyFlows {
    /// Measured flows; sorted by repetition and number once [`finish`](Self::finish) has been called.
    pub flows: Vec<PolicyFlow>,
    /// Flows outside the measured window, sorted like `flows`.
    pub unmeasured: Vec<PolicyFlow>,
    /// Sorted slowdowns of the measured flows that finished.
    pub slowdowns: Vec<f64>,
    /// Lower bounds on the slowdowns of scheduled flows that did not finish.
    pub unfinished: Vec<f64>,
    /// Flows with a choice of paths, whose other facts are in `flows`.
    pub with_choice: ChoiceFlows,
    /// Routes of the flows, those with the most bytes first.
    pub routes: Vec<RouteShare>,
    /// Route numbers and bytes on each route of each re-routed flow, by repetition and flow number.
    pub rerouted: BTreeMap<(u32, u32), Vec<(u32, u64)>>,
    /// Indices of the finished flows, in ascending order of slowdown.
    by_slowdown: Vec<u32>,
}

/// Facts of one policy's measured flows with a choice of paths.
#[derive(Default)]
pub struct ChoiceFlows {
    /// Counts of the flows that have a row.
    pub counts: FlowCounts,
    /// Lower bounds on the slowdowns of scheduled flows that did not finish.
    pub unfinished: Vec<f64>,
}

/// Flow in memory; kept small (72 bytes), because a run can have millions of flows.
#[derive(Clone, Copy)]
pub struct PolicyFlow {
    pub repetition: u32,
    pub id: u32,
    pub size: Bytes,
    pub start: Nanos,
    pub fct: Option<Nanos>,
    /// Number of the route on which the flow began; `None` if it is unknown.
    pub route: Option<u32>,
    pub has_started: bool,
    pub slowdown: Option<f64>,
    pub pair: u32,
}

impl PolicyFlow {
    /// Returns repetition and number, which identify a flow under every policy.
    pub fn key(&self) -> (u32, u32) {
        (self.repetition, self.id)
    }

    /// Returns the completion time; `None` if the flow did not finish.
    pub fn end(&self) -> Option<Nanos> {
        Some(self.start.saturating_add(self.fct?))
    }
}

impl PolicyFlows {
    /// Sorts the flows, which are usually almost sorted, and computes the other fields from them. `route_names` has the
    /// names of routes by number.
    pub fn finish(&mut self, route_names: &[String]) {
        self.flows.sort_by_key(PolicyFlow::key);
        self.unmeasured.sort_by_key(PolicyFlow::key);
        let mut finished = Vec::with_capacity(self.flows.len());
        let places = (0..).zip(&self.flows);
        finished.extend(places.filter_map(|(place, flow)| Some((flow.slowdown?, place))));
        finished.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        (self.slowdowns, self.by_slowdown) = finished.into_iter().unzip();
        self.routes = self.shares(route_names);
    }

    /// Returns the slowdowns of the flows in each of `count` groups.
    ///
    /// Groups are first determined in the order of the flows, because reading flows in the order of slowdowns would
    /// cause a cache miss for each flow.
    pub fn groups(
        &self,
        count: usize,
        group_of: impl Fn(&PolicyFlow) -> u32,
    ) -> Vec<Population<'_>> {
        if count == 1 {
            return vec![Population::new(self.slowdowns.as_slice(), self.flows.len())];
        }
        let group_of: Vec<u32> = self.flows.iter().map(group_of).collect();
        let mut counts = vec![0; count];
        for &group in &group_of {
            counts[index(group)] += 1;
        }
        let mut groups: Vec<Vec<f64>> = counts
            .iter()
            .map(|&flows| Vec::with_capacity(flows))
            .collect();
        for (&place, &slowdown) in self.by_slowdown.iter().zip(&self.slowdowns) {
            groups[index(group_of[index(place)])].push(slowdown);
        }
        groups
            .into_iter()
            .zip(counts)
            .map(|(finished, flows)| Population::new(finished, flows))
            .collect()
    }

    /// Returns all flows, measured or not, because all of them load the network.
    pub fn all(&self) -> impl Iterator<Item = &PolicyFlow> {
        self.flows.iter().chain(&self.unmeasured)
    }

    fn shares(&self, route_names: &[String]) -> Vec<RouteShare> {
        let share = |name: &String| RouteShare {
            route: name.clone(),
            flows: 0,
            bytes: 0,
        };
        let mut shares: Vec<RouteShare> = route_names.iter().map(share).collect();
        for flow in self.all() {
            let Some(first) = flow.route else {
                continue;
            };
            let alone = [(first, flow.size.get())];
            let own = self.rerouted.get(&flow.key());
            for &(route, bytes) in own.map_or(&alone[..], Vec::as_slice) {
                let share = &mut shares[index(route)];
                share.flows += 1;
                share.bytes += bytes;
            }
        }
        shares.retain(|share| share.flows > 0);
        shares.sort_by(|a, b| (b.bytes, &a.route).cmp(&(a.bytes, &b.route)));
        shares
    }
}

/// Converts a number to `usize`, to index a vector.
pub fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Flows on one route under one policy. A re-routed flow is counted on each of its routes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteShare {
    /// Name of the route.
    pub route: String,
    /// Number of flows.
    pub flows: u64,
    /// Number of bytes of the flows' data that took the route.
    pub bytes: u64,
}
