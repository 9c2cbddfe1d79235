//! Routing policies as pure integer functions: the reference of the switch program.
//!
//! The switch program mirrors [`ecmp::decide`] and [`lcmp::decide()`] in a form that the kernel's verifier accepts,
//! and is tested against them; the simulator and the plan call these functions directly. Must not contain: std,
//! floats, clocks, randomness, unsafe code, unbounded loops.
//!
//! - [`hash`][]: hashes of flows and packets
//! - [`policy`][]: declaration of a built-in policy
//! - [`policies`][]: built-in policies by name
//! - [`candidate`][]: input and result of a routing decision
//! - [`lcmp`][]: LCMP: path cost, congestion, decision
//! - [`failover`][]: fast failover of pinned flows
//! - [`flow_gc`][]: flow-cache garbage collection
//! - [`ecmp`][]: ECMP, and the hash over buckets that all bucket policies share
//! - [`wcmp`][], [`ucmp`][], [`ucmp_artifact`][]: bucket tables of these policies
//! - [`te`][]: declaration of traffic engineering
//! - [`own`][]: user-defined policies, compiled in, with a template
//! - [`legacy`][]: kernel ECMP on a DCI switch without an agent
//!
//! Times are nanoseconds, rates bits per second and queues bytes, as their types state. Costs and scores range from 0
//! to 255; smaller is better.
//!
//! ```
//! use lab_policy::{Candidate, LcmpConfig, lcmp};
//! use lab_units::{BitsPerSec, Nanos};
//!
//! let fast: BitsPerSec = "200 Gbit".parse()?;
//! let slow: BitsPerSec = "40 Gbit".parse()?;
//! let config = LcmpConfig { max_delay_ns: Nanos::new(524_288_000), ..LcmpConfig::paper(fast) };
//! let near = lcmp::path_score(Nanos::from_millis(50), fast, &config);
//! let far = lcmp::path_score(Nanos::from_millis(100), slow, &config);
//! let route = |path| Candidate { path, congestion: 0, is_alive: true, buckets: 1 };
//! let decision = lcmp::decide(&[route(near), route(far)], 7, &config).unwrap();
//! assert_eq!(decision.chosen, 0);
//! # Ok::<(), lab_units::ParseQuantityError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

#[cfg(test)]
extern crate std;

pub mod candidate;
pub mod ecmp;
pub mod failover;
pub mod flow_gc;
pub mod hash;
pub mod lcmp;
pub mod legacy;
pub mod own;
pub mod policies;
pub mod policy;
pub mod redte;
pub mod te;
pub mod ucmp;
pub mod ucmp_artifact;
pub mod wcmp;

pub use candidate::{Candidate, Decision, Path, Scored};
pub use hash::{FlowTuple, flow_hash, packet_hash};
pub use lab_abi::{Rule, Trigger, rows::MAX_CANDIDATES};
pub use lcmp::{LcmpConfig, ParameterError, Preset};
pub use own::OwnPolicy;
pub use policy::{BucketLaw, BucketPolicy, BuiltInPolicy, Mechanism};
pub use ucmp::UcmpConfig;

/// Built-in policies, in the order in which messages and the JSON Schema list them.
pub const POLICIES: &[BuiltInPolicy] = &[
    BuiltInPolicy::buckets(&ecmp::POLICY),
    BuiltInPolicy::buckets(&wcmp::POLICY),
    ucmp::POLICY,
    ucmp::MIN_DELAY,
    BuiltInPolicy::buckets(&ucmp_artifact::POLICY),
    te::POLICY,
    redte::REDTE,
    redte::DIRECT,
    redte::STATIC,
    lcmp::POLICY,
    lcmp::RM_ALPHA,
    lcmp::RM_BETA,
];
