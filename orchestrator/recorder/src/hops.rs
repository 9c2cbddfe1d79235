//! Hops of a flow: the next datacenter at each switch, initially and after each re-routing.

use std::cell::Cell;

use lab_plan::model::Plan;
use lab_records::DcPath;
use lab_units::{DcId, Nanos, PortId, Twin};

/// Hops in one direction of a flow: for each forwarding decision, the next datacenter, the link to it, and the first
/// packet, by number, that went there.
///
/// Fast failover, flow ageing, a full flow table, a reconvergence or, at a switch of plain ECMP, a cut may re-route an
/// active flow, which then has several hops at a switch.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Hops(Vec<PacketHop>);

/// Datacenter that packets reach over a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReachedDc {
    pub dc: DcId,
    /// Port of the previous switch to the link; `None` at the start of a path.
    over: Option<PortId>,
    /// Place of the link among parallel links.
    pub twin: Twin,
    /// One-way delay of the link at the start of a run, in emulated time.
    pub delay: Nanos,
}

impl ReachedDc {
    /// Returns the datacenter at the other end of a port's link.
    #[must_use]
    pub fn through(plan: &Plan, port: PortId) -> Self {
        let node = plan.ports[port.peer().index()].node;
        let link = &plan.links[port.link().index()];
        Self {
            dc: plan.nodes[node.index()].dc,
            over: Some(port),
            twin: link.twin(),
            delay: link.emu.delay_ns,
        }
    }

    /// Returns the first datacenter of a path, which the path does not reach over a link.
    const fn first(dc: DcId) -> Self {
        Self {
            dc,
            over: None,
            twin: Twin::FIRST,
            delay: Nanos::ZERO,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct PacketHop {
    from: DcId,
    to: ReachedDc,
    /// Number of the first packet that took the hop.
    packet: u64,
}

/// Range of a flow's bytes that took the same path, from `start` up to, but not including, `end`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathRange {
    /// Path that the range's bytes took.
    pub path: DcPath,
    /// Offset of the range's first byte in the flow.
    pub start: u64,
    /// Offset after the range's last byte in the flow.
    pub end: u64,
}

/// Division of a flow into messages and packets.
#[derive(Clone, Copy, Debug)]
pub struct Packets {
    /// Number of messages.
    pub messages: u64,
    /// Number of packets in one message.
    pub of_message: u64,
    /// Bytes of each message.
    pub message_bytes: u64,
    /// Payload bytes of each packet, except the last one of a message.
    pub payload: u64,
}

impl Packets {
    /// Returns the offset in the flow at which the packet's payload starts.
    fn first_byte(self, packet: u64) -> u64 {
        let of_message = self.of_message.max(1);
        packet / of_message * self.message_bytes + packet % of_message * self.payload
    }
}

impl Hops {
    /// No hops.
    pub const NONE: Self = Self(Vec::new());

    /// Adds the hop from one datacenter to another that the flow takes from packet number `packet`, counted from 0, on.
    ///
    /// A hop inside a datacenter is ignored. Packets that are sent again by go-back-N count only on the hop that they
    /// took first; but if they are the first on another hop, they count on that one.
    pub fn add(&mut self, from: DcId, to: ReachedDc, packet: u64) {
        let last = self.0.iter().rfind(|hop| hop.from == from);
        if from == to.dc || last.is_some_and(|last| last.to == to) {
            return;
        }
        let packet = last.map_or(packet, |last| packet.max(last.packet));
        self.0.push(PacketHop { from, to, packet });
    }

    /// Returns true if packets have several hops at the same switch.
    #[must_use]
    pub fn are_rerouted(&self) -> bool {
        let mut hops = self.0.iter();
        hops.any(|hop| self.first(hop.from) != Some(hop.to))
    }

    /// Returns the path of packets that are sent at `time`, in emulated time relative to the repetition's start.
    ///
    /// Where a switch has a single candidate when the packets arrive, no recorded hop is needed. Returns `None` if the hop
    /// at a switch with several candidates is unknown, or if the hops form a loop.
    #[must_use]
    pub fn path(&self, plan: &Plan, ends: [DcId; 2], time: Nanos) -> Option<DcPath> {
        let crossed = self.crossed(plan, ends, time)?;
        Some(path_over(plan, &crossed))
    }

    /// Returns the time at which packets that are sent at `time` arrive if no queue delays them; `None` if their path is
    /// unknown.
    #[must_use]
    pub fn arrival(&self, plan: &Plan, ends: [DcId; 2], time: Nanos) -> Option<Nanos> {
        let crossed = self.crossed(plan, ends, time)?;
        Some(time.saturating_add(delay_over(&crossed)))
    }

    fn crossed(&self, plan: &Plan, ends: [DcId; 2], time: Nanos) -> Option<Vec<ReachedDc>> {
        let walk = self.walk(ends, |at, elapsed| {
            let time = time.saturating_add(elapsed);
            next_hop(plan, at, ends, time, self.first(at.dc))
        });
        walk.ok()
    }

    /// Returns true if packets that are sent at `time` are lost, because the link of a switch's single candidate, or
    /// the next link of their tunnel, is cut when they arrive there.
    #[must_use]
    pub fn is_cut_off(&self, plan: &Plan, ends: [DcId; 2], time: Nanos) -> bool {
        let is_cut_off = Cell::new(false);
        let _ = self.walk(ends, |at, elapsed| {
            let time = time.saturating_add(elapsed);
            let recorded = self.first(at.dc);
            let hop = next_hop(plan, at, ends, time, recorded)?;
            let is_inferred = recorded.is_none() || entered(plan, at).is_some();
            let is_cut = |port: PortId| is_inferred && plan.is_cut_at(port.link(), time);
            is_cut_off.set(is_cut_off.get() || hop.over.is_some_and(is_cut));
            Some(hop)
        });
        is_cut_off.get()
    }

    /// Returns the paths that the flow's bytes took, in the order of bytes; bytes whose path is unknown are left out. At a
    /// switch without a recorded hop all bytes take the single candidate that packets sent at `time` find. Bytes that went
    /// in circles because of a reconvergence count on the path before, or on the next one if there is none before.
    #[must_use]
    pub fn ranges(
        &self,
        plan: &Plan,
        ends: [DcId; 2],
        time: Nanos,
        packets: Packets,
    ) -> Vec<PathRange> {
        let count = packets.messages * packets.of_message;
        let ranges = self.walks(ends, count, |at, elapsed, recorded| {
            next_hop(plan, at, ends, time.saturating_add(elapsed), recorded)
        });
        ranges
            .into_iter()
            .map(|(crossed, start, end)| PathRange {
                path: path_over(plan, &crossed),
                start: packets.first_byte(start),
                end: packets.first_byte(end),
            })
            .collect()
    }

    /// Returns the datacenters on the path of each range of packets. `next` returns the hop from a datacenter, given
    /// the links' delay up to it and the recorded hop of the range's packets.
    fn walks(
        &self,
        ends: [DcId; 2],
        count: u64,
        next: impl Fn(ReachedDc, Nanos, Option<ReachedDc>) -> Option<ReachedDc>,
    ) -> Vec<(Vec<ReachedDc>, u64, u64)> {
        let mut starts: Vec<u64> = self.0.iter().map(|hop| hop.packet).collect();
        starts.push(0);
        starts.retain(|&start| start < count);
        starts.sort_unstable();
        starts.dedup();
        let mut ranges: Vec<(Vec<ReachedDc>, u64, u64)> = Vec::new();
        let mut looped = None;
        let stops = starts.iter().skip(1).copied().chain([count]);
        for (&start, end) in starts.iter().zip(stops) {
            let hop = |at: ReachedDc, elapsed| next(at, elapsed, self.at(at.dc, start));
            let walk = self.walk(ends, hop);
            match (walk, ranges.last_mut()) {
                (Ok(crossed), Some((path, _, last))) if *path == crossed && *last == start => {
                    *last = end;
                }
                (Ok(crossed), _) => ranges.push((crossed, looped.take().unwrap_or(start), end)),
                (Err(NoPath::Loop), Some((_, _, last))) if *last == start => *last = end,
                (Err(NoPath::Loop), _) => {
                    looped.get_or_insert(start);
                }
                (Err(NoPath::Unknown), _) => looped = None,
            }
        }
        ranges
    }

    /// Returns the datacenters on the way. `next` returns the hop from a datacenter, given the links' delay up to it.
    fn walk(
        &self,
        [from, to]: [DcId; 2],
        next: impl Fn(ReachedDc, Nanos) -> Option<ReachedDc>,
    ) -> Result<Vec<ReachedDc>, NoPath> {
        let mut crossed = vec![ReachedDc::first(from)];
        while let Some(&at) = crossed.last().filter(|at| at.dc != to) {
            let next = next(at, delay_over(&crossed)).ok_or(NoPath::Unknown)?;
            if crossed.iter().any(|earlier| earlier.dc == next.dc) {
                return Err(NoPath::Loop);
            }
            crossed.push(next);
        }
        Ok(crossed)
    }

    fn first(&self, dc: DcId) -> Option<ReachedDc> {
        let hop = self.0.iter().find(|hop| hop.from == dc);
        hop.map(|hop| hop.to)
    }

    /// Returns the next datacenter of a packet at the switch of `dc`. The first packet to a switch may be lost or
    /// overtaken, so packets before the first recorded hop are assumed to take that hop.
    fn at(&self, dc: DcId, packet: u64) -> Option<ReachedDc> {
        let hop = self
            .0
            .iter()
            .rfind(|hop| hop.from == dc && hop.packet <= packet);
        hop.map(|hop| hop.to).or_else(|| self.first(dc))
    }
}

/// Reason why hops do not form a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NoPath {
    /// The hop at a switch is unknown.
    Unknown,
    /// The hops form a loop.
    Loop,
}

fn path_over(plan: &Plan, crossed: &[ReachedDc]) -> DcPath {
    let name = |at: &ReachedDc| format!("{}{}", plan.dcs[at.dc.index()].name, at.twin);
    DcPath::new(crossed.iter().map(name))
}

fn delay_over(crossed: &[ReachedDc]) -> Nanos {
    let delays = crossed.iter().map(|reached| reached.delay);
    delays.fold(Nanos::ZERO, Nanos::saturating_add)
}

/// Returns the hop that packets take from `at` at `time`: in a tunnel its next link, otherwise the `recorded` hop, or
/// the switch's single candidate.
fn next_hop(
    plan: &Plan,
    at: ReachedDc,
    ends: [DcId; 2],
    time: Nanos,
    recorded: Option<ReachedDc>,
) -> Option<ReachedDc> {
    let port = match (entered(plan, at), recorded) {
        (Some(sent), _) => plan.transit_port(ends, sent, time)?,
        (None, Some(_)) => return recorded,
        (None, None) => only_port(plan, [at.dc, ends[1]], time)?,
    };
    Some(ReachedDc::through(plan, port))
}

/// Returns the port through which the previous switch has sent packets into a tunnel that leads over `at`; `None` if
/// the switch of `at` chooses.
fn entered(plan: &Plan, at: ReachedDc) -> Option<PortId> {
    at.over.filter(|_| plan.candidate_set.has_tunnels())
}

/// Returns the port to the single candidate of a switch for a destination; `None` if there are several, or none.
fn only_port(plan: &Plan, [at, to]: [DcId; 2], time: Nanos) -> Option<PortId> {
    match plan.candidates_at(at, to, time) {
        [only] => Some(only.port),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the path from datacenter 1 to 4 with the recorded hops `hops`; without a recorded hop, datacenters 2 and
    /// 3 send to 4.
    fn path(hops: &[(u32, u32)]) -> Result<Vec<u32>, NoPath> {
        let mut found = Hops::default();
        for (packet, &(from, to)) in (0..).zip(hops) {
            found.add(DcId(from), ReachedDc::first(DcId(to)), packet);
        }
        let last = ReachedDc::first(DcId(4));
        let next = |at: ReachedDc, _| found.first(at.dc).or((at.dc != DcId(1)).then_some(last));
        let crossed = found.walk([DcId(1), DcId(4)], next)?;
        Ok(crossed.into_iter().map(|at| at.dc.0).collect())
    }

    #[test]
    fn a_path_follows_the_first_hop_of_each_switch_with_a_choice() {
        for (hops, crossed) in [
            (&[][..], Err(NoPath::Unknown)),
            (&[(1, 2)], Ok(vec![1, 2, 4])),
            (&[(1, 2), (2, 3)], Ok(vec![1, 2, 3, 4])),
            // The flow is re-routed after it has started.
            (&[(1, 2), (1, 3), (3, 4)], Ok(vec![1, 2, 4])),
            (&[(1, 1), (1, 3), (4, 4)], Ok(vec![1, 3, 4])),
            (&[(1, 2), (2, 1)], Err(NoPath::Loop)),
        ] {
            assert_eq!(path(hops), crossed, "{hops:?}");
        }
    }

    /// Returns the path ranges of 100 packets from datacenter 1 to 4; hops are `(from, to, packet)`.
    fn ranges(hops: &[(u32, u32, u64)]) -> Vec<(Vec<u32>, u64, u64)> {
        let mut found = Hops::default();
        for &(from, to, packet) in hops {
            found.add(DcId(from), ReachedDc::first(DcId(to)), packet);
        }
        let last = ReachedDc::first(DcId(4));
        let next = |at: ReachedDc, _, recorded: Option<ReachedDc>| {
            recorded.or((at.dc != DcId(1)).then_some(last))
        };
        found
            .walks([DcId(1), DcId(4)], 100, next)
            .into_iter()
            .map(|(path, start, end)| (path.into_iter().map(|at| at.dc.0).collect(), start, end))
            .collect()
    }

    /// A message of 10,000 B has ten packets: nine with 1,024 B, and the last one with 784 B.
    #[test]
    fn a_packets_first_byte_follows_whole_messages() {
        let packets = Packets {
            messages: 5,
            of_message: 10,
            message_bytes: 10_000,
            payload: 1_024,
        };
        let found = [0, 9, 10, 23, 50].map(|packet| packets.first_byte(packet));
        assert_eq!(found, [0, 9_216, 10_000, 23_072, 50_000]);
    }

    #[test]
    fn packets_take_the_hops_in_force_when_they_were_sent_first() {
        for (hops, expected) in [
            (&[(1, 2, 0)][..], vec![(vec![1, 2, 4], 0, 100)]),
            // Two switches re-route the flow; the second one affects only packets that reach it.
            (
                &[(1, 2, 0), (1, 3, 40), (3, 2, 40), (3, 4, 70)],
                vec![
                    (vec![1, 2, 4], 0, 40),
                    (vec![1, 3, 2, 4], 40, 70),
                    (vec![1, 3, 4], 70, 100),
                ],
            ),
            // The flow returns to its initial path; one of the decisions changed nothing.
            (
                &[(1, 2, 0), (1, 3, 10), (1, 3, 20), (1, 2, 30)],
                vec![
                    (vec![1, 2, 4], 0, 10),
                    (vec![1, 3, 4], 10, 30),
                    (vec![1, 2, 4], 30, 100),
                ],
            ),
            // The sender goes back to packet 20 after it has sent the packets up to 50.
            (
                &[(1, 2, 0), (1, 3, 50), (1, 2, 20)],
                vec![(vec![1, 2, 4], 0, 100)],
            ),
            // Packets 30 to 39 were in flight to 2 when it began to send back to 1, which sends to 3 from packet 40 on.
            (
                &[(1, 2, 0), (2, 4, 0), (2, 1, 30), (1, 3, 40)],
                vec![(vec![1, 2, 4], 0, 40), (vec![1, 3, 4], 40, 100)],
            ),
            (
                &[(2, 1, 0), (1, 2, 0), (1, 3, 40)],
                vec![(vec![1, 3, 4], 0, 100)],
            ),
            // The first packet that arrives at 3 is not the first one sent there.
            (&[(1, 3, 0), (3, 2, 5)], vec![(vec![1, 3, 2, 4], 0, 100)]),
            (&[], vec![]),
        ] {
            assert_eq!(ranges(hops), expected, "{hops:?}");
        }
    }

    #[test]
    fn hops_are_rerouted_if_a_switch_has_two() {
        let mut hops = Hops::default();
        for (from, to) in [(1, 2), (2, 4), (1, 2)] {
            hops.add(DcId(from), ReachedDc::first(DcId(to)), 0);
        }
        assert!(!hops.are_rerouted());
        hops.add(DcId(1), ReachedDc::first(DcId(3)), 9);
        assert!(hops.are_rerouted());
    }

    #[test]
    fn a_change_of_parallel_links_is_another_path() {
        let over = |place| ReachedDc {
            twin: Twin(place),
            ..ReachedDc::first(DcId(4))
        };
        let mut found = Hops::default();
        for (place, packet) in [(1, 0), (1, 5), (0, 40)] {
            found.add(DcId(1), over(place), packet);
        }
        let ranges = found.walks([DcId(1), DcId(4)], 100, |_, _, recorded| recorded);
        let start = ReachedDc::first(DcId(1));
        let expected = [
            (vec![start, over(1)], 0, 40),
            (vec![start, over(0)], 40, 100),
        ];
        assert_eq!(ranges, expected);
    }
}
