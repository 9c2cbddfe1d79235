//! Datagrams that hosts send to one another through UDP sockets. The machine's rules, routes and packet filters treat
//! these datagrams in the same way as SoftRoCE's packets; they never see the frames of packet sockets.
//!
//! A host's socket is bound to its NIC and address, so that its route lookup equals SoftRoCE's, and it sends to RoCE's
//! UDP port. SoftRoCE silently drops datagrams that are shorter than its header. Datagrams are counted at the sender's
//! switch, at the receiver's NIC, and by a raw socket at the receiver; the kernel delivers every packet that passes the
//! packet filter to raw sockets as well as to UDP.
//!
//! <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_net.c>, `rxe_find_route4`;
//! <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_recv.c>, `rxe_rcv`;
//! <https://github.com/torvalds/linux/blob/v6.1/net/ipv4/ip_input.c>, `ip_protocol_deliver_rcu`

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::Ipv4Addr,
    os::fd::AsFd,
    thread::sleep,
    time::{Duration, Instant},
};

use lab_plan::model::Plan;
use lab_units::{Nanos, NodeId, PortId};
use nix::errno::Errno;
use tokio_util::sync::CancellationToken;

use super::{
    host_socket::{Datagram, Observer, Sender},
    lateness,
    train::probe_time,
};
use crate::{
    exec::netns,
    lab::{Lab, LabErrorKind},
    lower::Layout,
};

/// Datagrams from one host to another, counted at several points along the path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Delivery {
    /// Names of the sending and the receiving host.
    pub names: [String; 2],
    /// Ports of the sending and the receiving host.
    pub ports: [PortId; 2],
    /// Number of datagrams that were passed to the kernel, whether the kernel accepted or refused them.
    pub offered: usize,
    /// Number of datagrams that the kernel refused, and the last error; `None` if none was refused.
    pub refused: Option<(usize, Errno)>,
    /// Number of datagrams that reached the sender's switch.
    pub left: usize,
    /// Number of datagrams that reached the receiver's NIC.
    pub came: usize,
    /// Number of datagrams that reached the receiver's sockets.
    pub delivered: usize,
    /// True if links on the path lose packets according to the plan.
    pub is_lossy: bool,
}

/// Sends datagrams from every host, waits for their arrival, and returns the counts.
///
/// # Errors
/// If a socket cannot be opened, or the caller cancels.
pub(crate) fn deliveries(
    lab: &mut Lab,
    cancel: &CancellationToken,
) -> Result<Vec<Delivery>, LabErrorKind> {
    let plan = lab.plan().clone();
    let options = lab.options().clone();
    let layout = Layout::new(&plan, &options);
    let mut deliveries = Vec::new();
    for pairs in pairs(&layout).chunks(AT_ONCE) {
        let mut tracks = pairs
            .iter()
            .map(|pair| Track::open(lab, &layout, pair))
            .collect::<Result<Vec<Track>, LabErrorKind>>()?;
        send(&mut tracks, cancel)?;
        receive(
            &mut tracks,
            longest_way(pairs) + lateness(options.clock),
            cancel,
        )?;
        let both = pairs.iter().zip(&tracks);
        deliveries.extend(both.map(|(pair, track)| track.delivery(&plan, pair)));
    }
    Ok(deliveries)
}

/// Returns the time within which the datagrams of `pairs` arrive, even if all of them share the slowest path.
fn longest_way(pairs: &[HostPair]) -> Duration {
    let delays = pairs.iter().map(|pair| pair.path.delay);
    let sendings = pairs.iter().map(|pair| pair.path.sending.to_duration());
    let all = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    let queued = sendings.max().unwrap_or_default() * all * u32::from(DATAGRAMS);
    delays.max().unwrap_or(Nanos::ZERO).to_duration() + queued
}

/// Sends the datagrams of all tracks, one datagram per track at a time.
fn send(tracks: &mut [Track], cancel: &CancellationToken) -> Result<(), LabErrorKind> {
    for number in 0..DATAGRAMS {
        tracks.iter_mut().for_each(|track| track.send(number));
        pause(GAP, cancel)?;
    }
    Ok(())
}

/// Waits until all datagrams have arrived, for at most `time`.
fn receive(
    tracks: &mut [Track],
    time: Duration,
    cancel: &CancellationToken,
) -> Result<(), LabErrorKind> {
    let give_up = Instant::now() + time;
    loop {
        let mut is_complete = true;
        for track in &mut *tracks {
            track.receive()?;
            is_complete &= track.is_complete();
        }
        if is_complete || Instant::now() >= give_up {
            return Ok(());
        }
        pause(GAP, cancel)?;
    }
}

/// Sending host, receiving host, and the longest path between them.
struct HostPair {
    hosts: [NodeId; 2],
    path: Path,
}

/// Longest delay and sending time over the paths that the kernel's routes allow between two hosts, and their lossiness.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Path {
    delay: Nanos,
    /// Time for which the links of a path are busy with one datagram.
    sending: Nanos,
    is_lossy: bool,
}

/// Returns pairs of hosts such that every host sends once and receives once, if possible to and from another
/// datacenter. Pairs without a path between the hosts are left out.
fn pairs(layout: &Layout<'_>) -> Vec<HostPair> {
    let mut hosts: Vec<(usize, usize, NodeId)> = layout
        .plan
        .dcs
        .iter()
        .enumerate()
        .flat_map(|(dc, it)| {
            it.hosts
                .iter()
                .enumerate()
                .map(move |(number, host)| (number, dc, *host))
        })
        .collect();
    hosts.sort_unstable();
    let next = hosts.iter().cycle().skip(1);
    hosts
        .iter()
        .zip(next)
        .filter_map(|(from, to)| {
            let hosts = [from.2, to.2];
            let path = path(layout, hosts, &mut BTreeMap::new())?;
            (hosts[0] != hosts[1]).then_some(HostPair { hosts, path })
        })
        .collect()
}

/// Returns the longest path from one node to another; `None` without a path. `known` caches the results for other start
/// nodes; it contains `None` for nodes without a path, and for nodes that the search is still visiting.
fn path(
    layout: &Layout<'_>,
    [from, to]: [NodeId; 2],
    known: &mut BTreeMap<NodeId, Option<Path>>,
) -> Option<Path> {
    if from == to {
        return Some(Path::default());
    }
    if let Some(known) = known.get(&from) {
        return *known;
    }
    known.insert(from, None);
    let addr = layout.node(to).addr;
    let route = layout
        .node(from)
        .routes
        .iter()
        .filter(|route| route.to.contains(addr))
        .max_by_key(|route| route.to.len)?;
    let mut longest: Option<Path> = None;
    for port in &route.via {
        let wire = &layout.link(port.link()).emu;
        if let Some(rest) = path(layout, [layout.port(port.peer()).node, to], known) {
            let so_far = longest.unwrap_or_default();
            let sending = probe_time(wire);
            longest = Some(Path {
                delay: so_far.delay.max(rest.delay.saturating_add(wire.delay_ns)),
                sending: so_far.sending.max(rest.sending.saturating_add(sending)),
                is_lossy: so_far.is_lossy || rest.is_lossy || wire.loss.numerator() > 0,
            });
        }
    }
    known.insert(from, longest);
    longest
}

/// Sockets along the path of a pair's datagrams, and the sequence numbers of the datagrams that each socket saw.
struct Track {
    addresses: [Ipv4Addr; 2],
    sender: Sender,
    /// Observers at the sender's switch, at the receiver's NIC, and at the receiver's sockets.
    observers: [Observer; 3],
    seen: [BTreeSet<u16>; 3],
    offered: usize,
    refused: Option<(usize, Errno)>,
}

impl Track {
    fn open(lab: &mut Lab, layout: &Layout<'_>, pair: &HostPair) -> Result<Self, LabErrorKind> {
        let [from, to] = pair.hosts.map(|host| layout.node(host).ports[0]);
        let addresses = [from, to].map(|port| layout.port(port).addr);
        let sender = inside(lab, layout, from, |dev, _| Sender::open(dev, addresses[0]))?;
        let observers = [
            inside(lab, layout, from.peer(), |_, index| {
                Observer::at_interface(index)
            })?,
            inside(lab, layout, to, |_, index| Observer::at_interface(index))?,
            inside(lab, layout, to, |dev, _| Observer::of_host(dev))?,
        ];
        Ok(Self {
            addresses,
            sender,
            observers,
            seen: [const { BTreeSet::new() }; 3],
            offered: 0,
            refused: None,
        })
    }

    fn send(&mut self, number: u16) {
        self.offered += 1;
        match self.sender.send(self.addresses[1], number) {
            // If the queue is full, the datagram is dropped and counts as lost.
            Ok(()) | Err(Errno::ENOBUFS | Errno::EAGAIN) => {}
            Err(errno) => {
                let before = self.refused.map_or(0, |(count, _)| count);
                self.refused = Some((before + 1, errno));
            }
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let hosts = self.addresses;
        // The sockets are read from the last one to the first, so that each datagram seen by one socket has also been
        // seen by the sockets before it.
        for (observer, seen) in self.observers.iter().zip(&mut self.seen).rev() {
            observer.receive(|datagram: Datagram| {
                if [datagram.from, datagram.to] == hosts {
                    seen.insert(datagram.number);
                }
            })?;
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let refused = self.refused.map_or(0, |(count, _)| count);
        self.seen[2].len() + refused >= self.offered
    }

    fn delivery(&self, plan: &Plan, pair: &HostPair) -> Delivery {
        let node = |host: NodeId| &plan.nodes[host.index()];
        let [left, came, delivered] = self.seen.each_ref().map(BTreeSet::len);
        Delivery {
            names: pair.hosts.map(|host| node(host).name.clone()),
            ports: pair.hosts.map(|host| node(host).ports[0]),
            offered: self.offered,
            refused: self.refused,
            left,
            came,
            delivered,
            is_lossy: pair.path.is_lossy,
        }
    }
}

/// Opens a socket in a port's namespace; `open` gets the name and the index of the port's interface.
fn inside<T: Send>(
    lab: &mut Lab,
    layout: &Layout<'_>,
    port: PortId,
    open: impl FnOnce(&str, u32) -> io::Result<T> + Send,
) -> Result<T, LabErrorKind> {
    let netns = layout.port_netns(port);
    let dev = &layout.port(port).interface;
    let gone = || io::Error::other(format!("interface `{dev}` in {netns} is gone"));
    let handle = lab.executor()?.handle(&netns).ok_or_else(gone)?;
    let index = handle.interface(dev)?.ok_or_else(gone)?;
    Ok(netns::inside(handle.as_fd(), || open(dev, index))??)
}

fn pause(time: Duration, cancel: &CancellationToken) -> Result<(), LabErrorKind> {
    if cancel.is_cancelled() {
        return Err(LabErrorKind::Cancelled);
    }
    sleep(time);
    Ok(())
}

/// Number of datagrams per host. On a path of three links that each lose half of all packets, all datagrams are lost
/// with a probability of 0.07 (7/8 to the power of 20).
const DATAGRAMS: u16 = 20;

/// Number of hosts that send at the same time. With four sockets per host and the namespaces of a lab, the number of
/// open files stays below the lab's limit.
const AT_ONCE: usize = 64;

/// Time between two datagrams from a host, and between two readings of the arrivals.
const GAP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use lab_units::Ratio;

    use super::*;
    use crate::{lower::LowerOptions, testing};

    #[test]
    fn the_longest_path_of_the_kernels_routes_is_waited_for() {
        let options = LowerOptions::shown("t".parse().unwrap());
        let mut plan = testing::testbed(0);
        let paths = |plan: &Plan| -> Vec<Path> {
            let pairs = pairs(&Layout::new(plan, &options));
            pairs.iter().map(|pair| pair.path).collect()
        };
        // The longest path takes 10 µs to the switch, twice 125 ms over DC3, and 10 µs to the host. A datagram keeps a
        // host's link of 200 Mbit/s busy for 2.4 µs, and each of the slowest links, of 40 Mbit/s, for 12 µs.
        let longest = Path {
            delay: Nanos::new(10_000 + 2 * 125_000_000 + 10_000),
            sending: Nanos::new(2_400 + 2 * 12_000 + 2_400),
            is_lossy: false,
        };
        assert_eq!(paths(&plan), [longest; 8]);
        // The link is on another path, which some of the datagrams take.
        plan.links[4].emu.loss = Ratio::new(1, 10).unwrap();
        let is_lossy = true;
        assert_eq!(
            paths(&plan),
            [Path {
                is_lossy,
                ..longest
            }; 8]
        );
    }
}
