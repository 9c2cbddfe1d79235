//! The agent's other end.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::Ipv4Addr,
    os::unix::net::{UnixListener, UnixStream},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_abi::wire::{
    AgentCommand, AgentConfig, AgentMessage, AttachMode, DecisionReport, FlowReport, LinkReport,
    PolicyConfig, QueueReport, Ready, Stats,
};
use lab_switchd::SwitchdError;
use lab_units::PortId;

use crate::lab::Lab;

/// How long a test waits for what it wants to hear.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Controller {
    stream: BufReader<UnixStream>,
    /// The demands of every destination that were told of so far.
    pub(crate) demands: BTreeMap<Ipv4Addr, u64>,
}

/// What an agent says at its end.
pub(crate) struct Last {
    pub(crate) flows: Vec<FlowReport>,
    pub(crate) stats: Stats,
    pub(crate) end: AgentMessage,
}

type Agent = JoinHandle<Result<(), SwitchdError>>;

impl Controller {
    /// Starts the switch's agent in a thread and waits for it to connect.
    pub(crate) fn start(lab: &Lab, policy: PolicyConfig, attach: AttachMode) -> (Self, Agent) {
        Self::start_with(lab, policy, |config| config.attach = attach)
    }

    /// The same, with a changed configuration.
    pub(crate) fn start_with(
        lab: &Lab,
        policy: PolicyConfig,
        change: impl FnOnce(&mut AgentConfig),
    ) -> (Self, Agent) {
        let mut config = lab.config(policy, AttachMode::Auto);
        change(&mut config);
        Self::listen(lab, |enter| {
            thread::spawn(move || {
                enter();
                lab_switchd::run(&config)
            })
        })
    }

    /// Listens, has an agent started in the switch's namespace, and waits for it to connect.
    pub(crate) fn listen<T>(
        lab: &Lab,
        start: impl FnOnce(Box<dyn FnOnce() + Send>) -> T,
    ) -> (Self, T) {
        // An agent that was killed had another controller, whose socket stays.
        let _ = std::fs::remove_file(lab.socket());
        let listener = UnixListener::bind(lab.socket()).expect("its place is free");
        let agent = start(Box::new(lab.enter_switch()));
        let (stream, _) = listener.accept().expect("the agent connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let stream = BufReader::new(stream);
        let demands = BTreeMap::new();
        (Self { stream, demands }, agent)
    }

    /// The agent's last word, once it is gone.
    pub(crate) fn end(&mut self) -> Option<AgentMessage> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("it ends in time");
            match serde_json::from_str(&line) {
                Ok(last @ (AgentMessage::Bye | AgentMessage::Error { .. })) => return Some(last),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    pub(crate) fn command(&mut self, command: &AgentCommand) {
        let mut line = serde_json::to_vec(command).expect("it has a JSON form");
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).expect("it listens");
    }

    pub(crate) fn next(&mut self) -> AgentMessage {
        let mut line = String::new();
        self.stream
            .read_line(&mut line)
            .expect("the agent says something in time");
        let message =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
        if let AgentMessage::Demands(demands) = &message {
            for row in &demands.destinations {
                *self.demands.entry(row.addr).or_default() += row.bytes;
            }
        }
        message
    }

    pub(crate) fn ready(&mut self) -> Ready {
        match self.next() {
            AgentMessage::Ready(ready) => ready,
            other => panic!("not ready: {other:?}"),
        }
    }

    /// The first `count` decisions from now on.
    pub(crate) fn decisions(&mut self, count: usize) -> Vec<DecisionReport> {
        let mut decisions = Vec::new();
        self.until(|message| {
            if let AgentMessage::Decisions(more) = message {
                decisions.extend(more);
            }
            (decisions.len() >= count).then_some(())
        });
        assert_eq!(decisions.len(), count, "more decisions than flows");
        decisions
    }

    /// The next change of a port.
    pub(crate) fn port_state(&mut self) -> (PortId, bool) {
        self.until(|message| match message {
            AgentMessage::PortState(state) => Some((state.port, state.is_alive)),
            _ => None,
        })
    }

    /// The next report of a port's queue that is as wanted.
    pub(crate) fn queue_of(
        &mut self,
        port: PortId,
        is_wanted: impl Fn(&QueueReport) -> bool,
    ) -> QueueReport {
        self.until(|message| match message {
            AgentMessage::Queues(queues) => queues
                .ports
                .into_iter()
                .find(|report| report.port == port && is_wanted(report)),
            _ => None,
        })
    }

    /// The next report of what a port sent that is as wanted.
    pub(crate) fn link_of(
        &mut self,
        port: PortId,
        is_wanted: impl Fn(&LinkReport) -> bool,
    ) -> LinkReport {
        self.until(|message| match message {
            AgentMessage::Links(links) => links
                .ports
                .into_iter()
                .find(|report| report.port == port && is_wanted(report)),
            _ => None,
        })
    }

    /// The next counters that are as wanted.
    pub(crate) fn stats_where(&mut self, is_wanted: impl Fn(&Stats) -> bool) -> Stats {
        self.until(|message| match message {
            AgentMessage::Stats(stats) => is_wanted(&stats).then_some(stats),
            _ => None,
        })
    }

    /// All until the agent has ended.
    pub(crate) fn rest(&mut self) -> Last {
        let (mut flows, mut last) = (Vec::new(), Stats::default());
        self.until(|message| match message {
            AgentMessage::Flows(more) => {
                flows.extend(more);
                None
            }
            AgentMessage::Stats(stats) => {
                last = stats;
                None
            }
            end @ (AgentMessage::Bye | AgentMessage::Error { .. }) => Some(Last {
                flows: std::mem::take(&mut flows),
                stats: last,
                end,
            }),
            _ => None,
        })
    }

    /// Reads until `pick` has what it wants; fails when that takes too long.
    fn until<T>(&mut self, mut pick: impl FnMut(AgentMessage) -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let message = self.next();
            let said = format!("{message:?}");
            if let Some(picked) = pick(message) {
                return picked;
            }
            assert!(Instant::now() < give_up, "the last thing said was {said}");
        }
    }
}
