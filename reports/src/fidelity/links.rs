//! Links, pauses and congestion control in both runs.

use std::collections::BTreeMap;

use lab_units::Nanos;
use serde::Serialize;

use super::flows::{Flows, Recorded};
use crate::{
    error::ReportError,
    facts::RunFacts,
    frames::{self, DirectionSeries, LinkUse, Pauses, Rates, TimeGrid},
};

/// One direction of a link in both runs; each value is over all repetitions of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LinkPair {
    /// Label of the policy.
    pub policy: String,
    /// Name of the link.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Values of this direction in each run.
    pub runs: [LinkSide; 2],
}

/// Values of one direction of a link in one run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LinkSide {
    /// Number of bytes carried, including headers and acknowledgements.
    pub bytes: u64,
    /// Mean of the egress queue's samples until the last flow of the later run ended, bytes; `None` without samples.
    pub mean_queue_bytes: Option<u64>,
    /// Largest sample of the egress queue, bytes; `None` without samples.
    pub peak_queue_bytes: Option<u64>,
    /// Number of packets that were ECN-marked; `None` if marks were not counted.
    pub marks: Option<u64>,
    /// Number of packets that were dropped.
    pub drops: u64,
}

/// CNPs under one policy in both runs, for the flows whose rates both runs sampled in the first repetition.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CnpPair {
    /// Label of the policy.
    pub policy: String,
    /// Number of flows whose rates both runs sampled in the first repetition.
    pub flows: u64,
    /// Number of CNPs that the senders of the sampled flows received in each run.
    pub cnps: [u64; 2],
}

/// PFC pauses under one policy in both runs, each over all repetitions.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PausePair {
    /// Label of the policy.
    pub policy: String,
    /// Total time for which PFC paused ports, in each run.
    pub paused_ns: [Nanos; 2],
}

/// Links, pauses, and rates under congestion control in both runs.
#[derive(Debug)]
pub struct LinkPairs {
    /// Directions of links that carried data in at least one run, by policy, link and direction.
    pub pairs: Vec<LinkPair>,
    /// CNPs by policy; empty unless both runs sampled rates.
    pub cnps: Vec<CnpPair>,
    /// Pauses by policy; empty if the plan has no PFC or a run did not record pauses.
    pub pauses: Vec<PausePair>,
    /// Queues of links and rates of flows over time.
    pub over_time: OverTime,
}

/// Queues and rates over time in the first repetition of each run.
#[derive(Debug)]
pub struct OverTime {
    /// Time intervals of the series, equal for both runs.
    pub grid: TimeGrid,
    /// Series of each direction of a link, for each run.
    pub links: [Vec<DirectionSeries>; 2],
    /// Rates of the sending QPs, for each run.
    pub rates: [Rates; 2],
}

impl LinkPairs {
    /// Reads the links and rates of both runs under the policies of `flows`.
    pub fn read(runs: [&RunFacts; 2], flows: &Flows) -> Result<Self, ReportError> {
        let ends = flows
            .runs
            .iter()
            .flatten()
            .filter(|flow| flow.key.repetition == 0 && flow.fct.is_some());
        let faults = runs.iter().flat_map(|run| &run.info().faults);
        let last_fault = faults.map(|fault| fault.time_ns).max();
        let grid = TimeGrid::new(ends.map(Recorded::end).collect(), last_fault);
        let mut sides: BTreeMap<[String; 4], [LinkSide; 2]> = BTreeMap::new();
        let mut directions = [Vec::new(), Vec::new()];
        let mut rates = [Rates::new(), Rates::new()];
        let mut pauses = [BTreeMap::new(), BTreeMap::new()];
        for (index, run) in runs.into_iter().enumerate() {
            // Maxima that only simulated ports record are left out, so that samples are compared with samples.
            let links = frames::links(run, &grid, &[])?;
            for one in links.uses {
                let side = side(&one);
                let key = [one.policy, one.link, one.from_dc, one.to_dc];
                sides.entry(key).or_default()[index] = side;
            }
            directions[index] = links.over_time;
            rates[index] = frames::rates(run, &grid)?;
            pauses[index] = frames::pauses(run, &grid)?;
        }
        let is_compared = |policy: &String| flows.policies.contains(policy);
        let pairs = sides.into_iter().filter(|([policy, ..], sides)| {
            is_compared(policy) && sides.iter().any(|side| side.bytes > 0)
        });
        let pair =
            |([policy, link, from_dc, to_dc], runs): ([String; 4], [LinkSide; 2])| LinkPair {
                policy,
                link,
                from_dc,
                to_dc,
                runs,
            };
        Ok(Self {
            pairs: pairs.map(pair).collect(),
            cnps: cnps(&flows.policies, &rates),
            pauses: if runs.iter().any(|run| run.info().has_only_totals()) {
                Vec::new()
            } else {
                paused(&flows.policies, &pauses)
            },
            over_time: OverTime {
                grid,
                links: directions,
                rates,
            },
        })
    }
}

fn side(one: &LinkUse) -> LinkSide {
    LinkSide {
        bytes: one.bytes,
        mean_queue_bytes: one.mean_queue_bytes,
        peak_queue_bytes: one.peak_queue_bytes,
        marks: one.marks,
        drops: one.drops,
    }
}

fn paused(policies: &[String], runs: &[BTreeMap<String, Pauses>; 2]) -> Vec<PausePair> {
    let of_policy = |policy: &String| {
        let pauses = runs.each_ref().map(|run| run.get(policy));
        let pair = PausePair {
            policy: policy.clone(),
            paused_ns: pauses.map(|it| it.map_or(Nanos::ZERO, Pauses::total)),
        };
        pauses.iter().any(Option::is_some).then_some(pair)
    };
    policies.iter().filter_map(of_policy).collect()
}

fn cnps(policies: &[String], [first, second]: &[Rates; 2]) -> Vec<CnpPair> {
    let of_policy = |policy: &String| {
        let first = first.get(policy)?;
        let second = second.get(policy)?;
        let both = first.iter().filter_map(|(flow, series)| {
            let other = second.get(flow)?;
            Some([series.cnps, other.cnps])
        });
        let mut pair = CnpPair {
            policy: policy.clone(),
            flows: 0,
            cnps: [0; 2],
        };
        for cnps in both {
            pair.flows += 1;
            pair.cnps = [pair.cnps[0] + cnps[0], pair.cnps[1] + cnps[1]];
        }
        (pair.flows > 0).then_some(pair)
    };
    policies.iter().filter_map(of_policy).collect()
}

#[cfg(test)]
mod tests {
    use lab_records::{FlowRow, LinkRow, QueueRow, RateRow};
    use lab_sample as sample;
    use lab_units::{Bytes, FlowId};

    use super::*;
    use crate::testing;

    fn rate(policy: &str, flow: u32, cnps: u64) -> RateRow {
        let rate = sample::link("dc1", "dc2", 1, 1).rate_bps;
        RateRow {
            policy: policy.into(),
            repetition: 0,
            time_ns: Nanos::new(cnps),
            flow_id: FlowId(flow),
            rate_bps: rate,
            emu_rate_bps: rate,
            target_bps: rate,
            alpha: 0.5,
            cnps,
        }
    }

    /// Returns a run under policy `a` with one flow from dc1 to dc2, whose queue has the samples `queued`, bytes.
    fn run(queued: &[u64], marks: u64, rates: &[RateRow]) -> testing::TestRun {
        let link = sample::link("dc1", "dc2", 1, 1);
        let counter = LinkRow {
            tx_bytes: Bytes::new(1_000 * marks),
            marks: Some(marks),
            ..sample::counter(&link, "a")
        };
        let idle = sample::counter(&sample::link("dc2", "dc3", 1, 1), "a");
        let queues: Vec<QueueRow> = queued
            .iter()
            .map(|&bytes| QueueRow {
                backlog_bytes: Bytes::new(bytes),
                ..sample::queue(&link, "a")
            })
            .collect();
        testing::run(&testing::info(), |writer| {
            let flow = FlowRow {
                dst_host: "dc2/h1".into(),
                dst_dc: "dc2".into(),
                ..testing::flow("a", 0, Some(2.0))
            };
            writer.append_flows([&flow])?;
            writer.append(&[counter, idle])?;
            writer.append(&queues)?;
            writer.append(rates)
        })
    }

    #[test]
    fn links_are_paired_and_cnps_are_those_of_flows_that_both_sampled() {
        // The total number of CNPs never falls, so the order of rows does not matter.
        let first = run(
            &[30, 10, 20],
            4,
            &[rate("a", 0, 7), rate("a", 0, 3), rate("a", 1, 5)],
        );
        let second = run(&[50], 2, &[rate("a", 0, 6), rate("b", 1, 9)]);
        let runs = [&first.dir, &second.dir];
        let flows = Flows::read(runs, vec!["a".into()]).unwrap();
        let links = LinkPairs::read(runs, &flows).unwrap();
        let side = |bytes, mean, peak, marks| LinkSide {
            bytes,
            mean_queue_bytes: Some(mean),
            peak_queue_bytes: Some(peak),
            marks: Some(marks),
            drops: 0,
        };
        let pair = LinkPair {
            policy: "a".into(),
            link: "dc1-dc2".into(),
            from_dc: "dc1".into(),
            to_dc: "dc2".into(),
            runs: [side(4_000, 20, 30, 4), side(2_000, 50, 50, 2)],
        };
        assert_eq!(links.pairs, [pair]);
        let cnps = CnpPair {
            policy: "a".into(),
            flows: 1,
            cnps: [7, 6],
        };
        assert_eq!(links.cnps, [cnps]);
    }
}
