//! Benchmark of bringing labs up and taking them down.

use std::{
    io,
    time::{Duration, Instant},
};

use lab_plan::model::Plan;
use tokio_util::sync::CancellationToken;

use super::{Lab, LabError, LabErrorKind, Reservation};
use crate::{
    lower::{LowerOptions, lower},
    step::Step,
};

/// Size of a lab, and the time to bring it up and take it down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UpDown {
    /// Number of network namespaces in the lab.
    pub namespaces: usize,
    /// Number of virtual links, that is pairs of interfaces.
    pub links: usize,
    pub steps: usize,
    /// Time to apply the steps and to read the kernel's state back.
    pub up: Duration,
    /// Time to undo the steps.
    pub down: Duration,
}

/// Brings a lab up, takes it down, and measures how long each takes. Fails if [`Lab::up`] fails or the lab cannot be
/// taken down.
pub fn bench_up_down(
    reservation: Reservation,
    plan: &Plan,
    options: &LowerOptions,
    cancel: &CancellationToken,
) -> Result<UpDown, LabError> {
    let start = Instant::now();
    let lab = Lab::up(reservation, plan, options, cancel, &mut |_| {})?;
    let up = start.elapsed();
    let steps = lower(plan, options);
    let start = Instant::now();
    let left = lab.down();
    let down = start.elapsed();
    if !left.is_empty() {
        let kind = LabErrorKind::Io {
            what: "down",
            error: io::Error::other("some objects of the lab could not be removed"),
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
