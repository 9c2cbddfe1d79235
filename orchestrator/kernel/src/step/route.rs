//! Routes and policy routing rules.

use std::{fmt, net::Ipv4Addr};

use lab_plan::model::Prefix;
use serde::{Deserialize, Serialize};

use super::enter::Flag;
use crate::name::Namespace;

/// Route in one of the kernel's routing tables.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    pub netns: Namespace,
    pub table: u32,
    pub to: Prefix,
    /// Local delivery, or the next hops of the route.
    pub target: RouteTarget,
    /// Source address for packets from sockets that are not bound to an address (`src` in `ip route`).
    pub src: Option<Ipv4Addr>,
}

/// Target of a route: local delivery, or next hops.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteTarget {
    /// The destination is an address of this interface, and packets are delivered locally.
    Local { dev: String },
    /// The destination is at the other end of this interface's link.
    OnLink { dev: String },
    /// Packets go to one of these next hops, which the flow's hash selects.
    Gateways(Vec<NextHop>),
}

/// Next hop, which counts as reachable on the link regardless of the addresses of the interface (`onlink`).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NextHop {
    /// Address of the other end of the link.
    pub gateway: Ipv4Addr,
    pub dev: String,
}

/// Policy routing rule (`ip rule`).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub netns: Namespace,
    /// Priority of the rule; rules with lower values are tried first.
    pub priority: u32,
    /// Packets that the rule matches.
    pub selector: Selector,
    /// Number of the routing table that the rule looks up.
    pub table: u32,
}

/// Selector of a policy routing rule, as in `ip-rule(8)`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// Packets that the interface has received.
    Iif(String),
    /// Packets from sockets that are bound to the interface.
    Oif(String),
    /// Packets with this source address.
    From(Ipv4Addr),
}

impl Route {
    /// Returns the names of the interfaces through which the route leads.
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

/// Number of the main routing table, which `ip route` uses by default.
pub(crate) const MAIN_TABLE: u32 = 254;
