//! A batch of wanted runs: each is answered by an ended run that serves, or by a new one.

use std::{
    borrow::Borrow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use super::{BatchProgress, FoundRuns, Make, Reuse, Wanted};
use crate::{failure::Failure, terminal::note};

/// Batch of runs, each of which is either reused from an ended run or performed.
pub struct RunBatch<M> {
    make: M,
    found: FoundRuns,
    /// Failures of performed runs by identity, so that no run is tried twice in a batch.
    failed: BTreeMap<Reuse, Failure>,
    /// Message of every failure after an interruption.
    interruption: &'static str,
}

impl<M: Make> RunBatch<M> {
    /// Returns a batch that reuses the ended runs in `found` and performs all other runs with `make`; `interruption` is
    /// the message of the failures after an interruption.
    pub fn new(make: M, found: FoundRuns, interruption: &'static str) -> Self {
        Self {
            make,
            found,
            failed: BTreeMap::new(),
            interruption,
        }
    }

    /// Returns the directory of an ended run that can replace `wanted`; `None` if a new run is needed.
    pub fn found(&self, wanted: &Wanted) -> Option<&Path> {
        self.found.run(&wanted.reuse)
    }

    /// Returns an iterator that yields the run directory or the failure of each wanted run, in order. A missing run is
    /// performed when the iterator reaches it. After an interruption, every further item is a failure with exit code 4.
    pub fn answers<W: Borrow<Wanted>>(
        &mut self,
        wishes: &[W],
    ) -> impl Iterator<Item = Result<PathBuf, Failure>> {
        let mut progress = BatchProgress::of(wishes.len());
        let count = wishes.len();
        (1..).zip(wishes).map(move |(number, wanted)| {
            let wanted = wanted.borrow();
            let answer = self.answer(wanted, &mut progress, count > 1);
            if number == count && count > 1 && !self.make.is_interrupted() {
                note(&progress.line());
            }
            answer
        })
    }

    /// Returns the run directory of a single wanted run, or its failure.
    pub fn only(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure> {
        self.answer(wanted, &mut BatchProgress::of(1), false)
    }

    fn answer(
        &mut self,
        wanted: &Wanted,
        progress: &mut BatchProgress,
        is_shown: bool,
    ) -> Result<PathBuf, Failure> {
        self.end_if_interrupted()?;
        if let Some(run) = self.found(wanted) {
            progress.found();
            return Ok(run.to_owned());
        }
        if let Some(failure) = self.failed.get(&wanted.reuse) {
            progress.failed_before();
            return Err(failure.clone());
        }
        if is_shown {
            note(&format!("{}; next: {}", progress.line(), wanted.name));
        }
        let since = Instant::now();
        let made = self.make.make(wanted);
        self.end_if_interrupted()?;
        progress.made(since.elapsed());
        match &made {
            Ok(run) => self.found.add(wanted.reuse.clone(), run.clone()),
            Err(_) if wanted.reuse == Reuse::Never => {}
            Err(failure) => {
                note(&format!("run failed: {}: {}", wanted.name, failure.message));
                self.failed.insert(wanted.reuse.clone(), failure.clone());
            }
        }
        made
    }

    fn end_if_interrupted(&self) -> Result<(), Failure> {
        if self.make.is_interrupted() {
            Err(Failure::interrupted(self.interruption))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lab_records::RunRequest;
    use lab_units::Engine;

    use super::*;
    use crate::failure::Exit;

    /// Maker for tests; returns the name of the wanted run as the run directory.
    #[derive(Default)]
    struct Fake {
        made: Vec<String>,
        failing: BTreeSet<&'static str>,
        /// Number of the run, counted from 1, during which a signal arrives; `None` for no signal.
        interrupted_at: Option<usize>,
    }

    impl Make for Fake {
        fn make(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure> {
            self.made.push(wanted.name.clone());
            if self.failing.contains(&*wanted.name) {
                return Err(Failure::environment("no memory"));
            }
            Ok(PathBuf::from(&wanted.name))
        }

        fn is_interrupted(&self) -> bool {
            self.interrupted_at == Some(self.made.len())
        }
    }

    fn batch(make: Fake) -> RunBatch<Fake> {
        RunBatch::new(make, FoundRuns::default(), "the batch was interrupted")
    }

    /// Returns wanted runs with these names; an ended run can replace a wanted run of the same name.
    fn wishes(names: &[&str]) -> Vec<Wanted> {
        let wanted = |name: &&str| Wanted {
            reuse: Reuse::SamePlan((*name).to_owned()),
            ..new_run(name)
        };
        names.iter().map(wanted).collect()
    }

    fn new_run(name: &str) -> Wanted {
        let request = RunRequest::new(PathBuf::from(name), Engine::Sim);
        Wanted::new_run(name.to_owned(), request)
    }

    fn answers(batch: &mut RunBatch<Fake>, wishes: &[Wanted]) -> Vec<Result<PathBuf, Exit>> {
        let answers = batch.answers(wishes);
        answers
            .map(|answer| answer.map_err(|failure| failure.exit))
            .collect()
    }

    fn ran(name: &str) -> Result<PathBuf, Exit> {
        Ok(PathBuf::from(name))
    }

    #[test]
    fn answers_have_the_order_of_the_wishes_and_found_runs_are_not_made_again() {
        let mut batch = batch(Fake::default());
        let earlier = PathBuf::from("earlier");
        batch.found.add(Reuse::SamePlan("b".to_owned()), earlier);
        let wishes = wishes(&["c", "b", "a", "c"]);
        let expected = [ran("c"), ran("earlier"), ran("a"), ran("c")];
        assert_eq!(answers(&mut batch, &wishes), expected);
        assert_eq!(batch.make.made, ["c", "a"]);
    }

    #[test]
    fn a_wish_for_a_new_run_is_never_served_by_another() {
        let mut batch = batch(Fake {
            failing: BTreeSet::from(["b"]),
            ..Fake::default()
        });
        let wishes = ["a", "a", "b", "b"].map(new_run);
        let failed = || Err(Exit::Environment);
        let expected = [ran("a"), ran("a"), failed(), failed()];
        assert_eq!(answers(&mut batch, &wishes), expected);
        assert_eq!(batch.make.made, ["a", "a", "b", "b"]);
    }

    #[test]
    fn a_run_that_failed_is_tried_once() {
        let mut batch = batch(Fake {
            failing: BTreeSet::from(["b"]),
            ..Fake::default()
        });
        let wishes = wishes(&["b", "a", "b"]);
        let failed = || Err(Exit::Environment);
        let expected = [failed(), ran("a"), failed()];
        assert_eq!(answers(&mut batch, &wishes), expected);
        assert_eq!(batch.only(&wishes[0]).map_err(|it| it.exit), failed());
        assert_eq!(batch.make.made, ["b", "a"]);
    }

    #[test]
    fn after_an_interruption_a_second_batch_makes_only_the_rest() {
        let mut first = batch(Fake {
            interrupted_at: Some(2),
            ..Fake::default()
        });
        let wishes = wishes(&["a", "b", "c"]);
        let interrupted = || Err(Exit::Inconclusive);
        let expected = [ran("a"), interrupted(), interrupted()];
        assert_eq!(answers(&mut first, &wishes), expected);
        assert_eq!(first.make.made, ["a", "b"]);
        let mut second = RunBatch::new(Fake::default(), first.found, "");
        let expected = [ran("a"), ran("b"), ran("c")];
        assert_eq!(answers(&mut second, &wishes), expected);
        assert_eq!(second.make.made, ["b", "c"]);
    }
}
