//! Exec socket, on which clients connect.

use std::{
    io::{self, BufRead, BufReader, Read},
    os::{
        fd::AsRawFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    thread,
    time::Duration,
};

use nix::{
    sys::{
        socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
        stat::{Mode, fchmod},
    },
    unistd::unlink,
};

use super::{ClientEvent, MAX_REQUEST};
use crate::channel::SessionEvent;

/// Listening Unix socket; dropping the value removes the socket's file.
pub(crate) struct ExecSocket {
    path: PathBuf,
}

impl ExecSocket {
    /// Opens the exec socket at `path`, accessible only to the owner of this process, and sends the events of its
    /// clients to `queue`.
    pub(crate) fn open(path: &Path, queue: Sender<SessionEvent>) -> io::Result<Self> {
        let listener = listener(path)?;
        let path = path.to_owned();
        let socket = Self { path };
        let named = thread::Builder::new().name("exec".into());
        named.spawn(move || accept(&listener, &queue))?;
        Ok(socket)
    }
}

impl Drop for ExecSocket {
    fn drop(&mut self) {
        if let Err(error) = unlink(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "cannot remove the exec socket");
        }
    }
}

/// Returns a listening socket at `path`. The mode is set before the socket is bound, so that no other user can connect
/// in between.
fn listener(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(socket.into())
}

fn accept(listener: &UnixListener, queue: &Sender<SessionEvent>) {
    for (client, id) in listener.incoming().zip(0..) {
        let accepted = client.and_then(|client| {
            // Replies normally fit into the socket's buffer. The time-out is for a client that acknowledges bytes
            // without reading them, which must not block other clients.
            client.set_write_timeout(Some(WRITE_TIMEOUT))?;
            let reader = client.try_clone()?;
            Ok((client, reader))
        });
        let (client, reader) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a client");
                continue;
            }
        };
        let connected = ClientEvent::Connected(id, client);
        if queue.send(SessionEvent::Client(connected)).is_err() {
            return;
        }
        let queue = queue.clone();
        thread::spawn(move || {
            read_requests(id, reader, &queue);
            // The call fails only after the run has ended.
            let _ = queue.send(SessionEvent::Client(ClientEvent::Disconnected(id)));
        });
    }
}

/// Sends a client's requests to `queue` until the client disconnects or sends an invalid line.
fn read_requests(id: u32, stream: UnixStream, queue: &Sender<SessionEvent>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let max = u64::try_from(MAX_REQUEST).unwrap_or(u64::MAX);
        match stream.by_ref().take(max).read_until(b'\n', &mut line) {
            Ok(1..) if line.ends_with(b"\n") => {}
            _ => return,
        }
        let Ok(request) = serde_json::from_slice(&line) else {
            return;
        };
        let event = ClientEvent::Requested(id, request);
        if queue.send(SessionEvent::Client(event)).is_err() {
            return;
        }
    }
}

/// Maximum number of clients that wait to be accepted.
const BACKLOG: i32 = 16;

/// Time after which a write to a client fails if the client does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::PermissionsExt, sync::mpsc};

    use super::*;
    use crate::exec::ExecRequest;

    #[test]
    fn a_socket_is_private_and_removed_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exec.sock");
        let (queue, _events) = mpsc::channel();
        let socket = ExecSocket::open(&path, queue).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn an_existing_file_is_an_error_and_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exec.sock");
        std::fs::write(&path, "").unwrap();
        let (queue, _events) = mpsc::channel();
        let error = ExecSocket::open(&path, queue).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
    }

    #[test]
    fn a_line_that_is_no_request_ends_the_connection() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exec.sock");
        let (queue, events) = mpsc::channel();
        let _socket = ExecSocket::open(&path, queue).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"\"input-end\"\nnonsense\n").unwrap();
        let next = || match events.recv().unwrap() {
            SessionEvent::Client(event) => event,
            event => panic!("{event:?}"),
        };
        assert!(matches!(next(), ClientEvent::Connected(0, _)));
        let requested = next();
        assert!(matches!(
            requested,
            ClientEvent::Requested(0, ExecRequest::InputEnd)
        ));
        assert!(matches!(next(), ClientEvent::Disconnected(0)));
    }
}
