//! Tests of packets in labs without delay lines.

use std::process::Command;

use lab_plan::model::FaultChange;

use super::{ANSWERED, fault, host, ping, up};
use crate::{
    lab::Lab,
    lower::HostPlacement,
    testing::{self, isolated},
};

#[test]
fn packets_cross_the_lab_with_hosts_in_either_placement() {
    isolated(|| {
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let mut lab = up("t", hosts, testing::testbed);
            let from = host(&lab, "dc1/h1");
            let to = host(&lab, "dc8/h4");
            let sent = |lab: &mut Lab| -> Vec<u64> {
                let switch = host(lab, "dc1");
                lab.counters(switch)
                    .unwrap()
                    .into_iter()
                    .map(|port| port.tx_packets)
                    .collect()
            };
            let before = sent(&mut lab);
            assert!(ping(&mut lab, from, to, ANSWERED), "{hosts:?}");
            let after = sent(&mut lab);
            let used = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| after > before);
            // The packets crossed one of the six paths, and the host's own link.
            assert_eq!(used.count(), 2, "{before:?} {after:?}");
        }
    });
}

#[test]
fn a_cut_link_loses_its_carrier_and_gets_it_back() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair);
        let from = host(&lab, "dc1/h1");
        let to = host(&lab, "dc2/h1");
        assert!(ping(&mut lab, from, to, ANSWERED));
        fault(&mut lab, FaultChange::Down);
        assert!(!ping(&mut lab, from, to, 1));
        fault(&mut lab, FaultChange::Up);
        // Echoes may be lost until the link has its carrier again.
        assert!((0..ANSWERED).any(|_| ping(&mut lab, from, to, 1)));
    });
}

#[test]
fn a_queue_that_somebody_changes_is_seen_after_flows_and_what_a_fault_changes_is_not() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair);
        let altered = |lab: &mut Lab| {
            let injected = lab.plan().faults.clone();
            let found = lab.altered(&injected).unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let slower = testing::wire("50 Mbit", "25 ms", "620 kB");
        for change in [FaultChange::Wire(slower), FaultChange::Down] {
            fault(&mut lab, change);
            assert_eq!(altered(&mut lab), [""; 0]);
            // If the injected fault is not taken into account, the difference looks like another program's change.
            let injected = lab.plan().faults.clone();
            let before = &injected[..injected.len() - 1];
            assert!(!lab.altered(before).unwrap().is_empty());
        }
        fault(&mut lab, FaultChange::Up);
        // The link has its carrier again after a moment.
        assert!((0..ANSWERED).any(|_| altered(&mut lab).is_empty()));

        let changed =
            "qdisc change dev l0d1-d2 root handle 1: tbf rate 1mbit burst 10kb limit 100kb";
        let mut tc = Command::new("tc");
        let changed = tc.args(["-n", "lcmp-t-dc1"]).args(changed.split(' '));
        assert!(changed.status().unwrap().success());
        let found = altered(&mut lab);
        assert!(
            matches!(found.as_slice(), [only] if only.contains("tbf of `l0d1-d2` in lcmp-t-dc1")),
            "{found:#?}"
        );
    });
}

#[test]
fn a_program_on_a_node_sees_the_nodes_interfaces() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::RootNamespace, testing::pair);
        let switch = host(&lab, "dc1");
        let root = host(&lab, "dc1/h1");
        let mut sees = |node, path: &str| {
            let mut command = Command::new("test");
            let mut child = lab.spawn_on(node, command.args(["-e", path])).unwrap();
            child.wait().unwrap().success()
        };
        assert!(sees(switch, "/sys/class/net/l0d1-d2"));
        assert!(!sees(switch, "/sys/class/net/l0d1h1"));
        assert!(sees(root, "/sys/class/net/l0d1h1"));
        assert!(sees(switch, "/sys/fs/bpf"));
    });
}
