//! Numbers for texts that many flows share.

use std::collections::BTreeMap;

use crate::route::Routes;

/// Table that numbers routes from 0, in order of their first use.
pub struct RouteNumbers<'a> {
    routes: &'a Routes,
    names: Vec<String>,
    of_path: BTreeMap<String, u32>,
}

/// Table that numbers pairs of datacenters from 0.
#[derive(Default)]
pub struct Pairs {
    names: Vec<(String, String)>,
    of_pair: BTreeMap<String, BTreeMap<String, u32>>,
}

impl<'a> RouteNumbers<'a> {
    /// Returns an empty table, which looks up the route of each path in `routes`.
    pub fn new(routes: &'a Routes) -> Self {
        Self {
            routes,
            names: Vec::new(),
            of_path: BTreeMap::new(),
        }
    }

    /// Returns the number for the route of `path`; both directions of a path have the same route.
    pub fn number(&mut self, path: &str) -> u32 {
        if let Some(&known) = self.of_path.get(path) {
            return known;
        }
        let name = self.routes.named(path).text;
        let number = self
            .names
            .iter()
            .position(|it| *it == name)
            .unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            });
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.of_path.insert(path.to_owned(), number);
        number
    }

    /// Returns the number of routes.
    pub const fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns the names of the routes, by number.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}

impl Pairs {
    /// Returns the number of a pair of datacenters.
    pub fn number(&mut self, src: &str, dst: &str) -> u32 {
        let known = self.of_pair.get(src).and_then(|sinks| sinks.get(dst));
        if let Some(&known) = known {
            return known;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push((src.to_owned(), dst.to_owned()));
        let sinks = self.of_pair.entry(src.to_owned()).or_default();
        sinks.insert(dst.to_owned(), number);
        number
    }

    /// Returns the pairs of datacenters, by number.
    pub fn into_names(self) -> Vec<(String, String)> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn both_directions_of_a_path_have_one_number_and_pairs_have_two() {
        let routes = Routes::new(&testing::info());
        let mut numbers = RouteNumbers::new(&routes);
        let paths = ["dc1-dc3", "dc1-dc2-dc3", "dc3-dc2-dc1", "dc1-dc3"];
        assert_eq!(paths.map(|path| numbers.number(path)), [0, 1, 1, 0]);
        assert_eq!(numbers.into_names(), ["dc1-dc3", "dc1-dc2-dc3"]);
        let mut pairs = Pairs::default();
        let of = [("dc1", "dc3"), ("dc3", "dc1"), ("dc1", "dc3")];
        assert_eq!(of.map(|(src, dst)| pairs.number(src, dst)), [0, 1, 0]);
        assert_eq!(pairs.into_names().len(), 2);
    }
}
