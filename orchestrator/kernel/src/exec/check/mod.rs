//! Comparison of the kernel's state with the steps that were applied.

mod objects;

use std::{
    collections::BTreeMap,
    fmt,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Executor, NetnsHandle};
use crate::{
    netlink::{NetlinkError, dump},
    step::{DeviceChange, Namespace, Step, VethEnd},
};

/// Object in the kernel that differs from the step that created it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Drift {
    /// Namespace in which the object is.
    pub netns: Namespace,
    /// Kind and name of the object, for messages.
    pub object: String,
    /// State that the step requires.
    pub wanted: String,
    /// State that was found in the kernel.
    pub found: String,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = &self.wanted;
        let found = &self.found;
        write!(
            f,
            "{} in {}: wanted {wanted}, found {found}",
            self.object, self.netns
        )
    }
}

/// Compares the objects that the steps created with the objects in the kernel, after waiting up to `patience` for
/// carriers. Steps that change existing objects ([`Step::LinkDown`], [`Step::QdiscChange`]) are not compared.
pub(crate) fn check(
    executor: &mut Executor,
    steps: &[Step],
    patience: Duration,
) -> Result<Vec<Drift>, NetlinkError> {
    let mut by_netns: BTreeMap<Namespace, WantedObjects<'_>> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Veth(veth) => {
                for end in [&veth.a, &veth.b] {
                    let wanted = by_netns.entry(end.netns.clone()).or_default();
                    wanted.ends.push((end, veth.mtu, veth.queue_len));
                }
            }
            step => {
                let netns = step
                    .netns_name()
                    .cloned()
                    .map_or(Namespace::Root, Namespace::Named);
                by_netns.entry(netns).or_default().steps.push(step);
            }
        }
    }
    let mut differences = Vec::new();
    for (netns, wanted) in &by_netns {
        if let Some(handle) = executor.handle(netns) {
            let links = wait_for_links(handle, wanted, patience)?;
            let mut checker = Checker {
                netns,
                handle,
                wanted,
                links,
                differences: Vec::new(),
            };
            checker.compare()?;
            differences.append(&mut checker.differences);
        }
    }
    Ok(differences)
}

/// Objects that the steps create in one namespace.
#[derive(Default)]
struct WantedObjects<'a> {
    ends: Vec<(&'a VethEnd, u32, u32)>,
    steps: Vec<&'a Step>,
}

impl<'a> WantedObjects<'a> {
    /// Returns the interface changes, each with the name of its interface.
    fn changes(&self) -> impl Iterator<Item = (&'a str, &'a DeviceChange)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Device { dev, change, .. } => Some((dev.as_str(), change)),
            _ => None,
        })
    }
}

/// Interfaces of one namespace, by name.
type Interfaces = BTreeMap<String, dump::Interface>;

struct Checker<'a> {
    netns: &'a Namespace,
    handle: &'a mut NetnsHandle,
    wanted: &'a WantedObjects<'a>,
    links: Interfaces,
    differences: Vec<Drift>,
}

/// Lists the interfaces once all of them have a carrier. A carrier appears shortly after both ends of a pair are up.
fn wait_for_links(
    handle: &mut NetnsHandle,
    wanted: &WantedObjects<'_>,
    patience: Duration,
) -> Result<Interfaces, NetlinkError> {
    let deadline = Instant::now() + patience;
    loop {
        let links: Interfaces = dump::links(&mut handle.socket)?
            .into_iter()
            .map(|link| (link.name.clone(), link))
            .collect();
        let ready = |(dev, change): (&str, &DeviceChange)| {
            let running = dev == "lo" || links.get(dev).is_none_or(|link| link.running);
            *change != DeviceChange::Up || running
        };
        if wanted.changes().all(ready) || Instant::now() > deadline {
            return Ok(links);
        }
        sleep(PAUSE);
    }
}

impl Checker<'_> {
    fn compare(&mut self) -> Result<(), NetlinkError> {
        // Only those kinds of objects are listed that a step creates, because listings (of routes, for example) may be
        // long.
        let steps = &self.wanted.steps;
        let has = |kind: fn(&Step) -> bool| steps.iter().any(|step| kind(step));
        let changes = |kind: fn(&DeviceChange) -> bool| {
            let mut changes = self.wanted.changes();
            changes.any(|(_, change)| kind(change))
        };
        let not_local = changes(|change| matches!(change, DeviceChange::NotLocal(_)));
        self.ends();
        self.sysctls()?;
        self.interfaces()?;
        if changes(|change| matches!(change, DeviceChange::Address(_))) {
            self.addresses()?;
        }
        if changes(|change| matches!(change, DeviceChange::Neighbour { .. })) {
            self.neighbours()?;
        }
        if not_local || has(|step| matches!(step, Step::Route(_))) {
            self.routes()?;
        }
        if has(|step| matches!(step, Step::Rule(_))) {
            self.rules()?;
        }
        if changes(|change| matches!(change, DeviceChange::Rps(_))) {
            self.steering()?;
        }
        if has(|step| matches!(step, Step::Qdisc(_))) {
            self.qdiscs()?;
        }
        if changes(|change| matches!(change, DeviceChange::Rxe(_))) {
            self.rdma_devices()?;
        }
        Ok(())
    }

    /// Returns the index of an interface, or 0, which no interface has, if the interface does not exist.
    fn index(&self, dev: &str) -> u32 {
        self.links.get(dev).map_or(0, |link| link.index)
    }

    fn same(&mut self, object: String, wanted: String, found: Option<String>) {
        let or_none = |text: String| if text.is_empty() { "none".into() } else { text };
        if found.as_ref() != Some(&wanted) {
            self.differences.push(Drift {
                netns: self.netns.clone(),
                object,
                wanted: or_none(wanted),
                found: found.map_or_else(|| "nothing".into(), or_none),
            });
        }
    }
}

const PAUSE: Duration = Duration::from_millis(1);
