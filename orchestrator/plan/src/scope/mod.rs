//! Scope of a run: facts that limit what its results can show, derived from the plan before it runs.
//!
//! - [`routing`]: the switches' candidates, and the order in which traffic crosses them
//! - [`choice`]: pairs of datacenters between which a policy chooses
//! - [`candidate_spread`]: how much the candidates of a choice differ
//! - [`alike`]: policies that cannot differ
//! - [`spread`]: load of the links if every switch splits evenly
//! - [`tightest_cut`], [`max_flow`]: cuts that limit every policy
//! - [`timeline`]: the cut links and the candidates over time
//! - [`single_cut`], [`outage`]: pairs without a next hop after a link's cut, and during the scenario's faults
//! - [`utilisation`]: an offered rate beside a capacity
//! - [`resolve`]: all of these for a plan

pub(crate) mod alike;
pub(crate) mod candidate_spread;
pub(crate) mod choice;
mod max_flow;
pub(crate) mod outage;
pub(crate) mod resolve;
pub(crate) mod routing;
pub(crate) mod single_cut;
pub(crate) mod spread;
pub(crate) mod tightest_cut;
pub(crate) mod timeline;
pub(crate) mod utilisation;
