//! Reading back: what the kernel has, against what the steps say.

mod devices;
mod network;

use std::{
    collections::BTreeMap,
    fmt,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Executor, Space};
use crate::{
    netlink::{NetlinkError, dump, ethtool, tc},
    step::{Place, Step, VethEnd},
};

/// Something the kernel has other than it was told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// Where.
    pub place: Place,
    /// What.
    pub object: String,
    /// As it was told.
    pub wanted: String,
    /// As it is.
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            object,
            wanted,
            found,
        } = self;
        write!(f, "{object} in {place}: wanted {wanted}, found {found}")
    }
}

/// Compares what the steps made with what the kernel has. Changes of things that are there
/// ([`Step::LinkDown`], [`Step::QdiscChange`]) are not looked for.
pub(crate) fn check(
    executor: &mut Executor,
    steps: &[Step],
) -> Result<Vec<Difference>, NetlinkError> {
    let mut places: BTreeMap<Place, Wanted<'_>> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Veth(veth) => {
                for end in [&veth.a, &veth.b] {
                    let wanted = places.entry(end.place.clone()).or_default();
                    wanted.ends.push((end, veth.mtu, veth.queue_len));
                }
            }
            step => {
                let place = step.netns().cloned().map_or(Place::Root, Place::Netns);
                places.entry(place).or_default().steps.push(step);
            }
        }
    }
    let mut differences = Vec::new();
    for (place, wanted) in &places {
        if let Some(space) = executor.space(place) {
            let mut checker = Checker::new(place, space, wanted)?;
            checker.compare()?;
            differences.append(&mut checker.differences);
        }
    }
    Ok(differences)
}

/// What a namespace is to have.
#[derive(Default)]
struct Wanted<'a> {
    ends: Vec<(&'a VethEnd, u32, u32)>,
    steps: Vec<&'a Step>,
}

struct Checker<'a> {
    place: &'a Place,
    space: &'a mut Space,
    wanted: &'a Wanted<'a>,
    links: BTreeMap<String, dump::Link>,
    differences: Vec<Difference>,
}

impl<'a> Checker<'a> {
    fn new(
        place: &'a Place,
        space: &'a mut Space,
        wanted: &'a Wanted<'a>,
    ) -> Result<Self, NetlinkError> {
        let mut checker = Self {
            place,
            space,
            wanted,
            links: BTreeMap::new(),
            differences: Vec::new(),
        };
        checker.wait_for_links()?;
        Ok(checker)
    }

    /// Carriers come up by themselves, a moment after the second of two ends did.
    fn wait_for_links(&mut self) -> Result<(), NetlinkError> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let links = dump::links(&mut self.space.socket)?;
            self.links = links
                .into_iter()
                .map(|link| (link.name.clone(), link))
                .collect();
            let running = |dev: &str| self.links.get(dev).is_none_or(|link| link.running);
            let mut ups = self.wanted.steps.iter().filter_map(|step| match step {
                Step::LinkUp { dev, .. } if dev != "lo" => Some(dev),
                _ => None,
            });
            if ups.all(|dev| running(dev)) || Instant::now() > patience {
                return Ok(());
            }
            sleep(PAUSE);
        }
    }

    fn compare(&mut self) -> Result<(), NetlinkError> {
        self.ends();
        let steps = &self.wanted.steps;
        let has = |kind: fn(&Step) -> bool| steps.iter().any(|step| kind(step));
        self.interfaces()?;
        if has(|step| matches!(step, Step::Address { .. })) {
            self.addresses()?;
        }
        if has(|step| matches!(step, Step::Neighbour { .. })) {
            self.neighbours()?;
        }
        if has(|step| matches!(step, Step::Route(_) | Step::NotLocal { .. })) {
            self.routes()?;
        }
        if has(|step| matches!(step, Step::Rule(_))) {
            self.rules()?;
        }
        if has(|step| matches!(step, Step::Qdisc(_))) {
            self.qdiscs()?;
        }
        if has(|step| matches!(step, Step::Rxe { .. })) {
            self.rdma_devices()?;
        }
        Ok(())
    }

    fn ends(&mut self) {
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

    fn interfaces(&mut self) -> Result<(), NetlinkError> {
        for step in &self.wanted.steps {
            match step {
                Step::LinkUp { dev, .. } => {
                    let found = self.links.get(dev).map(|link| {
                        match (link.up, link.running || dev == "lo") {
                            (true, true) => "up",
                            (true, false) => "up, but the other end is not",
                            (false, _) => "down",
                        }
                    });
                    let found = found.map(str::to_owned);
                    self.same(format!("interface `{dev}`"), "up".into(), found);
                }
                Step::Offloads { dev, .. } => {
                    let on = ethtool::offloads_on(&self.space.socket, dev);
                    let on = on.map_err(std::io::Error::from)?.join(" ");
                    self.same(format!("offloads of `{dev}`"), String::new(), Some(on));
                }
                Step::Redirect { from, to, .. } => {
                    let index = |dev: &str| self.links.get(dev).map(|link| link.index);
                    let found = match index(from) {
                        Some(from) => tc::redirected_to(&mut self.space.socket, from)?,
                        None => None,
                    };
                    let name = |index| self.links.values().find(|link| Some(link.index) == index);
                    let found = name(found).map(|link| link.name.clone());
                    self.same(format!("redirect of `{from}`"), to.clone(), found);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The kernel's number of an interface; 0, which none has, where it is not there.
    fn index(&self, dev: &str) -> u32 {
        self.links.get(dev).map_or(0, |link| link.index)
    }

    fn same(&mut self, object: String, wanted: String, found: Option<String>) {
        if found.as_ref() != Some(&wanted) {
            self.differences.push(Difference {
                place: self.place.clone(),
                object,
                wanted: or_none(wanted),
                found: found.map_or_else(|| "nothing".into(), or_none),
            });
        }
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".into() } else { text }
}

/// The kernel brings carriers up within milliseconds; a loaded machine may take longer.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);
