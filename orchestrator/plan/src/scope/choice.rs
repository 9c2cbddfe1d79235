//! Pairs of datacenters, and flows, for which a policy chooses a next hop.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use lab_units::DcId;
use serde::Serialize;

use super::routing::Routing;
use crate::{
    model::{Flow, Plan, Reconvergence},
    network::Network,
};

/// Numbers of pairs and flows, and of those whose data has a choice: some switch that the data can reach has several
/// candidates and a policy, at the start or after a reconvergence, whether or not the flow is still under way then.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct ChoiceCount {
    /// Number of pairs of a source and a destination datacenter between which data flows.
    pub pairs: usize,
    pub pairs_with_choice: usize,
    /// Number of flows in all repetitions.
    pub flows: usize,
    pub flows_with_choice: usize,
}

/// Number of flows by source and destination datacenter.
pub(crate) type PairFlows = BTreeMap<(DcId, DcId), usize>;

/// Counts the flows by source and destination datacenter.
pub(crate) fn pairs(network: &Network, flows: &[Flow]) -> PairFlows {
    let dc = |node| network.node(node).dc;
    let mut pairs = BTreeMap::new();
    for flow in flows {
        *pairs.entry((dc(flow.src), dc(flow.dst))).or_default() += 1;
    }
    pairs
}

/// Returns the pairs of datacenters between which data or ACKs flow.
pub(crate) fn both_ways(pairs: &PairFlows) -> BTreeSet<(DcId, DcId)> {
    pairs
        .keys()
        .filter(|(from, to)| from != to)
        .flat_map(|&(from, to)| [(from, to), (to, from)])
        .collect()
}

/// Groups the sources of `pairs` by destination.
pub(crate) fn by_destination(
    pairs: impl IntoIterator<Item = (DcId, DcId)>,
) -> BTreeMap<DcId, Vec<DcId>> {
    let mut sources: BTreeMap<DcId, Vec<DcId>> = BTreeMap::new();
    for (from, to) in pairs {
        sources.entry(to).or_default().push(from);
    }
    sources
}

/// Counts the pairs and flows with a choice.
pub(crate) fn count(
    routing: Routing<'_>,
    reconvergences: &[Reconvergence],
    pairs: &PairFlows,
) -> ChoiceCount {
    let mut count = ChoiceCount {
        pairs: pairs.len(),
        flows: pairs.values().sum(),
        ..ChoiceCount::default()
    };
    for pair in with_choice(routing, reconvergences, pairs) {
        count.pairs_with_choice += 1;
        count.flows_with_choice += pairs[&pair];
    }
    count
}

impl Plan {
    /// Returns the pairs of a source and a destination datacenter between which the plan's flows have a choice: some
    /// switch that their data can reach has several candidates and a policy, at the start or after a reconvergence. They
    /// do not depend on the policy.
    #[must_use]
    pub fn pairs_with_choice(&self) -> BTreeSet<(DcId, DcId)> {
        let network = Network::of(self);
        let routing = Routing {
            network: &network,
            switches: &self.switches,
        };
        let pairs = pairs(&network, &self.flows);
        with_choice(routing, &self.reconvergences, &pairs)
    }
}

/// Returns the pairs with a choice by the tables of `routing` or by those after one of `reconvergences`.
fn with_choice(
    routing: Routing<'_>,
    reconvergences: &[Reconvergence],
    pairs: &PairFlows,
) -> BTreeSet<(DcId, DcId)> {
    let mut found = BTreeSet::new();
    let mut add = |routing: Routing<'_>| {
        for (to, sources) in by_destination(pairs.keys().copied()) {
            let has_choice = routing.reaches(to, |dc, row| routing.is_choice(dc, row));
            let with_choice = sources.into_iter().filter(|from| has_choice[from.index()]);
            found.extend(with_choice.map(|from| (from, to)));
        }
    };
    add(routing);
    let mut switches = Cow::Borrowed(routing.switches);
    for change in reconvergences {
        change.apply(switches.to_mut());
        add(Routing {
            switches: &switches,
            ..routing
        });
    }
    found
}
