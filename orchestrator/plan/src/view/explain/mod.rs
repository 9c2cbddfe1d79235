//! Explanation of one decision of a DCI switch: all candidates with their intermediate scores.

mod actor;
mod levels;
mod question;
mod table;

use lab_policy::{
    Candidate as Seen, Decision, LcmpConfig, ecmp, flow_hash,
    lcmp::{self, delay_score, link_cap_score},
    own::{self, NextHop},
};
use lab_units::{BitsPerSec, Bytes, CandidateSet, DcId, Nanos};
use serde::Serialize;

use crate::{
    model::{Candidate, Plan, PolicyPlan},
    paper_units::PaperUnits,
    policy,
    table::policies,
};

pub use actor::{ActorInput, InputQuantity};
pub use levels::QueueState;
pub use question::Question;
pub use table::render as render_explanation;

/// Decision with its inputs and intermediate results. Quantities are at the paper's scale (not scaled for emulation).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the deciding switch's datacenter.
    pub from: String,
    /// Name of the flow's destination datacenter.
    pub to: String,
    /// Rule by which the switch's neighbours are candidates; left out if it is the default.
    #[serde(skip_serializing_if = "CandidateSet::is_default")]
    pub candidate_set: CandidateSet,
    /// Time from a cut or repair to other candidates than these, in paper time; `None` if candidates never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_reconverge_after_ns: Option<Nanos>,
    /// Label of the policy.
    pub policy: String,
    /// Description of the policy and its parameters, as in the plan's table.
    pub parameters: String,
    /// Hash of the flow's five-tuple at this switch.
    pub hash: u32,
    /// Name, as in records, of the rule that selected the candidate; `None` if no candidate is up.
    pub rule: Option<&'static str>,
    /// True if the policy scores candidates; false if it hashes over buckets.
    pub is_scored: bool,
    /// Inputs from which trained weights compute the buckets; `None` if no weights decide here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<ActorInput>>,
    /// Candidates in the table's order: by one-way delay, then port.
    pub candidates: Vec<Explained>,
}

/// Candidate with its scores, and its role in the decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Name of the next hop: the datacenter and, after the first of parallel links, the link's place, such as `dc2_2`.
    pub via: String,
    /// Delay that enters the path cost: of the whole path, or of its first link.
    pub delay_ns: Nanos,
    /// Capacity that enters the path cost: the minimum on the path, or the first link's.
    pub capacity_bps: BitsPerSec,
    /// Delay score (Alg. 1).
    pub delay_score: u8,
    /// Capacity score (Alg. 2).
    pub capacity_score: u8,
    /// Path cost C_path (Eq. 2).
    pub c_path: u8,
    /// Bytes in the candidate's egress queue.
    pub queue_bytes: Bytes,
    /// Queue level Q, from the queue length.
    pub q: u8,
    /// Trend level T, from the queue's growth.
    pub t: u8,
    /// Duration level D, from the time for which the queue has been full.
    pub d: u8,
    /// Congestion cost C_cong (Eq. 5).
    pub c_cong: u8,
    /// Total cost C (Eq. 1).
    pub cost: u32,
    /// Share of the flows by trained weights, before rounding to buckets; `None` if no weights decide here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f32>,
    /// Number of the candidate's hash buckets.
    pub buckets: u16,
    /// True if the candidate's link is up.
    pub is_alive: bool,
    /// True if the hash chooses among candidates that include this one.
    pub is_kept: bool,
    /// True if the flow takes this candidate.
    pub is_chosen: bool,
}

/// Returns the decision for a flow's first packet. Returns `None` if the switch has no row for the destination, because
/// that is its own datacenter or has no hosts.
#[must_use]
pub fn explain(plan: &Plan, question: &Question<'_>) -> Option<Explanation> {
    let switch = &plan.switches[question.from.index()];
    let row = switch.row_index(question.to)?;
    let run = &plan.policies[question.policy];
    let candidates = switch.destinations[row].candidates.iter().enumerate();
    let mut explained: Vec<Explained> = candidates
        .map(|(place, candidate)| Explained {
            buckets: run.buckets_of(question.from.index(), row, place),
            ..before_decision(plan, &run.policy, question, candidate)
        })
        .collect();
    let inputs = apply_weights(plan, question, row, &mut explained);
    let hash = flow_hash(question.flow, switch.hash_seed);
    let decision = decide(&run.policy, &explained, hash, |place| {
        link_rate(plan, &switch.destinations[row].candidates[place])
    });
    if let Some(decision) = &decision {
        for (candidate, scored) in explained.iter_mut().zip(decision.candidates()) {
            candidate.cost = scored.cost;
            candidate.is_kept = scored.is_kept;
        }
        explained[decision.chosen].is_chosen = true;
    }
    let name = |dc: DcId| plan.dcs[dc.index()].name.clone();
    Some(Explanation {
        from: name(question.from),
        to: name(question.to),
        candidate_set: plan.candidate_set,
        paper_reconverge_after_ns: plan.paper_reconverge_after_ns,
        policy: run.label.clone(),
        parameters: policies::describe(&run.policy, PaperUnits::new(&plan.scale)),
        hash,
        rule: decision.map(|decision| decision.rule.word()),
        is_scored: run.policy.lcmp().is_some(),
        inputs,
        candidates: explained,
    })
}

/// Replaces the provisioned buckets by those of the policy's trained weights, and returns the weights' inputs; `None`
/// if no weights decide here.
fn apply_weights(
    plan: &Plan,
    question: &Question<'_>,
    row: usize,
    explained: &mut [Explained],
) -> Option<Vec<ActorInput>> {
    let run = &plan.policies[question.policy];
    let PolicyPlan::Trained(trained) = &run.policy else {
        return None;
    };
    let split = actor::split(plan, run, trained, question, row)?;
    for (candidate, (ratio, buckets)) in explained.iter_mut().zip(split.candidates) {
        candidate.ratio = Some(ratio);
        candidate.buckets = buckets;
    }
    Some(split.inputs)
}

fn before_decision(
    plan: &Plan,
    policy: &PolicyPlan,
    question: &Question<'_>,
    candidate: &Candidate,
) -> Explained {
    let queue = question.queue(candidate.port);
    let (delay, capacity) = match policy.lcmp() {
        Some(config) => policy::scored(candidate, config.preset),
        None => (candidate.paper_delay_ns, candidate.paper_bottleneck_bps),
    };
    let levels = policy
        .lcmp()
        .map(|config| levels::of(plan, config, candidate, queue))
        .unwrap_or_default();
    let score = |of: fn(&LcmpConfig, Nanos, BitsPerSec) -> u8| {
        policy
            .lcmp()
            .map_or(0, |config| of(config, delay, capacity))
    };
    Explained {
        via: plan.next_hop(candidate.port),
        delay_ns: delay,
        capacity_bps: capacity,
        delay_score: score(|config, delay, _| delay_score(delay, config)),
        capacity_score: score(|config, _, capacity| link_cap_score(capacity, config)),
        c_path: policy::path_score_of(policy, candidate),
        queue_bytes: queue.bytes,
        q: levels.queue,
        t: levels.trend,
        d: levels.duration,
        c_cong: levels.congestion,
        cost: 0,
        ratio: None,
        buckets: 1,
        is_alive: question.is_alive(candidate.port),
        is_kept: false,
        is_chosen: false,
    }
}

fn decide(
    policy: &PolicyPlan,
    explained: &[Explained],
    hash: u32,
    link_rate: impl Fn(usize) -> BitsPerSec,
) -> Option<Decision> {
    let seen = |candidate: &Explained| Seen {
        path: candidate.c_path,
        congestion: candidate.c_cong,
        is_alive: candidate.is_alive,
        buckets: candidate.buckets,
    };
    let candidates: Vec<Seen> = explained.iter().map(seen).collect();
    match policy {
        PolicyPlan::Lcmp(config) => lcmp::decide(&candidates, hash, config),
        PolicyPlan::Own(name) => {
            let next_hop = |(place, candidate): (usize, &Explained)| NextHop {
                delay: candidate.delay_ns,
                capacity: candidate.capacity_bps,
                link_rate: link_rate(place),
                queue: candidate.queue_bytes,
            };
            let next_hops: Vec<NextHop> = explained.iter().enumerate().map(next_hop).collect();
            own::decide(own::find(name)?, &candidates, &next_hops, hash)
        }
        // Decisions of a user-defined program are known only to the switches that run it.
        PolicyPlan::Ebpf(_) => None,
        PolicyPlan::Buckets(_)
        | PolicyPlan::Ucmp(_)
        | PolicyPlan::Te(_)
        | PolicyPlan::Trained(_) => ecmp::decide(&candidates, hash),
    }
}

fn link_rate(plan: &Plan, candidate: &Candidate) -> BitsPerSec {
    plan.links[candidate.port.link().index()].paper.rate_bps
}
