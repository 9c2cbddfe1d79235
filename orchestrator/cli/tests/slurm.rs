//! `lcmp-lab sweep --on slurm` on a Slurm of two nodes that runs on this machine.

mod common;

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    net::TcpListener,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use common::{Outcome, PAIR, command_in, pair_folder, texts_in};
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, gethostname},
};
use tempfile::TempDir;

/// While the tasks of a sweep run, a task is killed, Slurm's controller ends and starts again, the
/// sweep is killed and goes on, a node dies. Every cell must have the bytes of the sweep on this machine, and no cell
/// may have had more tasks than the fault explains. One task is stopped from the first fault to the last, so that the
/// sweep does not end before them.
#[test]
fn faults_lose_no_cell_and_run_none_twice() {
    let mut slurm = Cluster::start();
    let folder = folder();
    let axes = ["--set", "seed=1..6"];
    let here = slurm.sweep(folder.path(), "here", &axes);
    assert_eq!(here.exit, Some(0), "{here:?}");

    let on_slurm = [&axes[..], &["--on", "slurm"]].concat();
    let first = slurm.start_sweep(folder.path(), "slurm", &on_slurm);
    let is_task = |process: &Pid| of_process(*process, "cmdline").contains("\0sweep-task\0");
    let tasks = || -> Vec<Pid> { processes().into_iter().filter(is_task).collect() };
    // Two tasks that are stopped do not end.
    let mut held = Vec::new();
    slurm.wait_until("two tasks run", |_| {
        held = tasks();
        held.retain(|task| kill(*task, Signal::SIGSTOP).is_ok());
        held.len() == 2
    });
    kill(held[0], Signal::SIGKILL).unwrap();
    slurm.wait_until("the task is tried again", |slurm| slurm.tasks().len() == 7);

    slurm.end_controller();
    kill(Pid::from_raw(first.id().cast_signed()), Signal::SIGKILL).unwrap();
    let first: Outcome = first.wait_with_output().unwrap().into();
    assert!(
        first
            .stderr
            .contains("failed; running 1 cell again with limits of"),
        "{first:?}"
    );
    slurm.start_controller();

    for (arguments, message) in [
        (
            &["--on", "slurm", "--set", "seed=1..7"][..],
            "an earlier definition of the sweep",
        ),
        (&[], "has tasks on Slurm"),
    ] {
        let out = slurm.sweep(folder.path(), "slurm", arguments);
        assert_eq!(out.exit, Some(2), "{out:?}");
        assert!(out.stderr.contains(message), "{out:?}");
    }
    let second = slurm.start_sweep(folder.path(), "slurm", &on_slurm);
    let node = NODES.iter().position(|name| is_on(held[1], name));
    slurm.end_node(node.expect("the stopped task is there"));
    slurm.wait_until("the task of the dead node waits again", |slurm| {
        slurm
            .ask("squeue", &["-h", "--array", "--format=%T %r"])
            .contains("PENDING BeginTime")
    });
    // Slurm waits two minutes before it starts such a task again.
    for job in slurm
        .ask("squeue", &["-h", "--array", "--format=%i %r"])
        .lines()
    {
        if let Some((job, "BeginTime")) = job.split_once(' ') {
            slurm.ask(
                "scontrol",
                &["update", &format!("JobId={job}"), "StartTime=now"],
            );
        }
    }
    let second: Outcome = second.wait_with_output().unwrap().into();
    assert_eq!(second.exit, Some(0), "{second:?}");
    let cells = |sweep: &str| texts_in(&folder.path().join(sweep).join("cells"));
    assert_eq!(cells("slurm"), cells("here"));
    assert_eq!(slurm.tasks().len(), 7, "{second:?}");
    let left: Vec<_> = fs::read_dir(folder.path().join("slurm/slurm"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A task with too little memory is tried again with four times as much, and its cell has failed if that is too little.
#[test]
fn a_task_without_memory_is_tried_once_more() {
    let slurm = Cluster::start();
    let folder = folder();
    let small = ["--on", "slurm", "--task-memory", "32 MiB"];
    let out = slurm.sweep(folder.path(), "small", &small);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let again = "ran out of memory";
    assert!(out.stderr.contains(again), "{out:?}");
    assert!(
        out.stderr
            .contains("running 1 cell again with limits of 8 minutes and 128 MiB"),
        "{out:?}"
    );
    assert_eq!(slurm.tasks().len(), 2);

    let least = ["--on", "slurm", "--task-memory", "4 MiB"];
    let out = slurm.sweep(folder.path(), "least", &least);
    assert_eq!(out.exit, Some(4), "{out:?}");
    let failure = "its Slurm task 4_0 ran out of memory";
    assert!(out.stderr.contains(failure), "{out:?}");
    assert_eq!(slurm.tasks().len(), 4);

    // A cell with results runs again for the records asked for.
    let with_flows = ["--on", "slurm", "--records", "flows"];
    let out = slurm.sweep(folder.path(), "small", &with_flows);
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert_eq!(slurm.tasks().len(), 5);
    let mut runs = fs::read_dir(folder.path().join("small/runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    assert!(run.join("flows.csv").is_file());
}

/// What Slurm refuses or a user ends: nothing is left in the queue, and the same command submits it again.
#[test]
fn refused_and_cancelled_tasks_are_named() {
    let slurm = Cluster::start();
    let folder = folder();
    let wrong = ["--on", "slurm", "--partition", "nights"];
    let out = slurm.sweep(folder.path(), "wrong", &wrong);
    assert_eq!(out.exit, Some(3), "{out:?}");
    assert!(
        out.stderr.contains("invalid partition specified: nights"),
        "{out:?}"
    );

    // The answer of `sbatch` is lost.
    let program = folder.path().join("sbatch");
    let script = "#!/bin/sh\n/usr/bin/sbatch \"$@\"\nexit 1\n";
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .mode(0o755)
        .open(program)
        .unwrap();
    file.write_all(script.as_bytes()).unwrap();
    drop(file);
    let own = env::var("PATH").unwrap();
    let path = format!("{}:{own}", folder.path().display());
    let mut unanswered = slurm.sweep_command(folder.path(), "unanswered", &["--on", "slurm"]);
    let out: Outcome = unanswered.env("PATH", path).output().unwrap().into();
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert_eq!(slurm.tasks().len(), 1);

    let running = slurm.start_sweep(folder.path(), "cancelled", &["--on", "slurm"]);
    slurm.wait_until("the task runs", |slurm| {
        slurm.tasks_in("running").len() == 1
    });
    let folder_of_sweep = folder.path().join("cancelled");
    let dir = folder_of_sweep.to_str().unwrap();
    let status = slurm.lcmp_lab(folder.path(), &["sweep", "status", dir]);
    assert!(
        status.stderr.contains("Slurm: 1 task running, 0 waiting"),
        "{status:?}"
    );
    let cancel = slurm.lcmp_lab(folder.path(), &["sweep", "cancel", dir]);
    assert_eq!(cancel.exit, Some(0), "{cancel:?}");
    let out: Outcome = running.wait_with_output().unwrap().into();
    assert_eq!(out.exit, Some(4), "{out:?}");
    assert!(
        out.stderr
            .contains("the Slurm tasks of 1 cell were cancelled"),
        "{out:?}"
    );
    let cancel = slurm.lcmp_lab(folder.path(), &["sweep", "cancel", dir]);
    assert_eq!(cancel.exit, Some(2), "{cancel:?}");
    let out = slurm.sweep(folder.path(), "cancelled", &["--on", "slurm"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
}

/// Returns a folder with a scenario whose cells take some seconds.
fn folder() -> TempDir {
    pair_folder(&PAIR.replace("load: 0.2, duration: 1 s", "load: 0.4, duration: 100 s"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Slurm of two nodes with one CPU each, with an authentication of its own.
struct Cluster {
    /// Two clusters at a time would have more tasks than this machine has cores.
    _alone: MutexGuard<'static, ()>,
    dir: TempDir,
    controller: Option<Child>,
    nodes: Vec<Option<Child>>,
    authentication: Child,
}

const NODES: [&str; 2] = ["n1", "n2"];

static ALONE: Mutex<()> = Mutex::new(());

impl Cluster {
    fn start() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        fs::create_dir(path.join("state")).unwrap();
        let mut key = OpenOptions::new();
        key.write(true).create_new(true).mode(0o600);
        let mut key = key.open(path.join("munge.key")).unwrap();
        let mut random = File::open("/dev/urandom").unwrap().take(1024);
        io::copy(&mut random, &mut key).unwrap();
        let host = gethostname().unwrap().into_string().unwrap();
        fs::write(path.join("slurm.conf"), configuration(path, &host)).unwrap();
        let option = |name: &str, file: &str| format!("--{name}={}", path.join(file).display());
        let authentication = daemon("munged")
            .args(["--foreground", "--force"])
            .args([
                option("socket", "munge.sock"),
                option("key-file", "munge.key"),
                option("pid-file", "munge.pid"),
                option("seed-file", "munge.seed"),
                option("log-file", "munge.log"),
            ])
            .spawn()
            .unwrap();
        let mut cluster = Self {
            _alone: alone,
            dir,
            controller: None,
            nodes: vec![None, None],
            authentication,
        };
        cluster.wait_until("the socket exists", |cluster| {
            cluster.dir.path().join("munge.sock").exists()
        });
        cluster.start_controller();
        for (node, name) in NODES.iter().enumerate() {
            let child = daemon("slurmd")
                .args(["-D", "-N", name, "-f"])
                .arg(cluster.file("slurm.conf"))
                .spawn();
            cluster.nodes[node] = Some(child.unwrap());
        }
        cluster.wait_until("both nodes are idle", |cluster| {
            cluster.try_ask("sinfo", &["-h", "--format=%D %t"]).trim() == "2 idle"
        });
        cluster
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start_controller(&mut self) {
        let child = daemon("slurmctld")
            .args(["-D", "-f"])
            .arg(self.file("slurm.conf"))
            .spawn();
        self.controller = Some(child.unwrap());
        self.wait_until("the controller answers", |cluster| {
            !cluster.try_ask("sinfo", &["-h"]).is_empty()
        });
    }

    /// Ends the controller, which saves its state. After a crash, Slurm gives the numbers of its last jobs once more, and a
    /// node that has run one of them refuses the second and is drained.
    fn end_controller(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            kill(
                Pid::from_raw(controller.id().cast_signed()),
                Signal::SIGTERM,
            )
            .unwrap();
            controller.wait().unwrap();
        }
    }

    /// Kills everything that runs on a node, so that no end of a task is reported to the controller.
    fn end_node(&mut self, node: usize) {
        end(self.nodes[node].take());
        let is_here = |process: &Pid| is_on(*process, NODES[node]);
        let here: Vec<Pid> = processes().into_iter().filter(is_here).collect();
        let parents = here.iter().filter_map(|process| parent(*process));
        let steps = parents.filter(|it| of_process(*it, "cmdline").starts_with("slurmstepd"));
        for process in steps.chain(here.iter().copied()) {
            let _ = kill(process, Signal::SIGKILL);
        }
    }

    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = command_in(folder, arguments);
        let path = env::var_os("PATH").unwrap_or_default();
        let conf = self.file("slurm.conf");
        command.env("PATH", path).env("SLURM_CONF", conf);
        command
    }

    fn lcmp_lab(&self, folder: &Path, arguments: &[&str]) -> Outcome {
        self.command(folder, arguments).output().unwrap().into()
    }

    fn sweep_command(&self, folder: &Path, name: &str, arguments: &[&str]) -> Command {
        let scenario = folder.join("pair.yaml");
        let dir = folder.join(name);
        let base = [
            "sweep",
            scenario.to_str().unwrap(),
            "-o",
            dir.to_str().unwrap(),
        ];
        self.command(folder, &[&base[..], arguments].concat())
    }

    fn sweep(&self, folder: &Path, name: &str, arguments: &[&str]) -> Outcome {
        let mut command = self.sweep_command(folder, name, arguments);
        command.output().unwrap().into()
    }

    fn start_sweep(&self, folder: &Path, name: &str, arguments: &[&str]) -> Child {
        let mut command = self.sweep_command(folder, name, arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn query(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("SLURM_CONF", self.file("slurm.conf"));
        command.output().unwrap()
    }

    /// Returns the output of a command of Slurm.
    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.query(program, arguments);
        assert!(output.status.success(), "{program}: {output:?}");
        text(&output.stdout)
    }

    /// Returns the output of a command of Slurm, which may fail.
    fn try_ask(&self, program: &str, arguments: &[&str]) -> String {
        text(&self.query(program, arguments).stdout)
    }

    /// Returns all tasks that Slurm has had.
    fn tasks(&self) -> BTreeSet<String> {
        self.tasks_in("all")
    }

    /// Returns the tasks in a state, such as `running`.
    fn tasks_in(&self, state: &str) -> BTreeSet<String> {
        let states = format!("--states={state}");
        let tasks = self.ask("squeue", &["-h", "--array", &states, "--format=%i"]);
        tasks.lines().map(str::to_owned).collect()
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let since = Instant::now();
        while !is_so(self) {
            let waits = since.elapsed();
            assert!(
                waits < PATIENCE,
                "{what}: {}",
                self.try_ask("squeue", &["--states=all", "--array"])
            );
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.controller.is_some() {
            let user = nix::unistd::geteuid().to_string();
            self.try_ask("scancel", &["--user", &user]);
        }
        for node in 0..NODES.len() {
            self.end_node(node);
        }
        self.end_controller();
        // A failed test leaves its sweeps running.
        let conf = format!("SLURM_CONF={}", self.file("slurm.conf").display());
        for process in processes() {
            if has_variable(process, &conf) {
                let _ = kill(process, Signal::SIGKILL);
            }
        }
        let _ = self.authentication.kill();
        let _ = self.authentication.wait();
    }
}

/// Maximum time to wait for Slurm.
const PATIENCE: Duration = Duration::from_secs(120);

fn daemon(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn end(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn processes() -> Vec<Pid> {
    let names = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
    numbers.map(Pid::from_raw).collect()
}

/// Returns the text of a file of a process, empty if it has ended.
fn of_process(process: Pid, file: &str) -> String {
    text(&fs::read(format!("/proc/{process}/{file}")).unwrap_or_default())
}

/// Returns true if a process belongs to a task on the node called `node`.
fn is_on(process: Pid, node: &str) -> bool {
    has_variable(process, &format!("SLURMD_NODENAME={node}"))
}

fn has_variable(process: Pid, variable: &str) -> bool {
    let environment = of_process(process, "environ");
    environment.split('\0').any(|word| word == variable)
}

fn parent(process: Pid) -> Option<Pid> {
    let status = of_process(process, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().map(Pid::from_raw)
}

fn configuration(dir: &Path, host: &str) -> String {
    // All three are bound at the same time, so they differ.
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [controller, first, second] = listeners.map(|it| it.local_addr().unwrap().port());
    let dir = dir.display();
    let [n1, n2] = NODES;
    format!(
        "\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/controller.pid
SlurmdPidFile={dir}/%n.pid
SlurmdTimeout=5
KillWait=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeName={n1} NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=8000
NodeName={n2} NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    )
}
