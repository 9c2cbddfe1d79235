//! When ports were paused by priority flow control.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::row;

row! {
    /// A pause or resume frame, as it reached the port that it stops or lets go on.
    pub struct PfcRow in "pfc.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When.
        pub time_ns: Nanos,
        /// The host or switch whose port is meant.
        pub node: String,
        /// The port's interface.
        pub port: String,
        /// The host or switch at the other end, which sent the frame.
        pub peer: String,
        /// The priority it is for.
        pub priority: u8,
        /// What it says.
        pub event: PfcEvent,
    }
}

/// What a frame of priority flow control says.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PfcEvent {
    /// Stop sending.
    Pause,
    /// Go on.
    Resume,
}
