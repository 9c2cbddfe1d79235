//! Making flows ready, one after the other.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
    time::Duration,
};

use tokio::time::timeout;

use lab_units::Side;

use crate::{
    command::{CommandLine, client_command, server_command},
    error::{HandshakeError, SessionError},
    handshake::ReadyPair,
    job::{Endpoint, FlowJob},
    launch::Launcher,
    netns::Netns,
    outcome::Status,
    pair::{Pair, Start, not_ready},
    session::Options,
};

/// What processes are started with. Dropping it ends the launcher's thread, and every process.
#[derive(Debug)]
pub(crate) struct Starter {
    launcher: Launcher,
    namespaces: BTreeMap<PathBuf, Netns>,
    tools: Option<PathBuf>,
    ready_within: Option<Duration>,
}

impl Starter {
    /// Opens every namespace of `jobs`.
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

    /// Starts both processes of `job` and brings them to where the data starts.
    pub(crate) async fn make_ready(&self, job: &FlowJob) -> Result<(Pair, ReadyPair), Status> {
        let client = |port| self.locate(client_command(job, port));
        let server = |port| self.locate(server_command(job, port));
        let launch = Pair::launch(
            self.start(job.endpoint(Side::Client), &client),
            self.start(job.endpoint(Side::Server), &server),
        );
        let mut pair = self.in_time("its processes to connect", launch).await?;
        let shake = pair.shake_hands(job.tool);
        match self.in_time("its processes to exchange keys", shake).await {
            Ok(ready) => Ok((pair, ready)),
            Err(status) => {
                pair.kill().await;
                Err(status)
            }
        }
    }

    fn start<'a>(
        &'a self,
        end: &Endpoint,
        command: &'a (dyn Fn(u16) -> CommandLine + Sync),
    ) -> Start<'a> {
        let netns = end
            .netns
            .as_ref()
            .and_then(|path| self.namespaces.get(path));
        Start {
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
                waiting_for,
            }))
        })
    }
}
