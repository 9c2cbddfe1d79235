//! Tests that labs leave no objects behind, and do not affect foreign objects.

use std::process::Command;

use tokio_util::sync::CancellationToken;

use super::{ANSWERED, bring_up, host, inside, left, options, ping, reserve, up, without_a_trace};
use crate::{
    exec::netns,
    journal::LabState,
    lab::{Lab, LabErrorKind, LabProgress, Phase, ReservationError, bench_up_down, status},
    lower::{HostPlacement, LowerOptions},
    testing::{self, Machine, isolated, skipped},
};

#[test]
fn a_lab_that_was_up_leaves_the_machine_unchanged() {
    isolated(|| {
        create_foreign_objects();
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let before = Machine::read();
            let lab = up("t", hosts, testing::testbed);
            assert_ne!(before, Machine::read());
            assert_eq!(left(lab.down()), Vec::<String>::new());
            before.assert_unchanged();
        }
    });
}

#[test]
fn two_labs_run_side_by_side() {
    without_a_trace(|_| {
        let mut first = up("a", HostPlacement::RootNamespace, testing::pair);
        let mut second = up("b", HostPlacement::RootNamespace, testing::pair);
        assert_ne!(first.plan().slot, second.plan().slot);
        let answers = |lab: &mut Lab| {
            let from = host(lab, "dc1/h1");
            let to = host(lab, "dc2/h1");
            ping(lab, from, to, ANSWERED)
        };
        assert!(answers(&mut first) && answers(&mut second));
        let listed = status().unwrap();
        let states: Vec<_> = listed
            .iter()
            .map(|lab| (lab.lab.as_str(), lab.state))
            .collect();
        assert_eq!(states, [("a", LabState::Live), ("b", LabState::Live)]);
        assert_eq!((listed[0].switches, listed[0].hosts), (2, 2));
        assert!(first.down().is_empty());
        assert!(answers(&mut second));
        assert!(second.down().is_empty());
    });
}

/// The kernel tries rules in the order of their priorities, and the first lookup that finds a route decides. The
/// machine has the rules of a VRF, of Tailscale with an exit node and of wg-quick, and an early lookup of `main`. Each
/// of the tables has a default route, and none has a route to the lab.
#[test]
fn a_lab_beside_vpns_gets_its_packets() {
    isolated(|| {
        create_foreign_objects();
        sh("ip route add default via 192.168.7.2 dev user0");
        sh("ip rule add pref 100 lookup main");
        sh("ip rule add pref 1000 l3mdev");
        sh("ip rule add pref 5210 fwmark 0x80000/0xff0000 lookup main");
        sh("ip rule add pref 5270 lookup 77");
        sh("ip rule add pref 32765 not fwmark 0xca6c lookup 77");
        let mut lab = up("t", HostPlacement::RootNamespace, testing::pair);
        let from = host(&lab, "dc1/h1");
        let to = host(&lab, "dc2/h1");
        assert!(ping(&mut lab, from, to, ANSWERED));
    });
}

#[test]
fn a_rule_that_takes_a_labs_packets_is_named() {
    isolated(|| {
        create_foreign_objects();
        sh("ip rule add pref 10 fwmark 0x200/0xf00 lookup 77");
        sh("ip rule add pref 11 iif user0 lookup 77");
        let lab = up("t", HostPlacement::RootNamespace, testing::pair);
        lab.check_rules().unwrap();
        // The kernel inserts this rule in front of the second existing rule, with priority 9.
        sh("ip rule add not fwmark 0xca6c lookup 77");
        let expected =
            "rule `9: not from all fwmark 0xca6c lookup 77` of this machine diverts the packets";
        let error = lab.check_rules().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(left(lab.down()), Vec::<String>::new());
        let reservation = reserve("t").unwrap();
        let plan = testing::pair(reservation.slot());
        let error = |reservation, hosts| bring_up(reservation, &plan, &options("t", hosts));
        let refused = error(reservation, HostPlacement::RootNamespace).unwrap_err();
        assert!(refused.to_string().starts_with(expected), "{refused}");
        // The rule does not affect hosts that are in their own namespaces.
        error(reserve("t").unwrap(), HostPlacement::OwnNamespace).unwrap();
    });
}

#[test]
fn a_cancellation_undoes_all_applied_steps() {
    without_a_trace(|before| {
        for phase in [Phase::Namespaces, Phase::Links, Phase::Nodes, Phase::Check] {
            let cancel = CancellationToken::new();
            let mut seen = false;
            let mut stop = |progress: LabProgress| {
                if progress.phase == phase {
                    seen = true;
                    cancel.cancel();
                }
            };
            let reservation = reserve("t").unwrap();
            let plan = testing::testbed(reservation.slot());
            let options = options("t", HostPlacement::RootNamespace);
            let error = Lab::up(reservation, &plan, &options, &cancel, &mut stop).unwrap_err();
            assert!(matches!(error.kind, LabErrorKind::Cancelled), "{error}");
            assert!(error.left.is_empty() && seen, "{error}");
            before.assert_unchanged();
        }
    });
}

#[test]
fn a_failing_step_undoes_all_applied_steps_and_is_named() {
    without_a_trace(|_| {
        let reservation = reserve("t").unwrap();
        let mut plan = testing::testbed(reservation.slot());
        plan.rdma.interface_mtu = 100_000;
        let options = options("t", HostPlacement::RootNamespace);
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        assert!(error.left.is_empty(), "{error}");
        let text = error.to_string();
        for part in ["mtu 100000", "Invalid argument"] {
            assert!(text.contains(part), "{text}");
        }
    });
}

#[test]
fn a_missing_module_is_named_with_the_kernels_error() {
    without_a_trace(|_| {
        if crate::doctor::missing_here().is_empty() {
            return skipped("this kernel lacks nothing");
        }
        let reservation = reserve("t").unwrap();
        let plan = testing::pair(reservation.slot());
        let options = LowerOptions {
            delay_lines: true,
            ..options("t", HostPlacement::RootNamespace)
        };
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        let text = error.to_string();
        for part in ["hint: `modprobe ", "(os error 2): "] {
            assert!(text.contains(part), "{text}");
        }
    });
}

#[test]
fn a_plan_for_another_slot_is_refused() {
    without_a_trace(|_| {
        let reservation = reserve("t").unwrap();
        let plan = testing::pair(reservation.slot() + 1);
        let options = options("t", HostPlacement::RootNamespace);
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        let is_other = matches!(error.kind, LabErrorKind::OtherReservation { .. });
        assert!(is_other, "{error}");
    });
}

#[test]
fn a_foreign_namespace_with_a_name_of_the_lab_is_left_alone() {
    isolated(|| {
        sh("ip netns add lcmp-t-dc2");
        let reservation = reserve("t").unwrap();
        let plan = testing::pair(reservation.slot());
        let lab = reservation.lab().clone();
        let options = options("t", HostPlacement::OwnNamespace);
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        let exists = |kind: &LabErrorKind| match kind {
            LabErrorKind::Exists { name, .. } => name == "lcmp-t-dc2",
            _ => false,
        };
        assert!(exists(&error.kind), "{error}");
        assert!(netns::path(&lab.netns("dc2")).exists());
        assert!(!netns::path(&lab.netns("dc1")).exists());
    });
}

#[test]
fn a_namespace_that_replaced_one_of_the_lab_is_left_alone() {
    isolated(|| {
        let lab = up("t", HostPlacement::OwnNamespace, testing::pair);
        let name = lab.name().clone();
        sh("ip netns del lcmp-t-dc2");
        sh("ip netns add lcmp-t-dc2");
        assert_eq!(
            left(lab.down()),
            ["`/run/netns/lcmp-t-dc2` was not created by the lab, so it is left unchanged"]
        );
        assert!(netns::path(&name.netns("dc2")).exists());
        assert!(!netns::path(&name.netns("dc1")).exists());
    });
}

#[test]
fn processes_of_a_lab_end_with_it() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair);
        let mut sleeping = Command::new("sleep");
        let mut recorded = sleeping.arg("1000").spawn().unwrap();
        lab.record_process(recorded.id()).unwrap();
        // This process does not belong to the lab, but runs in a namespace of the lab.
        let mut foreign = inside(&lab.name().netns("dc1"));
        let mut bystander = sleeping.spawn().unwrap();
        assert_eq!(left(lab.down()), Vec::<String>::new());
        assert!(!recorded.wait().unwrap().success());
        assert!(!foreign.wait().unwrap().success());
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    });
}

#[test]
fn a_dropped_reservation_leaves_nothing() {
    without_a_trace(|_| {
        let _reservation = reserve("t").unwrap();
        assert_eq!(status().unwrap().len(), 1);
        let again = reserve("t");
        assert!(matches!(again, Err(ReservationError::Live { .. })));
    });
}

#[test]
#[expect(clippy::print_stdout, reason = "it is a measurement")]
fn the_eight_fabrics_come_up_and_down_again() {
    isolated(|| {
        for (hosts, namespaces) in [
            (HostPlacement::OwnNamespace, 184 + 1),
            (HostPlacement::RootNamespace, 184 - 128 + 1),
        ] {
            let reservation = reserve("t").unwrap();
            let plan = testing::fabrics(reservation.slot());
            let cancel = CancellationToken::new();
            let took = bench_up_down(reservation, &plan, &options("t", hosts), &cancel).unwrap();
            println!("{took:?}");
            assert_eq!((took.namespaces, took.links), (namespaces, 220 + 12));
        }
    });
}

/// Creates objects of a user of the machine that overlap with the lab's objects as far as possible.
pub(super) fn create_foreign_objects() {
    sh("ip link add user0 type veth peer name user1");
    sh("ip addr add 192.168.7.1/24 dev user0");
    sh("ip link set user0 up");
    sh("ip link set user1 up");
    sh("ip route add 10.0.0.0/8 via 192.168.7.2 dev user0");
    sh("ip rule add pref 100 from 192.168.7.1 lookup 77");
    sh("ip route add default via 192.168.7.2 dev user0 table 77");
    sh("ip netns add user");
}

pub(super) fn sh(line: &str) {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap());
    let status = command.args(words).status().unwrap();
    assert!(status.success(), "{line}");
}
