//! Reconvergence: candidates that the control plane recomputes some time after links are cut or restored.
//!
//! The paper's candidates never change, so that a cut can leave a switch without a live candidate although other links
//! still lead to the destination. With `routing.reconverge`, an epoch begins `after` each cut or repair: all switches
//! change their tables in one instant, to the candidates in the network without the links that were down at the cut or
//! repair. A change that comes while another one is under way has its own epoch, a time `after` it.
//!
//! The candidates of an epoch are those at the delays of the scenario's topology, as at the start of a run: rates and
//! delays that faults change affect paths' attributes, but not the set. A switch from which no link leads to a
//! destination any more keeps its candidates for it. These lead only to switches that lost their last path no earlier,
//! so that packets cannot loop there either.

use std::collections::BTreeSet;

use lab_scenario::Scenario;
use lab_units::{LinkId, Nanos, Semantics};

use crate::{
    error::PlanError,
    model::{Dc, FaultPlan, PolicyPlan, PolicyRun, Scale},
    network::Network,
    paths::Paths,
};

/// Instant at which all switches have new candidates.
pub(crate) struct Epoch {
    /// Time of the instant relative to the repetition's start, in emulated time (after scaling).
    pub at_ns: Nanos,
    /// Time of the instant relative to the repetition's start, in paper time (before scaling).
    pub paper_at_ns: Nanos,
    /// Links that are down as far as the control plane knows.
    down: BTreeSet<LinkId>,
}

/// Returns the epochs that begin `after` (paper time) the cuts and repairs among `changes`, which are in order of time;
/// no epochs if `after` is `None`.
///
/// # Errors
/// If a time does not fit in 64 bits after scaling.
pub(crate) fn epochs(
    after: Option<Nanos>,
    changes: &[&FaultPlan],
    scale: &Scale,
) -> Result<Vec<Epoch>, PlanError> {
    let Some(after) = after else {
        return Ok(Vec::new());
    };
    let mut down = BTreeSet::new();
    let mut epochs = Vec::new();
    for together in changes.chunk_by(|a, b| a.paper_at_ns == b.paper_at_ns) {
        let before = down.clone();
        for fault in together {
            fault.cut_or_repair(&mut down);
        }
        if down == before {
            continue;
        }
        let paper_at_ns = together[0].paper_at_ns.saturating_add(after);
        epochs.push(Epoch {
            at_ns: scale.instant("routing.reconverge.after", paper_at_ns)?,
            paper_at_ns,
            down: down.clone(),
        });
    }
    Ok(epochs)
}

/// Returns each epoch with its next hops. `network` has the scenario's delays and rates, and `start` the next hops at the
/// start of a run.
pub(crate) fn paths<'a>(
    network: &'a Network,
    start: &'a Paths,
    epochs: &'a [Epoch],
) -> impl Iterator<Item = (&'a Epoch, Paths)> {
    epochs.iter().scan(start.clone(), move |before, epoch| {
        let paths = if epoch.down.is_empty() {
            start.clone()
        } else {
            before.without(network, &epoch.down)
        };
        before.clone_from(&paths);
        Some((epoch, paths))
    })
}

/// Checks that everything that chooses among candidates can follow new ones.
///
/// # Errors
/// If the semantics are the artifact's, a datacenter's switch has no agent, or a policy has trained weights.
pub(crate) fn check(
    scenario: &Scenario,
    dcs: &[Dc],
    policies: &[PolicyRun],
) -> Result<(), PlanError> {
    if scenario.reconverge_after.is_none() {
        return Ok(());
    }
    let refused = |why| Err(PlanError::NoReconvergence { why });
    if scenario.transport.semantics == Semantics::Artifact {
        let why =
            "the artifact's tables never change (hint: remove `transport.semantics: artifact`)";
        return refused(why.to_owned());
    }
    if let Some(dc) = dcs.iter().find(|dc| dc.legacy) {
        return refused(format!(
            "the switch of `{}` has no agent, and its kernel routes do not change (hint: remove `agent: legacy`)",
            dc.name
        ));
    }
    let is_trained = |run: &&PolicyRun| matches!(run.policy, PolicyPlan::Trained(_));
    if let Some(run) = policies.iter().find(is_trained) {
        return refused(format!(
            "policy `{}` has weights for the candidates at the start, which cannot follow other candidates (hint: leave \
             out the policy)",
            run.label
        ));
    }
    Ok(())
}
