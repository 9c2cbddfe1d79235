//! No congestion control: a QP sends at line rate whatever happens, as rxe does. Loss, PFC and the
//! window are all that holds it.

use lab_units::BitsPerSec;

use super::{Ack, CongestionControl, QpFacts};
use crate::time::SimTime;

/// Line rate, always.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoControl {
    rate: BitsPerSec,
}

impl CongestionControl for NoControl {
    type Parameters = ();

    fn new((): &(), facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn on_ack(&mut self, _: SimTime, _: &Ack<'_>, (): &()) {}
}
