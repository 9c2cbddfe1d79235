//! Parameters of links over a run's time.

use lab_units::{LinkId, show::about_rate};

use crate::model::{FaultChange, FaultPlan, Link, Plan, WirePlan};

/// Links of a plan, and the faults that change them during a run.
#[derive(Clone, Copy, Debug)]
pub struct Wires<'a> {
    pub links: &'a [Link],
    /// Faults by increasing time.
    pub faults: &'a [FaultPlan],
}

/// Minimum rate of a lab's links, bit/s. Linux's `tbf` has whole bytes per second as its rate, which from here on is less
/// than 1 % off, and at most 2^32 ticks of 64 ns, 275 s, for its burst, which is at most two of the largest frames.
/// <https://github.com/torvalds/linux/blob/v6.1/net/sched/sch_tbf.c>
const MIN_LAB_BPS: u64 = 1_000;

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

    /// Returns the reason why no lab can shape the slowest link, with a hint; `None` if one can.
    #[must_use]
    pub fn too_slow_for_lab(self) -> Option<String> {
        let named = |link: &'a Link, wire: &WirePlan, when| (wire.rate_bps.get(), &link.name, when);
        let initial = self.links.iter().map(|link| named(link, &link.emu, ""));
        let changed = self.faults.iter().filter_map(|fault| match &fault.change {
            FaultChange::Wire(wire) => {
                let link = &self.links[fault.link.index()];
                Some(named(link, wire, ", slowed down by a fault,"))
            }
            FaultChange::Down | FaultChange::Up => None,
        });
        let (rate, name, when) = initial.chain(changed).min()?;
        (rate < MIN_LAB_BPS).then(|| {
            format!(
                "link `{name}`{when} has {} in the lab, and Linux shapes links of at least {} (hint: raise `scale.rate`, and \
                 lower the rates of hosts' links if they are then too fast for the lab; or simulate it with `lcmp-lab sim`)",
                about_rate(rate),
                about_rate(MIN_LAB_BPS)
            )
        })
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
