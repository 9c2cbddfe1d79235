//! Parameters of links over a run's time.

use lab_units::LinkId;

use crate::model::{FaultChange, FaultPlan, Link, Plan, WirePlan};

/// Links of a plan, and the faults that change them during a run.
#[derive(Clone, Copy, Debug)]
pub struct Wires<'a> {
    pub links: &'a [Link],
    /// Faults by increasing time.
    pub faults: &'a [FaultPlan],
}

impl Plan {
    /// Returns the links and the faults, from which a link's parameters at any time of a run follow.
    #[must_use]
    pub fn wires(&self) -> Wires<'_> {
        Wires {
            links: &self.links,
            faults: &self.faults,
        }
    }
}

impl<'a> Wires<'a> {
    /// Returns the emulated parameters of `link`: the initial parameters, then those after each fault that changes its
    /// rate, delay or loss.
    pub fn of(self, link: LinkId) -> impl Iterator<Item = &'a WirePlan> {
        let changes = self.faults.iter().filter(move |fault| fault.link == link);
        let wires = changes.filter_map(|fault| match &fault.change {
            FaultChange::Wire(wire) => Some(wire),
            FaultChange::Down | FaultChange::Up => None,
        });
        std::iter::once(&self.links[link.index()].emu).chain(wires)
    }

    /// Returns the emulated parameters of `link` after the leading faults for which `is_earlier` is true.
    pub fn after(self, link: LinkId, is_earlier: impl Fn(&FaultPlan) -> bool) -> &'a WirePlan {
        let count = self
            .faults
            .iter()
            .take_while(|fault| is_earlier(fault))
            .count();
        let earlier = Self {
            faults: &self.faults[..count],
            ..self
        };
        earlier
            .of(link)
            .last()
            .unwrap_or(&self.links[link.index()].emu)
    }
}
