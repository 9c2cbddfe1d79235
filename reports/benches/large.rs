//! The report of large runs: time and peak memory, and the time of the artifact's percentiles by its means.
//!
//! ```text
//! cargo bench -p lab-reports --bench large                     # 1,000,000 flows, 10,000,000 decisions
//! cargo bench -p lab-reports --bench large -- 100000           # fewer
//! cargo bench -p lab-reports --bench large -- --write DIR 100000   # only the runs, in DIR
//! cargo bench -p lab-reports --bench large -- --peer DIR       # only the percentiles, of such a DIR
//! ```
//!
//! The peer is the analysis of the paper's artifact: of every policy's output, p50 and p99 of the slowdowns in
//! 20 bins of sizes, by awk, sort and Python, or awk in place of Python where there is none, which is faster. It
//! is measured against the report, of which these numbers are a small part, and against the same numbers
//! alone, from the run directory by the functions of `compare` and `reproduce`. What is measured has a process
//! of its own, for its peak memory; the ratios are of CPU times, which other work on the machine changes least.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its results"
)]

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use lab_records::{
    DcPath, DecisionRow, FlowRow, RecordsError, RunDir, RunInfo, RunWriter,
    sample::{self, counter, queue},
};
use lab_reports::paper_bins;
use lab_units::{Bytes, FlowId, Nanos};

/// Policies of the runs.
const POLICIES: [&str; 5] = ["ecmp", "wcmp", "ucmp", "te-100ms", "lcmp"];

/// Middle datacenter, rate in Gbit/s and one-way delay in ms of each link, of the routes.
const ROUTES: [(&str, u64, u64); 6] = [
    ("dc2", 200, 25),
    ("dc3", 200, 250),
    ("dc4", 100, 10),
    ("dc5", 100, 100),
    ("dc6", 40, 5),
    ("dc7", 40, 50),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
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
            against_peer(&run, &output_files(dir));
            ExitCode::SUCCESS
        }
        [flows, ..] if !flows.starts_with("--") => table(number(flows)),
        ["--bench", ..] => table(1_000_000),
        // `cargo test --benches` runs a small case.
        _ => table(1_000),
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

/// Makes both runs, measures their reports and the peer, and prints the table.
fn table(flows: u32) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    println!("{flows} flows of each of {} policies:", POLICIES.len());
    let run = write(&folder.path().join("flows"), flows, false);
    outputs(&run, folder.path());
    report(&run);
    against_peer(&run, &output_files(folder.path()));
    println!("the same with two decisions of each flow under each policy:");
    report(&write(&folder.path().join("decisions"), flows, true));
    ExitCode::SUCCESS
}

/// Measures the percentiles of a run and those of the peer, which must be the same.
fn against_peer(run: &Path, outputs: &[PathBuf]) {
    let (own, found) = measure("percentiles", "--percentiles", run);
    let python = Command::new("python3").arg("--version").output();
    let script = match python.is_ok_and(|it| it.status.success()) {
        true => [BY_SIZE, BY_PYTHON].concat(),
        false => [BY_SIZE, BY_AWK].concat(),
    };
    let by = if script.contains("python3") {
        "Python"
    } else {
        "awk"
    };
    let (before, since) = (cpu_of_children(), Instant::now());
    let expected: String = outputs
        .iter()
        .map(|output| analyse(&script, output))
        .collect();
    let (wall, cpu) = (since.elapsed().as_secs_f64(), cpu_of_children() - before);
    println!("  the same by awk, sort and {by:7}{wall:8.2} s, {cpu:.2} s of CPU time");
    println!("  ratio of CPU times             {:8.2}", cpu / own);
    check_same(&found, &expected);
}

/// Checks that two tables of percentiles are the same, but for the six digits that awk prints.
fn check_same(found: &str, expected: &str) {
    let numbers = |text: &str| -> Vec<f64> {
        let numbers = text.split_whitespace().map(str::parse);
        numbers.map(|number| number.expect("a number")).collect()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    let bins = POLICIES.len() * BINS;
    assert_eq!((found.len(), expected.len()), (2 * bins, 2 * bins));
    for (found, expected) in found.iter().zip(&expected) {
        let error = (found - expected).abs() / expected;
        assert!(error < 1e-5, "{found} is not {expected}");
    }
    println!("  percentiles that are the same  {:8}", found.len());
}

/// Measures the report of `run`, and prints the size of its files.
fn report(run: &Path) {
    let files = fs::read_dir(run).expect("the run");
    let size = files.map(|entry| entry.expect("a file").metadata().map_or(0, |it| it.len()));
    println!(
        "  files of the run               {:8.1} MB",
        megabytes(size.sum())
    );
    measure("report", "--report", run);
}

/// Measures what this program does with `run` if it is `told` to, in a process of its own. Returns its CPU time
/// in seconds, and what it found.
fn measure(name: &str, told: &str, run: &Path) -> (f64, String) {
    let program = std::env::current_exe().expect("this program");
    let (before, since) = (cpu_of_children(), Instant::now());
    let output = Command::new(program).arg(told).arg(run).output();
    let output = output.expect("this program");
    let (wall, cpu) = (since.elapsed().as_secs_f64(), cpu_of_children() - before);
    let memory = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{memory}");
    println!("  {name:29}  {wall:8.2} s, {cpu:.2} s of CPU time");
    print!("{memory}");
    (cpu, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints the largest memory of this process, where its results are not.
fn peak_memory() {
    let status = fs::read_to_string("/proc/self/status").expect("this process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.split_whitespace().next()?.parse().ok());
    let peak = megabytes(peak.unwrap_or(0) * 1_024);
    eprintln!("    peak memory                  {peak:8.1} MB");
}

/// Returns p50 and p99 of each policy's slowdowns in bins of sizes, a line for each bin.
fn percentiles(run: &Path) -> String {
    let run = RunDir::open(run).expect("the run");
    let mut policies = POLICIES.map(|_| Vec::new());
    let columns = ["policy", "size_bytes", "slowdown"];
    let read = run.visit_batches::<FlowRow, RecordsError>(&columns, |batch| {
        let (sizes, slowdowns) = (batch.integers("size_bytes"), batch.floats("slowdown"));
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

/// Returns the CPU time of the processes that this one has waited for, in seconds.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this process");
    // Of the fields after the name, the 14th and 15th: user and system time, in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: u32 = fields.skip(13).take(2).map(number).sum();
    f64::from(ticks) / 100.0
}

fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1_024).unwrap_or(u32::MAX)) / 1_024.0
}

/// Writes a run of `flows` flows of each policy, with two decisions of each if asked for, and returns its
/// directory.
fn write(results: &Path, flows: u32, with_decisions: bool) -> PathBuf {
    let links = ROUTES.iter().flat_map(|&(middle, gbit, delay)| {
        [("dc1", middle), (middle, "dc8")].map(|(a, b)| sample::link(a, b, gbit, delay))
    });
    let info = RunInfo {
        policies: POLICIES.map(str::to_owned).into(),
        scheduled_flows: flows.into(),
        dcs: (1..=8)
            .map(|dc| sample::dc(&format!("dc{dc}"), 4))
            .collect(),
        links: links.collect(),
        ..sample::info()
    };
    let mut writer = RunWriter::create(results, sample::now(), &info).expect("a run");
    for policy in POLICIES {
        let mut random = Random(7);
        for id in 0..flows {
            let row = flow(&mut random, policy, id, flows);
            writer.append_flow(&row).expect("a flow");
        }
        for link in &info.links {
            writer.append(&[counter(link, policy)]).expect("a counter");
            writer.append(&[queue(link, policy)]).expect("a sample");
        }
        let decided = if with_decisions { 2 * flows } else { 0 };
        let ids: Vec<u32> = (0..decided).map(|number| number / 2).collect();
        for ids in ids.chunks(10_000) {
            let rows: Vec<_> = ids
                .iter()
                .map(|&id| decision(&mut random, policy, id))
                .collect();
            writer.append(&rows).expect("decisions");
        }
    }
    writer.finish(sample::end()).expect("the end").0
}

/// Returns a flow whose FCT follows from its route, plus queueing.
fn flow(random: &mut Random, policy: &str, id: u32, count: u32) -> FlowRow {
    let size = 1_000 + (random.below(5_500) * random.below(5_500)) * random.below(4);
    let start = u64::from(id) * 1_500_000_000 / u64::from(count) + random.below(3_000_000);
    let (src, dst) = (1 + random.below(4), 1 + random.below(4));
    let (any, queueing) = (random.below(6), random.below(1_000));
    let route = match policy {
        "lcmp" => [4, 4, 2, 2, 0, 5][usize::try_from(any).expect("an index")],
        _ => usize::try_from(any).expect("an index"),
    };
    let (middle, gbit, delay) = ROUTES[route];
    let ideal = 20_000_000 + size * 8 / 40;
    let fct = 4 * delay * 1_000_000 + size * 8 / gbit + ideal * queueing / 1_000;
    FlowRow {
        flow_id: FlowId(id),
        src_host: format!("dc1/h{src}"),
        dst_host: format!("dc8/h{dst}"),
        src_dc: "dc1".into(),
        dst_dc: "dc8".into(),
        size_bytes: Bytes::new(size),
        start_ns: Nanos::new(start),
        fct_ns: Some(Nanos::new(fct)),
        ideal_fct_ns: Nanos::new(ideal),
        slowdown: FlowRow::slowdown_of(Nanos::new(fct), Nanos::new(ideal)),
        path: Some(DcPath::new(["dc1", middle, "dc8"])),
        ack_path: Some(DcPath::new(["dc8", middle, "dc1"])),
        ..sample::flow(policy)
    }
}

fn decision(random: &mut Random, policy: &str, id: u32) -> DecisionRow {
    let chosen = usize::try_from(random.below(6)).expect("an index");
    DecisionRow {
        policy: policy.into(),
        repetition: 0,
        time_ns: Nanos::new(random.below(1_500_000_000)),
        switch: "dc1".into(),
        flow_id: Some(FlowId(id)),
        src: [10, 1, 0, 1].into(),
        dst: [10, 8, 0, 1].into(),
        sport: 50_000,
        reason: "new_flow/scored".into(),
        signal_age_ns: None,
        stale_signals: None,
        candidates: ROUTES
            .iter()
            .map(|(middle, ..)| (*middle).to_owned())
            .collect(),
        c_path: ROUTES.iter().map(|_| 9).collect(),
        c_cong: ROUTES.iter().map(|_| 0).collect(),
        cost: ROUTES.iter().map(|_| 27).collect(),
        kept: ROUTES.iter().map(|_| 1).collect(),
        chosen: Some(ROUTES[chosen].0.into()),
    }
}

/// Returns the paths of the outputs in `folder`, one for each policy.
fn output_files(folder: &Path) -> [PathBuf; 5] {
    POLICIES.map(|policy| folder.join(format!("fct_{policy}.txt")))
}

/// Writes each policy's flows as the artifact does: addresses, ports, size, start, FCT, ideal FCT.
fn outputs(run: &Path, folder: &Path) {
    let create = |path| BufWriter::new(File::create(path).expect("a file"));
    let mut files = output_files(folder).map(create);
    let run = RunDir::open(run).expect("the run");
    run.visit(|row: FlowRow| {
        let at = POLICIES.iter().position(|policy| *policy == row.policy);
        let fct = row.fct_ns.map_or(0, Nanos::get);
        let (size, start, ideal) = (
            row.size_bytes.get(),
            row.start_ns.get(),
            row.ideal_fct_ns.get(),
        );
        let file = &mut files[at.expect("a policy")];
        writeln!(
            file,
            "0b000001 0b000801 10000 100 {size} {start} {fct} {ideal}"
        )
        .expect("a line");
    })
    .expect("flows");
    files
        .iter_mut()
        .for_each(|file| file.flush().expect("the last lines"));
}

/// Returns what `script` prints of an output of the artifact: p50 and p99 of each bin.
fn analyse(script: &str, output: &Path) -> String {
    let done = Command::new("sh")
        .args(["-euc", script, "sh"])
        .arg(output)
        .output();
    let done = done.expect("a shell");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The first step of the artifact's analysis: slowdowns of finished flows, by size. Flows of one size stay in
/// their order, which spares sort the comparison of whole lines.
const BY_SIZE: &str = r#"
export LC_ALL=C
sorted="$1.sorted"
awk '$4 == 100 && $6 + $7 < 3e17 { s = $7 / $8; print (s < 1 ? 1 : s), $5 }' "$1" |
  sort -s -n -k 2 >"$sorted"
"#;

/// The second step: the flows cut in twentieths, each sorted by slowdown.
const BY_PYTHON: &str = r#"
python3 - "$sorted" <<'END'
import sys
lines = open(sys.argv[1]).readlines()
for part in range(20):
    flows = lines[part * len(lines) // 20 : (part + 1) * len(lines) // 20]
    slowdowns = sorted(float(line.split()[0]) for line in flows)
    print(slowdowns[int(0.5 * len(flows))], slowdowns[int(0.99 * len(flows))])
END
"#;

/// The second step where there is no Python.
const BY_AWK: &str = r#"
n=$(wc -l <"$sorted")
for i in 0 5 10 15 20 25 30 35 40 45 50 55 60 65 70 75 80 85 90 95; do
  from=$((i * n / 100)) to=$(((i + 5) * n / 100))
  head -n "$to" "$sorted" | tail -n $((to - from)) | sort -n -k 1 |
    awk -v k=$((to - from)) '
      NR == int(k * 0.5) + 1 { p50 = $1 }
      NR == int(k * 0.99) + 1 { p99 = $1 }
      END { print p50, p99 }'
done
"#;

/// Number of bins of sizes.
const BINS: usize = 20;

/// Linear congruential generator with Knuth's MMIX constants: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
