//! Packet marking and queue limits as the artifact configures them.

use lab_units::{BitsPerSec, Bytes};

/// Queue limit of a port's device: 1000 MiB, regardless of the switch's buffer.
pub const PORT_LIMIT: Bytes = Bytes::new(1_000 << 20);

/// Returns the queue lengths at which a port of `rate` begins to mark packets and marks at the maximum probability:
/// `KMIN_MAP` and `KMAX_MAP`, which are 4 kB and 16 kB per Gbit/s, regardless of the delay.
#[must_use]
pub const fn thresholds(rate: BitsPerSec) -> [Bytes; 2] {
    [
        Bytes::new(rate.get() / 250_000),
        Bytes::new(rate.get() / 62_500),
    ]
}

/// Marking probability at the upper threshold, for all rates (`PMAX_MAP`).
pub const P_MAX: &str = "0.2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_the_configuration() {
        let rows = [
            (25, 100, 400),
            (40, 160, 640),
            (100, 400, 1_600),
            (400, 1_600, 6_400),
        ];
        for (gigabits, k_min, k_max) in rows {
            let rate = BitsPerSec::new(gigabits * 1_000_000_000).unwrap();
            let expected = [k_min, k_max].map(|kilo| Bytes::new(kilo * 1_000));
            assert_eq!(thresholds(rate), expected);
        }
    }
}
