//! Addresses, neighbours, routes and rules.

use super::Checker;
use crate::{
    netlink::{NetlinkError, dump},
    step::{NextHop, Route, Step, Way},
};

impl Checker<'_> {
    pub(super) fn addresses(&mut self) -> Result<(), NetlinkError> {
        let found = dump::addresses(&mut self.space.socket)?;
        for step in &self.wanted.steps {
            if let Step::Address { dev, addr, .. } = step {
                let index = self.index(dev);
                let there = found.iter().find(|found| found.addr == *addr);
                let shown =
                    there.map(|found| format!("/{} on interface {}", found.len, found.interface));
                let wanted = format!("/32 on interface {index}");
                self.same(format!("address {addr}"), wanted, shown);
            }
        }
        Ok(())
    }

    pub(super) fn neighbours(&mut self) -> Result<(), NetlinkError> {
        let found = dump::neighbours(&mut self.space.socket)?;
        for step in &self.wanted.steps {
            if let Step::Neighbour { dev, addr, mac, .. } = step {
                let index = self.index(dev);
                let there = found
                    .iter()
                    .find(|at| at.interface == index && at.addr == *addr);
                let shown = there.map(|found| found.mac.to_string());
                self.same(
                    format!("neighbour {addr} on `{dev}`"),
                    mac.to_string(),
                    shown,
                );
            }
        }
        Ok(())
    }

    pub(super) fn routes(&mut self) -> Result<(), NetlinkError> {
        let found = dump::routes(&mut self.space.socket)?;
        for step in &self.wanted.steps {
            match step {
                Step::Route(route) => {
                    let wanted = self.route(route);
                    let same =
                        |found: &&dump::Route| found.table == wanted.table && found.to == wanted.to;
                    let shown = found.iter().find(same).map(|found| format!("{found:?}"));
                    let object = format!("route to {}/{}", route.to.addr, route.to.len);
                    self.same(object, format!("{wanted:?}"), shown);
                }
                Step::NotLocal { addr, .. } => {
                    let local = |found: &&dump::Route| {
                        found.table == LOCAL_TABLE && found.to.len == 32 && found.to.addr == *addr
                    };
                    let shown = match found.iter().any(|found| local(&found)) {
                        true => "there",
                        false => "not there",
                    };
                    let object = format!("route to {addr} in table `local`");
                    self.same(object, "not there".into(), Some(shown.into()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A route of a step as the kernel lists it.
    fn route(&self, route: &Route) -> dump::Route {
        let hops = match &route.way {
            Way::Local { dev } | Way::Link { dev } => vec![(self.index(dev), None)],
            Way::Via(hops) => {
                let hop = |hop: &NextHop| (self.index(&hop.dev), Some(hop.gateway));
                hops.iter().map(hop).collect()
            }
        };
        dump::Route {
            table: route.table,
            to: route.to,
            local: matches!(route.way, Way::Local { .. }),
            src: route.src,
            hops,
        }
    }

    pub(super) fn rules(&mut self) -> Result<(), NetlinkError> {
        let found = dump::rules(&mut self.space.socket)?;
        for step in &self.wanted.steps {
            if let Step::Rule(rule) = step {
                let matches = Some(&rule.matches);
                let there = found.iter().find(|found| found.matches.as_ref() == matches);
                let shown = there.map(|found| format!("{} to {}", found.priority, found.table));
                let wanted = format!("{} to {}", rule.priority, rule.table);
                self.same(format!("rule {:?}", rule.matches), wanted, shown);
            }
        }
        Ok(())
    }
}

/// The table of the machine's own addresses.
const LOCAL_TABLE: u32 = 255;
