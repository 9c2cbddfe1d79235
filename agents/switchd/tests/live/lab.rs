//! The namespaces and their links.

use std::{
    fs::{self, File},
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use lab_abi::wire::{
    AgentConfig, AttachMode, CandidateConfig, DestinationConfig, LocalPrefix, PolicyConfig,
    PortConfig,
};
use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns},
};

pub(crate) const SWITCH_ID: u32 = 176;
pub(crate) const H0: PortId = PortId(0);
pub(crate) const P1: PortId = PortId(2);
pub(crate) const P2: PortId = PortId(4);

/// The emulated rate and queue of both links.
///
/// The queue is smaller than what one socket may have under way, for a packet belongs to its socket
/// as long as it waits in the switch: else no single sender could fill it.
pub(crate) const RATE_BPS: u64 = 2_000_000;
pub(crate) const BUFFER_BYTES: u64 = 80_000;

/// The destination, a prefix of 16 bits.
pub(crate) const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 0);

/// Bytes of so many packets that [`Lab::send`] sends, Ethernet headers included.
pub(crate) fn bytes_of(packets: usize) -> u64 {
    u64::try_from(packets * (PAYLOAD + 8 + 20 + 14)).expect("few")
}

const PAYLOAD: usize = 32;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
const ROCE: u16 = 4791;

/// Three namespaces named after the test and the process; gone with this value.
pub(crate) struct Lab {
    namespaces: Namespaces,
    receiver: UdpSocket,
    directory: tempfile::TempDir,
}

impl Lab {
    /// `None`, and a line that says so, without the right to make namespaces.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let prefix = format!("lsd{}-{name}-", std::process::id());
        let probe = Command::new("ip")
            .args(["netns", "add", &format!("{prefix}a")])
            .output();
        match probe {
            Ok(output) if output.status.success() => {}
            other => {
                let why = other.map_or_else(
                    |error| error.to_string(),
                    |output| String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                );
                println!("skipped: live {name}: cannot make a network namespace: {why}");
                return None;
            }
        }
        let namespaces = Namespaces(prefix.clone());
        for side in ["s", "r"] {
            run("ip", &["netns", "add", &format!("{prefix}{side}")]);
        }
        for (left, left_end, mac, right, right_end, peer) in [
            (
                "a",
                "a0",
                "02:00:00:00:00:0a",
                "s",
                "h0",
                "02:00:00:00:01:00",
            ),
            (
                "s",
                "p1",
                "02:00:00:00:01:01",
                "r",
                "r1",
                "02:00:00:00:02:01",
            ),
            (
                "s",
                "p2",
                "02:00:00:00:01:02",
                "r",
                "r2",
                "02:00:00:00:02:02",
            ),
        ] {
            let (left, right) = (format!("{prefix}{left}"), format!("{prefix}{right}"));
            let words = [
                "link", "add", left_end, "address", mac, "netns", &left, "type", "veth", "peer",
                "name", right_end, "address", peer, "netns", &right,
            ];
            run("ip", &words);
        }
        let lab_ip = |side: &str, words: &str| ip(&prefix, side, words);
        for (side, end) in [
            ("a", "a0"),
            ("s", "h0"),
            ("s", "p1"),
            ("s", "p2"),
            ("r", "r1"),
            ("r", "r2"),
            ("r", "lo"),
        ] {
            lab_ip(side, &format!("link set {end} up"));
        }
        lab_ip("a", "addr add 10.1.0.1/24 dev a0");
        lab_ip("a", "neigh add 10.1.0.254 lladdr 02:00:00:00:01:00 dev a0");
        lab_ip("a", "route add 10.8.0.0/16 via 10.1.0.254");
        lab_ip("r", "addr add 10.8.0.1/32 dev lo");
        for end in ["all", "r1", "r2"] {
            let setting = format!("net.ipv4.conf.{end}.rp_filter=0");
            lab_ip("r", &format!("netns-exec sysctl -qw {setting}"));
        }
        for port in ["p1", "p2"] {
            let shape = format!("rate {RATE_BPS}bit burst 10kb limit {BUFFER_BYTES}");
            let words = format!("qdisc add dev {port} root tbf {shape}");
            tc(&prefix, &words);
        }
        wait_for_carriers(&prefix);
        let receiver = inside(&prefix, "r", || UdpSocket::bind(("0.0.0.0", ROCE)));
        let receiver = receiver.expect("the port is free in a new namespace");
        Some(Self {
            namespaces,
            receiver,
            directory: tempfile::tempdir().expect("a temporary directory"),
        })
    }

    /// Runs `ip` in one of the namespaces.
    pub(crate) fn ip(&self, side: &str, words: &str) {
        ip(&self.namespaces.0, side, words);
    }

    /// Runs `tc` in the switch's namespace.
    pub(crate) fn tc(&self, words: &str) {
        tc(&self.namespaces.0, words);
    }

    /// The switch's qdiscs as `tc` lists them.
    pub(crate) fn qdiscs(&self) -> String {
        tc(&self.namespaces.0, "qdisc show")
    }

    /// A BPF file system of the test's own.
    pub(crate) fn bpf_directory(&self) -> BpfMount {
        let path = self.directory.path().join("bpf");
        fs::create_dir(&path).expect("a fresh directory");
        let none = None::<&str>;
        mount(Some("bpf"), &path, Some("bpf"), MsFlags::empty(), none).expect("root may mount");
        BpfMount(path)
    }

    /// Enters the switch's namespace.
    pub(crate) fn enter_switch(&self) -> impl FnOnce() + Send + use<> {
        let prefix = self.namespaces.0.clone();
        move || enter(&prefix, "s")
    }

    /// Sends `packets` of each flow, one flow per source port; returns how many arrived.
    pub(crate) fn send(&self, flows: std::ops::Range<u16>, packets: usize) -> usize {
        self.receiver.set_nonblocking(true).expect("a socket");
        let mut arrived = 0;
        let mut buffer = [0; 2048];
        let mut take = |arrived: &mut usize| {
            while self.receiver.recv(&mut buffer).is_ok() {
                *arrived += 1;
            }
        };
        let expected = flows.len() * packets;
        for sport in flows {
            let socket = inside(&self.namespaces.0, "a", || {
                UdpSocket::bind(("10.1.0.1", sport))
            })
            .expect("the port is free");
            for _ in 0..packets {
                let sent = socket.send_to(&roce_payload(sport, PAYLOAD), (HOST, ROCE));
                sent.expect("there is a route");
            }
            take(&mut arrived);
        }
        for _ in 0..100 {
            take(&mut arrived);
            if arrived >= expected {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        arrived
    }

    /// Sends packets of one flow faster than its link carries, and waits for none.
    pub(crate) fn send_unheeded(&self, sport: u16, packets: u64) {
        let socket = inside(&self.namespaces.0, "a", || {
            UdpSocket::bind(("10.1.0.1", sport))
        });
        let socket = socket.expect("the port is free");
        for _ in 0..packets {
            match socket.send_to(&roce_payload(sport, 1_000), (HOST, ROCE)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("cannot send: {error}"),
            }
        }
    }

    /// The configuration of the switch's agent.
    pub(crate) fn config(&self, policy: PolicyConfig, attach: AttachMode) -> AgentConfig {
        let port = |id, interface: &str, own: u8, far: [u8; 2], is_queue_sampled| PortConfig {
            id,
            interface: interface.to_owned(),
            src_mac: Mac([2, 0, 0, 0, 1, own]),
            dst_mac: Mac([2, 0, 0, 0, far[0], far[1]]),
            is_queue_sampled,
            is_enabled: true,
            rate_bps: BitsPerSec::new(RATE_BPS).expect("not zero"),
            buffer_bytes: Bytes::new(BUFFER_BYTES),
        };
        AgentConfig {
            lab: "live".to_owned(),
            dc: "s".to_owned(),
            switch_id: SWITCH_ID,
            policy,
            time_scale: Ratio::ONE,
            size_scale: Ratio::ONE,
            ports: vec![
                port(H0, "h0", 0, [0, 0x0a], false),
                port(P1, "p1", 1, [2, 1], true),
                port(P2, "p2", 2, [2, 2], true),
            ],
            destinations: vec![DestinationConfig {
                addr: DESTINATION,
                prefix_len: 16,
                candidates: [P1, P2]
                    .map(|port| CandidateConfig {
                        port,
                        c_path: 20,
                        buckets: 1,
                    })
                    .to_vec(),
                size_thresholds: Vec::new(),
            }],
            local: LocalPrefix {
                addr: Ipv4Addr::new(10, 1, 0, 0),
                prefix_len: 16,
            },
            sample_interval_ns: Nanos::from_millis(1),
            record_interval_ns: Nanos::from_millis(20),
            link_interval_ns: Nanos::from_millis(50),
            stats_interval_ns: Nanos::from_millis(50),
            demand_interval_ns: None,
            gc_interval_ns: Nanos::from_millis(1_000),
            idle_timeout_ns: Nanos::from_millis(60_000),
            stale_after_ns: None,
            max_table_age_ns: None,
            flow_table_entries: 50_000,
            controller_socket: self.socket().to_str().expect("UTF-8").to_owned(),
            pin_dir: None,
            attach,
        }
    }

    /// Where the controller listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("controller")
    }
}

/// A BPF file system, gone with this value and all that is pinned there.
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

/// Deletes the namespaces, also when the test fails half-way through making them.
struct Namespaces(String);

impl Drop for Namespaces {
    fn drop(&mut self) {
        for side in ["a", "s", "r"] {
            // One that was not made yet is no matter.
            let _ = Command::new("ip")
                .args(["netns", "del", &format!("{}{side}", self.0)])
                .output();
        }
    }
}

/// The flow's source port as destination QP, where a base transport header has it.
fn roce_payload(sport: u16, length: usize) -> Vec<u8> {
    let mut payload = vec![0; length];
    payload[6..8].copy_from_slice(&sport.to_be_bytes());
    payload
}

fn ip(prefix: &str, side: &str, words: &str) {
    let namespace = format!("{prefix}{side}");
    match words.strip_prefix("netns-exec ") {
        Some(command) => {
            let mut arguments = vec!["netns", "exec", &namespace];
            arguments.extend(command.split(' '));
            run("ip", &arguments);
        }
        None => {
            let mut arguments = vec!["-n", &namespace];
            arguments.extend(words.split(' '));
            run("ip", &arguments);
        }
    }
}

/// The kernel says a little later that a link is up: until then the agent holds its port dead.
fn wait_for_carriers(prefix: &str) {
    let namespace = format!("{prefix}s");
    for _ in 0..250 {
        let links = run("ip", &["-n", &namespace, "-o", "link", "show", "up"]);
        if links.matches("state UP").count() == 3 {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the switch's three links do not come up");
}

fn tc(prefix: &str, words: &str) -> String {
    let namespace = format!("{prefix}s");
    let mut arguments = vec!["-n", &namespace];
    arguments.extend(words.split(' '));
    run("tc", &arguments)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect("it is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn enter(prefix: &str, side: &str) {
    let file = File::open(format!("/run/netns/{prefix}{side}")).expect("it was made");
    setns(file, CloneFlags::CLONE_NEWNET).expect("root may enter it");
}

/// Does `work` in a thread of one of the namespaces: sockets stay where they were made.
fn inside<T: Send>(prefix: &str, side: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(prefix, side);
            work()
        });
        thread.join().expect("no panic")
    })
}
