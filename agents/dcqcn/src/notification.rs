//! Notification point: CNPs of a receiving QP.

/// Returns the earliest time of the next CNP if the receiver answers a packet that arrives marked at `now` with a CNP;
/// `None` if it does not answer. `earliest` is the result of the latest call that returned `Some`, initially 0.
///
/// The receiver answers a marked packet with a CNP, but sends at most one CNP per QP in each `interval` (section 3.1,
/// and RoCEv2 annex A17.9.3).
#[must_use]
pub const fn next_cnp(earliest: u64, now: u64, interval: u64) -> Option<u64> {
    if now >= earliest {
        Some(now.saturating_add(interval))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_packet_within_the_interval_makes_no_cnp() {
        let after_first = next_cnp(0, 7, 50).expect("the first marked packet sends a CNP");
        assert_eq!(next_cnp(after_first, 56, 50), None);
        assert_eq!(next_cnp(after_first, 57, 50), Some(107));
    }
}
