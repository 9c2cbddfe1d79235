//! Noticing that a child was stopped.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use nix::{
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
};

/// Tells who waits for it that a child was stopped; the runtime itself only tells of ends.
///
/// One listener for all children: were every flow to look for itself, each stop would wake them
/// all, while data is under way.
#[derive(Debug)]
pub(crate) struct Stops {
    waiting: Waiting,
    listener: JoinHandle<()>,
}

type Waiting = Arc<Mutex<BTreeMap<Pid, oneshot::Sender<()>>>>;

impl Stops {
    /// Must be called inside a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        let changes = signal(SignalKind::child())?;
        let waiting = Waiting::default();
        let listener = tokio::spawn(listen(changes, Arc::clone(&waiting)));
        Ok(Self { waiting, listener })
    }

    /// What is told when `child` is stopped; it must not have been yet.
    pub(crate) fn of(&self, child: Pid) -> oneshot::Receiver<()> {
        let (stopped, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(child, stopped);
        receiver
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn listen(mut changes: Signal, waiting: Waiting) {
    while changes.recv().await.is_some() {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped: Vec<Pid> = waiting.keys().copied().filter(is_stopped).collect();
        for child in stopped {
            if let Some(told) = waiting.remove(&child) {
                // Its flow may have ended meanwhile.
                let _ = told.send(());
            }
        }
    }
}

/// Whether `child` was stopped since this was last asked. Ends are not asked for, so they stay for
/// the runtime; neither are other children, so they stay for whoever watches them.
fn is_stopped(child: &Pid) -> bool {
    let look = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
    matches!(waitid(Id::Pid(*child), look), Ok(WaitStatus::Stopped(..)))
}
