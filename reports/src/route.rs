//! Routes: paths regardless of direction.

use lab_records::{DcNames, DcPath, LinkInfo, RunInfo};
use lab_units::{Nanos, Twin};

/// Network of datacenters and links, which maps paths (directed) to routes (undirected).
pub struct Routes {
    /// Names of the datacenters, in the order of the plan.
    dcs: DcNames,
    links: Vec<LinkInfo>,
}

/// Path regardless of direction, written from the end that comes first in the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UndirectedRoute {
    /// Text of the route, such as `dc1-dc4-dc8`.
    pub text: String,
    /// Names of the datacenters on the route; empty if one of them is unknown.
    pub hops: Vec<String>,
    /// Places, among parallel links, of the links between these datacenters.
    twins: Vec<Twin>,
}

impl Routes {
    /// Returns the network that `info` describes.
    pub fn new(info: &RunInfo) -> Self {
        Self {
            dcs: info.dc_names(),
            links: info.links.clone(),
        }
    }

    /// Returns the route of the path with the text `text`.
    pub fn named(&self, text: &str) -> UndirectedRoute {
        self.of_path(&DcPath::new([text]))
    }

    /// Returns the one-way delay of a route; `None` if a hop has no link.
    pub fn delay(&self, route: &UndirectedRoute) -> Option<Nanos> {
        let total = route
            .links()
            .map(|hop| self.link_delay(hop))
            .sum::<Option<u64>>()?;
        (route.hops.len() > 1).then_some(Nanos::new(total))
    }

    /// Returns the route of `path`.
    pub fn of_path(&self, path: &DcPath) -> UndirectedRoute {
        let Some(steps) = path.steps(&self.dcs) else {
            return UndirectedRoute {
                text: path.to_string(),
                hops: Vec::new(),
                twins: Vec::new(),
            };
        };
        let mut positions: Vec<usize> = steps.iter().map(|&(dc, _)| dc).collect();
        let mut twins: Vec<Twin> = steps.iter().skip(1).map(|&(_, twin)| twin).collect();
        if positions.first() > positions.last() {
            positions.reverse();
            twins.reverse();
        }
        let hops: Vec<&str> = positions.iter().map(|&dc| self.dcs.name(dc)).collect();
        let places = [Twin::FIRST].into_iter().chain(twins.iter().copied());
        let shown = hops.iter().zip(places);
        UndirectedRoute {
            text: DcPath::new(shown.map(|(dc, twin)| format!("{dc}{twin}"))).to_string(),
            hops: hops.into_iter().map(str::to_owned).collect(),
            twins,
        }
    }

    fn link_delay(&self, hop: RouteHop<'_>) -> Option<u64> {
        let mut links = self.links.iter();
        let link = links.find(|link| hop.is_over(link));
        link.map(|link| link.delay_ns.get())
    }
}

impl UndirectedRoute {
    /// Returns true if the route passes over `link`.
    pub fn crosses(&self, link: &LinkInfo) -> bool {
        self.links().any(|hop| hop.is_over(link))
    }

    fn links(&self) -> impl Iterator<Item = RouteHop<'_>> {
        let pairs = self.hops.windows(2).zip(&self.twins);
        pairs.map(|(pair, twin)| RouteHop {
            ends: [&pair[0], &pair[1]],
            twin: *twin,
        })
    }
}

/// Returns true if `link` leads from the datacenter `from` to the next hop called `next`, such as `dc2_2`.
pub fn leads(link: &LinkInfo, [from, next]: [&str; 2]) -> bool {
    let (to, twin) = Twin::split(next);
    let ends = [from, to];
    RouteHop { ends, twin }.is_over(link)
}

/// Two datacenters on a route and the place of the link between them among parallel links.
#[derive(Clone, Copy)]
struct RouteHop<'a> {
    ends: [&'a str; 2],
    twin: Twin,
}

impl RouteHop<'_> {
    fn is_over(self, link: &LinkInfo) -> bool {
        let [one, other] = self.ends;
        let joins = (link.a == one && link.b == other) || (link.a == other && link.b == one);
        joins && Twin::split(&link.name).1 == self.twin
    }
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

    #[test]
    fn a_route_over_a_parallel_link_crosses_that_link_alone() {
        let mut info = testing::info();
        let mut second = info.links[0].clone();
        second.name = format!("{}_2", second.name);
        second.delay_ns = Nanos::from_millis(7);
        let [a, b] = [second.a.clone(), second.b.clone()];
        info.links.push(second);
        let routes = Routes::new(&info);
        for path in [format!("{a}-{b}_2"), format!("{b}-{a}_2")] {
            let route = routes.named(&path);
            assert_eq!(route.text, format!("{a}-{b}_2"));
            assert_eq!(routes.delay(&route), Some(Nanos::from_millis(7)));
            let crossed: Vec<bool> = info.links.iter().map(|link| route.crosses(link)).collect();
            assert_eq!(crossed, [false, false, false, true]);
        }
    }
}
