//! Sessions that use the fake perftest.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use lab_generators::{
    contract::{Endpoint, Event, FlowJob, FlowOutcome, MonotonicTime, Side, Tool},
    perftest::{Options, Session},
};
use lab_units::{Bytes, FlowId, Nanos};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// Directory with links to the fake tools, and the suffix of device names that marks this test's processes.
pub struct Bench {
    tools: TempDir,
    mark: String,
}

impl Bench {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let tools = tempfile::tempdir().unwrap();
        for tool in Tool::PERFTEST {
            symlink(fake(), tools.path().join(tool.name())).unwrap();
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}x{count}", process::id());
        Self { tools, mark }
    }

    /// Returns a flow with a fake client and server, whose behaviours `client` and `server` name.
    pub fn job(&self, flow: u32, tool: Tool, client: &str, server: &str) -> FlowJob {
        let end = |behaviour: &str| Endpoint {
            host: "nowhere".to_owned(),
            rdma_device: format!("{behaviour}-{}", self.mark),
            gid_index: 1,
            netns: None,
        };
        let (src, dst) = match tool.source_side() {
            Side::Client => (end(client), end(server)),
            Side::Server => (end(server), end(client)),
        };
        FlowJob {
            flow: FlowId(flow),
            tool,
            src,
            dst,
            message_bytes: Bytes::new(20_000),
            messages: 5,
            start: Nanos::ZERO,
            qp_timeout: 18,
            path_mtu: 4096,
            traffic_class: 0,
            flow_label: 0,
            deadline: Nanos::from_millis(120_000),
        }
    }

    pub fn options(&self) -> Options {
        Options {
            tools: Some(self.tools.path().to_owned()),
            ready_within: Some(Duration::from_secs(120)),
        }
    }

    pub async fn prepare(&self, jobs: Vec<FlowJob>) -> (Session, mpsc::UnboundedReceiver<Event>) {
        let (events, received) = mpsc::unbounded_channel();
        let session = Session::prepare(jobs, &self.options(), events).await;
        (session.unwrap(), received)
    }

    pub async fn run(&self, jobs: Vec<FlowJob>) -> Vec<FlowOutcome> {
        let (session, _events) = self.prepare(jobs).await;
        session.run(MonotonicTime::now()).await.unwrap()
    }

    pub async fn run_one(&self, tool: Tool, client: &str, server: &str) -> FlowOutcome {
        let job = self.job(0, tool, client, server);
        self.run(vec![job]).await.remove(0)
    }

    /// Returns the directories in `/proc` that belong to this test's processes.
    pub fn processes(&self) -> Vec<PathBuf> {
        let directories = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let is_ours = |directory: &PathBuf| {
            let command = fs::read(directory.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains(&self.mark)
        };
        directories
            .map(|entry| entry.path())
            .filter(is_ours)
            .collect()
    }

    /// Waits until all killed processes of this test have ended.
    pub async fn processes_end(&self) {
        let ended = async {
            while !self.processes().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ended)
            .await
            .expect("no process is left");
    }
}

/// Returns the events received so far.
pub fn drain(events: &mut mpsc::UnboundedReceiver<Event>) -> Vec<Event> {
    std::iter::from_fn(|| events.try_recv().ok()).collect()
}

/// Returns the path of the fake perftest, which cargo builds before it runs the tests.
fn fake() -> PathBuf {
    let test = env::current_exe().unwrap();
    let fake = test
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/fake_perftest");
    assert!(
        fake.exists(),
        "no {} (hint: cargo build --examples)",
        fake.display()
    );
    fake
}
