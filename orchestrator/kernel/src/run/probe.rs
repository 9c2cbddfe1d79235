//! Measurement of inter-DC links: a train of UDP frames each way, timed by the kernel.
//!
//! The train's first frame gives the one-way delay (both ends read one clock), the spacing of the
//! others the rate. Trains run before the first flow, so that the facts of a run have the measured
//! network beside the configured one.

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
use lab_records::{DelayMethod, MeasuredLink};
use lab_units::{BitsPerSec, Bytes, LinkId, Nanos, NodeId};
use nix::{
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt},
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};

use crate::exec::netns;

/// UDP port of the measurement; no other program runs in a switch's namespace.
const PROBE_PORT: u16 = 4790;
/// Ethernet, IPv4 and UDP headers of a probe frame.
const FRAME_HEADERS: u64 = 14 + 20 + 8;
/// UDP payload of a probe frame: as long as a RoCE frame of the largest path MTU.
const PAYLOAD: usize = 4096;
/// Frames in a train where the egress queue can hold them.
const TRAIN: u64 = 16;
/// Wait beyond the time the link should take, for a real clock on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

struct Direction<'a> {
    link: &'a Link,
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
/// A socket that cannot be opened in a switch's namespace.
pub fn measure_links(
    plan: &Plan,
    namespace: impl Fn(NodeId) -> PathBuf,
) -> io::Result<Vec<MeasuredLink>> {
    let directions = directions(plan);
    let trains = directions
        .iter()
        .map(|direction| send_train(direction, &namespace))
        .collect::<io::Result<Vec<Train>>>()?;
    directions
        .iter()
        .zip(trains)
        .map(|(direction, train)| {
            let arrivals = receive_train(&train)?;
            Ok(measured(plan, direction, train.sent_ns, &arrivals))
        })
        .collect()
}

fn directions(plan: &Plan) -> Vec<Direction<'_>> {
    let links = (0u32..).map(LinkId).zip(&plan.links);
    let inter_dc = links.filter(|(_, link)| link.kind == LinkKind::InterDc);
    let both = inter_dc.flat_map(|(id, link)| {
        let [a, b] = [id.port_a(), id.port_b()].map(|port| &plan.ports[port.index()]);
        [(a, b), (b, a)].map(|(from, to)| Direction { link, from, to })
    });
    both.collect()
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

/// Returns the sequence number and arrival of each frame that came in time.
fn receive_train(train: &Train) -> io::Result<Vec<(u64, u64)>> {
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
    Ok(arrivals)
}

/// Returns a frame's sequence number and arrival; none once the wait is over.
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

/// Returns one direction of a link as measured by the train sent at `sent_ns`: no rate if fewer than
/// two frames arrived, no delay if the first frame was lost.
fn measured(
    plan: &Plan,
    direction: &Direction<'_>,
    sent_ns: u64,
    arrivals: &[(u64, u64)],
) -> MeasuredLink {
    let emu = &direction.link.emu;
    let serialisation = emu.rate_bps.serialize(frame()).unwrap_or_default();
    let first = arrivals.first().filter(|(sequence, _)| *sequence == 0);
    let delay =
        first.map(|(_, at)| Nanos::new(at.saturating_sub(sent_ns)).saturating_sub(serialisation));
    let rate = match (arrivals.first(), arrivals.last()) {
        // A lost frame still took its time on the wire: count by sequence number.
        (Some((first, start)), Some((last, end))) if last > first && end > start => {
            let bits = (last - first) * frame().get() * 8;
            let rate = u128::from(bits) * 1_000_000_000 / u128::from(end - start);
            u64::try_from(rate).ok().and_then(BitsPerSec::new)
        }
        _ => None,
    };
    let name = |port: &Port| plan.nodes[port.node.index()].name.clone();
    MeasuredLink {
        link: direction.link.name.clone(),
        from_dc: name(direction.from),
        to_dc: name(direction.to),
        emu_rate_bps: emu.rate_bps,
        emu_measured_rate_bps: rate,
        emu_delay_ns: emu.delay_ns,
        emu_measured_delay_ns: delay,
        delay_method: DelayMethod::OneWay,
    }
}

/// Opens a socket in a namespace, which the socket keeps.
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
