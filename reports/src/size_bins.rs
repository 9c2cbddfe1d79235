//! Bins of flow sizes: with equally many flows, or between round sizes.

use lab_units::Bytes;

/// Bins of flow sizes, from small to large.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SizeBins {
    /// Largest flow size that belongs to each bin, in increasing order.
    upper: Vec<Bytes>,
    /// Smallest flow size.
    min: Bytes,
}

impl SizeBins {
    /// Returns bins with equally many of the sorted sizes of all policies' flows: the paper's 20, or fewer if a bin
    /// would have fewer than `min_flows` flows per policy. Flows of one size are never split, so bins may be fewer or
    /// unequal if sizes repeat.
    pub fn equal(sizes: &[Bytes], policies: usize, min_flows: usize) -> Self {
        let per_policy = sizes.len() / policies.max(1);
        let count = (per_policy / min_flows).clamp(1, PAPER_BINS);
        let last_of = |bin: usize| (sizes.len() * bin).div_ceil(count).checked_sub(1);
        let mut upper: Vec<Bytes> = (1..=count)
            .filter_map(|bin| sizes.get(last_of(bin)?).copied())
            .collect();
        upper.dedup();
        Self {
            upper,
            min: sizes.first().copied().unwrap_or_default(),
        }
    }

    /// Returns bins with edges at 1, 2 and 5 times powers of ten. Bins that contain none of the sorted `sizes` are left
    /// out.
    pub fn logarithmic(sizes: &[Bytes]) -> Self {
        let powers = (0..19).map(|exponent| 10u64.pow(exponent));
        let round = powers.flat_map(|power| [1, 2, 5].map(|digit| digit * power));
        let mut upper = Vec::new();
        let mut below = 0;
        for edge in round.map(Bytes::new) {
            let until = sizes.partition_point(|&size| size <= edge);
            if until > below {
                upper.push(edge);
            }
            below = until;
        }
        Self {
            upper,
            min: sizes.first().copied().unwrap_or_default(),
        }
    }

    /// Returns the index of the bin that contains flows of `size`.
    pub fn of(&self, size: Bytes) -> usize {
        let bin = self.upper.partition_point(|&upper| upper < size);
        bin.min(self.upper.len().saturating_sub(1))
    }

    /// Returns the largest flow size that belongs to each bin.
    pub fn upper(&self) -> &[Bytes] {
        &self.upper
    }

    /// Returns the smallest flow size.
    pub fn min(&self) -> Bytes {
        self.min
    }
}

/// Number of size bins in the paper's figures.
const PAPER_BINS: usize = 20;

/// Percentiles that have a panel in figures by size.
pub const PERCENTS: [u32; 2] = [50, 99];

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(sizes: impl IntoIterator<Item = u64>) -> SizeBins {
        let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes::new).collect();
        SizeBins::equal(&sizes, 1, 10)
    }

    #[test]
    fn bins_have_equal_counts() {
        let bins = bins(1..=400);
        assert_eq!(bins.upper().len(), 20);
        let counts = (1..=400).map(|size| bins.of(Bytes::new(size)));
        let mut by_bin = [0; 20];
        counts.for_each(|bin| by_bin[bin] += 1);
        assert_eq!(by_bin, [20; 20]);
    }

    #[test]
    fn round_bins_hold_their_upper_size_and_are_never_empty() {
        let sizes = [3, 100, 101, 150, 700_000].map(Bytes::new);
        let bins = SizeBins::logarithmic(&sizes);
        assert_eq!(bins.upper(), [5, 100, 200, 1_000_000].map(Bytes::new));
        assert_eq!(sizes.map(|size| bins.of(size)), [0, 1, 2, 2, 3]);
    }

    #[test]
    fn few_flows_make_few_bins_and_equal_sizes_stay_together() {
        assert_eq!(bins(1..=44).upper().len(), 4);
        let same = bins([7; 300]);
        assert_eq!(same.upper(), [Bytes::new(7)]);
        assert_eq!(same.of(Bytes::new(7)), 0);
        assert_eq!(bins([]).of(Bytes::new(7)), 0);
    }
}
