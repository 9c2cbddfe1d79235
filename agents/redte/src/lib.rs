//! RedTE's actor (SIGCOMM '24): the local state of a DCI switch becomes hash buckets, once per interval.
//!
//! At the end of every interval, each switch with several candidates for some destination evaluates a small network.
//! Inputs are the utilisations of the switch's outgoing links and the demands of its datacenter, by destination.
//! Outputs are the shares of the candidates for each destination, which are rounded to hash buckets and apply to new
//! flows in the next interval. Switches exchange nothing. The weights come from a file that `lab-redte-train` makes.
//!
//! Both engines call the same functions, and these give the same bits on every machine and at every level of
//! optimisation: `f32` in a fixed order, with an exponential of our own.
//!
//! Must not contain: clocks, threads, I/O, randomness.
//!
//! - [`layout`][]: the switches that act, with their links and destinations
//! - [`state`][]: the inputs of a network, from measurements
//! - [`network`][], [`dense`][]: the network and its layers
//! - [`exp`](mod@exp)[]: the exponential function
//! - [`actor`][]: the decision of a switch
//! - [`weights`][]: the weight file; [`container`][]: its checksummed form, which the trainers' checkpoints share
//! - [`shipped`][]: the weight files of the program
//! - [`fingerprint`](mod@fingerprint)[]: the hash of a topology
//!
//! Utilisations and demands are shares of a rate: bytes · 8 ÷ (interval · rate).
//!
//! ```
//! use lab_redte::buckets;
//!
//! // The second of three next hops is down.
//! assert_eq!(buckets(&[0.5, 0.25, 0.25], &[true, false, true], &[1, 2, 1], 100), [67, 0, 33]);
//! ```

pub mod actor;
pub mod container;
pub mod dense;
pub mod exp;
pub mod fingerprint;
pub mod layout;
pub mod network;
pub mod shipped;
pub mod state;
pub mod weights;

pub use actor::{Actor, ActorDecision, buckets};
pub use container::ContainerError;
pub use dense::Dense;
pub use exp::exp;
pub use fingerprint::fingerprint;
pub use layout::{AgentLayout, Head, TeamLayout};
pub use network::{Activations, Mlp, Shape};
pub use state::{Divisors, Observation};
pub use weights::{Header, Weights, WeightsError};
