//! UCMP flow ageing: thresholds in sent bytes, as a lab's switch counts them, at which a flow is re-routed.

use lab_abi::wire::SizeThresholdConfig;
use lab_policy::{UcmpConfig, ucmp};
use lab_units::{Bytes, Ratio};

use crate::model::{Candidate, PolicyPlan};

/// Returns the numbers of sent bytes at which flow ageing re-routes a flow over `candidates`; empty under a policy without
/// flow ageing. `hops` is the destination's [`Destination::hops`](crate::Destination::hops), and `size` the number of
/// emulated bytes per byte at the paper's scale.
#[must_use]
pub fn size_thresholds<'a>(
    policy: &PolicyPlan,
    candidates: impl IntoIterator<Item = &'a Candidate>,
    hops: u32,
    size: Ratio,
) -> Vec<SizeThresholdConfig> {
    let PolicyPlan::Ucmp(config @ UcmpConfig { ageing: true, .. }) = policy else {
        return Vec::new();
    };
    let paths: Vec<_> = candidates
        .into_iter()
        .map(|candidate| candidate.path(hops))
        .collect();
    let ages = ucmp::size_thresholds(&paths, config);
    let threshold = |age: &ucmp::SizeThreshold| SizeThresholdConfig {
        from_bytes: first_reaching(age.from, size),
        cheapest: age.buckets[..paths.len()].iter().map(|&n| n > 0).collect(),
    };
    ages.as_slice().iter().map(threshold).collect()
}

/// Returns the smallest number of emulated bytes that represents at least `paper`, a size at the paper's scale.
fn first_reaching(paper: Bytes, size: Ratio) -> Bytes {
    let product = u128::from(paper.get()) * u128::from(size.numerator());
    let emulated = product.div_ceil(u128::from(size.denominator()));
    Bytes::new(u64::try_from(emulated).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use lab_units::{DcId, Nanos, PortId};

    use super::*;

    fn ucmp(ageing: bool) -> PolicyPlan {
        PolicyPlan::Ucmp(UcmpConfig {
            ageing,
            ..UcmpConfig::DEFAULT
        })
    }

    fn candidate(millis: u64, rate: &str) -> Candidate {
        let delay = Nanos::from_millis(millis);
        let rate = rate.parse().expect("a rate");
        Candidate {
            port: PortId(0),
            next_dc: DcId(0),
            extra_hops: 0,
            paper_delay_ns: delay,
            paper_bottleneck_bps: rate,
            paper_first_link_delay_ns: delay,
            paper_first_link_bps: rate,
        }
    }

    /// A path of 10 ms at 40 Gbit/s and one of 20 ms at 100 Gbit/s cost the same at 83.3 MB. Costs that differ by at
    /// most UCMP's quantum count as equal, here from 1 % below to 1 % above: 82,500,000 B to 84,166,667 B.
    #[test]
    fn emulated_thresholds_are_the_papers_times_the_scale_of_sizes() {
        let candidates = [candidate(10, "40 Gbit"), candidate(20, "100 Gbit")];
        let size = Ratio::new(1, 20_000).expect("a ratio");
        let found = size_thresholds(&ucmp(true), &candidates, 2, size);
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.from_bytes.get(), &row.cheapest[..]))
            .collect();
        let expected: [(u64, &[bool]); 3] = [
            (0, &[true, false]),
            (4_125, &[true, true]),
            (4_209, &[false, true]),
        ];
        assert_eq!(rows, expected);
        for policy in [ucmp(false), PolicyPlan::ECMP] {
            assert_eq!(size_thresholds(&policy, &candidates, 2, size), []);
        }
    }
}
