//! Network namespaces of a switch: host `a`, DCI switch `s`, two links, host `r`. Needs root.
//!
//! Errors of every method name the command or system call that failed.

use std::{
    fs::File,
    net::Ipv4Addr,
    path::Path,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use lab_abi::wire::{
    AgentConfig, AttachMode, CandidateConfig, DestinationConfig, LocalPrefix, PolicyConfig,
    PortConfig,
};
use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use nix::sched::{CloneFlags, setns};

use crate::BenchError;

/// Address of host `a`, from which all flows come.
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// Address of host `r`, to which all flows go.
pub const TARGET: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
/// Network address and length of the prefix that contains host `r`.
pub const PREFIX: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 8, 0, 0), 16);
/// Port of the switch towards host `a`.
pub const H0: PortId = PortId(0);
/// Port of the switch towards host `r` over the first link.
pub const P1: PortId = PortId(2);
/// Port of the switch towards host `r` over the second link.
pub const P2: PortId = PortId(4);
/// Id of the switch, which seeds its flow hash.
pub const SWITCH_ID: u32 = 176;

/// Three network namespaces, deleted when this value is dropped.
pub struct Testbed {
    prefix: String,
}

/// One of the testbed's three network namespaces.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// Namespace of host `a`, which sends.
    Source,
    /// Namespace of the DCI switch `s`.
    Switch,
    /// Namespace of host `r`, which receives.
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
    /// Creates the namespaces and their links, and waits until the links are up.
    pub fn new() -> Result<Self, BenchError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let testbed = Self {
            prefix: format!("lsb{}-{number}-", std::process::id()),
        };
        for side in Side::ALL {
            run("ip", &["netns", "add", &testbed.name(side)])?;
        }
        for (left, left_end, mac, right, right_end, peer) in [
            (Side::Source, "a0", HOST_MAC, Side::Switch, "h0", mac(1, 0)),
            (Side::Switch, "p1", mac(1, 1), Side::Target, "r1", mac(2, 1)),
            (Side::Switch, "p2", mac(1, 2), Side::Target, "r2", mac(2, 2)),
        ] {
            let left = testbed.name(left);
            let right = testbed.name(right);
            let mac = mac.to_string();
            let peer = peer.to_string();
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
            (Side::Target, "link set lo up"),
            (Side::Target, "link set r1 up"),
            (Side::Target, "link set r2 up"),
            (Side::Target, "addr add 10.8.0.1/32 dev lo"),
        ] {
            testbed.ip(side, words)?;
        }
        for interface in ["all", "r1", "r2"] {
            let setting = format!("net.ipv4.conf.{interface}.rp_filter=0");
            testbed.sysctl(Side::Target, &setting)?;
        }
        testbed.wait_for_carriers()?;
        Ok(testbed)
    }

    /// Lets the kernel forward from host `a` to host `r` over the first link when no program is attached.
    pub(crate) fn enable_kernel_forwarding(&self) -> Result<(), BenchError> {
        for words in [
            "addr add 10.1.0.254/24 dev h0",
            "addr add 10.9.1.1/30 dev p1",
            "neigh add 10.9.1.2 lladdr 02:00:00:00:02:01 dev p1",
            "route add 10.8.0.0/16 via 10.9.1.2 dev p1",
        ] {
            self.ip(Side::Switch, words)?;
        }
        self.sysctl(Side::Switch, "net.ipv4.ip_forward=1")
    }

    /// Runs `work` on a thread in a namespace; sockets and programs stay in the namespace where they
    /// were created.
    pub fn inside<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> Result<T, BenchError> + Send,
    ) -> Result<T, BenchError> {
        let enter = self.enter(side);
        let work = || {
            enter()?;
            work()
        };
        thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Returns a function that moves the calling thread into the namespace of `side`.
    pub fn enter(
        &self,
        side: Side,
    ) -> impl FnOnce() -> Result<(), BenchError> + Send + Sync + use<> {
        let path = format!("/run/netns/{}", self.name(side));
        move || {
            let file = File::open(path).map_err(BenchError::io("open a namespace"))?;
            setns(file, CloneFlags::CLONE_NEWNET).map_err(BenchError::io("enter a namespace"))
        }
    }

    /// Runs `ip` in a namespace and returns its output.
    pub fn ip(&self, side: Side, words: &str) -> Result<String, BenchError> {
        self.iproute2("ip", side, words)
    }

    /// Runs `tc` in the switch's namespace and returns its output.
    pub fn tc(&self, words: &str) -> Result<String, BenchError> {
        self.iproute2("tc", Side::Switch, words)
    }

    /// Returns the configuration of the switch's agent, which sends all flows over the first link.
    #[must_use]
    pub fn config(socket: &Path) -> AgentConfig {
        let port = |id, interface: &str, src_mac, dst_mac, is_queue_sampled| PortConfig {
            id,
            interface: interface.to_owned(),
            src_mac,
            dst_mac,
            is_queue_sampled,
            is_enabled: true,
            rate_bps: RATE,
            buffer_bytes: Bytes::new(10_000_000),
            ecn: None,
            ingress: None,
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
            switch_id: SWITCH_ID,
            policy: PolicyConfig::Buckets,
            time_scale: Ratio::ONE,
            size_scale: Ratio::ONE,
            ports: vec![
                port(H0, "h0", mac(1, 0), HOST_MAC, false),
                port(P1, "p1", mac(1, 1), mac(2, 1), true),
                port(P2, "p2", mac(1, 2), mac(2, 2), true),
            ],
            destinations: vec![DestinationConfig {
                addr: PREFIX.0,
                prefix_len: PREFIX.1,
                candidates: vec![candidate(P1, 1), candidate(P2, 0)],
                size_thresholds: Vec::new(),
            }],
            transits: None,
            local: LocalPrefix {
                addr: Ipv4Addr::new(10, 1, 0, 0),
                prefix_len: 16,
            },
            shared_buffer: None,
            start_ns: Nanos::ZERO,
            sample_interval_ns: often,
            record_interval_ns: often,
            link_interval_ns: often,
            stats_interval_ns: often,
            demand_interval_ns: None,
            actor: None,
            gc_interval_ns: Nanos::from_millis(60_000),
            idle_timeout_ns: Nanos::from_millis(60_000),
            stale_after_ns: None,
            max_table_age_ns: None,
            flow_table_entries: 50_000,
            controller_socket: socket.display().to_string(),
            pin_dir: None,
            attach: AttachMode::Auto,
        }
    }

    /// Waits until the kernel reports the switch's links as up, because an agent treats their ports as dead until then.
    fn wait_for_carriers(&self) -> Result<(), BenchError> {
        for _ in 0..6_000 {
            let links = self.ip(Side::Switch, "-o link show up")?;
            if links.matches("state UP").count() == 3 {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(BenchError::Command {
            command: "ip link set up".to_owned(),
            why: "the switch's three links stay down".to_owned(),
        })
    }

    fn sysctl(&self, side: Side, setting: &str) -> Result<(), BenchError> {
        let name = self.name(side);
        run("ip", &["netns", "exec", &name, "sysctl", "-qw", setting]).map(drop)
    }

    fn iproute2(&self, program: &str, side: Side, words: &str) -> Result<String, BenchError> {
        let name = self.name(side);
        let mut arguments = vec!["-n", &name];
        arguments.extend(words.split(' '));
        run(program, &arguments)
    }

    fn name(&self, side: Side) -> String {
        format!("{}{}", self.prefix, side.letter())
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for side in Side::ALL {
            // A namespace that was not created yet needs no undo.
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(side)])
                .output();
        }
    }
}

/// Returns the Ethernet address for a port on the switch (`owner` 1) or on host `r` (`owner` 2).
const fn mac(owner: u8, number: u8) -> Mac {
    Mac([2, 0, 0, 0, owner, number])
}

const HOST_MAC: Mac = mac(0, 0x0a);

fn run(program: &str, arguments: &[&str]) -> Result<String, BenchError> {
    let failed = |why: String| BenchError::Command {
        command: format!("{program} {}", arguments.join(" ")),
        why,
    };
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(failed(why.trim().to_owned()))
}

const RATE: BitsPerSec = match BitsPerSec::new(10_000_000_000) {
    Some(rate) => rate,
    None => panic!("not zero"),
};
