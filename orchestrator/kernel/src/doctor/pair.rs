//! Two hosts in namespaces of their own, joined by a link, and a flow between them.

use std::{
    fs, io,
    net::Ipv4Addr,
    os::fd::{AsFd, AsRawFd},
    path::Path,
    thread::sleep,
    time::Duration,
};

use lab_perftest::{
    Endpoint, FlowJob, HandshakeError, MonotonicTime, Options, Session, Status, Tool,
};
use lab_plan::address;
use lab_units::{Bytes, FlowId, Nanos};
use tokio::sync::mpsc;

use super::{
    placement::ProbeError,
    scratch::{self, CREATE, MACS, Rxe},
};
use crate::{
    exec::{Space, StepCause, netns},
    netlink::{Batch, dump, route},
    step::{MAIN_TABLE, Place, Route, Way},
};

/// Two hosts joined by a link.
#[derive(Debug)]
pub(super) struct Pair([Host; 2]);

/// The device goes before the namespace its interface is in.
#[derive(Debug)]
struct Host {
    rxe: Rxe,
    space: Space,
    addr: Ipv4Addr,
}

impl Pair {
    /// Makes the hosts and the link, all of which goes when this is dropped.
    pub(super) fn new() -> Result<Self, ProbeError> {
        let make = |what| move |cause: StepCause| ProbeError { what, cause };
        let namespace = || scratch::namespace().map_err(|error| make("a namespace")(error.into()));
        let (mut near, mut far) = (namespace()?, namespace()?);
        scratch::veth(&mut near, Some(&far), DEVS, FIRST_INDEX).map_err(make("a link"))?;
        for (end, space) in [&mut near, &mut far].into_iter().enumerate() {
            configure(space, end).map_err(make("a host"))?;
        }
        let device =
            |space: &Space, end: usize| Rxe::add(space, DEVS[end]).map_err(make("an RDMA device"));
        let (near_rxe, far_rxe) = (device(&near, 0)?, device(&far, 1)?);
        let host = |rxe, space, addr| Host { rxe, space, addr };
        Ok(Self([
            host(near_rxe, near, ADDRS[0]),
            host(far_rxe, far, ADDRS[1]),
        ]))
    }

    /// Sends a flow; an error is why that does not show that it can be done.
    pub(super) async fn try_flow(&mut self) -> Result<(), String> {
        let installed = lab_perftest::probe(Tool::SendBw).await;
        installed.map_err(|error| error.to_string())?;
        self.0.iter().try_for_each(Host::wait_for_gid)?;
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match self.flow().await? {
                Status::Finished(_) => return self.0.iter_mut().try_for_each(Host::has_sent),
                // A guest whose clock runs on while it reads from the host's disk may be told that
                // time is up when it has hardly begun. What was read stays in memory, so the next
                // attempt has the time to itself.
                status if is_late(&status) => last = status.to_string(),
                status => return Err(format!("a flow between two namespaces failed: {status}")),
            }
        }
        Err(format!(
            "of {ATTEMPTS} flows between two namespaces none ended: {last}"
        ))
    }

    async fn flow(&self) -> Result<Status, String> {
        let Self([near, far]) = self;
        let job = FlowJob {
            flow: FlowId(0),
            tool: Tool::SendBw,
            src: near.endpoint(),
            dst: far.endpoint(),
            message_bytes: Bytes::new(4_096),
            messages: lab_perftest::job::MIN_MESSAGES,
            start: Nanos::ZERO,
            qp_timeout: lab_perftest::qp::MIN_QP_TIMEOUT,
            path_mtu: 1_024,
            traffic_class: 0,
            deadline: DEADLINE,
        };
        let options = Options {
            ready_within: Some(DEADLINE.to_duration()),
            ..Options::default()
        };
        let (events, _) = mpsc::unbounded_channel();
        let session = Session::prepare(vec![job], &options, events).await;
        let session = session.map_err(|error| error.to_string())?;
        let rows = session.run(MonotonicTime::now()).await;
        let mut rows = rows.map_err(|error| error.to_string())?;
        rows.pop()
            .map(|row| row.status)
            .ok_or_else(|| "a flow has no outcome".to_owned())
    }
}

impl Host {
    fn endpoint(&self) -> Endpoint {
        let number = self.space.as_fd().as_raw_fd();
        Endpoint {
            host: self.addr.to_string(),
            rdma_device: self.rxe.name().to_owned(),
            gid_index: GID_INDEX,
            netns: Some(format!("/proc/self/fd/{number}").into()),
        }
    }

    /// Waits until the device knows its interface's address: the kernel tells it later. A count of
    /// looks bounds it, since a guest's clock may jump.
    fn wait_for_gid(&self) -> Result<(), String> {
        let device = Path::new("/sys/class/infiniband").join(self.rxe.name());
        let file = device.join("ports/1/gids").join(GID_INDEX.to_string());
        let [a, b, c, d] = self.addr.octets();
        let end = format!(":ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
        for _ in 0..LOOKS {
            let gid = fs::read_to_string(&file).unwrap_or_default();
            if gid.trim().ends_with(&end) {
                return Ok(());
            }
            sleep(PAUSE);
        }
        Err(format!(
            "an RDMA device in a namespace did not get the GID of {}",
            self.addr
        ))
    }

    /// Whether packets left by the interface: the flow took the link, and no way around it.
    fn has_sent(&mut self) -> Result<(), String> {
        let links = dump::links(&mut self.space.socket).map_err(|error| error.to_string())?;
        let sent = links
            .iter()
            .filter(|link| link.veth)
            .map(|link| link.stats.tx_packets)
            .sum();
        match sent {
            0u64 => Err("a flow between two namespaces ended without using their link".to_owned()),
            _ => Ok(()),
        }
    }
}

/// An end of the link: addresses, who is at the other end, and loopback for the handshake.
fn configure(space: &mut Space, end: usize) -> Result<(), StepCause> {
    let (dev, own, peer) = (DEVS[end], ADDRS[end], ADDRS[1 - end]);
    netns::inside(space.as_fd(), without_ipv6)??;
    let mut batch = Batch::new();
    for dev in ["lo", dev] {
        let missing = || StepCause::NoInterface { dev: dev.into() };
        let index = space.interface(dev)?.ok_or_else(missing)?;
        batch.route(&route::link_up(index, true), 0);
    }
    let index = space.interfaces[dev];
    batch.route(&route::address(index, own), CREATE);
    batch.route(&route::neighbour(index, peer, MACS[1 - end]), CREATE);
    let to_peer = Route {
        place: Place::Root,
        table: MAIN_TABLE,
        to: address::single(peer),
        way: Way::Link { dev: dev.into() },
        src: Some(own),
    };
    let missing = |dev: &str| StepCause::NoInterface { dev: dev.into() };
    batch.route(
        &route::route(&to_peer, &space.interfaces).map_err(missing)?,
        CREATE,
    );
    match space.socket.execute(batch)?.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None => Ok(()),
    }
}

/// The devices' GIDs are then numbered alike everywhere: the one of the hardware address, and the
/// one of the IPv4 address.
fn without_ipv6() -> io::Result<()> {
    match fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether an end came only because time was up.
const fn is_late(status: &Status) -> bool {
    matches!(
        status,
        Status::TimedOut { .. }
            | Status::NoReport { .. }
            | Status::NotReady {
                error: HandshakeError::TimedOut { .. }
            }
    )
}

const DEVS: [&str; 2] = ["near", "far"];
/// Of the block for benchmarks (RFC 2544), which no network routes.
const ADDRS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
/// No interface of the root namespace has these numbers, which the kernel hands out from 1. A rxe
/// that looks up routes there, by the number of an interface in another namespace, must not find
/// one and send the flow to the user's network.
const FIRST_INDEX: u32 = 0x4c43_0000;
/// 0 is the GID of the hardware address.
const GID_INDEX: u8 = 1;

/// A flow ends within a second, well or not: five messages, or seven retries of 67 ms each.
const DEADLINE: Nanos = Nanos::from_millis(60_000);
const ATTEMPTS: u32 = 3;
/// The kernel's worker does it within milliseconds; a loaded machine may take longer.
const LOOKS: u32 = 10_000;
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use lab_perftest::{Exit, Side};

    use super::*;

    #[test]
    fn only_an_end_by_the_clock_is_worth_another_attempt() {
        assert!(is_late(&Status::TimedOut { after: DEADLINE }));
        let error = HandshakeError::TimedOut {
            seconds: 60,
            waiting_for: "its processes to connect",
        };
        assert!(is_late(&Status::NotReady { error }));
        let error = HandshakeError::Closed { side: Side::Client };
        assert!(!is_late(&Status::NotReady { error }));
        assert!(!is_late(&Status::Failed {
            side: Side::Client,
            exit: Exit::Code(17),
            message: String::new(),
        }));
    }
}
