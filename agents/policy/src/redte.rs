//! Declarations of learned policies; their networks are in the crate `lab-redte`.
//!
//! At the end of every interval, each DCI switch turns its own measurements into hash buckets by trained weights. Only
//! weights from the training that RedTE's authors published are called `redte`.

use lab_units::Trainer;

use crate::policy::{BuiltInPolicy, Mechanism};

/// RedTE (SIGCOMM '24).
pub const REDTE: BuiltInPolicy = of(
    Trainer::Maddpg,
    "RedTE (SIGCOMM '24): at the end of every interval, a network trained by MADDPG turns each DCI\n\
     switch's own link utilisations and demands into a split, which new flows take at once.",
);

/// RedTE's networks with a trainer of our own.
pub const DIRECT: BuiltInPolicy = of(
    Trainer::Direct,
    "RedTE's networks, trained by the gradient through a fluid model instead of MADDPG.",
);

/// Best constant split.
pub const STATIC: BuiltInPolicy = of(
    Trainer::Static,
    "The constant split whose largest utilisation is closest to the optimum's, on average over the\n\
     training demands: it knows capacities and mean demands, but no state.",
);

const fn of(trainer: Trainer, doc: &'static str) -> BuiltInPolicy {
    BuiltInPolicy {
        word: name(trainer),
        key: Some(name(trainer)),
        doc,
        sets: None,
        mechanism: Mechanism::Trained(trainer),
    }
}

/// Returns the name of the policy whose weights are trained by `trainer`.
#[must_use]
pub const fn name(trainer: Trainer) -> &'static str {
    match trainer {
        Trainer::Maddpg => "redte",
        Trainer::Direct => "redte-direct",
        Trainer::Static => "static",
    }
}
