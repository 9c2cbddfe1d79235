//! Values of a run that assertions and gates use.

use std::collections::BTreeMap;

use lab_records::{DcPath, FlowCounts, FlowFields, FlowPaths, PathRow, RecordsError, RunInfo};
use lab_reports::facts::RunFacts;

/// Flows of a run, grouped by policy.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Description of the run.
    pub info: RunInfo,
    /// Seed of each run whose repetitions these are.
    pub draws: Vec<u64>,
    /// Reasons to distrust the run.
    pub doubts: Vec<String>,
    /// Policies in the order of the scenario.
    pub policies: Vec<PolicySamples>,
}

/// Flows of one policy.
#[derive(Clone, Debug, Default)]
pub struct PolicySamples {
    /// Label of the policy.
    pub policy: String,
    /// Number of flows by outcome.
    pub counts: FlowCounts,
    /// Sorted slowdowns of finished flows per repetition.
    pub repetitions: BTreeMap<u32, Vec<f64>>,
    /// Paths of the flows' data, by the datacenters of sender and receiver; `None` for a flow whose path is unknown.
    pub paths: BTreeMap<(String, String), Vec<Option<DcPath>>>,
}

impl Samples {
    /// Reads the flows of `run`.
    ///
    /// # Errors
    /// If the flows cannot be read.
    pub fn read(run: &RunFacts) -> Result<Self, RecordsError> {
        let info = run.info().clone();
        let mut policies: Vec<PolicySamples> = info
            .policies
            .iter()
            .map(|label| PolicySamples {
                policy: label.clone(),
                ..PolicySamples::default()
            })
            .collect();
        let mut paths = FlowPaths::default();
        run.visit(|row: PathRow| paths.add(&row))?;
        run.visit_measured(|policy, fields| policies[policy].add(fields, paths.of(fields)))?;
        let repetitions = policies
            .iter_mut()
            .flat_map(|it| it.repetitions.values_mut());
        repetitions.for_each(|slowdowns| slowdowns.sort_by(f64::total_cmp));
        Ok(Self {
            draws: vec![info.seed],
            info,
            doubts: run.doubts(),
            policies,
        })
    }

    /// Joins runs of one scenario that differ in the seed alone: their repetitions are numbered through. A copy of an
    /// earlier run, such as one with listed flows, counts once. `None` without runs.
    #[must_use]
    pub fn joined(runs: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut runs = runs.into_iter();
        let mut all = runs.next()?;
        for run in runs {
            for doubt in run.doubts {
                if !all.doubts.contains(&doubt) {
                    all.doubts.push(doubt);
                }
            }
            let own = run.policies.iter().zip(&all.policies);
            if own.clone().all(|(one, joined)| joined.has_draws_of(one)) {
                continue;
            }
            all.draws.extend(run.draws);
            let before = all.info.repetitions;
            all.info.repetitions += run.info.repetitions;
            for (joined, one) in all.policies.iter_mut().zip(run.policies) {
                joined.append(one, before);
            }
        }
        Some(all)
    }

    /// Returns the flows of the policy with this label; `None` if the run has no such policy.
    #[must_use]
    pub fn policy(&self, label: &str) -> Option<&PolicySamples> {
        self.policies.iter().find(|it| it.policy == label)
    }
}

impl PolicySamples {
    /// Appends the flows of `other`, whose repetitions come after `before` others.
    fn append(&mut self, other: Self, before: u32) {
        self.counts += other.counts;
        let later = other.repetitions.into_iter();
        self.repetitions
            .extend(later.map(|(number, slowdowns)| (before + number, slowdowns)));
        for (ends, paths) in other.paths {
            self.paths.entry(ends).or_default().extend(paths);
        }
    }

    fn has_draws_of(&self, other: &Self) -> bool {
        let is_known = |draw: &Vec<f64>| self.repetitions.values().any(|own| own == draw);
        !other.repetitions.is_empty() && other.repetitions.values().all(is_known)
    }

    fn add(&mut self, flow: FlowFields<'_>, paths: u32) {
        self.counts.add(flow, paths);
        if let Some(slowdown) = flow.slowdown {
            let repetition = self.repetitions.entry(flow.repetition).or_default();
            repetition.push(slowdown);
        }
        let ends = (flow.src_dc.to_owned(), flow.dst_dc.to_owned());
        let path = flow.path.map(|path| DcPath::new([path]));
        self.paths.entry(ends).or_default().push(path);
    }
}

#[cfg(test)]
mod tests {
    use lab_records::{FlowRow, RunWriter};
    use lab_sample as sample;
    use lab_units::{Bytes, FlowId};

    use super::*;

    fn run(repetitions: u32, slowdown: f64) -> Samples {
        let mut policy = PolicySamples {
            policy: "ecmp".to_owned(),
            ..PolicySamples::default()
        };
        for repetition in 0..repetitions {
            let value = slowdown + f64::from(repetition);
            policy.repetitions.insert(repetition, vec![value, value]);
            policy.counts.flows += 3;
            policy.counts.unfinished += 1;
        }
        Samples {
            info: RunInfo {
                repetitions,
                ..sample::info()
            },
            draws: vec![u64::from(repetitions)],
            doubts: vec!["late".to_owned(), "busy".to_owned()],
            policies: vec![policy],
        }
    }

    #[test]
    fn joined_runs_have_the_repetitions_of_all_and_copies_count_once() {
        let joined = Samples::joined([run(2, 1.0), run(1, 5.0), run(2, 1.0)]).unwrap();
        assert_eq!((joined.info.repetitions, joined.doubts.len()), (3, 2));
        assert_eq!(joined.draws, [2, 1]);
        let policy = &joined.policies[0];
        let draws = [(0, 1.0), (1, 2.0), (2, 5.0)].map(|(at, value)| (at, vec![value; 2]));
        assert_eq!(policy.repetitions, BTreeMap::from(draws));
        assert_eq!((policy.counts.flows, policy.counts.unfinished), (9, 3));
        assert!(Samples::joined([]).is_none());
    }

    /// On two paths, a flow can take 0.6 of its ideal FCT, on one path it cannot.
    #[test]
    fn a_re_routed_flow_is_too_fast_only_below_a_share_of_its_ideal_fct() {
        let results = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(results.path(), sample::now(), &sample::info()).unwrap();
        let path = |via| PathRow {
            policy: "ecmp".to_owned(),
            repetition: 0,
            flow_id: FlowId(0),
            path: DcPath::new(["dc1", via, "dc8"]),
            sent_bytes: Bytes::new(1),
            emu_sent_bytes: Bytes::new(1),
        };
        writer.append_paths(&[path("dc2"), path("dc3")]).unwrap();
        for flow_id in [FlowId(0), FlowId(1)] {
            let row = FlowRow {
                flow_id,
                slowdown: Some(0.6),
                ..sample::flow("ecmp")
            };
            writer.append_flows([&row]).unwrap();
        }
        let run = RunFacts::open(writer.dir()).unwrap();
        let samples = Samples::read(&run).unwrap();
        assert_eq!(samples.policy("ecmp").unwrap().counts.below_one, 1);
    }

    #[test]
    fn runs_without_finished_flows_are_no_copies() {
        let lost = || {
            let mut run = run(1, 1.0);
            run.policies[0].repetitions.clear();
            run
        };
        let joined = Samples::joined([lost(), lost()]).unwrap();
        assert_eq!(joined.policies[0].counts.unfinished, 2);
    }
}
