//! Table of flows and bytes on each route, for the page.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use lab_units::{Bytes, Nanos, show::counted};

use crate::{
    document::{Block, Cell, Column, Medium, Table},
    frames::RouteShare,
    run::Run,
    text,
};

/// Order of routes: those with an unknown delay last, then by delay and name.
type RouteKey = (u8, Nanos, String);

/// Returns the [`MAX_ROUTES`] routes with the most bytes under any policy.
fn most_bytes(shares: &BTreeMap<RouteKey, BTreeMap<&str, &RouteShare>>) -> BTreeSet<RouteKey> {
    let bytes = |by_policy: &BTreeMap<&str, &RouteShare>| {
        let bytes = by_policy.values().map(|share| share.bytes);
        bytes.max().unwrap_or(0)
    };
    let mut order: Vec<_> = shares
        .iter()
        .map(|(key, by_policy)| (Reverse(bytes(by_policy)), key))
        .collect();
    order.sort_unstable();
    let shown = order.into_iter().take(MAX_ROUTES);
    shown.map(|(_, key)| key.clone()).collect()
}

/// Maximum number of routes in the table.
const MAX_ROUTES: usize = 100;

/// Returns the table of routes, in order of increasing delay.
pub fn blocks<'a>(run: &Run) -> Vec<Block<'a>> {
    let mut shares: BTreeMap<RouteKey, BTreeMap<&str, &RouteShare>> = BTreeMap::new();
    let policies = &run.flows.policies;
    let routes = &run.routes;
    for (index, policy) in policies.iter().enumerate() {
        for share in run.flows.routes(index) {
            let delay = routes.delay(&routes.named(&share.route));
            let (unknown, delay) = delay.map_or((1, Nanos::ZERO), |delay| (0, delay));
            let key = (unknown, delay, share.route.clone());
            shares.entry(key).or_default().insert(policy, share);
        }
    }
    if shares.is_empty() {
        return vec![Block::Text(
            Medium::Page,
            "No flow's path is known.".to_owned(),
        )];
    }
    let first = [Column::names("route"), Column::numbers("one-way delay")];
    let columns = first
        .into_iter()
        .chain(policies.iter().map(Column::numbers));
    let all = shares.len();
    let shown = most_bytes(&shares);
    let rows = shares
        .into_iter()
        .filter(|(key, _)| shown.contains(key))
        .map(|((unknown, delay, route), by_policy)| {
            let cells = policies
                .iter()
                .map(|policy| match by_policy.get(policy.as_str()) {
                    Some(share) => {
                        let flows = Cell::from(counted(share.flows, "flow"));
                        flows.below(text::size(Bytes::new(share.bytes)))
                    }
                    None => Cell::none(),
                });
            let delay = (unknown == 0).then(|| text::time(delay));
            let first = [Cell::from(route), Cell::of(delay)];
            first.into_iter().chain(cells).collect::<Vec<_>>()
        });
    let table = Table::new(columns).colored(policies).with(rows);
    let mut note = format!(
        "Routes of the flows' data, in either direction.{}",
        run.about_routes()
    );
    if shown.len() < all {
        note += &format!(
            " {} of {} are listed, those with the most bytes under any policy.",
            text::number(shown.len() as u64),
            counted(all as u64, "route"),
        );
    }
    vec![
        Block::Table(Medium::Page, table),
        Block::Note(Medium::Page, note),
    ]
}
