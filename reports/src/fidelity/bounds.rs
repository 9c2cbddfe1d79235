//! Bounds on a comparison, which make it a gate.

use std::str::FromStr;

use super::{Fidelity, FidelityComparison, agreement::Agreement, error::FidelityError};
use crate::{check::Check, text};

/// Bounds on a comparison. A bound without a policy applies to every policy, and one with a policy overrides it. There
/// is no bound on the flows of all policies together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Maximum p50 of |ΔFCT| / FCT.
    pub max_p50: Vec<PolicyBound>,
    /// Maximum p95 of |ΔFCT| / FCT.
    pub max_p95: Vec<PolicyBound>,
    /// Maximum p99 of |ΔFCT| / FCT.
    pub max_p99: Vec<PolicyBound>,
    /// Maximum |ΔFCT| / FCT of any flow.
    pub max_difference: Vec<PolicyBound>,
    /// Minimum share of flows that took the same paths.
    pub min_paths: Vec<PolicyBound>,
    /// Minimum Pearson coefficient of slowdowns.
    pub min_pearson: Vec<PolicyBound>,
    /// Minimum share of the plan's flows that finished in both runs. If any bound is given, this minimum defaults to 1.
    pub min_compared: Vec<PolicyBound>,
}

/// Bound on a value, for every policy or for one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyBound {
    policy: Option<String>,
    value: f64,
    /// True if the user gave the value in percent; messages then show percent.
    is_percent: bool,
}

/// Failure to parse a bound.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a bound (hint: write it like `98%`, `0.99` or `ecmp=100%`)")]
pub struct ParseBoundError {
    text: String,
}

/// Side from which a bound limits a value.
#[derive(Clone, Copy, Debug)]
enum BoundSide {
    Max,
    Min,
}

/// Value that a command-line option bounds, with the names of option and value, and the bounds given.
struct Bounded<'a> {
    option: &'static str,
    name: &'static str,
    side: BoundSide,
    bounds: &'a [PolicyBound],
    value: fn(&Agreement) -> Option<f64>,
}

impl FromStr for PolicyBound {
    type Err = ParseBoundError;

    fn from_str(text: &str) -> Result<Self, ParseBoundError> {
        let error = || ParseBoundError {
            text: text.to_owned(),
        };
        let (policy, value) = match text.split_once('=') {
            Some((policy, value)) => (Some(policy.trim()), value),
            None => (None, text),
        };
        let number = value.trim().strip_suffix('%');
        let is_percent = number.is_some();
        let number: f64 = number
            .unwrap_or(value)
            .trim()
            .parse()
            .map_err(|_| error())?;
        let is_plausible = if is_percent {
            number.is_finite() && number >= 0.0
        } else {
            number.abs() <= 1.0
        };
        if !is_plausible || policy == Some("") {
            return Err(error());
        }
        Ok(Self {
            policy: policy.map(str::to_owned),
            value: if is_percent { number / 100.0 } else { number },
            is_percent,
        })
    }
}

impl FidelityComparison {
    /// Adds checks of each policy's agreement against `bounds`.
    ///
    /// # Errors
    /// If a bound names a policy that is not compared.
    pub fn bounded(mut self, bounds: &Bounds) -> Result<Self, FidelityError> {
        let checks = bounds.checks(&self.fidelity)?;
        self.checks.splice(..0, checks);
        Ok(self)
    }
}

impl Bounds {
    /// Returns true if there are no bounds.
    fn is_empty(&self) -> bool {
        self.bounded()
            .iter()
            .all(|bounded| bounded.bounds.is_empty())
    }

    /// Checks the agreement of each policy in `fidelity` against its bounds.
    ///
    /// # Errors
    /// If a bound names a policy that is not compared.
    pub fn checks(&self, fidelity: &Fidelity) -> Result<Vec<Check>, FidelityError> {
        self.check_policies(fidelity)?;
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let of_policy = |agreement| {
            let bounded = self.bounded().into_iter();
            bounded.filter_map(move |it| it.check(agreement))
        };
        let absent = fidelity.in_one_run.iter().map(|(policy, run)| {
            let reason = format!("{policy}: the policy is only in the {run}");
            Check::of("min-compared", false, Some(0.0), 1.0, reason)
        });
        let compared = fidelity.policies.iter().flat_map(of_policy);
        Ok(compared.chain(absent).collect())
    }

    fn bounded(&self) -> [Bounded<'_>; 7] {
        let new = |option, name, side, bounds, value| Bounded {
            option,
            name,
            side,
            bounds,
            value,
        };
        use BoundSide::{Max, Min};
        [
            new(
                "min-compared",
                "share of flows that finished in both runs",
                Min,
                &self.min_compared,
                Agreement::compared_share,
            ),
            new(
                "min-paths",
                "share of flows on the same paths in both runs",
                Min,
                &self.min_paths,
                Agreement::path_share,
            ),
            new("max-p50", "|ΔFCT| / FCT p50", Max, &self.max_p50, |it| {
                Some(it.fct_difference?.p50)
            }),
            new("max-p95", "|ΔFCT| / FCT p95", Max, &self.max_p95, |it| {
                Some(it.fct_difference?.p95)
            }),
            new("max-p99", "|ΔFCT| / FCT p99", Max, &self.max_p99, |it| {
                Some(it.fct_difference?.p99)
            }),
            new(
                "max-difference",
                "largest |ΔFCT| / FCT",
                Max,
                &self.max_difference,
                |it| Some(it.fct_difference?.max),
            ),
            new(
                "min-pearson",
                "Pearson coefficient of slowdowns",
                Min,
                &self.min_pearson,
                |it| it.pearson,
            ),
        ]
    }

    fn check_policies(&self, fidelity: &Fidelity) -> Result<(), FidelityError> {
        let labels = fidelity.labels();
        for bound in self.bounded().iter().flat_map(|bounded| bounded.bounds) {
            if let Some(policy) = &bound.policy
                && !labels.contains(policy)
            {
                return Err(FidelityError::UnknownPolicy {
                    policy: policy.clone(),
                    known: labels.join(", "),
                });
            }
        }
        Ok(())
    }
}

impl Bounded<'_> {
    /// Checks the agreement of one policy; `None` if no bound applies to it.
    fn check(&self, agreement: &Agreement) -> Option<Check> {
        let policy = agreement.policy.as_ref()?;
        let bound = self.bound_of(policy)?;
        let found = (self.value)(agreement);
        let (holds, limit) = match self.side {
            BoundSide::Max => (found.is_some_and(|it| it <= bound.value), "at most"),
            BoundSide::Min => (found.is_some_and(|it| it >= bound.value), "at least"),
        };
        let show = |value: f64| {
            if bound.is_percent {
                format!("{} %", text::significant(value * 100.0, 4))
            } else {
                text::significant(value, 6)
            }
        };
        let reason = format!(
            "{policy}: {} is {}; it must be {limit} {} (--{})",
            self.name,
            found.map_or_else(|| "not defined".to_owned(), show),
            show(bound.value),
            self.option
        );
        Some(Check::of(self.option, holds, found, bound.value, reason))
    }

    /// Returns the bound that applies to `policy`: the last one given for this policy, or else the last one given for
    /// every policy. The option `min-compared` defaults to 100 %.
    fn bound_of(&self, policy: &str) -> Option<PolicyBound> {
        let of = |wanted: Option<&str>| {
            self.bounds
                .iter()
                .rfind(|it| it.policy.as_deref() == wanted)
        };
        let found = of(Some(policy)).or_else(|| of(None)).cloned();
        found.or_else(|| {
            (self.option == "min-compared").then_some(PolicyBound {
                policy: None,
                value: 1.0,
                is_percent: true,
            })
        })
    }
}
