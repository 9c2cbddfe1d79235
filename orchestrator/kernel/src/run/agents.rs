//! The switch agents of one run: started, listened to, stopped.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use lab_abi::wire::{
    AgentCommand, AgentConfig, AgentConfigError, AgentMessage, AttachMode, CandidateConfig,
    DestinationConfig, MacAddr, PolicyConfig, PortConfig,
};
use lab_plan::model::{LinkKind, Plan, PolicyPlan, PolicyRun, Switch};
use lab_units::{DcId, Nanos, PortId};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;

use crate::exec::netns;

/// Why the agents of a run did not start or did not end well.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The configuration does not fit a switch's tables.
    #[error("agent of `{dc}`: {source}")]
    Config {
        /// The datacenter.
        dc: String,
        /// What does not fit.
        source: AgentConfigError,
    },
    /// The agent's process could not be started or talked to.
    #[error("agent of `{dc}`: cannot {action}: {source}")]
    Io {
        /// The datacenter.
        dc: String,
        /// What was tried.
        action: &'static str,
        /// Why it did not work.
        source: io::Error,
    },
    /// The agent said why it gave up.
    #[error("agent of `{dc}`: {message}")]
    Reported {
        /// The datacenter.
        dc: String,
        /// The agent's own words.
        message: String,
    },
    /// The agent ended without a word.
    #[error("agent of `{dc}` ended before it was told to")]
    Gone {
        /// The datacenter.
        dc: String,
    },
}

/// What came from the agent of one datacenter.
#[derive(Debug)]
pub enum AgentEvent {
    /// A message.
    Message(AgentMessage),
    /// The socket was closed: the last event of this agent.
    Closed,
}

/// How agents are started.
#[derive(Clone, Debug)]
pub struct AgentLauncher {
    /// The agent's command; it reads its configuration from standard input.
    pub command: Vec<OsString>,
    /// Directory for the controller's sockets.
    pub socket_dir: PathBuf,
    /// The lab's name.
    pub lab: String,
}

/// The agent of one DCI switch.
#[derive(Debug)]
pub struct Agent {
    dc: String,
    child: Child,
    stream: UnixStream,
}

impl AgentLauncher {
    /// Starts the agent of `switch` in its network namespace and passes on what it says.
    ///
    /// # Errors
    /// When its configuration does not fit or its process cannot be started.
    pub fn start<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        plan: &Plan,
        run: &PolicyRun,
        switch_index: usize,
        namespace: &Path,
        events: UnboundedSender<T>,
    ) -> Result<Agent, AgentError> {
        let switch = &plan.switches[switch_index];
        let dc_id = plan.nodes[switch.node.index()].dc;
        let dc = plan.dcs[dc_id.index()].name.clone();
        let failed = |action| {
            let dc = dc.clone();
            move |source| AgentError::Io { dc, action, source }
        };
        let socket = self.socket_dir.join(format!("{dc}.sock"));
        let config = self.config(plan, run, switch_index, &socket);
        config.validate().map_err(|source| AgentError::Config {
            dc: dc.clone(),
            source,
        })?;

        // A socket left by an earlier run of this lab is ours to replace.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).map_err(failed("open its socket"))?;
        let mut child = self.spawn(namespace).map_err(failed("start it"))?;
        let mut stdin = child.stdin.take().expect("its standard input is piped");
        let text = serde_json::to_vec(&config).expect("a configuration is plain data");
        stdin
            .write_all(&text)
            .map_err(failed("hand over its configuration"))?;
        drop(stdin);
        let stream = accept(&listener, &mut child).map_err(failed("reach it"))?;
        let reader = stream.try_clone().map_err(failed("listen to it"))?;
        thread::Builder::new()
            .name(format!("agent-{dc}"))
            .spawn(move || listen(dc_id, reader, &events))
            .map_err(failed("listen to it"))?;
        Ok(Agent { dc, child, stream })
    }

    /// A child started from a thread inside the namespace is inside it too.
    fn spawn(&self, namespace: &Path) -> io::Result<Child> {
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        let namespace = File::open(namespace)?;
        netns::inside(namespace, move || command.spawn())?
    }

    fn config(
        &self,
        plan: &Plan,
        run: &PolicyRun,
        switch_index: usize,
        socket: &Path,
    ) -> AgentConfig {
        let switch = &plan.switches[switch_index];
        let (policy, sample, gc, idle, entries, stale_after_ns) = match &run.policy {
            PolicyPlan::Ecmp | PolicyPlan::Wcmp | PolicyPlan::UcmpArtifact => {
                let record = plan.measure.queues_ns;
                let idle = plan.rdma.flow_deadline_ns;
                (
                    PolicyConfig::Buckets,
                    record,
                    idle,
                    idle,
                    BUCKETS_FLOW_TABLE_ENTRIES,
                    None,
                )
            }
            PolicyPlan::Lcmp(lcmp) => {
                let sample = lcmp.sample_interval_ns;
                let stale = Nanos::new(sample.get().saturating_mul(STALE_SAMPLES));
                (
                    PolicyConfig::Lcmp(lcmp.clone()),
                    sample,
                    lcmp.gc_interval_ns,
                    lcmp.idle_timeout_ns,
                    lcmp.flow_table_entries,
                    Some(stale),
                )
            }
        };
        AgentConfig {
            lab: self.lab.clone(),
            dc: plan.dcs[plan.nodes[switch.node.index()].dc.index()]
                .name
                .clone(),
            switch_id: switch.hash_seed,
            policy,
            time_scale: plan.scale.time,
            size_scale: plan.scale.size,
            ports: ports(plan, switch),
            destinations: destinations(plan, run, switch_index),
            sample_interval_ns: sample,
            record_interval_ns: plan.measure.queues_ns,
            gc_interval_ns: gc,
            idle_timeout_ns: idle,
            stale_after_ns,
            flow_table_entries: entries,
            controller_socket: socket.display().to_string(),
            attach: AttachMode::Auto,
        }
    }
}

impl Agent {
    /// The agent's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The datacenter whose switch it is the agent of.
    #[must_use]
    pub fn dc(&self) -> &str {
        &self.dc
    }

    /// Asks the agent to say what it still has to say and to end.
    pub fn stop(&mut self) {
        self.tell(&AgentCommand::Stop);
    }

    /// Gives the agent a command.
    pub fn tell(&mut self, command: &AgentCommand) {
        let mut line = serde_json::to_vec(command).expect("a command is plain data");
        line.push(b'\n');
        // An agent that is already gone closed its socket, which is what its reader reports.
        let _ = self.stream.write_all(&line);
    }

    /// Waits for the process after its socket was closed.
    ///
    /// # Errors
    /// When it ended by itself with an error.
    pub fn wait(mut self) -> Result<(), AgentError> {
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(AgentError::Gone {
                dc: std::mem::take(&mut self.dc),
            }),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Only an agent that was not waited for still runs here: the run failed.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits for the agent to connect, or to end without having done so.
fn accept(listener: &UnixListener, child: &mut Child) -> io::Result<UnixStream> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    loop {
        // The agent says nothing before it connects, so there is only its end to look for.
        let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(CONNECT_CHECK_MS))? > 0 {
            return listener.accept().map(|(stream, _)| stream);
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
    }
}

fn listen<T: From<(DcId, AgentEvent)>>(dc: DcId, stream: UnixStream, events: &UnboundedSender<T>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let event = match serde_json::from_str(&line) {
            Ok(message) => AgentEvent::Message(message),
            Err(error) => AgentEvent::Message(AgentMessage::Error {
                message: format!("a message that is none ({error}): {line}"),
            }),
        };
        if events.send((dc, event).into()).is_err() {
            return;
        }
    }
    let _ = events.send((dc, AgentEvent::Closed).into());
}

fn ports(plan: &Plan, switch: &Switch) -> Vec<PortConfig> {
    let of_port = |id: PortId| {
        let link = &plan.links[id.link().index()];
        PortConfig {
            id,
            interface: plan.ports[id.index()].interface.clone(),
            src_mac: MacAddr(plan.ports[id.index()].mac),
            dst_mac: MacAddr(plan.ports[id.peer().index()].mac),
            is_queue_sampled: link.kind == LinkKind::InterDc,
            rate_bps: link.emu.rate_bps,
            buffer_bytes: link.emu.buffer_bytes,
        }
    };
    plan.nodes[switch.node.index()]
        .ports
        .iter()
        .copied()
        .map(of_port)
        .collect()
}

fn destinations(plan: &Plan, run: &PolicyRun, switch_index: usize) -> Vec<DestinationConfig> {
    let switch = &plan.switches[switch_index];
    let scores = run.path_scores.get(switch_index);
    let mut all = Vec::with_capacity(switch.destinations.len());
    for (row, destination) in switch.destinations.iter().enumerate() {
        let prefix = plan.dcs[destination.dc.index()].prefix;
        let score = |column: usize| scores.map_or(0, |scores| scores[row][column]);
        let candidates = destination.candidates.iter().enumerate();
        all.push(DestinationConfig {
            addr: prefix.addr,
            prefix_len: prefix.len,
            candidates: candidates
                .map(|(column, candidate)| CandidateConfig {
                    port: candidate.port,
                    c_path: score(column),
                    buckets: run.buckets_of(switch_index, row, column),
                })
                .collect(),
        });
    }
    all
}

/// Rows of the flow table where the policy does not say: LCMP's default, so that policies differ
/// in their decisions alone.
const BUCKETS_FLOW_TABLE_ENTRIES: u32 = 50_000;

/// Samples missed in a row before the agent's view is not decided by: the lab's own measure of a
/// stuck agent, far from what a busy machine causes.
const STALE_SAMPLES: u64 = 1_000;

/// How often a start that hangs is checked for a dead process.
const CONNECT_CHECK_MS: u16 = 500;
