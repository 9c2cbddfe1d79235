//! Difference between the candidates of a choice, in delay and in capacity.

use super::{choice, routing::Routing};
use crate::{
    model::{Candidate, Plan},
    network::Network,
};

/// Choices of a plan's flows, and how much their candidates differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateSpread {
    /// Number of pairs of a source and a destination datacenter between which data flows.
    pub pairs: usize,
    /// Number of them between which some switch chooses.
    pub pairs_with_choice: usize,
    /// Largest ÷ smallest delay of the candidates' paths, as the geometric mean over the pairs whose first switch has
    /// several candidates; 1 without such a pair.
    pub delay: f64,
    /// Largest ÷ smallest capacity of the candidates' paths, as the same mean.
    pub capacity: f64,
}

impl Plan {
    /// Returns the choices of the plan's flows, and how much their candidates differ.
    #[must_use]
    pub fn candidate_spread(&self) -> CandidateSpread {
        let network = Network::of(self);
        let routing = Routing {
            network: &network,
            switches: &self.switches,
        };
        let pairs = choice::pairs(&network, &self.flows);
        let rows = pairs.keys().map(|&(from, to)| routing.candidates(from, to));
        let choices: Vec<_> = rows.filter(|candidates| candidates.len() > 1).collect();
        let mean = |of: fn(&Candidate) -> u64| {
            let logs: Vec<f64> = choices.iter().map(|it| log_ratio(it, of)).collect();
            (logs.iter().sum::<f64>() / float(logs.len().max(1) as u64)).exp()
        };
        let count = choice::count(routing, &[], &pairs);
        CandidateSpread {
            pairs: count.pairs,
            pairs_with_choice: count.pairs_with_choice,
            delay: mean(|it| it.paper_delay_ns.get()),
            capacity: mean(|it| it.paper_bottleneck_bps.get()),
        }
    }
}

/// Returns the logarithm of the largest ÷ the smallest value of the candidates.
fn log_ratio(candidates: &[Candidate], of: fn(&Candidate) -> u64) -> f64 {
    let values = || candidates.iter().map(|it| of(it).max(1));
    let [largest, smallest] = [values().max(), values().min()].map(|it| it.unwrap_or(1));
    (float(largest) / float(smallest)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is wanted")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use lab_scenario::Files;

    use crate::resolve::{PlanOptions, resolve};

    /// From `a` to `d` lead 20 ms at 100 Gbit/s and 80 ms at 25 Gbit/s; from `b` only one path leads there.
    #[test]
    fn the_spread_is_that_of_pairs_with_several_candidates() {
        let text = "name: test
topology:
  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }, { name: c }, { name: d, hosts: 1 }]
  links:
    - { between: [a, b], rate: 100 Gbit, delay: 10 ms }
    - { between: [b, d], rate: 100 Gbit, delay: 10 ms }
    - { between: [a, c], rate: 25 Gbit, delay: 40 ms }
    - { between: [c, d], rate: 100 Gbit, delay: 40 ms }
traffic:
  - flows: [{ from: a/h1, to: d/h1, size: 1 MB }, { from: b/h1, to: d/h1, size: 1 MB }]
policies: [ecmp]
";
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
        let plan = resolve(&scenario, text, &Files::new(), &PlanOptions::default()).unwrap();
        let spread = plan.candidate_spread();
        assert_eq!((spread.pairs, spread.pairs_with_choice), (2, 1));
        assert!((spread.delay - 4.0).abs() < 1e-9, "{spread:?}");
        assert!((spread.capacity - 4.0).abs() < 1e-9, "{spread:?}");
    }
}
