//! Labs and the machine they are on: what is left of it, what is left alone.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{ANSWERED, bring_up, host, left, options, ping, up};
use crate::{
    exec::netns,
    journal::LabState,
    lab::{
        Lab, LabErrorKind, Phase, Progress, Reservation, ReservationError, bench_up_down, status,
    },
    lower::{HostPlacement, LowerOptions},
    name::LabName,
    testing::{self, Machine, isolated, skipped},
};

#[test]
fn what_was_up_and_down_leaves_the_machine_as_it_was() {
    isolated(|| {
        make_foreign_things();
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let before = Machine::read();
            let lab = up("t", hosts, testing::testbed).unwrap();
            assert_ne!(before, Machine::read());
            assert_eq!(left(lab.down()), Vec::<String>::new());
            before.assert_unchanged();
        }
    });
}

#[test]
fn two_labs_stand_side_by_side() {
    isolated(|| {
        let before = Machine::read();
        let mut first = up("a", HostPlacement::RootNamespace, testing::pair).unwrap();
        let mut second = up("b", HostPlacement::RootNamespace, testing::pair).unwrap();
        assert_ne!(first.plan().slot, second.plan().slot);
        for lab in [&mut first, &mut second] {
            let (from, to) = (host(lab, "dc1/h1"), host(lab, "dc2/h1"));
            assert!(ping(lab, from, to, ANSWERED));
        }
        let listed = status().unwrap();
        let states: Vec<_> = listed
            .iter()
            .map(|lab| (lab.lab.as_str(), lab.state))
            .collect();
        assert_eq!(states, [("a", LabState::Live), ("b", LabState::Live)]);
        assert_eq!((listed[0].switches, listed[0].hosts), (2, 2));
        assert!(first.down().is_empty());
        let (from, to) = (host(&second, "dc1/h1"), host(&second, "dc2/h1"));
        assert!(ping(&mut second, from, to, ANSWERED));
        assert!(second.down().is_empty());
        before.assert_unchanged();
    });
}

#[test]
fn stopping_midway_undoes_what_was_made() {
    isolated(|| {
        let before = Machine::read();
        for phase in [Phase::Namespaces, Phase::Links, Phase::Nodes, Phase::Check] {
            let cancel = CancellationToken::new();
            let mut seen = false;
            let mut stop = |progress: Progress| {
                if progress.phase == phase {
                    seen = true;
                    cancel.cancel();
                }
            };
            let lab = "t".parse().unwrap();
            let reservation = Reservation::acquire(&lab, "test").unwrap();
            let plan = testing::testbed(reservation.slot());
            let options = options(lab, HostPlacement::RootNamespace);
            let error = Lab::up(reservation, &plan, &options, &cancel, &mut stop).unwrap_err();
            assert!(matches!(error.kind, LabErrorKind::Cancelled), "{error}");
            assert!(error.left.is_empty() && seen, "{error}");
            before.assert_unchanged();
        }
    });
}

#[test]
fn a_step_that_fails_undoes_what_was_made_and_says_why() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = "t".parse().unwrap();
        let reservation = Reservation::acquire(&lab, "test").unwrap();
        let mut plan = testing::testbed(reservation.slot());
        plan.rdma.interface_mtu = 100_000;
        let options = options(lab, HostPlacement::RootNamespace);
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        assert!(error.left.is_empty(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("mtu 100000") && text.contains("Invalid argument"),
            "{text}"
        );
        before.assert_unchanged();
    });
}

#[test]
fn a_module_that_is_missing_is_named_with_the_kernels_own_words() {
    isolated(|| {
        let before = Machine::read();
        let missing = crate::doctor::missing_here();
        if missing.is_empty() {
            return skipped("this kernel lacks nothing");
        }
        let lab: LabName = "t".parse().unwrap();
        let reservation = Reservation::acquire(&lab, "test").unwrap();
        let plan = testing::pair(reservation.slot());
        let options = LowerOptions {
            delay_lines: true,
            ..options(lab, HostPlacement::RootNamespace)
        };
        let text = bring_up(reservation, &plan, &options)
            .unwrap_err()
            .to_string();
        assert!(text.contains("hint: `modprobe "), "{text}");
        assert!(text.contains("(os error 2): "), "{text}");
        before.assert_unchanged();
    });
}

#[test]
fn a_plan_for_another_place_is_refused() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = "t".parse().unwrap();
        let reservation = Reservation::acquire(&lab, "test").unwrap();
        let plan = testing::pair(reservation.slot() + 1);
        let options = options(lab, HostPlacement::RootNamespace);
        let error = bring_up(reservation, &plan, &options).unwrap_err();
        assert!(
            matches!(error.kind, LabErrorKind::OtherReservation { .. }),
            "{error}"
        );
        before.assert_unchanged();
    });
}

#[test]
fn what_has_a_name_of_the_labs_is_never_touched() {
    isolated(|| {
        let lab: LabName = "t".parse().unwrap();
        sh("ip netns add lcmp-t-dc2");
        let refused = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap_err();
        let text = format!("{refused:?}");
        assert!(
            text.contains("lcmp-t-dc2") && text.contains("Exists"),
            "{text}"
        );
        assert!(netns::path(&lab.netns("dc2")).exists());
        assert!(!netns::path(&lab.netns("dc1")).exists());
    });
}

#[test]
fn what_took_the_place_of_a_namespace_of_the_lab_is_left_alone() {
    isolated(|| {
        let lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        sh("ip netns del lcmp-t-dc2");
        sh("ip netns add lcmp-t-dc2");
        let errors = left(lab.down());
        assert_eq!(
            errors,
            ["`/run/netns/lcmp-t-dc2` is not what the lab made, it is left as it is"]
        );
        let name: LabName = "t".parse().unwrap();
        assert!(netns::path(&name.netns("dc2")).exists());
        assert!(!netns::path(&name.netns("dc1")).exists());
    });
}

#[test]
fn processes_of_a_lab_end_with_it() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        let mut sleeping = Command::new("sleep");
        let mut recorded = sleeping.arg("1000").spawn().unwrap();
        lab.record_process(recorded.id()).unwrap();
        // Started by someone else in a namespace of the lab.
        let mut guest = Command::new("ip")
            .args(["netns", "exec", "lcmp-t-dc1", "sleep", "1000"])
            .spawn()
            .unwrap();
        let name = netns::path(&lab.name().netns("dc1"));
        let deadline = Instant::now() + Duration::from_secs(60);
        let pid = i32::try_from(guest.id()).unwrap();
        while crate::process::netns_inode(pid) != crate::process::inode(&name) {
            assert!(Instant::now() < deadline);
        }
        let mut bystander = sleeping.spawn().unwrap();
        assert_eq!(left(lab.down()), Vec::<String>::new());
        assert!(!recorded.wait().unwrap().success());
        assert!(!guest.wait().unwrap().success());
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    });
}

#[test]
fn a_claim_that_is_dropped_leaves_nothing() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = "t".parse().unwrap();
        let reservation = Reservation::acquire(&lab, "test").unwrap();
        assert_eq!(status().unwrap().len(), 1);
        assert!(matches!(
            Reservation::acquire(&lab, "test"),
            Err(ReservationError::Live { .. })
        ));
        drop(reservation);
        before.assert_unchanged();
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
            let lab: LabName = "t".parse().unwrap();
            let reservation = Reservation::acquire(&lab, "test").unwrap();
            let plan = testing::fabrics(reservation.slot());
            let options = options(lab, hosts);
            let took =
                bench_up_down(reservation, &plan, &options, &CancellationToken::new()).unwrap();
            println!("{took:?}");
            assert_eq!((took.namespaces, took.links), (namespaces, 220 + 12));
        }
    });
}

/// Things of the machine's user, in the way as far as they can be.
fn make_foreign_things() {
    sh("ip link add user0 type veth peer name user1");
    sh("ip addr add 192.168.7.1/24 dev user0");
    sh("ip link set user0 up");
    sh("ip link set user1 up");
    sh("ip route add 10.0.0.0/8 via 192.168.7.2 dev user0");
    sh("ip rule add pref 100 from 192.168.7.1 lookup 77");
    sh("ip route add default via 192.168.7.2 dev user0 table 77");
    sh("ip netns add user");
}

fn sh(line: &str) {
    let mut words = line.split(' ');
    let status = Command::new(words.next().unwrap())
        .args(words)
        .status()
        .unwrap();
    assert!(status.success(), "{line}");
}
