//! From a plan's congestion control to its type, once for a whole simulation.

use lab_plan::{CcPlan, Semantics};
use lab_policy::Preset;

use super::{
    ArtifactDcqcn, CongestionControl, Dcqcn, Dctcp, Hpcc, NoControl, Timely, hpcc, timely,
};

/// Something to do with a type of congestion control, whichever it is.
///
/// The hot path is then compiled for each type by itself.
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
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<C: CongestionControl + Send + 'static>(self, parameters: C::Parameters) -> Self::Output;
}

/// Does `what` with `cc`.
pub fn with_control<W: WithControl>(cc: &CcPlan, semantics: Semantics, what: W) -> W::Output {
    match cc {
        CcPlan::None => what.run::<NoControl>(()),
        CcPlan::Dcqcn(plan) => match plan.preset {
            Preset::Paper => what.run::<Dcqcn>(plan.into()),
            Preset::Artifact => what.run::<ArtifactDcqcn>(plan.into()),
        },
        CcPlan::Hpcc(plan) => what.run::<Hpcc>(hpcc::Parameters::new(plan, semantics)),
        CcPlan::Timely(plan) => what.run::<Timely>(timely::Parameters::new(plan, semantics)),
        CcPlan::Dctcp(plan) => what.run::<Dctcp>(plan.into()),
    }
}
