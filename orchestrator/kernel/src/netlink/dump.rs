//! Listings of a namespace's interfaces, addresses, neighbours, routes and rules.

use std::net::{IpAddr, Ipv4Addr};

use lab_plan::model::Prefix;
use lab_units::Mac;
use rtnetlink::{
    packet_core::Parseable,
    packet_route::{
        AddressFamily,
        address::{AddressAttribute, AddressMessage},
        link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State, Stats64},
        neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
        route::{RouteAddress, RouteAttribute, RouteMessage, RouteNextHop, RouteType},
        rule::RuleMessage,
    },
};

use super::{NetlinkError, Socket, rule::KernelRule};

/// Interface of a namespace, as the kernel lists it.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub index: u32,
    pub name: String,
    pub mac: Option<Mac>,
    pub mtu: u32,
    pub queue_len: u32,
    pub group: u32,
    pub veth: bool,
    /// Administrative state: true if the interface was set to `up`.
    pub up: bool,
    /// Operational state: true if both ends of the link are up.
    pub running: bool,
    pub stats: Stats64,
}

/// IPv4 address of an interface, as the kernel lists it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Address {
    pub interface: u32,
    pub addr: Ipv4Addr,
    pub len: u8,
}

/// Permanent entry in the neighbour table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Neighbour {
    pub interface: u32,
    pub addr: Ipv4Addr,
    pub mac: Mac,
}

/// IPv4 route of a routing table, as the kernel lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct KernelRoute {
    pub table: u32,
    pub to: Prefix,
    pub local: bool,
    /// True for a throw route: a lookup that finds it continues at the next rule.
    pub throws: bool,
    pub src: Option<Ipv4Addr>,
    /// Interface index and gateway of each next hop, in the kernel's order.
    pub hops: Vec<(u32, Option<Ipv4Addr>)>,
}

/// Returns all interfaces of the socket's namespace.
pub(crate) fn links(socket: &mut Socket) -> Result<Vec<Interface>, NetlinkError> {
    let request = [0; LINK_HEADER];
    socket.dump(libc::RTM_GETLINK, &request, |message| {
        LinkMessage::parse(message).ok().and_then(link)
    })
}

/// Returns all IPv4 addresses in the socket's namespace.
pub(crate) fn addresses(socket: &mut Socket) -> Result<Vec<Address>, NetlinkError> {
    socket.dump(libc::RTM_GETADDR, &inet([0; ADDRESS_HEADER]), |message| {
        address(AddressMessage::parse(message).ok()?)
    })
}

/// Returns all permanent IPv4 neighbours in the socket's namespace.
pub(crate) fn neighbours(socket: &mut Socket) -> Result<Vec<Neighbour>, NetlinkError> {
    let request = inet([0; NEIGHBOUR_HEADER]);
    socket.dump(libc::RTM_GETNEIGH, &request, |message| {
        neighbour(NeighbourMessage::parse(message).ok()?)
    })
}

/// Returns the IPv4 routes of all tables in the socket's namespace.
pub(crate) fn routes(socket: &mut Socket) -> Result<Vec<KernelRoute>, NetlinkError> {
    socket.dump(libc::RTM_GETROUTE, &inet([0; ROUTE_HEADER]), |message| {
        RouteMessage::parse(message).ok().and_then(route)
    })
}

/// Returns all IPv4 routing rules in the socket's namespace.
pub(crate) fn rules(socket: &mut Socket) -> Result<Vec<KernelRule>, NetlinkError> {
    socket.dump(libc::RTM_GETRULE, &inet([0; ROUTE_HEADER]), |message| {
        let message = RuleMessage::parse(message).ok()?;
        Some(KernelRule::of(&message))
    })
}

fn link(message: LinkMessage) -> Option<Interface> {
    let mut link = Interface {
        index: message.header.index,
        name: String::new(),
        mac: None,
        mtu: 0,
        queue_len: 0,
        group: 0,
        veth: false,
        up: message.header.flags.contains(LinkFlags::Up),
        running: false,
        stats: Stats64::default(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Address(bytes) => link.mac = bytes.try_into().ok().map(Mac),
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::TxQueueLen(packets) => link.queue_len = packets,
            LinkAttribute::Group(group) => link.group = group,
            LinkAttribute::OperState(state) => link.running = state == State::Up,
            LinkAttribute::Stats64(stats) => link.stats = stats,
            LinkAttribute::LinkInfo(infos) => {
                link.veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
            }
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

fn address(message: AddressMessage) -> Option<Address> {
    let local = |attribute: &AddressAttribute| match attribute {
        AddressAttribute::Local(IpAddr::V4(addr)) => Some(*addr),
        _ => None,
    };
    Some(Address {
        interface: message.header.index,
        addr: message.attributes.iter().find_map(local)?,
        len: message.header.prefix_len,
    })
}

fn neighbour(message: NeighbourMessage) -> Option<Neighbour> {
    if message.header.state != NeighbourState::Permanent {
        return None;
    }
    let mut addr = None;
    let mut mac = None;
    for attribute in message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => addr = Some(ip),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes.try_into().ok().map(Mac),
            _ => {}
        }
    }
    Some(Neighbour {
        interface: message.header.ifindex,
        addr: addr?,
        mac: mac?,
    })
}

fn route(message: RouteMessage) -> Option<KernelRoute> {
    if message.header.address_family != AddressFamily::Inet {
        return None;
    }
    let mut interface = None;
    let mut gateway = None;
    let mut route = KernelRoute {
        table: u32::from(message.header.table),
        to: Prefix {
            addr: Ipv4Addr::UNSPECIFIED,
            len: message.header.destination_prefix_length,
        },
        local: message.header.kind == RouteType::Local,
        throws: message.header.kind == RouteType::Throw,
        src: None,
        hops: Vec::new(),
    };
    for attribute in message.attributes {
        match attribute {
            RouteAttribute::Table(table) => route.table = table,
            RouteAttribute::Destination(RouteAddress::Inet(addr)) => route.to.addr = addr,
            RouteAttribute::PrefSource(RouteAddress::Inet(addr)) => route.src = Some(addr),
            RouteAttribute::Oif(index) => interface = Some(index),
            RouteAttribute::Gateway(RouteAddress::Inet(addr)) => gateway = Some(addr),
            RouteAttribute::MultiPath(hops) => route.hops = hops.iter().map(hop).collect(),
            _ => {}
        }
    }
    route.hops.extend(interface.map(|index| (index, gateway)));
    Some(route)
}

fn hop(hop: &RouteNextHop) -> (u32, Option<Ipv4Addr>) {
    let gateway = hop.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(addr)) => Some(*addr),
        _ => None,
    });
    (hop.interface_index, gateway)
}

/// Restricts a listing to IPv4: the first byte of the request header is the address family.
fn inet<const N: usize>(mut header: [u8; N]) -> [u8; N] {
    header[0] = u8::from(AddressFamily::Inet);
    header
}

const LINK_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;
const NEIGHBOUR_HEADER: usize = 12;
const ROUTE_HEADER: usize = 12;
