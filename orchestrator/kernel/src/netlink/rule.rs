//! Policy routing rules as the kernel lists them, including those of other programs.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use lab_plan::model::Prefix;
use rtnetlink::packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};

use crate::step::Selector;

/// Policy routing rule as the kernel lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct KernelRule {
    pub priority: u32,
    /// True if the rule matches the packets that its selectors do not match.
    pub is_inverted: bool,
    /// Selectors, all of which must match; a rule without selectors matches every packet.
    pub matches: Vec<Match>,
    pub action: KernelRuleAction,
}

/// Selector of a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Match {
    From(Prefix),
    To(Prefix),
    Iif(String),
    Oif(String),
    Mark {
        value: u32,
        mask: u32,
    },
    /// First and last user id.
    Users(u32, u32),
    Protocol(u8),
    /// First and last source port.
    SourcePorts(u16, u16),
    /// First and last destination port.
    DestinationPorts(u16, u16),
    Tos(u8),
    Tunnel(u64),
    /// Packets of an interface that belongs to a VRF.
    InVrf,
    /// Unknown selector of a newer kernel, with its attribute number.
    Other(u16),
}

/// Action that the kernel takes for packets that a rule matches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum KernelRuleAction {
    /// The table is looked up; routes with prefixes of at most `suppressed` bits are ignored.
    Lookup { table: u32, suppressed: Option<u8> },
    /// The lookup continues at the rule with this priority.
    Goto(u32),
    /// The lookup continues at the next rule.
    Nothing,
    /// The packet is dropped; the word is the name of the action in `ip rule`, such as `blackhole`.
    Drop(&'static str),
}

impl KernelRule {
    pub(super) fn of(message: &RuleMessage) -> Self {
        let header = &message.header;
        let mut priority = 0;
        let mut table = u32::from(header.table);
        let mut mark = 0;
        let mut mask = 0;
        let mut suppressed = None;
        let mut target = 0;
        let mut matches = Vec::new();
        for attribute in &message.attributes {
            match attribute {
                RuleAttribute::Priority(value) => priority = *value,
                RuleAttribute::Table(value) => table = *value,
                RuleAttribute::Goto(value) => target = *value,
                RuleAttribute::FwMark(value) => mark = *value,
                RuleAttribute::FwMask(value) => mask = *value,
                // The kernel lists −1 if no prefix is suppressed.
                RuleAttribute::SuppressPrefixLen(len) => suppressed = u8::try_from(*len).ok(),
                attribute => matches.extend(selector(attribute, header.src_len, header.dst_len)),
            }
        }
        if mark != 0 || mask != 0 {
            matches.push(Match::Mark { value: mark, mask });
        }
        if header.tos != 0 {
            matches.push(Match::Tos(header.tos));
        }
        Self {
            priority,
            is_inverted: header.flags.contains(RuleFlags::Invert),
            matches,
            action: match header.action {
                RuleAction::ToTable => KernelRuleAction::Lookup { table, suppressed },
                RuleAction::Goto if !header.flags.contains(RuleFlags::Unresolved) => {
                    KernelRuleAction::Goto(target)
                }
                RuleAction::Blackhole => KernelRuleAction::Drop("blackhole"),
                RuleAction::Unreachable => KernelRuleAction::Drop("unreachable"),
                RuleAction::Prohibit => KernelRuleAction::Drop("prohibit"),
                _ => KernelRuleAction::Nothing,
            },
        }
    }

    /// Returns the rule's selector; `None` unless it is the only selector, is not inverted, and is of a kind that labs
    /// use.
    pub fn selector(&self) -> Option<Selector> {
        match self.matches.as_slice() {
            _ if self.is_inverted => None,
            [Match::Iif(dev)] => Some(Selector::Iif(dev.clone())),
            [Match::Oif(dev)] => Some(Selector::Oif(dev.clone())),
            [Match::From(Prefix { addr, len: 32 })] => Some(Selector::From(*addr)),
            _ => None,
        }
    }

    /// Returns the number of the table that the rule looks up; `None` for other actions.
    pub const fn table(&self) -> Option<u32> {
        match self.action {
            KernelRuleAction::Lookup { table, .. } => Some(table),
            KernelRuleAction::Goto(_) | KernelRuleAction::Nothing | KernelRuleAction::Drop(_) => {
                None
            }
        }
    }
}

/// Parses an attribute as a selector; `None` if the attribute is not a selector.
fn selector(attribute: &RuleAttribute, src_len: u8, dst_len: u8) -> Option<Match> {
    let prefix = |addr: &IpAddr, len| match addr {
        IpAddr::V4(addr) => Some(Prefix { addr: *addr, len }),
        IpAddr::V6(_) => None,
    };
    Some(match attribute {
        RuleAttribute::Source(addr) => Match::From(prefix(addr, src_len)?),
        RuleAttribute::Destination(addr) => Match::To(prefix(addr, dst_len)?),
        RuleAttribute::Iifname(dev) => Match::Iif(dev.clone()),
        RuleAttribute::Oifname(dev) => Match::Oif(dev.clone()),
        RuleAttribute::UidRange(users) => Match::Users(users.start, users.end),
        RuleAttribute::IpProtocol(protocol) => Match::Protocol(u8::from(*protocol)),
        RuleAttribute::SourcePortRange(ports) => Match::SourcePorts(ports.start, ports.end),
        RuleAttribute::DestinationPortRange(ports) => {
            Match::DestinationPorts(ports.start, ports.end)
        }
        RuleAttribute::TunId(tunnel) => Match::Tunnel(*tunnel),
        RuleAttribute::L3MDev(true) => Match::InVrf,
        RuleAttribute::Other(other) => Match::Other(kind(other)),
        // Realms, and the program that made the rule, are not selectors.
        _ => return None,
    })
}

fn kind(attribute: &rtnetlink::packet_core::DefaultNla) -> u16 {
    rtnetlink::packet_core::Nla::kind(attribute)
}

/// Prints the rule in the format of `ip rule`.
impl fmt::Display for KernelRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.priority)?;
        if self.is_inverted {
            f.write_str("not ")?;
        }
        if !self.matches.iter().any(|it| matches!(it, Match::From(_))) {
            f.write_str("from all ")?;
        }
        for it in &self.matches {
            write!(f, "{it} ")?;
        }
        write!(f, "{}", self.action)
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>, name: &str, first: u16, last: u16| {
            if first == last {
                return write!(f, "{name} {first}");
            }
            write!(f, "{name} {first}-{last}")
        };
        match self {
            Self::From(prefix) => write!(f, "from {}", Shown(prefix)),
            Self::To(prefix) => write!(f, "to {}", Shown(prefix)),
            Self::Iif(dev) => write!(f, "iif {dev}"),
            Self::Oif(dev) => write!(f, "oif {dev}"),
            Self::Mark {
                value,
                mask: u32::MAX,
            } => write!(f, "fwmark {value:#x}"),
            Self::Mark { value, mask } => write!(f, "fwmark {value:#x}/{mask:#x}"),
            Self::Users(first, last) => write!(f, "uidrange {first}-{last}"),
            Self::Protocol(protocol) => write!(f, "ipproto {protocol}"),
            Self::SourcePorts(first, last) => range(f, "sport", *first, *last),
            Self::DestinationPorts(first, last) => range(f, "dport", *first, *last),
            Self::Tos(tos) => write!(f, "tos {tos:#x}"),
            Self::Tunnel(tunnel) => write!(f, "tun_id {tunnel}"),
            Self::InVrf => f.write_str("l3mdev"),
            Self::Other(kind) => write!(f, "attribute {kind}"),
        }
    }
}

impl fmt::Display for KernelRuleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup { table, suppressed } => {
                match table {
                    253 => f.write_str("lookup default")?,
                    254 => f.write_str("lookup main")?,
                    255 => f.write_str("lookup local")?,
                    table => write!(f, "lookup {table}")?,
                }
                match suppressed {
                    Some(len) => write!(f, " suppress_prefixlength {len}"),
                    None => Ok(()),
                }
            }
            Self::Goto(priority) => write!(f, "goto {priority}"),
            Self::Nothing => f.write_str("nop"),
            Self::Drop(how) => f.write_str(how),
        }
    }
}

/// Prefix that is printed in the format of `ip`.
struct Shown<'a>(&'a Prefix);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prefix { addr, len }: &Prefix = self.0;
        match (addr, len) {
            (addr, 32) => write!(f, "{addr}"),
            (&Ipv4Addr::UNSPECIFIED, 0) => f.write_str("all"),
            (addr, len) => write!(f, "{addr}/{len}"),
        }
    }
}
