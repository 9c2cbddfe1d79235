//! How long a flow is cut off when the link it is pinned to dies, and what it loses.
//!
//! One flow sends without pause while others are only pinned to the same port. The link is cut at its
//! far end, or the controller takes the port out; what is measured is the time from there to the
//! flow's first packet by the other link, and the packets of it that never arrived. It must not matter
//! how many flows were pinned: each is moved by its own next packet.

use std::{
    io::{BufRead, BufReader, Write},
    net::UdpSocket,
    os::{
        fd::AsRawFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use lab_abi::wire::{AgentCommand, AgentMessage, BucketRow};
use lab_units::Nanos;
use nix::{
    net::if_::if_nametoindex,
    sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto,
        setsockopt, socket, sockopt::BindToDevice,
    },
};

use super::{
    BenchError, median,
    testbed::{P1, P2, PREFIX, Side, TARGET, Testbed},
};
use crate::clock::now;

/// How a port dies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cut {
    /// Its link goes down at the far end.
    Link,
    /// The controller takes it out.
    Command,
}

/// What was measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Failover {
    /// How the port died.
    pub cut: Cut,
    /// Flows pinned to it.
    pub flows: u32,
    /// Rounds; what follows is the median of them.
    pub rounds: usize,
    /// From the cut to the flow's first packet on the new port.
    pub time: Nanos,
    /// The longest of the rounds.
    pub longest: Nanos,
    /// Packets of the flow lost.
    pub lost: u64,
    /// The time between two packets of the flow.
    pub gap: Nanos,
}

/// Measures `rounds` cuts with so many flows pinned to the port.
///
/// # Errors
///
/// When the testbed cannot be made, or the agent does not do what it should.
pub fn failover(cut: Cut, flows: u32, rounds: usize) -> Result<Failover, BenchError> {
    let testbed = Testbed::new()?;
    let mut agent = Agent::start(&testbed)?;
    let (by_first, by_second) =
        testbed.inside(Side::Target, || Ok((receiver("r1")?, receiver("r2")?)))?;
    let sender = testbed.inside(Side::Source, || {
        UdpSocket::bind("10.1.0.1:0").map_err(BenchError::io("open a socket"))
    })?;
    let (mut times, mut losses, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        // All flows, the measured one among them, to the first port; then either is allowed.
        agent.set_buckets([1, 0])?;
        if round > 0 {
            agent.enable(P2, false)?;
        }
        pin(&sender, flows)?;
        if round > 0 {
            agent.enable(P2, true)?;
        }
        agent.set_buckets([1, 1])?;
        drain(&by_first);
        drain(&by_second);
        let flow = Flow::default();
        let measured = thread::scope(|scope| {
            let (sending, first, second) = (
                scope.spawn(|| flow.send(&sender)),
                scope.spawn(|| flow.receive(&by_first)),
                scope.spawn(|| flow.receive(&by_second)),
            );
            thread::sleep(BEFORE);
            let at = match cut {
                Cut::Link => testbed.inside(Side::Target, || set_link("r1", false)),
                Cut::Command => agent.take_out(),
            };
            thread::sleep(AFTER);
            flow.is_over.store(true, Ordering::Relaxed);
            let (sent, gap) = join(sending)?;
            let (first, second) = (join(first)?, join(second)?);
            let at = at?;
            let moved = second.0.ok_or(BenchError::Lost {
                by: "the new port",
                arrived: 0,
                sent,
            })?;
            let lost = sent.saturating_sub(first.1 + second.1);
            Ok::<_, BenchError>((moved.saturating_sub(at), lost, gap))
        });
        let (time, lost, gap) = measured?;
        times.push(time);
        losses.push(lost);
        gaps.push(gap);
        match cut {
            Cut::Link => {
                testbed.inside(Side::Target, || set_link("r1", true))?;
                agent.until_alive(P1)?;
            }
            Cut::Command => agent.enable(P1, true)?,
        }
    }
    agent.end()?;
    Ok(Failover {
        cut,
        flows,
        rounds: times.len(),
        longest: times.iter().copied().max().unwrap_or(Nanos::ZERO),
        time: median(times).unwrap_or(Nanos::ZERO),
        lost: median(losses).unwrap_or(0),
        gap: median(gaps).unwrap_or(Nanos::ZERO),
    })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T, BenchError>>) -> Result<T, BenchError> {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One packet of each flow; the last is the measured one's.
fn pin(sender: &UdpSocket, flows: u32) -> Result<(), BenchError> {
    for flow in (1..flows.min(MAX_FLOWS)).rev() {
        let port = FLOW_PORT + u16::try_from(flow).unwrap_or(0);
        send(sender, port, &[])?;
        // Not faster than the switch takes them from its queue.
        if flow % 64 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    send(sender, FLOW_PORT, &[])?;
    thread::sleep(SETTLE);
    Ok(())
}

fn send(sender: &UdpSocket, port: u16, payload: &[u8]) -> Result<(), BenchError> {
    let sent = sender.send_to(payload, (TARGET, port));
    sent.map(drop).map_err(BenchError::io("send"))
}

/// What arrives of the measured flow by one link.
fn receiver(interface: &str) -> Result<UdpSocket, BenchError> {
    let failed = BenchError::io("open a socket");
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::Udp,
    )
    .map_err(failed)?;
    setsockopt(&socket, BindToDevice, &interface.into())
        .map_err(BenchError::io("bind to an interface"))?;
    let address = nix::sys::socket::SockaddrIn::new(0, 0, 0, 0, FLOW_PORT);
    nix::sys::socket::bind(socket.as_raw_fd(), &address)
        .map_err(BenchError::io("bind a socket"))?;
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

/// The flow that is measured.
#[derive(Default)]
struct Flow {
    is_over: AtomicBool,
}

impl Flow {
    /// Sends at a steady pace until it is over; how many, and the time between two.
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

    /// When the first packet came in, and how many did.
    fn receive(&self, socket: &UdpSocket) -> Result<(Option<Nanos>, u64), BenchError> {
        let (mut first, mut count) = (None, 0);
        let mut buffer = [0; 64];
        loop {
            match socket.recv(&mut buffer) {
                Ok(8) => {
                    first = first.or(Some(now()?));
                    count += 1;
                }
                Ok(_) => {}
                // Nothing has come for a while.
                Err(_) if self.is_over.load(Ordering::Relaxed) => return Ok((first, count)),
                Err(_) => {}
            }
        }
    }
}

/// Takes a link of the calling thread's namespace down, or up; when that was asked for.
///
/// The request is 32 bytes: a netlink header, and what to change of the interface.
fn set_link(interface: &str, is_up: bool) -> Result<Nanos, BenchError> {
    let index = if_nametoindex(interface).map_err(BenchError::io("find an interface"))?;
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )
    .map_err(BenchError::io("open a netlink socket"))?;
    let mut request = [0; 32];
    request[..4].copy_from_slice(&32_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
    request[20..24].copy_from_slice(&index.to_ne_bytes());
    request[24..28].copy_from_slice(&u32::from(is_up).to_ne_bytes());
    request[28..].copy_from_slice(&IFF_UP.to_ne_bytes());
    let kernel = NetlinkAddr::new(0, 0);
    let at = now()?;
    sendto(socket.as_raw_fd(), &request, &kernel, MsgFlags::empty())
        .map_err(BenchError::io("set a link"))?;
    let mut answer = [0; 256];
    recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())
        .map_err(BenchError::io("set a link"))?;
    Ok(at)
}

/// The switch's agent, and its controller's end of their line.
struct Agent {
    stream: BufReader<UnixStream>,
    thread: thread::JoinHandle<Result<(), BenchError>>,
    socket: PathBuf,
}

impl Agent {
    fn start(testbed: &Testbed) -> Result<Self, BenchError> {
        let name = format!("lab-switchd-bench-{}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&socket);
        let listener =
            UnixListener::bind(&socket).map_err(BenchError::io("listen to the agent"))?;
        let config = Testbed::config(&socket.display().to_string());
        let enter = testbed.enter(Side::Switch);
        let thread = thread::spawn(move || {
            enter()?;
            Ok(crate::run(&config)?)
        });
        let (stream, _) = listener
            .accept()
            .map_err(BenchError::io("hear the agent"))?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(BenchError::io("set a time-out"))?;
        let mut agent = Self {
            stream: BufReader::new(stream),
            thread,
            socket,
        };
        agent.until("that it is ready", |message| {
            matches!(message, AgentMessage::Ready(_))
        })?;
        Ok(agent)
    }

    fn tell(&mut self, command: &AgentCommand) -> Result<(), BenchError> {
        let mut line = serde_json::to_vec(command).unwrap_or_default();
        line.push(b'\n');
        let written = self.stream.get_mut().write_all(&line);
        written.map_err(BenchError::io("tell the agent"))
    }

    /// New buckets; commands are obeyed in order, so what is said next is said after them.
    fn set_buckets(&mut self, buckets: [u16; 2]) -> Result<(), BenchError> {
        let (addr, prefix_len) = PREFIX;
        self.tell(&AgentCommand::SetBuckets(vec![BucketRow {
            addr,
            prefix_len,
            buckets: buckets.to_vec(),
        }]))?;
        // A queue report sent after that, so that the tables are written.
        for _ in 0..2 {
            self.until("how its queues are", |message| {
                matches!(message, AgentMessage::Queues(_))
            })?;
        }
        Ok(())
    }

    fn enable(&mut self, port: lab_units::PortId, is_enabled: bool) -> Result<(), BenchError> {
        self.tell(&AgentCommand::SetPort { port, is_enabled })?;
        self.until("that a port changed", |message| match message {
            AgentMessage::PortState(state) => (state.port, state.is_alive) == (port, is_enabled),
            _ => false,
        })
    }

    fn take_out(&mut self) -> Result<Nanos, BenchError> {
        let at = now()?;
        self.tell(&AgentCommand::SetPort {
            port: P1,
            is_enabled: false,
        })?;
        Ok(at)
    }

    fn until_alive(&mut self, port: lab_units::PortId) -> Result<(), BenchError> {
        self.until("that a link is back", |message| match message {
            AgentMessage::PortState(state) => state.port == port && state.is_alive,
            _ => false,
        })
    }

    fn until(
        &mut self,
        what: &'static str,
        is_it: impl Fn(&AgentMessage) -> bool,
    ) -> Result<(), BenchError> {
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line);
            read.map_err(BenchError::io("hear the agent"))?;
            match serde_json::from_str(&line) {
                Ok(AgentMessage::Error { message: instead }) => {
                    return Err(BenchError::Agent { what, instead });
                }
                Ok(message) if is_it(&message) => return Ok(()),
                Ok(_) => {}
                Err(_) => {
                    return Err(BenchError::Agent {
                        what,
                        instead: "it is gone".to_owned(),
                    });
                }
            }
        }
    }

    fn end(mut self) -> Result<(), BenchError> {
        self.tell(&AgentCommand::Stop)?;
        self.until("goodbye", |message| matches!(message, AgentMessage::Bye))?;
        let _ = std::fs::remove_file(&self.socket);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

const RTM_NEWLINK: u16 = 16;
const REQUEST_AND_ACK: u16 = 5;
const IFF_UP: u32 = 1;

/// The destination port of the measured flow; the others have those after it.
const FLOW_PORT: u16 = 10_000;
const MAX_FLOWS: u32 = 50_000;
const GAP: Duration = Duration::from_micros(50);
const SETTLE: Duration = Duration::from_millis(20);
const BEFORE: Duration = Duration::from_millis(50);
const AFTER: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(10);
