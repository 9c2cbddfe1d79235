//! The two processes of a flow, from their launch until they are ready to send.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    net::Ipv4Addr,
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    time::Duration,
};

use lab_units::{Side, Tool};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use super::{
    command::{CommandLine, client_command, server_command},
    error::SessionError,
    handshake::{Action, Handshake, ReadyPair},
    options::Options,
    process::{Launcher, Netns, Process},
};
use crate::contract::{Endpoint, Exit, FlowJob, HandshakeError, Status};

/// Starter of process pairs. Dropping it ends the launcher's thread and kills all processes.
#[derive(Debug)]
pub(crate) struct PairStarter {
    launcher: Launcher,
    namespaces: BTreeMap<PathBuf, Netns>,
    tools: Option<PathBuf>,
    ready_within: Option<Duration>,
}

/// Client and server process of a flow, each with a connection to the gate, the TCP proxy between them.
#[derive(Debug)]
pub(crate) struct ProcessPair {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
}

/// perftest process and its TCP connection to the gate, the proxy between client and server.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) process: Process,
    pub(crate) connection: Connection,
}

/// TCP connection to a perftest process: the socket of the gate, the proxy between client and server.
#[derive(Debug)]
pub(crate) struct Connection(TcpStream);

/// Inputs for the start of one process: launcher thread, network namespace and command.
struct Spawner<'a> {
    launcher: &'a Launcher,
    netns: Netns,
    /// Function that returns the command line, given the port on which the server listens.
    command: &'a (dyn Fn(u16) -> CommandLine + Sync),
}

impl PairStarter {
    /// Opens the network namespaces of all `jobs` and starts the launcher, the thread that starts the perftest
    /// processes.
    pub(crate) fn new(jobs: &[FlowJob], options: &Options) -> Result<Self, SessionError> {
        let mut namespaces = BTreeMap::new();
        for end in jobs.iter().flat_map(|job| [&job.src, &job.dst]) {
            if let Some(path) = &end.netns
                && let Entry::Vacant(entry) = namespaces.entry(path.clone())
            {
                entry.insert(Netns::open(path, &end.host)?);
            }
        }
        Ok(Self {
            launcher: Launcher::start().map_err(|source| SessionError::Thread { source })?,
            namespaces,
            tools: options.tools.clone(),
            ready_within: options.ready_within,
        })
    }

    /// Starts both processes of `job` and forwards their handshake up to the message that starts the data.
    pub(crate) async fn make_ready(
        &self,
        job: &FlowJob,
    ) -> Result<(ProcessPair, ReadyPair), Status> {
        let client = |port| self.locate(client_command(job, port));
        let server = |port| self.locate(server_command(job, port));
        let launch = ProcessPair::launch(
            self.spawner(job.endpoint(Side::Client), &client),
            self.spawner(job.endpoint(Side::Server), &server),
        );
        let mut pair = self
            .in_time("the flow's processes to connect", launch)
            .await?;
        let shake = pair.shake_hands(job.tool);
        match self
            .in_time("the flow's processes to exchange QP addresses", shake)
            .await
        {
            Ok(ready) => Ok((pair, ready)),
            Err(status) => {
                pair.kill().await;
                Err(status)
            }
        }
    }

    fn spawner<'a>(
        &'a self,
        end: &Endpoint,
        command: &'a (dyn Fn(u16) -> CommandLine + Sync),
    ) -> Spawner<'a> {
        let netns = end
            .netns
            .as_ref()
            .and_then(|path| self.namespaces.get(path));
        Spawner {
            launcher: &self.launcher,
            netns: netns.cloned().unwrap_or_default(),
            command,
        }
    }

    fn locate(&self, mut command: CommandLine) -> CommandLine {
        if let Some(directory) = &self.tools {
            command.program = directory.join(command.program).into();
        }
        command
    }

    async fn in_time<T>(
        &self,
        waiting_for: &'static str,
        step: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let Some(limit) = self.ready_within else {
            return step.await;
        };
        timeout(limit, step).await.unwrap_or_else(|_| {
            Err(not_ready(HandshakeError::TimedOut {
                seconds: limit.as_secs(),
                waiting_for: waiting_for.to_owned(),
            }))
        })
    }
}

impl ProcessPair {
    /// Starts both processes and connects them to the gate, the TCP proxy between them. Neither process has a queue
    /// pair yet, because perftest creates its queue pair after the first message of its peer.
    async fn launch(client: Spawner<'_>, server: Spawner<'_>) -> Result<Self, Status> {
        let server = launch_server(server).await?;
        let client = launch_client(client).await?;
        Ok(Self { client, server })
    }

    /// Forwards the handshake between both sides up to the message that starts the data.
    async fn shake_hands(&mut self, tool: Tool) -> Result<ReadyPair, Status> {
        let mut handshake = Handshake::new(tool);
        loop {
            let (side, received) = tokio::select! {
                received = self.client.connection.receive() => (Side::Client, received),
                received = self.server.connection.receive() => (Side::Server, received),
            };
            let Some(bytes) = received else {
                return Err(self.peer(side).closed_early(side).await);
            };
            match handshake.receive(side, &bytes).map_err(not_ready)? {
                Action::Keep => {}
                Action::Forward => {
                    let to = side.other();
                    if self.peer(to).connection.send(&bytes).await.is_err() {
                        return Err(self.peer(to).closed_early(to).await);
                    }
                }
                Action::Ready => break,
            }
        }
        let ready = handshake.into_ready();
        Ok(ready.expect("a handshake is ready when both sides have sent their keys"))
    }

    /// Kills the client's and the server's process.
    pub(crate) async fn kill(&mut self) {
        self.client.process.kill().await;
        self.server.process.kill().await;
    }

    fn peer(&mut self, side: Side) -> &mut Peer {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

impl Peer {
    /// Returns the status of a flow whose process closed its connection before data could flow.
    async fn closed_early(&mut self, side: Side) -> Status {
        match timeout(EXIT_WITHIN, self.process.exit()).await {
            Ok(exit) => ended(&mut self.process, side, exit).await,
            Err(_) => not_ready(HandshakeError::Closed { side }),
        }
    }
}

impl Connection {
    /// Returns the next bytes from the process; `None` once the process has closed the connection. The future is
    /// cancel-safe.
    pub(crate) async fn receive(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 1024];
        match self.0.read(&mut buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                buffer.truncate(count);
                Some(buffer)
            }
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Returns a duplicate of the connection for another thread; original and duplicate are non-blocking.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

/// Returns the status of a flow whose process ended before data could flow.
async fn ended(process: &mut Process, side: Side, exit: Exit) -> Status {
    let output = process.output().await;
    Status::failed(side, exit, &output)
}

pub(crate) fn not_ready(error: HandshakeError) -> Status {
    Status::NotReady { error }
}

async fn launch_server(spawner: Spawner<'_>) -> Result<Peer, Status> {
    let port = spawner.netns.run(free_port).await;
    let port = port.map_err(socket("find a free port"))?;
    let mut process = spawner.spawn(Side::Server, port).await?;
    let stream = connect(&mut process, port, &spawner.netns).await?;
    let connection = Connection(stream);
    Ok(Peer {
        process,
        connection,
    })
}

async fn launch_client(spawner: Spawner<'_>) -> Result<Peer, Status> {
    let listener = spawner.netns.run(listen).await;
    let (listener, port) = listener
        .and_then(|listener| {
            let port = listener.local_addr()?.port();
            Ok((TcpListener::from_std(listener)?, port))
        })
        .map_err(socket("listen for the client"))?;
    let mut process = spawner.spawn(Side::Client, port).await?;
    tokio::select! {
        accepted = listener.accept() => {
            let (stream, _) = accepted.map_err(socket("accept the client"))?;
            let connection = Connection(stream);
            Ok(Peer { process, connection })
        }
        exit = process.exit() => Err(ended(&mut process, Side::Client, exit).await),
    }
}

/// Connects to a server that may not be listening yet; retries until the server listens or its process ends.
async fn connect(process: &mut Process, port: u16, netns: &Netns) -> Result<TcpStream, Status> {
    let mut pause = MIN_PAUSE;
    loop {
        match netns.run(move || connect_once(port)).await {
            Ok(stream) => {
                return TcpStream::from_std(stream).map_err(socket("connect to the server"));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(socket("connect to the server")(error)),
        }
        tokio::select! {
            () = sleep(pause) => pause = (2 * pause).min(MAX_PAUSE),
            exit = process.exit() => return Err(ended(process, Side::Server, exit).await),
        }
    }
}

impl Spawner<'_> {
    async fn spawn(&self, side: Side, port: u16) -> Result<Process, Status> {
        let command = (self.command)(port);
        self.launcher
            .spawn(command, self.netns.clone())
            .await
            .map_err(|error| {
                not_ready(HandshakeError::Spawn {
                    side,
                    reason: error.to_string(),
                })
            })
    }
}

fn socket(what: &'static str) -> impl Fn(io::Error) -> Status {
    move |error| {
        not_ready(HandshakeError::Socket {
            what: what.to_owned(),
            reason: error.to_string(),
        })
    }
}

/// Returns a port that has no listener. perftest takes a port number instead of a socket, so another process may bind
/// the port in the meantime. The server then fails, and the outcome of the flow records the failure.
fn free_port() -> io::Result<u16> {
    Ok(listen()?.local_addr()?.port())
}

fn listen() -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn connect_once(port: u16) -> io::Result<std::net::TcpStream> {
    let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

const MIN_PAUSE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Time limit for a process to exit after it has closed its connection.
const EXIT_WITHIN: Duration = Duration::from_secs(30);
