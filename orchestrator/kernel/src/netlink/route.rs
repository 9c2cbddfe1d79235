//! Messages for links, addresses, neighbours, routes and rules.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    os::fd::{AsRawFd, BorrowedFd},
};

use lab_units::Mac;
use rtnetlink::packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressFlags, AddressMessage},
    link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage},
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
    route::{
        RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteNextHopFlags,
        RouteProtocol, RouteScope, RouteType,
    },
    rule::{RuleAction, RuleAttribute, RuleMessage},
};

use crate::step::{NextHop, Route, RouteTarget, Rule, Selector, Veth, VethEnd};

/// Interface indices of a namespace, by interface name.
pub(crate) type Interfaces = HashMap<String, u32>;

/// Builds the message for `ip link add … type veth peer …` in the namespace of end `a`; `other` is the namespace of end
/// `b` if that end is in another namespace.
pub(crate) fn veth(veth: &Veth, other: Option<BorrowedFd<'_>>) -> RouteNetlinkMessage {
    let mut peer = LinkMessage::default();
    peer.header.index = veth.b.index;
    peer.attributes = link_attributes(&veth.b, veth);
    peer.attributes
        .extend(other.map(|fd| LinkAttribute::NetNsFd(fd.as_raw_fd())));
    let mut message = LinkMessage::default();
    message.header.index = veth.a.index;
    message.attributes = link_attributes(&veth.a, veth);
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    RouteNetlinkMessage::NewLink(message)
}

fn link_attributes(end: &VethEnd, veth: &Veth) -> Vec<LinkAttribute> {
    vec![
        LinkAttribute::IfName(end.dev.clone()),
        LinkAttribute::Address(end.mac.0.to_vec()),
        LinkAttribute::Mtu(veth.mtu),
        LinkAttribute::TxQueueLen(veth.queue_len),
        LinkAttribute::Group(end.group),
        LinkAttribute::NumTxQueues(1),
        LinkAttribute::NumRxQueues(1),
    ]
}

/// Builds the message for `ip link set dev … up` or `down`.
pub(crate) fn link_up(index: u32, up: bool) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.change_mask = LinkFlags::Up;
    if up {
        message.header.flags = LinkFlags::Up;
    }
    RouteNetlinkMessage::NewLink(message)
}

/// Builds the message for `ip link del dev …`.
pub(crate) fn link_delete(index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    RouteNetlinkMessage::DelLink(message)
}

/// Builds the message for `ip link del group …`, which deletes all members with one request.
pub(crate) fn group_delete(group: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::Group(group)];
    RouteNetlinkMessage::DelLink(message)
}

/// Builds the message for `ip addr add …/32 dev … noprefixroute`.
pub(crate) fn address(index: u32, addr: Ipv4Addr) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(IpAddr::V4(addr)),
        AddressAttribute::Address(IpAddr::V4(addr)),
        AddressAttribute::Flags(AddressFlags::Noprefixroute),
    ];
    RouteNetlinkMessage::NewAddress(message)
}

/// Builds the message for `ip neigh add … lladdr … nud permanent dev …`.
pub(crate) fn neighbour(index: u32, addr: Ipv4Addr, mac: Mac) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(addr)),
        NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
    ];
    RouteNetlinkMessage::NewNeighbour(message)
}

/// Builds the message for `ip route del local … dev … table local`.
pub(crate) fn not_local(index: u32, addr: Ipv4Addr) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: 32,
        table: LOCAL_TABLE,
        scope: RouteScope::Host,
        kind: RouteType::Local,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(addr)),
        RouteAttribute::Oif(index),
    ];
    RouteNetlinkMessage::DelRoute(message)
}

/// Builds the message for `ip route add …`; the error is the name of an interface that does not exist.
pub(crate) fn route<'a>(
    route: &'a Route,
    interfaces: &Interfaces,
) -> Result<RouteNetlinkMessage, &'a str> {
    let index = |dev: &'a String| interfaces.get(dev).copied().ok_or(dev.as_str());
    let (kind, scope) = match route.target {
        RouteTarget::Local { .. } => (RouteType::Local, RouteScope::Host),
        RouteTarget::OnLink { .. } => (RouteType::Unicast, RouteScope::Link),
        RouteTarget::Gateways(_) => (RouteType::Unicast, RouteScope::Universe),
    };
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: route.to.len,
        protocol: RouteProtocol::Static,
        kind,
        scope,
        ..RouteHeader::default()
    };
    let attributes = &mut message.attributes;
    attributes.push(RouteAttribute::Table(route.table));
    if route.to.len > 0 {
        attributes.push(RouteAttribute::Destination(RouteAddress::Inet(
            route.to.addr,
        )));
    }
    let src = route.src.map(RouteAddress::Inet);
    attributes.extend(src.map(RouteAttribute::PrefSource));
    match &route.target {
        RouteTarget::Local { dev } | RouteTarget::OnLink { dev } => {
            attributes.push(RouteAttribute::Oif(index(dev)?));
        }
        RouteTarget::Gateways(hops) => match hops.as_slice() {
            [NextHop { gateway, dev }] => {
                message.header.flags = rtnetlink::packet_route::route::RouteFlags::Onlink;
                attributes.push(RouteAttribute::Oif(index(dev)?));
                attributes.push(RouteAttribute::Gateway(RouteAddress::Inet(*gateway)));
            }
            hops => {
                let hop = |NextHop { gateway, dev }: &'a NextHop| {
                    let mut hop = RouteNextHop::default();
                    hop.flags = RouteNextHopFlags::Onlink;
                    hop.interface_index = index(dev)?;
                    hop.attributes = vec![RouteAttribute::Gateway(RouteAddress::Inet(*gateway))];
                    Ok::<_, &str>(hop)
                };
                let hops = hops.iter().map(hop).collect::<Result<_, _>>()?;
                attributes.push(RouteAttribute::MultiPath(hops));
            }
        },
    }
    Ok(RouteNetlinkMessage::NewRoute(message))
}

/// Builds the message that describes a rule, with which the rule is added or deleted.
pub(crate) fn rule(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.action = RuleAction::ToTable;
    let selector = match &rule.selector {
        Selector::Iif(dev) => RuleAttribute::Iifname(dev.clone()),
        Selector::Oif(dev) => RuleAttribute::Oifname(dev.clone()),
        Selector::From(addr) => {
            message.header.src_len = 32;
            RuleAttribute::Source(IpAddr::V4(*addr))
        }
    };
    message.attributes = vec![
        RuleAttribute::Priority(rule.priority),
        RuleAttribute::Table(rule.table),
        selector,
    ];
    message
}

/// Number of the routing table to which the kernel adds this machine's own addresses.
pub(crate) const LOCAL_TABLE: u8 = 255;
