//! Flow-cache garbage collection (section 3.1.2): entries of idle flows leave the flow table.
//!
//! The agent removes idle entries of the switch program's table (`flow_gc.rs` of `lab-switchd`), which
//! the program refreshes with every packet (`flow_gc.bpf.h`); the simulator keeps a table of its own.

/// Returns true if a flow's entry is idle: last seen at or before `horizon`, which is the present less
/// the idle timeout.
///
/// ```
/// use lab_policy::flow_gc::is_idle;
/// use lab_units::Nanos;
///
/// let now = Nanos::from_millis(7_000);
/// let horizon = now.saturating_sub(Nanos::from_millis(5_000));
/// assert!(is_idle(Nanos::from_millis(2_000), horizon));
/// assert!(!is_idle(Nanos::from_millis(2_001), horizon));
/// ```
#[must_use]
pub fn is_idle<T: Ord>(last_seen: T, horizon: T) -> bool {
    last_seen <= horizon
}
