//! How fast labs are made and undone.

use std::{
    io,
    time::{Duration, Instant},
};

use lab_plan::model::Plan;
use tokio_util::sync::CancellationToken;

use super::{Claim, Lab, LabError, LabErrorKind};
use crate::{
    lower::{LowerOptions, lower},
    step::Step,
};

/// How long a lab took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UpDown {
    /// Network namespaces it has.
    pub namespaces: usize,
    /// Pairs of interfaces it has.
    pub links: usize,
    /// Steps it takes.
    pub steps: usize,
    /// To be made and read back.
    pub up: Duration,
    /// To be undone.
    pub down: Duration,
}

/// Makes a lab and takes it down again, and says how long each took.
///
/// # Errors
/// Those of [`Lab::up`], and what could not be undone.
pub fn bench_up_down(
    claim: Claim,
    plan: &Plan,
    options: &LowerOptions,
    cancel: &CancellationToken,
) -> Result<UpDown, LabError> {
    let start = Instant::now();
    let lab = Lab::up(claim, plan, options, cancel, &mut |_| {})?;
    let up = start.elapsed();
    let steps = lower(plan, options);
    let start = Instant::now();
    let left = lab.down();
    let down = start.elapsed();
    if !left.is_empty() {
        let kind = LabErrorKind::Io {
            what: "down",
            error: io::Error::other("not all could be undone"),
        };
        return Err(LabError { kind, left });
    }
    let count = |kind: fn(&Step) -> bool| steps.iter().filter(|step| kind(step)).count();
    Ok(UpDown {
        namespaces: count(|step| matches!(step, Step::Netns { .. })),
        links: count(|step| matches!(step, Step::Veth(_))),
        steps: steps.len(),
        up,
        down,
    })
}
