//! The switch agents of one run: started, listened to, stopped.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use lab_abi::wire::{AgentCommand, AgentConfig, AgentMessage, PolicyConfig};
use lab_plan::model::{Plan, PolicyRun};
use lab_units::{DcId, NodeId};
use tokio::sync::mpsc::UnboundedSender;

use super::{AgentError, agent_config::agent_config};
use crate::Lab;

/// What came from the agent of one datacenter.
#[derive(Debug)]
pub(super) enum AgentEvent {
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
    /// The directory that paths of a user's own switch programs are relative to: the scenario's.
    pub programs: PathBuf,
}

/// The agent of one DCI switch.
#[derive(Debug)]
pub(super) struct Agent {
    dc: DcId,
    node: NodeId,
    /// Position in the plan's switches.
    switch: usize,
    /// All it has been told.
    config: AgentConfig,
    process: Process,
}

/// Its process.
#[derive(Debug)]
struct Process {
    child: Child,
    stream: UnixStream,
}

impl AgentLauncher {
    /// Starts the agent of the switch at `switch_index` on its node and passes on what it says. What
    /// is to outlive it is pinned in a directory of `pins`.
    ///
    /// # Errors
    /// When its configuration does not fit or its process cannot be started.
    pub(super) fn start<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        lab: &mut Lab,
        plan: &Plan,
        run: &PolicyRun,
        switch_index: usize,
        pins: &Path,
        events: UnboundedSender<T>,
    ) -> Result<Agent, AgentError> {
        let node = plan.switches[switch_index].node;
        let dc = plan.nodes[node.index()].dc;
        let name = &plan.dcs[dc.index()].name;
        let pin_dir = pins.join(name);
        let mut config = AgentConfig {
            lab: self.lab.clone(),
            controller_socket: self.socket(name).display().to_string(),
            pin_dir: Some(pin_dir.display().to_string()),
            ..agent_config(plan, run, switch_index)
        };
        if let PolicyConfig::Own(own) = &mut config.policy {
            own.object = self.programs.join(&own.object).display().to_string();
        }
        config.validate().map_err(|source| AgentError::Config {
            dc: name.clone(),
            source,
        })?;
        // What the agent of an earlier repetition left, if it did not end well, is not to be taken
        // over: every repetition begins with empty tables.
        if pin_dir.exists() {
            let removed = std::fs::remove_dir_all(&pin_dir);
            removed.map_err(AgentError::io(name, "remove the maps of the one before"))?;
        }
        let process = self.launch(lab, node, dc, &config, events)?;
        Ok(Agent {
            dc,
            node,
            switch: switch_index,
            config,
            process,
        })
    }

    /// Starts the agent of a switch again, with all that the one before had been told.
    ///
    /// # Errors
    /// When its process cannot be started.
    pub(super) fn restart<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        lab: &mut Lab,
        agent: &mut Agent,
        events: UnboundedSender<T>,
    ) -> Result<(), AgentError> {
        // It may have closed its socket and go on: two agents of a switch there must not be.
        let failed = AgentError::io(agent.name(), "end the one before");
        let ended = agent.process.child.kill();
        ended
            .and_then(|()| agent.process.child.wait())
            .map_err(failed)?;
        agent.process = self.launch(lab, agent.node, agent.dc, &agent.config, events)?;
        Ok(())
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.socket_dir.join(format!("{name}.sock"))
    }

    fn launch<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        lab: &mut Lab,
        node: NodeId,
        dc: DcId,
        config: &AgentConfig,
        events: UnboundedSender<T>,
    ) -> Result<Process, AgentError> {
        let name = &config.dc;
        let failed = |action| AgentError::io(name, action);
        let socket = self.socket(name);
        // A socket left by an earlier agent of this lab is ours to replace.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).map_err(failed("open its socket"))?;
        let mut child = self.spawn(lab, node).map_err(failed("start it"))?;
        let mut stdin = child.stdin.take().expect("its standard input is piped");
        let text = serde_json::to_vec(config).expect("a configuration is plain data");
        stdin
            .write_all(&text)
            .map_err(failed("hand over its configuration"))?;
        drop(stdin);
        let stream = accept(&listener, &mut child).map_err(failed("reach it"))?;
        let reader = stream.try_clone().map_err(failed("listen to it"))?;
        thread::Builder::new()
            .name(format!("agent-{name}"))
            .spawn(move || listen(dc, reader, &events))
            .map_err(failed("listen to it"))?;
        Ok(Process { child, stream })
    }

    fn spawn(&self, lab: &mut Lab, node: NodeId) -> io::Result<Child> {
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
        lab.spawn_on(node, &mut command)
    }
}

impl Agent {
    /// The datacenter whose switch it is the agent of.
    pub(super) const fn dc(&self) -> DcId {
        self.dc
    }

    /// The datacenter's name.
    pub(super) fn name(&self) -> &str {
        &self.config.dc
    }

    /// The position of its switch in the plan's.
    pub(super) const fn switch(&self) -> usize {
        self.switch
    }

    /// All it has been told.
    pub(super) const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Asks the agent to say what it still has to say and to end.
    pub(super) fn stop(&mut self) {
        self.say(&AgentCommand::Stop);
    }

    /// Gives the agent a command, and keeps it for the one that may come after it.
    ///
    /// # Errors
    /// When it does not fit the switch.
    pub(super) fn tell(&mut self, command: &AgentCommand) -> Result<(), AgentError> {
        self.config
            .apply(command)
            .map_err(|source| AgentError::Config {
                dc: self.name().to_owned(),
                source,
            })?;
        self.say(command);
        Ok(())
    }

    fn say(&mut self, command: &AgentCommand) {
        let mut line = serde_json::to_vec(command).expect("a command is plain data");
        line.push(b'\n');
        // An agent that is already gone closed its socket, which is what its reader reports.
        let _ = self.process.stream.write_all(&line);
    }

    /// Waits for the process after its socket was closed.
    ///
    /// # Errors
    /// When it ended by itself with an error.
    pub(super) fn wait(mut self) -> Result<(), AgentError> {
        match self.process.child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(AgentError::Gone {
                dc: self.name().to_owned(),
            }),
        }
    }
}

impl Drop for Process {
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

/// How often a start that hangs is checked for a dead process.
const CONNECT_CHECK_MS: u16 = 500;
