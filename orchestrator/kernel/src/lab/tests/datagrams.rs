//! Tests of the hosts' datagrams on a machine that has packet filters and rules.

use std::{collections::BTreeSet, fs, process::Command};

use tokio_util::sync::CancellationToken;

use super::{
    machine::{create_foreign_objects, sh},
    up,
};
use crate::{
    certify::{self, Loss},
    doctor,
    lab::Lab,
    lower::HostPlacement,
    testing::{self, isolated, skipped},
};

/// Packet filter that drops a lab's datagrams.
struct Filter {
    /// Program that creates the filter.
    program: &'static str,
    /// Shell commands that create the filter.
    make: &'static str,
    /// Expected texts: where the datagrams are lost, and which chain of the filter drops them.
    expected: [&'static str; 2],
}

/// Filters, each of which drops every datagram of the lab. The place of the loss depends on the hook: in `output` and
/// `postrouting`, sending fails with EPERM; in `prerouting` and `input`, datagrams are dropped after the NIC.
const FILTERS: [Filter; 7] = [
    Filter {
        program: "nft",
        make: "nft add table inet a
               nft 'add chain inet a in { type filter hook input priority 0; policy drop; }'",
        expected: [
            "reached its NIC but not its sockets",
            "chain `inet a in` of the packet filter drops by policy every packet that no rule accepts",
        ],
    },
    // A filter like that of firewalld.
    Filter {
        program: "nft",
        make: "nft add table inet a
               nft 'add chain inet a in { type filter hook input priority 10; policy accept; }'
               nft add rule inet a in ct state established,related accept
               nft add rule inet a in iifname lo accept
               nft add rule inet a in reject with icmpx admin-prohibited",
        expected: [
            "reached its NIC but not its sockets",
            "chain `inet a in` of the packet filter has a rule that rejects every packet that no earlier rule accepts",
        ],
    },
    Filter {
        program: "nft",
        make: "nft add table ip a
               nft 'add chain ip a pre { type filter hook prerouting priority 0; policy accept; }'
               nft add rule ip a pre udp dport 4791 drop",
        expected: [
            "reached its NIC but not its sockets",
            "chain `ip a pre` of the packet filter has a rule that drops some packets",
        ],
    },
    Filter {
        program: "nft",
        make: "nft add table ip a
               nft 'add chain ip a out { type filter hook output priority 0; policy drop; }'",
        expected: [
            "were refused: Operation not permitted (os error 1)",
            "chain `ip a out` of the packet filter drops by policy every packet that no rule accepts",
        ],
    },
    Filter {
        program: "nft",
        make: "nft add table ip a
               nft 'add chain ip a post { type filter hook postrouting priority 0; policy drop; }'",
        expected: [
            "were refused: Operation not permitted (os error 1)",
            "chain `ip a post` of the packet filter drops by policy every packet that no rule accepts",
        ],
    },
    Filter {
        program: "iptables-legacy",
        make: "iptables-legacy -P INPUT DROP",
        expected: [
            "reached its NIC but not its sockets",
            "chain `filter INPUT` of the packet filter drops by policy every packet that no rule accepts",
        ],
    },
    Filter {
        program: "iptables-legacy",
        make: "iptables-legacy -N last
               iptables-legacy -A last -j REJECT
               iptables-legacy -A OUTPUT -j last",
        expected: [
            "were refused: Operation not permitted (os error 1)",
            "chain `filter last` of the packet filter has a rule that rejects every packet that no earlier rule accepts",
        ],
    },
];

#[test]
fn datagrams_come_to_every_host_of_a_lab() {
    isolated(|| {
        // With `rp_filter` on, as in some distributions, the kernel also looks up senders, and the lab's rules must
        // match these lookups.
        for (hosts, rp_filter) in [
            (HostPlacement::RootNamespace, "0"),
            (HostPlacement::RootNamespace, "1"),
            (HostPlacement::OwnNamespace, "0"),
        ] {
            fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", rp_filter).unwrap();
            let mut lab = up("t", hosts, testing::testbed);
            let deliveries = certify::deliveries(&mut lab, &CancellationToken::new()).unwrap();
            let counts = deliveries.iter().map(|it| (it.left, it.came, it.delivered));
            // Each of eight hosts sends 20 datagrams.
            assert_eq!(
                counts.collect::<Vec<_>>(),
                [(20, 20, 20); 8],
                "{hosts:?} {rp_filter}"
            );
            let senders = deliveries.iter().map(|it| &it.names[0]);
            assert_eq!(senders.collect::<BTreeSet<_>>().len(), 8);
            let dc = |name: &str| name.split('/').next().map(str::to_owned);
            assert!(
                deliveries
                    .iter()
                    .all(|it| dc(&it.names[0]) != dc(&it.names[1]))
            );
            let losses = certify::losses(&lab, &deliveries).unwrap();
            assert_eq!(texts(&losses), [""; 0]);
        }
    });
}

#[test]
fn a_packet_filter_that_drops_datagrams_is_named_and_its_hint_ends_the_loss() {
    isolated(|| {
        for filter in FILTERS {
            if let Some(reason) = cannot_make(&filter) {
                skipped(&reason);
                continue;
            }
            let mut lab = up("t", HostPlacement::RootNamespace, testing::pair);
            assert_eq!(texts(&losses(&mut lab)), [""; 0], "{}", filter.make);
            script(filter.make);
            let found = losses(&mut lab);
            // Both hosts send, and all datagrams are lost.
            assert_eq!(found.len(), 2, "{}", filter.make);
            for loss in &found {
                let text = loss.to_string();
                assert!(text.starts_with("20 of 20 datagrams of `dc"), "{text}");
                for part in filter.expected {
                    assert!(text.contains(part), "{part}: {text}");
                }
            }
            script(found[0].fix().unwrap());
            assert_eq!(texts(&losses(&mut lab)), [""; 0], "{}", filter.make);
            script(
                "nft flush ruleset; iptables-legacy -F; iptables-legacy -X; iptables-legacy -P INPUT ACCEPT; true",
            );
        }
    });
}

#[test]
fn the_doctor_tries_datagrams_and_names_what_drops_them() {
    isolated(|| {
        let tried = || {
            let findings = doctor::datagrams();
            let lines = findings.iter().map(ToString::to_string);
            lines.collect::<Vec<_>>().join("\n")
        };
        let why = "hosts in the root namespace send to one another on UDP port 4791";
        let passed = format!(
            "ok    datagrams: all 40 datagrams passed the machine's rules and packet filters; {why}"
        );
        assert_eq!(tried(), passed);
        for filter in FILTERS {
            if let Some(reason) = cannot_make(&filter) {
                skipped(&reason);
                continue;
            }
            script(filter.make);
            let text = tried();
            assert!(text.starts_with("fail  datagrams: 20 of 20"), "{text}");
            for part in filter.expected {
                assert!(text.contains(part), "{part}: {text}");
            }
            script(
                "nft flush ruleset; iptables-legacy -F; iptables-legacy -X; iptables-legacy -P INPUT ACCEPT; true",
            );
        }
        create_foreign_objects();
        sh("ip rule add pref 5 lookup 77");
        let text = tried();
        let expected =
            "fail  datagrams: rule `5: from all lookup 77` of this machine diverts the packets";
        assert!(text.starts_with(expected), "{text}");
    });
}

#[test]
fn connections_are_counted_where_a_packet_filter_tracks_them() {
    isolated(|| {
        let filter = &FILTERS[1];
        if let Some(reason) = cannot_make(filter) {
            return skipped(&reason);
        }
        let tracked = || {
            let findings = doctor::datagrams();
            findings.len() == 2 && findings[1].subject == "tracked connections"
        };
        assert!(!tracked());
        script(
            "nft add table inet a
             nft 'add chain inet a in { type filter hook input priority 10; policy accept; }'
             nft add rule inet a in ct state established,related accept",
        );
        assert!(tracked());
    });
}

#[test]
fn a_rule_that_takes_datagrams_is_the_cause_of_their_loss() {
    isolated(|| {
        create_foreign_objects();
        for (rule, place) in [
            // The default route of the table does not lead through the sender's NIC.
            ("pref 5 lookup 77", "reached its NIC but not its sockets"),
            // For a socket that is bound to an interface, the kernel treats a destination without a route as on-link,
            // and no node on the link has its address (`ip_route_output_key_hash_rcu`).
            ("pref 5 blackhole", "did not reach the sender's switch"),
        ] {
            let mut lab = up("t", HostPlacement::RootNamespace, testing::pair);
            sh(&format!("ip rule add {rule}"));
            let found = texts(&losses(&mut lab));
            let rule = rule.replace("pref 5", "5: from all");
            let expected = format!(
                "{place} (likely cause: rule `{rule}` of this machine, which precedes the lab's rules) (hint: \
                 `ip rule del pref 5`, and add the rule again with a priority above 79)"
            );
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found.iter().all(|it| it.ends_with(&expected)), "{found:?}");
            sh("ip rule del pref 5");
            assert_eq!(texts(&losses(&mut lab)), [""; 0]);
        }
    });
}

/// Sends datagrams from every host, and returns the losses that were found.
fn losses(lab: &mut Lab) -> Vec<Loss> {
    let deliveries = certify::deliveries(lab, &CancellationToken::new()).unwrap();
    certify::losses(lab, &deliveries).unwrap()
}

fn texts(losses: &[Loss]) -> Vec<String> {
    losses.iter().map(ToString::to_string).collect()
}

fn cannot_make(filter: &Filter) -> Option<String> {
    let is_missing = which::which(filter.program).is_err();
    is_missing.then(|| format!("`{}` is not installed", filter.program))
}

fn script(lines: &str) {
    let status = Command::new("sh").args(["-c", lines]).status().unwrap();
    assert!(status.success(), "{lines}");
}
