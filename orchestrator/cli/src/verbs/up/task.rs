//! Planned run of a lab. `up` plans the run once, and passes the plan and the task to each process of this program that
//! takes part in the run.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_files::Links;
use lab_kernel::LabName;
use lab_plan::Plan;
use lab_records::{
    Provenance, UtcTime,
    directory::{self, MAX_RUN_FILE, PLAN_FILE},
    draft,
};
use lab_scenario::Files;
use serde::{Deserialize, Serialize};

use crate::{
    args::PlaceArgs,
    failure::{During, Failure},
    programs, run_dir,
};

/// Planned run of a lab, on this kernel or in a guest.
#[derive(Deserialize, Serialize)]
pub struct Request {
    /// Options of the run that its plan does not contain.
    pub task: Task,
    /// Plan for lab slot 0, whose addresses and names are changed to those of the lab's slot when the lab is created.
    pub plan: Plan,
    /// YAML text of the scenario.
    pub scenario: String,
    /// Texts of the files that the scenario names, by their paths.
    pub files: Files,
    /// Options of the command line that select this kernel or a guest.
    pub place: PlaceArgs,
}

/// Options of a run that its plan does not contain, and the origin for its records.
#[derive(Clone, Deserialize, Serialize)]
pub struct Task {
    /// Name of the lab.
    pub lab: LabName,
    /// True if the lab stays up after its flows.
    pub keep: bool,
    /// True if flows run even if a link's measured rate, delay or buffer is out of its bounds.
    pub uncertified: bool,
    /// Absolute path of the scenario's folder; the paths of eBPF objects are relative to it.
    pub objects: PathBuf,
    /// Origin of the run, such as command line and commit, for its records.
    pub provenance: Provenance,
}

impl Request {
    /// Writes the plan, the scenario and its files into the run directory `dir`.
    pub fn keep_inputs(&self, dir: &Path) -> Result<(), Failure> {
        run_dir::write_scenario(dir, &self.scenario, &self.files)?;
        run_dir::write_plan(dir, &self.plan)?;
        programs::keep(dir, &self.plan, &self.task.objects)
    }
}

/// Task of a guest, which the host writes into the run directory, next to the plan.
#[derive(Deserialize, Serialize)]
pub struct GuestTask {
    /// Options of the run.
    pub task: Task,
    /// SHA-256 of the plan's file, in lower-case hexadecimal digits.
    pub plan_hash: String,
    /// Start of the run by the host's clock, because the guest's clock differs.
    pub started_at: UtcTime,
}

impl GuestTask {
    /// Returns the task of a guest for a run that started at `now`; `plan_hash` is the hash of the plan's file.
    pub fn new(task: &Task, plan_hash: String, now: SystemTime) -> Self {
        Self {
            task: task.clone(),
            plan_hash,
            started_at: UtcTime::new(now),
        }
    }

    /// Writes the task's file into the run directory `dir`.
    pub fn write(&self, dir: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).expect("a task is plain data");
        draft::replace(&dir.join(TASK_FILE), &text).during("write the guest's task")
    }

    /// Reads the task and the plan from the run directory `dir`.
    ///
    /// # Errors
    /// If a file cannot be read, or the plan is not the one that the host wrote.
    pub fn read(dir: &Path) -> Result<(Self, Plan), Failure> {
        let text = lab_files::read_text(&dir.join(TASK_FILE), Links::Refuse, MAX_RUN_FILE)
            .during("read the guest's task")?;
        let task: Self = serde_json::from_str(&text).during("read the guest's task")?;
        let plan = directory::read_text(dir, PLAN_FILE)
            .during("read the plan")?
            .unwrap_or_default();
        if run_dir::hash(&plan) != task.plan_hash {
            return Err(Failure::environment(format_args!(
                "`{}` is not the plan that the host made",
                dir.join(PLAN_FILE).display()
            )));
        }
        let plan = serde_json::from_str(&plan).during("read the plan")?;
        Ok((task, plan))
    }

    /// Removes the task's file from the run directory `dir`, once the guest has read it or has ended.
    pub fn remove(dir: &Path) {
        // A file that remains does no harm, because bundles leave out hidden files.
        let _ = fs::remove_file(dir.join(TASK_FILE));
    }
}

/// Name of the task's file in a run directory.
const TASK_FILE: &str = ".task.json";

#[cfg(test)]
mod tests {
    use lab_plan::PlanOptions;
    use lab_units::{Bytes, Clock};

    use super::*;

    const SCENARIO: &str = "name: pair\ntopology:\n  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }]\n  links: \
                            [{ between: [a, b], rate: 1 Gbit, delay: 1 ms }]\ntraffic:\n  - flows: [{ from: a/h1, \
                            to: b/h1, size: 1 MB }]\npolicies: [ecmp]\n";

    fn plan() -> Plan {
        let scenario = lab_scenario::parse("pair.yaml", SCENARIO.as_bytes()).unwrap();
        let options = PlanOptions::default();
        lab_plan::resolve(&scenario, SCENARIO, &Files::new(), &options).unwrap()
    }

    /// Writes a plan and a guest's task into `dir`, as the host does.
    fn write(dir: &Path) -> GuestTask {
        let plan = plan();
        run_dir::write_plan(dir, &plan).unwrap();
        run_dir::write_scenario(dir, SCENARIO, &Files::new()).unwrap();
        let text = fs::read_to_string(dir.join(PLAN_FILE)).unwrap();
        let task = Task {
            lab: "pair".parse().unwrap(),
            keep: true,
            uncertified: false,
            objects: "/scenarios".into(),
            provenance: Provenance::default(),
        };
        let task = GuestTask::new(&task, run_dir::hash(&text), SystemTime::UNIX_EPOCH);
        task.write(dir).unwrap();
        task
    }

    #[test]
    fn a_guest_reads_the_task_and_the_plan_that_the_host_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let written = serde_json::to_value(write(dir.path())).unwrap();
        let (read, plan) = GuestTask::read(dir.path()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), written);
        assert!(plan == self::plan());
        GuestTask::remove(dir.path());
        assert!(GuestTask::read(dir.path()).is_err());
    }

    #[test]
    fn another_plan_than_the_hosts_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path());
        let other = plan().in_slot(1);
        run_dir::write_plan(dir.path(), &other).unwrap();
        let failure = GuestTask::read(dir.path()).err().unwrap();
        assert!(
            failure
                .message
                .ends_with("plan.json` is not the plan that the host made"),
            "{}",
            failure.message
        );
        fs::remove_file(dir.path().join(PLAN_FILE)).unwrap();
        assert!(GuestTask::read(dir.path()).is_err());
    }

    #[test]
    fn a_request_reaches_another_process_whole() {
        let dir = tempfile::tempdir().unwrap();
        let request = Request {
            task: write(dir.path()).task,
            plan: plan(),
            scenario: SCENARIO.to_owned(),
            files: [("sizes.csv".to_owned(), "1,1\n".to_owned())].into(),
            place: PlaceArgs {
                here: false,
                guest: true,
                clock: Some(Clock::Virtual),
                kernel: Some("6.12".to_owned()),
                guest_memory: Some(Bytes::new(4 << 30)),
            },
        };
        let text = serde_json::to_string(&request).unwrap();
        let read: Request = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(read.plan == request.plan);
    }
}
