//! Names, addresses and numbers of a lab, which differ between the labs on one machine.
//!
//! A lab has a slot, 0 to 15. All its addresses are in 10.0.0.0/8:
//!
//! ```text
//! 0000 1010 | slot (4) | dc (8) | number (12)
//! ```
//!
//! | dc | number | assigned to |
//! |---|---|---|
//! | 0 | 0… | ends of inter-DC links, two by two (/31) |
//! | 1… | 1–1535 | hosts, then additional addresses of hosts |
//! | 1… | 1536–1791 | loopbacks of the DCI switch, the spines, the leaves |
//! | 1… | 1792–4095 | ends of links inside the DC |
//!
//! Thus a datacenter has a /20 prefix and a slot a /12.
//!
//! The simulator also runs plans with more datacenters than a lab has blocks. Datacenters after the 255th have blocks in
//! 100.64.0.0/10 (RFC 6598), which has no slots.
//!
//! A plan is made for slot 0, and [`Plan::in_slot`](crate::Plan::in_slot) relabels it. Hashes of addresses leave the
//! slot out ([`lab_abi::rows::without_slot`]), so that flows take the same paths in every slot.

use std::net::Ipv4Addr;

use lab_abi::rows::{LAB_NET, SLOT_BITS, without_slot};
use lab_units::{DcId, Mac, NodeId, PortId, Twin};

use crate::model::{Prefix, Role};

/// Number of lab slots (address blocks for one lab each) on a machine: at most 16 labs exist at once.
pub const SLOTS: u8 = 1 << SLOT_BITS.count_ones();

/// Maximum number of datacenters in a lab: 256 address blocks, minus the one for ends of inter-DC links.
pub const MAX_LAB_DCS: u32 = 255;

/// Maximum number of datacenters for the simulator: those of a lab, and one for each /20 in 100.64.0.0/10.
pub const MAX_DCS: u32 = MAX_LAB_DCS + (1 << 10);

/// Maximum number of inter-DC links in a lab.
pub const MAX_INTER_DC_LINKS: u32 = NUMBERS / 2;

/// Maximum number of host addresses in a datacenter, including additional addresses of hosts.
pub const MAX_HOSTS: u32 = FIRST_LOOPBACK - 1;

/// Maximum number of addresses per host; an rxe device refers to each address by an eight-bit GID index.
pub const MAX_HOST_ADDRS: u8 = 64;

/// Maximum number of spines in a datacenter; also the maximum number of leaves.
pub const MAX_TIER: u32 = 127;

/// Maximum number of addresses of link ends inside a datacenter.
pub const MAX_FABRIC_ENDS: u32 = NUMBERS - FIRST_FABRIC_END;

/// Returns the reason why no lab has room for `dcs` datacenters; `None` if one has.
#[must_use]
pub fn too_large_for_lab(dcs: usize) -> Option<String> {
    let fits = u32::try_from(dcs).is_ok_and(|dcs| dcs <= MAX_LAB_DCS);
    (!fits).then(|| {
        format!("the topology has {dcs} datacenters, and a lab has addresses for {MAX_LAB_DCS}")
    })
}

/// Returns the prefix of a slot, which contains every address of the lab.
#[must_use]
pub fn slot_prefix(slot: u8) -> Prefix {
    Prefix {
        addr: Ipv4Addr::from_bits(base(slot)),
        len: SLOT_PREFIX_LEN,
    }
}

/// Returns the /20 prefix of a datacenter in slot 0.
#[must_use]
pub const fn dc_prefix(dc: DcId) -> Prefix {
    Prefix {
        addr: in_dc(dc, 0),
        len: 20,
    }
}

/// Moves a lab address `addr` from its slot to `slot`; returns an address outside 10.0.0.0/8 unchanged.
#[must_use]
pub const fn in_slot(addr: Ipv4Addr, slot: u8) -> Ipv4Addr {
    let bits = without_slot(addr).to_bits();
    if bits >> 24 == LAB_NET {
        Ipv4Addr::from_bits(bits | slot_bits(slot))
    } else {
        addr
    }
}

/// Returns the /32 prefix of `addr`.
#[must_use]
pub const fn single(addr: Ipv4Addr) -> Prefix {
    Prefix { addr, len: 32 }
}

/// Prefix of a default route, 0.0.0.0/0.
pub const EVERYWHERE: Prefix = Prefix {
    addr: Ipv4Addr::UNSPECIFIED,
    len: 0,
};

/// Datacenter, role and number of a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NodePosition {
    pub dc: DcId,
    pub role: Role,
    /// Number among the datacenter's nodes with the same role, from 1; 0 for a DCI switch.
    pub number: u32,
}

impl NodePosition {
    /// Returns the address of a host's NIC or of a switch's loopback interface.
    #[must_use]
    pub const fn addr(self) -> Ipv4Addr {
        let first = match self.role {
            Role::Host => 0,
            Role::DciSwitch | Role::Spine => FIRST_LOOPBACK,
            Role::Leaf => FIRST_LOOPBACK + MAX_TIER,
        };
        in_dc(self.dc, first + self.number)
    }

    /// Returns the node's name within its datacenter: `s1`, `l1` or `h1`; an empty string for a DCI switch.
    #[must_use]
    pub fn inside(self) -> String {
        let number = self.number;
        match self.role {
            Role::DciSwitch => String::new(),
            Role::Spine => format!("s{number}"),
            Role::Leaf => format!("l{number}"),
            Role::Host => format!("h{number}"),
        }
    }
}

/// Returns the slot-0 address of an inter-DC link end; `number` counts ends from 0, two per link.
#[must_use]
pub const fn inter_dc_end(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(base(0) | number)
}

/// Returns the slot-0 address of a link end inside a DC; `number` counts the DC's link ends from 0.
#[must_use]
pub const fn fabric_end(dc: DcId, number: u32) -> Ipv4Addr {
    in_dc(dc, FIRST_FABRIC_END + number)
}

/// Returns the MAC address of a port: locally administered, containing the slot and the port id.
#[must_use]
pub fn mac(slot: u8, port: PortId) -> Mac {
    let [high, upper, lower, low] = port.0.to_be_bytes();
    Mac([0x02, 0x40 | slot, high, upper, lower, low])
}

/// Returns the slot-0 name of the interface at `near` on a link to `far`: `l0d1-d2`, or `l0d1-d2_2` on the second link
/// between the two nodes.
///
/// A host has one NIC, whose interface is named after the host (`l0d1h1`). The interface of a leaf or DCI switch on the
/// link to this host is `l0d1-h1`.
#[must_use]
pub fn interface(near: NodePosition, far: NodePosition, twin: Twin) -> String {
    let start = interface_start(0);
    let dc = near.dc.0 + 1;
    let near_part = match (near.role, far.role) {
        (Role::Host, _) => return format!("{start}{dc}h{}", near.number),
        (_, Role::Host) => String::new(),
        _ => near.inside(),
    };
    let far_part = match far.role {
        Role::DciSwitch => format!("d{}", far.dc.0 + 1),
        Role::Spine | Role::Leaf | Role::Host => far.inside(),
    };
    format!("{start}{dc}{near_part}-{far_part}{twin}")
}

/// Returns the text with which a slot's interface names begin: `l0d` for slot 0.
///
/// The slot is one hexadecimal digit, so that the longest name, `lfd255s127-l127`, has the kernel's maximum of 15
/// characters.
#[must_use]
pub fn interface_start(slot: u8) -> String {
    format!("l{slot:x}d")
}

/// Returns the name of the rxe device on a host's interface.
#[must_use]
pub fn rxe_device(interface: &str) -> String {
    format!("rxe_{interface}")
}

/// Returns the number of the kernel routing table for a host whose NIC is in the root namespace.
///
/// All numbers are above 2^30, a range that distributions and VPN tools do not use.
#[must_use]
pub const fn routing_table(slot: u8, host: NodeId) -> u32 {
    (1 << 30) | ((slot as u32) << 24) | host.0
}

/// Packets that a host's policy routing rule matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostRule {
    /// Packets received on the host's NIC.
    In,
    /// Packets of sockets bound to the host's NIC.
    Out,
    /// Packets with one of the host's addresses as source.
    From,
}

/// Returns the priority of the rules of kind `rule` in a slot. The priorities lie after the `local` table's 0 and
/// before rules of other programs that would match a lab's packets: VRFs (1000), Tailscale (5210 to 5270) and wg-quick
/// (just below the `main` table's 32766).
#[must_use]
pub const fn rule_priority(slot: u8, rule: HostRule) -> u32 {
    let kind = match rule {
        HostRule::In => 0,
        HostRule::Out => 1,
        HostRule::From => 2,
    };
    FIRST_RULE + RULE_KINDS * (slot as u32) + kind
}

const fn base(slot: u8) -> u32 {
    (LAB_NET << 24) | slot_bits(slot)
}

const fn slot_bits(slot: u8) -> u32 {
    (slot as u32) << SLOT_BITS.trailing_zeros()
}

const fn in_dc(dc: DcId, number: u32) -> Ipv4Addr {
    let block = match dc.0.checked_sub(MAX_LAB_DCS) {
        None => base(0) | ((dc.0 + 1) << 12),
        Some(further) => SHARED_NET | (further << 12),
    };
    Ipv4Addr::from_bits(block | number)
}

/// Address block 100.64.0.0/10 for traffic inside one network, which the Internet does not route (RFC 6598).
const SHARED_NET: u32 = 100 << 24 | 64 << 16;

/// Length of a slot's prefix in bits: 8 for the address block 10.0.0.0/8, and 4 for the slot.
const SLOT_PREFIX_LEN: u8 = 12;
const _: () = assert!(
    SLOT_BITS == 0x00f0_0000,
    "a slot is the four address bits before the datacenter's bits"
);

/// Number of addresses in a datacenter's block, a /20.
const NUMBERS: u32 = 1 << 12;
const FIRST_LOOPBACK: u32 = 1_536;
const FIRST_FABRIC_END: u32 = 1_792;

/// Lowest priority of a lab's routing rule. When a program adds a rule without a priority, the kernel gives it the
/// priority of the second rule in the list minus 1, and the second rule may be a lab's: 31 such rules fit before the
/// lab's rules, in the right order. If a lab's rules began at 0 or 1, all later rules would get priority 0, in order of
/// creation, which is the wrong order for wg-quick's two rules.
const FIRST_RULE: u32 = 32;

/// Number of policy routing rules per host.
const RULE_KINDS: u32 = 3;

#[cfg(test)]
mod tests {
    use lab_abi::rows::without_slot;

    use super::*;

    const fn position(dc: u32, role: Role, number: u32) -> NodePosition {
        NodePosition {
            dc: DcId(dc),
            role,
            number,
        }
    }

    #[test]
    fn addresses_are_slot_datacenter_and_number() {
        let first = position(0, Role::Host, 1);
        assert_eq!(first.addr(), Ipv4Addr::new(10, 0, 16, 1));
        let later = position(7, Role::Host, 4);
        assert_eq!(later.addr(), Ipv4Addr::new(10, 0, 128, 4));
        assert_eq!(in_slot(later.addr(), 3), Ipv4Addr::new(10, 48, 128, 4));
        let dci = position(0, Role::DciSwitch, 0);
        assert_eq!(dci.addr(), Ipv4Addr::new(10, 0, 22, 0));
        assert_eq!(inter_dc_end(5), Ipv4Addr::new(10, 0, 0, 5));
    }

    #[test]
    fn every_host_of_every_slot_has_a_routing_table_of_its_own() {
        assert_eq!(routing_table(0, NodeId(0)), 0x4000_0000);
        assert_eq!(routing_table(15, NodeId(4_096)), 0x4f00_1000);
    }

    #[test]
    fn an_address_goes_from_any_slot_to_any_other_and_others_stay() {
        for (addr, slot, expected) in [
            ([10, 0, 16, 1], 0, [10, 0, 16, 1]),
            ([10, 15, 255, 255], 15, [10, 255, 255, 255]),
            ([10, 239, 16, 1], 1, [10, 31, 16, 1]),
            ([10, 48, 0, 5], 0, [10, 0, 0, 5]),
            ([9, 0, 16, 1], 3, [9, 0, 16, 1]),
            ([172, 16, 0, 1], 3, [172, 16, 0, 1]),
            ([0, 0, 0, 0], 3, [0, 0, 0, 0]),
        ] {
            assert_eq!(in_slot(addr.into(), slot), Ipv4Addr::from(expected));
        }
    }

    #[test]
    fn addresses_of_all_slots_are_those_of_slot_0_without_the_slot() {
        let last = DcId(MAX_LAB_DCS - 1);
        let all = [
            position(0, Role::Host, 1).addr(),
            position(MAX_LAB_DCS - 1, Role::Leaf, MAX_TIER).addr(),
            inter_dc_end(2 * MAX_INTER_DC_LINKS - 1),
            fabric_end(last, MAX_FABRIC_ENDS - 1),
            slot_prefix(0).addr,
            dc_prefix(last).addr,
        ];
        assert_eq!(SLOTS, 16);
        for slot in 0..SLOTS {
            let there = all.map(|addr| in_slot(addr, slot));
            assert_eq!(there.map(without_slot), all, "slot {slot}");
            assert!(there.iter().all(|&addr| slot_prefix(slot).contains(addr)));
        }
    }

    /// 100.64.0.0/10 ends at 100.127.255.255.
    #[test]
    fn datacenters_beyond_a_labs_are_in_the_shared_address_space() {
        let first = |dc| position(dc, Role::Host, 1).addr();
        assert_eq!(first(MAX_LAB_DCS - 1), Ipv4Addr::new(10, 15, 240, 1));
        assert_eq!(first(MAX_LAB_DCS), Ipv4Addr::new(100, 64, 0, 1));
        assert_eq!(first(MAX_LAB_DCS + 1), Ipv4Addr::new(100, 64, 16, 1));
        let last = fabric_end(DcId(MAX_DCS - 1), MAX_FABRIC_ENDS - 1);
        assert_eq!(last, Ipv4Addr::new(100, 127, 255, 255));
        assert_eq!(in_slot(last, 3), last);
    }

    #[test]
    fn the_last_of_each_kind_stays_below_the_first_of_the_next() {
        let dc = MAX_LAB_DCS - 1;
        let order = [
            position(dc, Role::Host, MAX_HOSTS).addr(),
            position(dc, Role::DciSwitch, 0).addr(),
            position(dc, Role::Spine, MAX_TIER).addr(),
            position(dc, Role::Leaf, 1).addr(),
            position(dc, Role::Leaf, MAX_TIER).addr(),
            fabric_end(DcId(dc), 0),
            fabric_end(DcId(dc), MAX_FABRIC_ENDS - 1),
        ];
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert_eq!(order[6], Ipv4Addr::new(10, 15, 255, 255));
    }

    #[test]
    fn the_longest_interface_names_fit() {
        let spine = position(254, Role::Spine, MAX_TIER);
        let leaf = position(254, Role::Leaf, MAX_TIER);
        let dci = position(254, Role::DciSwitch, 0);
        let other = position(253, Role::DciSwitch, 0);
        let nic = position(254, Role::Host, MAX_HOSTS);
        for (near, far, twin, name) in [
            (spine, leaf, 0, "l0d255s127-l127"),
            (leaf, spine, 0, "l0d255l127-s127"),
            (spine, dci, 0, "l0d255s127-d255"),
            (dci, spine, 0, "l0d255-s127"),
            (leaf, nic, 0, "l0d255-h1535"),
            (nic, leaf, 0, "l0d255h1535"),
            (dci, other, 98, "l0d255-d254_99"),
        ] {
            assert_eq!(interface(near, far, Twin(twin)), name);
            assert!(name.len() <= 15);
        }
        assert_eq!([0, 15].map(interface_start), ["l0d", "lfd"]);
    }

    #[test]
    fn rules_of_all_slots_are_between_local_and_those_of_vrfs_and_vpns() {
        let mut priorities = Vec::new();
        for slot in 0..SLOTS {
            for rule in [HostRule::In, HostRule::Out, HostRule::From] {
                priorities.push(rule_priority(slot, rule));
            }
        }
        assert!(priorities.is_sorted_by(|a, b| a < b));
        // 16 slots with 3 rule kinds each have the priorities from 32 to 79.
        assert_eq!((priorities[0], priorities[47]), (32, 79));
    }

    #[test]
    fn a_hardware_address_is_local_and_unicast() {
        assert_eq!(mac(2, PortId(0x01_0203)), Mac([0x02, 0x42, 0, 1, 2, 3]));
    }
}
