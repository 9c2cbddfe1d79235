//! Ideal FCT and base round trip of a flow: its times without other flows.
//!
//! The paper normalises an FCT by the FCT of the same flow alone on the path of least propagation delay: the base RTT,
//! with one packet's store-and-forward serialisation, plus the wire bytes over the path's bottleneck rate. That formula
//! counts the bottleneck's first packet twice: once in the base RTT and once in the wire bytes. Besides, the path of
//! least delay is the fastest only for small flows: a large flow can end sooner on a path with more delay and more
//! capacity. This module therefore computes the time of each packet, which waits at each link for the packet before it:
//!
//! ```text
//! end(k, i) = max(end(k-1, i) + delay(k-1), end(k, i-1)) + wire(i) / rate(k)
//! ```
//!
//! for packet `i` on link `k`, from host to host and through the fabrics, and then for the last ACK back to the source.
//! The data take the path on which the flow ends soonest among those that the tables towards the destination allow, the ACK
//! the fastest that the tables towards the source allow: at every switch any candidate. On a single path, no policy can be
//! faster, since queueing only adds time. A flow that is re-routed while its packets still wait on the earlier path can be
//! faster, because two bottlenecks then send at the same time.
//!
//! With the candidate set `fewest-hops`, a path of more links can have less delay, but is not in the tables; the plan
//! warns of such paths. It does not count, so that slowdowns keep the meaning that they have in the paper's artifact: in
//! the 13-DC network, published with the paper, such a path is shorter for some pairs. With `downhill-delay`, all paths
//! count that either set allows at any `stretch` and `max`, so that slowdowns under different bounds have one reference.
//! That reference is never longer than with `fewest-hops`, and shorter only where the plan with `fewest-hops` warns, or
//! where a large flow is faster on a path of more delay and more capacity. If switches get new candidates after faults,
//! then for flows that are under way at the first of these reconvergences, or start later, the paths over all new
//! candidates count too, under either set, and all paths that are nearer by delay.
//!
//! Internally, times are picoseconds, rounded down, so that a thousand packets add up to an error of at most a
//! nanosecond.

use lab_scenario::Tool;
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

use crate::{frame, network::Network};

/// One direction of a link: rate and delay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hop {
    pub rate: BitsPerSec,
    pub delay: Nanos,
}

/// Data of one flow: its messages, and the RDMA operation that transfers them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transfer {
    pub tool: Tool,
    /// Payload of a full packet in bytes.
    pub path_mtu: u32,
    /// Number of messages; all are posted at once.
    pub messages: u32,
    /// Size of each message in bytes.
    pub message_bytes: Bytes,
}

/// Returns the link of a port, with emulated rate and delay (after scaling).
pub(crate) fn hop(network: &Network, port: PortId) -> Hop {
    let wire = &network.link(port.link()).emu;
    Hop {
        rate: wire.rate_bps,
        delay: wire.delay_ns,
    }
}

/// Returns the links along `ports`, with emulated rates and delays (after scaling).
pub(crate) fn hops(network: &Network, ports: &[PortId]) -> Vec<Hop> {
    ports.iter().map(|&port| hop(network, port)).collect()
}

/// Path from one host to another.
#[derive(Clone, Debug)]
pub(crate) struct HostPath {
    pub hops: Vec<Hop>,
    /// One-way propagation delay.
    delay: Nanos,
    /// Rate of the slowest link; `None` for a path without links.
    bottleneck: Option<BitsPerSec>,
}

impl HostPath {
    pub fn new(hops: Vec<Hop>) -> Self {
        Self {
            delay: hops.iter().map(|hop| hop.delay).sum(),
            bottleneck: hops.iter().map(|hop| hop.rate).min(),
            hops,
        }
    }

    /// Returns a lower bound for the time until `bytes` have arrived over this path.
    fn floor(&self, bytes: Bytes) -> Nanos {
        let sent = self
            .bottleneck
            .and_then(|rate| rate.serialize(bytes))
            .unwrap_or(Nanos::ZERO);
        self.delay.saturating_add(sent)
    }
}

/// Paths of a flow's data, and of the packets in the opposite direction. The tables towards the source allow paths that
/// are not those of the data reversed.
#[derive(Clone, Debug)]
pub(crate) struct TransferPaths {
    /// Paths from the flow's source to its destination; first the one that has the least delay before any reconvergence.
    pub data: Vec<HostPath>,
    /// Least time of an ACK from the destination to the source, in picoseconds.
    pub ack: u128,
    /// Paths of a READ's requests, from the flow's destination to its source; empty if the flows are not READs.
    pub requests: Vec<HostPath>,
}

/// Returns the time of an ACK on a link without other packets, in picoseconds.
pub(crate) fn ack_time(hop: &Hop) -> u128 {
    serialization(hop, frame::ACK) + u128::from(hop.delay.get()) * PICOS_PER_NANO
}

/// Returns the FCT of `transfer` alone if its data and its ACK, or a READ's requests, each take the path that minimises the
/// FCT.
///
/// # Panics
/// If there is no path.
pub(crate) fn least_completion(paths: &TransferPaths, transfer: &Transfer) -> Nanos {
    let bytes = u64::from(transfer.messages).saturating_mul(transfer.message_bytes.get());
    let mut least: Option<Nanos> = None;
    let mut consider = |floor: Nanos, fct: &dyn Fn() -> Nanos| {
        if least.is_none_or(|least| floor < least) {
            let fct = fct();
            least = Some(least.map_or(fct, |least| least.min(fct)));
        }
    };
    for path in &paths.data {
        let floor = path.floor(Bytes::new(bytes));
        if transfer.tool == Tool::ReadBw {
            for requests in &paths.requests {
                consider(floor.saturating_add(requests.delay), &|| {
                    nanos(response(&path.hops, &requests.hops, transfer))
                });
            }
        } else {
            consider(floor.saturating_add(nanos(paths.ack)), &|| {
                nanos(delivery(&path.hops, transfer) + paths.ack)
            });
        }
    }
    least.expect("two hosts have a path")
}

/// Returns the FCT of `transfer` alone on `path`, which leads from the flow's source to its destination. The FCT ends
/// when the last ACK reaches the source; for READs, the FCT lasts from the destination's first request to the arrival
/// of the last response.
#[must_use]
pub fn completion(path: &[Hop], transfer: &Transfer) -> Nanos {
    nanos(if transfer.tool == Tool::ReadBw {
        let requests: Vec<Hop> = path.iter().rev().copied().collect();
        response(path, &requests, transfer)
    } else {
        let ack: u128 = path.iter().map(ack_time).sum();
        delivery(path, transfer) + ack
    })
}

/// Returns the time in picoseconds at which the last response of `transfer`, a READ, arrives over `path`, if the
/// destination's requests take the path `requests`.
fn response(path: &[Hop], requests: &[Hop], transfer: &Transfer) -> u128 {
    let mut both = Both {
        forward: Pipe::new(path),
        backward: Pipe::new(requests),
    };
    let read = |both: &mut Both<'_>| {
        let asked = both.backward.send(0, frame::READ_REQUEST);
        send_message(&mut both.forward, asked, transfer, false)
    };
    both.repeat(transfer.messages.saturating_sub(1), |both| {
        read(both);
    });
    read(&mut both)
}

/// Returns the time in picoseconds at which the last packet of `transfer`, which is not a READ, arrives over `path`.
fn delivery(path: &[Hop], transfer: &Transfer) -> u128 {
    let mut both = Both {
        forward: Pipe::new(path),
        backward: Pipe::new(&[]),
    };
    both.repeat(transfer.messages.saturating_sub(1), |both| {
        send_message(&mut both.forward, 0, transfer, false);
    });
    send_message(&mut both.forward, 0, transfer, true)
}

/// Returns a time in picoseconds as whole nanoseconds, rounded down.
fn nanos(picos: u128) -> Nanos {
    Nanos::new(u64::try_from(picos / PICOS_PER_NANO).unwrap_or(u64::MAX))
}

/// Returns the base RTT on `path`: for one full packet and its ACK, with empty queues.
#[must_use]
pub fn round_trip(path: &[Hop], tool: Tool, path_mtu: u32) -> Nanos {
    let one_packet = Transfer {
        tool,
        path_mtu,
        messages: 1,
        message_bytes: Bytes::new(u64::from(path_mtu)),
    };
    completion(path, &one_packet)
}

/// Sends one message's packets, which are ready at `ready` (ps); returns the arrival time of the last one. The last
/// message of a verbs flow carries immediate data.
fn send_message(pipe: &mut Pipe<'_>, ready: u128, transfer: &Transfer, is_last: bool) -> u128 {
    let mtu = u64::from(transfer.path_mtu);
    let packets = frame::packets(transfer.message_bytes, transfer.path_mtu);
    let last_payload = transfer.message_bytes.get() - (packets - 1) * mtu;
    let (first_extra, last_extra) = match transfer.tool {
        Tool::SendBw => (0, 0),
        Tool::WriteBw => (frame::RETH, 0),
        Tool::Verbs if is_last => (frame::RETH, frame::IMMDT),
        Tool::Verbs => (frame::RETH, 0),
        Tool::ReadBw => (frame::AETH, frame::AETH),
    };
    if packets == 1 {
        let extra = match transfer.tool {
            Tool::ReadBw => frame::AETH,
            _ => first_extra + last_extra,
        };
        return pipe.send(ready, frame::data(last_payload, extra));
    }
    pipe.send(ready, frame::data(mtu, first_extra));
    pipe.send_run(ready, frame::data(mtu, 0), packets - 2);
    pipe.send(ready, frame::data(last_payload, last_extra))
}

/// Links of a flow's data path, and of the path in the opposite direction.
struct Both<'a> {
    forward: Pipe<'a>,
    backward: Pipe<'a>,
}

impl Both<'_> {
    /// Calls `send`, which sends one message, for `count` equal messages.
    ///
    /// The first messages, one more than there are links, are sent one by one. From then on, each message delays a link
    /// by the same time: the message's serialisation on the slowest link up to this one. The remaining messages then
    /// take one multiplication.
    ///
    /// Proof: consider chains of (packet, link) steps along which neither the packet number nor the link number
    /// decreases. A link has sent message `m` at the maximum, over all chains that end there, of the sum of
    /// serialisations and delays. If there are more messages than links, every chain has at least one message that
    /// stays on one link. Without this message, the chain is one for `m` − 1 messages; conversely, a message can be
    /// inserted on any link of a chain.
    fn repeat(&mut self, count: u32, mut send: impl FnMut(&mut Self)) {
        let links = self.forward.hops.len() + self.backward.hops.len();
        let one_by_one = count.min(u32::try_from(links + 1).unwrap_or(u32::MAX));
        let mut before = [self.forward.free.clone(), self.backward.free.clone()];
        for _ in 0..one_by_one {
            before = [self.forward.free.clone(), self.backward.free.clone()];
            send(self);
        }
        let rest = u128::from(count - one_by_one);
        for (pipe, before) in [&mut self.forward, &mut self.backward]
            .into_iter()
            .zip(before)
        {
            for (free, before) in pipe.free.iter_mut().zip(before) {
                *free += (*free - before) * rest;
            }
        }
    }
}

/// Links in series, each sending its packets in order, one at a time.
struct Pipe<'a> {
    hops: &'a [Hop],
    /// Time in picoseconds at which each link has finished its last packet so far.
    free: Vec<u128>,
}

impl<'a> Pipe<'a> {
    fn new(hops: &'a [Hop]) -> Self {
        Self {
            hops,
            free: vec![0; hops.len()],
        }
    }

    /// Sends one packet of `wire_bytes` that is ready at `ready`; returns its arrival time. Times are in picoseconds.
    fn send(&mut self, ready: u128, wire_bytes: u64) -> u128 {
        let mut arrival = ready;
        for (hop, free) in self.hops.iter().zip(&mut self.free) {
            *free = arrival.max(*free) + serialization(hop, wire_bytes);
            arrival = *free + u128::from(hop.delay.get()) * PICOS_PER_NANO;
        }
        arrival
    }

    /// Sends `count` equal packets and returns the last one's arrival time.
    ///
    /// Once every link's step from one packet to the next is the larger of its own serialisation and the step of the
    /// link before it, the next packet finds the same state one step later. The remaining packets then take one
    /// multiplication, so that the cost is independent of the flow's size.
    fn send_run(&mut self, ready: u128, wire_bytes: u64, count: u64) {
        for sent in 0..count {
            let before = self.free.clone();
            self.send(ready, wire_bytes);
            if self.is_steady(&before, wire_bytes) {
                let rest = u128::from(count - sent - 1);
                for (free, before) in self.free.iter_mut().zip(before) {
                    *free += (*free - before) * rest;
                }
                return;
            }
        }
    }

    fn is_steady(&self, before: &[u128], wire_bytes: u64) -> bool {
        let mut step = 0;
        let links = self.hops.iter().zip(&self.free).zip(before);
        links.into_iter().all(|((hop, free), before)| {
            step = serialization(hop, wire_bytes).max(step);
            free - before == step
        })
    }
}

fn serialization(hop: &Hop, wire_bytes: u64) -> u128 {
    u128::from(wire_bytes) * 8 * PICOS_PER_SECOND / u128::from(hop.rate.get())
}

const PICOS_PER_NANO: u128 = 1_000;
const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hop(rate: &str, delay: &str) -> Hop {
        Hop {
            rate: rate.parse().unwrap(),
            delay: delay.parse().unwrap(),
        }
    }

    fn transfer(tool: Tool, messages: u32, message_bytes: u64) -> Transfer {
        Transfer {
            tool,
            path_mtu: 1000,
            messages,
            message_bytes: Bytes::new(message_bytes),
        }
    }

    /// At 8 Mbit/s, one byte takes one microsecond.
    #[test]
    fn one_packet_on_one_link() {
        let path = [hop("8 Mbit", "5 ms")];
        // Data packet of 1,058 B, and an ACK of 62 B.
        let fct = completion(&path, &transfer(Tool::SendBw, 1, 1000));
        assert_eq!(fct.to_string(), "11120 us");
        let fct = completion(&path, &transfer(Tool::WriteBw, 1, 1000));
        assert_eq!(fct.to_string(), "11136 us");
        // Another 20 B: the RETH (16 B) and the immediate data (4 B) of the last message.
        let fct = completion(&path, &transfer(Tool::Verbs, 1, 1000));
        assert_eq!(fct.to_string(), "11140 us");
        let fct = completion(&path, &transfer(Tool::Verbs, 2, 1000));
        assert_eq!(fct.to_string(), "12214 us");
        // Request of 74 B, and a response of 1,062 B.
        let fct = completion(&path, &transfer(Tool::ReadBw, 1, 1000));
        assert_eq!(fct.to_string(), "11136 us");
    }

    #[test]
    fn the_bottlenecks_first_packet_counts_once() {
        // A packet takes 1,058, 2,116 and 1,058 µs on the links. The first packet takes the sum; each of the other nine
        // adds the bottleneck's time.
        let path = [
            hop("8 Mbit", "1 ms"),
            hop("4 Mbit", "2 ms"),
            hop("8 Mbit", "1 ms"),
        ];
        let data = (1_058 + 2_116 + 1_058) + 9 * 2_116 + 4_000;
        let ack = (62 + 124 + 62) + 4_000;
        let fct = completion(&path, &transfer(Tool::SendBw, 5, 2000));
        assert_eq!(fct, Nanos::new((data + ack) * 1_000));
    }

    #[test]
    fn a_short_last_packet_catches_up_behind_a_bottleneck() {
        // A packet of 1,058 B, then one of 158 B. On the second link, the short packet waits for the full one.
        let path = [hop("8 Mbit", "0"), hop("4 Mbit", "0")];
        let fct = completion(&path, &transfer(Tool::SendBw, 1, 1100));
        let expected = 1_058 + 2_116 + 316 + 62 + 124;
        assert_eq!(fct, Nanos::new(expected * 1_000));
    }

    #[test]
    fn payload_is_padded_to_four_bytes() {
        let path = [hop("8 Mbit", "0")];
        let fct = completion(&path, &transfer(Tool::SendBw, 5, 1));
        assert_eq!(fct, Nanos::new((5 * 62 + 62) * 1_000));
    }

    #[test]
    fn the_first_write_packet_of_each_message_is_longer() {
        let path = [hop("8 Mbit", "0")];
        let fct = completion(&path, &transfer(Tool::WriteBw, 5, 2000));
        let expected = 5 * (1_074 + 1_058) + 62;
        assert_eq!(fct, Nanos::new(expected * 1_000));
    }

    #[test]
    fn read_responses_follow_their_requests() {
        let path = [hop("8 Mbit", "0")];
        // The first request takes 74 µs; the other requests travel while responses are being sent.
        let fct = completion(&path, &transfer(Tool::ReadBw, 5, 3000));
        let expected = 74 + 5 * (1_062 + 1_058 + 1_062);
        assert_eq!(fct, Nanos::new(expected * 1_000));
    }

    #[test]
    fn reads_ask_against_the_flow_and_data_runs_with_it() {
        // The second data packet, 162 B, waits behind the first one on the slow second link. With the two links
        // swapped, it would wait on the fast link: 2,124 + 1,062 + 162 µs.
        let path = [hop("8 Mbit", "0"), hop("4 Mbit", "0")];
        let fct = completion(&path, &transfer(Tool::ReadBw, 1, 1100));
        let request = 148 + 74;
        assert_eq!(fct, Nanos::new((request + 1_062 + 2_124 + 324) * 1_000));
    }

    /// With the artifact's fabric and routes, the base RTT between DC1 and DC8 is 20.013 ms (spec A.3): 1,000 B packets
    /// without headers in one direction, zero-byte ACKs in the other.
    #[test]
    fn the_artifacts_base_rtt() {
        let fabric = hop("100 Gbit", "1 us");
        let up = hop("400 Gbit", "1 us");
        let inter = hop("25 Gbit", "5 ms");
        let path = [fabric, fabric, up, inter, inter, up, fabric, fabric];
        let rtt = round_trip(&path, Tool::SendBw, 1000);
        let bits = |bytes: u64| 8_000 * bytes * (4 * 1_000 + 2 * 250 + 2 * 4_000) / 100_000;
        let data = bits(1_058);
        let ack = bits(62);
        assert_eq!(rtt.get(), 2 * 10_006_000 + (data + ack) / 1_000);
        let theirs = 2 * 10_006_000 + bits(1_000) / 1_000;
        assert_eq!(theirs, 20_013_000);
    }

    fn completion_packet_by_packet(path: &[Hop], transfer: &Transfer) -> u128 {
        let mut pipe = Pipe::new(path);
        let mut end = 0;
        for _ in 0..transfer.messages {
            let mut left = transfer.message_bytes.get();
            while left > 0 {
                let payload = left.min(u64::from(transfer.path_mtu));
                end = pipe.send(0, frame::HEADERS + payload.div_ceil(4) * 4);
                left -= payload;
            }
        }
        end
    }

    proptest! {
        #[test]
        fn a_run_is_its_packets_one_by_one(
            rates in prop::collection::vec(1_000u64..1_000_000, 1..7),
            message_bytes in 1u64..60_000,
        ) {
            let path: Vec<_> = rates
                .iter()
                .map(|rate| Hop {
                    rate: BitsPerSec::new(rate * 1_000).unwrap(),
                    delay: Nanos::new(rate * 7),
                })
                .collect();
            let transfer = transfer(Tool::SendBw, 5, message_bytes);
            let mut pipe = Pipe::new(&path);
            let mut end = 0;
            for _ in 0..transfer.messages {
                end = send_message(&mut pipe, 0, &transfer, true);
            }
            prop_assert_eq!(end, completion_packet_by_packet(&path, &transfer));
        }

        #[test]
        fn many_messages_are_their_messages_one_by_one(
            rates in prop::collection::vec(1_000u64..1_000_000, 1..7),
            message_bytes in 1u64..6_000,
            messages in 1u32..200,
            tool in prop::sample::select(vec![Tool::SendBw, Tool::WriteBw, Tool::ReadBw, Tool::Verbs]),
        ) {
            let path: Vec<_> = rates
                .iter()
                .map(|rate| Hop {
                    rate: BitsPerSec::new(rate * 1_000).unwrap(),
                    delay: Nanos::new(rate * 7),
                })
                .collect();
            let transfer = transfer(tool, messages, message_bytes);
            let back: Vec<_> = path.iter().rev().copied().collect();
            let mut forward = Pipe::new(&path);
            let mut backward = Pipe::new(&back);
            let mut done = 0;
            for message in 1..=messages {
                let asked = match tool {
                    Tool::ReadBw => backward.send(0, frame::READ_REQUEST),
                    _ => 0,
                };
                done = send_message(&mut forward, asked, &transfer, message == messages);
            }
            if tool != Tool::ReadBw {
                done = backward.send(done, frame::ACK);
            }
            let fct = completion(&path, &transfer);
            prop_assert_eq!(u128::from(fct.get()), done / PICOS_PER_NANO);
        }

        #[test]
        fn ideal_is_never_under_delay_and_bottleneck(
            rates in prop::collection::vec(1_000u64..1_000_000, 1..7),
            message_bytes in 1u64..60_000,
        ) {
            let path: Vec<_> = rates
                .iter()
                .map(|rate| Hop {
                    rate: BitsPerSec::new(rate * 1_000).unwrap(),
                    delay: Nanos::from_millis(1),
                })
                .collect();
            let fct = completion(&path, &transfer(Tool::SendBw, 5, message_bytes));
            let slowest = path.iter().map(|hop| hop.rate).min().unwrap();
            let payload = slowest.serialize(Bytes::new(5 * message_bytes)).unwrap();
            let floor = payload.get() + 2_000_000 * u64::try_from(path.len()).unwrap();
            prop_assert!(fct.get() >= floor);
        }
    }
}
