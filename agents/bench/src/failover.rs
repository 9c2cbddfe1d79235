//! Fast failover (section 3.4): time from the failure of a port to a flow's first packet on another port.
//!
//! One flow sends without pause; further flows are only pinned to the same port. The link is then cut at its far end,
//! or the controller disables the port. The result must not depend on the number of pinned flows, because each flow is
//! moved by its own next packet. Each step waits for its precondition, even if that takes long on a busy machine: the
//! link is cut once the flow's packets arrive over it, and the round ends once they arrive over the other link.

use std::{
    net::UdpSocket,
    os::fd::AsRawFd,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use lab_abi::wire::AgentCommand;
use lab_netlink::{Batch, Socket};
use lab_switchd::now;
use lab_units::Nanos;
use nix::{
    net::if_::if_nametoindex,
    sys::socket::{
        AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, setsockopt, socket,
        sockopt::{BindToDevice, RcvBufForce},
    },
};

use crate::{
    AgentController, BenchError, median,
    testbed::{P1, P2, Side, TARGET, Testbed},
};

/// Cause of a port's failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cut {
    /// The port's link is taken down at its far end.
    Link,
    /// The port is disabled by the controller.
    Command,
}

/// Times and losses of failovers, the result of [`failover`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Failover {
    /// Cause of the port's failure.
    pub cut: Cut,
    /// Number of flows pinned to the failing port.
    pub flows: u32,
    /// Number of rounds, in each of which the port fails once.
    pub rounds: usize,
    /// Time from the cut to the measured flow's first packet on the new port, median over the rounds.
    pub time: Nanos,
    /// Maximum time over the rounds from the cut to the measured flow's first packet on the new port.
    pub longest: Nanos,
    /// Number of lost packets of the measured flow, median over the rounds.
    pub lost: u64,
    /// Interval at which the measured flow's packets are sent, median over the rounds.
    pub gap: Nanos,
    /// Number of failover decisions of the switch, summed over all rounds.
    pub redecided: u64,
}

/// Measures `rounds` failures of a port to which `flows` flows are pinned. Fails if the testbed cannot be created or
/// the measured flow does not move to the other port.
pub fn failover(cut: Cut, flows: u32, rounds: usize) -> Result<Failover, BenchError> {
    let testbed = Testbed::new()?;
    let socket = SocketPath::new();
    let (mut agent, thread) = AgentController::start(&testbed, Testbed::config(&socket.0))?;
    agent.ready()?;
    let (first, second) =
        testbed.inside(Side::Target, || Ok((receiver("r1")?, receiver("r2")?)))?;
    let sender = testbed.inside(Side::Source, || {
        UdpSocket::bind("10.1.0.1:0").map_err(BenchError::io("open a socket"))
    })?;
    let mut times = Vec::new();
    let mut losses = Vec::new();
    let mut gaps = Vec::new();
    for round in 0..rounds.max(1) {
        // All flows are pinned to the first port; only then may flows use either port.
        agent.set_buckets([1, 0])?;
        if round > 0 {
            agent.enable(P2, false)?;
        }
        pin(&sender, &first, flows)?;
        if round > 0 {
            agent.enable(P2, true)?;
        }
        agent.set_buckets([1, 1])?;
        drain(&first);
        drain(&second);
        let (time, lost, gap) =
            FailoverFlow::default().measure(&sender, [&first, &second], || match cut {
                Cut::Link => testbed.inside(Side::Target, || set_link("r1", false)),
                Cut::Command => {
                    let at = now()?;
                    agent.command(&AgentCommand::SetPort {
                        port: P1,
                        is_enabled: false,
                    })?;
                    Ok(at)
                }
            })?;
        times.push(time);
        losses.push(lost);
        gaps.push(gap);
        match cut {
            Cut::Link => {
                testbed.inside(Side::Target, || set_link("r1", true))?;
                agent.port_is(P1, true)?;
            }
            Cut::Command => agent.enable(P1, true)?,
        }
    }
    let redecided = agent.stop()?.stats.counters.failovers;
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(Failover {
        cut,
        flows,
        rounds: times.len(),
        longest: times.iter().copied().max().unwrap_or(Nanos::ZERO),
        time: median(times).unwrap_or(Nanos::ZERO),
        lost: median(losses).unwrap_or(0),
        gap: median(gaps).unwrap_or(Nanos::ZERO),
        redecided,
    })
}

/// Path of an agent's socket, removed when this value is dropped.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> Self {
        let name = format!("lab-bench-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Sends one packet of each flow; the measured flow comes last and repeats its packet until one arrives over the first
/// link.
fn pin(sender: &UdpSocket, first: &UdpSocket, flows: u32) -> Result<(), BenchError> {
    for flow in (1..flows.min(MAX_FLOWS)).rev() {
        let port = FLOW_PORT + u16::try_from(flow).unwrap_or(0);
        send(sender, port, &[])?;
        // The pace leaves the switch time to empty its queue.
        if flow % 64 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    drain(first);
    until("arrival of a packet through the first port", || {
        send(sender, FLOW_PORT, &[])?;
        Ok(first.recv(&mut [0; 64]).is_ok())
    })
}

/// Waits until `is_met` returns true; fails with `what` after [`TIMEOUT`].
fn until(
    what: &'static str,
    mut is_met: impl FnMut() -> Result<bool, BenchError>,
) -> Result<(), BenchError> {
    let started = Instant::now();
    while !is_met()? {
        if started.elapsed() > TIMEOUT {
            let limit = TIMEOUT;
            return Err(BenchError::Waited { what, limit });
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn send(sender: &UdpSocket, port: u16, payload: &[u8]) -> Result<(), BenchError> {
    let sent = sender.send_to(payload, (TARGET, port));
    sent.map(drop).map_err(BenchError::io("send"))
}

/// Returns a socket that receives the measured flow's packets from one interface.
fn receiver(interface: &str) -> Result<UdpSocket, BenchError> {
    let family = AddressFamily::Inet;
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Datagram, flags, SockProtocol::Udp);
    let socket = socket.map_err(BenchError::io("open a socket"))?;
    setsockopt(&socket, BindToDevice, &interface.into())
        .map_err(BenchError::io("bind to an interface"))?;
    setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).map_err(BenchError::io("set a buffer"))?;
    let address = SockaddrIn::new(0, 0, 0, 0, FLOW_PORT);
    bind(socket.as_raw_fd(), &address).map_err(BenchError::io("bind a socket"))?;
    let socket = UdpSocket::from(socket);
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .map_err(BenchError::io("set a time-out"))?;
    Ok(socket)
}

fn drain(socket: &UdpSocket) {
    let mut buffer = [0; 64];
    while socket.recv(&mut buffer).is_ok() {}
}

/// Measured flow of one round.
#[derive(Default)]
struct FailoverFlow {
    /// Packets that arrived over the first link, and over the second.
    arrived: [AtomicU64; 2],
    is_over: AtomicBool,
}

impl FailoverFlow {
    /// Cuts the flow's port while the flow sends; returns the time to the first packet over the second link, the
    /// packets lost, and the interval at which packets are sent.
    fn measure(
        &self,
        sender: &UdpSocket,
        [first, second]: [&UdpSocket; 2],
        cut: impl FnOnce() -> Result<Nanos, BenchError>,
    ) -> Result<(Nanos, u64, Nanos), BenchError> {
        thread::scope(|scope| {
            let sending = scope.spawn(|| self.send(sender));
            let first = scope.spawn(|| self.receive(first, &self.arrived[0]));
            let second = scope.spawn(|| self.receive(second, &self.arrived[1]));
            let at = self.cut(cut);
            self.is_over.store(true, Ordering::Relaxed);
            let (sent, gap) = join(sending)?;
            join(first)?;
            let moved = join(second)?;
            let at = at?;
            let lost = sent.saturating_sub(self.arrived(0) + self.arrived(1));
            // `cut` returns only after packets have arrived over the second link.
            let moved = moved.unwrap_or(at);
            Ok((moved.saturating_sub(at), lost, gap))
        })
    }

    /// Cuts the port once the flow's packets arrive over its link, and waits until they arrive over the other link;
    /// returns the time of the cut.
    fn cut(&self, cut: impl FnOnce() -> Result<Nanos, BenchError>) -> Result<Nanos, BenchError> {
        until("arrival of the flow through the first port", || {
            Ok(self.arrived(0) >= BEFORE)
        })?;
        let at = cut()?;
        until("arrival of the flow through the new port", || {
            Ok(self.arrived(1) >= AFTER)
        })?;
        Ok(at)
    }

    fn arrived(&self, link: usize) -> u64 {
        self.arrived[link].load(Ordering::Relaxed)
    }

    /// Sends the flow's packets at a steady pace until the round is over; returns the number of packets and the mean
    /// interval between packets.
    fn send(&self, sender: &UdpSocket) -> Result<(u64, Nanos), BenchError> {
        let started = Instant::now();
        let mut number = 0_u64;
        while !self.is_over.load(Ordering::Relaxed) {
            send(sender, FLOW_PORT, &number.to_le_bytes())?;
            number += 1;
            while started.elapsed() < GAP * u32::try_from(number).unwrap_or(u32::MAX) {
                thread::yield_now();
            }
        }
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok((number, Nanos::new(elapsed / number.max(1))))
    }

    /// Counts packets in `arrived` until the round is over; returns the time of the first one.
    fn receive(
        &self,
        socket: &UdpSocket,
        arrived: &AtomicU64,
    ) -> Result<Option<Nanos>, BenchError> {
        let mut first = None;
        let mut buffer = [0; 64];
        loop {
            match socket.recv(&mut buffer) {
                Ok(8) => {
                    if first.is_none() {
                        first = Some(now()?);
                    }
                    arrived.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                // No packet arrived within the socket's time-out.
                Err(_) if self.is_over.load(Ordering::Relaxed) => return Ok(first),
                Err(_) => {}
            }
        }
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T, BenchError>>) -> Result<T, BenchError> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Takes a link of the calling thread's namespace down, or brings it up; returns the time of the request.
fn set_link(interface: &str, is_up: bool) -> Result<Nanos, BenchError> {
    let index = if_nametoindex(interface).map_err(BenchError::io("find an interface"))?;
    let mut socket = Socket::route().map_err(BenchError::io("open a netlink socket"))?;
    // `struct ifinfomsg`: index, flags, and the mask of the flags to change.
    let mut change = [0; 16];
    change[4..8].copy_from_slice(&index.to_ne_bytes());
    change[8..12].copy_from_slice(&u32::from(is_up).to_ne_bytes());
    change[12..].copy_from_slice(&IFF_UP.to_ne_bytes());
    let mut batch = Batch::default();
    batch.raw(RTM_NEWLINK, 0, &change);
    let at = now()?;
    let done = socket.execute_one(batch);
    done.map_err(BenchError::io("set a link"))?;
    Ok(at)
}

const RTM_NEWLINK: u16 = 16;
const IFF_UP: u32 = 1;

/// Destination port of the measured flow; the other flows use the ports after it.
const FLOW_PORT: u16 = 10_000;
const MAX_FLOWS: u32 = 50_000;
const GAP: Duration = Duration::from_micros(50);
/// Number of packets that must arrive before the cut: 50 ms at the flow's pace.
const BEFORE: u64 = 1_000;
/// Number of packets that must arrive after the cut: 100 ms at the flow's pace.
const AFTER: u64 = 2_000;
/// Size of a receive buffer, bytes: 0.4 s at the flow's pace, while the receiving thread waits for a CPU. The default
/// buffer is full after 14 ms.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Maximum wait for a condition, far longer than even a loaded machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);
