//! Comparisons for each kind of object.

use std::{collections::BTreeMap, io, os::fd::AsFd};

use super::Checker;
use crate::{
    exec::{
        backend::{read_sysctl, steered_to},
        netns,
    },
    journal::if_found,
    netlink::{NetlinkError, Socket, dump, ethtool, rdma, rule as listed, tc},
    step::{DeviceChange, Namespace, NextHop, Route, RouteTarget, Step, hook},
};

impl Checker<'_> {
    pub(super) fn ends(&mut self) {
        for &(end, mtu, queue_len) in &self.wanted.ends {
            let show = |mac, mtu, queue_len, group| {
                format!("veth {mac:?} mtu {mtu} txqueuelen {queue_len} group {group}")
            };
            let wanted = show(Some(end.mac), mtu, queue_len, end.group);
            let found = self.links.get(&end.dev).map(|link| {
                let shown = show(link.mac, link.mtu, link.queue_len, link.group);
                if link.veth {
                    shown
                } else {
                    format!("not a {shown}")
                }
            });
            self.same(format!("interface `{}`", end.dev), wanted, found);
        }
    }

    /// Compares the namespace's sysctls, and those machine-wide sysctls that labs share.
    pub(super) fn sysctls(&mut self) -> Result<(), NetlinkError> {
        let keys: Vec<&str> = self
            .wanted
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Sysctl { key, .. } | Step::SharedSysctl { key, .. } => Some(key.as_str()),
                _ => None,
            })
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let read = || keys.iter().map(|key| if_found(read_sysctl(key))).collect();
        let values: io::Result<Vec<Option<String>>> = netns::inside(self.handle.as_fd(), read)?;
        let values: BTreeMap<&str, Option<String>> = keys.iter().copied().zip(values?).collect();
        for step in &self.wanted.steps {
            match step {
                Step::Sysctl {
                    key,
                    value,
                    optional,
                    ..
                } => {
                    let found = values.get(key.as_str()).cloned().flatten();
                    if found.is_some() || !optional {
                        self.same(format!("sysctl `{key}`"), value.clone(), found);
                    }
                }
                Step::SharedSysctl { key, at_least } => {
                    // In a container, machine-wide sysctls are missing.
                    if let Some(found) = values.get(key.as_str()).cloned().flatten() {
                        let is_enough = found.parse::<u64>().is_ok_and(|it| it >= *at_least);
                        let wanted = if is_enough {
                            found.clone()
                        } else {
                            at_least.to_string()
                        };
                        self.same(format!("sysctl `{key}`"), wanted, Some(found));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares the masks for receive packet steering.
    pub(super) fn steering(&mut self) -> Result<(), NetlinkError> {
        let masks: Vec<(&str, u64)> = self
            .wanted
            .changes()
            .filter_map(|(dev, change)| match change {
                DeviceChange::Rps(cpus) => Some((dev, *cpus)),
                _ => None,
            })
            .collect();
        let read =
            || -> Vec<Option<u64>> { masks.iter().map(|(dev, _)| steered_to(dev)).collect() };
        let found = match self.netns {
            Namespace::Root => read(),
            Namespace::Named(_) => netns::inside_with_sysfs(self.handle.as_fd(), read)?,
        };
        for ((dev, cpus), found) in masks.iter().zip(found) {
            let show = |mask| format!("CPUs {mask:x}");
            self.same(
                format!("packet steering (RPS) of `{dev}`"),
                show(*cpus),
                found.map(show),
            );
        }
        Ok(())
    }

    pub(super) fn interfaces(&mut self) -> Result<(), NetlinkError> {
        for (dev, change) in self.wanted.changes() {
            match change {
                DeviceChange::Up => {
                    let state = |up, running| match (up, running) {
                        (true, true) => "up",
                        (true, false) => "up, but the other end of its link is not",
                        (false, _) => "down",
                    };
                    let found = self
                        .links
                        .get(dev)
                        .map(|link| state(link.up, link.running || dev == "lo"))
                        .map(str::to_owned);
                    self.same(format!("interface `{dev}`"), "up".into(), found);
                }
                DeviceChange::NoOffloads => {
                    let on = ethtool::offloads_on(&self.handle.socket, dev)
                        .map_err(io::Error::from)?
                        .join(" ");
                    self.same(format!("offloads of `{dev}`"), String::new(), Some(on));
                }
                DeviceChange::Redirect(to) => {
                    let found = match self.links.get(dev).map(|link| link.index) {
                        Some(index) => tc::redirected_to(&mut self.handle.socket, index)?,
                        None => None,
                    };
                    let found = self
                        .links
                        .values()
                        .find(|link| Some(link.index) == found)
                        .map(|link| link.name.clone());
                    self.same(format!("redirect of `{dev}`"), to.clone(), found);
                }
                DeviceChange::Program { program, directory } => {
                    let (_, wanted) =
                        lab_host::pinned(directory, *program).map_err(io::Error::other)?;
                    let index = self.index(dev);
                    let found = tc::attached(&mut self.handle.socket, index, hook(*program))?;
                    let show = |ids: &[u32]| {
                        let ids: Vec<_> = ids.iter().map(u32::to_string).collect();
                        ids.join(" ")
                    };
                    let object = format!("program `{}` of `{dev}`", program.name());
                    self.same(object, show(&[wanted]), Some(show(&found)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn addresses(&mut self) -> Result<(), NetlinkError> {
        let listed = dump::addresses(&mut self.handle.socket)?;
        for (dev, change) in self.wanted.changes() {
            if let DeviceChange::Address(addr) = change {
                let found = listed
                    .iter()
                    .find(|found| found.addr == *addr)
                    .map(|at| format!("/{} on interface {}", at.len, at.interface));
                let wanted = format!("/32 on interface {}", self.index(dev));
                self.same(format!("address {addr}"), wanted, found);
            }
        }
        Ok(())
    }

    pub(super) fn neighbours(&mut self) -> Result<(), NetlinkError> {
        let listed = dump::neighbours(&mut self.handle.socket)?;
        for (dev, change) in self.wanted.changes() {
            if let DeviceChange::Neighbour { addr, mac } = change {
                let index = self.index(dev);
                let same = |at: &&dump::Neighbour| at.interface == index && at.addr == *addr;
                let found = listed.iter().find(same).map(|found| found.mac.to_string());
                let object = format!("neighbour {addr} on `{dev}`");
                self.same(object, mac.to_string(), found);
            }
        }
        Ok(())
    }

    pub(super) fn routes(&mut self) -> Result<(), NetlinkError> {
        let listed = dump::routes(&mut self.handle.socket)?;
        for step in &self.wanted.steps {
            match step {
                Step::Route(route) => {
                    let wanted = self.listed_route(route);
                    let same = |found: &&dump::KernelRoute| {
                        found.table == wanted.table && found.to == wanted.to
                    };
                    let found = listed.iter().find(same).map(|found| format!("{found:?}"));
                    let object = format!("route to {}/{}", route.to.addr, route.to.len);
                    self.same(object, format!("{wanted:?}"), found);
                }
                Step::Device {
                    change: DeviceChange::NotLocal(addr),
                    ..
                } => {
                    let local = |found: &dump::KernelRoute| {
                        found.table == LOCAL_TABLE && found.to.len == 32 && found.to.addr == *addr
                    };
                    let found = if listed.iter().any(local) {
                        "there"
                    } else {
                        "missing"
                    };
                    let object = format!("route to {addr} in table `local`");
                    self.same(object, "missing".into(), Some(found.into()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Converts a step's route to the form in which the kernel lists routes.
    fn listed_route(&self, route: &Route) -> dump::KernelRoute {
        let hops = match &route.target {
            RouteTarget::Local { dev } | RouteTarget::OnLink { dev } => {
                vec![(self.index(dev), None)]
            }
            RouteTarget::Gateways(hops) => {
                let hop = |hop: &NextHop| (self.index(&hop.dev), Some(hop.gateway));
                hops.iter().map(hop).collect()
            }
        };
        dump::KernelRoute {
            table: route.table,
            to: route.to,
            local: matches!(route.target, RouteTarget::Local { .. }),
            throws: false,
            src: route.src,
            hops,
        }
    }

    pub(super) fn rules(&mut self) -> Result<(), NetlinkError> {
        let listed = dump::rules(&mut self.handle.socket)?;
        for step in &self.wanted.steps {
            if let Step::Rule(rule) = step {
                let same =
                    |found: &&listed::KernelRule| found.selector().as_ref() == Some(&rule.selector);
                let show = |priority, table| format!("{priority} to {table}");
                let found = listed
                    .iter()
                    .find(same)
                    .and_then(|found| Some(show(found.priority, found.table()?)));
                let object = format!("rule {:?}", rule.selector);
                self.same(object, show(rule.priority, rule.table), found);
            }
        }
        Ok(())
    }

    pub(super) fn qdiscs(&mut self) -> Result<(), NetlinkError> {
        let listed = tc::qdiscs(&mut self.handle.socket)?;
        for step in &self.wanted.steps {
            if let Step::Qdisc(at) = step {
                let wanted = tc::held(self.index(&at.dev), at.parent, at.handle, &at.qdisc);
                let same = |found: &&tc::Held| {
                    found.interface == wanted.interface && found.parent == wanted.parent
                };
                let show =
                    |held: &tc::Held| format!("{:x}: {}", held.handle >> 16, held.attributes);
                let object = format!("{} of `{}`", at.qdisc.kind(), at.dev);
                self.same(object, show(&wanted), listed.iter().find(same).map(show));
            }
        }
        self.no_other_qdiscs(&listed);
        Ok(())
    }

    /// Adds a difference for every queueing discipline on the lab's interfaces that was not added by a step.
    fn no_other_qdiscs(&mut self, listed: &[tc::Held]) {
        let wanted: Vec<tc::Held> = self
            .wanted
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Qdisc(at) => Some(tc::held(
                    self.index(&at.dev),
                    at.parent,
                    at.handle,
                    &at.qdisc,
                )),
                _ => None,
            })
            .collect();
        let devs: Vec<(u32, String)> = self
            .wanted
            .ends
            .iter()
            .map(|(end, ..)| (self.index(&end.dev), end.dev.clone()))
            .collect();
        for found in listed {
            let is_wanted =
                |it: &tc::Held| (it.interface, it.parent) == (found.interface, found.parent);
            let dev = devs.iter().find(|(index, _)| *index == found.interface);
            // Handle 0 is the kernel's default discipline, which an interface has if no other was added.
            if let Some((_, dev)) = dev
                && found.handle != 0
                && !wanted.iter().any(is_wanted)
            {
                let object = format!("another queueing discipline of `{dev}`");
                self.same(object, String::new(), Some(found.attributes.to_string()));
            }
        }
    }

    pub(super) fn rdma_devices(&mut self) -> Result<(), NetlinkError> {
        // The kernel reports the interface of an RDMA device only inside the interface's namespace.
        let mut socket = netns::inside(self.handle.as_fd(), Socket::rdma)??;
        let devices = rdma::devices(&mut socket)?;
        for (dev, change) in self.wanted.changes() {
            if let DeviceChange::Rxe(name) = change {
                let device = devices.iter().find(|device| device.name == *name);
                let on = device.map(|device| rdma::interfaces(&mut socket, device.index));
                let found = on
                    .transpose()?
                    .map(|on| format!("on `{}`", on.join("`, `")));
                let object = format!("RDMA device `{name}`");
                self.same(object, format!("on `{dev}`"), found);
            }
        }
        Ok(())
    }
}

/// Number of the `local` routing table, to which the kernel adds this machine's own addresses.
const LOCAL_TABLE: u32 = 255;
