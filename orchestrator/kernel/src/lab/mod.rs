//! A lab on this machine: its reservation, bring-up, use and removal.
//!
//! All functions block; asynchronous code calls them through `spawn_blocking`.

mod bench;
mod down;
mod error;
mod gids;
mod hosts;
mod node_command;
mod packets;
mod patience;
mod ping;
mod preflight;
mod progress;
mod reservation;
mod rules;
mod slot;
mod state;
mod taking_rule;
#[cfg(test)]
mod tests;
mod up;

#[cfg(test)]
pub(crate) use self::packets::RecoveryCounts;
pub use self::{
    bench::{UpDown, bench_up_down},
    down::{DownError, Live, down, down_all, forget, status},
    error::{LabError, LabErrorKind},
    hosts::HostEndpoint,
    node_command::{EnterError, NodeCommand, node_command},
    progress::{LabProgress, Phase},
    reservation::{Reservation, ReservationError},
    state::LabState,
    taking_rule::TakingRule,
    up::Lab,
};
pub(crate) use self::{packets::Losses, reservation::free_slots};
