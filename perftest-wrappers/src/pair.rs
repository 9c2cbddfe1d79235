//! One flow's two processes, from their start until they are ready to send.

use std::{
    io,
    net::Ipv4Addr,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use lab_units::{Side, Tool};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    command::CommandLine,
    error::HandshakeError,
    handshake::{Action, Handshake, ReadyPair},
    launch::Launcher,
    netns::Netns,
    outcome::{Exit, Status},
    process::Process,
};

/// A client and a server, and the gate between them: the client's connection ends here, and from
/// here goes one to the server.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
}

/// A process and its connection to the gate.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) process: Process,
    pub(crate) line: Line,
}

/// The gate's end of a connection.
#[derive(Debug)]
pub(crate) struct Line(TcpStream);

/// What a process is made with.
pub(crate) struct Start<'a> {
    pub(crate) launcher: &'a Launcher,
    pub(crate) netns: Netns,
    /// Its command line, for the port it is to use.
    pub(crate) command: &'a (dyn Fn(u16) -> CommandLine + Sync),
}

impl Pair {
    /// Starts both processes and connects them to the gate. Neither has a queue pair yet: perftest
    /// makes it when it has heard from its peer.
    pub(crate) async fn launch(client: Start<'_>, server: Start<'_>) -> Result<Self, Status> {
        let server = launch_server(server).await?;
        let client = launch_client(client).await?;
        Ok(Self { client, server })
    }

    /// Passes the handshake to and fro, up to the message that starts the data.
    pub(crate) async fn shake_hands(&mut self, tool: Tool) -> Result<ReadyPair, Status> {
        let mut handshake = Handshake::new(tool);
        loop {
            let (side, heard) = tokio::select! {
                heard = self.client.line.hear() => (Side::Client, heard),
                heard = self.server.line.hear() => (Side::Server, heard),
            };
            let Some(bytes) = heard else {
                return Err(self.peer(side).fall_silent(side).await);
            };
            match handshake.receive(side, &bytes).map_err(not_ready)? {
                Action::Keep => {}
                Action::Forward => {
                    let to = side.other();
                    if self.peer(to).line.say(&bytes).await.is_err() {
                        return Err(self.peer(to).fall_silent(to).await);
                    }
                }
                Action::Ready => break,
            }
        }
        let ready = handshake.into_ready();
        Ok(ready.expect("a handshake is ready when both sides have sent their keys"))
    }

    /// Leaves no process of it.
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
    /// Why the process closed its connection before data could flow.
    async fn fall_silent(&mut self, side: Side) -> Status {
        match timeout(LAST_WORDS, self.process.exit()).await {
            Ok(exit) => ended(&mut self.process, side, exit).await,
            Err(_) => not_ready(HandshakeError::Closed { side }),
        }
    }
}

impl Line {
    /// The next bytes from the process; `None` when it has closed its end. May be dropped and
    /// called again.
    pub(crate) async fn hear(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 1024];
        match self.0.read(&mut buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                buffer.truncate(count);
                Some(buffer)
            }
        }
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// The same connection for another thread. Neither blocks.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

/// The row of a process that ended before data could flow.
async fn ended(process: &mut Process, side: Side, exit: Exit) -> Status {
    let output = process.output().await;
    Status::failed(side, exit, &output)
}

pub(crate) fn not_ready(error: HandshakeError) -> Status {
    Status::NotReady { error }
}

async fn launch_server(start: Start<'_>) -> Result<Peer, Status> {
    let port = start.netns.run(free_port).await;
    let port = port.map_err(socket("find a free port"))?;
    let mut process = start.spawn(Side::Server, port).await?;
    let stream = connect(&mut process, port, &start.netns).await?;
    let line = Line(stream);
    Ok(Peer { process, line })
}

async fn launch_client(start: Start<'_>) -> Result<Peer, Status> {
    let listener = start.netns.run(listen).await;
    let listening = listener.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((TcpListener::from_std(listener)?, port))
    });
    let (listener, port) = listening.map_err(socket("listen for the client"))?;
    let mut process = start.spawn(Side::Client, port).await?;
    tokio::select! {
        accepted = listener.accept() => {
            let (stream, _) = accepted.map_err(socket("accept the client"))?;
            let line = Line(stream);
            Ok(Peer { process, line })
        }
        exit = process.exit() => Err(ended(&mut process, Side::Client, exit).await),
    }
}

/// Connects to a server that may not listen yet. It does so a moment after it is started and says
/// so to nobody, so it is tried again until it does or ends.
async fn connect(process: &mut Process, port: u16, netns: &Netns) -> Result<TcpStream, Status> {
    let mut pause = FIRST_PAUSE;
    loop {
        match netns.run(move || connect_once(port)).await {
            Ok(stream) => {
                return TcpStream::from_std(stream).map_err(socket("connect to the server"));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(socket("connect to the server")(error)),
        }
        tokio::select! {
            () = sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
            exit = process.exit() => return Err(ended(process, Side::Server, exit).await),
        }
    }
}

impl Start<'_> {
    async fn spawn(&self, side: Side, port: u16) -> Result<Process, Status> {
        let command = (self.command)(port);
        let process = self.launcher.spawn(command, self.netns.clone()).await;
        process.map_err(|error| {
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
            what,
            reason: error.to_string(),
        })
    }
}

/// A port nobody listens on. perftest wants to be told one and cannot be given a socket, so
/// another process could take it in between; then the server says so and the flow has its row.
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

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// How long a process that has closed its connection may take to end.
const LAST_WORDS: Duration = Duration::from_secs(5);
