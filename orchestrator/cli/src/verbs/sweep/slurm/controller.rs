//! Controller of a sweep's Slurm tasks. Everything that it knows is in the sweep's directory, so it can be killed and
//! started again at any time.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs, mem,
    path::{self, PathBuf},
    process, thread,
    time::{Duration, Instant, SystemTime},
};

use lab_sweep::{
    CellCost, CellQueue, Manifest, Store, StoreError,
    slurm::{TaskArray, TaskCell, TaskEnd, TaskHistory, TaskId, TaskLimits, TaskPlan, TaskState},
};
use lab_units::show::counted;
use tokio_util::sync::CancellationToken;

use super::{TaskCounts, commands, forget, task::INTERRUPTED};
use crate::{
    args::SlurmArgs,
    failure::{During, Failure},
    terminal::{self, note},
    verbs::sweep::meter::Meter,
};

/// Controller of the Slurm tasks that run the cells of a sweep.
pub struct Controller<'a> {
    store: &'a Store,
    options: &'a SlurmArgs,
    manifest: &'a Manifest,
    /// This program, and the directory of the sweep.
    program: PathBuf,
    dir: PathBuf,
    /// Maximum number of tasks of an array that run at a time; `None` for no limit.
    at_a_time: Option<usize>,
    /// Maximum number of tasks in an array.
    max_tasks: usize,
    /// Cells that have not ended, by identity.
    left: BTreeMap<String, usize>,
    arrays: Vec<TaskArray>,
    /// Number of times that an ended task has been seen.
    ended: BTreeMap<TaskId, u32>,
    cancelled: usize,
    /// True if the user knows that Slurm refuses tasks while others run, or will never start one.
    is_postponed: bool,
    has_obstacle: bool,
    queue: CellQueue,
    meter: Meter,
    /// Time of the start, and number of arrays since then, for their names.
    started: SystemTime,
    named: u32,
}

impl<'a> Controller<'a> {
    /// Creates the controller of the cells `waiting`, each with its number and identity, with their estimated `costs`.
    /// Fails if Slurm cannot be asked.
    pub fn new(
        (manifest, store): (&'a Manifest, &'a Store),
        (options, at_a_time): (&'a SlurmArgs, Option<usize>),
        waiting: &[(usize, &str)],
        costs: Vec<(usize, CellCost)>,
    ) -> Result<Self, Failure> {
        let dir = store.dir();
        let folder = store.slurm();
        fs::create_dir_all(&folder).during(format_args!("create `{}`", folder.display()))?;
        let max_tasks = commands::max_tasks()?;
        let left = waiting
            .iter()
            .map(|(number, identity)| ((*identity).to_owned(), *number));
        Ok(Self {
            store,
            options,
            manifest,
            program: env::current_exe().during("find this program")?,
            // Links stay as they are, because nodes may mount file systems elsewhere.
            dir: path::absolute(dir).during(format_args!("find `{}`", dir.display()))?,
            at_a_time,
            max_tasks,
            left: left.collect(),
            arrays: store.arrays()?,
            ended: BTreeMap::new(),
            cancelled: 0,
            is_postponed: false,
            has_obstacle: false,
            queue: CellQueue::new(costs),
            meter: Meter::new(waiting.len()),
            started: SystemTime::now(),
            named: 0,
        })
    }

    /// Submits the cells that no task has, with their `costs`, and watches all tasks until they have ended or a signal
    /// arrives, which leaves the tasks as they are.
    pub fn run(mut self, costs: &BTreeMap<usize, CellCost>) -> Result<(), Failure> {
        let stop = CancellationToken::new();
        terminal::on_signal(&stop, "interrupted: the Slurm tasks go on", "")
            .during("listen to signals")?;
        self.obey_cancel()?;
        self.cancelled = 0;
        self.adopt()?;
        let owned: BTreeSet<String> = self
            .arrays
            .iter()
            .flat_map(|array| array.tasks.iter().flatten())
            .map(|cell| cell.identity.clone())
            .collect();
        let mut new = Vec::new();
        for (identity, &number) in &self.left {
            if owned.contains(identity) {
                continue;
            }
            self.store.forget_failure(identity)?;
            let identity = identity.clone();
            new.push((TaskCell { number, identity }, costs[&number]));
        }
        let plans = TaskPlan::of_cells(new);
        self.add(
            plans.into_iter().map(|plan| self.limited(plan)).collect(),
            TaskHistory::default(),
        )?;
        let mut pause = SHORTEST_PAUSE;
        let mut is_told = false;
        let mut left = self.left.len();
        while !stop.is_cancelled() {
            match self.look() {
                Ok(()) => is_told = false,
                Err(Look::Broken(failure)) => return Err(failure),
                // The controller of Slurm may be starting again.
                Err(Look::NoAnswer(failure)) if !is_told => {
                    is_told = true;
                    note(&format!(
                        "{}; asking again until Slurm answers",
                        failure.message
                    ));
                }
                Err(Look::NoAnswer(_)) => {}
            }
            if self.arrays.is_empty() {
                break;
            }
            let is_quiet = self.left.len() == left;
            left = self.left.len();
            pause = if is_quiet {
                (pause * 2).min(LONGEST_PAUSE)
            } else {
                SHORTEST_PAUSE
            };
            let until = Instant::now() + pause;
            while Instant::now() < until && !stop.is_cancelled() {
                thread::sleep(TICK);
            }
        }
        self.meter.finish();
        if self.cancelled > 0 && !stop.is_cancelled() {
            return Err(Failure::interrupted(format_args!(
                "the Slurm tasks of {} were cancelled (hint: the same command submits them again)",
                counted(self.cancelled as u64, "cell")
            )));
        }
        Ok(())
    }

    /// Takes over the arrays of an earlier process. Those that were never submitted are dissolved, because their limits
    /// may not be those of this command line.
    fn adopt(&mut self) -> Result<(), Failure> {
        for mut array in mem::take(&mut self.arrays) {
            let job = commands::job_of(self.store, &array)?;
            if job.is_none() && array.history == TaskHistory::default() {
                self.store.remove_array(&array.name)?;
                continue;
            }
            array.job = job;
            self.store.write_array(&array)?;
            self.arrays.push(array);
        }
        Ok(())
    }

    /// Ends all tasks if `sweep cancel` asks for it.
    fn obey_cancel(&mut self) -> Result<(), Failure> {
        if !self.store.is_to_cancel() {
            return Ok(());
        }
        let arrays = mem::take(&mut self.arrays);
        commands::cancel(&commands::jobs_of(self.store, &arrays)?)?;
        forget(self.store)?;
        self.cancelled = self.left.len();
        Ok(())
    }

    /// Submits what is not submitted yet, and concludes what has ended.
    fn look(&mut self) -> Result<(), Look> {
        let states = commands::states().map_err(Look::NoAnswer)?;
        self.obey_cancel().map_err(Look::NoAnswer)?;
        let no_answer = |error: StoreError| Look::NoAnswer(error.into());
        let done = self
            .store
            .complete(self.manifest.records)
            .map_err(no_answer)?;
        let failed = self.store.failed().map_err(no_answer)?;
        self.count_ended(&done, &failed)?;
        for (at, index, end) in self.ended_tasks(&states) {
            self.conclude(at, index, end)?;
        }
        self.drop_concluded()?;
        self.submit()?;
        let counts = TaskCounts::in_arrays(&self.arrays, &states);
        if let Some(reason) = counts.obstacle()
            && !mem::replace(&mut self.has_obstacle, true)
        {
            note(&format!(
                "Slurm will not start a task: {reason} (hint: `--task-minutes` and `--task-memory` set other limits; \
                 `lcmp-lab sweep cancel` ends the tasks)"
            ));
        }
        let running = counts.running.max(1);
        self.meter
            .show(&self.queue, running, &format!(", {counts}"));
        Ok(())
    }

    /// Counts the cells that have results or have failed by themselves.
    fn count_ended(
        &mut self,
        done: &BTreeSet<String>,
        failed: &BTreeSet<String>,
    ) -> Result<(), Failure> {
        let ended: Vec<String> = self
            .left
            .keys()
            .filter(|identity| done.contains(*identity) || failed.contains(*identity))
            .cloned()
            .collect();
        for identity in ended {
            let cost = if done.contains(&identity) {
                self.store.cost(&identity)?
            } else {
                None
            };
            self.end(&identity, cost);
        }
        Ok(())
    }

    /// Counts a cell that has ended; it has failed if it has no cost.
    fn end(&mut self, identity: &str, cost: Option<CellCost>) {
        if let Some(number) = self.left.remove(identity) {
            self.queue.end(number, cost);
            self.meter.failed += usize::from(cost.is_none());
        }
    }

    /// Returns the tasks that have ended since the last look, each by the position of its array and its index. A task counts as ended once it was seen so twice, because a
    /// shared file system may show the last results of a task after Slurm shows the task's end.
    fn ended_tasks(
        &mut self,
        states: &BTreeMap<TaskId, TaskState>,
    ) -> Vec<(usize, usize, TaskEnd)> {
        let mut found = Vec::new();
        for (at, array) in self.arrays.iter().enumerate() {
            let Some(job) = array.job else { continue };
            for (index, cells) in array.tasks.iter().enumerate() {
                let id = (job, index);
                let end = match states.get(&id) {
                    Some(TaskState::Ended(end)) => *end,
                    None => TaskEnd::Forgotten,
                    Some(TaskState::Waiting(_) | TaskState::Running) => {
                        self.ended.remove(&id);
                        continue;
                    }
                };
                let seen = self.ended.entry(id).or_default();
                *seen += 1;
                if *seen < LOOKS || cells.is_empty() {
                    continue;
                }
                found.push((at, index, end));
            }
        }
        found
    }

    /// Takes an ended task out of its array, and decides what becomes of its cells without results: they are tried once
    /// more, or have failed.
    fn conclude(&mut self, at: usize, index: usize, end: TaskEnd) -> Result<(), Failure> {
        let cells = mem::take(&mut self.arrays[at].tasks[index]);
        let is_alone = cells.len() == 1;
        let mut left = Vec::new();
        for cell in cells {
            if !self.left.contains_key(&cell.identity) {
                continue;
            }
            // A listing of a shared folder may be older than the file itself.
            if self
                .store
                .is_complete(&cell.identity, self.manifest.records)?
            {
                self.end(&cell.identity, self.store.cost(&cell.identity)?);
            } else {
                left.push(cell);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        let array = &self.arrays[at];
        let earlier = array.limits;
        let log = format!("{}-{index}.log", array.name);
        let said = fs::read_to_string(self.store.slurm().join(log)).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let end = refined(end, &said, last);
        if end == TaskEnd::Cancelled {
            self.cancelled += left.len();
            return Ok(());
        }
        let last = last.map_or_else(String::new, |line| format!("; it last wrote: {line}"));
        let job = array.job.unwrap_or_default();
        let happened = format!("Slurm task {job}_{index} {end}{last}");
        let Some((history, limits)) = array.history.again(earlier, end, is_alone) else {
            for cell in &left {
                let message = format!(
                    "its {happened}; its limits were {earlier}, and an earlier task had no results either"
                );
                self.fail(cell, &message)?;
            }
            return Ok(());
        };
        note(&format!(
            "{happened}; running {} again with limits of {limits}",
            counted(left.len() as u64, "cell")
        ));
        // The record of the ended task comes first: if this process is killed before the next line, the cells are in no
        // task and are submitted when the sweep goes on.
        self.store.write_array(array)?;
        let alone = |cell| TaskPlan {
            limits,
            cells: vec![cell],
        };
        self.add(left.into_iter().map(alone).collect(), history)
    }

    /// Returns `plan` with the limits that the command line sets.
    fn limited(&self, plan: TaskPlan) -> TaskPlan {
        let set = self.options;
        let limits = TaskLimits {
            minutes: set.task_minutes.unwrap_or(plan.limits.minutes),
            mebibytes: set
                .task_memory
                .map_or(plan.limits.mebibytes, |memory| (memory.get() >> 20).max(1)),
        };
        TaskPlan { limits, ..plan }
    }

    /// Records tasks, which [`Self::submit`] submits.
    fn add(&mut self, plans: Vec<TaskPlan>, history: TaskHistory) -> Result<(), Failure> {
        for (limits, tasks) in TaskPlan::into_arrays(plans, self.max_tasks) {
            let epoch = SystemTime::UNIX_EPOCH;
            let since = self.started.duration_since(epoch).unwrap_or_default();
            let name = format!("{:x}-{:x}-{}", since.as_millis(), process::id(), self.named);
            self.named += 1;
            let array = TaskArray {
                name,
                job: None,
                limits,
                tasks,
                history,
            };
            self.store.write_array(&array)?;
            self.arrays.push(array);
        }
        Ok(())
    }

    /// Submits the arrays without a job. The job of an array whose submission was not answered is looked up first, so
    /// that nothing runs twice.
    fn submit(&mut self) -> Result<(), Look> {
        for at in 0..self.arrays.len() {
            let array = &self.arrays[at];
            if array.job.is_some() {
                continue;
            }
            let job = match commands::job_of(self.store, array).map_err(Look::NoAnswer)? {
                Some(job) => Ok(job),
                None => {
                    let what = (&*self.program, &*self.dir, &*self.manifest.name);
                    commands::submit(array, what, self.options, self.at_a_time)
                }
            };
            match job {
                Ok(job) => {
                    self.arrays[at].job = Some(job);
                    self.store.write_array(&self.arrays[at])?;
                }
                Err(refused) => {
                    // The job may exist although its submission was not answered.
                    let found = commands::job_of(self.store, &self.arrays[at]);
                    if found.map_err(Look::NoAnswer)?.is_some() {
                        continue;
                    }
                    let others_run = self.arrays.iter().any(|array| array.job.is_some());
                    if others_run && !self.arrays[at].history.has_failed {
                        // A limit on the number of a user's jobs ends with the jobs.
                        self.postpone(&refused);
                        return Ok(());
                    }
                    self.give_up(at, refused)?;
                }
            }
        }
        Ok(())
    }

    /// Notes once that Slurm refuses an array while other tasks run.
    fn postpone(&mut self, refused: &Failure) {
        if !mem::replace(&mut self.is_postponed, true) {
            note(&format!(
                "{}; trying again while other tasks run",
                refused.message
            ));
        }
    }

    /// Removes an array that Slurm refuses. The cells of a second try, whose limits are higher, have
    /// then failed; a first try ends the sweep.
    fn give_up(&mut self, at: usize, refused: Failure) -> Result<(), Failure> {
        let array = &mut self.arrays[at];
        let tasks = mem::take(&mut array.tasks);
        self.store.remove_array(&array.name)?;
        if !array.history.has_failed {
            for array in self.arrays.iter().filter(|array| array.job.is_none()) {
                self.store.remove_array(&array.name)?;
            }
            return Err(refused);
        }
        for cell in tasks.iter().flatten() {
            self.fail(
                cell,
                &format!(
                    "Slurm refused its second task, which had higher limits: {}",
                    refused.message
                ),
            )?;
        }
        Ok(())
    }

    fn fail(&mut self, cell: &TaskCell, message: &str) -> Result<(), Failure> {
        self.store.write_failure(&cell.identity, message)?;
        self.end(&cell.identity, None);
        Ok(())
    }

    /// Removes the arrays without tasks.
    fn drop_concluded(&mut self) -> Result<(), Failure> {
        let is_over = |array: &mut TaskArray| array.tasks.iter().all(Vec::is_empty);
        for array in self.arrays.extract_if(.., is_over) {
            self.store.remove_array(&array.name)?;
        }
        Ok(())
    }
}

/// Problem of a look at the tasks.
enum Look {
    /// Slurm does not answer now.
    NoAnswer(Failure),
    Broken(Failure),
}

impl<T: Into<Failure>> From<T> for Look {
    fn from(failure: T) -> Self {
        Self::Broken(failure.into())
    }
}

/// Returns the end of a task by Slurm's state `end` and by the task's log, which tells apart what Slurm's state does not.
fn refined(end: TaskEnd, log: &str, last: Option<&str>) -> TaskEnd {
    if !matches!(
        end,
        TaskEnd::Completed | TaskEnd::Failed | TaskEnd::Forgotten
    ) {
        return end;
    }
    // A task that Slurm started again writes to the same log.
    let says = |words: &[&str]| {
        let lines = log.lines().rev().take(LOG_LINES);
        lines
            .into_iter()
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    if says(&["memory limit", "oom-kill", "oom_kill", "killed by signal 9"]) {
        TaskEnd::OutOfMemory
    } else if says(&["DUE TO TIME LIMIT"]) {
        TaskEnd::TimedOut
    } else if last.is_some_and(|line| line.contains(INTERRUPTED)) {
        TaskEnd::NodeLost
    } else {
        end
    }
}

/// Number of a log's last lines that tell how its task ended.
const LOG_LINES: usize = 20;

/// Number of looks at which a task must have ended.
const LOOKS: u32 = 2;

/// Bounds of the time between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Time between two looks at signals.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of Slurm's daemons and of a task, as they wrote them.
    #[test]
    fn a_log_tells_how_a_task_ended() {
        let end = |log: &str| refined(TaskEnd::Failed, log, log.lines().last());
        let memory = "slurmstepd-n1: error: Exceeded job memory limit\n";
        assert_eq!(end(memory), TaskEnd::OutOfMemory);
        let group = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.\n";
        assert_eq!(end(group), TaskEnd::OutOfMemory);
        let time = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n";
        assert_eq!(end(time), TaskEnd::TimedOut);
        assert_eq!(end("error: the task was interrupted\n"), TaskEnd::NodeLost);
        assert_eq!(end("no room in the bloom filter\n"), TaskEnd::Failed);
        assert_eq!(refined(TaskEnd::NodeLost, memory, None), TaskEnd::NodeLost);
    }
}
