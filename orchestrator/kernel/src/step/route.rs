//! Routes and policy routing rules.

use std::{fmt, net::Ipv4Addr};

use lab_plan::model::Prefix;
use serde::{Deserialize, Serialize};

use super::enter::Flag;
use crate::name::Namespace;

/// Route in a kernel routing table.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    pub netns: Namespace,
    pub table: u32,
    pub to: Prefix,
    /// Local delivery, or the next hops.
    pub target: RouteTarget,
    /// Source address for packets without one (`src` of `ip route`).
    pub src: Option<Ipv4Addr>,
}

/// Local delivery, or the next hops of a route.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteTarget {
    /// Local delivery: the destination is an address of this interface.
    Local { dev: String },
    /// The destination is the other end of the link.
    OnLink { dev: String },
    /// One of these next hops, selected by the flow's hash.
    Gateways(Vec<NextHop>),
}

/// Next hop. It counts as reachable on the link, whatever addresses the interface has (`onlink`).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NextHop {
    /// Address of the link's other end.
    pub gateway: Ipv4Addr,
    pub dev: String,
}

/// Policy routing rule (`ip rule`).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub netns: Namespace,
    /// Priority; lower values match first.
    pub priority: u32,
    /// Packets that the rule matches.
    pub selector: Selector,
    /// Routing table to look up.
    pub table: u32,
}

/// Selector of a policy routing rule, as in `ip-rule(8)`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// Packets received on the interface.
    Iif(String),
    /// Packets of sockets bound to the interface.
    Oif(String),
    /// Packets from the address.
    From(Ipv4Addr),
}

impl Route {
    /// Returns the interfaces of the route.
    pub fn devs(&self) -> impl Iterator<Item = &str> {
        let (one, hops) = match &self.target {
            RouteTarget::Local { dev } | RouteTarget::OnLink { dev } => {
                (Some(dev.as_str()), [].as_slice())
            }
            RouteTarget::Gateways(hops) => (None, hops.as_slice()),
        };
        one.into_iter()
            .chain(hops.iter().map(|hop| hop.dev.as_str()))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.target {
            RouteTarget::Local { .. } => "local ",
            RouteTarget::OnLink { .. } | RouteTarget::Gateways(_) => "",
        };
        write!(f, "ip{} route add {kind}", Flag(&self.netns))?;
        match self.to.len {
            0 => f.write_str("default")?,
            32 => write!(f, "{}", self.to.addr)?,
            len => write!(f, "{}/{len}", self.to.addr)?,
        }
        if self.table != MAIN_TABLE {
            write!(f, " table {}", self.table)?;
        }
        if let Some(src) = self.src {
            write!(f, " src {src}")?;
        }
        match &self.target {
            RouteTarget::Local { dev } => write!(f, " dev {dev}"),
            RouteTarget::OnLink { dev } => write!(f, " dev {dev} scope link"),
            RouteTarget::Gateways(hops) => match hops.as_slice() {
                [NextHop { gateway, dev }] => write!(f, " via {gateway} dev {dev} onlink"),
                hops => hops.iter().try_for_each(|NextHop { gateway, dev }| {
                    write!(f, " nexthop via {gateway} dev {dev} onlink")
                }),
            },
        }
    }
}

impl Rule {
    pub(super) fn fmt_with(&self, verb: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let netns = Flag(&self.netns);
        let priority = self.priority;
        write!(f, "ip{netns} rule {verb} pref {priority}")?;
        match &self.selector {
            Selector::Iif(dev) => write!(f, " iif {dev}")?,
            Selector::Oif(dev) => write!(f, " oif {dev}")?,
            Selector::From(addr) => write!(f, " from {addr}")?,
        }
        write!(f, " lookup {}", self.table)
    }
}

/// Main routing table, which `ip route` uses by default.
pub(crate) const MAIN_TABLE: u32 = 254;
