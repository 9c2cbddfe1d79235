//! Selection of the type that implements a plan's congestion control, once per simulation; and the type for no
//! congestion control.

use lab_plan::{CcPlan, Semantics};
use lab_units::BitsPerSec;

use super::{Ack, CongestionControl, Dcqcn, Dctcp, Hpcc, QpFacts, Timely, hpcc, timely};
use crate::time::SimTime;

/// Operation that is generic over the congestion control's type, so that the packet loop is compiled once per type.
///
/// ```
/// use lab_plan::{CcPlan, Semantics};
/// use lab_sim::cc::{CongestionControl, WithControl, with_control};
///
/// struct Size;
///
/// impl WithControl for Size {
///     type Output = usize;
///
///     fn run<C: CongestionControl + Send + 'static>(self, _: C::Parameters) -> usize {
///         size_of::<C>()
///     }
/// }
///
/// assert_eq!(with_control(&CcPlan::None, Semantics::Paper, Size), 8);
/// ```
pub trait WithControl {
    /// Result of the operation.
    type Output;

    /// Runs the operation for the congestion control `C` with `parameters`.
    fn run<C: CongestionControl + Send + 'static>(self, parameters: C::Parameters) -> Self::Output;
}

/// Runs `operation` with the type that implements `cc`.
pub fn with_control<W: WithControl>(cc: &CcPlan, semantics: Semantics, operation: W) -> W::Output {
    match cc {
        CcPlan::None => operation.run::<NoControl>(()),
        CcPlan::Dcqcn(plan) => operation.run::<Dcqcn>(plan.into()),
        CcPlan::Hpcc(plan) => operation.run::<Hpcc>(hpcc::Parameters::new(plan, semantics)),
        CcPlan::Timely(plan) => operation.run::<Timely>(timely::Parameters::new(plan, semantics)),
        CcPlan::Dctcp(plan) => operation.run::<Dctcp>(plan.into()),
    }
}

/// No congestion control: QPs always send at line rate, as SoftRoCE does, limited only by loss, PFC and the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoControl {
    rate: BitsPerSec,
}

impl CongestionControl for NoControl {
    type Parameters = ();

    const PACES: bool = false;

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
