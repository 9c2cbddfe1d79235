//! LCMP's decisions, recomputed without one of the two costs.

use lab_abi::{Rule, Trigger};
use lab_policy::{
    Candidate, Decision, FlowTuple, flow_hash,
    lcmp::{LcmpConfig, decide},
};
use lab_records::{Changed, LcmpCounts};
use lab_units::PortId;

use crate::decision::{CandidateScore, NumberedDecision};

/// Counts of recomputed decisions under one LCMP policy.
pub(super) struct Replay<'a> {
    config: &'a LcmpConfig,
    without_path: LcmpConfig,
    without_congestion: LcmpConfig,
    decisions: u64,
    unexplained: u64,
    path: Changed,
    congestion: Changed,
}

impl<'a> Replay<'a> {
    pub fn new(config: &'a LcmpConfig) -> Self {
        Self {
            config,
            without_path: LcmpConfig {
                alpha: 0,
                ..config.clone()
            },
            without_congestion: LcmpConfig {
                beta: 0,
                ..config.clone()
            },
            decisions: 0,
            unexplained: 0,
            path: Changed::default(),
            congestion: Changed::default(),
        }
    }

    /// Adds a decision by a switch with hash seed `seed`; ignores decisions other than those by LCMP's scores for a new
    /// flow. `is_cut` returns true for ports whose link was cut at the decision's time.
    pub fn add(&mut self, decision: &NumberedDecision, seed: u32, is_cut: impl Fn(PortId) -> bool) {
        if !is_own_rule(decision.reason) {
            return;
        }
        let Some((candidates, hash)) = replayed(decision, seed, self.config, is_cut) else {
            self.unexplained += 1;
            return;
        };
        self.decisions += 1;
        let again = |config| DecisionResult::of(decide(&candidates, hash.unwrap_or(0), config));
        let actual = again(self.config);
        let compare = |sums: &mut Changed, config| {
            let other = again(config);
            sums.kept += u64::from(other.kept() != actual.kept());
            sums.order += u64::from(other.order != actual.order);
            sums.next_hop += u64::from(hash.is_some() && other.chosen != actual.chosen);
        };
        compare(&mut self.path, &self.without_path);
        compare(&mut self.congestion, &self.without_congestion);
    }

    /// Returns the counts, without `against_rm_beta`, the comparison with LCMP without C_cong (rm-beta).
    pub fn counts(&self) -> LcmpCounts {
        LcmpCounts {
            decisions: self.decisions,
            unexplained: self.unexplained,
            path: (self.config.alpha > 0).then_some(self.path),
            congestion: (self.config.beta > 0).then_some(self.congestion),
            against_rm_beta: None,
        }
    }
}

/// Returns true if `reason` means that LCMP's scores made the decision for a new flow.
fn is_own_rule(reason: &str) -> bool {
    let own = [Rule::Scored, Rule::LeastCost, Rule::HashAll];
    own.map(|rule| Trigger::NewFlow.reason(rule))
        .contains(&reason)
}

/// Reconstructs a recorded decision: its candidates and the flow's hash. The hash is `None` if it does not lead to the
/// recorded choice. Returns `None` if the recorded costs and kept candidates do not follow from `config`.
///
/// A record does not state which ports were up. Those of cut links are taken to be dead if the decision then follows; a
/// switch learns of a cut some time later, so next, all ports up are tried. Failing that, a port counts as dead if it was
/// dropped although it costs less than a kept candidate. A dropped port whose cost equals the largest kept cost is dead
/// if the rule keeps ties; otherwise it may be up and beyond the kept half, so both cases are tried.
fn replayed(
    recorded: &NumberedDecision,
    seed: u32,
    config: &LcmpConfig,
    is_cut: impl Fn(PortId) -> bool,
) -> Option<(Vec<Candidate>, Option<u32>)> {
    let kept = recorded.candidates.iter().filter(|it| it.is_kept);
    let max_kept = kept.map(|it| it.cost).max()?;
    let candidates = |is_alive: &dyn Fn(&CandidateScore) -> bool| -> Vec<Candidate> {
        let candidate = |it: &CandidateScore| Candidate {
            path: it.c_path,
            congestion: it.c_cong,
            is_alive: is_alive(it),
            buckets: 1,
        };
        recorded.candidates.iter().map(candidate).collect()
    };
    let is_recorded = |candidates: &Vec<Candidate>| {
        decide(candidates, 0, config).is_some_and(|decision| {
            let mut pairs = decision.candidates().iter().zip(&recorded.candidates);
            pairs.all(|(scored, it)| {
                (!scored.candidate.is_alive || scored.cost == it.cost)
                    && scored.is_kept == it.is_kept
            })
        })
    };
    let alive: [&dyn Fn(&CandidateScore) -> bool; 4] = [
        &|it| !is_cut(it.port),
        &|_| true,
        &|it| it.is_kept || it.cost > max_kept,
        &|it| it.is_kept || it.cost >= max_kept,
    ];
    let found = alive.into_iter().map(candidates).find(is_recorded)?;
    let tuple = FlowTuple {
        src: recorded.src,
        dst: recorded.dst,
        sport: recorded.sport,
        dport: ROCE_PORT,
    };
    let hash = flow_hash(tuple, seed);
    let chosen = decide(&found, hash, config).map(|decision| decision.chosen);
    let port = chosen
        .and_then(|at| recorded.candidates.get(at))
        .map(|it| it.port);
    Some((found, (port == recorded.chosen).then_some(hash)))
}

/// Outcome of a decision, for comparison with another one.
#[derive(Default)]
struct DecisionResult {
    chosen: Option<usize>,
    /// Kept candidates in the order in which the hash indexes them, cheapest first.
    order: Vec<usize>,
}

impl DecisionResult {
    fn of(decision: Option<Decision>) -> Self {
        let Some(decision) = decision else {
            return Self::default();
        };
        let scored = decision.candidates();
        let mut order: Vec<usize> = (0..scored.len()).filter(|&at| scored[at].is_kept).collect();
        order.sort_by_key(|&at| (scored[at].cost, at));
        Self {
            chosen: Some(decision.chosen),
            order,
        }
    }

    fn kept(&self) -> Vec<usize> {
        let mut kept = self.order.clone();
        kept.sort_unstable();
        kept
    }
}

/// UDP destination port of RoCEv2.
const ROCE_PORT: u16 = 4791;

#[cfg(test)]
pub(super) mod tests {
    use std::net::Ipv4Addr;

    use lab_policy::lcmp::Keep;
    use lab_units::{BitsPerSec, DcId, FlowId, Nanos};

    use super::*;

    fn config() -> LcmpConfig {
        LcmpConfig::paper(BitsPerSec::new(200_000_000_000).expect("not zero"))
    }

    /// Returns a decision under `config` among candidates, each given as its C_path, its C_cong, and true if its port is
    /// up.
    fn decided(candidates: &[(u8, u8, bool)], config: &LcmpConfig, sport: u16) -> NumberedDecision {
        let candidates: Vec<Candidate> = candidates
            .iter()
            .map(|&(path, congestion, is_alive)| Candidate {
                path,
                congestion,
                is_alive,
                buckets: 1,
            })
            .collect();
        let src = Ipv4Addr::new(10, 0, 16, 1);
        let dst = Ipv4Addr::new(10, 0, 128, 1);
        let tuple = FlowTuple {
            src,
            dst,
            sport,
            dport: ROCE_PORT,
        };
        let decision =
            decide(&candidates, flow_hash(tuple, 7), config).expect("one candidate is alive");
        let scored = (0..).map(PortId).zip(decision.candidates());
        let candidates: Vec<CandidateScore> = scored
            .map(|(port, scored)| CandidateScore {
                port,
                c_path: scored.candidate.path,
                c_cong: scored.candidate.congestion,
                cost: scored.cost,
                is_kept: scored.is_kept,
            })
            .collect();
        NumberedDecision {
            policy: 0,
            repetition: 0,
            time: Nanos::ZERO,
            dc: DcId(0),
            flow: Some(FlowId(0)),
            src,
            dst,
            sport,
            reason: Trigger::NewFlow.reason(decision.rule),
            signal_age: Some(Nanos::ZERO),
            is_stale: false,
            chosen: Some(candidates[decision.chosen].port),
            candidates,
        }
    }

    /// Returns a decision between candidates with empty queues.
    pub(in super::super) fn decision() -> NumberedDecision {
        decided(&IDLE, &config(), 1)
    }

    fn counts(decisions: &[NumberedDecision], config: &LcmpConfig) -> LcmpCounts {
        let mut replay = Replay::new(config);
        decisions.iter().for_each(|it| replay.add(it, 7, |_| false));
        replay.counts()
    }

    const IDLE: [(u8, u8, bool); 4] = [(54, 0, true), (38, 0, true), (18, 0, true), (87, 0, true)];

    fn kept(decision: &NumberedDecision) -> Vec<bool> {
        decision.candidates.iter().map(|it| it.is_kept).collect()
    }

    #[test]
    fn without_congestion_c_cong_changes_nothing_and_c_path_does() {
        let decisions: Vec<_> = (0..40)
            .map(|sport| decided(&IDLE, &config(), sport))
            .collect();
        let counts = counts(&decisions, &config());
        assert_eq!((counts.decisions, counts.unexplained), (40, 0));
        assert_eq!(counts.congestion, Some(Changed::default()));
        let path = counts.path.expect("alpha is not 0");
        assert_eq!((path.kept, path.order), (40, 40));
        assert!((5..40).contains(&path.next_hop), "{path:?}");
    }

    #[test]
    fn congestion_that_moves_a_route_out_changes_the_kept_set() {
        let mut routes = IDLE;
        // 3 · 18 + 200 exceeds 3 · 54, so dc0 is kept instead of dc2.
        routes[2].1 = 200;
        let decisions: Vec<_> = (0..40)
            .map(|sport| decided(&routes, &config(), sport))
            .collect();
        let congestion = counts(&decisions, &config())
            .congestion
            .expect("beta is not 0");
        assert_eq!((congestion.kept, congestion.order), (40, 40));
        assert!(congestion.next_hop > 10, "{congestion:?}");
        // 3 · 18 + 70 is between 3 · 38 and 3 · 54, so the same two candidates are kept in the other order.
        routes[2].1 = 70;
        let decisions: Vec<_> = (0..40)
            .map(|sport| decided(&routes, &config(), sport))
            .collect();
        let congestion = counts(&decisions, &config())
            .congestion
            .expect("beta is not 0");
        assert_eq!((congestion.kept, congestion.order), (0, 40));
        assert_eq!(
            congestion.next_hop, 40,
            "the hash indexes the kept candidates in their order"
        );
    }

    #[test]
    fn a_dead_port_is_known_by_its_cost() {
        let mut routes = IDLE;
        routes[2].2 = false;
        let found = counts(&[decided(&routes, &config(), 1)], &config());
        assert_eq!((found.decisions, found.unexplained), (1, 0));
    }

    /// The costliest of three ports is dead, and one of the other two is kept. With all ports up, two would be.
    #[test]
    fn a_dead_port_that_costs_most_is_known_by_its_cut() {
        let decision = decided(
            &[(18, 0, true), (38, 0, true), (54, 0, false)],
            &config(),
            1,
        );
        assert_eq!(kept(&decision), [true, false, false]);
        for (cut, expected) in [(Some(PortId(2)), (1, 0)), (None, (0, 1))] {
            let config = config();
            let mut replay = Replay::new(&config);
            replay.add(&decision, 7, |port| Some(port) == cut);
            let found = replay.counts();
            assert_eq!((found.decisions, found.unexplained), expected, "{cut:?}");
        }
    }

    /// Four of five ports are up, and two of these are kept, with costs 3 · 18 and 3 · 38. `half` keeps ties, so the
    /// other port with cost 3 · 38, which was dropped, must be dead.
    #[test]
    fn a_dropped_port_of_a_kept_cost_is_dead_where_ties_are_kept() {
        let mut routes = [18, 38, 38, 54, 87].map(|path| (path, 0, true));
        routes[1].2 = false;
        let decision = decided(&routes, &config(), 1);
        assert_eq!(kept(&decision), [true, false, true, false, false]);
        let found = counts(&[decision], &config());
        assert_eq!((found.decisions, found.unexplained), (1, 0));
    }

    /// Of five ports that are up, `half-strict` keeps three: the port with C_path 30 and two of the three ports with
    /// C_path 60. The third port with C_path 60 is beyond the half, but up; if it were dead, only two of four ports
    /// would be kept.
    #[test]
    fn a_tie_beyond_the_cut_is_alive_beside_a_dead_port() {
        let strict = LcmpConfig {
            keep: Keep::HalfStrict,
            ..config()
        };
        let routes = [10, 30, 60, 60, 60, 90].map(|path| (path, 0, path != 10));
        let decision = decided(&routes, &strict, 1);
        assert_eq!(kept(&decision), [false, true, true, true, false, false]);
        let found = counts(&[decision], &strict);
        assert_eq!((found.decisions, found.unexplained), (1, 0));
    }

    #[test]
    fn costs_of_other_parameters_are_not_explained() {
        let tuned = LcmpConfig {
            alpha: 1,
            ..config()
        };
        let found = counts(&[decided(&IDLE, &tuned, 1)], &config());
        assert_eq!((found.decisions, found.unexplained), (0, 1));
        let stale = NumberedDecision {
            reason: Trigger::NewFlow.reason(Rule::Stale),
            ..decided(&IDLE, &config(), 1)
        };
        assert_eq!(counts(&[stale], &config()).decisions, 0);
    }

    #[test]
    fn an_ablation_has_only_the_cost_that_is_left() {
        let rm_beta = LcmpConfig {
            beta: 0,
            ..config()
        };
        let found = counts(&[decided(&IDLE, &rm_beta, 1)], &rm_beta);
        assert!(found.congestion.is_none() && found.path.is_some());
        let rm_alpha = LcmpConfig {
            alpha: 0,
            ..config()
        };
        let found = counts(&[decided(&IDLE, &rm_alpha, 1)], &rm_alpha);
        assert!(found.path.is_none() && found.congestion.is_some());
    }
}
