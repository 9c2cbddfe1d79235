//! Cut links and candidates at each time of a run at which either changes.

use std::collections::BTreeSet;

use lab_units::{LinkId, Nanos};

use super::routing::Routing;
use crate::{
    model::{FaultPlan, Reconvergence, Switch},
    network::Network,
};

/// Faults and reconvergences, each in order of time, and the switches' tables at the start.
#[derive(Clone, Copy)]
pub(crate) struct Timeline<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
    pub faults: &'a [FaultPlan],
    pub reconvergences: &'a [Reconvergence],
}

impl Timeline<'_> {
    /// Calls `visit` at each time of a fault or reconvergence, in order of time: with the paper time, the links that are
    /// cut from then on, and the tables from then on.
    pub fn walk(self, mut visit: impl FnMut(Nanos, &BTreeSet<LinkId>, Routing<'_>)) {
        let mut switches = self.switches.to_vec();
        let mut down = BTreeSet::new();
        let mut faults = self.faults.iter().peekable();
        let mut reconvergences = self.reconvergences.iter().peekable();
        loop {
            let next = [
                faults.peek().map(|fault| fault.paper_at_ns),
                reconvergences.peek().map(|change| change.paper_at_ns),
            ];
            let Some(at) = next.into_iter().flatten().min() else {
                return;
            };
            while let Some(fault) = faults.next_if(|fault| fault.paper_at_ns == at) {
                fault.cut_or_repair(&mut down);
            }
            while let Some(change) = reconvergences.next_if(|change| change.paper_at_ns == at) {
                change.apply(&mut switches);
            }
            let routing = Routing {
                network: self.network,
                switches: &switches,
            };
            visit(at, &down, routing);
        }
    }
}
