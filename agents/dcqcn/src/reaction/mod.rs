//! Reaction point: the rate of a sending QP.
//!
//! The sender has a current rate `R_C`, a target rate `R_T` and a congestion estimate `α`, initially 1. It follows
//! one of two laws:
//!
//! - `published`: each CNP cuts the rate; a timer and a byte counter raise it
//! - `artifact`: the artifact's variant, selected if [`DcqcnParams::decrease_interval`] is not 0: CNPs cut
//!   the rate at intervals, and a timer raises it
//!
//! Timers do not run on their own: each event first catches up on the timer events due by then. The `n` missed decays
//! of α are applied at once, as a power computed by repeated squaring. Q30 products are rounded down, and so is `R_C`
//! after a cut.

mod arithmetic;
mod artifact;
mod published;

use lab_abi::dcqcn::{DcqcnParams, MAX_RATE_BPS, ONE_Q30, ReactionPoint};

use arithmetic::NEVER;

/// Returns the initial state of a QP, which starts at its NIC's line rate, capped at [`MAX_RATE_BPS`].
#[must_use]
pub const fn start(line_bps: u64, params: &DcqcnParams) -> ReactionPoint {
    let line_bps = if line_bps > MAX_RATE_BPS {
        MAX_RATE_BPS
    } else {
        line_bps
    };
    ReactionPoint {
        rate_bps: line_bps,
        target_bps: line_bps,
        line_bps,
        alpha_due: NEVER,
        increase_due: NEVER,
        decrease_due: NEVER,
        bytes_left: params.byte_counter,
        alpha_q30: ONE_Q30,
        timer_stage: 0,
        byte_stage: 0,
        pending: 0,
    }
}

/// Returns the time at which a timer next changes the rate; `None` if no timer does so before the next CNP.
#[must_use]
pub fn next_timer(point: &ReactionPoint, params: &DcqcnParams) -> Option<u64> {
    let next = if is_artifact(params) {
        artifact::next_timer(point)
    } else {
        published::next_timer(point)
    };
    (next != NEVER).then_some(next)
}

/// Performs all timer events that are due at `now`.
pub fn on_timer(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    if is_artifact(params) {
        artifact::on_timer(point, now, params);
    } else {
        published::on_timer(point, now, params);
    }
}

/// Counts the bytes of a packet sent at `now`. Under the published law, also performs the rate increases that the byte
/// counter triggers.
pub fn on_sent(point: &mut ReactionPoint, now: u64, wire_bytes: u32, params: &DcqcnParams) {
    on_timer(point, now, params);
    if !is_artifact(params) {
        published::on_sent(point, wire_bytes, params);
    }
}

/// Processes a CNP that arrived at `now`.
pub fn on_cnp(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    on_timer(point, now, params);
    if is_artifact(params) {
        artifact::on_cnp(point, now, params);
    } else {
        published::on_cnp(point, now, params);
    }
}

/// Returns α (Q30) after the updates that are due at `now`.
#[must_use]
pub fn alpha(point: &ReactionPoint, now: u64, params: &DcqcnParams) -> u32 {
    if is_artifact(params) {
        let mut point = *point;
        artifact::update_alpha(&mut point, now, params);
        point.alpha_q30
    } else {
        published::alpha(point, now, params)
    }
}

const fn is_artifact(params: &DcqcnParams) -> bool {
    params.decrease_interval != 0
}
