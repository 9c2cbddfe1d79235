//! Benchmark of whole runs as large as the paper's Figure 1: time, memory and work.
//!
//! ```text
//! cargo bench -p lab-sim --bench whole_run                     # the table
//! cargo bench -p lab-sim --bench whole_run -- --case lcmp 1 30 # one run: policy, threads, load
//! cargo bench -p lab-sim --bench whole_run -- --instructions   # instructions of a 2 ms run, counted by valgrind
//! ```
//!
//! Each run has its own process, so that its peak memory can be measured. Times are CPU times of the simulation alone.
//! The best of several runs counts, because other work on the machine increases them.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod figure1;

use std::{
    io,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use lab_plan::Plan;
use lab_sim::{
    EndReason, Job, Observer, Outcome, Progress, RunOptions, simulate, trace::TraceEvent,
};
use nix::sys::resource::{UsageWho, getrusage};

/// Number of runs per case; the row of the run with the least CPU time is printed.
const ATTEMPTS: u32 = 3;

/// Cases: policy, threads, and load in percent of Figure 1's NICs.
const CASES: [(&str, usize, u32); 8] = [
    ("ecmp", 1, 30),
    ("ecmp", 2, 30),
    ("lcmp", 1, 30),
    ("lcmp", 2, 30),
    ("ecmp", 1, 60),
    ("ecmp", 1, 120),
    ("lcmp", 1, 60),
    ("lcmp", 1, 120),
];

fn main() -> ExitCode {
    let owned: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--instructions", ..] => instructions(),
        ["--small", policy, ..] => {
            let plan = figure1::plan(30, 2);
            let index = plan.policies.iter().position(|run| run.label == policy);
            println!("{}", measure(&plan, index.unwrap_or(0), 1));
            ExitCode::SUCCESS
        }
        ["--case", policy, threads, load, ..] => one(policy, threads, load),
        ["--bench", ..] => table(),
        // `cargo test --benches` runs the program without `--bench`, for which a small case is enough.
        _ => {
            let plan = figure1::plan(30, 2);
            println!("{}", measure(&plan, 0, 1));
            ExitCode::SUCCESS
        }
    }
}

fn one(policy: &str, threads: &str, load: &str) -> ExitCode {
    let (Ok(threads), Ok(load)) = (threads.parse(), load.parse()) else {
        return ExitCode::FAILURE;
    };
    let plan = figure1::plan(load, figure1::DURATION_MS);
    let index = plan.policies.iter().position(|run| run.label == policy);
    let Some(index) = index else {
        return ExitCode::FAILURE;
    };
    println!("{}", measure(&plan, index, threads));
    ExitCode::SUCCESS
}

fn table() -> ExitCode {
    println!(
        "{:<6} {:>7} {:>6}  {}",
        "policy",
        "threads",
        "load %",
        Measured::HEAD
    );
    for (policy, threads, load) in CASES {
        let attempts = (0..ATTEMPTS).map(|_| in_own_process(policy, threads, load));
        let Some(best) = attempts.flatten().min_by_key(|row| cpu_of(row)) else {
            return ExitCode::FAILURE;
        };
        println!("{policy:<6} {threads:>7} {load:>6}  {best}");
    }
    ExitCode::SUCCESS
}

/// Prints the number of instructions of a small case; unlike CPU time, this number does not depend on other processes.
fn instructions() -> ExitCode {
    for policy in ["ecmp", "lcmp"] {
        match counted(policy) {
            Ok(Some(count)) => println!("{policy:<6} {count:>14} instructions"),
            Ok(None) => {
                println!("valgrind printed no count of instructions");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                println!("cannot start valgrind: {error} (hint: vagrant/provision.sh --dev)");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Returns the number of instructions that valgrind counts while `policy` is simulated; `None` if valgrind prints no
/// number.
fn counted(policy: &str) -> io::Result<Option<u64>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=lab_sim::simulate::simulate*")
        .arg(std::env::current_exe()?)
        .args(["--small", policy])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let count = printed
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    Ok(count.and_then(|count| count.trim().parse().ok()))
}

/// Runs one case in a process of its own and returns the row that it prints.
fn in_own_process(policy: &str, threads: usize, load: u32) -> Option<String> {
    let arguments = [policy.to_owned(), threads.to_string(), load.to_string()];
    let mut command = Command::new(std::env::current_exe().ok()?);
    let output = command.arg("--case").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}

/// Returns the CPU time that a row shows, in hundredths of a second.
fn cpu_of(row: &str) -> u64 {
    let seconds = row.split_whitespace().next().unwrap_or("");
    seconds.replace('.', "").parse().unwrap_or(u64::MAX)
}

/// CPU time, memory and amount of work that one run took.
struct Measured {
    cpu: Duration,
    wall: Duration,
    peak_kib: i64,
    flows: usize,
    outcome: Outcome,
}

impl Measured {
    const HEAD: &str = "   CPU s  wall s  flows  data pkts M  hops M  events M  Mhop/s CPU  \
                        Mhop/s wall  peak MB  drops  end";
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let work = &self.outcome.work;
        let millions = |count: u64| count as f64 / 1e6;
        let hops = millions(work.packet_hops);
        write!(
            f,
            "{:>8.2} {:>7.2} {:>6} {:>12.2} {:>7.1} {:>9.1} {:>11.2} {:>12.2} {:>8.0} {:>6}  {:?} at {}",
            self.cpu.as_secs_f64(),
            self.wall.as_secs_f64(),
            self.flows,
            millions(work.data_packets),
            hops,
            millions(work.events),
            hops / self.cpu.as_secs_f64(),
            hops / self.wall.as_secs_f64(),
            self.peak_kib as f64 * 1024.0 / 1e6,
            work.drops,
            self.outcome.reason,
            self.outcome.end,
        )
    }
}

fn measure(plan: &Plan, policy: usize, threads: usize) -> Measured {
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let began = Instant::now();
    let cpu = cpu_time();
    let outcome = simulate(Job::new(plan, policy, 0), &options, &mut Silent).expect("a simulation");
    let wall = began.elapsed();
    let cpu = cpu_time() - cpu;
    assert_eq!(outcome.reason, EndReason::Finished);
    Measured {
        cpu,
        wall,
        peak_kib: usage().max_rss(),
        flows: plan.flows.len(),
        outcome,
    }
}

/// Returns the CPU time of this process, user and system, over all threads.
fn cpu_time() -> Duration {
    let usage = usage();
    let time = |value: nix::sys::time::TimeVal| {
        Duration::new(
            value.tv_sec().try_into().unwrap_or(0),
            u32::try_from(value.tv_usec()).unwrap_or(0) * 1_000,
        )
    };
    time(usage.user_time()) + time(usage.system_time())
}

fn usage() -> nix::sys::resource::Usage {
    getrusage(UsageWho::RUSAGE_SELF).expect("the process has used CPU time")
}

/// Observer that ignores all events.
struct Silent;

impl Observer for Silent {
    fn on_event(&mut self, _: TraceEvent) {}

    fn on_progress(&mut self, _: Progress) -> bool {
        true
    }
}
