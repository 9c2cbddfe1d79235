//! Ages of flows, in the bytes that a switch of the lab counts.

use lab_policy::ucmp;
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::model::{PolicyPlan, UcmpPlan};

/// From so many bytes on, a flow's cheapest next hops.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlowAge {
    /// Emulated bytes that the flow has sent.
    pub from_bytes: Bytes,
    /// For each candidate, whether it is one of them.
    pub cheapest: Vec<bool>,
}

/// A candidate as it is known to the policy: delay and least capacity of its way, in paper units.
pub type AgeingWay = (Nanos, BitsPerSec);

/// The ages of a flow over `ways` of `hops` links, where `size` emulated bytes are one of the
/// paper's; none where flows do not age.
#[must_use]
pub fn ages(policy: &PolicyPlan, ways: &[AgeingWay], hops: u32, size: Ratio) -> Vec<FlowAge> {
    let PolicyPlan::Ucmp(plan @ UcmpPlan { ageing: true, .. }) = policy else {
        return Vec::new();
    };
    let ways: Vec<ucmp::Way> = ways
        .iter()
        .map(|&(delay, capacity)| ucmp::Way {
            delay,
            capacity,
            hops,
        })
        .collect();
    let ages = ucmp::ages(&ways, &plan.config());
    let age = |age: &ucmp::Age| FlowAge {
        from_bytes: first_reaching(age.from, size),
        cheapest: age.buckets[..ways.len()].iter().map(|&n| n > 0).collect(),
    };
    ages.as_slice().iter().map(age).collect()
}

/// The least number of emulated bytes that are no less than `paper`.
fn first_reaching(paper: Bytes, size: Ratio) -> Bytes {
    let product = u128::from(paper.get()) * u128::from(size.numerator());
    let emulated = product.div_ceil(u128::from(size.denominator()));
    Bytes::new(u64::try_from(emulated).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ucmp(ageing: bool) -> PolicyPlan {
        PolicyPlan::Ucmp(UcmpPlan {
            alpha_percent: 50,
            paper_quantum_ns: Nanos::new(100_000),
            ageing,
        })
    }

    /// 10 ms at 40 Gbit/s and 20 ms at 100 Gbit/s cost the same at 83.3 MB, less and more a hundredth
    /// for the quantum: at 82,500,000 B and 84,166,667 B.
    #[test]
    fn a_flow_of_a_lab_comes_of_age_at_its_share_of_the_papers_bytes() {
        let way = |ms, rate: &str| (Nanos::from_millis(ms), rate.parse().expect("a rate"));
        let ways = [way(10, "40 Gbit"), way(20, "100 Gbit")];
        let size = Ratio::new(1, 20_000).expect("a ratio");
        let found = ages(&ucmp(true), &ways, 2, size);
        let rows: Vec<_> = found
            .iter()
            .map(|age| (age.from_bytes.get(), &age.cheapest[..]))
            .collect();
        let expected: [(u64, &[bool]); 3] = [
            (0, &[true, false]),
            (4_125, &[true, true]),
            (4_209, &[false, true]),
        ];
        assert_eq!(rows, expected);
        assert_eq!(ages(&ucmp(false), &ways, 2, size), []);
        assert_eq!(ages(&PolicyPlan::Wcmp, &ways, 2, size), []);
    }
}
