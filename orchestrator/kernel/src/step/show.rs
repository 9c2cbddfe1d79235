//! The spelling of steps with `ip`, `tc`, `rdma`, `ethtool` and `sysctl`.

use std::fmt;

use super::{Matches, NextHop, Parent, Place, QdiscAt, Route, Rule, Step, Veth, VethEnd, Way};

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the root namespace"),
            Self::Netns(name) => name.fmt(f),
        }
    }
}

/// `ip` and `tc` take the namespace as an option.
struct Flag<'a>(&'a Place);

impl fmt::Display for Flag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Root => Ok(()),
            Place::Netns(name) => write!(f, " -n {name}"),
        }
    }
}

/// Other programs have to be started in the namespace.
struct Enter<'a>(&'a Place);

impl fmt::Display for Enter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Root => Ok(()),
            Place::Netns(name) => write!(f, "ip netns exec {name} "),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netns { name } => write!(f, "ip netns add {name}"),
            Self::Sysctl {
                place, key, value, ..
            } => write!(f, "{}sysctl -w {key}={value}", Enter(place)),
            Self::SharedSysctl { key, at_least } => write!(f, "sysctl -w {key}={at_least}"),
            Self::Veth(veth) => veth.fmt(f),
            Self::Offloads { place, dev } => write!(
                f,
                "{}ethtool -K {dev} tx off sg off tso off gso off gro off",
                Enter(place)
            ),
            Self::LinkUp { place, dev } => write!(f, "ip{} link set dev {dev} up", Flag(place)),
            Self::LinkDown { place, dev } => {
                write!(f, "ip{} link set dev {dev} down", Flag(place))
            }
            Self::Address { place, dev, addr } => {
                let flag = Flag(place);
                write!(f, "ip{flag} addr add {addr}/32 dev {dev} noprefixroute")
            }
            Self::Neighbour {
                place,
                dev,
                addr,
                mac,
            } => write!(
                f,
                "ip{} neigh add {addr} lladdr {mac} nud permanent dev {dev}",
                Flag(place)
            ),
            Self::NotLocal { place, dev, addr } => {
                let flag = Flag(place);
                write!(f, "ip{flag} route del local {addr} dev {dev} table local")
            }
            Self::Route(route) => route.fmt(f),
            Self::Rule(rule) => rule.fmt_with("add", f),
            Self::Qdisc(at) => at.fmt_with("add", f),
            Self::QdiscChange(at) => at.fmt_with("change", f),
            Self::Redirect { place, from, to } => write!(
                f,
                "tc{} filter add dev {from} ingress protocol all u32 match u32 0 0 action mirred \
                 egress redirect dev {to}",
                Flag(place)
            ),
            Self::Rxe { place, name, dev } => {
                write!(
                    f,
                    "{}rdma link add {name} type rxe netdev {dev}",
                    Enter(place)
                )
            }
            Self::Rps { place, dev, cpus } => write!(
                f,
                "{}tee /sys/class/net/{dev}/queues/rx-0/rps_cpus <<< {cpus:x}",
                Enter(place)
            ),
        }
    }
}

impl fmt::Display for Veth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b) = (&self.a, &self.b);
        write!(f, "ip{} link add {} ", Flag(&a.place), a.dev)?;
        self.fmt_end(a, f)?;
        write!(f, " type veth peer name {} ", b.dev)?;
        self.fmt_end(b, f)?;
        match &b.place {
            place if *place == a.place => Ok(()),
            Place::Root => f.write_str(" netns 1"),
            Place::Netns(name) => write!(f, " netns {name}"),
        }
    }
}

impl Veth {
    fn fmt_end(&self, end: &VethEnd, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mac, mtu, queue_len) = (end.mac, self.mtu, self.queue_len);
        if end.index != 0 {
            write!(f, "index {} ", end.index)?;
        }
        write!(f, "address {mac} mtu {mtu} txqueuelen {queue_len}")?;
        if end.group != 0 {
            write!(f, " group {}", end.group)?;
        }
        f.write_str(" numtxqueues 1 numrxqueues 1")
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.way {
            Way::Local { .. } => "local ",
            Way::Link { .. } | Way::Via(_) => "",
        };
        write!(f, "ip{} route add {kind}", Flag(&self.place))?;
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
        match &self.way {
            Way::Local { dev } => write!(f, " dev {dev}"),
            Way::Link { dev } => write!(f, " dev {dev} scope link"),
            Way::Via(hops) => match hops.as_slice() {
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
        let Self {
            place,
            priority,
            matches,
            table,
        } = self;
        write!(f, "ip{} rule {verb} pref {priority}", Flag(place))?;
        match matches {
            Matches::In(dev) => write!(f, " iif {dev}")?,
            Matches::Out(dev) => write!(f, " oif {dev}")?,
            Matches::From(addr) => write!(f, " from {addr}")?,
        }
        write!(f, " lookup {table}")
    }
}

impl QdiscAt {
    fn fmt_with(&self, verb: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            dev,
            parent,
            handle,
            qdisc,
        } = self;
        write!(f, "tc{} qdisc {verb} dev {dev}", Flag(place))?;
        match parent {
            Parent::Root => write!(f, " root handle {handle} {qdisc}"),
            Parent::Of(parent) => write!(f, " parent {parent}1 handle {handle} {qdisc}"),
            Parent::Clsact => write!(f, " {qdisc}"),
        }
    }
}

/// The table that needs no saying.
pub(crate) const MAIN_TABLE: u32 = 254;
