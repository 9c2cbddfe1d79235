//! Packets in labs without delay lines.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use lab_plan::model::FaultChange;

use super::{counters, fault, host, ping, up};
use crate::{
    lab::Lab,
    lower::HostPlacement,
    testing::{self, isolated},
};

#[test]
fn packets_cross_the_lab_between_hosts_wherever_these_are() {
    isolated(|| {
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let mut lab = up("t", hosts, testing::testbed).unwrap();
            let (from, to) = (host(&lab, "dc1/h1"), host(&lab, "dc8/h4"));
            let carried = |lab: &Lab| {
                counters(lab, host(lab, "dc1"))
                    .into_iter()
                    .map(|port| port.tx_packets)
                    .collect::<Vec<_>>()
            };
            let before = carried(&lab);
            assert!(ping(&mut lab, from, to), "{hosts:?}");
            let after = carried(&lab);
            let grown = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| after > before);
            // One of the six ways, and the host's own link.
            assert_eq!(grown.count(), 2, "{before:?} {after:?}");
        }
    });
}

#[test]
fn a_cut_link_loses_its_carrier_and_gets_it_back() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        let (from, to) = (host(&lab, "dc1/h1"), host(&lab, "dc2/h1"));
        assert!(ping(&mut lab, from, to));
        fault(&mut lab, FaultChange::Down);
        assert!(!ping(&mut lab, from, to));
        fault(&mut lab, FaultChange::Up);
        let patience = Instant::now() + Duration::from_secs(10);
        while !ping(&mut lab, from, to) {
            assert!(Instant::now() < patience);
        }
    });
}

#[test]
fn a_program_on_a_node_sees_the_nodes_interfaces() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::RootNamespace, testing::pair).unwrap();
        let (switch, root) = (host(&lab, "dc1"), host(&lab, "dc1/h1"));
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
