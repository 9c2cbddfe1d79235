//! Integer arithmetic of the artifact that wraps around.
//!
//! Rates are bit/s and times are nanoseconds in 64 bits; buffers are bytes in 32 bits. On long-haul links both
//! overflow, and PFC thresholds and windows are computed from the wrapped values.

/// Returns the product of a rate (bit/s) and a time (ns), modulo 2^64.
#[must_use]
pub const fn bit_nanos(bits_per_second: u64, nanos: u64) -> u64 {
    bits_per_second.wrapping_mul(nanos)
}

/// Returns the bandwidth-delay product in bytes: ((RTT · rate) mod 2^64) / 10^9 / 8, modulo 2^32.
#[must_use]
pub const fn bdp(round_trip_nanos: u64, bits_per_second: u64) -> u32 {
    low(bit_nanos(bits_per_second, round_trip_nanos) / 1_000_000_000 / 8)
}

/// Returns a window in proportion to a rate: ((largest · rate) mod 2^64) / line rate, in bytes.
#[must_use]
pub const fn window(largest: u32, bits_per_second: u64, line_rate: u64) -> u64 {
    (largest as u64).wrapping_mul(bits_per_second) / line_rate
}

/// Returns the PFC headroom of a port in bytes: ((rate · delay) mod 2^64) / 8 / 10^9 · 3, modulo 2^32.
#[must_use]
pub const fn headroom(bits_per_second: u64, delay_nanos: u64) -> u32 {
    low(bit_nanos(bits_per_second, delay_nanos) / 8 / 1_000_000_000 * 3)
}

/// Returns the bytes of a buffer that ports share: buffer − Σ headrooms − Σ reserves, modulo 2^32. If the headrooms
/// exceed the buffer, the result is gigabytes of apparently free space.
#[must_use]
pub fn shared(buffer: u64, headrooms: &[u64], reserve: u32) -> u32 {
    let kept = |sum: u32, headroom: &u64| sum.wrapping_add(low(*headroom)).wrapping_add(reserve);
    low(buffer).wrapping_sub(headrooms.iter().fold(0, kept))
}

/// Returns the free bytes of the shared part: shared − used, modulo 2^32.
#[must_use]
pub const fn free(shared: u64, used: u64) -> u32 {
    low(shared).wrapping_sub(low(used))
}

/// Returns the low 32 bits of `value`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the authors' code keeps only 32 bits"
)]
const fn low(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: u64 = 1_000_000_000;

    /// 700.012 ms at 100 Gbit/s is 8.75 GB; the artifact's arithmetic gives 1.83 GB.
    #[test]
    fn products_of_long_round_trips_wrap() {
        assert_eq!(bdp(20_013_000, 25 * GBIT), 62_540_625);
        assert_eq!(bdp(700_012_000, 100 * GBIT), 1_832_620_972);
    }

    /// In the last two assertions, the window at 100 Gbit/s, the line rate, is smaller than the window at 25 Gbit/s.
    #[test]
    fn windows_wrap_and_need_not_grow_with_the_rate() {
        let at = |largest, gigabits: u64| window(largest, gigabits * GBIT, 100 * GBIT);
        assert_eq!(at(2_263_469_481, 100), 49_860_192);
        assert_eq!(at(2_263_469_481, 1), 22_634_694);
        assert_eq!(at(2_263_469_481, 10), 41_879_507);
        assert_eq!(at(1_625_156_000, 100), 149_416_474);
        assert_eq!(at(1_875_155_500, 100), 30_481_092);
        assert_eq!(at(400_157_000, 100), 31_222_118);
        assert_eq!(at(400_157_000, 25), 100_039_250);
    }

    /// Free bytes in the 128 MiB buffers of the 8-DC network's DCI switches, which have two spine ports.
    #[test]
    fn free_buffer_wraps_to_gigabytes() {
        const MILLI: u64 = 1_000_000;
        let free_at = |inter_dc: &[(u64, u64)]| {
            let spines = [(400, 1_000); 2];
            let ports = spines.iter().chain(inter_dc);
            let headrooms: Vec<u64> = ports
                .map(|&(gigabits, delay)| u64::from(headroom(gigabits * GBIT, delay)))
                .collect();
            free(u64::from(shared(128 << 20, &headrooms, 4_096)), 0)
        };
        let twice = |gigabits, millis: u64| free_at(&[(gigabits, millis * MILLI); 2]);
        assert_eq!(twice(200, 25), 678_868_640);
        assert_eq!(twice(200, 250), 3_188_919_346);
        assert_eq!(twice(100, 10), 3_678_868_640);
        assert_eq!(twice(100, 100), 1_223_835_936);
        assert_eq!(twice(25, 5), 40_151_344);
        assert_eq!(twice(25, 50), 3_491_368_640);
        let all = [
            (200, 25),
            (200, 250),
            (100, 10),
            (100, 100),
            (25, 5),
            (25, 50),
        ];
        assert_eq!(
            free_at(&all.map(|(rate, delay)| (rate, delay * MILLI))),
            1_588_219_905
        );
    }

    /// A leaf switch with four hosts and two spines at 100 Gbit/s and 1 µs; its threshold is an eighth of the free
    /// buffer.
    #[test]
    fn inside_a_datacenter_nothing_wraps() {
        let headrooms = [u64::from(headroom(100 * GBIT, 1_000)); 6];
        let shared = shared(32 << 20, &headrooms, 4_096);
        assert_eq!(shared, (32 << 20) - 6 * (37_500 + 4_096));
        assert_eq!(shared >> 3, 4_163_107);
    }
}
