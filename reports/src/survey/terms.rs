//! Contribution of LCMP's two costs: C_path, by LCMP without C_cong against the baseline, and C_cong, by LCMP against LCMP
//! without it.

use lab_records::{LcmpCounts, Mechanism};
use serde::Serialize;

use super::{
    sample::TrainsError,
    settings::Setting,
    wins::{NetworkEffects, Wins},
};
use crate::sweep::{CellNumbers, Slice};

/// Contributions of LCMP's costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Terms {
    /// Label of LCMP with both costs.
    pub both: String,
    /// Label of LCMP without C_cong.
    pub without_congestion: String,
    /// Outcomes of LCMP without C_cong against the baseline.
    pub path: Vec<Wins>,
    /// Outcomes of LCMP with both costs against LCMP without C_cong.
    pub congestion: Vec<Wins>,
    /// Decisions of LCMP with both costs by setting: their number, and of those the ones that would take another next hop
    /// without C_path, and without C_cong.
    pub decisions: Vec<TermDecisions>,
}

/// Decisions of LCMP under one setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TermDecisions {
    /// Values of the axes other than the network.
    pub setting: String,
    pub decisions: u64,
    /// Decisions for another next hop without C_path.
    pub by_path: u64,
    /// Decisions for another next hop without C_cong.
    pub by_congestion: u64,
}

/// Returns the contributions of LCMP's costs, given the effects and errors against the baseline, and a function from
/// another baseline to the errors against it; `None` if the survey does not have LCMP with both costs and without C_cong.
pub(super) fn terms(
    settings: &[Setting<'_>],
    (against_baseline, own_errors): (&NetworkEffects<'_>, Option<&[TrainsError]>),
    errors: impl Fn(&str) -> Option<Vec<TrainsError>>,
) -> Option<Terms> {
    let label = |is_it: fn(&LcmpCounts) -> bool| {
        let points = settings.iter().flat_map(|setting| &setting.points);
        let mut cells = points.flat_map(|point| &point.numbers);
        cells.find_map(|cell| {
            let mut policies = cell.policies.iter();
            let found = policies.find(|it| counts(cell, &it.policy).is_some_and(is_it))?;
            Some(found.policy.clone())
        })
    };
    let both = label(|it| it.path.is_some() && it.congestion.is_some())?;
    let without = label(|it| it.path.is_some() && it.congestion.is_none())?;
    let against_without = NetworkEffects::new(settings, &without);
    Some(Terms {
        path: against_baseline.wins(&without, Slice::All, own_errors),
        congestion: against_without.wins(&both, Slice::All, errors(&without).as_deref()),
        decisions: settings.iter().map(|it| decisions(it, &both)).collect(),
        both,
        without_congestion: without,
    })
}

fn counts<'a>(cell: &'a CellNumbers, policy: &str) -> Option<&'a LcmpCounts> {
    match &cell.policy(policy)?.mechanism {
        Some(Mechanism::Lcmp(counts)) => Some(counts),
        _ => None,
    }
}

fn decisions(setting: &Setting<'_>, policy: &str) -> TermDecisions {
    let mut sums = TermDecisions {
        setting: setting.name.clone(),
        ..TermDecisions::default()
    };
    let cells = setting.points.iter().flat_map(|point| &point.numbers);
    for counts in cells.filter_map(|cell| counts(cell, policy)) {
        sums.decisions += counts.decisions;
        sums.by_path += counts.path.map_or(0, |it| it.next_hop);
        sums.by_congestion += counts.congestion.map_or(0, |it| it.next_hop);
    }
    sums
}
