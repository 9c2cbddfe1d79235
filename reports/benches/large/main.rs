//! Benchmark of the report on large runs: duration and peak memory, compared with the scripts of the paper's artifact.
//!
//! ```text
//! cargo bench -p lab-reports --bench large                     # 1,000,000 flows, 10,000,000 decisions
//! cargo bench -p lab-reports --bench large -- 100000           # fewer
//! cargo bench -p lab-reports --bench large -- --write DIR 100000   # only the runs, in DIR
//! cargo bench -p lab-reports --bench large -- --peer DIR       # only the percentiles, of such a DIR
//! ```
//!
//! The peer is the analysis of the paper's artifact: for each policy's output, awk, sort and Python compute p50 and p99
//! of the slowdowns in 20 bins of sizes. Its time is compared with that of the whole report, of which these numbers are a
//! small part, and with that of the same numbers alone, which functions of `compare` and `reproduce` compute from the run
//! directory. Each measurement has its own process, so that the peak memory is its own. Ratios are of CPU times, which
//! depend least on other work of the machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its results"
)]

mod peer;
mod runs;

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
    time::Instant,
};

use lab_records::{FlowRow, RecordsError, RunDir};
use lab_reports::paper_bins;

use self::{
    peer::{Peer, check_same, outputs},
    runs::{POLICIES, write},
};

fn main() -> ExitCode {
    let owned: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--report", dir, ..] => {
            lab_reports::render(Path::new(dir)).expect("a report");
            peak_memory();
            ExitCode::SUCCESS
        }
        ["--percentiles", dir, ..] => {
            print!("{}", percentiles(Path::new(dir)));
            peak_memory();
            ExitCode::SUCCESS
        }
        ["--write", dir, flows, ..] => {
            let run = write(&Path::new(dir).join("flows"), number(flows), false);
            outputs(&run, Path::new(dir));
            write(&Path::new(dir).join("decisions"), number(flows), true);
            ExitCode::SUCCESS
        }
        ["--peer", dir, ..] => {
            let dir = Path::new(dir);
            let run = fs::canonicalize(dir.join("flows/latest")).expect("a run");
            against_peer(&run, dir);
            ExitCode::SUCCESS
        }
        [flows, ..] if !flows.starts_with("--") => table(number(flows)),
        ["--bench", ..] => table(1_000_000),
        // `cargo test --benches` passes no number of flows; a small case checks the benchmark itself.
        _ => table(1_000),
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

/// Writes a run without decisions and a run with decisions, measures the report on each and the artifact's analysis
/// script on the first, and prints the table.
fn table(flows: u32) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    println!("{flows} flows of each of {} policies:", POLICIES.len());
    let run = write(&folder.path().join("flows"), flows, false);
    outputs(&run, folder.path());
    report(&run);
    against_peer(&run, folder.path());
    println!("the same with two decisions of each flow under each policy:");
    report(&write(&folder.path().join("decisions"), flows, true));
    ExitCode::SUCCESS
}

/// Measures how long this program and the artifact's script take to compute percentiles, for `run` and the outputs in
/// `folder`. Both must compute the same percentiles.
fn against_peer(run: &Path, folder: &Path) {
    let (own, found) = measure("percentiles", "--percentiles", run);
    let peer = Peer::new();
    let before = cpu_of_children();
    let since = Instant::now();
    let expected = peer.percentiles(folder);
    let wall = since.elapsed().as_secs_f64();
    let cpu = cpu_of_children() - before;
    println!(
        "  the same by awk, sort and {:7}{wall:8.2} s, {cpu:.2} s of CPU time",
        peer.by
    );
    println!(
        "  ratio of CPU times             {:8.2}",
        cpu / own.max(TICK)
    );
    check_same(&found, &expected);
}

/// Measures the report on `run`, and prints the total size of the run's files.
fn report(run: &Path) {
    let files = fs::read_dir(run).expect("the run");
    let size = files.map(|entry| entry.expect("a file").metadata().map_or(0, |it| it.len()));
    println!(
        "  files of the run               {:8.1} MB",
        megabytes(size.sum())
    );
    measure("report", "--report", run);
}

/// Runs this program with the option `told` on `run` in a separate process, and prints the times under `name`. Returns
/// the CPU time in seconds, and the standard output.
fn measure(name: &str, told: &str, run: &Path) -> (f64, String) {
    let program = std::env::current_exe().expect("this program");
    let before = cpu_of_children();
    let since = Instant::now();
    let output = Command::new(program)
        .arg(told)
        .arg(run)
        .output()
        .expect("this program");
    let wall = since.elapsed().as_secs_f64();
    let cpu = cpu_of_children() - before;
    let memory = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{memory}");
    println!("  {name:29}  {wall:8.2} s, {cpu:.2} s of CPU time");
    print!("{memory}");
    (cpu, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints the peak memory of this process on standard error, because standard output has its results.
fn peak_memory() {
    let status = fs::read_to_string("/proc/self/status").expect("this process");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|text| text.split_whitespace().next()?.parse().ok());
    let peak = megabytes(peak.unwrap_or(0) * 1_024);
    eprintln!("    peak memory                  {peak:8.1} MB");
}

/// Returns p50 and p99 of each policy's slowdowns in each size bin, one bin per line.
fn percentiles(run: &Path) -> String {
    let run = RunDir::open(run).expect("the run");
    let mut policies = POLICIES.map(|_| Vec::new());
    let columns = ["policy", "size_bytes", "slowdown"];
    let read = run.visit_batches::<FlowRow, RecordsError>(&columns, |batch| {
        let sizes = batch.integers("size_bytes");
        let slowdowns = batch.floats("slowdown");
        let flows = batch.texts("policy").iter().zip(sizes).zip(slowdowns);
        for ((policy, size), slowdown) in flows {
            let at = POLICIES.iter().position(|it| Some(*it) == policy);
            if let (Some(size), Some(slowdown)) = (size, slowdown) {
                policies[at.expect("a policy")].push((*size, *slowdown));
            }
        }
        Ok(())
    });
    read.expect("flows");
    let bins = policies.into_iter().flat_map(paper_bins).flatten();
    bins.map(|[p50, p99]| format!("{p50} {p99}\n")).collect()
}

/// Returns the CPU time of all child processes that have ended, in seconds.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this process");
    // Fields 14 and 15 after the name are user and system time of children, in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: u32 = fields.skip(13).take(2).map(number).sum();
    f64::from(ticks) * TICK
}

/// Resolution of the kernel's CPU times, in seconds.
const TICK: f64 = 0.01;

fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1_024).unwrap_or(u32::MAX)) / 1_024.0
}
