//! Model of the chains of packet filters, and the search for chains that drop packets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Direction in which a host's datagram passes through the chains.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Direction {
    /// From the host's socket to its NIC.
    Out,
    /// From the host's NIC to its socket.
    In,
}

/// Chains by their full names, such as `inet firewalld filter_INPUT` or `filter INPUT`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Chains(pub BTreeMap<String, Chain>);

/// Chain of a packet filter.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Chain {
    /// Hook to which a base chain is attached, in lower case; `None` for other chains.
    pub hook: Option<String>,
    /// True if the chain's policy is to drop packets for which no rule decides.
    pub drops_rest: bool,
    pub rules: Vec<FilterRule>,
    /// Command that makes the chain accept the datagrams of a lab's hosts.
    pub fix: String,
}

/// Rule of a chain, reduced to its condition and its verdict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FilterRule {
    /// True if the rule matches only some packets; false if it matches all packets.
    pub is_conditional: bool,
    pub verdict: FilterVerdict,
}

/// Treatment of the packets that a rule matches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FilterVerdict {
    Drop,
    Reject,
    /// The packet continues in the named chain.
    Jump(String),
    /// The packet is accepted, or continues at the next rule.
    Other,
}

/// Chain that drops packets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Dropper {
    pub chain: String,
    how: How,
    /// True if the chain drops every packet that it does not accept; false if it drops only some.
    pub is_certain: bool,
    pub fix: String,
}

/// Way in which a chain drops packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    Policy,
    Drops,
    Rejects,
}

impl Chains {
    /// Returns the chains that may drop packets in a direction.
    pub(super) fn droppers(&self, direction: Direction) -> Vec<Dropper> {
        let hooks = match direction {
            Direction::Out => ["output", "postrouting"],
            Direction::In => ["prerouting", "input"],
        };
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for hook in hooks {
            let bases = self.0.iter();
            for (name, base) in bases.filter(|(_, base)| base.hook.as_deref() == Some(hook)) {
                self.follow((name, true), &mut seen, &mut found);
                if base.drops_rest {
                    found.push(dropper(name, base, How::Policy, true));
                }
            }
        }
        found
    }

    /// Adds the dropping rules of a chain, and of the chains to which it jumps; each chain is visited once.
    /// `is_certain` is true if every packet that no rule accepts reaches the chain.
    fn follow<'a>(
        &'a self,
        (name, is_certain): (&'a str, bool),
        seen: &mut BTreeSet<&'a str>,
        found: &mut Vec<Dropper>,
    ) {
        let Some(chain) = self.0.get(name).filter(|_| seen.insert(name)) else {
            return;
        };
        for rule in &chain.rules {
            let is_certain = is_certain && !rule.is_conditional;
            let how = match &rule.verdict {
                FilterVerdict::Drop => How::Drops,
                FilterVerdict::Reject => How::Rejects,
                FilterVerdict::Jump(to) => {
                    self.follow((to, is_certain), seen, found);
                    continue;
                }
                FilterVerdict::Other => continue,
            };
            found.push(dropper(name, chain, how, is_certain));
        }
    }
}

fn dropper(name: &str, chain: &Chain, how: How, is_certain: bool) -> Dropper {
    Dropper {
        chain: name.to_owned(),
        how,
        is_certain,
        fix: chain.fix.clone(),
    }
}

impl fmt::Display for Dropper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = &self.chain;
        let what = match (self.how, self.is_certain) {
            (How::Policy, _) => "drops by policy every packet that no rule accepts",
            (How::Drops, true) => "has a rule that drops every packet that no earlier rule accepts",
            (How::Rejects, true) => {
                "has a rule that rejects every packet that no earlier rule accepts"
            }
            (How::Drops, false) => "has a rule that drops some packets",
            (How::Rejects, false) => "has a rule that rejects some packets",
        };
        write!(f, "chain `{chain}` of the packet filter {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{legacy, nft},
        *,
    };

    fn shown(chains: &Chains, direction: Direction) -> Vec<String> {
        let droppers = chains.droppers(direction);
        droppers.iter().map(ToString::to_string).collect()
    }

    /// The input is the last rule of firewalld, in the JSON that nft 1.0.6 prints.
    #[test]
    fn a_final_reject_drops_what_no_rule_accepts() {
        let listing = r#"{"nftables": [
            {"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
            {"table": {"family": "inet", "name": "firewalld", "handle": 1}},
            {"chain": {"family": "inet", "table": "firewalld", "name": "filter_INPUT", "handle": 1,
                       "type": "filter", "hook": "input", "prio": 10, "policy": "accept"}},
            {"chain": {"family": "inet", "table": "firewalld", "name": "filter_IN_public", "handle": 2}},
            {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "handle": 3, "expr": [
                {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established"]}},
                {"accept": null}]}},
            {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "handle": 4, "expr": [
                {"match": {"op": "==", "left": {"ct": {"key": "state"}}, "right": "invalid"}},
                {"drop": null}]}},
            {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "handle": 5,
                      "expr": [{"jump": {"target": "filter_IN_public"}}]}},
            {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "handle": 6,
                      "expr": [{"reject": {"type": "icmpx", "expr": "admin-prohibited"}}]}}]}"#;
        let chains = nft::parse(listing.as_bytes()).unwrap();
        let chain = "chain `inet firewalld filter_INPUT` of the packet filter";
        assert_eq!(
            shown(&chains, Direction::In),
            [
                format!("{chain} has a rule that drops some packets"),
                format!(
                    "{chain} has a rule that rejects every packet that no earlier rule accepts"
                ),
            ]
        );
        assert_eq!(shown(&chains, Direction::Out), [""; 0]);
        let fix = &chains.droppers(Direction::In)[1].fix;
        assert_eq!(fix, "firewall-cmd --add-port=4791/udp");
    }

    /// The listing contains rules made by `iptables-nft` 1.8.9, whose targets nft cannot parse, and the policy of a
    /// chain.
    #[test]
    fn rules_of_iptables_are_read_as_nft_lists_them() {
        let listing = r#"{"nftables": [
            {"chain": {"family": "ip", "table": "filter", "name": "INPUT", "handle": 1, "type": "filter",
                       "hook": "input", "prio": 0, "policy": "accept"}},
            {"chain": {"family": "ip", "table": "filter", "name": "OUTPUT", "handle": 4, "type": "filter",
                       "hook": "output", "prio": 0, "policy": "drop"}},
            {"chain": {"family": "ip6", "table": "filter", "name": "INPUT", "handle": 1, "type": "filter",
                       "hook": "input", "prio": 0, "policy": "drop"}},
            {"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 3, "expr": [
                {"counter": {"packets": 0, "bytes": 0}}, {"xt": {"type": "target", "name": "REJECT"}}]}},
            {"rule": {"family": "ip", "table": "filter", "chain": "OUTPUT", "handle": 5, "expr": [
                {"limit": {"rate": 1, "burst": 5, "per": "second"}}, {"drop": null}]}}]}"#;
        let chains = nft::parse(listing.as_bytes()).unwrap();
        assert_eq!(
            shown(&chains, Direction::In),
            [
                "chain `ip filter INPUT` of the packet filter has a rule that rejects every packet that no earlier rule accepts"
            ]
        );
        let chain = "chain `ip filter OUTPUT` of the packet filter";
        assert_eq!(
            shown(&chains, Direction::Out),
            [
                format!("{chain} has a rule that drops some packets"),
                format!("{chain} drops by policy every packet that no rule accepts"),
            ]
        );
        let fix = &chains.droppers(Direction::Out)[0].fix;
        assert_eq!(
            fix,
            "nft insert rule ip filter OUTPUT udp dport 4791 accept"
        );
    }

    /// The input is the output of `iptables-legacy-save` 1.8.9.
    #[test]
    fn chains_of_the_older_tables_are_followed() {
        let listing = "\
# Generated by iptables-save v1.8.9 on Tue Nov 24 12:37:20 2026
*filter
:INPUT DROP [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:ufw-user - [0:0]
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A INPUT -j ufw-user
-A OUTPUT -o eth0 -j ufw-user
-A ufw-user -j REJECT --reject-with icmp-port-unreachable
COMMIT
";
        let chains = legacy::parse(listing);
        assert_eq!(
            shown(&chains, Direction::In),
            [
                "chain `filter ufw-user` of the packet filter has a rule that rejects every packet that no earlier rule accepts",
                "chain `filter INPUT` of the packet filter drops by policy every packet that no rule accepts",
            ]
        );
        assert_eq!(
            shown(&chains, Direction::Out),
            ["chain `filter ufw-user` of the packet filter has a rule that rejects some packets"]
        );
        let fix = &chains.droppers(Direction::In)[1].fix;
        assert_eq!(
            fix,
            "iptables-legacy -I INPUT -p udp --dport 4791 -j ACCEPT"
        );
    }
}
