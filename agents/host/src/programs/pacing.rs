//! Tests that pass single packets through both interfaces of the pacer and the NIC before it (`BPF_PROG_TEST_RUN`).

use std::net::Ipv4Addr;

use aya::programs::{TestRun, TestRunOptions};
use lab_abi::dcqcn::{DcqcnParams, PacedQp, QpKey, ReactionPoint};
use nix::time::{ClockId, clock_gettime};

use super::*;

/// Index of the interface that test packets appear to arrive on.
const LOOPBACK: u32 = 1;

/// Length of a test packet, bytes.
const BYTES: u64 = 1_500;

/// Rate of the test QPs and the NIC, bit/s.
const RATE: u64 = 10_000;

/// Transmission time of a packet at [`RATE`], ns.
const PACKET: u64 = 1_200_000_000;

const SECOND: u64 = 1_000_000_000;

/// Packet mark (`skb->mark`) of the first packet that entered the pacer.
const FIRST: u32 = 1 << 31;

const REDIRECTED: u32 = 7;

const WRITE_MIDDLE: u8 = 0x07;

/// Loaded eBPF programs of a host with one NIC and room for one QP.
struct Host {
    ebpf: Ebpf,
}

/// Outcome of one run of a program on a packet.
struct After {
    /// Return value of the program.
    verdict: u32,
    /// Time until which the program parks the packet, ns.
    parked_until: u64,
}

impl Host {
    /// Loads the programs; `None` with a printed note that `test` is skipped if the kernel does not permit loading.
    fn load(test: &str) -> Option<Self> {
        let setup = Setup {
            params: HostParams {
                law: DcqcnParams {
                    cnp_interval: 1,
                    alpha_interval: SECOND,
                    increase_interval: 10 * SECOND,
                    byte_counter: 1 << 40,
                    min_bps: 1,
                    ..DcqcnParams::default()
                },
                horizon_ns: 1,
                pacer: LOOPBACK,
                is_closing: 0,
            },
            nics: vec![Nic {
                ifindex: LOOPBACK,
                line_bps: RATE,
                quantum_ns: 10_240,
            }],
            qps: 1,
        };
        match load(&setup) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: {test}: {error}");
                None
            }
            loaded => Some(Self {
                ebpf: loaded.expect("the programs load"),
            }),
        }
    }

    fn run(&mut self, program: &'static str, packet: &mut [u8], mark: u32) -> After {
        let mut context = [0; 256];
        let mut output = vec![0; packet.len()];
        context[8..12].copy_from_slice(&mark.to_ne_bytes());
        let mut after = [0; 256];
        let run = classifier(&mut self.ebpf, program)
            .expect("loaded")
            .test_run(TestRunOptions {
                data_in: Some(packet),
                data_out: Some(&mut output),
                ctx_in: Some(&context),
                ctx_out: Some(&mut after),
                ..TestRunOptions::default()
            });
        let verdict = run.expect("the program runs").return_value;
        packet.copy_from_slice(&output);
        let parked_until = after[152..160].try_into().expect("eight bytes");
        After {
            verdict,
            parked_until: u64::from_ne_bytes(parked_until),
        }
    }

    fn senders(&mut self) -> HashMap<&mut aya::maps::MapData, MapRow<QpKey>, MapRow<PacedQp>> {
        let senders = self.ebpf.map_mut(SENDERS).expect("the map exists");
        senders.try_into().expect("a hash table")
    }

    /// Sets the state of the only QP, runs a program on a packet of the QP, and returns the outcome and the new
    /// state.
    fn pass(&mut self, program: HostProgram, qp: PacedQp, mark: u32) -> (After, PacedQp) {
        let written = self.senders().insert(MapRow(key()), MapRow(qp), 0);
        written.expect("written");
        let after = self.run(program.name(), &mut packet(WRITE_MIDDLE), mark);
        let MapRow(qp) = self
            .senders()
            .get(&MapRow(key()), 0)
            .expect("the row exists");
        (after, qp)
    }

    /// Sets up an idle NIC whose clock is `stopped` ns behind because of earlier pauses.
    fn stop_clock(&mut self, stopped: u64) {
        let nic = NicRow {
            line_bps: RATE,
            quantum_ns: 10_240,
            stopped_ns: stopped,
            ..NicRow::default()
        };
        let mut nics: HashMap<_, u32, MapRow<NicRow>> =
            map(&mut self.ebpf, NICS).expect("the map exists");
        nics.insert(LOOPBACK, MapRow(nic), 0).expect("written");
    }
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock");
    let part = |part: i64| u64::try_from(part).expect("positive");
    part(time.tv_sec()) * SECOND + part(time.tv_nsec())
}

const SRC: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const DST: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);

/// Returns the key of the packets' QP.
const fn key() -> QpKey {
    QpKey::new(SRC, DST, 17)
}

/// Returns a RoCEv2 packet of the test QP.
fn packet(opcode: u8) -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(SRC.octets());
    packet.extend(DST.octets());
    packet.extend([0xc0, 0]);
    packet.extend(4791_u16.to_be_bytes());
    packet.extend([0; 4]);
    packet.extend([opcode, 0, 0xff, 0xff, 0, 0, 0, 17]);
    packet.resize(BYTES.try_into().expect("a small number"), 0);
    packet
}

/// Returns a QP whose rate permits the next packet at `due`, with the pacing ticket `ticket`.
fn qp(due: u64, ticket: u64) -> PacedQp {
    PacedQp {
        point: ReactionPoint {
            rate_bps: RATE,
            target_bps: RATE,
            line_bps: RATE,
            alpha_due: u64::MAX,
            increase_due: u64::MAX,
            bytes_left: 1 << 40,
            ..ReactionPoint::default()
        },
        last_tx_ns: due - PACKET,
        last_bytes: BYTES.try_into().expect("a small number"),
        ticket,
        nic: LOOPBACK,
        next_in: 1,
        ..PacedQp::default()
    }
}

/// SENDs and WRITEs have opcodes 0x00 to 0x0b, READ responses 0x0d to 0x10, SENDs with invalidate 0x16 and 0x17
/// (InfiniBand specification, table 38); the rest are READ and atomic requests, and acknowledgements.
#[test]
fn packets_with_data_of_a_reliable_connection_are_paced() {
    let Some(mut host) = Host::load("opcodes") else {
        return;
    };
    let is_paced = |opcode: &u8| {
        let after = host.run(HostProgram::NicEgress.name(), &mut packet(*opcode), 0);
        after.verdict == REDIRECTED
    };
    let paced: Vec<u8> = (0..=0x20).filter(is_paced).collect();
    let data = (0..=0x0b).chain(0x0d..=0x10).chain(0x16..=0x17);
    assert_eq!(paced, data.collect::<Vec<u8>>());
}

/// The NIC's clock has stood still for 0.8 s since the packet became due and received its ticket, which is less than
/// the packet's transmission time of 1.2 s. The next packet is due 1.2 s after this packet's turn. If its due time
/// were counted from this packet's due time, the sender would make up for the pause.
#[test]
fn the_wait_for_a_turn_is_no_late_timer() {
    let Some(mut host) = Host::load("a turn") else {
        return;
    };
    let turn = now();
    let stopped = 800_000_000;
    host.stop_clock(stopped);
    let due = turn - stopped;
    let (after, left) = host.pass(HostProgram::PacerGate, qp(due, due), FIRST);
    assert_eq!(
        (after.verdict, left.packets, left.ticket),
        (REDIRECTED, 1, 0)
    );
    assert_eq!(left.last_tx_ns, turn);
}

#[test]
fn a_timer_that_is_late_by_less_than_a_packet_costs_no_rate() {
    let Some(mut host) = Host::load("late timers") else {
        return;
    };
    let due = now();
    for (due, is_credited) in [(due, true), (due - 2 * PACKET, false)] {
        host.stop_clock(0);
        let (_, left) = host.pass(HostProgram::PacerGate, qp(due, 0), FIRST);
        assert_eq!(left.packets, 1);
        assert_eq!(left.last_tx_ns == due, is_credited);
    }
    host.stop_clock(0);
    let (_, early) = host.pass(HostProgram::PacerGate, qp(now() + SECOND, 0), FIRST);
    assert_eq!((early.packets, early.rounds), (0, 1));
}

/// A CNP has delayed the packet's due time by one second since the packet received its ticket. If the packet waited
/// for the new due time, the NIC would be idle for all QPs, because later tickets are delayed with it.
#[test]
fn a_packet_with_a_ticket_leaves_in_its_turn_whatever_its_rate_is_by_then() {
    let Some(mut host) = Host::load("tickets") else {
        return;
    };
    let turn = now();
    let (_, left) = host.pass(HostProgram::PacerGate, qp(turn + SECOND, turn), FIRST);
    assert_eq!((left.packets, left.rounds), (1, 0));

    let turn = now() + SECOND / 2;
    let held = qp(turn + SECOND, turn);
    let (after, _) = host.pass(HostProgram::PacerEgress, held, FIRST);
    assert_eq!(after.parked_until, turn);
    // The next packet waits for its rate: one transmission time after the first packet's due time.
    let held = PacedQp { next_in: 2, ..held };
    let (after, _) = host.pass(HostProgram::PacerEgress, held, FIRST | 1);
    assert_eq!(after.parked_until, turn + SECOND + PACKET);
}

/// fq treats packets of equal hash as one flow and would hold the second packet until the first packet's transmission
/// time.
#[test]
fn packets_to_two_hosts_have_two_hashes_though_their_qps_have_one_number() {
    let Some(mut host) = Host::load("hashes") else {
        return;
    };
    let program = classifier(&mut host.ebpf, "hash_step").expect("the program exists");
    program.load().expect("the program loads");
    let mut hash = |key: QpKey, number: u32| {
        let mut step = vec![0; 14];
        for word in [key.src, key.dst, key.dest_qp, number, 0] {
            step.extend(word.to_ne_bytes());
        }
        host.run("hash_step", &mut step, 0);
        let hash: [u8; 4] = step[30..34].try_into().expect("four bytes");
        u32::from_ne_bytes(hash)
    };
    let number = FIRST | 5;
    let other = QpKey::new(SRC, Ipv4Addr::new(10, 7, 0, 1), 17);
    assert_ne!(hash(key(), number), hash(other, number));
    // Each part is XORed in after a multiplication by Knuth's constant; 24 bits of the result are used.
    let mix = |sum: u32, part: u32| sum.wrapping_mul(2_654_435_769) ^ part;
    let key = key();
    let mixed = [key.dest_qp, key.src, key.dst, 0]
        .into_iter()
        .fold(number, mix);
    assert_eq!(hash(key, number), mixed >> 8);
    // The hash excludes the lab's slot: the same hosts have the same hash in slot 9.
    let src = Ipv4Addr::new(10, 145, 0, 1);
    let dst = Ipv4Addr::new(10, 152, 0, 1);
    assert_eq!(hash(QpKey::new(src, dst, 17), number), mixed >> 8);
}
