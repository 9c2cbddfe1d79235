//! Detection of rules in the root namespace that precede a lab's rules and divert its packets.
//!
//! A lab's rules have low priority numbers, but a rule that is added without a priority while a lab is up precedes
//! them, as do the rules of a few programs. Most such rules are harmless: they match a mark, a user or an interface
//! that no packet of a lab has, or look up a table that has no route to the lab's hosts.
//!
//! <https://github.com/torvalds/linux/blob/v6.1/net/core/fib_rules.c>, `fib_rules_lookup`;
//! <https://github.com/torvalds/linux/blob/v6.1/net/ipv4/fib_rules.c>, `fib4_rule_match`, `fib4_rule_suppress`

use std::net::Ipv4Addr;

use lab_plan::{
    MIN_SOURCE_PORT,
    address::{self, HostRule},
    model::{Plan, Prefix, Role},
};
use lab_units::NodeId;

use super::{LabErrorKind, slot, taking_rule::TakingRule};
use crate::{
    lower::{HostPlacement, LowerOptions},
    netlink::{
        Socket,
        dump::{self, KernelRoute},
        rule::{KernelRule, KernelRuleAction, Match},
    },
};

/// Fails if a policy routing rule of the machine diverts packets of the lab's hosts; the error contains the rule.
pub(super) fn check(plan: &Plan, options: &LowerOptions) -> Result<(), LabErrorKind> {
    match taking(plan, options)? {
        Some(rule) => Err(LabErrorKind::Rule {
            rule,
            own: address::rule_priority(plan.slot, HostRule::In),
        }),
        None => Ok(()),
    }
}

/// Returns the machine's first policy routing rule that diverts packets of the lab's hosts; `None` if no rule does.
pub(super) fn taking(
    plan: &Plan,
    options: &LowerOptions,
) -> Result<Option<TakingRule>, LabErrorKind> {
    if options.hosts == HostPlacement::OwnNamespace {
        return Ok(None);
    }
    let mut socket = Socket::route()?;
    let rules = dump::rules(&mut socket)?;
    let packets = HostPackets::of(plan, dump::routes(&mut socket)?, filters_by_source());
    let taking = rules.iter().find(|rule| packets.are_taken_by(rule));
    Ok(taking.map(|rule| TakingRule {
        priority: rule.priority,
        shown: rule.to_string(),
    }))
}

/// Packets of a lab's hosts in the root namespace, and the routes in the tables that rules look up for them.
struct HostPackets<'a> {
    plan: &'a Plan,
    nics: Vec<&'a str>,
    addresses: Vec<Ipv4Addr>,
    routes: Vec<KernelRoute>,
    /// Kinds of route lookups that the kernel makes for the packets.
    lookups: Vec<Lookup>,
}

/// Kind of a route lookup.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lookup {
    /// Lookup of the route for a packet that a host sends. Only routes through the host's NIC count.
    Send,
    /// Lookup of the route for a packet that a host receives.
    Receive,
    /// Lookup of the reverse route, to the sender of a packet that a host receives (`rp_filter`).
    Source,
}

/// Share of a lookup's packets that a selector matches: all, some or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MatchedShare {
    None,
    Some,
    All,
}

impl<'a> HostPackets<'a> {
    fn of(plan: &'a Plan, routes: Vec<KernelRoute>, filters_by_source: bool) -> Self {
        let hosts = || plan.nodes.iter().filter(|node| node.role == Role::Host);
        let ports = hosts().flat_map(|host| &host.ports);
        let mut lookups = vec![Lookup::Send, Lookup::Receive];
        lookups.extend(filters_by_source.then_some(Lookup::Source));
        Self {
            plan,
            nics: ports
                .map(|port| plan.ports[port.index()].interface.as_str())
                .collect(),
            addresses: hosts().map(|host| host.addr).collect(),
            routes,
            lookups,
        }
    }

    /// Returns true if `rule` keeps any packet from reaching the lab's own rules.
    fn are_taken_by(&self, rule: &KernelRule) -> bool {
        let slot = self.plan.slot;
        let own = address::routing_table(slot, NodeId(0));
        let is_own = |table: u32| (own..own + slot::TABLES).contains(&table);
        rule.priority <= address::rule_priority(slot, HostRule::From)
            && !rule.table().is_some_and(is_own)
            && self
                .lookups
                .iter()
                .any(|lookup| self.is_matched(rule, *lookup) && self.ends(rule, *lookup))
    }

    fn is_matched(&self, rule: &KernelRule, lookup: Lookup) -> bool {
        let mut shares = rule.matches.iter().map(|it| self.share(it, lookup));
        if rule.is_inverted {
            shares.any(|share| share != MatchedShare::All)
        } else {
            shares.all(|share| share != MatchedShare::None)
        }
    }

    /// Returns true if a lookup that `rule` matches ends at the rule instead of continuing with the next rule.
    fn ends(&self, rule: &KernelRule, lookup: Lookup) -> bool {
        match rule.action {
            KernelRuleAction::Lookup { table, suppressed } => self.addresses.iter().any(|addr| {
                let is_in = |it: &Match| !matches!(it, Match::To(to) if !to.contains(*addr));
                let is_matched = rule.is_inverted || rule.matches.iter().all(is_in);
                is_matched && self.has_route((table, suppressed), *addr, lookup)
            }),
            KernelRuleAction::Goto(target) => {
                target > address::rule_priority(self.plan.slot, HostRule::In)
            }
            KernelRuleAction::Nothing => false,
            KernelRuleAction::Drop(_) => true,
        }
    }

    /// Returns true if a lookup of `addr` in a table finds a route. Routes that refuse packets, such as `unreachable`,
    /// count although they have no interface. Routes with prefixes of at most `suppressed` bits do not count.
    fn has_route(
        &self,
        (table, suppressed): (u32, Option<u8>),
        addr: Ipv4Addr,
        lookup: Lookup,
    ) -> bool {
        let mut routes: Vec<&KernelRoute> = self
            .routes
            .iter()
            .filter(|route| route.table == table)
            .filter(|it| it.to.contains(addr))
            .collect();
        routes.sort_by_key(|route| std::cmp::Reverse(route.to.len));
        let is_seen =
            |route: &&&KernelRoute| lookup != Lookup::Send || route.throws || route.hops.is_empty();
        routes.iter().find(is_seen).is_some_and(|route| {
            let is_kept = suppressed.is_none_or(|suppressed| route.to.len > suppressed);
            !route.throws && (route.hops.is_empty() || is_kept)
        })
    }

    /// Returns the share of a lookup's packets that a selector matches. The packets are UDP packets to RoCE's port,
    /// from root, without a mark; SoftRoCE's route lookups contain no ports.
    fn share(&self, selector: &Match, lookup: Lookup) -> MatchedShare {
        let some_if = |is_some| {
            if is_some {
                MatchedShare::Some
            } else {
                MatchedShare::None
            }
        };
        let all_if = |is_all| {
            if is_all {
                MatchedShare::All
            } else {
                MatchedShare::None
            }
        };
        let is_received = lookup == Lookup::Receive;
        match selector {
            Match::From(prefix) | Match::To(prefix) => self.share_in(*prefix),
            Match::Iif(dev) if is_received => some_if(self.nics.contains(&dev.as_str())),
            // In rules, the input interface of a locally sent packet is the loopback interface.
            Match::Iif(dev) => all_if(dev == "lo"),
            Match::Oif(dev) => some_if(lookup == Lookup::Send && self.nics.contains(&dev.as_str())),
            Match::Mark { value, mask } => all_if(value & mask == 0),
            Match::Users(first, _) => all_if(*first == 0),
            Match::Protocol(protocol) => all_if(i32::from(*protocol) == libc::IPPROTO_UDP),
            Match::SourcePorts(first, last) if is_received => match first {
                0..=MIN_SOURCE_PORT if *last == u16::MAX => MatchedShare::All,
                _ => some_if(*last >= MIN_SOURCE_PORT),
            },
            Match::DestinationPorts(first, last) if is_received => {
                all_if((*first..=*last).contains(&lab_abi::rows::ROCE_PORT))
            }
            Match::SourcePorts(..)
            | Match::DestinationPorts(..)
            | Match::Tunnel(_)
            | Match::InVrf => MatchedShare::None,
            Match::Tos(_) | Match::Other(_) => MatchedShare::Some,
        }
    }

    fn share_in(&self, prefix: Prefix) -> MatchedShare {
        let is_in = |addr: &&Ipv4Addr| prefix.contains(**addr);
        match self.addresses.iter().filter(is_in).count() {
            0 => MatchedShare::None,
            count if count == self.addresses.len() => MatchedShare::All,
            _ => MatchedShare::Some,
        }
    }
}

/// Returns true if the machine-wide `rp_filter` is 1 (strict). A lab turns the filter off on its own interfaces, but
/// the kernel applies the larger of the machine-wide value and the interface's value.
fn filters_by_source() -> bool {
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter");
    all.is_ok_and(|all| all.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Routes of a machine. Table 7 has a default route; table 8 has a route to 10.0.0.0/8; table 9 has a default route
    /// and a throw route for 10.0.0.0/8; table 10 has a route to the machine's own network; table 11 has a default
    /// route that refuses packets, and a route to 10.0.0.0/8.
    fn routes() -> Vec<KernelRoute> {
        let route = |table, addr: &str, len, (throws, is_unicast): (bool, bool)| KernelRoute {
            table,
            to: Prefix {
                addr: addr.parse().unwrap(),
                len,
            },
            local: false,
            throws,
            src: None,
            hops: if is_unicast {
                vec![(3, None)]
            } else {
                Vec::new()
            },
        };
        vec![
            route(7, "0.0.0.0", 0, (false, true)),
            route(8, "10.0.0.0", 8, (false, true)),
            route(9, "0.0.0.0", 0, (false, true)),
            route(9, "10.0.0.0", 8, (true, false)),
            route(10, "192.168.7.0", 24, (false, true)),
            route(11, "0.0.0.0", 0, (false, false)),
            route(11, "10.0.0.0", 8, (false, true)),
        ]
    }

    fn is_taken(matches: Vec<Match>, is_inverted: bool, action: KernelRuleAction) -> bool {
        let plan = testing::pair(0);
        let packets = HostPackets::of(&plan, routes(), false);
        let mut rule = KernelRule {
            priority: 31,
            is_inverted,
            matches,
            action,
        };
        let is_taken = packets.are_taken_by(&rule);
        // Slot 0's rules have the priorities 32 to 34.
        rule.priority = 35;
        assert!(!packets.are_taken_by(&rule), "{rule}");
        is_taken
    }

    const fn lookup(table: u32) -> KernelRuleAction {
        KernelRuleAction::Lookup {
            table,
            suppressed: None,
        }
    }

    #[test]
    fn a_rule_takes_what_its_table_has_a_route_to() {
        let suppressed = |table| KernelRuleAction::Lookup {
            table,
            suppressed: Some(0),
        };
        for (action, expected) in [
            (lookup(7), true),
            (lookup(8), true),
            (lookup(9), false),
            (lookup(10), false),
            (lookup(12), false),
            // wg-quick adds `lookup main suppress_prefixlength 0`; tested with a default route and with another route.
            (suppressed(7), false),
            (suppressed(8), true),
            (KernelRuleAction::Goto(34), true),
            (KernelRuleAction::Goto(32), false),
            (KernelRuleAction::Nothing, false),
            (KernelRuleAction::Drop("blackhole"), true),
        ] {
            let shown = action.to_string();
            assert_eq!(is_taken(Vec::new(), false, action), expected, "{shown}");
        }
    }

    /// A host's sockets and RDMA device are bound to the host's NIC, so a route through another interface does not
    /// divert the host's packets. A route that refuses packets has no interface, so it diverts them.
    #[test]
    fn what_a_host_sends_is_taken_only_by_what_refuses_it() {
        for (action, expected) in [
            (lookup(7), false),
            (lookup(11), true),
            (KernelRuleAction::Drop("prohibit"), true),
        ] {
            let shown = action.to_string();
            let matches = vec![Match::Oif("l0d1h1".into())];
            assert_eq!(is_taken(matches, false, action), expected, "{shown}");
        }
    }

    /// With `rp_filter`, the kernel looks up the sender's address as if the machine were sending to that address.
    #[test]
    fn a_filter_by_source_looks_up_senders_too() {
        let plan = testing::pair(0);
        let rule = KernelRule {
            priority: 31,
            is_inverted: false,
            matches: vec![Match::Iif("lo".into())],
            action: lookup(7),
        };
        for filters in [false, true] {
            let packets = HostPackets::of(&plan, routes(), filters);
            assert_eq!(packets.are_taken_by(&rule), filters);
        }
    }

    #[test]
    fn a_rule_takes_only_packets_that_it_matches() {
        let prefix = |addr: &str, len| Prefix {
            addr: addr.parse().unwrap(),
            len,
        };
        let mark = |value, mask| Match::Mark { value, mask };
        // The hosts of slot 0's pair are 10.0.16.1 at `l0d1h1` and 10.0.32.1 at `l0d2h1`.
        for (selector, as_is, inverted) in [
            (Match::From(prefix("10.0.0.0", 8)), true, false),
            (Match::From(prefix("10.0.16.0", 20)), true, true),
            (Match::From(prefix("192.168.7.1", 32)), false, true),
            (Match::To(prefix("10.0.32.1", 32)), true, true),
            (Match::To(prefix("10.16.0.0", 12)), false, true),
            (Match::Iif("eth0".into()), false, true),
            (Match::Iif("l0d1h1".into()), true, true),
            (Match::Iif("lo".into()), false, true),
            (Match::Oif("tun0".into()), false, true),
            // The marks are Tailscale's `fwmark 0x80000/0xff0000`, wg-quick's `not fwmark 0xca6c`, and a mask without
            // bits.
            (mark(0x8_0000, 0xff_0000), false, true),
            (mark(0xca6c, u32::MAX), false, true),
            (mark(0, 0xff), true, false),
            (Match::Users(1_000, 1_999), false, true),
            (Match::Users(0, u32::MAX), true, false),
            (Match::Protocol(17), true, false),
            (Match::Protocol(6), false, true),
            (Match::SourcePorts(1, 1_023), false, true),
            (Match::SourcePorts(49_152, 65_535), true, false),
            (Match::SourcePorts(50_000, 60_000), true, true),
            (Match::DestinationPorts(4_791, 4_791), true, false),
            (Match::DestinationPorts(53, 53), false, true),
            (Match::InVrf, false, true),
            (Match::Tunnel(7), false, true),
            (Match::Tos(0x10), true, true),
            (Match::Other(25), true, true),
        ] {
            for (is_inverted, expected) in [(false, as_is), (true, inverted)] {
                let shown = format!("{selector}, inverted {is_inverted}");
                let found = is_taken(vec![selector.clone()], is_inverted, lookup(7));
                assert_eq!(found, expected, "{shown}");
            }
        }
        let both = vec![mark(0, 1), Match::Iif("eth0".into())];
        assert!(!is_taken(both, false, lookup(7)));
        // The table has no route to the only destination that the rule matches.
        let to = vec![Match::To(prefix("192.168.7.9", 32))];
        assert!(!is_taken(to, false, lookup(10)));
    }
}
