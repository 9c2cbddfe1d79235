//! Entering network namespaces, for processes and for sockets.

use std::{fs::File, io, os::fd::AsFd, path::Path, sync::Arc, thread};

use nix::sched::{CloneFlags, setns};
use tokio::sync::oneshot;

use crate::error::SessionError;

/// A network namespace held open; without a file, the caller's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Netns(Option<Arc<File>>);

impl Netns {
    /// The namespace at `path`, which is that of `host`.
    pub(crate) fn open(path: &Path, host: &str) -> Result<Self, SessionError> {
        let file = File::open(path).map_err(|source| SessionError::Netns {
            host: host.to_owned(),
            path: path.to_owned(),
            source,
        })?;
        Ok(Self(Some(Arc::new(file))))
    }

    /// Moves the calling thread into the namespace, for good. One system call, so a child may use
    /// it between fork and exec.
    pub(crate) fn enter(&self) -> io::Result<()> {
        match &self.0 {
            Some(file) => Ok(setns(file.as_fd(), CloneFlags::CLONE_NEWNET)?),
            None => Ok(()),
        }
    }

    /// Runs `action` inside, on a thread that ends with it: a namespace belongs to a thread, and
    /// the runtime's threads must never change theirs. A socket keeps the one it was made in.
    pub(crate) async fn run<T, F>(&self, action: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: FnOnce() -> io::Result<T> + Send + 'static,
    {
        if self.0.is_none() {
            return action();
        }
        let inside = self.clone();
        let (done, result) = oneshot::channel();
        thread::Builder::new()
            .name("netns-socket".to_owned())
            .spawn(move || {
                // Nobody waits any more when sending fails.
                let _ = done.send(inside.enter().and_then(|()| action()));
            })?;
        result.await.map_err(io::Error::other)?
    }
}
