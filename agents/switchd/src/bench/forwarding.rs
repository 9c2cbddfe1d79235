//! Packets per second through one switch: by its program, and by the kernel's own forwarding, over the
//! same interfaces and in the same run.
//!
//! The kernel makes up the packets itself, as received by the switch's interface towards its hosts, so
//! that no sender takes part. They leave by the interface towards a link, whose far end drops and
//! counts them. What is measured is thus receiving, deciding, sending, and one veth. The kernel's own
//! count of the time leaves out what other processes take of the CPU meanwhile.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use aya::{
    Ebpf,
    maps::{Array, MapData, PerCpuArray},
    programs::{
        ProgramError, SchedClassifier, TcAttachType, TestRun, TestRunAttrs, TestRunOptions, Xdp,
        XdpMode, tc,
    },
};
use bytemuck::{Pod, Zeroable};
use lab_abi::{
    rows::{FlowKey, SwitchTable},
    wire::{AgentConfig, AttachMode},
};
use nix::net::if_::if_nametoindex;

use super::{
    BenchError, median,
    testbed::{SOURCE, Side, TARGET, Testbed},
};
use crate::{
    SwitchdError,
    attach::{Attached, attach},
    decisions,
    install::{self, Slots},
    program::Program,
    qdisc::Qdiscs,
    row::Row,
    selftest::Frame,
};

/// The programs, built by `agents/ebpf/build.sh`.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../ebpf/bench.bpf.o");

/// Packets of a batch: what a driver takes at once.
pub const BATCH: u32 = 64;

/// What was measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Forwarding {
    /// Rounds of each kind, in turn.
    pub rounds: usize,
    /// Packets of a round.
    pub packets: u32,
    /// Packets that come one by one, as they do over a veth.
    pub single: PacketTimes,
    /// Packets that come [`BATCH`] at once, as from a driver that polls: the kernel's own forwarding
    /// then takes a list of them step by step, programs take each by itself.
    pub batched: PacketTimes,
}

/// Nanoseconds a packet takes; each the median of the rounds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PacketTimes {
    /// The kernel's own forwarding: one route, its neighbour known.
    pub kernel_ns: u64,
    /// The switch program, all packets of one pinned flow.
    pub one_flow_ns: u64,
    /// The switch program, packets of 1,000 pinned flows in turn.
    pub thousand_flows_ns: u64,
    /// The switch program, every packet the first of its flow.
    pub new_flows_ns: u64,
}

/// Measures `rounds` rounds of `packets` packets each way.
///
/// # Errors
///
/// When the testbed cannot be made, or packets are lost.
pub fn forwarding(rounds: usize, packets: u32) -> Result<Forwarding, BenchError> {
    let testbed = Testbed::new()?;
    let mut sink = testbed.inside(Side::Target, Sink::open)?;
    // A flow table that holds the flows of a round, all of which are new.
    let packets = packets.clamp(1_000, 40_000);
    testbed.inside(Side::Switch, || {
        let mut source = Source::open()?;
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
    source: &mut Source,
    batch: u32,
    rounds: usize,
    packets: u32,
    sink: &mut Sink,
) -> Result<PacketTimes, BenchError> {
    let mut times: [Vec<u64>; 4] = Default::default();
    let mut run = |by, flows| source.run(by, flows, packets, batch, sink);
    for _ in 0..rounds {
        times[0].push(run("the kernel", 1)?);
        let mut switch = Switch::attach()?;
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

/// The switch program at the interface towards the hosts.
struct Switch {
    program: Program,
    attached: Attached,
    qdiscs: Qdiscs,
}

impl Switch {
    fn attach() -> Result<Self, BenchError> {
        let config = Testbed::config("");
        let mut program = Program::load(config.flow_table_entries)?;
        program.set_table(&install::switch_table(
            &config,
            &interfaces(&config)?,
            &SwitchTable::default(),
        ))?;
        let (prefix, row) = install::destination(&config, 0, &Slots::new(&config.ports));
        program.set_destination(prefix, &row)?;
        let mut qdiscs = Qdiscs::open();
        let h0 = i32::try_from(index("h0")?).unwrap_or(0);
        let mode = AttachMode::Auto;
        let attached = attach(&mut program, &[("h0", h0)], mode, None, &mut qdiscs)?;
        Ok(Self {
            program,
            attached,
            qdiscs,
        })
    }

    /// Does `work` while the records of decisions are taken out of their ring, as an agent does.
    fn while_drained<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        let ring = &mut self.program.decisions;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    decisions::drain(ring);
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
    let ports = config.ports.iter();
    ports
        .map(|port| Ok((index(&port.interface)?, true)))
        .collect()
}

fn index(interface: &str) -> Result<u32, BenchError> {
    if_nametoindex(interface).map_err(BenchError::io("find an interface"))
}

/// What makes up packets.
struct Source {
    ebpf: Ebpf,
    sources: Array<MapData, Row<SourceRow>>,
    interface: u32,
}

/// `struct source` of bench.bpf.c.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SourceRow {
    frame: [u8; 48],
    flows: u64,
    sent: u64,
}

/// `struct xdp_md`.
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

impl Source {
    fn open() -> Result<Self, BenchError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(SwitchdError::Load)?;
        let sources = take(&mut ebpf, "sources")?;
        program::<Xdp>(&mut ebpf, "source")?
            .load()
            .map_err(failed("load"))?;
        let deaf = program::<Xdp>(&mut ebpf, "deaf")?;
        deaf.load().map_err(failed("load"))?;
        deaf.attach("h0", XdpMode::Driver)
            .map_err(failed("attach"))?;
        Ok(Self {
            ebpf,
            sources,
            interface: index("h0")?,
        })
    }

    /// Sends packets of so many flows in turn; the time each took to arrive, in nanoseconds.
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
        let written = self.sources.set(0, Row(row), 0);
        written.map_err(SwitchdError::map("write", "sources"))?;
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
        let run = program::<Xdp>(&mut self.ebpf, "source")?
            .test_run(options)
            .map_err(failed("run"))?;
        let sent = u64::from(packets);
        let mut arrived = 0;
        // The last batch may still be on its way.
        while arrived < sent && started.elapsed() < PATIENCE {
            arrived = sink.arrived()? - before;
        }
        if arrived == sent {
            Ok(u64::try_from(run.duration.as_nanos()).unwrap_or(u64::MAX))
        } else {
            Err(BenchError::Lost { by, arrived, sent })
        }
    }
}

/// What drops packets where they arrive, and counts them.
struct Sink {
    arrived: PerCpuArray<MapData, u64>,
    /// Holds the program at the interface.
    _ebpf: Ebpf,
}

impl Sink {
    fn open() -> Result<Self, BenchError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(SwitchdError::Load)?;
        let arrived = take(&mut ebpf, "arrived")?;
        let sink = program::<SchedClassifier>(&mut ebpf, "sink")?;
        sink.load().map_err(failed("load"))?;
        // Before 6.6 a program needs a qdisc to be at; later ones do without.
        let _ = tc::qdisc_add_clsact("r1");
        sink.attach("r1", TcAttachType::Ingress)
            .map_err(failed("attach"))?;
        Ok(Self {
            arrived,
            _ebpf: ebpf,
        })
    }

    fn arrived(&mut self) -> Result<u64, SwitchdError> {
        let counts = self.arrived.get(&0, 0);
        let counts = counts.map_err(SwitchdError::map("read", "arrived"))?;
        Ok(counts.iter().sum())
    }
}

fn take<M>(ebpf: &mut Ebpf, name: &'static str) -> Result<M, SwitchdError>
where
    M: TryFrom<aya::maps::Map, Error = aya::maps::MapError>,
{
    let map = ebpf.take_map(name).ok_or(SwitchdError::Missing { name })?;
    map.try_into().map_err(SwitchdError::map("use", name))
}

fn program<'a, P>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut P, SwitchdError>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    let program = ebpf
        .program_mut(name)
        .ok_or(SwitchdError::Missing { name })?;
    program.try_into().map_err(failed("use"))
}

fn failed(action: &'static str) -> impl FnOnce(ProgramError) -> SwitchdError {
    move |source| SwitchdError::Program { action, source }
}

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const PAYLOAD: usize = 64;
/// The source port of the first flow: as many follow it as a round has packets.
const FIRST_PORT: u16 = 20_000;
const PATIENCE: Duration = Duration::from_secs(5);
