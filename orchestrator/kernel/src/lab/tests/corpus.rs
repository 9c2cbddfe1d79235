//! Corpus of broken labs. A fault injector breaks one thing in a lab that is up, and the lab must be rejected for the
//! right reason: either read-back finds a difference from the plan, or the measurement of links finds wrong figures.
#![expect(clippy::print_stdout, reason = "the corpus is a table for a person")]

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lab_plan::model::Plan;
use lab_records::{CertifiedRow, LinkBounds, Location};
use lab_units::{Clock, NodeId, Ratio};
use nix::time::{ClockId, clock_gettime, clock_settime};
use tokio_util::sync::CancellationToken;

use super::{
    bring_up,
    exact::{LAB, options, whole_lab},
    reserve,
};
use crate::{
    lab::Lab,
    lower::{HostPlacement, Layout, egress},
    netlink::ethtool,
    step::{Namespace, Qdisc},
    testing::{self, isolated},
};

/// Fault that is injected into a lab, and how it must be detected.
struct InjectedFault {
    name: &'static str,
    inject: Inject,
    /// Part of the text with which read-back, which compares kernel objects with the plan, rejects the lab; `None` if
    /// it cannot detect the fault.
    differs: Option<&'static str>,
    /// Part of the text with which the link measurement rejects the lab; `None` if this measurement is not required to
    /// detect the fault.
    measured: Option<&'static str>,
}

/// Way of injecting a fault.
enum Inject {
    /// Shell commands. `$D1`, `$D2` and `$FIBER` are namespaces; `$P` is DC1's port, and `$Q` its peer at DC2; `$F` and
    /// `$G` are the interfaces in the fiber that receive from `$P` and send to `$Q`; `$O` is an interface of another
    /// link; `$BURST` and `$LIMIT` are the shaper's parameters.
    Shell(&'static str),
    /// Receive offload, which the fault enables.
    Offload,
    /// Program that runs during the measurement; calling the result stops it.
    Beside(fn() -> Box<dyn FnOnce()>),
    /// Shell commands that run during the measurement.
    ShellBeside(&'static str),
}

use Inject::{Beside, Offload, Shell, ShellBeside};

const fn fault(
    name: &'static str,
    inject: Inject,
    differs: Option<&'static str>,
    measured: Option<&'static str>,
) -> InjectedFault {
    InjectedFault {
        name,
        inject,
        differs,
        measured,
    }
}

/// Returns the faults that can be injected into a lab on one CPU.
fn corpus() -> Vec<InjectedFault> {
    vec![
        fault(
            "queue half as long",
            Shell("tc -n $D1 qdisc change dev $P root handle 1: tbf rate 100mbit burst $BURST limit $((LIMIT / 2))"),
            Some("limit 43715 B"),
            Some("limit of the egress queue"),
        ),
        fault(
            "queue two packets longer",
            Shell("tc -n $D1 qdisc change dev $P root handle 1: tbf rate 100mbit burst $BURST limit $((LIMIT + 9000))"),
            Some("limit 96430 B"),
            Some("limit of the egress queue"),
        ),
        fault(
            "no queue at all",
            Shell("tc -n $D1 qdisc del dev $P root"),
            Some("noqueue"),
            Some("limit of the egress queue"),
        ),
        fault(
            "another discipline",
            Shell("tc -n $D1 qdisc replace dev $P root pfifo limit 1000"),
            Some("pfifo"),
            Some("limit of the egress queue"),
        ),
        fault(
            "shaper 3 % slow",
            Shell("tc -n $D1 qdisc change dev $P root handle 1: tbf rate 97mbit burst $BURST limit $LIMIT"),
            Some("rate 12125000 B/s"),
            None,
        ),
        fault(
            "fiber 3 % slow",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms rate 97mbit limit 4096"),
            Some("rate 12125000 B/s"),
            Some("rate of the shaper"),
        ),
        fault(
            "delay of another link",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 40ms rate 100mbit limit 4096"),
            Some("delay 40000000 ns"),
            Some("delay of link `dc1-dc3`"),
        ),
        fault(
            "shaper at half the rate",
            Shell("tc -n $D1 qdisc change dev $P root handle 1: tbf rate 50mbit burst $BURST limit $LIMIT"),
            Some("rate 6250000 B/s"),
            Some("rate of the shaper"),
        ),
        fault(
            "asymmetric delay",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 26ms rate 100mbit limit 4096"),
            Some("delay 26000000 ns"),
            Some("a different delay in this direction"),
        ),
        fault(
            "wrong delay both ways",
            Shell(
                "for dev in $F $G; do
                     tc -n $FIBER qdisc change dev $dev root netem delay 24ms rate 100mbit limit 4096
                 done",
            ),
            Some("delay 24000000 ns"),
            Some("a wrong delay in netem"),
        ),
        fault(
            "jitter",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms 2ms rate 100mbit limit 4096"),
            Some("jitter"),
            Some("jitter in netem"),
        ),
        fault(
            "reordering",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms reorder 30% rate 100mbit limit 4096"),
            Some("reordering"),
            Some("out of order"),
        ),
        fault(
            "duplicates",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms duplicate 30% rate 100mbit limit 4096"),
            Some("duplicates"),
            Some("out of order or duplicated"),
        ),
        fault(
            "corruption 1 in 1,000",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms corrupt 0.1% rate 100mbit limit 4096"),
            Some("corruption"),
            None,
        ),
        fault(
            "loss 20 %",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms loss 20% rate 100mbit limit 4096"),
            Some("loss 85899"),
            Some("frames lost"),
        ),
        fault(
            "loss 1 in 10,000",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms loss 0.01% rate 100mbit limit 4096"),
            Some("loss 42949"),
            None,
        ),
        fault(
            "delay line of 10 packets",
            Shell("tc -n $FIBER qdisc change dev $G root netem delay 25ms rate 100mbit limit 10"),
            Some("limit 10 packets"),
            Some("too short"),
        ),
        fault("offload left on", Offload, Some("offloads of"), None),
        fault(
            "MTU of 1,500 at the far end",
            Shell("ip -n $D2 link set $Q mtu 1500"),
            Some("mtu 1500"),
            Some("an MTU below the largest frame"),
        ),
        fault(
            "duplicated MAC",
            Shell(
                "mac=$(ip -n $D1 -o link show dev $P | sed 's/.*ether \\([^ ]*\\).*/\\1/')
                 ip -n $D2 link set $Q address $mac",
            ),
            Some("interface `l0d2-d1`"),
            None,
        ),
        fault(
            "missing neighbour",
            Shell("ip -n $D1 neigh flush dev $P nud permanent"),
            Some("neighbour 10."),
            None,
        ),
        fault(
            "neighbour with another MAC",
            Shell(
                "to=$(ip -n $D1 neigh show dev $P nud permanent | cut -d' ' -f1)
                 ip -n $D1 neigh replace $to lladdr 02:00:00:00:00:01 dev $P nud permanent",
            ),
            Some("found 02:00:00:00:00:01"),
            None,
        ),
        fault(
            "missing route",
            Shell("ip -n $D1 route del $(ip -n $D1 route show proto static | head -n 1 | cut -d' ' -f1)"),
            Some("route to"),
            None,
        ),
        fault(
            "missing address",
            Shell("ip -n $D1 addr flush dev $P"),
            Some("address 10."),
            None,
        ),
        fault(
            "fiber leads nowhere",
            Shell("tc -n $FIBER filter del dev $F ingress"),
            Some("redirect of"),
            Some("the link is cut"),
        ),
        fault(
            "fiber leads to another datacenter",
            Shell(
                "tc -n $FIBER filter del dev $F ingress
                 tc -n $FIBER filter add dev $F ingress pref 1 protocol all u32 match u32 0 0 \
                     action mirred egress redirect dev $O",
            ),
            Some("redirect of"),
            Some("the link is cut"),
        ),
        fault(
            "port down",
            Shell("ip -n $D2 link set $Q down"),
            Some("found down"),
            Some("the link is cut"),
        ),
        fault(
            "hooks that no step made",
            Shell("tc -n $D1 qdisc add dev $P clsact"),
            Some("another queueing discipline"),
            None,
        ),
        fault(
            "switch does not forward",
            Shell("ip netns exec $D1 sysctl -q -w net.ipv4.ip_forward=0"),
            Some("sysctl `net.ipv4.ip_forward`"),
            None,
        ),
        fault(
            "switch filters by source",
            Shell("ip netns exec $D1 sysctl -q -w net.ipv4.conf.all.rp_filter=1"),
            Some("sysctl `net.ipv4.conf.all.rp_filter`"),
            None,
        ),
        fault(
            "short backlog of the CPU",
            Beside(short_backlog),
            Some("sysctl `net.core.netdev_max_backlog`"),
            None,
        ),
        fault(
            "missing RDMA device",
            Shell("rdma link delete $(rdma link show | head -n 1 | sed 's/^link \\([^/]*\\).*/\\1/')"),
            Some("RDMA device"),
            None,
        ),
        fault(
            "other traffic",
            ShellBeside("exec ip netns exec $D1 ping -q -f -s 3000 -I $P $TO"),
            None,
            Some("other traffic on the link"),
        ),
        fault("wall clock set", Beside(set_clock), None, Some("the wall clock jumped")),
        fault(
            "clock 5 % fast",
            Beside(drift),
            None,
            Some("the monotonic clock deviated from the hardware clock"),
        ),
    ]
}

#[test]
fn every_broken_lab_is_rejected_for_the_right_reason() {
    whole_lab(|| {
        let mut wrong = Vec::new();
        for fault in corpus() {
            let mut lab = ring();
            let beside = inject(&mut lab, &fault.inject);
            let differs = texts(&lab.differences(Duration::ZERO).unwrap());
            let measured = problems(&certify(&mut lab));
            beside();
            let left = lab.down();
            for (seen, by, words) in [
                (&differs, "read-back", fault.differs),
                (&measured, "measurement", fault.measured),
            ] {
                let is_right = words.is_none_or(|words| seen.iter().any(|it| it.contains(words)));
                let reason = words.and_then(|words| seen.iter().find(|it| it.contains(words)));
                if let Some(reason) = reason {
                    println!("{:<36} {by:<11} {reason}", fault.name);
                }
                if !is_right {
                    wrong.push(format!(
                        "{}: {by}: {words:?} is not in {seen:#?}",
                        fault.name
                    ));
                }
            }
            // At most one object may remain, because `down` cannot remove an object that the fault has already removed.
            assert!(left.len() <= 1, "{}: {left:?}", fault.name);
        }
        println!("{} broken labs", corpus().len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(
            corpus()
                .iter()
                .all(|it| it.differs.or(it.measured).is_some())
        );
    });
}

#[test]
fn a_clean_lab_is_certified() {
    whole_lab(|| accept_clean(3));
}

/// At 5 % loss, all of the 8 × 41 probe frames arrive in only one of 20 million labs.
#[test]
fn a_lab_whose_links_lose_packets_by_the_plan_is_certified() {
    whole_lab(|| {
        let mut lab = ring_with_loss(Ratio::new(1, 20).unwrap());
        assert_eq!(texts(&lab.differences(Duration::ZERO).unwrap()), NONE);
        let rows = certify(&mut lab);
        assert_eq!(problems(&rows), NONE);
        assert!(rows.iter().any(|row| row.lost > 0));
    });
}

#[test]
#[ignore = "it takes minutes: 50 labs"]
fn fifty_clean_labs_are_certified() {
    whole_lab(|| accept_clean(50));
}

/// Packets can be steered only on several CPUs, and a guest on the virtual clock has only one.
#[test]
fn a_lab_whose_packets_are_not_steered_differs_from_its_plan() {
    isolated(|| {
        if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
            return testing::skipped("it needs two CPUs");
        }
        let mut lab = super::up("t", HostPlacement::OwnNamespace, testing::pair);
        assert_eq!(texts(&lab.differences(Duration::ZERO).unwrap()), NONE);
        let mut command = Command::new("sh");
        command.args(["-c", "echo 0 > /sys/class/net/l0d1-d2/queues/rx-0/rps_cpus"]);
        let mut child = lab.spawn_on(NodeId(0), &mut command).unwrap();
        assert!(child.wait().unwrap().success());
        let differs = texts(&lab.differences(Duration::ZERO).unwrap());
        assert!(
            differs[0].contains("packet steering (RPS) of `l0d1-d2`"),
            "{differs:?}"
        );
    });
}

/// Brings up `count` labs, asserts that the links of each lab measure as planned, and prints the largest errors that
/// were measured.
fn accept_clean(count: u32) {
    let mut delay = 0;
    let mut spread = 0;
    let mut rate = 0.0_f64;
    let mut queue = 0;
    for _ in 0..count {
        let mut lab = ring();
        assert_eq!(texts(&lab.differences(Duration::ZERO).unwrap()), NONE);
        let rows = certify(&mut lab);
        assert_eq!(problems(&rows), NONE);
        assert!(rows.iter().any(|row| row.measured_queue_packets.is_some()));
        for row in rows {
            let measured = row.emu_measured_delay_ns.unwrap().get();
            delay = delay.max(measured.abs_diff(row.emu_delay_ns.get()));
            spread = spread.max(row.emu_spread_ns.unwrap().get());
            let measured = row.emu_measured_rate_bps.unwrap().get();
            let off =
                measured.abs_diff(row.emu_rate_bps.get()) * 1_000_000 / row.emu_rate_bps.get();
            rate = rate.max(f64::from(u32::try_from(off).unwrap()) / 10_000.0);
            let frames = row.measured_queue_packets.unwrap_or(row.queue_packets);
            queue = queue.max(frames.abs_diff(row.queue_packets));
        }
    }
    println!(
        "{count} clean labs, none rejected; largest errors: delay {delay} ns, spread {spread} ns, \
         rate {rate} %, queue {queue} packets"
    );
}

/// Brings up four datacenters in a ring. Links have a rate of 100 Mbit/s, a delay of 25 ms (`dc1-dc3`: 40 ms), and
/// queues of 24 frames.
fn ring() -> Lab {
    ring_with_loss(Ratio::ZERO)
}

fn ring_with_loss(loss: Ratio) -> Lab {
    let reservation = reserve(LAB).unwrap();
    let mut plan: Plan = testing::routed(reservation.slot());
    for (index, delay) in ["25 ms", "40 ms", "25 ms", "25 ms"].iter().enumerate() {
        plan.links[index].emu = testing::wire("100 Mbit", delay, "100 kB");
        plan.links[index].emu.loss = loss;
    }
    bring_up(reservation, &plan, &options(HostPlacement::RootNamespace)).unwrap()
}

fn certify(lab: &mut Lab) -> Vec<CertifiedRow> {
    let bounds = LinkBounds::of(Location::Guest, Clock::Virtual);
    lab.certify(&bounds, &CancellationToken::new()).unwrap()
}

fn problems(rows: &[CertifiedRow]) -> Vec<String> {
    rows.iter().filter_map(|row| row.problem.clone()).collect()
}

fn texts(things: &[impl ToString]) -> Vec<String> {
    things.iter().map(ToString::to_string).collect()
}

/// Injects a fault; calling the result stops the program that runs during the measurement.
fn inject(lab: &mut Lab, fault: &Inject) -> Box<dyn FnOnce()> {
    match fault {
        Shell(script) => {
            let status = shell(lab, script).status().unwrap();
            assert!(status.success(), "{script}");
            Box::new(|| {})
        }
        ShellBeside(script) => {
            let mut child: Child = shell(lab, script).stdout(Stdio::null()).spawn().unwrap();
            // The program needs some time to start.
            thread::sleep(Duration::from_millis(200));
            Box::new(move || {
                child.kill().unwrap();
                child.wait().unwrap();
            })
        }
        Beside(start) => start(),
        Offload => {
            let netns = Namespace::Named(lab.name().netns("dc1"));
            let handle = lab.executor().unwrap().handle(&netns).unwrap();
            ethtool::receive_offload_on(&handle.socket, "l0d1-d2").unwrap();
            Box::new(|| {})
        }
    }
}

fn shell(lab: &Lab, script: &str) -> Command {
    let plan = lab.plan();
    let layout = Layout::new(plan, lab.options());
    let link = &plan.links[0];
    let dev = &plan.ports[0].interface;
    let netns = layout.port_netns(lab_units::PortId(0));
    let node = &plan.nodes[plan.ports[0].node.index()];
    let root = egress(&layout, &netns, dev, link, node).next().unwrap();
    let Qdisc::Tbf(tbf) = root.qdisc else {
        panic!("an inter-DC link has a shaper");
    };
    let mut command = Command::new("sh");
    command.args(["-e", "-c", script]);
    for (name, value) in [
        ("D1", lab.name().netns("dc1").to_string()),
        ("D2", lab.name().netns("dc2").to_string()),
        ("FIBER", lab.name().netns("delay-lines").to_string()),
        ("P", dev.clone()),
        ("Q", plan.ports[1].interface.clone()),
        ("F", "f0".to_owned()),
        ("G", "f1".to_owned()),
        ("O", "f3".to_owned()),
        ("TO", plan.ports[1].addr.to_string()),
        ("BURST", tbf.burst.get().to_string()),
        ("LIMIT", tbf.limit.get().to_string()),
    ] {
        command.env(name, value);
    }
    command
}

/// Shortens the CPUs' packet backlog, which is a machine-wide setting that all labs share.
fn short_backlog() -> Box<dyn FnOnce()> {
    let file = "/proc/sys/net/core/netdev_max_backlog";
    let before = fs::read_to_string(file).unwrap();
    fs::write(file, "10").unwrap();
    Box::new(move || fs::write(file, before).unwrap())
}

/// Sets the wall clock forward by 50 ms and back during the measurement.
fn set_clock() -> Box<dyn FnOnce()> {
    let shift = |millis: i64| {
        let now = clock_gettime(ClockId::CLOCK_REALTIME).unwrap();
        let then = now + nix::sys::time::TimeSpec::from_duration(Duration::from_millis(60_000));
        let back = nix::sys::time::TimeSpec::from_duration(Duration::from_millis(
            u64::try_from(60_000 - millis).unwrap(),
        ));
        clock_settime(ClockId::CLOCK_REALTIME, then - back).unwrap();
    };
    beside(move |is_over| {
        thread::sleep(Duration::from_millis(60));
        shift(50);
        while !is_over() {
            thread::sleep(Duration::from_millis(10));
        }
        shift(-50);
    })
}

/// Makes the clock run 5 % faster than its hardware.
fn drift() -> Box<dyn FnOnce()> {
    set_tick(10_500);
    Box::new(|| set_tick(10_000))
}

/// Sets the number of microseconds by which the clock advances per 10 ms of its hardware.
#[expect(unsafe_code, reason = "nix does not correct clocks")]
fn set_tick(micros: i64) {
    // SAFETY: all bytes zero is a valid `timex`.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    (timex.modes, timex.tick) = (libc::ADJ_TICK, micros);
    // SAFETY: the pointer is to a `timex` that outlives the call.
    assert!(unsafe { libc::adjtimex(&raw mut timex) } >= 0);
}

/// Runs `work` on a thread; calling the result stops it.
fn beside(work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static) -> Box<dyn FnOnce()> {
    let token = CancellationToken::new();
    let over = token.clone();
    let thread = thread::spawn(move || work(&|| over.is_cancelled()));
    Box::new(move || {
        token.cancel();
        thread.join().unwrap();
    })
}

/// Empty list of differences or problems.
const NONE: [String; 0] = [];
