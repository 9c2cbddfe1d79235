//! Routes and policy routing rules.

use std::net::Ipv4Addr;

use lab_plan::model::Prefix;
use serde::{Deserialize, Serialize};

use super::Place;

/// A route.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Where.
    pub place: Place,
    /// The table.
    pub table: u32,
    /// Destination.
    pub to: Prefix,
    /// How to get there.
    pub way: Way,
    /// Source address for packets that have none yet.
    pub src: Option<Ipv4Addr>,
}

/// How a route gets to its destination.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Here: the destination is an address of this interface.
    Local {
        /// The interface.
        dev: String,
    },
    /// The destination is at the other end of the link.
    Link {
        /// The interface.
        dev: String,
    },
    /// By one of these, chosen by the hash of the flow when there is more than one.
    Via(Vec<NextHop>),
}

/// A next hop, taken to be on the link whatever addresses the interface has.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NextHop {
    /// The other end's address.
    pub gateway: Ipv4Addr,
    /// The interface.
    pub dev: String,
}

/// A policy routing rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Where.
    pub place: Place,
    /// Its priority.
    pub priority: u32,
    /// What it matches.
    pub matches: Matches,
    /// The table to look up then.
    pub table: u32,
}

/// What a policy routing rule matches.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matches {
    /// Packets that came in by the interface.
    In(String),
    /// Packets of sockets bound to the interface.
    Out(String),
    /// Packets from the address.
    From(Ipv4Addr),
}

impl Route {
    /// The interfaces the route goes by.
    pub fn devs(&self) -> impl Iterator<Item = &str> {
        let (one, hops) = match &self.way {
            Way::Local { dev } | Way::Link { dev } => (Some(dev.as_str()), [].as_slice()),
            Way::Via(hops) => (None, hops.as_slice()),
        };
        one.into_iter()
            .chain(hops.iter().map(|hop| hop.dev.as_str()))
    }
}
