//! Tests with hand-written map states: queues that become empty, buffers, and draws of next hops.

use std::{net::Ipv4Addr, process::Command};

use lab_abi::{
    pfc::{CALENDAR_SLOTS, CalendarSlot, IngressPort},
    rows::{CANDIDATE_KEPT, CandidateRow, PORT_ALIVE, PortQueueRow, PortRow},
};
use lab_policy::own::{NextHop, OwnPolicy, two_choice::TwoChoice};
use lab_units::{BitsPerSec, Bytes, Nanos};
use nix::sched::{CloneFlags, unshare};

use super::{
    tests::{buffer, fill, flow, half_a_second, with_one_port},
    *,
};
use crate::{flow_gc, frame::roce_frame, install::UNMARKED};

/// Index of the interface on which test packets arrive.
const LOOPBACK: u32 = 1;

const REDIRECTED: u32 = 7;

/// Runs the program on a packet of 1,000 B with the packet mark `mark`; returns the resulting packet.
fn run(program: &mut Program, mark: u32) -> Vec<u8> {
    let packet = roce_frame(flow(7), 1, 64, 946).bytes;
    let mut context = [0; 192];
    let mut output = vec![0; packet.len()];
    context[8..12].copy_from_slice(&mark.to_ne_bytes());
    let options = TestRunOptions {
        data_in: Some(&packet),
        data_out: Some(&mut output),
        ctx_in: Some(&context),
        ..TestRunOptions::default()
    };
    let run = program.classifier().expect("loaded").test_run(options);
    assert_eq!(run.expect("it runs").return_value, REDIRECTED);
    output
}

fn set_buffer(program: &mut Program, buffer: SharedBuffer) {
    let buffers = program.buffers.as_mut().expect("the map");
    buffers.set(0, MapRow(buffer), 0).expect("written");
}

/// The kernel purges a port's queue when its carrier goes down, so the next packet finds the queue empty; the other
/// port's queue stays.
#[test]
fn a_cut_empties_the_queue_of_its_port() {
    cut(
        "a_cut_empties_the_queue_of_its_port",
        Program::watch_carriers,
    );
}

/// The second kernel function is also called for a link that comes up, which revives no port and kills none.
#[test]
fn a_cut_is_seen_by_the_second_kernel_function_too() {
    cut(
        "a_cut_is_seen_by_the_second_kernel_function_too",
        |program| program.attach_carrier(CARRIER_EVENT),
    );
}

/// Cuts the link of one of two ports while `watch` marks dead ports, and repairs the link.
fn cut(test: &str, watch: fn(&mut Program) -> Result<FdLink, SwitchdError>) {
    let Some((mut program, mut table)) = with_one_port(test) else {
        return;
    };
    let Ok(carriers) = watch(&mut program) else {
        println!("skipped: {test}: this kernel reports no carrier changes to eBPF programs");
        return;
    };
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace of this thread");
    let ip = |words: &str| {
        let status = Command::new("ip").args(words.split(' ')).status();
        assert!(status.expect("iproute2").success(), "ip {words}");
    };
    ip("link add cut type veth peer name far");
    ip("link set cut up");
    ip("link set far up");
    let interface = nix::net::if_::if_nametoindex("cut").expect("it exists");

    let namespace = std::fs::metadata("/proc/thread-self/ns/net").expect("it exists");
    table.netns = std::os::unix::fs::MetadataExt::ino(&namespace);
    let full = PortQueueRow {
        busy_until_ns: 1 << 62,
        marks: 3,
        ..PortQueueRow::default()
    };
    for (slot, ifindex) in [(0, 1_000_000), (1, interface)] {
        table.ports[slot] = PortRow {
            state: PORT_ALIVE,
            ifindex,
            ..PortRow::default()
        };
        table.queues[slot] = full;
    }
    program.set_table(&table).expect("written");
    ip("link set far down");
    let after = program.table().expect("readable");
    let states = [0, 1].map(|slot| (after.ports[slot].state, after.queues[slot].busy_until_ns));
    assert_eq!(states, [(PORT_ALIVE, 1 << 62), (0, 0)]);
    assert_eq!(after.queues[1].marks, 3);
    program.set_table(&table).expect("written");
    ip("link set far up");
    let after = program.table().expect("readable");
    assert_eq!(after.ports[1].state, PORT_ALIVE);
    drop(carriers);
}

/// Returns an object whose [`CARRIER_OFF`] is attached; `None` if the kernel function has no room or may not be traced.
fn attached_carrier(btf: &Btf) -> Option<Ebpf> {
    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf)).map_max_entries(FLOWS, 1);
    let mut ebpf = loader.load(OBJECT).expect("its maps are made");
    let carrier = program::<FEntry>(&mut ebpf, CARRIER_OFF.name).expect("it is there");
    carrier.load(CARRIER_OFF.function, btf).ok()?;
    carrier.attach().ok()?;
    Some(ebpf)
}

/// The function calls at most 38 programs.
#[test]
fn a_switch_for_which_the_first_function_has_no_room_learns_of_cuts_too() {
    let Some((mut program, _)) = with_one_port("no room") else {
        return;
    };
    let btf = Btf::from_sys_fs().ok();
    let attached = || attached_carrier(btf.as_ref()?);
    let others: Vec<Ebpf> = std::iter::from_fn(attached).take(64).collect();
    if others.is_empty() {
        let test = "a_switch_for_which_the_first_function_has_no_room_learns_of_cuts_too";
        println!("skipped: {test}: this kernel reports no carrier changes to eBPF programs");
        return;
    }
    assert!(others.len() <= 38, "{} programs have room", others.len());
    let link = program.watch_carriers();
    link.expect("the second function has room");
}

/// Returns the content of each map of a program.
fn contents(program: &mut Program) -> [String; 8] {
    let keys: Result<Vec<_>, _> = program.destinations.keys().collect();
    let prefixes: Vec<_> = keys.expect("readable").iter().map(Key::data).collect();
    let demand = |row| program.demand(row).expect("readable");
    let demands: Vec<u64> = (0..MAX_DESTINATIONS).map(demand).collect();
    let map = program.ebpf.map("calendar").expect("the map");
    let calendar: Array<_, MapRow<CalendarSlot>> = map.try_into().expect("an array");
    let slots = (0..CALENDAR_SLOTS).map(|slot| calendar.get(&slot, 0).expect("readable").0);
    let leaving: Vec<_> = slots.map(|slot| (slot.bytes, slot.total)).collect();
    [
        format!(
            "{:?}",
            flow_gc::all(&program.flows, 1 << 20).expect("readable")
        ),
        format!("{prefixes:?}"),
        format!("{demands:?}"),
        format!("{:?}", program.counters().expect("readable")),
        format!("{:?}", program.table().expect("readable")),
        format!("{:?}", buffer(program)),
        format!("{leaving:?}"),
        format!("{:?}", program.drain_decisions()),
    ]
}

#[test]
fn a_cleared_program_is_as_one_that_has_just_been_loaded() {
    let Some((mut program, mut table)) = with_one_port("a cleared program") else {
        return;
    };
    let mut loaded = Program::load(1_000).expect("it loads, as the other did");
    let expected = contents(&mut loaded);
    (table.params.local_addr, table.params.local_mask) = (flow(7).src, u32::MAX);
    let mut write_all = |program: &mut Program| {
        fill(program, &mut table, half_a_second(), 0);
        let mut row = DestinationRow {
            count: 2,
            demand: 1,
            ..DestinationRow::default()
        };
        for candidate in &mut row.candidates[..2] {
            candidate.buckets = 1;
        }
        let prefix = PrefixKey::new(flow(7).destination(), 32);
        program.set_destination(prefix, &row).expect("written");
        let frame = roce_frame(flow(7), 1, 64, 0).bytes;
        program.test_run(&frame, &mut [0; 256]).expect("it runs");
    };
    write_all(&mut program);
    for (number, (used, empty)) in contents(&mut program).iter().zip(&expected).enumerate() {
        assert_ne!(used, empty, "map {number}");
    }
    write_all(&mut program);
    program.clear().expect("writable");
    assert_eq!(contents(&mut program), expected);
}

#[test]
fn an_agent_empties_one_queue() {
    let Some((mut program, mut table)) = with_one_port("an empty queue") else {
        return;
    };
    let full = PortQueueRow {
        busy_until_ns: 1 << 62,
        byte_time_q20: 1,
        marks: 3,
        ..PortQueueRow::default()
    };
    table.queues[..3].fill(full);
    program.set_table(&table).expect("written");
    program.table.empty_queue(1);
    let empty = PortQueueRow {
        busy_until_ns: 0,
        ..full
    };
    let after = program.table().expect("readable");
    assert_eq!(after.queues[..3], [full, empty, full]);
}

/// A change of rate keeps the bytes in a queue: 3 s at 8 Mbit/s are 3 MB, which take 30 s at 0.8 Mbit/s and 1.5 s at 16
/// Mbit/s.
#[test]
fn a_queue_keeps_its_bytes_at_another_rate() {
    let Some((mut program, mut table)) = with_one_port("rates") else {
        return;
    };
    let now = 1 << 40;
    let second = 1_000_000_000;
    let at = |byte_time: u64| PortQueueRow {
        byte_time_q20: byte_time << 20,
        max_wait_ns: byte_time,
        congestion: UNMARKED,
        ..PortQueueRow::default()
    };
    table.queues[0] = PortQueueRow {
        busy_until_ns: now + 3 * second,
        marks: 4,
        ..at(1_000)
    };
    let empty = PortQueueRow {
        busy_until_ns: now - second,
        ..at(1_000)
    };
    table.queues[1] = empty;
    program.set_table(&table).expect("written");
    for (byte_time, rest) in [(10_000, 30 * second), (500, 3 * second / 2)] {
        for slot in [0, 1] {
            program
                .table
                .set_queue(slot, &at(byte_time), Nanos::new(now));
        }
        let [changed, empty, ..] = program.table().expect("readable").queues;
        let expected = PortQueueRow {
            busy_until_ns: now + rest,
            marks: 4,
            ..at(byte_time)
        };
        assert_eq!(changed, expected);
        assert_eq!(empty.busy_until_ns, now - second, "what has left, has left");
    }
}

/// The sent packet brings its port to 6,000 B beyond the reserve of 4,096 B. Of 40,000 B, 11,000 B are free, because
/// the other port has 24,000 B. The 6,000 B are more than half of the free bytes, so the packet goes to the headroom,
/// and leaves in the third slot of the calendar queue. The sender may resume when 5,000 + 3,072 B are at most half of
/// the free bytes, that is when the other port has 5,144 B fewer. The other port loses 2,000 B in each slot, the 20,000
/// B of its headroom first: in ten slots, and then in three more.
#[test]
fn a_pause_lasts_until_the_other_ports_headroom_has_left_too() {
    let Some((mut program, mut table)) = with_one_port("headrooms") else {
        return;
    };
    let slot_bits = 28;
    let from = crate::now().expect("a clock").get() >> slot_bits;
    table.queues[0] = PortQueueRow {
        busy_until_ns: ((from + 2) << slot_bits) + 1,
        byte_time_q20: 1,
        max_wait_ns: 1 << 40,
        congestion: UNMARKED,
        ..PortQueueRow::default()
    };
    program.set_table(&table).expect("written");
    let quantum_ns = 1_000_000;
    let mut before = SharedBuffer {
        shared: 40_000,
        used: 29_000,
        slot: from,
        slot_bits,
        count: 2,
        ..SharedBuffer::default()
    };
    before.ports[0] = IngressPort {
        ifindex: LOOPBACK,
        headroom: 10_000,
        bytes: 4_096 + 5_000,
        threshold_shift: 1,
        quantum_ns,
        ..IngressPort::default()
    };
    before.ports[1] = IngressPort {
        ifindex: 1_000_000,
        headroom: 20_000,
        bytes: 4_096 + 24_000,
        headroom_bytes: 20_000,
        ..before.ports[0]
    };
    set_buffer(&mut program, before);
    let mut calendar: Array<_, MapRow<CalendarSlot>> = program
        .ebpf
        .map_mut("calendar")
        .expect("the map")
        .try_into()
        .expect("an array");
    for slot in from + 1..=from + 24 {
        let mut leaving = CalendarSlot {
            total: 2_000,
            ..CalendarSlot::default()
        };
        leaving.bytes[1] = 2_000;
        let place = u32::try_from(slot % u64::from(CALENDAR_SLOTS)).expect("small");
        calendar.set(place, MapRow(leaving), 0).expect("written");
    }
    run(&mut program, 0);
    let until = (from + 14) << slot_bits;
    let late = buffer(&program).ports[0].paused_until_ns.checked_sub(until);
    assert!(
        late.is_some_and(|late| late <= quantum_ns),
        "{late:?}, of {until}"
    );
}

/// The sending port's address is the source address of a MAC control frame (IEEE 802.3, annex 31B), regardless of what
/// happens to the packet that caused the frame.
#[test]
fn a_pause_comes_from_the_port_that_sends_it() {
    let Some((mut program, mut table)) = with_one_port("a pause") else {
        return;
    };
    let address = [2, 1, 0, 0, 0, 5];
    table.ports[1].src_mac = address;
    table.ports[1].ifindex = LOOPBACK;
    program.set_table(&table).expect("written");
    let mut buffer = SharedBuffer {
        shared: 1,
        count: 2,
        ..SharedBuffer::default()
    };
    buffer.ports[0].ifindex = 1_000_000;
    buffer.ports[1].ifindex = LOOPBACK;
    set_buffer(&mut program, buffer);
    let frame = run(&mut program, 0x5046_0000 | 0x0102);
    // The frame consists of multicast address, source, type, opcode, and eight quanta for priority 3.
    let mut expected = vec![1, 0x80, 0xc2, 0, 0, 1];
    expected.extend(address);
    expected.extend([0x88, 0x08, 1, 1, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2]);
    expected.resize(60, 0);
    assert_eq!(frame[..60], expected);
}

/// If only one next hop has a queue, the choice is the first draw, or the second draw if the first is that hop. So if
/// the choices are equal for every position of the queue, the draws are equal.
#[test]
fn two_choice_draws_as_the_policy_of_the_same_name() {
    let Some((_, mut table)) = with_one_port("two-choice") else {
        return;
    };
    let object = aya::include_bytes_aligned!("../../../ebpf/examples/two-choice.bpf.o");
    let mut program = Program::load_object(object, 1_000, None).expect("it loads");
    let hops = 5;
    table.params.seed = 176;
    let mut row = DestinationRow {
        count: 5,
        ..DestinationRow::default()
    };
    for slot in 0..hops {
        row.candidates[slot] = CandidateRow {
            port: u32::try_from(slot).expect("small"),
            ..CandidateRow::default()
        };
    }
    let prefix = PrefixKey::new(Ipv4Addr::new(10, 8, 0, 1), 32);
    program.set_destination(prefix, &row).expect("written");
    let mut number = 0;
    let mut output = [0; 256];
    for congested in 0..hops {
        for slot in 0..hops {
            // C_cong is the highest byte of the levels.
            let level = if slot == congested { 9 << 24 } else { 0 };
            table.ports[slot].state = PORT_ALIVE | level;
        }
        program.set_table(&table).expect("written");
        let queue = |slot| Bytes::new(if slot == congested { 9 } else { 0 });
        let next_hops: Vec<NextHop> = (0..hops)
            .map(|slot| NextHop {
                delay: Nanos::new(1),
                capacity: BitsPerSec::new(1_000).expect("not zero"),
                link_rate: BitsPerSec::new(1_000).expect("not zero"),
                queue: queue(slot),
            })
            .collect();
        for _ in 0..100 {
            number += 1;
            let frame = roce_frame(flow(number), 1, 64, 0);
            program
                .test_run(&frame.bytes, &mut output)
                .expect("it runs");
            let [decision] = program.drain_decisions()[..] else {
                panic!("a decision for each flow");
            };
            let port = usize::try_from(decision.port).expect("small");
            assert_eq!(port, TwoChoice.choose(&next_hops, decision.hash));
            let kept = decision.candidates[..hops]
                .iter()
                .filter(|row| row.flags & CANDIDATE_KEPT != 0);
            assert_eq!(kept.count(), 2);
        }
    }
}
