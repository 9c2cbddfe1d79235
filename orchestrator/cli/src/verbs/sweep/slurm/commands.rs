//! Commands of Slurm.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use lab_sweep::{
    Store,
    slurm::{FORMAT, TaskArray, TaskId, TaskState, task_states},
};
use nix::unistd::geteuid;

use crate::{
    args::SlurmArgs,
    failure::{During, Failure},
};

/// Returns the states of this user's tasks: those that have not ended, and those that ended a short time ago.
/// Fails if Slurm cannot be asked.
pub fn states() -> Result<BTreeMap<TaskId, TaskState>, Failure> {
    let format = format!("--format={FORMAT}");
    let output = queue(&["--array", "--states=all", &format])?;
    Ok(task_states(&output))
}

/// Returns the number of the job that was submitted for `array` of the sweep in `store`; `None` if neither its tasks nor
/// Slurm know one.
/// Fails if Slurm cannot be asked.
pub fn job_of(store: &Store, array: &TaskArray) -> Result<Option<u64>, Failure> {
    if let Some(job) = array.job.or_else(|| store.claimed(&array.name)) {
        return Ok(Some(job));
    }
    let name = format!("--name={}", job_name(array));
    let output = queue(&["--states=all", &name, "--format=%F"])?;
    Ok(output.lines().find_map(|line| line.trim().parse().ok()))
}

/// Returns the numbers of the jobs that were submitted for `arrays`.
/// Fails if Slurm cannot be asked.
pub fn jobs_of(store: &Store, arrays: &[TaskArray]) -> Result<Vec<u64>, Failure> {
    let found: Result<Vec<_>, Failure> = arrays.iter().map(|array| job_of(store, array)).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Submits `array`, whose tasks run cells of the sweep `sweep` in the directory `dir` by `program`, and returns the number
/// of its job.
/// Fails if Slurm refuses it.
pub fn submit(
    array: &TaskArray,
    (program, dir, sweep): (&Path, &Path, &str),
    options: &SlurmArgs,
    at_a_time: Option<usize>,
) -> Result<u64, Failure> {
    let words = [program, dir].map(|path| quoted(&path.to_string_lossy()));
    let script = format!(
        "#!/bin/sh\nexec {} sweep-task {} {} \"$SLURM_ARRAY_TASK_ID\"\n",
        words[0], words[1], array.name
    );
    let last = array.tasks.len() - 1;
    let throttle = at_a_time.map(|count| format!("%{count}"));
    let partition = options.partition.iter();
    let arguments: Vec<String> = partition
        .map(|partition| format!("--partition={partition}"))
        .chain(options.sbatch_arg.iter().cloned())
        .chain([
            "--parsable".to_owned(),
            format!("--job-name={}", job_name(array)),
            format!("--comment=sweep {sweep}"),
            format!("--array=0-{last}{}", throttle.unwrap_or_default()),
            format!("--time={}", array.limits.minutes),
            format!("--mem={}M", array.limits.mebibytes),
            "--ntasks=1".to_owned(),
            "--cpus-per-task=1".to_owned(),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            // A relative name, because Slurm replaces `%` in the names of folders, too.
            format!("--chdir={}", dir.join("slurm").display()),
            format!("--output={}-%a.log", array.name),
        ])
        .collect();
    let answer = ask("sbatch", &arguments, script.as_bytes())?;
    // In a federation, the name of the cluster follows.
    let job = answer.trim().split(';').next().unwrap_or_default();
    job.parse()
        .map_err(|_| Failure::environment(format_args!("`sbatch` answered `{}`", answer.trim())))
}

/// Ends those of `jobs` that have not ended, and returns whether there were any.
/// Fails if Slurm cannot be asked.
pub fn cancel(jobs: &[u64]) -> Result<bool, Failure> {
    let mut live: Vec<u64> = states()?
        .into_iter()
        .filter(|((job, _), state)| jobs.contains(job) && !matches!(state, TaskState::Ended(_)))
        .map(|((job, _), _)| job)
        .collect();
    live.dedup();
    for job in &live {
        ask("scancel", &[job.to_string()], b"")?;
    }
    Ok(!live.is_empty())
}

/// Returns the maximum number of tasks in an array.
/// Fails if Slurm cannot be asked.
pub fn max_tasks() -> Result<usize, Failure> {
    let settings = ask("scontrol", &["show".to_owned(), "config".to_owned()], b"")?;
    Ok(max_tasks_in(&settings).unwrap_or(DEFAULT_MAX_TASKS))
}

/// Slurm's default of `MaxArraySize`, 1001, is the first index that it refuses.
const DEFAULT_MAX_TASKS: usize = 1001;

fn max_tasks_in(settings: &str) -> Option<usize> {
    let line = settings
        .lines()
        .find(|line| line.starts_with("MaxArraySize"))?;
    let size: usize = line.split('=').nth(1)?.trim().parse().ok()?;
    (size > 0).then_some(size)
}

fn job_name(array: &TaskArray) -> String {
    format!("lcmp-lab-{}", array.name)
}

/// Returns `word` as a single word of a shell's command line.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Beginnings of the names of variables that change what Slurm's commands see.
const HIDING: [&str; 4] = ["SQUEUE_", "SCANCEL_", "SBATCH_CLUSTERS", "SLURM_CLUSTERS"];

fn queue(arguments: &[&str]) -> Result<String, Failure> {
    let user = format!("--user={}", geteuid());
    // Without `--all`, tasks in hidden partitions are missing.
    let own = [user.as_str(), "--all", "--noheader"];
    let all: Vec<String> = own
        .iter()
        .chain(arguments)
        .map(ToString::to_string)
        .collect();
    ask("squeue", &all, b"")
}

/// Runs a command of Slurm with `input`, and returns its output.
/// Fails if it cannot be run or fails, with what it wrote to standard error.
fn ask(program: &str, arguments: &[String], input: &[u8]) -> Result<String, Failure> {
    // These variables of a user would hide tasks, or send them to another cluster.
    let hides = |name: &&OsString| {
        let name = name.to_string_lossy();
        HIDING.iter().any(|prefix| name.starts_with(prefix))
    };
    let names: Vec<OsString> = env::vars_os().map(|(name, _)| name).collect();
    let mut command = Command::new(program);
    for name in names.iter().filter(hides) {
        command.env_remove(name);
    }
    let child = command
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::environment(format_args!(
                "`{program}` is not installed (hint: start the sweep where Slurm's commands are)"
            )));
        }
        child => child.during(format_args!("run `{program}`"))?,
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ends without reading reports its reason below.
        let _ = stdin.write_all(input);
    }
    let output = child
        .wait_with_output()
        .during(format_args!("run `{program}`"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    Err(Failure::environment(format_args!(
        "`{program}` failed: {}",
        lines.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_array_is_read_from_the_settings() {
        let settings =
            "MailProg = /bin/mail\nMaxArraySize            = 4001\nMaxJobCount = 10000\n";
        assert_eq!(max_tasks_in(settings), Some(4001));
        assert_eq!(max_tasks_in("MaxJobCount = 10000\n"), None);
    }

    #[test]
    fn a_word_of_the_shell_keeps_its_quotes() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
