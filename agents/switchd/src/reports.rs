//! Conversion of the kernel's rows to messages that use the plan's port ids.

use lab_abi::{
    Rule, Trigger,
    rows::{
        CANDIDATE_ALIVE, CANDIDATE_KEPT, DecisionRecord, DestinationRow, FlowEntry, FlowKey, NO_QP,
    },
    wire::{CandidateConfig, CandidateReport, DecisionReport, FlowReport},
};
use lab_units::PortId;

use crate::install::Slots;

/// Converts a decision record to a report with the plan's port ids.
pub(crate) fn decision(record: &DecisionRecord, slots: &Slots) -> DecisionReport {
    let port = |slot: u32| slots.port(slot).unwrap_or(PortId(u32::MAX));
    let candidates = record
        .candidates
        .iter()
        .take(usize::from(record.count))
        .map(|row| CandidateReport {
            port: port(u32::from(row.port)),
            c_path: row.path,
            c_cong: row.congestion,
            cost: row.cost,
            is_alive: row.flags & CANDIDATE_ALIVE != 0,
            is_kept: row.flags & CANDIDATE_KEPT != 0,
        });
    DecisionReport {
        time_ns: record.time_ns,
        src_ip: record.flow.source(),
        dst_ip: record.flow.destination(),
        sport: record.flow.source_port(),
        dport: record.flow.destination_port(),
        proto: record.flow.proto,
        dest_qp: (record.dest_qp != NO_QP).then_some(record.dest_qp),
        psn: (record.psn != NO_QP).then_some(record.psn),
        hash: record.hash,
        trigger: Trigger::from_byte(record.trigger).unwrap_or(Trigger::NewFlow),
        rule: Rule::from_byte(record.rule).unwrap_or(Rule::Hash),
        signal_age_ns: record.signal_age_ns,
        candidates: candidates.collect(),
        port: port(record.port),
    }
}

/// Converts the candidates of a destination's row to a configuration with the plan's port ids.
pub(crate) fn candidates(row: &DestinationRow, slots: &Slots) -> Vec<CandidateConfig> {
    let count = usize::try_from(row.count).unwrap_or(usize::MAX);
    row.candidates
        .iter()
        .take(count)
        .map(|row| CandidateConfig {
            port: slots.port(row.port).unwrap_or(PortId(u32::MAX)),
            c_path: row.path,
            buckets: row.buckets,
        })
        .collect()
}

/// Converts a row of the flow table to a report with the plan's port ids.
pub(crate) fn flow(key: FlowKey, entry: FlowEntry, slots: &Slots) -> FlowReport {
    let port = slots.port(u32::from(entry.port));
    FlowReport {
        src_ip: key.source(),
        dst_ip: key.destination(),
        sport: key.source_port(),
        dport: key.destination_port(),
        proto: key.proto,
        port: port.unwrap_or(PortId(u32::MAX)),
        packets: entry.packets,
        bytes: entry.bytes,
        decisions: entry.decisions,
        last_seen_ns: entry.last_seen_ns,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lab_abi::{rows::ScoredCandidate, wire::PolicyConfig};

    use super::*;
    use crate::example;

    #[test]
    fn candidates_are_read_back_as_they_were_written() {
        let config = example::config(PolicyConfig::Buckets);
        let slots = Slots::new(&config.ports);
        let (_, row) = crate::install::destination(&config, 0, &slots);
        assert_eq!(candidates(&row, &slots), config.destinations[0].candidates);
    }

    #[test]
    fn a_record_is_reported_in_the_plans_ports() {
        let [src, dst] = [1, 8].map(|dc| Ipv4Addr::new(10, dc, 0, 1));
        let mut record = DecisionRecord {
            time_ns: 5,
            signal_age_ns: 3,
            flow: FlowKey::new(src, dst, 49_152, 4791, 17),
            hash: 77,
            dest_qp: 0x11,
            psn: 0x22,
            port: 2,
            trigger: Trigger::Failover.to_byte(),
            rule: Rule::LeastCost.to_byte(),
            count: 2,
            ..DecisionRecord::default()
        };
        let scored = |port, flags| ScoredCandidate {
            cost: 270,
            port,
            path: 18,
            congestion: 216,
            flags,
        };
        record.candidates[0] = scored(2, CANDIDATE_ALIVE | CANDIDATE_KEPT);
        record.candidates[1] = scored(1, 0);
        let slots = Slots::new(&example::config(PolicyConfig::Buckets).ports);
        let report = decision(&record, &slots);
        assert_eq!(report.port, PortId(4));
        let cause = (report.trigger, report.rule);
        assert_eq!(cause, (Trigger::Failover, Rule::LeastCost));
        assert_eq!((report.time_ns, report.signal_age_ns), (5, 3));
        let ports = (report.sport, report.dport);
        assert_eq!(ports, (49_152, 4791));
        assert_eq!((report.dest_qp, report.psn), (Some(17), Some(34)));
        let candidates = report
            .candidates
            .iter()
            .map(|row| (row.port, row.cost, row.is_alive, row.is_kept));
        let expected = [(PortId(4), 270, true, true), (PortId(2), 270, false, false)];
        assert!(candidates.eq(expected));
    }
}
