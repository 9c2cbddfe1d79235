//! The controller's end of an agent's socket.
//!
//! Every method fails if the socket fails. A wait fails after two minutes or when the agent has ended; the error quotes
//! the latest message.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, Shutdown},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_abi::wire::{
    AgentCommand, AgentConfig, AgentMessage, BucketRow, DecisionReport, FlowReport, LinkReport,
    QueueReport, Ready, Stats,
};
use lab_units::PortId;

use crate::{
    BenchError,
    testbed::{PREFIX, Side, Testbed},
};

/// Controller's side of the socket to one agent.
pub struct AgentController {
    stream: BufReader<UnixStream>,
    /// Bytes to each destination, summed over all reports of the agent so far.
    pub demands: BTreeMap<Ipv4Addr, u64>,
}

/// Reports that an agent sends after it was told to stop.
pub struct LastReports {
    /// Flows reported since the agent was told to stop, including those still in the table.
    pub flows: Vec<FlowReport>,
    /// Latest counters that the agent reported.
    pub stats: Stats,
    /// Last message of the agent: [`AgentMessage::Bye`] or [`AgentMessage::Error`].
    pub end: AgentMessage,
}

/// Agent in a thread of this process.
pub type AgentThread = JoinHandle<Result<(), BenchError>>;

impl AgentController {
    /// Runs an agent with `config` in a thread that has entered the switch's namespace.
    pub fn start(
        testbed: &Testbed,
        config: AgentConfig,
    ) -> Result<(Self, AgentThread), BenchError> {
        let enter = testbed.enter(Side::Switch);
        let socket = config.controller_socket.clone();
        Self::listen(Path::new(&socket), || {
            thread::spawn(move || {
                enter()?;
                Ok(lab_switchd::run(config)?)
            })
        })
    }

    /// Listens at `socket`, starts an agent, and waits until it connects.
    pub fn listen<T>(socket: &Path, start: impl FnOnce() -> T) -> Result<(Self, T), BenchError> {
        // The controller of a killed agent leaves its socket file behind.
        let _ = std::fs::remove_file(socket);
        let listener =
            UnixListener::bind(socket).map_err(BenchError::io("listen for the agent"))?;
        let agent = start();
        let (stream, _) = listener
            .accept()
            .map_err(BenchError::io("accept the agent's connection"))?;
        stream
            .set_read_timeout(Some(TIMEOUT))
            .map_err(BenchError::io("set a time-out"))?;
        let stream = BufReader::new(stream);
        let demands = BTreeMap::new();
        Ok((Self { stream, demands }, agent))
    }

    /// Sends a command; the agent applies commands in order.
    pub fn command(&mut self, command: &AgentCommand) -> Result<(), BenchError> {
        let mut line = serde_json::to_vec(command).unwrap_or_default();
        line.push(b'\n');
        self.stream
            .get_mut()
            .write_all(&line)
            .map_err(BenchError::io("send a command to the agent"))
    }

    /// Returns the next message; `None` if the agent has closed the socket.
    pub fn message(&mut self) -> Result<Option<AgentMessage>, BenchError> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        read.map_err(BenchError::io("read a message from the agent"))?;
        let message = serde_json::from_str(&line).ok();
        if let Some(AgentMessage::Demands(demands)) = &message {
            for row in &demands.destinations {
                *self.demands.entry(row.addr).or_default() += row.bytes;
            }
        }
        Ok(message)
    }

    /// Reads messages until `pick` returns a value; the error for a missing message includes `what`.
    pub fn wait_for<T>(
        &mut self,
        what: &'static str,
        mut pick: impl FnMut(AgentMessage) -> Option<T>,
    ) -> Result<T, BenchError> {
        let give_up = Instant::now() + TIMEOUT;
        let mut instead = "it has ended".to_owned();
        while let Some(message) = self.message()? {
            instead = format!("{message:?}");
            if let Some(picked) = pick(message) {
                return Ok(picked);
            }
            if Instant::now() > give_up {
                break;
            }
        }
        Err(BenchError::Agent { what, instead })
    }

    /// Waits until the program is attached to all ports.
    pub fn ready(&mut self) -> Result<Ready, BenchError> {
        self.wait_for("that its program is attached", |message| match message {
            AgentMessage::Ready(ready) => Some(ready),
            _ => None,
        })
    }

    /// Sets the numbers of hash buckets of the two candidate next hops, and waits until they are in the switch's table.
    pub fn set_buckets(&mut self, buckets: [u16; 2]) -> Result<(), BenchError> {
        let (addr, prefix_len) = PREFIX;
        self.apply(&AgentCommand::SetBuckets(vec![BucketRow {
            addr,
            prefix_len,
            buckets: buckets.to_vec(),
        }]))
    }

    /// Sends a command and waits until the agent has applied it: waits for two queue reports, because the agent may
    /// have sent the first one before it read the command.
    pub fn apply(&mut self, command: &AgentCommand) -> Result<(), BenchError> {
        self.command(command)?;
        let mut reports = 0;
        self.wait_for("its queues", |message| {
            reports += u32::from(matches!(message, AgentMessage::Queues(_)));
            (reports == 2).then_some(())
        })
    }

    /// Enables or disables a port, and waits until the agent reports the change.
    pub fn enable(&mut self, port: PortId, is_enabled: bool) -> Result<(), BenchError> {
        self.command(&AgentCommand::SetPort { port, is_enabled })?;
        self.port_is(port, is_enabled)
    }

    /// Waits until the agent reports a port as alive or dead.
    pub fn port_is(&mut self, port: PortId, is_alive: bool) -> Result<(), BenchError> {
        self.wait_for("a port's liveness", |message| match message {
            AgentMessage::PortState(state) => {
                ((state.port, state.is_alive) == (port, is_alive)).then_some(())
            }
            _ => None,
        })
    }

    /// Returns the next `count` decisions; fails if the last message contains more.
    pub fn decisions(&mut self, count: usize) -> Result<Vec<DecisionReport>, BenchError> {
        let mut decisions = Vec::new();
        self.wait_for("its decisions", |message| {
            if let AgentMessage::Decisions(more) = message {
                decisions.extend(more);
            }
            (decisions.len() >= count).then_some(())
        })?;
        if decisions.len() == count {
            return Ok(decisions);
        }
        Err(BenchError::Agent {
            what: "one decision per flow",
            instead: format!("{} for {count}", decisions.len()),
        })
    }

    /// Waits for a report of a port's queue that satisfies `is_wanted`.
    pub fn queue_of(
        &mut self,
        port: PortId,
        is_wanted: impl Fn(&QueueReport) -> bool,
    ) -> Result<QueueReport, BenchError> {
        let is_it = |report: &QueueReport| report.port == port && is_wanted(report);
        self.wait_for("the expected queue", |message| match message {
            AgentMessage::Queues(queues) => queues.ports.into_iter().find(is_it),
            _ => None,
        })
    }

    /// Waits for a report of a port's counters that satisfies `is_wanted`.
    pub fn link_of(
        &mut self,
        port: PortId,
        is_wanted: impl Fn(&LinkReport) -> bool,
    ) -> Result<LinkReport, BenchError> {
        let is_it = |report: &LinkReport| report.port == port && is_wanted(report);
        self.wait_for("the expected link counters", |message| match message {
            AgentMessage::Links(links) => links.ports.into_iter().find(is_it),
            _ => None,
        })
    }

    /// Waits for a report of the agent's counters that satisfies `is_wanted`.
    pub fn stats_where(&mut self, is_wanted: impl Fn(&Stats) -> bool) -> Result<Stats, BenchError> {
        self.wait_for("the expected counters", |message| match message {
            AgentMessage::Stats(stats) => is_wanted(&stats).then_some(stats),
            _ => None,
        })
    }

    /// Stops the agent, waits for its last reports, and disconnects, which ends the agent.
    pub fn stop(&mut self) -> Result<LastReports, BenchError> {
        let reports = self.stop_repetition()?;
        let ended = self.stream.get_mut().shutdown(Shutdown::Write);
        ended.map_err(BenchError::io("disconnect from the agent"))?;
        Ok(reports)
    }

    /// Stops the agent's repetition and returns its last reports.
    pub fn stop_repetition(&mut self) -> Result<LastReports, BenchError> {
        self.command(&AgentCommand::Stop)?;
        self.last_reports()
    }

    /// Returns the last reports of an agent that is stopping.
    pub fn last_reports(&mut self) -> Result<LastReports, BenchError> {
        let mut flows = Vec::new();
        let mut stats = Stats::default();
        let end = self.wait_for("its end", |message| {
            match message {
                AgentMessage::Flows(more) => flows.extend(more),
                AgentMessage::Stats(latest) => stats = latest,
                end @ (AgentMessage::Bye | AgentMessage::Error { .. }) => return Some(end),
                _ => {}
            }
            None
        })?;
        Ok(LastReports { flows, stats, end })
    }
}

/// Maximum wait for a message, far longer than even a loaded machine needs.
const TIMEOUT: Duration = Duration::from_secs(120);
