//! A lab on this machine: claiming a place for it, bringing it up, using it, taking it down.
//!
//! All functions block; from async code call them with `spawn_blocking`.

mod bench;
mod claim;
mod down;
mod enter;
mod error;
mod hosts;
mod progress;
mod ready;
mod slot;
#[cfg(test)]
mod tests;
mod up;

pub(crate) use self::claim::free_slots;
pub use self::{
    bench::{UpDown, bench_up_down},
    claim::{Claim, ClaimError},
    down::{DownError, Live, down, down_all, status},
    enter::{EnterError, OnNode, on_node},
    error::{LabError, LabErrorKind},
    hosts::HostEndpoint,
    progress::{Phase, Progress},
    up::Lab,
};
