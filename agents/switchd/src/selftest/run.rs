//! Comparison of the program with the reference, packet by packet.

use std::{net::Ipv4Addr, time::Instant};

use lab_abi::{
    Rule, Trigger,
    lcmp::MAX_FLOW_TABLE_ENTRIES,
    rows::{DecisionRecord, FlowEntry, FlowKey, LAB_NET, PORT_ALIVE, ROCE_PORT},
};
use lab_loader::MapRow;
use lab_policy::{failover, lcmp::Levels};

use super::{
    Random, SelftestReport,
    switch::{ModelSwitch, PacketDecision},
};
use crate::{
    SwitchdError, flow_gc,
    frame::{Frame, TCP, UDP, roce_frame},
    now,
    program::Program,
};

/// Number of packets between two changes of the tables.
const PACKETS_PER_TABLE: u64 = 16;

// Return values of the program: `TC_ACT_OK`, `TC_ACT_SHOT` and `TC_ACT_REDIRECT`.
const OK: u32 = 0;
const SHOT: u32 = 2;
const REDIRECT: u32 = 7;

/// Runs `packets` random packets through the switch program and compares each result with the reference. A mismatch is
/// not an error; the report counts it.
pub fn selftest(packets: u64, seed: u64) -> Result<SelftestReport, SwitchdError> {
    let started = Instant::now();
    let mut test = Selftest::new(seed)?;
    while test.report.packets < packets {
        if test.report.packets.is_multiple_of(PACKETS_PER_TABLE) {
            test.shuffle()?;
        }
        test.report.packets += 1;
        test.packet()?;
    }
    let mut report = test.report;
    report.elapsed = started.elapsed();
    Ok(report)
}

struct Selftest {
    program: Program,
    switch: ModelSwitch,
    random: Random,
    /// Index of the destination whose row changed last; most packets go there.
    destination: usize,
    /// Flow that is pinned in the current table, and its entry.
    pinned: Option<(FlowKey, FlowEntry)>,
    /// Flows that have an entry in the program's table.
    entered: Vec<FlowKey>,
    report: SelftestReport,
}

impl Selftest {
    fn new(seed: u64) -> Result<Self, SwitchdError> {
        let mut test = Self {
            program: Program::load(MAX_FLOW_TABLE_ENTRIES)?,
            switch: ModelSwitch::new(),
            random: Random::new(seed),
            destination: 0,
            pinned: None,
            entered: Vec::new(),
            report: SelftestReport::default(),
        };
        test.report.load_ns = test.program.load_ns;
        for (prefix, row) in test.switch.destinations() {
            test.program.set_destination(prefix, row)?;
        }
        Ok(test)
    }

    fn shuffle(&mut self) -> Result<(), SwitchdError> {
        let (prefix, destination) = self.switch.shuffle(&mut self.random, now()?);
        self.destination = destination;
        self.pinned = None;
        for flow in self.entered.drain(..) {
            flow_gc::remove(&mut self.program.flows, flow)?;
        }
        self.program.set_table(&self.switch.table)?;
        let row = self.switch.destination(destination);
        self.program.set_destination(prefix, row)
    }

    /// Rewrites a destination's buckets as traffic engineering does, while flows are pinned according to the old
    /// buckets.
    fn rewrite_buckets(&mut self) -> Result<(), SwitchdError> {
        self.report.rewritten += 1;
        let prefix = self.switch.rewrite(self.destination, &mut self.random);
        let row = self.switch.destination(self.destination);
        self.program.set_destination(prefix, row)
    }

    fn packet(&mut self) -> Result<(), SwitchdError> {
        match (self.random.below(16), self.pinned) {
            (0, _) => self.foreign_frame(),
            (1 | 2, Some((flow, entry))) => self.later_packet(flow, entry),
            (6..13, Some((flow, entry))) if self.switch.has_flow_ageing() => {
                self.later_packet(flow, entry)
            }
            (3 | 4, Some((flow, entry))) => self.packet_after_failure(flow, entry),
            (5, Some((flow, entry))) => {
                self.rewrite_buckets()?;
                self.later_packet(flow, entry)
            }
            _ => self.first_packet(),
        }
    }

    fn first_packet(&mut self) -> Result<(), SwitchdError> {
        let (flow, frame) = self.random_frame();
        if let Some(slot) = self.switch.only_candidate(flow) {
            return self.expect_not_pinned(&frame, flow, usize::try_from(slot).unwrap_or(0));
        }
        match self.switch.decide(flow, length(&frame)) {
            None => self.expect_passed(&frame),
            Some(PacketDecision::Unreachable) => self.expect_unreachable(&frame),
            Some(PacketDecision::Pin(record)) => {
                let rule = Rule::from_byte(record.rule).map_or(0, |rule| rule as usize);
                self.report.decided[rule] += 1;
                let policies = &mut self.report.by_policy;
                *policies.entry(self.switch.policy()).or_default() += 1;
                self.expect_decided(&frame, record, FlowEntry::default())
            }
        }
    }

    /// Sends a packet of a pinned flow after a change of congestion, which must not move the flow.
    fn later_packet(&mut self, flow: FlowKey, entry: FlowEntry) -> Result<(), SwitchdError> {
        for slot in 0..self.switch.table.ports.len() {
            let levels = Levels {
                congestion: self.random.byte(),
                ..Levels::default()
            };
            self.set_port(slot, levels, self.is_alive(slot));
        }
        let payload = 100 + 8 * usize::from(self.random.byte());
        let frame = roce_frame(flow, 7, 64, payload);
        let sent = entry.bytes + length(&frame);
        let switch = &self.switch;
        let port = entry.port;
        let before = entry.bytes;
        let must_reroute = || switch.must_reroute(flow, port, before, sent);
        if let Some(trigger) = failover::trigger(Some(true), must_reroute) {
            return self.expect_moved(flow, entry, &frame, trigger);
        }
        self.report.hits += 1;
        let output = self.run(&frame)?;
        let expected = FlowEntry {
            packets: entry.packets + 1,
            bytes: sent,
            ..entry
        };
        self.expect_forwarded(&frame, &output, flow, expected)?;
        let records = self.program.drain_decisions();
        self.compare("decisions of a known flow", &records.len(), &0);
        Ok(())
    }

    fn packet_after_failure(
        &mut self,
        flow: FlowKey,
        entry: FlowEntry,
    ) -> Result<(), SwitchdError> {
        let slot = usize::from(entry.port);
        self.set_port(slot, Levels::default(), false);
        self.pinned = None;
        let frame = roce_frame(flow, 7, 64, 100);
        self.expect_moved(flow, entry, &frame, Trigger::Failover)
    }

    fn expect_moved(
        &mut self,
        flow: FlowKey,
        entry: FlowEntry,
        frame: &Frame,
        trigger: Trigger,
    ) -> Result<(), SwitchdError> {
        match self.switch.decide(flow, entry.bytes + length(frame)) {
            Some(PacketDecision::Pin(record)) => {
                match trigger {
                    Trigger::NewFlow => {}
                    Trigger::Failover => self.report.failovers += 1,
                    Trigger::FlowAgeing => self.report.aged += 1,
                }
                let record = DecisionRecord {
                    trigger: trigger.to_byte(),
                    ..record
                };
                self.expect_decided(frame, record, entry)
            }
            Some(PacketDecision::Unreachable) | None => self.expect_unreachable(frame),
        }
    }

    /// Sends a frame that the program must leave to the kernel.
    fn foreign_frame(&mut self) -> Result<(), SwitchdError> {
        let (flow, frame) = self.random_frame();
        let frame = match self.random.below(6) {
            0 => frame.with_ethertype(0x0806),
            // The kernel refuses to test-run an IPv6 packet that is shorter than its header.
            1 => Frame::new(flow, 64, 40).with_ethertype(0x86dd),
            2 => frame.with_options(),
            3 => Frame::new(flow, u8::from(self.random.once_in(2)), 40),
            4 => {
                let dst = Ipv4Addr::new(172, 16, 0, 1).to_bits().to_be();
                Frame::new(FlowKey { dst, ..flow }, 64, 40)
            }
            // A UDP packet that is too short for its ports.
            _ => Frame::new(FlowKey { proto: UDP, ..flow }, 64, 2),
        };
        self.expect_passed(&frame)
    }

    /// Returns a frame of a new flow to the destination whose row changed last.
    fn random_frame(&mut self) -> (FlowKey, Frame) {
        let dst = self.switch.address_in(self.destination, &mut self.random);
        // Half of the sources are addresses of labs in any slot, the others are arbitrary addresses.
        let word = self.random.word32();
        let src = match word % 2 {
            0 => Ipv4Addr::from_bits(LAB_NET << 24 | word >> 8),
            _ => Ipv4Addr::from_bits(word),
        };
        let random = &mut self.random;
        let sport = random.word16();
        let dport = random.word16();
        let ttl = random.byte().max(2);
        let tos = random.byte();
        let payload = usize::from(random.byte());
        let (flow, frame) = match random.below(8) {
            0 => {
                let flow = FlowKey::new(src, dst, sport, dport, TCP);
                (flow, Frame::new(flow, ttl, 20 + payload))
            }
            1 => {
                let flow = FlowKey::new(src, dst, 0, 0, 1);
                (flow, Frame::new(flow, ttl, payload))
            }
            2 => {
                let flow = FlowKey::new(src, dst, 0, 0, UDP);
                let is_first = random.once_in(2);
                let offset = if is_first { 0 } else { 1 + sport % 0x1fff };
                let frame = Frame::new(flow, ttl, 8 + payload);
                (flow, frame.with_fragment(is_first, offset))
            }
            3 => {
                // A packet with RoCE's port that is too short for the transport header.
                let flow = FlowKey::new(src, dst, sport, ROCE_PORT, UDP);
                (flow, Frame::new(flow, ttl, 8 + payload % 8))
            }
            _ => {
                let flow = FlowKey::new(src, dst, sport, ROCE_PORT, UDP);
                let qp = random.word32() & 0x00ff_ffff;
                let frame = roce_frame(flow, qp, ttl, payload);
                (flow, frame.with_psn(!qp & 0x00ff_ffff))
            }
        };
        (flow, frame.with_tos(tos))
    }

    fn expect_decided(
        &mut self,
        frame: &Frame,
        record: DecisionRecord,
        before: FlowEntry,
    ) -> Result<(), SwitchdError> {
        let output = self.run(frame)?;
        let entry = FlowEntry {
            last_seen_ns: 0,
            packets: before.packets + 1,
            bytes: before.bytes + length(frame),
            port: u16::try_from(record.port).unwrap_or(u16::MAX),
            demand: 0,
            decisions: before.decisions + 1,
        };
        let flow = record.flow;
        self.expect_forwarded(frame, &output, flow, entry)?;
        self.pinned = (flow.destination_port() == ROCE_PORT).then_some((flow, entry));
        self.entered.push(flow);
        let expected = DecisionRecord {
            dest_qp: frame.qp(flow),
            psn: frame.psn(flow),
            ..record
        };
        let mut records = self.program.drain_decisions();
        let sampled_at = self.switch.table.sampled_at_ns;
        for record in &mut records {
            // The age is replaced by its error, and the time by 0 if it is set, so that the records can be compared.
            let age = record.time_ns.saturating_sub(sampled_at);
            record.signal_age_ns = record.signal_age_ns.abs_diff(age);
            record.time_ns = u64::from(record.time_ns == 0);
        }
        self.compare("decision", &records, &vec![expected]);
        Ok(())
    }

    fn expect_forwarded(
        &mut self,
        frame: &Frame,
        output: &(u32, Vec<u8>),
        flow: FlowKey,
        entry: FlowEntry,
    ) -> Result<(), SwitchdError> {
        let slot = usize::from(entry.port);
        let expected = frame.forwarded(&self.switch.table.ports[slot]);
        self.compare("frame", output, &(REDIRECT, expected.bytes));
        let found = self
            .program
            .flows
            .get(&MapRow(flow), 0)
            .ok()
            .map(|MapRow(entry)| FlowEntry {
                last_seen_ns: u64::from(entry.last_seen_ns == 0),
                ..entry
            });
        self.compare("flow table entry", &found, &Some(entry));
        self.pinned = Some((flow, entry));
        Ok(())
    }

    /// Expects that a packet is sent to the port in `slot` if that port is alive, without a decision or a flow entry.
    fn expect_not_pinned(
        &mut self,
        frame: &Frame,
        flow: FlowKey,
        slot: usize,
    ) -> Result<(), SwitchdError> {
        if !self.is_alive(slot) {
            return self.expect_unreachable(frame);
        }
        self.report.not_pinned += 1;
        let output = self.run(frame)?;
        let expected = frame.forwarded(&self.switch.table.ports[slot]);
        self.compare("frame", &output, &(REDIRECT, expected.bytes));
        let found = self.program.flows.get(&MapRow(flow), 0).ok();
        let has_entry = found.is_some();
        self.compare("flow entry despite a single candidate", &has_entry, &false);
        let records = self.program.drain_decisions();
        self.compare("decisions despite a single candidate", &records.len(), &0);
        Ok(())
    }

    fn expect_passed(&mut self, frame: &Frame) -> Result<(), SwitchdError> {
        self.report.passed += 1;
        let output = self.run(frame)?;
        let expected = (OK, frame.bytes.clone());
        self.compare("frame left to the kernel", &output, &expected);
        Ok(())
    }

    fn expect_unreachable(&mut self, frame: &Frame) -> Result<(), SwitchdError> {
        self.report.unreachable += 1;
        let output = self.run(frame)?;
        self.compare("dropped frame", &output, &(SHOT, frame.bytes.clone()));
        Ok(())
    }

    fn run(&mut self, frame: &Frame) -> Result<(u32, Vec<u8>), SwitchdError> {
        let mut output = vec![0; frame.bytes.len()];
        let result = self.program.test_run(&frame.bytes, &mut output)?;
        Ok((result.return_value, output))
    }

    fn is_alive(&self, slot: usize) -> bool {
        self.switch.table.ports[slot].state & PORT_ALIVE != 0
    }

    /// Publishes a port's state through shared memory, as the agent does.
    fn set_port(&mut self, slot: usize, levels: Levels, is_alive: bool) {
        self.program.table.set_levels(slot, levels);
        self.program.table.set_alive(slot, is_alive);
        self.switch.table.ports[slot].state = crate::install::port_state(levels, is_alive);
    }

    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found == expected {
            return;
        }
        let params = &self.switch.table.params;
        let text = format!("{what}: found {found:?}, expected {expected:?}, with {params:?}");
        self.report.add_mismatch(&text);
    }
}

fn length(frame: &Frame) -> u64 {
    u64::try_from(frame.bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Regardless of the tables, the program passes, drops or redirects any bytes that arrive in a frame.
    #[test]
    fn a_damaged_frame_is_forwarded_left_to_the_kernel_or_dropped() {
        let mut test = match Selftest::new(1) {
            Err(error) if error.is_not_permitted() => {
                return eprintln!(
                    "skipped: a_damaged_frame_is_forwarded_left_to_the_kernel_or_dropped: {}",
                    error.chain()
                );
            }
            loaded => loaded.expect("the program loads"),
        };
        let frames: Vec<_> = (0..40).map(|_| test.random_frame().1.bytes).collect();
        let test = RefCell::new(test);
        lab_fuzz::fuzz("frame", &frames, |bytes| {
            let mut test = test.borrow_mut();
            if test.report.packets.is_multiple_of(PACKETS_PER_TABLE) {
                test.shuffle().expect("the tables are written");
            }
            test.report.packets += 1;
            let bytes = bytes.to_vec();
            // The kernel never passes the program a frame that is shorter than its Ethernet or IP header.
            let ran = test.run(&Frame { bytes });
            ran.is_ok_and(|(fate, _)| {
                assert!([OK, SHOT, REDIRECT].contains(&fate), "{fate}");
                true
            })
        });
    }
}
