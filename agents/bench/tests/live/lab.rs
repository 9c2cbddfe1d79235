//! Testbed of the live tests: slow links, a receiver, a BPF file system.

use std::{
    fs,
    io::ErrorKind,
    net::UdpSocket,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use lab_abi::wire::{AgentConfig, PolicyConfig};
use lab_bench::{
    AgentController, BenchError, Side, Testbed,
    controller::AgentThread,
    testbed::{SOURCE, TARGET},
};
use lab_units::{BitsPerSec, Bytes, Nanos};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sys::socket::{
        setsockopt,
        sockopt::{Ipv4Tos, RcvBufForce},
    },
};

/// Emulated rate of each of the switch's two links, bit/s.
pub(crate) const RATE_BPS: u64 = 2_000_000;

/// Emulated size limit of the queue at each of the switch's two links, bytes.
///
/// A packet counts against its socket's send buffer while it waits in the switch, so the queue must be smaller than
/// that buffer: otherwise no single sender could fill the queue.
pub(crate) const BUFFER_BYTES: u64 = 80_000;

/// Result of a live test.
pub(crate) type Result<T = ()> = std::result::Result<T, BenchError>;

/// Returns the size of `packets` packets as sent by [`Lab::send`], in bytes, Ethernet headers included.
pub(crate) fn bytes_of(packets: usize) -> u64 {
    u64::try_from(packets * (PAYLOAD + 8 + 20 + 14)).expect("few")
}

const PAYLOAD: usize = 32;
const ROCE: u16 = 4791;

/// Size of the receive buffer, which holds all packets of a test because one thread both sends and receives. The
/// default buffer holds about 280 packets, which arrive within 40 ms at the total rate of the switch's two links.
const RECEIVE_BUFFER: usize = 8 << 20;

/// Prints that the running test is skipped; its name is taken from the thread.
pub(crate) fn skipped(reason: &str) {
    let thread = thread::current();
    println!("skipped: {}: {reason}", thread.name().unwrap_or_default());
}

/// Namespaces and temporary directory of one test, deleted when this value is dropped.
pub(crate) struct Lab {
    pub(crate) testbed: Testbed,
    receiver: UdpSocket,
    directory: tempfile::TempDir,
}

impl Lab {
    /// Runs a test's body; if the process may not create namespaces, prints the reason and skips the test.
    pub(crate) fn test(body: impl FnOnce(Self) -> Result) -> Result {
        let testbed = match Testbed::new() {
            Err(error) if error.is_not_permitted() => {
                skipped(&error.to_string());
                return Ok(());
            }
            other => other?,
        };
        for port in ["p1", "p2"] {
            let shape = format!("rate {RATE_BPS}bit burst 10kb limit {BUFFER_BYTES}");
            testbed.tc(&format!("qdisc add dev {port} root tbf {shape}"))?;
        }
        let receiver = testbed.inside(Side::Target, || {
            Ok(UdpSocket::bind(("0.0.0.0", ROCE)).expect("the port is free in a new namespace"))
        })?;
        setsockopt(&receiver, RcvBufForce, &RECEIVE_BUFFER).expect("root may exceed the limit");
        body(Self {
            testbed,
            receiver,
            directory: tempfile::tempdir().expect("a temporary directory"),
        })
    }

    /// Starts the switch's agent, and waits until its program is attached.
    pub(crate) fn start(
        &self,
        policy: PolicyConfig,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Result<(AgentController, AgentThread)> {
        let (mut controller, agent) = self.start_unready(policy, change)?;
        controller.ready()?;
        Ok((controller, agent))
    }

    /// Starts the switch's agent without waiting for its program.
    pub(crate) fn start_unready(
        &self,
        policy: PolicyConfig,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Result<(AgentController, AgentThread)> {
        let mut config = self.config(policy);
        change(&mut config);
        AgentController::start(&self.testbed, config)
    }

    /// Returns the configuration of the switch's agent.
    pub(crate) fn config(&self, policy: PolicyConfig) -> AgentConfig {
        let mut config = AgentConfig {
            policy,
            start_ns: Nanos::ZERO,
            sample_interval_ns: Nanos::from_millis(1),
            record_interval_ns: Nanos::from_millis(20),
            link_interval_ns: Nanos::from_millis(50),
            stats_interval_ns: Nanos::from_millis(50),
            gc_interval_ns: Nanos::from_millis(1_000),
            ..Testbed::config(&self.socket())
        };
        for port in &mut config.ports {
            port.rate_bps = BitsPerSec::new(RATE_BPS).expect("not zero");
            port.buffer_bytes = Bytes::new(BUFFER_BYTES);
        }
        for candidate in &mut config.destinations[0].candidates {
            candidate.buckets = 1;
        }
        config
    }

    /// Returns the path of the controller's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("controller")
    }

    /// Returns the switch's qdiscs as `tc` lists them.
    pub(crate) fn qdiscs(&self) -> Result<String> {
        self.testbed.tc("qdisc show")
    }

    /// Mounts a BPF file system for this test.
    pub(crate) fn bpf_directory(&self) -> BpfMount {
        let path = self.directory.path().join("bpf");
        fs::create_dir(&path).expect("a fresh directory");
        let none = None::<&str>;
        mount(Some("bpf"), &path, Some("bpf"), MsFlags::empty(), none).expect("root may mount");
        BpfMount(path)
    }

    /// Sends `packets` packets of each flow, one flow per source port; returns the number that arrived.
    pub(crate) fn send(&self, flows: Range<u16>, packets: usize) -> Result<usize> {
        self.send_expecting(flows, packets, Duration::from_secs(60))
    }

    /// Fails if the switch still forwards packets a few seconds after its agent has ended.
    ///
    /// When an agent ends, its tcx links are closed and its program is detached. But a child process that another test
    /// has forked holds copies of these links until it calls `exec`, and the switch forwards until then.
    pub(crate) fn nobody_forwards(&self, flows: &Range<u16>) -> Result {
        for _ in 0..5 {
            if self.send_expecting(flows.clone(), 1, Duration::from_secs(2))? == 0 {
                return Ok(());
            }
        }
        panic!("the switch forwards without an agent");
    }

    fn send_expecting(
        &self,
        flows: Range<u16>,
        packets: usize,
        patience: Duration,
    ) -> Result<usize> {
        self.receiver.set_nonblocking(true).expect("a socket");
        let mut arrived = 0;
        let mut buffer = [0; 2048];
        let mut receive = |arrived: &mut usize| {
            while self.receiver.recv(&mut buffer).is_ok() {
                *arrived += 1;
            }
        };
        let expected = flows.len() * packets;
        for sport in flows {
            let socket = self.sender(sport)?;
            for _ in 0..packets {
                socket
                    .send_to(&roce_payload(sport, PAYLOAD), (TARGET, ROCE))
                    .expect("there is a route");
            }
            receive(&mut arrived);
        }
        let pause = Duration::from_millis(20);
        for _ in 0..patience.as_millis() / pause.as_millis() {
            receive(&mut arrived);
            if arrived >= expected {
                break;
            }
            thread::sleep(pause);
        }
        Ok(arrived)
    }

    /// Sends packets of one flow faster than its link can carry them, without waiting for their arrival.
    fn flood(&self, sport: u16, packets: u64) -> Result {
        let socket = self.sender(sport)?;
        for _ in 0..packets {
            match socket.send_to(&roce_payload(sport, 1_000), (TARGET, ROCE)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("cannot send: {error}"),
            }
        }
        Ok(())
    }

    /// Runs `work` while a flow keeps the queue of its port full.
    pub(crate) fn while_flooding<T>(
        &self,
        sport: u16,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let flooding = scope.spawn(|| -> Result {
                while !is_over.load(Ordering::Relaxed) {
                    self.flood(sport, BUFFER_BYTES / 1_000)?;
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            });
            let done = catch_unwind(AssertUnwindSafe(work));
            is_over.store(true, Ordering::Relaxed);
            flooding.join().expect("no panic")?;
            done.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn sender(&self, sport: u16) -> Result<UdpSocket> {
        self.testbed.inside(Side::Source, || {
            let socket = UdpSocket::bind((SOURCE, sport)).expect("the port is free");
            setsockopt(&socket, Ipv4Tos, &ECT_0).expect("a user may set it");
            Ok(socket)
        })
    }
}

/// IP type of service that marks a packet as ECN-capable, ECT(0) (RFC 3168).
const ECT_0: i32 = 2;

/// Mounted BPF file system, unmounted with all its pins when this value is dropped.
pub(crate) struct BpfMount(PathBuf);

impl BpfMount {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for BpfMount {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// Returns a RoCE payload whose base transport header has the flow's source port as destination QP.
fn roce_payload(sport: u16, length: usize) -> Vec<u8> {
    let mut payload = vec![0; length];
    payload[6..8].copy_from_slice(&sport.to_be_bytes());
    payload
}
