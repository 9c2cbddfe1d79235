//! Training of RedTE's actors on a fluid model of the network.
//!
//! A training reads a [`Problem`] (topology, capacities, WCMP's buckets) and demands of consecutive intervals, sampled
//! from workloads or given by a file. It knows the clairvoyant optimum of every interval, by `lab-te`'s linear program.
//! The actors are `lab-redte`'s own, so that what is trained is what switches run.
//!
//! Two trainers: `maddpg` is the published one; `direct` follows the exact gradient of the fluid model, and reaches
//! better scores in seconds. Both are deterministic by seed: the weights have the same bits on every machine, for any
//! number of threads, and after a kill and a resumption.
//!
//! Must not contain: clocks, files, the plan, packets.
//!
//! - [`problem`][], [`traffic`][], [`data`][]: the network, its demands, and their optima
//! - [`fluid`][]: link loads of a split, and their gradient
//! - `optimum`, `constant`: the best split of one interval, and of all
//! - `team`: all actors of a network, run over consecutive intervals
//! - `direct`, `maddpg`: the trainers, with `critic` and `replay` of the latter
//! - `adam`, `backward`: the optimiser, and derivatives of layers
//! - [`session`][]: a training from its first step to its weights
//! - [`scores`][]: policies on demands that no training saw
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
