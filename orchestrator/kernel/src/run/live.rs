//! The switches of a run on this kernel, with packets instead of RDMA flows: agents that are killed and
//! tuned while their switches are at work.

use std::{
    collections::BTreeMap,
    env,
    fs::File,
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_abi::{
    LcmpConfig,
    wire::{AgentMessage, Ready},
};
use lab_perftest::MonotonicTime;
use lab_plan::model::Plan;
use lab_records::{DecisionRow, RunDir, RunWriter, SwitchRow, sample};
use lab_units::{DcId, Nanos, NodeId};
use nix::{
    sched::{CloneFlags, setns},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio_util::sync::CancellationToken;

use super::{
    AgentLauncher, RunReport, Runner,
    agents::AgentEvent,
    drive::{Driving, Place},
    repetition::{Heard, Input},
    tune::Change,
};
use crate::{
    Lab,
    lab::Claim,
    lower::{Clock, HostPlacement, LowerOptions},
    testing::{self, isolated},
};

/// Set in a process of this test's own that is to be an agent.
const IS_AGENT: &str = "LAB_KERNEL_TEST_AGENT";

/// Not a test: what an agent's process runs.
#[test]
fn agent_process() {
    if env::var_os(IS_AGENT).is_some() {
        let config = serde_json::from_reader(std::io::stdin()).expect("a configuration");
        lab_switchd::run(&config).expect("a clean end");
    }
}

const DC1: DcId = DcId(0);
const FLOWS: std::ops::Range<u16> = 50_000..50_016;
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
#[expect(clippy::print_stdout, reason = "it is a measurement")]
fn a_killed_agent_is_missed_at_once_and_its_successor_keeps_the_flow_table() {
    isolated(|| {
        on_stage(testing::routed, 0, |stage| {
            stage.send(FLOWS);
            let pinned = stage.decided_at_dc1(FLOWS.len());

            let load = Load::start(stage);
            let killed = stage.kill(DC1);
            stage.until(|_, heard| (heard.lost == Some(DC1)).then_some(()));
            let noticed = killed.elapsed();
            assert!(
                noticed < Duration::from_secs(1),
                "noticed after {noticed:?}"
            );
            let adopted = stage.until(|ready, _| ready.as_ref().map(|ready| ready.adopted));
            let back = killed.elapsed();
            assert_eq!(adopted, Some(FLOWS.len() as u64));
            stage.until(|_, heard| {
                let mut rows = heard.rows.switches.iter();
                rows.find(|row| row.switch == "dc1" && row.restarts == 1)
                    .map(drop)
            });
            let (sent, arrived) = load.stop();
            assert_eq!(arrived, sent, "forwarding goes on");
            println!("noticed after {noticed:?}, back after {back:?}, {sent} packets meanwhile");

            stage.end();
            let records = RunDir::open(stage.runner.records.dir()).unwrap();
            let of_dc1 = |row: &&SwitchRow| row.switch == "dc1";
            let switches = records.table::<SwitchRow>().unwrap().rows;
            let last = switches.iter().rfind(of_dc1).unwrap();
            assert_eq!((last.restarts, last.failovers, last.evicted), (1, 0, 0));
            assert_eq!((last.decisions, last.occupancy), (16, 16));
            // The program forwarded them all, not the kernel's routes.
            assert_eq!(last.hits, sent);
            let decisions = records.table::<DecisionRow>().unwrap().rows;
            let at_dc1 = decisions.iter().filter(|row| row.switch == "dc1").count();
            assert_eq!(at_dc1, pinned.len(), "nothing is decided again");
            let others = switches.iter().filter(|row| row.switch != "dc1");
            assert!(others.into_iter().all(|row| row.restarts == 0));
        });
    });
}

#[test]
fn weights_of_path_costs_reach_the_switch_and_the_agent_after_it() {
    isolated(|| {
        let plan = |slot| {
            let mut plan = testing::routed(slot);
            // The way over dc3 is the shorter one, with less capacity.
            let way = &mut plan.switches[0].destinations[0].candidates[1];
            way.paper_delay_ns = Nanos::from_millis(4);
            way.paper_bottleneck_bps = "10 Mbit".parse().unwrap();
            plan
        };
        on_stage(plan, 1, |stage| {
            let ways = stage.runner.plan.switches[0].destinations[0]
                .candidates
                .clone();
            let costs = |w_dl, w_lc, s_path| {
                let parameters = LcmpConfig {
                    w_dl,
                    w_lc,
                    s_path,
                    ..LcmpConfig::paper("100 Mbit".parse().unwrap())
                };
                let ways = ways.iter().map(|way| way.path_score(&parameters));
                ways.collect::<Vec<u8>>()
            };
            let mut sports = (51_000..).step_by(100);
            let mut decided = |stage: &mut Stage<'_, '_>| {
                let sport = sports.next().unwrap();
                stage.send(sport..sport + 1);
                stage.decided_at_dc1(1).remove(0).c_path.0
            };
            assert_eq!(decided(stage), [10, 30], "as the plan has it");
            for [w_dl, w_lc, s_path] in [[1, 0, 0], [0, 1, 0], [3, 1, 2], [3, 1, 3]] {
                let words = [
                    format!("w_dl={w_dl}"),
                    format!("w_lc={w_lc}"),
                    format!("s_path={s_path}"),
                ];
                stage.tune(&words.each_ref().map(|word| word.parse().unwrap()));
                assert_eq!(decided(stage), costs(w_dl, w_lc, s_path), "{words:?}");
            }
            assert_ne!(costs(1, 0, 0), costs(0, 1, 0));

            stage.kill(DC1);
            stage.until(|ready, _| ready.as_ref().map(drop));
            assert_eq!(decided(stage), costs(3, 1, 3), "the next agent knows them");
            stage.end();
        });
    });
}

/// A run whose switches are at work.
struct Stage<'r, 'l> {
    runner: &'r mut Runner<'l>,
    driving: Driving<'r>,
    report: RunReport,
    runtime: &'r tokio::runtime::Runtime,
    /// The agents' processes.
    pids: BTreeMap<DcId, u32>,
    /// DC1's host, from where packets are sent to DC4's.
    sender: (NodeId, Ipv4Addr),
    receiver: UdpSocket,
}

/// Brings a lab of `plan` up, starts the agents of the policy at `policy`, and lets `play` go on.
fn on_stage(plan: impl FnOnce(u8) -> Plan, policy: usize, play: impl FnOnce(&mut Stage<'_, '_>)) {
    let claim = Claim::take(&"t".parse().unwrap(), "test").unwrap();
    let mut plan = plan(claim.slot());
    plan.measure.switches_ns = Nanos::from_millis(50);
    let options = LowerOptions {
        lab: "t".parse().unwrap(),
        hosts: HostPlacement::OwnNamespace,
        clock: Clock::Real,
        delay_lines: false,
        cpus: 1,
    };
    let cancel = CancellationToken::new();
    let mut lab = Lab::up(claim, &plan, &options, &cancel, &mut |_| {}).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut records =
        RunWriter::create_in(directory.path(), sample::now(), &sample::info()).unwrap();
    let pins = lab.bpf_directory().unwrap();
    let launcher = AgentLauncher {
        command: [
            "env".into(),
            format!("{IS_AGENT}=1").into(),
            env::current_exe().unwrap().into(),
            "--exact".into(),
            "run::live::agent_process".into(),
            "--nocapture".into(),
        ]
        .into(),
        socket_dir: lab.directory(),
        lab: "t".to_owned(),
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
        checkpoint: &mut || Ok(()),
        settle: &mut || Ok(()),
        host_waits: &|| 0,
        guest_cpu: &|| None,
        cancel,
    };
    let place = Place {
        policy,
        number: 0,
        pins: &pins,
    };
    let mut driving = Driving::new(&plan, place);
    runner.start_agents(&mut driving).unwrap();
    let mut stage = Stage {
        runner: &mut runner,
        driving,
        report: RunReport::default(),
        runtime: &runtime,
        pids: BTreeMap::new(),
        sender: host("dc1/h1"),
        receiver,
    };
    stage.begin();
    play(&mut stage);
}

impl Stage<'_, '_> {
    /// Waits for the agents, and lets time start.
    fn begin(&mut self) {
        while !self.driving.repetition.is_ready() {
            self.hear();
        }
        self.driving.repetition.start_at(MonotonicTime::now());
        assert_eq!(self.pids.len(), self.runner.plan.switches.len());
    }

    /// Takes in the next thing that an agent says, and does what follows.
    fn hear(&mut self) -> (Option<Ready>, Heard) {
        let inputs = &mut self.driving.inputs;
        let next = async { tokio::time::timeout(PATIENCE, inputs.recv()).await };
        let input = self.runtime.block_on(next);
        let input = input.expect("in time").expect("agents are there");
        let ready = match &input {
            Input::Agent(dc, AgentEvent::Message(AgentMessage::Ready(ready))) => {
                self.pids.insert(*dc, ready.pid);
                Some(ready.clone())
            }
            _ => None,
        };
        let heard = self.driving.repetition.hear(input).unwrap();
        self.runner
            .act(&heard, &mut self.driving, &mut self.report)
            .unwrap();
        (ready, heard)
    }

    /// Listens until `pick` has what it wants of what was said and what follows.
    fn until<T>(&mut self, mut pick: impl FnMut(&Option<Ready>, &Heard) -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let (ready, heard) = self.hear();
            if let Some(picked) = pick(&ready, &heard) {
                return picked;
            }
            assert!(Instant::now() < give_up, "the last thing was {heard:?}");
        }
    }

    /// The next decisions of DC1's switch.
    fn decided_at_dc1(&mut self, count: usize) -> Vec<DecisionRow> {
        let mut decisions = Vec::new();
        self.until(|_, heard| {
            let rows = heard.rows.decisions.iter();
            decisions.extend(rows.filter(|row| row.switch == "dc1").cloned());
            (decisions.len() >= count).then_some(())
        });
        assert_eq!(decisions.len(), count, "more decisions than flows");
        decisions
    }

    /// Tunes DC1's switch, and waits until it has sampled its queues anew.
    fn tune(&mut self, changes: &[Change]) {
        let tuned = self.runner.tune("dc1", changes, &mut self.driving).unwrap();
        for Change { name, value } in changes {
            assert!(tuned.contains(&(name.clone(), *value)), "{tuned:?}");
        }
        // What is heard now may have been said before.
        for _ in 0..3 {
            self.until(|_, heard| {
                let mut rows = heard.rows.queues.iter();
                rows.find(|row| row.switch == "dc1").map(drop)
            });
        }
    }

    /// Sends a packet of each flow, which arrives.
    fn send(&self, sports: std::ops::Range<u16>) {
        for sport in sports {
            let socket = socket_on(self.runner.lab, self.sender.0, self.sender.1, sport);
            let to = self.receiver.local_addr().unwrap();
            socket.send_to(&PAYLOAD, to).unwrap();
            self.receiver.set_read_timeout(Some(PATIENCE)).unwrap();
            self.receiver.recv(&mut [0; 64]).expect("it arrives");
        }
    }

    /// Kills the agent of a switch, and says when.
    fn kill(&self, dc: DcId) -> Instant {
        let pid = Pid::from_raw(self.pids[&dc].try_into().unwrap());
        kill(pid, Signal::SIGKILL).unwrap();
        Instant::now()
    }

    /// Ends the agents, and hears them out.
    fn end(&mut self) {
        let hearing = self.runner.hear_out(&mut self.driving, &mut self.report);
        self.runtime.block_on(hearing).unwrap();
        for agent in self.driving.agents.drain(..) {
            agent.wait().unwrap();
        }
    }
}

/// Packets of all flows, one after the other, without end.
struct Load {
    is_over: Arc<AtomicBool>,
    sending: JoinHandle<u64>,
    arriving: JoinHandle<u64>,
}

impl Load {
    fn start(stage: &Stage<'_, '_>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (host, address) = stage.sender;
        let socket = |sport| socket_on(stage.runner.lab, host, address, sport);
        let sockets: Vec<UdpSocket> = FLOWS.map(socket).collect();
        let receiver = stage.receiver.try_clone().unwrap();
        let to = receiver.local_addr().unwrap();
        let over = Arc::clone(&is_over);
        let sending = thread::spawn(move || {
            let mut sent = 0;
            for socket in sockets.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                socket.send_to(&PAYLOAD, to).unwrap();
                sent += 1;
                thread::sleep(Duration::from_micros(200));
            }
            sent
        });
        // Over once nothing has come for much longer than a packet takes.
        receiver
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let arriving = thread::spawn(move || {
            let mut buffer = [0; 64];
            let mut arrived = 0;
            while receiver.recv(&mut buffer).is_ok() {
                arrived += 1;
            }
            arrived
        });
        Self {
            is_over,
            sending,
            arriving,
        }
    }

    /// Packets sent, and those that arrived.
    fn stop(self) -> (u64, u64) {
        self.is_over.store(true, Ordering::Relaxed);
        (self.sending.join().unwrap(), self.arriving.join().unwrap())
    }
}

/// A socket on a host.
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
