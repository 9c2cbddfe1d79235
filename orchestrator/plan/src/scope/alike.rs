//! Policies that cannot differ in this scenario, because they make the same decision at every choice.

use std::{collections::BTreeSet, fmt};

use lab_policy::UcmpConfig;
use lab_units::{DcId, PortId, Semantics};
use serde::Serialize;

use super::{choice, routing::Routing};
use crate::{
    flow_ageing,
    model::{Candidate, FaultPlan, PolicyPlan, PolicyRun, Reconvergence, Scale},
};

/// Policies that send every flow of the scenario along the same path.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct AlikePolicies {
    /// Labels of the policies, in the order of the plan.
    pub policies: Vec<String>,
    /// Lines of the policies in the scenario, from 1, each once.
    pub lines: Vec<usize>,
    pub reason: AlikeReason,
}

/// Reason why policies cannot differ.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum AlikeReason {
    /// No data and no ACK reaches a switch at which a policy chooses.
    NoChoice,
    /// The policies have the same parameters.
    SameParameters,
    /// The policies assign the same hash buckets at every choice, also after every fault.
    SameBuckets {
        /// Number of choices: a switch with several candidates for a destination that traffic reaches.
        choices: usize,
        /// True if the candidates of each choice have the same capacity, that of the narrowest link on the path.
        equal_capacities: bool,
        /// True if the candidates of each choice have the same path delay.
        equal_delays: bool,
    },
}

impl fmt::Display for AlikeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoChoice => f.write_str("no flow reaches a switch with several next hops"),
            Self::SameParameters => f.write_str("they have the same parameters"),
            Self::SameBuckets {
                choices,
                equal_capacities,
                equal_delays,
            } => {
                let equal = match (equal_capacities, equal_delays) {
                    (true, true) => ", whose paths have equal capacities and equal delays",
                    (true, false) => ", whose paths have equal capacities",
                    (false, true) => ", whose paths have equal delays",
                    (false, false) => "",
                };
                let choices = match choices {
                    1 => "at the only choice of the flows".to_owned(),
                    _ => format!("at all {choices} choices of the flows"),
                };
                write!(
                    f,
                    "{choices} they hash over the same buckets of next hops{equal}"
                )
            }
        }
    }
}

/// Plan from which the decisions of policies follow.
#[derive(Clone, Copy)]
pub(crate) struct Decisions<'a> {
    pub routing: Routing<'a>,
    pub policies: &'a [PolicyRun],
    pub faults: &'a [FaultPlan],
    pub reconvergences: &'a [Reconvergence],
    pub scale: &'a Scale,
    pub semantics: Semantics,
}

/// Groups the policies that cannot differ for traffic between `pairs`, which are those of data and of ACKs. `line`
/// returns the line of the policy with a label.
pub(crate) fn groups(
    decisions: Decisions<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    line: impl Fn(&str) -> Option<usize>,
) -> Vec<AlikePolicies> {
    let choices = choices(decisions.routing, pairs);
    let behaviours: Vec<Behaviour<'_>> = decisions
        .policies
        .iter()
        .map(|run| behaviour(decisions, run, &choices))
        .collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, behaviour) in behaviours.iter().enumerate() {
        let mut known = groups.iter_mut();
        match known.find(|group| behaviours[group[0]] == *behaviour) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let several = groups.into_iter().filter(|group| group.len() > 1);
    let named = several.map(|group| {
        let runs = || group.iter().map(|&at| &decisions.policies[at]);
        let mut lines: Vec<usize> = runs().filter_map(|run| line(&run.label)).collect();
        lines.dedup();
        AlikePolicies {
            policies: runs().map(|run| run.label.clone()).collect(),
            lines,
            reason: reason(&behaviours[group[0]], decisions.routing, &choices),
        }
    });
    named.collect()
}

/// Basis of a policy's decisions at the choices; two policies with equal bases decide alike.
#[derive(PartialEq)]
enum Behaviour<'a> {
    NoChoice,
    /// Buckets of each candidate at each choice, at first and after every fault that changes them.
    Buckets(Vec<ChoiceBuckets>, Vec<(usize, Choice, ChoiceBuckets)>),
    /// Parameters of a policy whose decisions depend on more than buckets.
    Parameters(&'a PolicyPlan),
}

/// Ports and buckets of a choice's candidates, by port: their order has no effect on a hash over buckets.
type ChoiceBuckets = Vec<(PortId, u16)>;

/// Positions of a switch, and of a destination in its table.
type Choice = (usize, usize);

fn behaviour<'a>(
    decisions: Decisions<'_>,
    run: &'a PolicyRun,
    choices: &[Choice],
) -> Behaviour<'a> {
    // New candidates are new choices, which are not compared here.
    if !decisions.reconvergences.is_empty() {
        return Behaviour::Parameters(&run.policy);
    }
    if choices.is_empty() {
        return Behaviour::NoChoice;
    }
    if !has_fixed_buckets(decisions, run, choices) {
        return Behaviour::Parameters(&run.policy);
    }
    let sorted = |mut row: ChoiceBuckets| {
        row.sort_unstable();
        row
    };
    let at_first = choices.iter().map(|&(switch, destination)| {
        let row = &decisions.routing.switches[switch].destinations[destination];
        let candidates = row.candidates.iter().enumerate();
        let buckets = candidates
            .map(|(at, candidate)| (candidate.port, run.buckets_of(switch, destination, at)));
        sorted(buckets.collect())
    });
    let updates = decisions
        .faults
        .iter()
        .enumerate()
        .flat_map(|(fault, plan)| {
            plan.path_cost_updates
                .iter()
                .filter(|update| decisions.policies[update.policy].label == run.label)
                .filter(|update| choices.contains(&(update.switch, update.destination)))
                .map(move |update| {
                    let rows = update.candidates.iter();
                    let buckets = rows.map(|row| (row.candidate.port, row.buckets));
                    let choice = (update.switch, update.destination);
                    (fault, choice, sorted(buckets.collect()))
                })
        });
    Behaviour::Buckets(at_first.collect(), updates.collect())
}

/// Returns true if the policy only hashes over buckets that are fixed by the plan.
fn has_fixed_buckets(decisions: Decisions<'_>, run: &PolicyRun, choices: &[Choice]) -> bool {
    let is_fixed = match &run.policy {
        PolicyPlan::Buckets(_) | PolicyPlan::Ucmp(UcmpConfig { ageing: false, .. }) => true,
        // Flow ageing re-routes a flow once other candidates are the cheapest; if these are the same at every size, it
        // never does.
        PolicyPlan::Ucmp(UcmpConfig { ageing: true, .. }) => {
            let is_updated = decisions
                .faults
                .iter()
                .any(|fault| !fault.path_cost_updates.is_empty());
            let ages = |&(switch, destination): &Choice| {
                let row = &decisions.routing.switches[switch].destinations[destination];
                let size = decisions.scale.size;
                flow_ageing::size_thresholds(&run.policy, &row.candidates, row.hops, size).len() > 1
            };
            !is_updated && !choices.iter().any(ages)
        }
        PolicyPlan::Te(_)
        | PolicyPlan::Trained(_)
        | PolicyPlan::Lcmp(_)
        | PolicyPlan::Own(_)
        | PolicyPlan::Ebpf(_) => false,
    };
    // The artifact's code spreads some policies by packet and others by flow.
    is_fixed && decisions.semantics == Semantics::Paper
}

/// Returns the choices that traffic between `pairs` can reach.
fn choices(routing: Routing<'_>, pairs: &BTreeSet<(DcId, DcId)>) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (to, sources) in choice::by_destination(pairs.iter().copied()) {
        let mut is_reached = vec![false; routing.switches.len()];
        for from in sources {
            is_reached[from.index()] = true;
        }
        for (dc, row) in routing.farthest_first(to) {
            if !is_reached[dc.index()] {
                continue;
            }
            for candidate in row.candidates.iter().filter(|_| row.tunnels.is_empty()) {
                is_reached[candidate.next_dc.index()] = true;
            }
            let index = routing.switches[dc.index()].row_index(to);
            if let Some(destination) = index.filter(|_| routing.is_choice(dc, row)) {
                choices.push((dc.index(), destination));
            }
        }
    }
    choices
}

fn reason(behaviour: &Behaviour<'_>, routing: Routing<'_>, choices: &[Choice]) -> AlikeReason {
    let is_equal = |attribute: fn(&Candidate) -> u64| {
        choices.iter().all(|&(switch, destination)| {
            let row = &routing.switches[switch].destinations[destination].candidates;
            row.windows(2)
                .all(|pair| attribute(&pair[0]) == attribute(&pair[1]))
        })
    };
    match behaviour {
        Behaviour::NoChoice => AlikeReason::NoChoice,
        Behaviour::Parameters(_) => AlikeReason::SameParameters,
        Behaviour::Buckets(..) => AlikeReason::SameBuckets {
            choices: choices.len(),
            equal_capacities: is_equal(|candidate| candidate.paper_bottleneck_bps.get()),
            equal_delays: is_equal(|candidate| candidate.paper_delay_ns.get()),
        },
    }
}
