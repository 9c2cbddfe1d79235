//! Tests of whole labs, with delay lines and RDMA devices: delays and rates are exact in virtual time. The tests need a
//! kernel with all features of a lab, such as a guest's kernel.
#![expect(clippy::print_stdout, reason = "measurements are printed for a person")]

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread::sleep,
    time::{Duration, Instant},
};

use lab_abi::dcqcn::HostCounters;
use lab_plan::model::{FaultChange, Plan, WirePlan};
use lab_units::{Bytes, NodeId};
use tokio_util::sync::CancellationToken;

use super::{
    bring_up, fault,
    owners::{Owner, assert_down},
    reserve,
};
use crate::{
    doctor,
    lab::{HostEndpoint, Lab, bench_up_down},
    lower::{HostPlacement, LowerOptions},
    testing::{self, Machine, skipped},
};

/// Lock that makes the tests run one at a time, because they share the root namespace.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn a_round_trip_takes_its_delay_and_serialisation() {
    whole_lab(|| {
        let wire = testing::wire("100 Mbit", "25 ms", "620 kB");
        let lab = up(|slot| testing::pair_over(slot, wire));
        for size in [56, 1_400, 4_000] {
            let wanted = round_trip(lab.plan(), Bytes::new(size));
            let found = ping(&lab, size);
            println!("ping of {size} B: {found:?} ns, wanted {wanted} ns");
            let exact = wanted..wanted + HANDLING;
            assert!(found.iter().all(|rtt| exact.contains(rtt)));
        }
    });
}

#[test]
fn a_link_carries_its_rate_and_its_queue_is_where_the_switch_is() {
    whole_lab(|| {
        let wire = testing::marking(testing::wire("100 Mbit", "5 ms", "620 kB"));
        let mut lab = up(|slot| {
            let mut plan = testing::pair_over(slot, wire);
            // Legacy switches mark packets with `red`.
            plan.dcs.iter_mut().for_each(|dc| dc.legacy = true);
            plan
        });
        let mut sender = start_sending(&lab, 400, 65_536);
        let mut carried = || lab.counters(NodeId(0)).unwrap()[0].tx_bytes;
        while carried() < 1_000_000 {
            sleep(Duration::from_millis(1));
        }
        let start = Instant::now();
        let before = carried();
        sleep(Duration::from_secs(1));
        let span = start.elapsed();
        let after = carried();
        let bits = u128::from(after - before) * 8;
        let rate = bits * 1_000_000_000 / span.as_nanos();
        let queues = tc(&lab);
        sender.finish();
        println!("{rate} bit/s; {queues}");
        // The rate is exact to one frame per second.
        assert!((99_930_000..100_070_000).contains(&rate), "{rate}");
        for (part, expected) in [
            ("qdisc red 10: dev l0d1-d2 parent 1:1", true),
            ("marked", true),
            ("marked 0 ", false),
            ("dropped 1", false),
        ] {
            assert_eq!(queues.contains(part), expected, "{part}: {queues}");
        }
    });
}

#[test]
fn faults_change_rate_and_delay_until_the_next_run() {
    whole_lab(|| {
        let wire = testing::marking(testing::wire("100 Mbit", "25 ms", "620 kB"));
        let mut lab = up(|slot| testing::pair_over(slot, wire));
        let slower = testing::marking(testing::wire("10 Mbit", "40 ms", "310 kB"));
        fault(&mut lab, FaultChange::Wire(slower));
        let takes = |lab: &Lab, wire| {
            let mut plan = lab.plan().clone();
            plan.links[0].emu = wire;
            let wanted = round_trip(&plan, Bytes::new(1_400));
            let found = ping(lab, 1_400);
            println!("{found:?}, wanted {wanted}");
            let exact = wanted..wanted + HANDLING;
            found.iter().all(|rtt| exact.contains(rtt))
        };
        assert!(takes(&lab, slower));
        lab.reset().unwrap();
        assert!(takes(&lab, wire));
    });
}

#[test]
fn a_reset_restarts_qp_numbers() {
    whole_lab(|| {
        let wire = testing::wire("100 Mbit", "1 ms", "620 kB");
        let mut lab = up(|slot| testing::pair_over(slot, wire));
        let qp = |lab: &Lab| {
            let output = start_sending(lab, 5, 4_096).finish();
            let line = output
                .lines()
                .find(|line| line.contains("local address"))
                .unwrap();
            line.split_whitespace().nth(5).unwrap().to_owned()
        };
        let first = qp(&lab);
        let second = qp(&lab);
        lab.reset().unwrap();
        let again = qp(&lab);
        println!("QPN {first}, {second}, after the reset {again}");
        assert_ne!(first, second);
        assert_eq!(first, again);
    });
}

#[test]
fn packets_of_hosts_with_congestion_control_are_paced_in_their_order() {
    whole_lab(|| {
        let mut lab = up(testing::paced);
        start_sending(&lab, 50, 65_536).finish();
        let maps = lab.host_maps().unwrap().expect("hosts have it");
        let senders = maps.senders().unwrap();
        let counts = maps.counts().unwrap();
        println!("{senders:?}, {counts:?}");
        let [(_, qp)] = senders.as_slice() else {
            panic!("one QP sends data");
        };
        // The flow has 50 messages of 16 packets each.
        assert_eq!((qp.packets, qp.out_of_order), (800, 0));
        assert_eq!((qp.next_in, qp.next_out), (800, 800));
        assert_eq!(counts, HostCounters::default());
        lab.reset().unwrap();
        assert!(maps.senders().unwrap().is_empty());
    });
}

#[test]
fn a_whole_lab_whose_owner_is_killed_at_any_time_can_be_taken_down_without_a_trace() {
    whole_lab(|| {
        let before = Machine::read();
        for kill in 0..20 {
            let mut owner = Owner::start("whole loop");
            sleep(Duration::from_micros(kill * 7_919 % 150_000));
            owner.kill();
            assert_down(LAB, kill);
            before.assert_unchanged();
        }
    });
}

#[test]
fn the_whole_testbed_comes_up_and_down_again() {
    whole_lab(|| {
        let reservation = reserve(LAB).unwrap();
        let plan = testing::testbed(reservation.slot());
        let options = options(HostPlacement::RootNamespace);
        let took = bench_up_down(reservation, &plan, &options, &CancellationToken::new()).unwrap();
        println!("{took:?}");
        assert_eq!((took.namespaces, took.links), (8 + 1, 12 * 2 + 8));
    });
}

/// Runs a test if this kernel has all features that a lab needs, and asserts that no object of the lab remains.
pub(super) fn whole_lab(body: impl FnOnce()) {
    let missing = doctor::missing_here();
    if let Some(finding) = missing.first() {
        return skipped(&format!("{} is missing", finding.subject));
    }
    let machine = MACHINE.lock();
    let before = Machine::read();
    body();
    before.assert_unchanged();
    drop(machine);
}

pub(super) fn up(plan: impl FnOnce(u8) -> Plan) -> Lab {
    up_with(HostPlacement::RootNamespace, plan)
}

pub(super) fn options(hosts: HostPlacement) -> LowerOptions {
    LowerOptions {
        hosts,
        ..LowerOptions::shown(LAB.parse().unwrap())
    }
}

fn up_with(hosts: HostPlacement, plan: impl FnOnce(u8) -> Plan) -> Lab {
    let reservation = reserve(LAB).unwrap();
    let plan = plan(reservation.slot());
    bring_up(reservation, &plan, &options(hosts)).unwrap()
}

/// Returns the expected round-trip time, ns, of an echo with `payload` bytes over a host link, the inter-DC link and
/// another host link.
fn round_trip(plan: &Plan, payload: Bytes) -> u64 {
    let frame = Bytes::new(payload.get() + ICMP_HEADERS);
    let one_way =
        |wire: &WirePlan| wire.delay_ns.get() + wire.rate_bps.serialize(frame).unwrap().get();
    let [between, host, ..] = plan.links.as_slice() else {
        panic!("a pair has links");
    };
    2 * (2 * one_way(&host.emu) + one_way(&between.emu))
}

/// Measures five round trips between the first host and the last host; returns the shortest and the longest, ns.
fn ping(lab: &Lab, payload: u64) -> [u64; 2] {
    let dev = lab.plan().ports[3].interface.clone();
    let to = lab.plan().nodes.last().unwrap().addr.to_string();
    let size = payload.to_string();
    let output = Command::new("ping")
        .args(["-n", "-c", "5", "-i", "0.2", "-s", &size, "-I", &dev, &to])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, figures) = text.rsplit_once("mdev = ").expect(&text);
    let mut figures = figures.split('/');
    let mut nanos = || {
        let micros = figures.next().unwrap().replace('.', "");
        micros.parse::<u64>().unwrap() * 1_000
    };
    let min = nanos();
    let _mean = nanos();
    let max = nanos();
    [min, max]
}

/// Running perftest processes: a sender and a receiver.
struct Sending {
    receiver: Child,
    sender: Child,
}

/// Starts sending messages from the first host to the last host.
fn start_sending(lab: &Lab, messages: u32, size: u32) -> Sending {
    let hosts: Vec<NodeId> = lab
        .plan()
        .dcs
        .iter()
        .flat_map(|dc| dc.hosts.clone())
        .collect();
    let from = lab.host_endpoint(hosts[0]).unwrap();
    let to = lab.host_endpoint(*hosts.last().unwrap()).unwrap();
    let command = |host: &HostEndpoint| {
        let mut command = Command::new("ib_send_bw");
        command.args(["-d", &host.rdma_device, "-x", &host.gid_index.to_string()]);
        command.args(["-n", &messages.to_string(), "-s", &size.to_string()]);
        command.args(["-m", "4096", "-u", "18", "--tclass=106", "-e", "-F"]);
        command.stdout(Stdio::piped());
        command
    };
    let receiver = command(&to).spawn().unwrap();
    sleep(Duration::from_millis(500));
    let sender = command(&from).arg("127.0.0.1").spawn().unwrap();
    Sending { receiver, sender }
}

impl Sending {
    /// Waits until sender and receiver have ended, and returns the sender's output.
    fn finish(&mut self) -> String {
        let mut text = String::new();
        let mut stdout = self.sender.stdout.take().unwrap();
        stdout.read_to_string(&mut text).unwrap();
        assert!(self.sender.wait().unwrap().success(), "{text}");
        assert!(self.receiver.wait().unwrap().success());
        text
    }
}

fn tc(lab: &Lab) -> String {
    let netns = lab.name().netns("dc1");
    let output = Command::new("tc")
        .args(["-n", netns.as_str(), "-s", "qdisc", "show"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

pub(super) const LAB: &str = "whole";

/// Total size of the Ethernet (14), IPv4 (20) and ICMP (8) headers, bytes.
const ICMP_HEADERS: u64 = 42;

/// Maximum time that the guest's only CPU spends on handling an echo and its reply, ns.
const HANDLING: u64 = 100_000;
