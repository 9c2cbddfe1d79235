//! Namespaces to measure in: host `a`, DCI switch `s`, two links, host `r`; as root.

use std::{
    fs::File,
    io,
    net::Ipv4Addr,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use lab_abi::wire::{
    AgentConfig, AttachMode, CandidateConfig, DestinationConfig, LocalPrefix, PolicyConfig,
    PortConfig,
};
use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use nix::sched::{CloneFlags, setns};

use crate::SwitchdError;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The switch program or its agent failed.
    #[error(transparent)]
    Switch(#[from] SwitchdError),
    /// A command that makes the testbed failed.
    #[error("`{command}` failed: {why} (hint: it needs root and iproute2)")]
    Command {
        /// The command.
        command: String,
        /// What it said.
        why: String,
    },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The agent said something else than was expected, or nothing.
    #[error("the agent did not say {what}: {instead}")]
    Agent {
        /// What was expected.
        what: &'static str,
        /// What came instead.
        instead: String,
    },
    /// Packets did not come out as they should.
    #[error("{arrived} of {sent} packets came through {by}")]
    Lost {
        /// What forwarded them.
        by: &'static str,
        /// How many arrived.
        arrived: u64,
        /// How many were sent.
        sent: u64,
    },
}

impl BenchError {
    /// Whether it was for want of privileges: tests are skipped then.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        match self {
            Self::Switch(error) => error.is_not_permitted(),
            Self::Command { why, .. } => why.contains("Operation not permitted"),
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            Self::Agent { .. } | Self::Lost { .. } => false,
        }
    }

    pub(super) fn io<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io {
            action,
            source: error.into(),
        }
    }
}

/// The address of host `a`.
pub(super) const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// The address of host `r`.
pub(super) const TARGET: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
/// The switch's ports: towards `a`, and by both links towards `r`.
pub(super) const H0: PortId = PortId(0);
pub(super) const P1: PortId = PortId(2);
pub(super) const P2: PortId = PortId(4);

const SWITCH_MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];
const HOST_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x0a];

/// The namespaces; gone with this value.
pub(super) struct Testbed {
    prefix: String,
}

/// One of the namespaces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// Host `a`.
    Source,
    /// The switch.
    Switch,
    /// Host `r`.
    Target,
}

impl Side {
    const ALL: [Self; 3] = [Self::Source, Self::Switch, Self::Target];

    const fn letter(self) -> &'static str {
        match self {
            Self::Source => "a",
            Self::Switch => "s",
            Self::Target => "r",
        }
    }
}

impl Testbed {
    /// Makes the namespaces and their links, without queues of their own.
    pub(super) fn new() -> Result<Self, BenchError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let testbed = Self {
            prefix: format!("lsb{}-{number}-", std::process::id()),
        };
        for side in Side::ALL {
            run("ip", &["netns", "add", &testbed.name(side)])?;
        }
        for (left, left_end, mac, right, right_end, peer) in [
            (Side::Source, "a0", HOST_MAC, Side::Switch, "h0", SWITCH_MAC),
            (
                Side::Switch,
                "p1",
                port_mac(1),
                Side::Target,
                "r1",
                far_mac(1),
            ),
            (
                Side::Switch,
                "p2",
                port_mac(2),
                Side::Target,
                "r2",
                far_mac(2),
            ),
        ] {
            let (left, right) = (testbed.name(left), testbed.name(right));
            let (mac, peer) = (Mac(mac).to_string(), Mac(peer).to_string());
            let words = [
                "link", "add", left_end, "address", &mac, "netns", &left, "type", "veth", "peer",
                "name", right_end, "address", &peer, "netns", &right,
            ];
            run("ip", &words)?;
        }
        for (side, words) in [
            (Side::Source, "link set a0 up"),
            (Side::Source, "addr add 10.1.0.1/24 dev a0"),
            (
                Side::Source,
                "neigh add 10.1.0.254 lladdr 02:00:00:00:01:00 dev a0",
            ),
            (Side::Source, "route add 10.8.0.0/16 via 10.1.0.254"),
            (Side::Switch, "link set h0 up"),
            (Side::Switch, "link set p1 up"),
            (Side::Switch, "link set p2 up"),
            (Side::Switch, "addr add 10.1.0.254/24 dev h0"),
            (Side::Switch, "addr add 10.9.1.1/30 dev p1"),
            (
                Side::Switch,
                "neigh add 10.9.1.2 lladdr 02:00:00:00:02:01 dev p1",
            ),
            (Side::Switch, "route add 10.8.0.0/16 via 10.9.1.2 dev p1"),
            (Side::Target, "link set lo up"),
            (Side::Target, "link set r1 up"),
            (Side::Target, "link set r2 up"),
            (Side::Target, "addr add 10.8.0.1/32 dev lo"),
        ] {
            testbed.ip(side, words)?;
        }
        for (side, setting) in [
            (Side::Switch, "net.ipv4.ip_forward=1"),
            (Side::Target, "net.ipv4.conf.all.rp_filter=0"),
            (Side::Target, "net.ipv4.conf.r1.rp_filter=0"),
            (Side::Target, "net.ipv4.conf.r2.rp_filter=0"),
        ] {
            let name = testbed.name(side);
            run("ip", &["netns", "exec", &name, "sysctl", "-qw", setting])?;
        }
        Ok(testbed)
    }

    /// Does `work` on a thread in one of the namespaces: sockets and programs stay where they were
    /// made.
    pub(super) fn inside<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> Result<T, BenchError> + Send,
    ) -> Result<T, BenchError> {
        let enter = self.enter(side);
        let work = || {
            enter()?;
            work()
        };
        let done = thread::scope(|scope| scope.spawn(work).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// What takes a thread into one of the namespaces.
    pub(super) fn enter(
        &self,
        side: Side,
    ) -> impl FnOnce() -> Result<(), BenchError> + Send + use<> {
        let path = format!("/run/netns/{}", self.name(side));
        move || {
            let file = File::open(path).map_err(BenchError::io("open a namespace"))?;
            setns(file, CloneFlags::CLONE_NEWNET).map_err(BenchError::io("enter a namespace"))
        }
    }

    /// Runs `ip` in one of the namespaces.
    pub(super) fn ip(&self, side: Side, words: &str) -> Result<(), BenchError> {
        let name = self.name(side);
        let mut arguments = vec!["-n", &name];
        arguments.extend(words.split(' '));
        run("ip", &arguments)
    }

    /// The configuration of the switch's agent: all flows by its first link.
    pub(super) fn config(socket: &str) -> AgentConfig {
        let port = |id, interface: &str, src_mac, dst_mac, is_queue_sampled| PortConfig {
            id,
            interface: interface.to_owned(),
            src_mac: Mac(src_mac),
            dst_mac: Mac(dst_mac),
            is_queue_sampled,
            is_enabled: true,
            rate_bps: RATE,
            buffer_bytes: Bytes::new(10_000_000),
        };
        let candidate = |port, buckets| CandidateConfig {
            port,
            c_path: 20,
            buckets,
        };
        let often = Nanos::from_millis(100);
        AgentConfig {
            lab: "bench".to_owned(),
            dc: "s".to_owned(),
            switch_id: 176,
            policy: PolicyConfig::Buckets,
            time_scale: Ratio::ONE,
            size_scale: Ratio::ONE,
            ports: vec![
                port(H0, "h0", SWITCH_MAC, HOST_MAC, false),
                port(P1, "p1", port_mac(1), far_mac(1), true),
                port(P2, "p2", port_mac(2), far_mac(2), true),
            ],
            destinations: vec![DestinationConfig {
                addr: PREFIX.0,
                prefix_len: PREFIX.1,
                candidates: vec![candidate(P1, 1), candidate(P2, 0)],
                size_thresholds: Vec::new(),
            }],
            local: LocalPrefix {
                addr: Ipv4Addr::new(10, 1, 0, 0),
                prefix_len: 16,
            },
            sample_interval_ns: often,
            record_interval_ns: often,
            link_interval_ns: often,
            stats_interval_ns: often,
            demand_interval_ns: None,
            gc_interval_ns: Nanos::from_millis(60_000),
            idle_timeout_ns: Nanos::from_millis(60_000),
            stale_after_ns: None,
            max_table_age_ns: None,
            flow_table_entries: 50_000,
            controller_socket: socket.to_owned(),
            pin_dir: None,
            attach: AttachMode::Auto,
        }
    }

    fn name(&self, side: Side) -> String {
        format!("{}{}", self.prefix, side.letter())
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for side in Side::ALL {
            // One that was not made is no matter.
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(side)])
                .output();
        }
    }
}

/// The prefix that host `r` is in.
pub(super) const PREFIX: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 8, 0, 0), 16);

const RATE: BitsPerSec = match BitsPerSec::new(10_000_000_000) {
    Some(rate) => rate,
    None => panic!("not zero"),
};

const fn port_mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, number]
}

const fn far_mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 2, number]
}

fn run(program: &str, arguments: &[&str]) -> Result<(), BenchError> {
    let failed = |why: String| BenchError::Command {
        command: format!("{program} {}", arguments.join(" ")),
        why,
    };
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(failed(why.trim().to_owned()))
}
