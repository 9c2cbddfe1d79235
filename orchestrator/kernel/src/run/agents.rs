//! Processes of the switch agents: their start, messages, commands and end.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    net::Shutdown,
    os::{
        fd::AsFd,
        unix::{
            net::{UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use lab_abi::wire::{AgentCommand, AgentConfig, AgentMessage, PolicyConfig, ValidAgentConfig};
use lab_plan::model::{Plan, PolicyRun, Switch};
use lab_units::{DcId, NodeId};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use super::{AgentError, agent_config::agent_config, kill::OomKills, transits::TransitRows};
use crate::Lab;

/// Event that a datacenter's agent causes.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentEvent {
    /// The agent sent a message.
    Message(AgentMessage),
    /// The agent has ended its repetition or its socket was closed; the last event of an agent in a repetition.
    Closed,
}

/// Launcher for the agent processes of the switches.
#[derive(Clone, Debug)]
pub struct AgentLauncher {
    /// Command line of the agent, which reads its configuration from standard input.
    pub command: Vec<OsString>,
    /// Directory in which the controller's sockets are created.
    pub socket_dir: PathBuf,
    /// Name of the lab, used in messages.
    pub lab: String,
    /// Directory of the scenario; the paths of users' own switch programs are relative to it.
    pub programs: PathBuf,
}

/// Running agent of one DCI switch.
#[derive(Debug)]
pub(super) struct SwitchAgent {
    dc: DcId,
    node: NodeId,
    /// Index of the switch in `plan.switches`.
    switch: usize,
    /// Current configuration: the initial configuration with all commands so far applied.
    config: ValidAgentConfig,
    process: Process,
}

/// Process of an agent, and the connection to it.
#[derive(Debug)]
struct Process {
    child: Child,
    stream: UnixStream,
    /// Kills for lack of memory before the process started.
    kills: OomKills,
}

/// Returns the indices in `plan.switches` of the switches that have an agent. Switches of legacy datacenters have no
/// agent.
pub(super) fn switches(plan: &Plan) -> impl Iterator<Item = usize> {
    let with_agent = plan
        .switches
        .iter()
        .enumerate()
        .filter(|(_, switch)| !plan.dcs[dc_of(plan, switch).index()].legacy);
    with_agent.map(|(index, _)| index)
}

/// Returns the datacenter of a switch.
fn dc_of(plan: &Plan, switch: &Switch) -> DcId {
    plan.nodes[switch.node.index()].dc
}

impl AgentLauncher {
    /// Returns the configuration of the agent of the switch at `switch_index`. Maps that must outlive the agent are
    /// pinned in a subdirectory of `pins`; `transits` are the rows of all switches.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub(super) fn config(
        &self,
        plan: &Plan,
        run: &PolicyRun,
        switch_index: usize,
        pins: &Path,
        transits: &TransitRows,
    ) -> Result<ValidAgentConfig, AgentError> {
        let dc = dc_of(plan, &plan.switches[switch_index]);
        let name = &plan.dcs[dc.index()].name;
        let pin_dir = pins_of(pins, name);
        let mut config = AgentConfig {
            lab: self.lab.clone(),
            controller_socket: self.socket(name).display().to_string(),
            pin_dir: Some(pin_dir.display().to_string()),
            transits: transits.at_start(dc).cloned(),
            ..agent_config(plan, run, switch_index)
        };
        if let PolicyConfig::Own(own) = &mut config.policy {
            own.object = self.programs.join(&own.object).display().to_string();
        }
        ValidAgentConfig::try_from(config).map_err(|source| AgentError::Config {
            dc: name.clone(),
            source,
        })
    }

    /// Starts the agent of the switch at `switch_index` in its node's namespace; the agent's messages go to `events`.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub(super) fn start<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        lab: &mut Lab,
        plan: &Plan,
        switch_index: usize,
        config: ValidAgentConfig,
        events: UnboundedSender<T>,
    ) -> Result<SwitchAgent, AgentError> {
        let node = plan.switches[switch_index].node;
        let dc = dc_of(plan, &plan.switches[switch_index]);
        // Every repetition begins with empty tables, so the maps of a killed agent are removed.
        if let Some(pin_dir) = &config.pin_dir
            && Path::new(pin_dir).exists()
        {
            let failed = AgentError::io(&config.dc, "remove the maps of the previous agent");
            std::fs::remove_dir_all(pin_dir).map_err(failed)?;
        }
        let process = self.launch(lab, node, dc, &config, events)?;
        Ok(SwitchAgent {
            dc,
            node,
            switch: switch_index,
            config,
            process,
        })
    }

    /// Starts the agent of a switch again. The new agent gets the configuration and commands of the previous agent.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub(super) fn restart<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        lab: &mut Lab,
        agent: &mut SwitchAgent,
        events: UnboundedSender<T>,
    ) -> Result<(), AgentError> {
        // The previous process may still run although its socket is closed, and a switch must never have two agents.
        agent.kill()?;
        agent.process = self.launch(lab, agent.node, agent.dc, &agent.config, events)?;
        Ok(())
    }

    fn socket(&self, dc: &str) -> PathBuf {
        self.socket_dir.join(format!("agent-{dc}.sock"))
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
        // An earlier agent of this lab may have left its socket behind.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).map_err(failed("open its socket"))?;
        let kills = OomKills::read();
        let mut child = self.spawn(lab, node).map_err(failed("start it"))?;
        let mut stdin = child.stdin.take().expect("its standard input is piped");
        let text = serde_json::to_vec(config).expect("a configuration is plain data");
        match stdin.write_all(&text) {
            // The agent has ended without reading, and the wait for its connection says how.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written.map_err(failed("send its configuration"))?,
        }
        drop(stdin);
        let stream = accept(&listener, &mut child, kills).map_err(failed("connect to it"))?;
        let process = Process {
            child,
            stream,
            kills,
        };
        process.listen(dc, name, events)?;
        Ok(process)
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
            .stderr(Stdio::inherit())
            // The process gets a process group of its own, so that Ctrl-C on the terminal reaches only the run, which
            // then ends its agents.
            .process_group(0);
        lab.spawn_on(node, &mut command)
    }
}

impl SwitchAgent {
    pub(super) const fn dc(&self) -> DcId {
        self.dc
    }

    pub(super) fn name(&self) -> &str {
        &self.config.dc
    }

    /// Returns the index of the switch in `plan.switches`.
    pub(super) const fn switch(&self) -> usize {
        self.switch
    }

    /// Returns the current configuration: the initial configuration with all commands so far applied.
    pub(super) fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Returns true if the process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.process.child.try_wait(), Ok(None))
    }

    /// Begins another repetition with a process that has ended its previous one; the agent's messages go to `events`.
    ///
    /// # Errors
    /// If nothing can listen to the process, or the configuration is invalid.
    pub(super) fn begin<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &mut self,
        config: &AgentConfig,
        events: UnboundedSender<T>,
    ) -> Result<(), AgentError> {
        self.process.listen(self.dc, &config.dc, events)?;
        self.send(&AgentCommand::Begin(Box::new(config.clone())))
    }

    /// Kills the process, which leaves its program and maps in the kernel, and waits for its end.
    ///
    /// # Errors
    /// If the process cannot be killed.
    pub(super) fn kill(&mut self) -> Result<(), AgentError> {
        let failed = AgentError::io(self.name(), "end the agent");
        let child = &mut self.process.child;
        let killed = child.kill().and_then(|()| child.wait());
        killed.map(drop).map_err(failed)
    }

    /// Asks the agent to send its last messages and to end the repetition.
    pub(super) fn stop(&mut self) {
        self.write(&AgentCommand::Stop);
    }

    /// Sends a command, and applies it to the configuration that a restarted agent would get.
    ///
    /// # Errors
    /// If the command does not fit the switch.
    pub(super) fn send(&mut self, command: &AgentCommand) -> Result<(), AgentError> {
        self.note(command)?;
        self.write(command);
        Ok(())
    }

    /// Applies a command to the configuration from which a restarted agent starts, without sending it.
    ///
    /// # Errors
    /// If the command does not fit the configuration.
    pub(super) fn note(&mut self, command: &AgentCommand) -> Result<(), AgentError> {
        let applied = self.config.apply(command);
        applied.map_err(|source| AgentError::Config {
            dc: self.name().to_owned(),
            source,
        })
    }

    fn write(&mut self, command: &AgentCommand) {
        let mut line = serde_json::to_vec(command).expect("a command is plain data");
        line.push(b'\n');
        // A write error needs no handling, because the reader reports that the agent has closed its socket.
        let _ = self.process.stream.write_all(&line);
    }

    /// Ends the process, whose last repetition has ended, and waits for it.
    ///
    /// # Errors
    /// If the process ended with an error.
    pub(super) fn end(mut self) -> Result<(), AgentError> {
        self.process.disconnect();
        match self.process.child.wait() {
            Ok(status) if status.success() => Ok(()),
            ended => Err(self.gone(ended.ok())),
        }
    }
}

impl SwitchAgent {
    /// Returns the error for an agent that has closed its socket although nobody asked it to end. Waits shortly for the
    /// process, whose sockets close a moment before it has ended.
    pub(super) fn lost(&mut self) -> AgentError {
        let mut status = None;
        for _ in 0..END_CHECKS {
            match self.process.child.try_wait() {
                Ok(None) => thread::sleep(END_CHECK),
                ended => {
                    status = ended.ok().flatten();
                    break;
                }
            }
        }
        self.gone(status)
    }

    fn gone(&self, status: Option<ExitStatus>) -> AgentError {
        let dc = self.name().to_owned();
        match status.and_then(|status| self.process.kills.cause(status)) {
            Some(cause) => AgentError::Killed { dc, cause },
            None => AgentError::Gone { dc },
        }
    }
}

impl Process {
    /// Sends the messages of the process's next repetition to `events`, from a thread of its own.
    fn listen<T: From<(DcId, AgentEvent)> + Send + 'static>(
        &self,
        dc: DcId,
        name: &str,
        events: UnboundedSender<T>,
    ) -> Result<(), AgentError> {
        let failed = || AgentError::io(name, "listen to it");
        let reader = self.stream.try_clone().map_err(failed())?;
        let thread = thread::Builder::new().name(format!("agent-{name}"));
        let spawned = thread.spawn(move || listen(dc, reader, &events));
        spawned.map(drop).map_err(failed())
    }

    /// Closes the connection, which ends the process.
    fn disconnect(&self) {
        // An error means that the process has closed it.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process still runs here only if the run failed before it ended its agents.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns the subdirectory of a lab's `pins` directory in which the maps of a datacenter's agent are pinned. The
/// prefix keeps the directory from colliding with other entries of `pins`, such as the maps of hosts.
fn pins_of(pins: &Path, dc: &str) -> PathBuf {
    pins.join(format!("switch-{dc}"))
}

/// Waits until the agent connects; fails if its process ends first.
fn accept(listener: &UnixListener, child: &mut Child, kills: OomKills) -> io::Result<UnixStream> {
    loop {
        let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(CONNECT_CHECK_MS)) {
            // EINTR: this process handled a signal, such as Ctrl-C, which is not an error of the agent.
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return listener.accept().map(|(stream, _)| stream),
            Err(errno) => return Err(errno.into()),
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(match kills.cause(status) {
                Some(cause) => format!("it was killed by signal 9: {cause}"),
                None => format!("the agent ended with {status}"),
            }));
        }
    }
}

/// Sends the messages of one repetition to `events`.
fn listen<T: From<(DcId, AgentEvent)>>(dc: DcId, stream: UnixStream, events: &UnboundedSender<T>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let event = match serde_json::from_str(&line) {
            Ok(message) => AgentEvent::Message(message),
            Err(error) => AgentEvent::Message(AgentMessage::Error {
                message: format!("invalid message ({error}): {line}"),
            }),
        };
        let is_last = matches!(event, AgentEvent::Message(AgentMessage::Bye));
        if events.send((dc, event).into()).is_err() {
            return;
        }
        if is_last {
            break;
        }
    }
    let _ = events.send((dc, AgentEvent::Closed).into());
}

/// Interval between two checks whether a starting agent has ended, ms.
const CONNECT_CHECK_MS: u16 = 500;

/// Interval between two checks whether an agent that has closed its socket has ended.
const END_CHECK: Duration = Duration::from_millis(1);

/// Number of these checks.
const END_CHECKS: u32 = 500;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nix::sys::{
        pthread::{pthread_kill, pthread_self},
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
    };

    use super::*;
    use crate::{
        lower::{Layout, LowerOptions},
        run::tune,
        testing,
    };

    #[test]
    fn no_datacenters_name_is_that_of_a_file_of_the_labs() {
        let plan = testing::pair(0);
        let lab = "t".parse().unwrap();
        let options = LowerOptions::shown("t".parse().unwrap());
        let host_maps = Layout::new(&plan, &options).host_directory();
        let tuning = tune::socket(&lab);
        let launcher = AgentLauncher {
            command: Vec::new(),
            socket_dir: tuning.parent().unwrap().to_owned(),
            lab: lab.to_string(),
            programs: PathBuf::new(),
        };
        for dc in ["tune", "exec", "host", "bpf", "journal"] {
            assert_ne!(launcher.socket(dc), tuning);
            assert_ne!(pins_of(host_maps.parent().unwrap(), dc), host_maps);
        }
    }

    #[test]
    fn an_agent_that_is_killed_before_it_connects_is_said_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("s")).unwrap();
        let ended = |command: &str| {
            let mut child = Command::new("sh").args(["-c", command]).spawn().unwrap();
            let ended = accept(&listener, &mut child, OomKills::read());
            ended.unwrap_err().to_string()
        };
        let killed = ended("kill -9 $$");
        assert!(
            killed.starts_with("it was killed by signal 9: "),
            "{killed}"
        );
        assert_eq!(ended("exit 3"), "the agent ended with exit status: 3");
    }

    extern "C" fn ignore(_: libc::c_int) {}

    /// Signal handlers make system calls fail with `EINTR`: `poll` always, other calls if the handler was installed
    /// without `SA_RESTART`; see signal(7).
    #[test]
    #[expect(unsafe_code, reason = "std sets no handlers")]
    fn a_signal_does_not_end_the_wait_for_an_agent() {
        let handler = SigHandler::Handler(ignore);
        let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        unsafe { sigaction(Signal::SIGWINCH, &action) }.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                tell.send(pthread_self()).unwrap();
                accept(&listener, &mut child, OomKills::read())
            });
            let waiter = told.recv().unwrap();
            // Most of these signals arrive while the thread is waiting.
            for _ in 0..50 {
                thread::sleep(Duration::from_millis(1));
                if !waiting.is_finished() {
                    pthread_kill(waiter, Signal::SIGWINCH).unwrap();
                }
            }
            UnixStream::connect(&path).unwrap();
            waiting.join().unwrap().expect("the agent connects");
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
