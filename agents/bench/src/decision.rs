//! Cost of a packet in the switch program, in kernel time.

use std::net::Ipv4Addr;

use lab_abi::{
    Preset,
    lcmp::MAX_FLOW_TABLE_ENTRIES,
    rows::{
        CandidateRow, DestinationRow, FlowKey, KEEP_FLOOR_OR_ALL, KEEP_HALF, MECHANISM_BUCKETS,
        MECHANISM_LCMP, PORT_ALIVE, PortRow, PrefixKey, ROCE_PORT, SwitchParams, SwitchTable,
        TransitKey,
    },
};
use lab_policy::MAX_CANDIDATES;
use lab_switchd::{
    SwitchdError,
    frame::roce_frame,
    program::{OBJECT, Program},
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Cost of one packet over many runs, in nanoseconds by the kernel's own clock.
///
/// A run is one system call with one packet: caches are colder than on a loaded switch, and two
/// readings of the clock are included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cost {
    /// Time of the shortest run.
    pub min_ns: u64,
    /// Median time of the runs.
    pub median_ns: u64,
    /// 99th percentile of the runs, by nearest rank.
    pub p99_ns: u64,
}

/// Costs of decisions and other packets, as measured by [`decision`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DecisionCost {
    /// Number of candidates of the destination.
    pub candidates: usize,
    /// Number of packets of each kind that were measured.
    pub runs: usize,
    /// Cost of a flow's first packet, from arrival to redirection, for each policy.
    pub new_flow: Vec<(&'static str, Cost)>,
    /// Cost of a pinned flow's packet, which does not depend on the policy.
    pub hit: Cost,
    /// Cost of a packet that follows the tunnel that another switch has chosen, which does not depend on the policy.
    pub transit: Cost,
    /// Cost of the program's early exit: an ARP frame, which the program leaves to the kernel at once.
    pub passed: Cost,
}

/// Measures `runs` packets of each kind with `candidates` candidates for the destination.
pub fn decision(candidates: usize, runs: usize) -> Result<DecisionCost, SwitchdError> {
    let candidates = candidates.clamp(1, MAX_CANDIDATES);
    let runs = runs.max(1);
    let mut new_flow = Vec::new();
    for policy in POLICIES {
        let cost = DecisionBench::load(policy, candidates, runs)?.measure(PacketKind::NewFlow)?;
        new_flow.push((policy.name, cost));
    }
    let mut bench = DecisionBench::load(POLICIES[0], candidates, runs)?;
    Ok(DecisionCost {
        candidates,
        runs,
        new_flow,
        hit: bench.measure(PacketKind::Hit)?,
        passed: bench.measure(PacketKind::Passed)?,
        transit: bench.measure_transit()?,
    })
}

/// Policy as parameters of the switch program.
#[derive(Clone, Copy)]
struct PolicyCase {
    name: &'static str,
    object: &'static [u8],
    mechanism: u32,
    preset: Preset,
    /// Number of buckets of a candidate, given the candidate's index.
    buckets: fn(u16) -> u16,
}

const LCMP: PolicyCase = PolicyCase {
    name: "lcmp",
    object: OBJECT,
    mechanism: MECHANISM_LCMP,
    preset: Preset::Paper,
    buckets: |_| 1,
};

const POLICIES: [PolicyCase; 7] = [
    LCMP,
    PolicyCase {
        name: "lcmp artifact",
        preset: Preset::Artifact,
        ..LCMP
    },
    PolicyCase {
        name: "ecmp",
        mechanism: MECHANISM_BUCKETS,
        ..LCMP
    },
    PolicyCase {
        name: "wcmp",
        mechanism: MECHANISM_BUCKETS,
        buckets: |index| 1 + 2 * index,
        ..LCMP
    },
    PolicyCase {
        name: "te-100ms",
        mechanism: MECHANISM_BUCKETS,
        buckets: |index| if index % 2 == 0 { 0 } else { 33 },
        ..LCMP
    },
    PolicyCase {
        name: "own: delay-only",
        object: aya::include_bytes_aligned!("../../ebpf/examples/delay-only.bpf.o"),
        ..LCMP
    },
    PolicyCase {
        name: "own: two-choice",
        object: aya::include_bytes_aligned!("../../ebpf/examples/two-choice.bpf.o"),
        ..LCMP
    },
];

#[derive(Clone, Copy, Debug)]
enum PacketKind {
    NewFlow,
    Hit,
    Passed,
}

struct DecisionBench {
    program: Program,
    random: Pcg64Mcg,
    runs: usize,
}

impl DecisionBench {
    fn load(policy: PolicyCase, candidates: usize, runs: usize) -> Result<Self, SwitchdError> {
        let mut program = Program::load_object(policy.object, MAX_FLOW_TABLE_ENTRIES, None)?;
        let prefix = PrefixKey::new(DESTINATION, 32);
        program.set_destination(prefix, &destination(candidates, policy.buckets))?;
        program.set_table(&table(policy))?;
        Ok(Self {
            program,
            random: Pcg64Mcg::seed_from_u64(1),
            runs,
        })
    }

    fn measure(&mut self, kind: PacketKind) -> Result<Cost, SwitchdError> {
        let flow = self.any_flow();
        self.measure_flow(kind, flow)
    }

    fn measure_flow(&mut self, kind: PacketKind, mut flow: FlowKey) -> Result<Cost, SwitchdError> {
        let mut times = Vec::with_capacity(self.runs);
        let mut output = [0; 256];
        // The first packets are not counted: they warm the caches, and pin the flow that `Hit` measures.
        for run in 0..self.runs + WARM_UP {
            if matches!(kind, PacketKind::NewFlow) {
                flow = self.any_flow();
            }
            let mut frame = roce_frame(flow, 17, 64, 64).bytes;
            if matches!(kind, PacketKind::Passed) {
                frame[12..14].copy_from_slice(&[8, 6]);
            }
            let result = self.program.test_run(&frame, &mut output)?;
            if run >= WARM_UP {
                times.push(u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX));
            }
            if run % 256 == 0 {
                self.program.drain_decisions();
            }
        }
        times.sort_unstable();
        let rank = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
        Ok(Cost {
            min_ns: times[0],
            median_ns: rank(50),
            p99_ns: rank(99),
        })
    }

    /// Measures packets of one flow, at a switch on their tunnel that has as many rows for other packets as [`ROWS`].
    fn measure_transit(&mut self) -> Result<Cost, SwitchdError> {
        let mut table = table(POLICIES[0]);
        let net = Ipv4Addr::from_bits(0xffff_f000).to_bits().to_be();
        table.params.tunnels = 1;
        table.params.local_mask = net;
        table.params.local_addr = Ipv4Addr::new(10, 1, 0, 0).to_bits().to_be();
        self.program.set_table(&table)?;
        let row = |source: u32| {
            let key = TransitKey {
                src: (source << 12).to_be(),
                dst: DESTINATION.to_bits().to_be() & net,
                ifindex: LOOPBACK,
            };
            (key, 0)
        };
        let flow = self.any_flow();
        let mut rows: Vec<_> = (0..ROWS).map(row).collect();
        rows.push((
            TransitKey {
                src: flow.src & net,
                ..rows[0].0
            },
            0,
        ));
        self.program.set_transits(&rows)?;
        self.measure_flow(PacketKind::Hit, flow)
    }

    fn any_flow(&mut self) -> FlowKey {
        let source = Ipv4Addr::from_bits(self.random.next_u32());
        let [low, high, ..] = self.random.next_u64().to_le_bytes();
        let port = u16::from_le_bytes([low, high]);
        FlowKey::new(source, DESTINATION, port, ROCE_PORT, 17)
    }
}

fn table(policy: PolicyCase) -> SwitchTable {
    let mut table = SwitchTable {
        params: SwitchParams {
            mechanism: policy.mechanism,
            artifact: u32::from(policy.preset == Preset::Artifact),
            keep: match policy.preset {
                Preset::Paper => KEEP_HALF,
                Preset::Artifact => KEEP_FLOOR_OR_ALL,
            },
            alpha: 3,
            beta: 1,
            congested_threshold: 204,
            drop_threshold: 204,
            seed: 176,
            ..SwitchParams::default()
        },
        ..SwitchTable::default()
    };
    for (port, ifindex) in table.ports.iter_mut().zip(1..) {
        *port = PortRow {
            state: PORT_ALIVE,
            ifindex,
            ..PortRow::default()
        };
    }
    table
}

/// Returns a destination whose paths differ in cost.
fn destination(candidates: usize, buckets: fn(u16) -> u16) -> DestinationRow {
    let mut row = DestinationRow::default();
    for (index, slot) in (0..).zip(&mut row.candidates[..candidates]) {
        *slot = CandidateRow {
            port: u32::from(index),
            buckets: buckets(u16::from(index)),
            path: index * 15,
            pad: 0,
        };
        row.count += 1;
    }
    row
}

const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);

/// Index of the loopback interface, at which the packets of a test run arrive.
const LOOPBACK: u32 = 1;

/// Number of rows for other packets, as at a busy switch among 64 datacenters.
const ROWS: u32 = 4_096;

const WARM_UP: usize = 1_000;
