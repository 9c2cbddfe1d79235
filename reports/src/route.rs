//! Routes: paths regardless of direction.

use lab_records::{DcPath, LinkInfo, RunInfo};
use lab_units::Nanos;

/// Network of datacenters and links, which maps paths (directed) to routes (undirected).
pub struct Routes {
    /// Names of the datacenters, in the order of the plan.
    dcs: Vec<String>,
    links: Vec<LinkInfo>,
}

/// Path regardless of direction, written from the end that comes first in the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UndirectedRoute {
    /// Text of the route, such as `dc1-dc4-dc8`.
    pub text: String,
    /// Names of the datacenters on the route; empty if one of them is unknown.
    pub hops: Vec<String>,
}

impl Routes {
    /// Returns the network that `info` describes.
    pub fn new(info: &RunInfo) -> Self {
        Self {
            dcs: info.dcs.iter().map(|dc| dc.name.clone()).collect(),
            links: info.links.clone(),
        }
    }

    /// Returns the route of the path with the text `text`.
    pub fn named(&self, text: &str) -> UndirectedRoute {
        self.of_path(&DcPath::new([text]))
    }

    /// Returns the one-way delay of a route, over the link of least delay at each hop; `None` if a hop has no link.
    pub fn delay(&self, route: &UndirectedRoute) -> Option<Nanos> {
        let pairs = route.hops.windows(2);
        let total = pairs
            .map(|pair| self.link_delay(&pair[0], &pair[1]))
            .sum::<Option<u64>>()?;
        (route.hops.len() > 1).then_some(Nanos::new(total))
    }

    /// Returns the route of `path`.
    pub fn of_path(&self, path: &DcPath) -> UndirectedRoute {
        let names: Vec<&str> = self.dcs.iter().map(String::as_str).collect();
        let Some(mut hops) = path.hops(&names) else {
            return UndirectedRoute {
                text: path.to_string(),
                hops: Vec::new(),
            };
        };
        let position = |hop: Option<&&str>| names.iter().position(|name| Some(name) == hop);
        if position(hops.first()) > position(hops.last()) {
            hops.reverse();
        }
        UndirectedRoute {
            text: DcPath::new(&hops).to_string(),
            hops: hops.into_iter().map(str::to_owned).collect(),
        }
    }

    fn link_delay(&self, from: &str, to: &str) -> Option<u64> {
        let between = self.links.iter().filter(|link| joins(link, from, to));
        between.map(|link| link.delay_ns.get()).min()
    }
}

impl UndirectedRoute {
    /// Returns true if the route passes over `link`.
    pub fn crosses(&self, link: &LinkInfo) -> bool {
        let mut pairs = self.hops.windows(2);
        pairs.any(|pair| joins(link, &pair[0], &pair[1]))
    }
}

fn joins(link: &LinkInfo, one: &str, other: &str) -> bool {
    (link.a == one && link.b == other) || (link.a == other && link.b == one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_routes_delay_is_the_sum_of_its_links() {
        let routes = Routes::new(&testing::info());
        let delay = |text: &str| routes.delay(&routes.named(text));
        assert_eq!(delay("dc1-dc2-dc3"), Some(Nanos::from_millis(10)));
        assert_eq!(delay("dc1-dc3"), Some(Nanos::from_millis(50)));
        assert_eq!(delay("dc1-dc9"), None);
        assert_eq!(delay("dc1"), None);
    }

    #[test]
    fn a_path_backwards_is_the_same_route_and_crosses_the_same_links() {
        let info = testing::info();
        let route = Routes::new(&info).named("dc3-dc2-dc1");
        assert_eq!(route.text, "dc1-dc2-dc3");
        let crossed: Vec<bool> = info.links.iter().map(|link| route.crosses(link)).collect();
        assert_eq!(crossed, [true, true, false]);
    }

    #[test]
    fn a_path_over_unknown_datacenters_is_kept_as_it_is() {
        let route = Routes::new(&testing::info()).named("dc3-dc9");
        assert_eq!((route.text.as_str(), route.hops.len()), ("dc3-dc9", 0));
    }
}
