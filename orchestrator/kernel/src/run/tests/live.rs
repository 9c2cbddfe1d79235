//! Tests of a run's switches on this kernel, with plain packets instead of RDMA flows: agents are killed, stopped and
//! tuned while their switches forward.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::File,
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_abi::{
    LcmpConfig,
    wire::{AgentMessage, Ready},
};
use lab_generators::contract::MonotonicTime;
use lab_plan::model::{AgentCrashPlan, FaultChange, FaultPlan, Plan};
use lab_records::{DecisionRow, RunDir, RunWriter, SwitchRow};
use lab_sample as sample;
use lab_units::{DcId, LinkId, Nanos, NodeId};
use nix::{
    sched::{CloneFlags, setns},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio_util::sync::CancellationToken;

use crate::run::{
    AgentLauncher, RunError, RunReport, Runner,
    agents::{AgentEvent, SwitchAgent},
    drive::RunningRepetition,
    input::Input,
    repetition::{Effects, RepetitionSetup},
    transits::TransitRows,
    tune::ParameterChange,
};
use crate::{
    Lab,
    lab::Reservation,
    lower::{Clock, HostPlacement, LowerOptions, lower_fault},
    testing::{self, isolated, skipped},
};

/// Entry point of an agent process that tests start. It is not a test and is not counted as one.
#[test]
#[ignore = "entry point of a process that tests start"]
fn agent_entry_point() {
    let config = serde_json::from_reader(std::io::stdin()).expect("a configuration");
    lab_switchd::run(config).expect("a clean end");
}

const DC1: DcId = DcId(0);
const FLOWS: std::ops::Range<u16> = 50_000..50_016;
const NEW_FLOWS: std::ops::Range<u16> = 52_000..52_004;
/// Maximum wait for a message or packet.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn a_killed_agent_is_restarted_and_its_successor_keeps_the_flow_table() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            live.send(FLOWS);
            let pinned = live.decided_at_dc1(FLOWS.len());

            let load = Load::start(live);
            live.signal(DC1, Signal::SIGKILL);
            live.until(|_, effects| (effects.lost == Some(DC1)).then_some(()));
            let adopted = live.until(|ready, _| ready.as_ref().map(|ready| ready.adopted));
            assert_eq!(adopted, Some(FLOWS.len() as u64));
            live.until(|_, effects| {
                effects
                    .rows
                    .switches
                    .iter()
                    .find(|row| row.switch == "dc1" && row.restarts == 1)
                    .map(drop)
            });
            let (sent, arrived) = load.stop();
            assert_eq!(arrived, sent, "forwarding goes on");

            live.end();
            let records = RunDir::open(live.runner.records.dir()).unwrap();
            let of_dc1 = |row: &&SwitchRow| row.switch == "dc1";
            let switches = records.table::<SwitchRow>().unwrap().rows;
            let last = switches.iter().rfind(of_dc1).unwrap();
            assert_eq!((last.restarts, last.failovers, last.evicted), (1, 0, 0));
            assert_eq!((last.decisions, last.occupancy), (16, 16));
            // All packets were forwarded by the program, and none by the kernel's routes.
            assert_eq!(last.hits, sent);
            let decisions = records.table::<DecisionRow>().unwrap().rows;
            let at_dc1 = decisions.iter().filter(|row| row.switch == "dc1").count();
            assert_eq!(at_dc1, pinned.len(), "no flow is decided again");
            let others = switches.iter().filter(|row| row.switch != "dc1");
            assert!(others.into_iter().all(|row| row.restarts == 0));
        });
    });
}

/// Returns a plan in which the agent of dc1 crashes and stays down.
fn crashing(slot: u8) -> Plan {
    let mut plan = testing::routed(slot);
    plan.agent_crashes = vec![AgentCrashPlan {
        dc: DC1,
        at_ns: Nanos::ZERO,
        paper_at_ns: Nanos::ZERO,
        restart: None,
    }];
    plan
}

/// The program that takes the agent's place ends at once.
#[test]
fn an_agent_that_does_not_come_back_is_an_error() {
    isolated(|| {
        with_run(crashing, 0, |live| {
            live.crash(DC1);
            live.runner.agents.command = vec!["false".into()];
            let running = &mut live.running;
            let restarted = live.runner.restart_all(running, &mut live.report);
            let error = live.runtime.block_on(restarted).unwrap_err().to_string();
            let expected =
                "agent of `dc1`: cannot connect to it: the agent ended with exit status: 1";
            assert_eq!(error, expected);
        });
    });
}

/// While the agent is down, the switch forwards known flows and decides new ones. The next agent, which starts after the
/// flows because the plan has no restart, takes over all of them and reports the decisions made meanwhile.
#[test]
fn a_planned_crash_leaves_the_switch_to_its_tables() {
    isolated(|| {
        with_run(crashing, 0, |live| {
            live.send(FLOWS);
            live.decided_at_dc1(FLOWS.len());

            live.crash(DC1);
            let refused = live.runner.tune("dc1", &[], &mut live.running);
            assert!(refused.unwrap_err().contains("is down"));
            let load = Load::start(live);
            let (sent, arrived) = load.stop();
            assert_eq!(arrived, sent, "forwarding goes on");
            live.send(NEW_FLOWS);
            let is_down = |live: &LiveRun<'_, '_>| live.running.repetition.is_down(DC1);
            assert!(is_down(live) && live.report.restarts.is_empty());

            live.restart_all();
            assert!(!is_down(live));
            let adopted = live.until(|ready, _| ready.as_ref().map(|ready| ready.adopted));
            assert_eq!(adopted, Some((FLOWS.len() + NEW_FLOWS.len()) as u64));
            live.decided_at_dc1(NEW_FLOWS.len());
            live.end();
            assert!(live.report.restarts.is_empty(), "no unplanned restart");
            assert!(live.report.changes.is_empty());
            let records = RunDir::open(live.runner.records.dir()).unwrap();
            let switches = records.table::<SwitchRow>().unwrap().rows;
            let last = switches.iter().rfind(|row| row.switch == "dc1").unwrap();
            assert_eq!((last.restarts, last.decisions, last.occupancy), (1, 20, 20));
        });
    });
}

/// Agents that ended between two repetitions are replaced.
#[test]
fn the_agents_of_a_repetition_serve_the_next_one_from_empty_tables() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            let mut pids = vec![live.pids.clone()];
            for (policy, is_killed) in [(1, false), (0, true), (0, false)] {
                live.send(FLOWS);
                live.decided_at_dc1(FLOWS.len());
                live.next(policy, is_killed);
                pids.push(live.pids.clone());
            }
            live.send(FLOWS);
            live.decided_at_dc1(FLOWS.len());
            live.end();
            assert_eq!(pids[0], pids[1]);
            assert!(pids[1].iter().all(|(dc, pid)| pids[2][dc] != *pid));
            assert_eq!(pids[2], pids[3]);
            assert!(live.report.restarts.is_empty());
        });
    });
}

#[test]
fn tuned_weights_reach_the_switch_and_a_restarted_agent() {
    isolated(|| {
        let plan = |slot| {
            let mut plan = testing::routed(slot);
            // The path over dc3 is shorter and has less capacity.
            let path = &mut plan.switches[0].destinations[0].candidates[1];
            path.paper_delay_ns = Nanos::from_millis(4);
            path.paper_bottleneck_bps = "10 Mbit".parse().unwrap();
            plan
        };
        with_run(plan, 1, |live| {
            let paths = live.runner.plan.switches[0].destinations[0]
                .candidates
                .clone();
            let costs = |w_dl, w_lc, s_path| {
                let parameters = LcmpConfig {
                    w_dl,
                    w_lc,
                    s_path,
                    ..LcmpConfig::paper("100 Mbit".parse().unwrap())
                };
                paths
                    .iter()
                    .map(|path| path.path_score(&parameters))
                    .collect::<Vec<u8>>()
            };
            let mut sports = (51_000..).step_by(100);
            let mut decided = |live: &mut LiveRun<'_, '_>| {
                let sport = sports.next().unwrap();
                live.send(sport..sport + 1);
                live.decided_at_dc1(1).remove(0).c_path.0
            };
            assert_eq!(decided(live), [10, 30], "of the plan");
            for [w_dl, w_lc, s_path] in [[1, 0, 0], [0, 1, 0], [3, 1, 2], [3, 1, 3]] {
                let changes = [
                    format!("w_dl={w_dl}"),
                    format!("w_lc={w_lc}"),
                    format!("s_path={s_path}"),
                ];
                live.tune(&changes.each_ref().map(|change| change.parse().unwrap()));
                assert_eq!(decided(live), costs(w_dl, w_lc, s_path), "{changes:?}");
            }
            assert_ne!(costs(1, 0, 0), costs(0, 1, 0));

            live.signal(DC1, Signal::SIGKILL);
            live.until(|ready, _| ready.as_ref().map(drop));
            assert_eq!(decided(live), costs(3, 1, 3), "of the restarted agent");
            live.end();
        });
    });
}

#[test]
fn flows_leave_a_cut_link_while_all_agents_are_stopped() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            if !live.has_carriers {
                live.end();
                return skipped("tracing of kernel functions is missing");
            }
            live.send(FLOWS);
            let pinned = live.decided_at_dc1(FLOWS.len());
            let over_dc2 = |row: &&DecisionRow| row.chosen.as_deref() == Some("dc2");
            let cut_off = pinned.iter().filter(over_dc2).count();
            assert!(cut_off > 0);

            live.signal_all(Signal::SIGSTOP);
            live.cut(LinkId(0));
            live.send(FLOWS);
            live.signal_all(Signal::SIGCONT);
            let moved = live.decided_at_dc1(cut_off);
            let is_moved = |row: &DecisionRow| {
                (&*row.reason, row.chosen.as_deref()) == ("failover", Some("dc3"))
            };
            assert!(moved.iter().all(is_moved), "{moved:?}");
            live.end();
        });
    });
}

/// The second lab is brought up while the first one exists, so it gets another slot and other addresses.
#[test]
fn two_labs_in_two_slots_take_the_same_next_hops() {
    isolated(|| {
        let decided = |live: &mut LiveRun<'_, '_>| {
            live.send(FLOWS);
            let decisions = live.decided_at_dc1(FLOWS.len());
            let hop = |row: DecisionRow| (row.sport, (row.reason, row.chosen));
            decisions.into_iter().map(hop).collect::<BTreeMap<_, _>>()
        };
        with_run_of("a", testing::routed, 0, |first| {
            let expected = decided(first);
            with_run_of("b", testing::routed, 0, |second| {
                assert_ne!(second.runner.plan.slot, first.runner.plan.slot);
                assert_ne!(second.sender.1, first.sender.1);
                assert_eq!(decided(second), expected);
                second.end();
            });
            let hops: BTreeSet<_> = expected.into_values().map(|(_, hop)| hop).collect();
            assert_eq!(hops.len(), 2, "{hops:?}");
            first.end();
        });
    });
}

#[test]
fn an_agent_that_is_stopped_at_the_end_is_named() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            live.signal(DC1, Signal::SIGSTOP);
            let ended = live.drain(Duration::from_secs(1)).unwrap_err().to_string();
            assert!(
                ended.starts_with("agent of `dc1` was asked to end"),
                "{ended}"
            );
            assert!(ended.contains("nothing for 1 s"), "{ended}");
        });
    });
}

#[test]
fn a_stopped_agent_does_not_keep_a_cancelled_run() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            live.signal(DC1, Signal::SIGSTOP);
            let cancel = live.runner.cancel.clone();
            let started = Instant::now();
            let cancelling = thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                cancel.cancel();
            });
            assert!(live.drain(PATIENCE).is_err());
            assert!(started.elapsed() < PATIENCE);
            cancelling.join().unwrap();
        });
    });
}

#[test]
fn an_agent_that_ends_with_a_cancelled_run_is_not_restarted() {
    isolated(|| {
        with_run(testing::routed, 0, |live| {
            live.runner.cancel.cancel();
            live.signal(DC1, Signal::SIGKILL);
            live.until(|_, effects| (effects.lost == Some(DC1)).then_some(()));
            assert!(live.report.changes.is_empty(), "no restart");
            assert_eq!(
                live.drain(PATIENCE).map_err(|error| error.to_string()),
                Ok(())
            );
        });
    });
}

/// Run of a lab whose switches forward plain UDP packets instead of RDMA flows.
struct LiveRun<'r, 'l> {
    runner: &'r mut Runner<'l>,
    running: RunningRepetition<'r>,
    setup: RepetitionSetup<'r>,
    report: RunReport,
    runtime: &'r tokio::runtime::Runtime,
    /// Process ids of the agents.
    pids: BTreeMap<DcId, u32>,
    /// True if the kernel itself marks a port dead when its link goes down; false if only the agent does.
    has_carriers: bool,
    /// Host of DC1, which sends packets to the host of DC4.
    sender: (NodeId, Ipv4Addr),
    receiver: UdpSocket,
}

/// Brings a lab for `plan` up, starts the agents for the policy at `policy`, and runs `test`.
fn with_run(plan: impl FnOnce(u8) -> Plan, policy: usize, test: impl FnOnce(&mut LiveRun<'_, '_>)) {
    with_run_of("t", plan, policy, test);
}

/// Does the same as [`with_run`] for a lab called `name`.
fn with_run_of(
    name: &str,
    plan: impl FnOnce(u8) -> Plan,
    policy: usize,
    test: impl FnOnce(&mut LiveRun<'_, '_>),
) {
    let reservation = Reservation::acquire(&name.parse().unwrap(), "test").unwrap();
    let mut plan = plan(reservation.slot());
    plan.measure.switches_ns = Nanos::from_millis(50);
    let options = LowerOptions {
        lab: name.parse().unwrap(),
        hosts: HostPlacement::OwnNamespace,
        clock: Clock::Real,
        delay_lines: false,
        cpus: 1,
    };
    let cancel = CancellationToken::new();
    let mut lab = Lab::up(reservation, &plan, &options, &cancel, &mut |_| {}).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut records =
        RunWriter::create_in(directory.path(), sample::now(), &sample::info()).unwrap();
    let pin_dir = lab.bpf_directory().unwrap();
    let launcher = AgentLauncher {
        command: [
            env::current_exe().unwrap().into(),
            "--exact".into(),
            "run::tests::live::agent_entry_point".into(),
            "--ignored".into(),
            "--nocapture".into(),
        ]
        .into(),
        socket_dir: lab.directory(),
        lab: name.to_owned(),
        programs: Path::new("/").to_owned(),
    };
    let host = |name: &str| {
        let at = plan
            .nodes
            .iter()
            .position(|node| node.name == name)
            .unwrap();
        (NodeId::from_index(at).unwrap(), plan.nodes[at].addr)
    };
    let (receiving, address) = host("dc4/h1");
    let receiver = socket_on(&lab, receiving, address, ROCE);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = Runner {
        plan: &plan,
        lab: &mut lab,
        agents: launcher,
        records: &mut records,
        events: &mut |_| {},
        inputs: None,
        host_waits: &|| 0,
        guest_cpu: &|| None,
        cancel,
    };
    let transits = TransitRows::of(&plan);
    let setup = RepetitionSetup {
        policy,
        number: 0,
        pin_dir: &pin_dir,
        transits: &transits,
    };
    let mut running = RunningRepetition::new(&plan, setup);
    runner.start_agents(&mut running, Vec::new()).unwrap();
    let mut live = LiveRun {
        runner: &mut runner,
        running,
        setup,
        report: RunReport::default(),
        runtime: &runtime,
        pids: BTreeMap::new(),
        has_carriers: true,
        sender: host("dc1/h1"),
        receiver,
    };
    live.begin();
    test(&mut live);
}

impl LiveRun<'_, '_> {
    /// Ends the repetition, and begins another one of the policy at index `policy`. In between, the agents are killed
    /// if `is_killed` is true.
    fn next(&mut self, policy: usize, is_killed: bool) {
        self.drain(PATIENCE).unwrap();
        let mut idle = std::mem::take(&mut self.running.agents);
        if is_killed {
            self.signal_all(Signal::SIGKILL);
            while !idle.iter_mut().all(SwitchAgent::has_ended) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let setup = RepetitionSetup {
            policy,
            ..self.setup
        };
        self.running = RunningRepetition::new(self.runner.plan, setup);
        self.runner.start_agents(&mut self.running, idle).unwrap();
        self.begin();
    }

    /// Waits until all agents are ready, and starts the repetition's time.
    fn begin(&mut self) {
        while !self.running.repetition.is_ready() {
            self.step();
        }
        let start = Input::Start(MonotonicTime::now());
        self.take(start);
        assert_eq!(self.pids.len(), self.runner.plan.switches.len());
    }

    /// Handles the next message from an agent and applies its effects.
    fn step(&mut self) -> (Option<Ready>, Effects) {
        let inputs = &mut self.running.inputs;
        let next = async { tokio::time::timeout(PATIENCE, inputs.recv()).await };
        let input = self
            .runtime
            .block_on(next)
            .expect("in time")
            .expect("agents are there");
        let ready = match &input {
            Input::Agent(dc, AgentEvent::Message(AgentMessage::Ready(ready))) => {
                self.pids.insert(*dc, ready.pid);
                self.has_carriers &= ready.has_carriers;
                Some(ready.clone())
            }
            _ => None,
        };
        (ready, self.take(input))
    }

    fn take(&mut self, input: Input) -> Effects {
        let running = &mut self.running;
        let report = &mut self.report;
        self.runner.take(input, running, report).unwrap()
    }

    /// Handles messages until `pick` returns a value for a message and its effects; returns that value.
    fn until<T>(&mut self, mut pick: impl FnMut(&Option<Ready>, &Effects) -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let (ready, effects) = self.step();
            if let Some(picked) = pick(&ready, &effects) {
                return picked;
            }
            assert!(Instant::now() < give_up, "last effects: {effects:?}");
        }
    }

    /// Returns the next `count` decisions of DC1's switch.
    fn decided_at_dc1(&mut self, count: usize) -> Vec<DecisionRow> {
        let mut decisions = Vec::new();
        self.until(|_, effects| {
            let rows = effects.rows.decisions.iter();
            decisions.extend(rows.filter(|row| row.switch == "dc1").cloned());
            (decisions.len() >= count).then_some(())
        });
        assert_eq!(decisions.len(), count, "more decisions than flows");
        decisions
    }

    /// Tunes DC1's switch, and waits until the switch has the new parameters.
    fn tune(&mut self, changes: &[ParameterChange]) {
        let tuned = self.runner.tune("dc1", changes, &mut self.running).unwrap();
        for ParameterChange { name, value } in changes {
            assert!(tuned.contains(&(name.clone(), *value)), "{tuned:?}");
        }
        self.take(Input::Tuned {
            at: MonotonicTime::now(),
            dc: "dc1".into(),
            changes: String::new(),
        });
        let change = self.report.changes.last().unwrap();
        let tuned_at = change.time_ns.expect("a change during the run has a time");
        // The agent may take two samples before it reads the command: one in the iteration in which the command arrives,
        // and one in the next, whose samples come before its commands. Each turn waits for the report of one sample.
        for _ in 0..3 {
            self.until(|_, effects| {
                let mut rows = effects.rows.queues.iter();
                rows.any(|row| row.switch == "dc1" && row.time_ns > tuned_at)
                    .then_some(())
            });
        }
    }

    /// Sends a packet from each source port in `sports`, each of which is a flow, and waits until the packet arrives.
    fn send(&self, sports: std::ops::Range<u16>) {
        for sport in sports {
            let socket = socket_on(self.runner.lab, self.sender.0, self.sender.1, sport);
            let to = self.receiver.local_addr().unwrap();
            socket.send_to(&PAYLOAD, to).unwrap();
            self.receiver.set_read_timeout(Some(PATIENCE)).unwrap();
            self.receiver.recv(&mut [0; 64]).expect("a packet");
        }
    }

    /// Makes the agent of `dc` crash as the plan says.
    fn crash(&mut self, dc: DcId) {
        let running = &mut self.running;
        let crashed = self.runner.crash_agent(dc, running, &mut self.report);
        crashed.unwrap();
    }

    /// Starts the agents that are down.
    fn restart_all(&mut self) {
        let running = &mut self.running;
        let restarted = self.runner.restart_all(running, &mut self.report);
        self.runtime.block_on(restarted).unwrap();
    }

    /// Cuts a link in the same way as a fault.
    fn cut(&mut self, link: LinkId) {
        let fault = FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link,
            change: FaultChange::Down,
            path_cost_updates: Vec::new(),
        };
        let lab = &mut self.runner.lab;
        let steps = lower_fault(self.runner.plan, lab.options(), &fault).unwrap();
        lab.apply(&steps).unwrap();
    }

    /// Sends a signal to the agents of all switches.
    fn signal_all(&self, signal: Signal) {
        for &pid in self.pids.values() {
            kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
        }
    }

    /// Sends a signal to the agent of a switch.
    fn signal(&self, dc: DcId, signal: Signal) {
        let pid = Pid::from_raw(self.pids[&dc].try_into().unwrap());
        kill(pid, signal).unwrap();
    }

    /// Asks the agents to end, and handles their last messages.
    fn drain(&mut self, patience: Duration) -> Result<(), RunError> {
        let running = &mut self.running;
        let report = &mut self.report;
        let drained = self.runner.drain(running, report, patience);
        self.runtime.block_on(drained)
    }

    /// Stops the agents and checks that they end without an error.
    fn end(&mut self) {
        self.drain(PATIENCE).unwrap();
        for agent in self.running.agents.drain(..) {
            agent.end().unwrap();
        }
    }
}

/// Thread that sends packets of all flows in turn until it is stopped.
struct Load {
    /// Number of packets to expect; [`u64::MAX`] while packets are being sent.
    expected: Arc<AtomicU64>,
    stop: Sender<()>,
    sending: JoinHandle<u64>,
    arriving: JoinHandle<u64>,
}

impl Load {
    fn start(live: &LiveRun<'_, '_>) -> Self {
        let (host, address) = live.sender;
        let socket = |sport| socket_on(live.runner.lab, host, address, sport);
        let sockets: Vec<UdpSocket> = FLOWS.map(socket).collect();
        let receiver = live.receiver.try_clone().unwrap();
        let to = receiver.local_addr().unwrap();
        let (stop, stopped) = channel();
        let sending = thread::spawn(move || {
            let mut sent = 0;
            for socket in sockets.iter().cycle() {
                if stopped.try_recv() != Err(TryRecvError::Empty) {
                    break;
                }
                socket.send_to(&PAYLOAD, to).unwrap();
                sent += 1;
                thread::sleep(Duration::from_micros(200));
            }
            sent
        });
        let poll = Some(Duration::from_millis(100));
        receiver.set_read_timeout(poll).unwrap();
        let expected = Arc::new(AtomicU64::new(u64::MAX));
        let until = Arc::clone(&expected);
        let arriving = thread::spawn(move || {
            let give_up = Instant::now() + PATIENCE;
            let mut arrived = 0;
            while arrived < until.load(Ordering::Relaxed) && Instant::now() < give_up {
                arrived += u64::from(receiver.recv(&mut [0; 64]).is_ok());
            }
            arrived
        });
        Self {
            expected,
            stop,
            sending,
            arriving,
        }
    }

    /// Stops sending; returns the number of packets that were sent, and the number that arrived.
    fn stop(self) -> (u64, u64) {
        drop(self.stop);
        let sent = self.sending.join().unwrap();
        self.expected.store(sent, Ordering::Relaxed);
        (sent, self.arriving.join().unwrap())
    }
}

/// Opens a UDP socket in the namespace of a host.
fn socket_on(lab: &Lab, host: NodeId, address: Ipv4Addr, port: u16) -> UdpSocket {
    let netns = File::open(lab.netns_path(host).unwrap()).unwrap();
    let bind = || {
        setns(&netns, CloneFlags::CLONE_NEWNET).unwrap();
        UdpSocket::bind((address, port)).unwrap()
    };
    thread::scope(|scope| scope.spawn(bind).join().unwrap())
}

const ROCE: u16 = 4791;
const PAYLOAD: [u8; 32] = [0; 32];
