//! Split by trained weights, after an interval with the measurements that a question gives.

use lab_redte::{AgentLayout, Observation, buckets, state::share};
use lab_units::{BitsPerSec, Bytes, Nanos};
use serde::Serialize;

use super::question::Question;
use crate::{
    model::{Candidate, Destination, Plan, PolicyRun, TrainedPlan},
    paper_units::PaperUnits,
};

/// Input of a switch's network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActorInput {
    pub quantity: InputQuantity,
    /// Name of the next hop to which the link leads, or of the datacenter to which the demand goes.
    pub to: String,
    /// Utilisation of the link, or the demand divided by the rate of the fastest inter-DC link.
    pub share: f64,
    /// Value that enters the network: `share` ÷ its divisor, which the training fixed.
    pub input: f32,
}

/// Quantity that a switch measures in every interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputQuantity {
    /// Utilisation of an outgoing link.
    Utilisation,
    /// Demand of the datacenter's hosts.
    Demand,
}

/// Split of the flows to one destination.
pub(super) struct ActorSplit {
    /// Inputs of the network, in its order.
    pub inputs: Vec<ActorInput>,
    /// Share and hash buckets of each candidate.
    pub candidates: Vec<(f32, u16)>,
}

/// Measurement that the question gives: bytes in an interval, and the rate to which they are relative.
struct GivenInput {
    quantity: InputQuantity,
    to: String,
    bytes: Bytes,
    rate: BitsPerSec,
}

/// Returns the split that the switch installs for the destination `row`; `None` if weights do not decide there, because
/// the destination has one candidate or the switch no agent.
pub(super) fn split(
    plan: &Plan,
    run: &PolicyRun,
    trained: &TrainedPlan,
    question: &Question<'_>,
    row: usize,
) -> Option<ActorSplit> {
    let switch = question.from.index();
    let capacities = plan.paper_te_capacities();
    let actors = trained.actors(&plan.te_topology(), &capacities).ok()?;
    let actor = actors.into_iter().find(|it| it.layout.switch == switch)?;
    let head = actor.layout.heads.iter().position(|it| it.row == row)?;
    let interval = PaperUnits::new(&plan.scale).time(trained.interval_ns);
    let largest_rate = capacities.iter().copied().flatten().max()?;

    let links = links(plan, question, &actor.layout, interval);
    let demands = demands(plan, question, largest_rate, interval);
    let link_bytes: Vec<_> = links.iter().map(|it| (it.bytes, it.rate)).collect();
    let demand_bytes: Vec<_> = demands.iter().map(|it| it.bytes).collect();
    let decision = actor.decide(&Observation {
        interval,
        largest_rate,
        links: &link_bytes,
        demands: &demand_bytes,
    });

    let input = |(measured, &input): (&GivenInput, &f32)| ActorInput {
        quantity: measured.quantity,
        to: measured.to.clone(),
        share: share(measured.bytes, measured.rate, interval),
        input,
    };
    let measured = links.iter().chain(&demands);
    let ratios = &decision.ratios[head];
    let candidates = &plan.switches[switch].destinations[row].candidates;
    let is_live = |candidate: &Candidate| question.is_alive(candidate.port);
    let live: Vec<bool> = candidates.iter().map(is_live).collect();
    let provisioned: Vec<u16> = (0..candidates.len())
        .map(|place| run.buckets_of(switch, row, place))
        .collect();
    let table = buckets(ratios, &live, &provisioned, trained.buckets);
    Some(ActorSplit {
        inputs: measured.zip(&decision.inputs).map(input).collect(),
        candidates: ratios.iter().copied().zip(table).collect(),
    })
}

/// Returns what the links of `layout` carried in `interval`.
fn links(
    plan: &Plan,
    question: &Question<'_>,
    layout: &AgentLayout,
    interval: Nanos,
) -> Vec<GivenInput> {
    let destinations = &plan.switches[question.from.index()].destinations;
    let all = || destinations.iter().flat_map(|row| &row.candidates);
    let used = layout.links.iter().filter_map(|link| {
        let candidate = all().find(|it| it.port.index() == *link)?;
        let rate = plan.links[candidate.port.link().index()].paper.rate_bps;
        let carried = rate.bytes_in(interval).get();
        let used = question.utilisation(candidate.port);
        Some(GivenInput {
            quantity: InputQuantity::Utilisation,
            to: plan.next_hop(candidate.port),
            bytes: Bytes::new(used.scale_nearest(carried)),
            rate,
        })
    });
    used.collect()
}

/// Returns the demands to all destinations in `interval`, relative to `largest_rate`.
fn demands(
    plan: &Plan,
    question: &Question<'_>,
    largest_rate: BitsPerSec,
    interval: Nanos,
) -> Vec<GivenInput> {
    let destinations = plan.switches[question.from.index()].destinations.iter();
    let demand = |row: &Destination| GivenInput {
        quantity: InputQuantity::Demand,
        to: plan.dcs[row.dc.index()].name.clone(),
        bytes: question
            .demand(row.dc)
            .map_or(Bytes::ZERO, |it| it.bytes_in(interval)),
        rate: largest_rate,
    };
    destinations.map(demand).collect()
}
