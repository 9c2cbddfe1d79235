//! Flow-cache garbage collection (section 3.1.2): entries of idle flows are removed from the flow table.
//!
//! The program refreshes an entry with every packet (`flow_gc.bpf.h`), and the agent removes the idle entries of the
//! program's table (`flow_gc.rs` in `lab-switchd`). The simulator has its own table.

/// Returns true if a flow-table entry is idle, that is, last seen at or before `horizon`: the current time minus the
/// idle timeout.
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
