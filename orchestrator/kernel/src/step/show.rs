//! Text of steps and of their inverses, as `ip`, `tc`, `rdma`, `ethtool` and `sysctl` commands.

use std::fmt;

use super::{
    DeviceChange, Namespace, Parent, QdiscAt, Step, Undo, Veth, VethEnd,
    enter::{Enter, Flag},
    hook,
};
use crate::netlink::tc::Hook;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netns { name } => write!(f, "ip netns add {name}"),
            Self::Sysctl {
                netns, key, value, ..
            } => write!(f, "{}sysctl -w {key}={value}", Enter(netns)),
            Self::SharedSysctl { key, at_least } => write!(f, "sysctl -w {key}={at_least}"),
            Self::Veth(veth) => veth.fmt(f),
            Self::Device { netns, dev, change } => change.fmt_for(netns, dev, f),
            Self::Route(route) => route.fmt(f),
            Self::Rule(rule) => rule.fmt_with("add", f),
            Self::Qdisc(at) => at.fmt_with("add", f),
            Self::QdiscChange(at) => at.fmt_with("change", f),
            Self::HostPrograms(programs) => programs.fmt(f),
        }
    }
}

impl DeviceChange {
    fn fmt_for(&self, netns: &Namespace, dev: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = Flag(netns);
        let enter = Enter(netns);
        match self {
            Self::NoOffloads => write!(
                f,
                "{enter}ethtool -K {dev} tx off sg off tso off gso off gro off"
            ),
            Self::Up => write!(f, "ip{flag} link set dev {dev} up"),
            Self::Down => write!(f, "ip{flag} link set dev {dev} down"),
            Self::Address(addr) => {
                write!(f, "ip{flag} addr add {addr}/32 dev {dev} noprefixroute")
            }
            Self::NotLocal(addr) => {
                write!(f, "ip{flag} route del local {addr} dev {dev} table local")
            }
            Self::Neighbour { addr, mac } => write!(
                f,
                "ip{flag} neigh add {addr} lladdr {mac} nud permanent dev {dev}"
            ),
            Self::Redirect(to) => write!(
                f,
                "tc{flag} filter add dev {dev} ingress protocol all u32 match u32 0 0 action mirred \
                 egress redirect dev {to}"
            ),
            Self::Program { program, directory } => {
                let at = match hook(*program) {
                    Hook::Ingress => "ingress",
                    Hook::Egress => "egress",
                };
                let pin = directory.join(program.name());
                write!(
                    f,
                    "tc{flag} filter add dev {dev} {at} pref 1 handle 1 bpf direct-action \
                     object-pinned {}",
                    pin.display()
                )
            }
            Self::Rxe(name) => write!(f, "{enter}rdma link add {name} type rxe netdev {dev}"),
            Self::Rps(cpus) => write!(
                f,
                "{enter}tee /sys/class/net/{dev}/queues/rx-0/rps_cpus <<< {cpus:x}"
            ),
        }
    }
}

impl fmt::Display for Veth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let a = &self.a;
        let b = &self.b;
        write!(f, "ip{} link add {} ", Flag(&a.netns), a.dev)?;
        self.fmt_end(a, f)?;
        write!(f, " type veth peer name {} ", b.dev)?;
        self.fmt_end(b, f)?;
        match &b.netns {
            netns if *netns == a.netns => Ok(()),
            Namespace::Root => f.write_str(" netns 1"),
            Namespace::Named(name) => write!(f, " netns {name}"),
        }
    }
}

impl Veth {
    fn fmt_end(&self, end: &VethEnd, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = end.mac;
        let mtu = self.mtu;
        let queue_len = self.queue_len;
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

impl QdiscAt {
    fn fmt_with(&self, verb: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let handle = self.handle;
        let qdisc = self.qdisc;
        write!(f, "tc{} qdisc {verb} dev {}", Flag(&self.netns), self.dev)?;
        match self.parent {
            Parent::Root => write!(f, " root handle {handle} {qdisc}"),
            Parent::Of(parent) => write!(f, " parent {parent}1 handle {handle} {qdisc}"),
            Parent::Clsact => write!(f, " {qdisc}"),
        }
    }
}

impl fmt::Display for Undo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netns(name) => write!(f, "ip netns del {name}"),
            Self::Link { dev, .. } => write!(f, "ip link del dev {dev}"),
            Self::Rule(rule) => rule.fmt_with("del", f),
            Self::Rxe { name, .. } => write!(f, "rdma link delete {name}"),
            Self::SharedSysctl { key } => write!(f, "sysctl -w {key}=<as it was>"),
        }
    }
}
