//! Training of RedTE's actors on a fluid model of the network.
//!
//! A training reads a [`Problem`] (topology, capacities, WCMP's buckets) and demands of consecutive intervals, sampled
//! from workloads or read from a file. `lab-te`'s linear program gives the clairvoyant optimum of every interval. The
//! actors are `lab-redte`'s own, so that what is trained is what switches run.
//!
//! Three trainers: `maddpg` is the published one; `direct` follows the exact gradient of the fluid model, and reaches
//! better scores in seconds; `static` finds the best constant split, a baseline. All are deterministic by seed: the
//! weights have the same bits on every machine, for any number of threads, and if the training was interrupted.
//!
//! A score, or ratio, is the largest link utilisation of an interval divided by the optimum's, or its mean.
//!
//! Must not contain: clocks, files, the plan, packets.
//!
//! - [`problem`][], [`traffic`][], [`data`][]: the network, its demands, and their optima
//! - [`fluid`][]: link loads of a split, and their gradient
//! - `optimum`, `constant`: the optimum of one interval, and the best constant split for all
//! - `team`: all actors of a network, run over consecutive intervals
//! - `direct`, `maddpg`: the trainers of actors; `critic` and `replay` belong to `maddpg`
//! - `adam`, `backward`: the optimiser, and derivatives of layers
//! - [`session`][]: a training from its first step to its weights
//! - [`scores`][]: scores of policies on demands that no training saw
//! - `random`, `parallel`, `number`: streams of random numbers, threads, conversions

mod adam;
mod backward;
#[cfg(test)]
mod bounds;
mod constant;
mod critic;
pub mod data;
mod direct;
pub mod fluid;
mod maddpg;
mod number;
mod optimum;
mod parallel;
pub mod problem;
mod random;
mod replay;
pub mod scores;
pub mod session;
mod team;
#[cfg(test)]
mod testing;
pub mod traffic;

pub use data::{Data, DataError};
pub use problem::Problem;
pub use scores::Score;
pub use session::{CheckpointError, Options, Session, Validation};
pub use traffic::{Intervals, Sizes, Source, Traffic};
