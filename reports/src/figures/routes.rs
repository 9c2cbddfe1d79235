//! Groups of routes that share a colour.

use std::collections::BTreeSet;

use lab_units::Nanos;
use plotters::style::RGBColor;

use crate::{
    figure::theme::{ROUTES, UNUSED},
    frames::{Flows, FlowsOverTime, Span, TimeGrid, flows_over_time},
    parallel,
    route::{Routes, UndirectedRoute},
    text,
};

/// Groups of routes, in the order of their colours.
pub enum Groups {
    /// One group per route, in order of delay.
    Routes(Vec<String>),
    /// One group per number of links on a route, in ascending order.
    Lengths(Vec<usize>),
}

impl Groups {
    /// Returns the groups for the routes of `flows`; `all` has the delays of the network's routes.
    pub fn of(flows: &Flows, all: &Routes) -> Self {
        let routes: BTreeSet<String> = flows.first_routes().iter().cloned().collect();
        if routes.len() > ROUTES.len() {
            let lengths: BTreeSet<usize> = routes
                .iter()
                .map(|route| all.named(route))
                .filter_map(|route| links_of(&route))
                .collect();
            return Self::Lengths(lengths.into_iter().take(ROUTES.len()).collect());
        }
        // Routes with an unknown delay come last.
        let order = |route: &str| {
            let delay = all.delay(&all.named(route));
            delay.map_or((1, Nanos::ZERO), |delay| (0, delay))
        };
        let mut routes: Vec<String> = routes.into_iter().collect();
        routes.sort_by(|a, b| (order(a), a).cmp(&(order(b), b)));
        Self::Routes(routes)
    }

    /// Returns the flows of each policy's first repetition over time, by group. Flows without a group form an
    /// additional last group.
    pub fn flows_over_time(
        &self,
        flows: &Flows,
        routes: &Routes,
        grid: &TimeGrid,
    ) -> Vec<FlowsOverTime> {
        let positions = self.positions(flows, routes);
        let group_of = |span: &Span| positions.of(span).unwrap_or(self.len());
        parallel::map(0..flows.policies.len(), |policy| {
            let spans = flows.first_repetition(policy);
            flows_over_time(grid, spans, self.len() + 1, group_of)
        })
    }

    /// Returns the index of the group of each route in `flows`.
    pub fn positions(&self, flows: &Flows, routes: &Routes) -> Positions {
        let names = flows.route_names.iter();
        Positions(
            names
                .map(|name| self.position(&routes.named(name)))
                .collect(),
        )
    }

    /// Returns true if routes with the same number of links share a colour.
    pub fn is_by_length(&self) -> bool {
        matches!(self, Self::Lengths(_))
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        match self {
            Self::Routes(routes) => routes.len(),
            Self::Lengths(lengths) => lengths.len(),
        }
    }

    /// Returns the index of the group of `route`; `None` if no group contains it.
    fn position(&self, route: &UndirectedRoute) -> Option<usize> {
        match self {
            Self::Routes(routes) => routes.iter().position(|one| *one == route.text),
            Self::Lengths(lengths) => {
                let links = links_of(route)?;
                lengths.iter().position(|&one| one == links)
            }
        }
    }

    /// Returns the label and colour of each group; the last entry is for flows without a group.
    pub fn labels(&self, all: &Routes) -> Vec<(String, RGBColor)> {
        let route = |route: &String| match all.delay(&all.named(route)) {
            Some(delay) => format!("{route} · {}", text::time(delay)),
            None => route.clone(),
        };
        let names: Vec<String> = match self {
            Self::Routes(routes) => routes.iter().map(route).collect(),
            Self::Lengths(lengths) => {
                let name = |&links: &usize| format!("over {}", text::count(links, "link"));
                lengths.iter().map(name).collect()
            }
        };
        let others = ("another or unknown".to_owned(), UNUSED);
        names.into_iter().zip(ROUTES).chain([others]).collect()
    }
}

/// Index of each route's group, by route number; `None` for a route without a group.
pub struct Positions(Vec<Option<usize>>);

impl Positions {
    /// Returns the index of the group of a flow's route; `None` if the route is unknown or has no group.
    pub fn of(&self, span: &Span) -> Option<usize> {
        let route = usize::try_from(span.route?).ok()?;
        *self.0.get(route)?
    }
}

/// Returns the number of links on a route; `None` if unknown.
fn links_of(route: &UndirectedRoute) -> Option<usize> {
    route.hops.len().checked_sub(1)
}
