//! Runs that the campaign attacks.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_records::{RunDir, directory::LATEST};
use nix::{
    mount::{MsFlags, mount, umount},
    unistd::Pid,
};
use tempfile::TempDir;

use super::{
    attack::{Attack, AttackedLab, Victim},
    common::{Outcome, root},
    decoy::Strangers,
    lcmp_lab,
    ledger::Harm,
};

/// Kind of run to attack, with its duration without an attack.
pub struct Target {
    place: AttackedLab,
    scenario: PathBuf,
    _folder: TempDir,
    takes: Duration,
}

impl Target {
    pub fn new(place: AttackedLab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("campaign.yaml");
        fs::write(&scenario, scenario_text()).unwrap();
        Self {
            place,
            scenario,
            _folder: folder,
            takes: Duration::ZERO,
        }
    }

    /// Performs the run once without an attack, to measure its duration.
    pub fn timed(mut self) -> Self {
        let results = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let output = self.command(results.path()).output().unwrap();
        self.takes = started.elapsed();
        let out = Outcome::from(output);
        // On the kernel of an emulated machine, a run is too slow to be valid.
        let is_ended =
            out.exit == Some(0) || self.place == AttackedLab::Native && out.exit == Some(4);
        assert!(is_ended, "{out:?}");
        self
    }

    fn lab(&self) -> &'static str {
        match self.place {
            AttackedLab::Guest => "campaign-guest",
            AttackedLab::Kernel => "campaign-kernel",
            AttackedLab::Native => "campaign-native",
        }
    }

    fn command(&self, results: &Path) -> Command {
        let scenario = self.scenario.to_str().unwrap();
        let words: &[&str] = match self.place {
            AttackedLab::Guest => &["up", "--guest", scenario],
            AttackedLab::Kernel => &["bench", "lab", "--repeat", "1"],
            AttackedLab::Native => &["up", scenario],
        };
        lcmp_lab(self.lab(), results, words)
    }

    /// Starts the run as a child process, which prints its progress on standard error.
    fn start(&self, results: &Path) -> Child {
        let mut command = self.command(results);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts the run, attacks it, and returns the damage done.
    pub fn attack(&self, attack: &Attack) -> Harm {
        let results = tempfile::tempdir().unwrap();
        let mut run = self.start(results.path());
        let (progress, shown) = follow(&mut run);
        if attack.is_in_flows {
            let flows = attack.moment * FLOWS * POLICIES / 1000;
            while shown.load(Ordering::Relaxed) < flows && run.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        } else {
            thread::sleep(self.takes * u32::try_from(attack.moment).unwrap() / 1000);
        }
        self.inject(attack, &mut run, results.path());
        run.wait().unwrap();
        progress.join().unwrap();
        let mut harm = Harm {
            shown: shown.load(Ordering::Relaxed),
            ..Harm::default()
        };
        self.clean_up(attack, results.path(), &mut harm);
        self.read(results.path(), &mut harm);
        harm
    }

    /// Fills the disk that holds the results, once the first flows are shown as ended. Returns the outcome of the run,
    /// and the damage found after space was freed.
    pub fn fill_disk(&self) -> (Outcome, Harm) {
        let results = SmallDisk::mount();
        let mut run = self.start(results.path());
        let mut said = String::new();
        let mut shown = BTreeMap::new();
        let filler = results.path().join("filler");
        for line in BufReader::new(run.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some((phase, done)) = progress(&line) {
                if shown.is_empty() {
                    // The write is expected to fail once the disk is full.
                    let _ = fs::write(&filler, vec![0; SmallDisk::BYTES]);
                }
                shown.insert(phase.to_owned(), done);
            }
            said += &line;
            said.push('\n');
        }
        let out = Outcome {
            exit: run.wait().unwrap().code(),
            stdout: String::new(),
            stderr: said,
        };
        assert!(
            filler.exists(),
            "the run ended before its first flows: {out:?}"
        );
        fs::remove_file(&filler).unwrap();
        let mut harm = Harm {
            shown: shown.values().sum(),
            left: self.left(results.path()),
            ..Harm::default()
        };
        self.read(results.path(), &mut harm);
        (out, harm)
    }

    fn inject(&self, attack: &Attack, run: &mut Child, results: &Path) {
        let owner = Pid::from_raw(run.id().cast_signed());
        match attack.victim {
            Victim::Owner => attack.fault.inject(owner),
            Victim::Machine => children(owner)
                .into_iter()
                .for_each(|machine| attack.fault.inject(machine)),
            Victim::Down => {
                attack.fault.inject(owner);
                let mut down = self.down(results).spawn().unwrap();
                thread::sleep(self.takes * u32::try_from(attack.moment).unwrap() / 2000);
                let _ = down.kill();
                down.wait().unwrap();
            }
            Victim::Names => {
                attack.fault.inject(owner);
                run.wait().unwrap();
                let mut strangers = Strangers::default();
                strangers.take_name(self.lab());
                // A second `down` must complete an incomplete first one.
                for _ in 0..2 {
                    let _ = self.down(results).status();
                    strangers.assert_untouched();
                    strangers.take_inodes(self.lab());
                }
            }
        }
    }

    fn down(&self, results: &Path) -> Command {
        let mut down = lcmp_lab(self.lab(), results, &["down", self.lab()]);
        down.stdout(Stdio::null()).stderr(Stdio::null());
        down
    }

    /// Takes a killed lab down, and records the objects that remain.
    fn clean_up(&self, attack: &Attack, results: &Path, harm: &mut Harm) {
        if attack.fault.is_sudden() && attack.victim != Victim::Machine {
            let code = self.down(results).status().unwrap().code();
            // Before its first step and after its last one, the run has no lab to take down.
            if !matches!(code, Some(0 | 2)) {
                harm.left.push(format!("down ended with {code:?}"));
            }
        }
        let since = Instant::now();
        loop {
            let left = self.left(results);
            if left.is_empty() {
                return;
            }
            if since.elapsed() > PATIENCE {
                harm.left.extend(left);
                // The next attack uses the same lab name.
                let _ = self.down(results).status();
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lists all objects and processes on this machine that carry the lab's name.
    fn left(&self, results: &Path) -> Vec<String> {
        let lab = self.lab();
        let mut left = processes_of(results);
        let prefix = format!("lcmp-{lab}-");
        for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            left.extend(
                name.starts_with(&prefix)
                    .then(|| format!("namespace {name}")),
            );
        }
        let directory = Path::new("/run/lcmp-lab").join(lab);
        left.extend(directory.exists().then(|| directory.display().to_string()));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let is_ours = |line: &&str| line.contains(&prefix) || line.contains(&format!("/{lab}/"));
        left.extend(mounts.lines().filter(is_ours).map(str::to_owned));
        left
    }

    /// Counts the rows that remain in the records, and reads the run with the subcommands that a user would call.
    fn read(&self, results: &Path, harm: &mut Harm) {
        let runs = fs::read_dir(results)
            .unwrap()
            .map(|run| run.unwrap())
            .filter(|run| run.file_type().unwrap().is_dir());
        for run in runs.map(|run| run.path()) {
            // A run that ended before its lab was up has no `run.json`.
            if run.join("run.json").exists() {
                harm.unreadable = self.read_run(&run, results, harm).err();
            }
        }
    }

    fn read_run(&self, run: &Path, results: &Path, harm: &mut Harm) -> Result<(), String> {
        let dir = RunDir::open(run).map_err(|error| error.to_string())?;
        let flows = dir.flows().map_err(|error| error.to_string())?;
        harm.kept = u64::try_from(flows.rows.len()).unwrap();
        let latest = fs::read_link(results.join(LATEST)).ok();
        if harm.kept > 0 && latest.as_deref() != run.file_name().map(Path::new) {
            return Err(format!("`latest` is {latest:?}"));
        }
        let words = ["report", run.to_str().unwrap()];
        let out = Outcome::from(lcmp_lab(self.lab(), results, &words).output().unwrap());
        if !matches!(out.exit, Some(0 | 4 | 5)) || !run.join("report.html").exists() {
            return Err(format!("report: {out:?}"));
        }
        Ok(())
    }
}

/// File system in memory, just large enough for `up` to start. It is unmounted when this value is dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    const BYTES: usize = 256 << 20;

    fn mount() -> Self {
        let at = tempfile::tempdir().unwrap();
        let options = format!("size={}", Self::BYTES);
        let kind = Some("tmpfs");
        let flags = MsFlags::empty();
        mount(kind, at.path(), kind, flags, Some(options.as_str())).unwrap();
        Self(at)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = umount(self.0.path());
    }
}

/// Reads the progress of a run on a thread until its end; returns the thread and the number of flows shown as ended so
/// far.
fn follow(run: &mut Child) -> (JoinHandle<()>, Arc<AtomicU64>) {
    let stderr = BufReader::new(run.stderr.take().unwrap());
    let sum = Arc::new(AtomicU64::new(0));
    let shown = sum.clone();
    let thread = thread::spawn(move || {
        let mut by_phase = BTreeMap::new();
        for line in stderr.lines().map_while(Result::ok) {
            if let Some((phase, done)) = progress(&line) {
                by_phase.insert(phase.to_owned(), done);
                sum.store(by_phase.values().sum(), Ordering::Relaxed);
            }
        }
    });
    (thread, shown)
}

/// Parses a progress line such as `ecmp flows  40/160 flow 39 finished, …`; returns the phase and the number of flows.
fn progress(line: &str) -> Option<(&str, u64)> {
    let (phase, rest) = line.trim_start().split_once(" flows  ")?;
    let (done, _) = rest.split_once('/')?;
    Some((phase, done.parse().ok()?))
}

fn children(process: Pid) -> Vec<Pid> {
    let path = format!("/proc/{process}/task/{process}/children");
    fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// Lists the processes whose command line or environment contains the results directory, which are those of the run and
/// its guest.
fn processes_of(results: &Path) -> Vec<String> {
    let results = results.to_str().unwrap().as_bytes();
    let names_it = |file: PathBuf| {
        let bytes = fs::read(file).unwrap_or_default();
        bytes.windows(results.len()).any(|part| part == results)
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let path = process.path();
        names_it(path.join("cmdline")) || names_it(path.join("environ"))
    });
    processes
        .map(|process| format!("process {}", process.file_name().display()))
        .collect()
}

/// Returns the scenario of the attacked guests: the smallest network, with flows that last a few seconds.
fn scenario_text() -> String {
    let smoke = fs::read_to_string(root().join("scenarios/smoke.yaml")).unwrap();
    let (topology, _) = smoke.split_once("traffic:").unwrap();
    let flows = (0..FLOWS).map(|flow| {
        let place = usize::try_from(flow % 3).unwrap();
        let (from, to) = [
            ("dc1/h1", "dc3/h1"),
            ("dc3/h2", "dc2/h1"),
            ("dc2/h1", "dc1/h2"),
        ][place];
        format!(
            "      - {{ from: {from}, to: {to}, size: 200 kB, start: {} us }}\n",
            500 * flow
        )
    });
    format!(
        "{topology}traffic:\n  - flows:\n{}generator: verbs\npolicies: [ecmp, lcmp]\n\
         scale: {{ rate: 1/2000, time: 100 }}\nseed: 1\n",
        flows.collect::<String>()
    )
}

/// Number of flows per policy in a run in a guest. Progress is shown after each quarter of the flows.
const FLOWS: u64 = 160;

/// Number of policies in a run in a guest.
const POLICIES: u64 = 2;

/// Maximum time until all objects of an attacked lab must have disappeared.
const PATIENCE: Duration = Duration::from_secs(60);
