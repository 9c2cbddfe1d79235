//! Random faults: cuts and repairs of groups of links, drawn when a scenario is planned.
//!
//! Each group has its own stream of random numbers, from which the times until its next cut and until the repair are
//! drawn in turn, exponentially distributed. Cuts begin while flows start; the repair of the last cut may come later.
//! With `keep_connected`, a cut that would separate two datacenters is left out together with its repair, so that the
//! times of all other cuts stay the same.
//!
//! A link is down while a written fault or any group holds it down. The result is a list of faults like written ones, in
//! which cuts and repairs of each link alternate.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use lab_scenario::{
    Fault, FaultSpec, FaultyLink, LinkKey, RandomFaults, Scenario, limits::MAX_FAULTS,
};
use lab_units::{Nanos, Twin};
use serde::Serialize;

use crate::{
    error::PlanError,
    sample::{self, Stream},
};

/// Numbers of the cuts that an entry of `faults` with the key `random` has drawn.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct DrawnFaults {
    /// Position of the entry in the scenario's list `faults`.
    pub entry: usize,
    /// Line of the entry in the scenario, from 1; `None` if it is unknown.
    pub line: Option<usize>,
    /// Number of groups that can be cut.
    pub groups: usize,
    /// Number of cuts of groups that are made.
    pub cuts: usize,
    /// Number of cuts of groups that are not made, because each would have separated two datacenters.
    pub left_out: usize,
}

/// Scenario whose random faults are drawn and are part of [`Scenario::faults`].
pub(crate) struct Expanded<'a> {
    pub scenario: Cow<'a, Scenario>,
    /// Numbers of each entry with the key `random`, in order.
    pub counts: Vec<DrawnFaults>,
}

/// Draws the random faults of `scenario`. `seed` is the plan's seed. Cuts begin while flows start: before the end of the
/// workloads' `duration` or, if it is later, the last of the flows' `starts`, all in paper time.
///
/// # Errors
/// If more faults are drawn than a scenario may have.
pub(crate) fn draw(
    scenario: &Scenario,
    seed: u64,
    duration: Nanos,
    starts: impl Iterator<Item = Nanos>,
) -> Result<Expanded<'_>, PlanError> {
    if scenario.random_faults.is_empty() {
        return Ok(Expanded {
            scenario: Cow::Borrowed(scenario),
            counts: Vec::new(),
        });
    }
    let until = starts.fold(duration, Nanos::max);
    let mut in_time = outages(scenario, seed, until)?;
    in_time.sort_by_key(|outage| outage.from);
    let written = Written::of(&scenario.faults);
    let links = scenario.topology.named_links();
    let graph = UpLinks::of(scenario, &links);
    let mut made: Vec<GroupOutage<'_>> = Vec::new();
    let mut counts: Vec<DrawnFaults> = scenario.random_faults.iter().map(of_entry).collect();
    for outage in in_time {
        let random = &scenario.random_faults[outage.random];
        let count = &mut counts[outage.random];
        if random.keep_connected && separates(&graph, &written, &made, &outage) {
            count.left_out += 1;
        } else {
            count.cuts += 1;
            made.push(outage);
        }
    }
    let mut drawn = scenario.clone();
    drawn.faults = merge(scenario, &made);
    Ok(Expanded {
        scenario: Cow::Owned(drawn),
        counts,
    })
}

fn of_entry(random: &RandomFaults) -> DrawnFaults {
    DrawnFaults {
        entry: random.entry,
        groups: random.groups.len(),
        ..DrawnFaults::default()
    }
}

/// Time span in which a group of links is down.
struct GroupOutage<'a> {
    /// Index of the entry in [`Scenario::random_faults`].
    random: usize,
    from: Nanos,
    to: Nanos,
    links: &'a [FaultyLink],
}

impl GroupOutage<'_> {
    fn covers(&self, at: Nanos) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Returns the drawn outages of all groups, by entry and group.
fn outages(
    scenario: &Scenario,
    seed: u64,
    until: Nanos,
) -> Result<Vec<GroupOutage<'_>>, PlanError> {
    let mut outages = Vec::new();
    // Each outage of a link is a cut and a repair.
    let mut changes = scenario.faults.len();
    for (index, random) in scenario.random_faults.iter().enumerate() {
        let [mtbf, mttr] = [random.mtbf, random.mttr].map(|mean| sample::float(mean.get()));
        for group in &random.groups {
            let mut stream = Stream::of_faults(random.seed.unwrap_or(seed), index, &name(group));
            let mut repaired = Nanos::ZERO;
            loop {
                let from = repaired.saturating_add(stream.exponential(mtbf));
                if from >= until {
                    break;
                }
                // The repair comes after the cut, or the two would have no order.
                let down = stream.exponential(mttr).max(Nanos::new(1));
                repaired = from.saturating_add(down);
                changes += 2 * group.len();
                if changes > MAX_FAULTS {
                    return Err(PlanError::TooManyFaults {
                        path: format!("faults[{}].random", random.entry),
                        max: MAX_FAULTS,
                        until,
                    });
                }
                outages.push(GroupOutage {
                    random: index,
                    from,
                    to: repaired,
                    links: group,
                });
            }
        }
    }
    Ok(outages)
}

/// Returns the name of a group, which does not depend on the order of its links.
fn name(group: &[FaultyLink]) -> String {
    let text = |(ends, twin): LinkKey<'_>| format!("{}{twin}", ends.join("-"));
    let mut links: Vec<String> = group.iter().map(|link| text(link.key())).collect();
    links.sort_unstable();
    links.join(",")
}

/// Cuts and repairs that the scenario has with their times.
struct Written<'a> {
    /// Links that are down from each time on, by time.
    down: BTreeMap<Nanos, BTreeSet<LinkKey<'a>>>,
}

impl<'a> Written<'a> {
    fn of(faults: &'a [Fault]) -> Self {
        let mut in_time: Vec<&Fault> = faults.iter().collect();
        in_time.sort_by_key(|fault| fault.at);
        let mut links = BTreeSet::new();
        let mut down = BTreeMap::new();
        for fault in in_time {
            match fault.change {
                FaultSpec::Down => links.insert(fault.key()),
                FaultSpec::Up => links.remove(&fault.key()),
                FaultSpec::Set { .. } => continue,
            };
            down.insert(fault.at, links.clone());
        }
        Self { down }
    }

    /// Returns the links that are down at a time.
    fn at(&self, at: Nanos) -> BTreeSet<LinkKey<'a>> {
        let last = self.down.range(..=at).next_back();
        last.map(|(_, links)| links.clone()).unwrap_or_default()
    }

    /// Returns the times of cuts and repairs during an outage.
    fn during(&self, outage: &GroupOutage<'_>) -> impl Iterator<Item = Nanos> {
        let span = self.down.range(outage.from..outage.to);
        span.map(|(at, _)| *at)
    }
}

/// Returns true if `outage` would separate datacenters that are connected without it, at any time of the outage. `made`
/// are outages that began earlier. They can end during `outage` but not begin, so it suffices to check its start and the
/// times of written faults during it.
fn separates(
    graph: &UpLinks<'_>,
    written: &Written<'_>,
    made: &[GroupOutage<'_>],
    outage: &GroupOutage<'_>,
) -> bool {
    let mut times = [outage.from].into_iter().chain(written.during(outage));
    times.any(|at| {
        let mut down = written.at(at);
        let earlier = made.iter().filter(|it| it.covers(at));
        down.extend(earlier.flat_map(|it| it.links).map(FaultyLink::key));
        let before = graph.parts(&down);
        down.extend(outage.links.iter().map(FaultyLink::key));
        graph.parts(&down) > before
    })
}

/// Datacenters, and the links that connect them.
struct UpLinks<'a> {
    dcs: BTreeMap<&'a str, usize>,
    links: BTreeSet<LinkKey<'a>>,
}

impl<'a> UpLinks<'a> {
    fn of(scenario: &'a Scenario, links: &'a [FaultyLink]) -> Self {
        let dcs = scenario.topology.dcs.iter().map(|dc| dc.name.as_str());
        Self {
            dcs: dcs.zip(0..).collect(),
            links: links.iter().map(FaultyLink::key).collect(),
        }
    }

    /// Returns the number of connected parts without the links in `down`.
    fn parts(&self, down: &BTreeSet<LinkKey<'_>>) -> usize {
        let mut roots: Vec<usize> = (0..self.dcs.len()).collect();
        let mut parts = self.dcs.len();
        for link in self.links.iter().filter(|link| !down.contains(*link)) {
            let [a, b] = link.0.map(|name| root(&mut roots, self.dcs[name]));
            if a != b {
                roots[a] = b;
                parts -= 1;
            }
        }
        parts
    }
}

/// Returns the root of `node` in a forest of parents, and shortens the path to it.
fn root(parents: &mut [usize], mut node: usize) -> usize {
    while parents[node] != node {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    node
}

/// Change of the number of causes that hold a link down.
struct Hold<'a> {
    at: Nanos,
    entry: usize,
    link: &'a [String; 2],
    twin: Twin,
    is_cut: bool,
}

/// Returns the written faults and those of the outages in `made`: a link is down while any of them holds it down. The
/// faults of links that no outage holds down come first and keep their order.
fn merge(scenario: &Scenario, made: &[GroupOutage<'_>]) -> Vec<Fault> {
    let mut causes: BTreeMap<LinkKey<'_>, Vec<Hold<'_>>> = BTreeMap::new();
    for outage in made {
        let entry = scenario.random_faults[outage.random].entry;
        for link in outage.links {
            for (at, is_cut) in [(outage.from, true), (outage.to, false)] {
                causes.entry(link.key()).or_default().push(Hold {
                    at,
                    entry,
                    link: &link.between,
                    twin: link.twin,
                    is_cut,
                });
            }
        }
    }
    let mut faults = Vec::new();
    for fault in &scenario.faults {
        let is_cut = match fault.change {
            FaultSpec::Down => true,
            FaultSpec::Up => false,
            FaultSpec::Set { .. } => {
                faults.push(fault.clone());
                continue;
            }
        };
        match causes.get_mut(&fault.key()) {
            None => faults.push(fault.clone()),
            Some(causes) => causes.push(Hold {
                at: fault.at,
                entry: fault.entry,
                link: &fault.link,
                twin: fault.twin,
                is_cut,
            }),
        }
    }
    let mut merged: Vec<Fault> = causes.into_values().flat_map(alternating).collect();
    merged.sort_by_key(|fault| (fault.at, fault.entry));
    faults.extend(merged);
    faults
}

/// Returns the cuts and repairs of one link: it is down while any cause holds it down.
fn alternating(mut causes: Vec<Hold<'_>>) -> Vec<Fault> {
    causes.sort_by_key(|cause| cause.at);
    let mut held = 0_usize;
    let mut faults = Vec::new();
    for together in causes.chunk_by(|a, b| a.at == b.at) {
        let before = held;
        let cuts = together.iter().filter(|cause| cause.is_cut).count();
        held = (held + cuts).saturating_sub(together.len() - cuts);
        let (is_cut, change) = match (before, held) {
            (0, 1..) => (true, FaultSpec::Down),
            (1.., 0) => (false, FaultSpec::Up),
            _ => continue,
        };
        let cause = together.iter().find(|cause| cause.is_cut == is_cut);
        faults.extend(cause.map(|cause| Fault {
            entry: cause.entry,
            at: cause.at,
            link: cause.link.clone(),
            twin: cause.twin,
            change,
        }));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of the datacenters a, b, c and d, and a link from d to e. The link from a to b is cut from 10 ms to 30 ms.
    const RING: &str = "
name: ring
topology:
  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }, { name: c }, { name: d }, { name: e }]
  links:
    - { between: [a, b], rate: 100 Gbit, delay: 1 ms }
    - { between: [b, c], rate: 100 Gbit, delay: 1 ms }
    - { between: [c, d], rate: 100 Gbit, delay: 1 ms }
    - { between: [d, a], rate: 100 Gbit, delay: 1 ms }
    - { between: [d, e], rate: 100 Gbit, delay: 1 ms }
traffic: [{ flows: [{ from: a/h1, to: b/h1, size: 1 MB }] }]
policies: [ecmp]
faults:
  - { at: 10 ms, link: [b, a], down: true }
  - random: { mtbf: 1 s, mttr: 1 s }
  - { at: 30 ms, link: [a, b], up: true }
  - { at: 20 ms, link: [a, b], rate: 10 Gbit }
";

    fn ring() -> Scenario {
        lab_scenario::parse("ring.yaml", RING.as_bytes()).expect("a scenario")
    }

    fn link(ends: &str) -> FaultyLink {
        let (a, b) = ends.split_at(1);
        FaultyLink {
            between: [a.to_owned(), b.to_owned()],
            twin: Twin::FIRST,
        }
    }

    fn outage(links: &[FaultyLink], from: u64, to: u64) -> GroupOutage<'_> {
        GroupOutage {
            random: 0,
            from: Nanos::from_millis(from),
            to: Nanos::from_millis(to),
            links,
        }
    }

    #[test]
    fn a_link_is_down_while_anything_holds_it_down() {
        let scenario = ring();
        let ab = [link("ab")];
        let bc = [link("bc"), link("cd")];
        let cases: [(&[GroupOutage<'_>], &str); 6] = [
            (&[], "ba cut 10, ab back 30"),
            // The outages begin and end within the written one, overlap its start, and its end.
            (&[outage(&ab, 12, 14)], "ba cut 10, ab back 30"),
            (&[outage(&ab, 5, 15)], "ab cut 5, ab back 30"),
            (&[outage(&ab, 30, 40)], "ba cut 10, ab back 40"),
            (
                &[outage(&ab, 2, 4), outage(&ab, 31, 33)],
                "ab cut 2, ab back 4, ba cut 10, ab back 30, ab cut 31, ab back 33",
            ),
            (
                &[outage(&bc, 5, 15), outage(&bc[..1], 7, 20)],
                "ba cut 10, ab back 30, bc cut 5, cd cut 5, cd back 15, bc back 20",
            ),
        ];
        for (made, expected) in cases {
            let faults = merge(&scenario, made);
            let is_change = |fault: &&Fault| matches!(fault.change, FaultSpec::Set { .. });
            assert_eq!(faults.iter().filter(is_change).count(), 1, "{expected}");
            let described = faults.iter().filter_map(|fault| {
                let change = match fault.change {
                    FaultSpec::Down => "cut",
                    FaultSpec::Up => "back",
                    FaultSpec::Set { .. } => return None,
                };
                let millis = fault.at.get() / 1_000_000;
                Some(format!("{} {change} {millis}", fault.link.concat()))
            });
            assert_eq!(described.collect::<Vec<_>>().join(", "), expected);
        }
    }

    /// While the link from a to b is cut, from 10 ms to 30 ms, every other link of the ring is needed; e has only one link.
    #[test]
    fn a_cut_is_left_out_if_datacenters_would_be_separated_at_any_time_of_it() {
        let scenario = ring();
        let links = scenario.topology.named_links();
        let graph = UpLinks::of(&scenario, &links);
        let written = Written::of(&scenario.faults);
        let [bc, cd, ab, de] = ["bc", "cd", "ab", "de"].map(|ends| [link(ends)]);
        let both = [link("bc"), link("cd")];
        for (links, from, to, is_separated) in [
            (&bc[..], 1, 10, false),
            (&bc, 1, 11, true),
            (&bc, 15, 16, true),
            (&bc, 30, 40, false),
            // The link is down anyway.
            (&ab, 1, 40, false),
            (&de, 1, 2, true),
            // Both links of c.
            (&both, 40, 50, true),
        ] {
            let tried = outage(links, from, to);
            assert_eq!(
                separates(&graph, &written, &[], &tried),
                is_separated,
                "{from} {to}"
            );
        }
        for (from, is_separated) in [(44, true), (45, false)] {
            let made = [outage(&bc, 40, 45)];
            let tried = outage(&cd, from, 50);
            assert_eq!(
                separates(&graph, &written, &made, &tried),
                is_separated,
                "{from}"
            );
        }
    }
}
