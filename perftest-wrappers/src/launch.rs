//! The thread that starts processes.

use std::{io, sync::mpsc, thread};

use tokio::{runtime::Handle, sync::oneshot};

use crate::{command::CommandLine, netns::Netns, process::Process};

/// Starts processes on a thread of its own.
///
/// Children ask the kernel to be killed when their parent dies, and to the kernel the parent is the
/// *thread* that forked them. The runtime's threads come and go; this one lives as long as the
/// session, and its end takes every process with it.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    requests: mpsc::Sender<Request>,
}

struct Request {
    line: CommandLine,
    netns: Netns,
    reply: oneshot::Sender<io::Result<Process>>,
}

impl Launcher {
    /// Must be called inside a runtime, which reaps the processes.
    pub(crate) fn start() -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        thread::Builder::new()
            .name("perftest-launcher".to_owned())
            .spawn(move || {
                let _inside = runtime.enter();
                for request in received {
                    // A process that nobody waits for is dropped, and that kills it.
                    let _ = request
                        .reply
                        .send(Process::spawn(&request.line, request.netns));
                }
            })?;
        Ok(Self { requests })
    }

    /// Starts one process.
    pub(crate) async fn spawn(&self, line: CommandLine, netns: Netns) -> io::Result<Process> {
        let (reply, process) = oneshot::channel();
        let request = Request { line, netns, reply };
        self.requests.send(request).map_err(io::Error::other)?;
        process.await.map_err(io::Error::other)?
    }
}
