//! The socket clients come in by.

use std::{
    io::{self, BufRead, BufReader, Read},
    os::{
        fd::AsRawFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    thread,
};

use nix::{
    sys::{
        socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
        stat::{Mode, fchmod},
    },
    unistd::unlink,
};

use super::talk::{MAX_ORDER, Order};
use crate::channel::Event;

/// What happens at the door.
#[derive(Debug)]
pub(crate) enum Knock {
    /// A client came in.
    Arrived(u32, UnixStream),
    /// A client wants something.
    Wants(u32, Order),
    /// A client has left, or cannot be understood.
    Left(u32),
}

/// A socket that is listened to; dropping it takes it away.
pub(crate) struct Door {
    path: PathBuf,
}

impl Door {
    /// Opens the door at `path`, to the owner of this process alone, and enqueues what happens there.
    pub(crate) fn open(path: &Path, queue: Sender<Event>) -> io::Result<Self> {
        let listener = listener(path)?;
        let door = Self {
            path: path.to_owned(),
        };
        thread::Builder::new()
            .name("door".into())
            .spawn(move || welcome(&listener, &queue))?;
        Ok(door)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Err(error) = unlink(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "door not taken away");
        }
    }
}

/// A socket has the mode it is given before it has a name: at no moment may another user come in.
fn listener(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(socket.into())
}

fn welcome(listener: &UnixListener, queue: &Sender<Event>) {
    for (client, id) in listener.incoming().zip(0..) {
        let arrived = client.and_then(|client| {
            // Answers are never more than fits into the socket; a client that breaks the rules must
            // not hold up the others.
            client.set_write_timeout(Some(PATIENCE))?;
            let reader = client.try_clone()?;
            Ok((client, reader))
        });
        let (client, reader) = match arrived {
            Ok(arrived) => arrived,
            Err(error) => {
                tracing::debug!(%error, "client not let in");
                continue;
            }
        };
        if queue.send(Event::Door(Knock::Arrived(id, client))).is_err() {
            return;
        }
        let queue = queue.clone();
        thread::spawn(move || {
            listen_to(id, reader, &queue);
            // The receiver may be gone with the run.
            let _ = queue.send(Event::Door(Knock::Left(id)));
        });
    }
}

/// Enqueues a client's orders until it leaves or says what is none.
fn listen_to(id: u32, stream: UnixStream, queue: &Sender<Event>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = u64::try_from(MAX_ORDER).unwrap_or(u64::MAX);
        match stream.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(1..) if line.ends_with(b"\n") => {}
            _ => return,
        }
        let Ok(order) = serde_json::from_slice(&line) else {
            return;
        };
        if queue.send(Event::Door(Knock::Wants(id, order))).is_err() {
            return;
        }
    }
}

/// Clients that may wait to be let in.
const BACKLOG: i32 = 16;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::PermissionsExt, sync::mpsc};

    use super::*;

    #[test]
    fn only_its_owner_may_open_it_and_it_goes_with_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("door");
        let (queue, _events) = mpsc::channel();
        let door = Door::open(&path, queue).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(door);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_is_taken_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("door");
        std::fs::write(&path, "").unwrap();
        let (queue, _events) = mpsc::channel();
        let error = Door::open(&path, queue).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
    }

    #[test]
    fn a_client_that_says_what_is_no_order_is_one_that_has_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("door");
        let (queue, events) = mpsc::channel();
        let _door = Door::open(&path, queue).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"\"input-end\"\nnonsense\n").unwrap();
        let next = || match events.recv().unwrap() {
            Event::Door(knock) => knock,
            event => panic!("{event:?}"),
        };
        assert!(matches!(next(), Knock::Arrived(0, _)));
        assert!(matches!(next(), Knock::Wants(0, Order::InputEnd)));
        assert!(matches!(next(), Knock::Left(0)));
    }
}
