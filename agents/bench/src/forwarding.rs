//! Packets per second that one switch forwards with its eBPF program, and with the kernel's own forwarding over the
//! same interfaces in the same run.
//!
//! The kernel itself injects the packets at the switch's interface towards its hosts, so the figures include no sender.
//! The packets leave through an interface towards a link, whose far end counts and drops them. The measured time covers
//! receiving, deciding, sending and one veth; the kernel measures it without the CPU time of other processes.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use aya::{
    Ebpf,
    maps::{Array, MapData, PerCpuArray},
    programs::{
        SchedClassifier, TcAttachType, TestRun, TestRunAttrs, TestRunOptions, Xdp, XdpMode, tc,
    },
};
use bytemuck::{Pod, Zeroable};
use lab_abi::{
    rows::{FlowKey, SwitchTable},
    wire::{AgentConfig, AttachMode, PortConfig},
};
use lab_loader::{LoaderError, MapRow, program, take};
use lab_switchd::{
    SwitchdError,
    attach::{Attached, attach},
    frame::Frame,
    install::SwitchTables,
    program::Program,
    qdisc::Qdiscs,
};
use nix::net::if_::if_nametoindex;

use crate::{
    BenchError, median,
    testbed::{SOURCE, Side, TARGET, Testbed},
};

/// Packet source and sink, built by `agents/ebpf/build.sh`.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../ebpf/bench.bpf.o");

/// Number of packets in a batch, as many as a driver receives in one poll.
pub const BATCH: u32 = 64;

/// Times per packet of each forwarder, the result of [`forwarding`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Forwarding {
    /// Number of rounds, in each of which every forwarder is measured.
    pub rounds: usize,
    /// Number of packets per round.
    pub packets: u32,
    /// Times of packets that arrive one by one, as over a veth.
    pub single: PacketTimes,
    /// Times of packets that arrive in batches of [`BATCH`], as from a polling driver: the kernel then
    /// forwards them as a list, whereas a program handles each packet alone.
    pub batched: PacketTimes,
}

/// Time per packet in nanoseconds, median over the rounds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PacketTimes {
    /// Forwarding by the kernel itself: one route, with a known neighbour.
    pub kernel_ns: u64,
    /// Forwarding by the switch program: all packets belong to one pinned flow.
    pub one_flow_ns: u64,
    /// Forwarding by the switch program: packets of 1,000 pinned flows in turn.
    pub thousand_flows_ns: u64,
    /// Forwarding by the switch program: every packet is the first of its flow.
    pub new_flows_ns: u64,
}

/// Measures `rounds` rounds of `packets` packets for each forwarder. Fails if the testbed cannot be created, or if
/// packets are lost.
pub fn forwarding(rounds: usize, packets: u32) -> Result<Forwarding, BenchError> {
    let testbed = Testbed::new()?;
    testbed.enable_kernel_forwarding()?;
    let mut sink = testbed.inside(Side::Target, Sink::open)?;
    // The limit lets the flow table hold all flows of a round in which every flow is new.
    let packets = packets.clamp(1_000, 40_000);
    testbed.inside(Side::Switch, || {
        let mut source = PacketSource::open()?;
        let rounds = rounds.max(1);
        Ok(Forwarding {
            rounds,
            packets,
            single: measure(&mut source, 1, rounds, packets, &mut sink)?,
            batched: measure(&mut source, BATCH, rounds, packets, &mut sink)?,
        })
    })
}

fn measure(
    source: &mut PacketSource,
    batch: u32,
    rounds: usize,
    packets: u32,
    sink: &mut Sink,
) -> Result<PacketTimes, BenchError> {
    let mut times: [Vec<u64>; 4] = Default::default();
    let mut run = |by, flows| source.run(by, flows, packets, batch, sink);
    for _ in 0..rounds {
        times[0].push(run("the kernel", 1)?);
        let mut switch = AttachedSwitch::attach()?;
        let by = "the switch program";
        times[3].push(switch.while_drained(|| run(by, packets))?);
        run(by, 1_000)?;
        times[2].push(run(by, 1_000)?);
        times[1].push(run(by, 1)?);
        switch.detach()?;
    }
    let [kernel_ns, one_flow_ns, thousand_flows_ns, new_flows_ns] =
        times.map(|times| median(times).unwrap_or_default());
    Ok(PacketTimes {
        kernel_ns,
        one_flow_ns,
        thousand_flows_ns,
        new_flows_ns,
    })
}

/// Switch program, attached to the interface towards the hosts.
struct AttachedSwitch {
    program: Program,
    attached: Attached,
    qdiscs: Qdiscs,
}

impl AttachedSwitch {
    fn attach() -> Result<Self, BenchError> {
        let config = Testbed::config(Path::new(""));
        let mut program = Program::load(config.flow_table_entries)?;
        let links = interfaces(&config)?;
        program.install(&SwitchTables::new(&config, &links, &SwitchTable::default()))?;
        let mut qdiscs = Qdiscs::open()?;
        let h0 = i32::try_from(index("h0")?).unwrap_or(0);
        let mode = AttachMode::Auto;
        let attached = attach(&mut program, &[("h0", h0)], mode, &mut qdiscs)?;
        Ok(Self {
            program,
            attached,
            qdiscs,
        })
    }

    /// Runs `work` while a thread drains the decision records, as an agent does.
    fn while_drained<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        let program = &mut self.program;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    program.drain_decisions();
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let done = work();
            is_over.store(true, Ordering::Relaxed);
            done
        })
    }

    fn detach(&mut self) -> Result<(), SwitchdError> {
        self.attached.detach(&mut self.program, &mut self.qdiscs)
    }
}

fn interfaces(config: &AgentConfig) -> Result<Vec<(u32, bool)>, BenchError> {
    let alive = |port: &PortConfig| Ok((index(&port.interface)?, true));
    config.ports.iter().map(alive).collect()
}

fn index(interface: &str) -> Result<u32, BenchError> {
    if_nametoindex(interface).map_err(BenchError::io("find an interface"))
}

/// Packet generator and its map.
struct PacketSource {
    ebpf: Ebpf,
    sources: Array<MapData, MapRow<SourceRow>>,
    interface: u32,
}

/// Layout of `struct source` in bench.bpf.c.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SourceRow {
    frame: [u8; 48],
    flows: u64,
    sent: u64,
}

/// Layout of the kernel's `struct xdp_md`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct XdpContext {
    data: u32,
    data_end: u32,
    data_meta: u32,
    ingress_ifindex: u32,
    rx_queue_index: u32,
    egress_ifindex: u32,
}

impl PacketSource {
    fn open() -> Result<Self, BenchError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(LoaderError::Load)?;
        let sources = take(&mut ebpf, "sources")?;
        let source = program::<Xdp>(&mut ebpf, "source")?;
        source
            .load()
            .map_err(LoaderError::program("load", "source"))?;
        let drop_received = program::<Xdp>(&mut ebpf, "drop_received")?;
        drop_received
            .load()
            .map_err(LoaderError::program("load", "drop_received"))?;
        drop_received
            .attach("h0", XdpMode::Driver)
            .map_err(LoaderError::program("attach", "drop_received"))?;
        Ok(Self {
            ebpf,
            sources,
            interface: index("h0")?,
        })
    }

    /// Sends packets of `flows` flows in turn; returns the time per packet in nanoseconds.
    fn run(
        &mut self,
        by: &'static str,
        flows: u32,
        packets: u32,
        batch: u32,
        sink: &mut Sink,
    ) -> Result<u64, BenchError> {
        let flow = FlowKey::new(SOURCE, TARGET, FIRST_PORT, 4791, 17);
        let frame = Frame::new(flow, 64, PAYLOAD + 8).bytes;
        let mut row = SourceRow::zeroed();
        row.frame[..HEADERS].copy_from_slice(&frame[..HEADERS]);
        row.frame[..6].copy_from_slice(&[2, 0, 0, 0, 1, 0]);
        row.flows = u64::from(flows);
        self.sources
            .set(0, MapRow(row), 0)
            .map_err(LoaderError::map("write", "sources"))?;
        let context = XdpContext {
            data: 0,
            data_end: u32::try_from(frame.len()).unwrap_or(0),
            data_meta: 0,
            ingress_ifindex: self.interface,
            rx_queue_index: 0,
            egress_ifindex: 0,
        };
        let before = sink.arrived()?;
        let started = Instant::now();
        let options = TestRunOptions {
            data_in: Some(&frame),
            ctx_in: Some(bytemuck::bytes_of(&context)),
            repeat: packets,
            attrs: TestRunAttrs::new().xdp_live_frames(batch),
            ..TestRunOptions::default()
        };
        let run = program::<Xdp>(&mut self.ebpf, "source")?.test_run(options);
        let run = run.map_err(LoaderError::program("run", "source"))?;
        let sent = u64::from(packets);
        let mut arrived = 0;
        // The last batch may still be queued at the other end.
        while arrived < sent && started.elapsed() < TIMEOUT {
            arrived = sink.arrived()? - before;
        }
        if arrived == sent {
            Ok(u64::try_from(run.duration.as_nanos()).unwrap_or(u64::MAX))
        } else {
            Err(BenchError::Lost { by, arrived, sent })
        }
    }
}

/// Program that counts and drops packets at the far end of the link.
struct Sink {
    arrived: PerCpuArray<MapData, u64>,
    /// Owner of the loaded program, which is detached when this value is dropped.
    _ebpf: Ebpf,
}

impl Sink {
    fn open() -> Result<Self, BenchError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(LoaderError::Load)?;
        let arrived = take(&mut ebpf, "arrived")?;
        let sink = program::<SchedClassifier>(&mut ebpf, "sink")?;
        sink.load().map_err(LoaderError::program("load", "sink"))?;
        // Before Linux 6.6, a program can be attached only to a qdisc.
        let _ = tc::qdisc_add_clsact("r1");
        sink.attach("r1", TcAttachType::Ingress)
            .map_err(LoaderError::program("attach", "sink"))?;
        Ok(Self {
            arrived,
            _ebpf: ebpf,
        })
    }

    fn arrived(&mut self) -> Result<u64, LoaderError> {
        let counts = self
            .arrived
            .get(&0, 0)
            .map_err(LoaderError::map("read", "arrived"))?;
        Ok(counts.iter().sum())
    }
}

/// Bytes of Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;
const PAYLOAD: usize = 64;
/// Source port of the first flow; a round in which every flow is new uses one more port per packet.
const FIRST_PORT: u16 = 20_000;
/// Maximum wait for the last packets of a round.
const TIMEOUT: Duration = Duration::from_secs(60);
