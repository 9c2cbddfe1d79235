//! What each inter-DC link really does: a train of UDP frames each way, timed by the kernel.
//!
//! The train's first frame gives the one-way delay (both ends read one clock), the spacing of the
//! others the rate. It runs before the first flow, so the facts of a run say what the network was,
//! not only what it was told to be.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, IoSliceMut},
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    path::PathBuf,
    time::Duration,
};

use lab_plan::model::{Link, LinkKind, Plan, Port};
use lab_units::{BitsPerSec, Bytes, LinkId, Nanos, NodeId};
use nix::{
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt},
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};

use crate::exec::netns;

/// What one direction of a link was measured to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkMeasurement {
    /// The link.
    pub link: LinkId,
    /// From end `a` to end `b`, or back.
    pub forward: bool,
    /// Emulated rate; `None` when fewer than two frames arrived.
    pub rate_bps: Option<BitsPerSec>,
    /// Emulated one-way delay without serialisation; `None` when the first frame was lost.
    pub delay_ns: Option<Nanos>,
}

/// UDP port of the measurement; nothing else runs in a switch's namespace.
const PROBE_PORT: u16 = 4790;
/// Ethernet, IPv4 and UDP headers of a probe frame.
const FRAME_HEADERS: u64 = 14 + 20 + 8;
/// UDP payload of a probe frame: as long as a RoCE frame of the largest path MTU.
const PAYLOAD: usize = 4096;
/// Frames in a train where the egress queue can hold them.
const TRAIN: u64 = 16;
/// Waiting beyond what the link should take, for a real clock on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

struct Direction<'a> {
    link: &'a Link,
    id: LinkId,
    forward: bool,
    from: &'a Port,
    to: &'a Port,
}

struct Train {
    sent_ns: u64,
    frames: u64,
    receiver: UdpSocket,
}

/// Measures every inter-DC link of `plan` in both directions, all at once.
///
/// `namespace` gives the path of a node's network namespace.
///
/// # Errors
/// When a socket cannot be opened in a switch's namespace.
pub fn measure_links(
    plan: &Plan,
    namespace: impl Fn(NodeId) -> PathBuf,
) -> io::Result<Vec<LinkMeasurement>> {
    let directions: Vec<Direction<'_>> = directions(plan);
    let mut trains = Vec::with_capacity(directions.len());
    for direction in &directions {
        trains.push(send_train(direction, &namespace)?);
    }
    directions
        .iter()
        .zip(trains)
        .map(|(direction, train)| receive_train(direction, &train))
        .collect()
}

fn directions(plan: &Plan) -> Vec<Direction<'_>> {
    let mut all = Vec::new();
    for (index, link) in plan.links.iter().enumerate() {
        let Some(id) = LinkId::from_index(index).filter(|_| link.kind == LinkKind::InterDc) else {
            continue;
        };
        let (a, b) = (
            &plan.ports[id.port_a().index()],
            &plan.ports[id.port_b().index()],
        );
        all.push(Direction {
            link,
            id,
            forward: true,
            from: a,
            to: b,
        });
        all.push(Direction {
            link,
            id,
            forward: false,
            from: b,
            to: a,
        });
    }
    all
}

fn send_train(
    direction: &Direction<'_>,
    namespace: &impl Fn(NodeId) -> PathBuf,
) -> io::Result<Train> {
    let to = SocketAddr::from((direction.to.addr, PROBE_PORT));
    // The link's two ends may share a receiving node: the address tells the sockets apart.
    let receiver = socket_in(namespace(direction.to.node), to)?;
    setsockopt(&receiver, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&receiver, sockopt::RcvBuf, &(1 << 20))?;
    receiver.set_read_timeout(Some(patience(direction.link)))?;
    let from = SocketAddr::from((direction.from.addr, 0));
    let sender = socket_in(namespace(direction.from.node), from)?;
    // The other end has no route: it is a neighbour on this one interface.
    setsockopt(
        &sender,
        sockopt::BindToDevice,
        &OsString::from(&direction.from.interface),
    )?;
    sender.connect(to)?;
    let room = direction.link.emu.buffer_bytes.get() / (2 * frame().get());
    let frames = room.clamp(2, TRAIN);
    let mut payload = [0u8; PAYLOAD];
    let sent_ns = nanos(clock_gettime(ClockId::CLOCK_REALTIME)?);
    for sequence in 0..frames {
        payload[..8].copy_from_slice(&sequence.to_le_bytes());
        sender.send(&payload)?;
    }
    Ok(Train {
        sent_ns,
        frames,
        receiver,
    })
}

fn receive_train(direction: &Direction<'_>, train: &Train) -> io::Result<LinkMeasurement> {
    let mut arrivals: Vec<(u64, u64)> = Vec::new();
    while arrivals
        .last()
        .is_none_or(|(sequence, _)| sequence + 1 < train.frames)
    {
        match receive_frame(&train.receiver)? {
            Some(arrival) => arrivals.push(arrival),
            None => break,
        }
    }
    Ok(summarise(direction, train.sent_ns, &arrivals))
}

/// One frame's sequence number and arrival, or `None` when the wait is over.
fn receive_frame(receiver: &UdpSocket) -> io::Result<Option<(u64, u64)>> {
    let mut payload = [0u8; PAYLOAD];
    let mut buffers = [IoSliceMut::new(&mut payload)];
    let mut control = nix::cmsg_space!(TimeSpec);
    let message = recvmsg::<()>(
        receiver.as_raw_fd(),
        &mut buffers,
        Some(&mut control),
        MsgFlags::empty(),
    );
    let message = match message {
        Ok(message) => message,
        Err(nix::errno::Errno::EAGAIN) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let arrival = message.cmsgs()?.find_map(|cmsg| match cmsg {
        ControlMessageOwned::ScmTimestampns(at) => Some(nanos(at)),
        _ => None,
    });
    let sequence = u64::from_le_bytes(payload[..8].try_into().expect("eight bytes are eight"));
    Ok(arrival.map(|at| (sequence, at)))
}

fn summarise(direction: &Direction<'_>, sent_ns: u64, arrivals: &[(u64, u64)]) -> LinkMeasurement {
    let serialisation = direction
        .link
        .emu
        .rate_bps
        .serialize(frame())
        .unwrap_or_default();
    let first = arrivals.first().filter(|(sequence, _)| *sequence == 0);
    let delay_ns =
        first.map(|(_, at)| Nanos::new(at.saturating_sub(sent_ns)).saturating_sub(serialisation));
    let rate_bps = match (arrivals.first(), arrivals.last()) {
        // A lost frame still took its time on the wire: count by sequence number.
        (Some((first, start)), Some((last, end))) if last > first && end > start => {
            let bits = (last - first) * frame().get() * 8;
            let rate = u128::from(bits) * 1_000_000_000 / u128::from(end - start);
            u64::try_from(rate).ok().and_then(BitsPerSec::new)
        }
        _ => None,
    };
    LinkMeasurement {
        link: direction.id,
        forward: direction.forward,
        rate_bps,
        delay_ns,
    }
}

/// A socket keeps the namespace it was opened in.
fn socket_in(namespace: PathBuf, address: SocketAddr) -> io::Result<UdpSocket> {
    let namespace = File::open(namespace)?;
    netns::inside(namespace, || UdpSocket::bind(address))?
}

fn frame() -> Bytes {
    Bytes::new(PAYLOAD as u64 + FRAME_HEADERS)
}

fn patience(link: &Link) -> Duration {
    let train = link
        .emu
        .rate_bps
        .serialize(Bytes::new(TRAIN * frame().get()))
        .unwrap_or_default();
    (link.emu.delay_ns.saturating_add(train)).to_duration() + PATIENCE
}

fn nanos(time: TimeSpec) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}
