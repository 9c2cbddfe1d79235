//! Comparison of reports, figures and comparisons of runs with `reports/tests/recompute.py`, which recomputes their
//! numbers from the raw rows by the documented definitions.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use self::common::{Outcome, command_in, root};

/// Scenario with many small flows over two paths of different rate and delay, and one listed flow.
const SCENARIO: &str = "\
name: small
description: Many small flows over two paths

topology:
  dcs:
    - { name: dc1, hosts: 2 }
    - { name: dc2, hosts: 2 }
    - { name: dc3 }
    - { name: dc4, hosts: 2 }
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 200 us }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 200 us }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 500 us }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 500 us }

traffic:
  - workload:
      sizes: sizes.csv
      pairs: [{ from: dc1, to: dc4, both_ways: true }, { from: dc1, to: dc2 }]
      load: 0.25
      duration: 2 ms
  - flows:
      - { from: dc4/h1, to: dc2/h1, size: 1 MB }
generator: verbs

policies:
  - ecmp
  - lcmp: { max_delay: 2048 us }

transport: { retransmit_timeout: 4 ms }
scale: { rate: 1/20, time: 10 }
seed: 1
measure: { queues: 50 us, links: 20 us }
";

/// Faults: cuts that the first switch detects, cuts that it cannot detect, and a link at half its rate.
const FAULTS: &str = "\
faults:
  - { at: 300 us, link: [dc1, dc2], down: true }
  - { at: 500 us, link: [dc3, dc4], rate: 20 Gbit }
  - { at: 900 us, link: [dc1, dc2], up: true }
  - { at: 1 ms, link: [dc2, dc4], down: true }
  - { at: 1300 us, link: [dc2, dc4], up: true }
";

const SIZES: &str = "bytes,percent\n1000,0\n10000,50\n40000,90\n200000,100\n";

/// Working directory of the simulations and of the script.
struct Bench(TempDir);

impl Bench {
    /// Creates a directory with the scenarios. If Python is missing, prints that `test` is skipped and returns `None`.
    fn new(test: &str) -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            eprintln!("skipped: {test}: python3 is not installed");
            return None;
        }
        let bench = Self(tempfile::tempdir().unwrap());
        bench.write("small.yaml", SCENARIO);
        bench.write("faults.yaml", &format!("{SCENARIO}{FAULTS}"));
        let window = ["links: 20 us }", "links: 20 us, from: 500 us, to: 560 us }"];
        bench.write("window.yaml", &SCENARIO.replace(window[0], window[1]));
        bench.write("sizes.csv", SIZES);
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Simulates a scenario, which must end with exit code `exit`: 4 if it is cut short. Returns the run directory.
    #[track_caller]
    fn sim(&self, scenario: &str, arguments: &[&str], exit: i32) -> PathBuf {
        let arguments = [&["sim", scenario], arguments].concat();
        let out: Outcome = command_in(self.0.path(), &arguments)
            .output()
            .unwrap()
            .into();
        assert_eq!(out.exit, Some(exit), "{arguments:?}: {out:?}");
        self.path("results/latest").canonicalize().unwrap()
    }

    /// Compares two runs whose plans may differ in the aspect `differs`; returns the path of the file with the numbers.
    #[track_caller]
    fn compare(&self, runs: [&Path; 2], differs: &str) -> PathBuf {
        let [a, b] = runs.map(|run| run.to_str().unwrap());
        let arguments = ["compare", "--json", a, b, "--differs", differs];
        let out: Outcome = command_in(self.0.path(), &arguments)
            .output()
            .unwrap()
            .into();
        assert_eq!(out.exit, Some(0), "{out:?}");
        let file = self.path(&format!("{differs}.json"));
        fs::write(&file, out.stdout).unwrap();
        file
    }
}

fn recompute(runs: &[&Path], compared: Option<&Path>) -> Outcome {
    let mut script = Command::new("python3");
    script.arg(root().join("reports/tests/recompute.py"));
    script.arg("--self-test").args(runs);
    if let Some(file) = compared {
        script.arg("--compare").arg(file);
    }
    script.output().unwrap().into()
}

#[track_caller]
fn assert_agrees(runs: &[&Path], compared: Option<&Path>) {
    let out = recompute(runs, compared);
    assert_eq!(out.exit, Some(0), "{}{}", out.stdout, out.stderr);
}

/// Asserts that the script fails and that its message contains `expected`.
#[track_caller]
fn assert_differs(runs: &[&Path], compared: Option<&Path>, expected: &str) {
    let out = recompute(runs, compared);
    assert_eq!(out.exit, Some(1), "{}{}", out.stdout, out.stderr);
    assert!(out.stdout.contains(expected), "{}", out.stdout);
}

/// Replaces the number in the second row and in `column` of a CSV file; returns the previous text of the file.
fn plant(file: &Path, column: &str, number: &str) -> String {
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines[0].split(',').position(|it| it == column).unwrap();
    let mut cells: Vec<&str> = lines[2].split(',').collect();
    cells[at] = number;
    lines[2] = cells.join(",");
    fs::write(file, lines.join("\n") + "\n").unwrap();
    text
}

#[test]
fn what_reports_and_comparisons_say_is_what_the_raw_rows_say() {
    let Some(bench) = Bench::new("what_reports_and_comparisons_say_is_what_the_raw_rows_say")
    else {
        return;
    };
    let light = bench.sim("small.yaml", &["--load", "0.01"], 0);
    let cut = bench.sim("small.yaml", &["--until", "1200 us"], 4);
    let window = bench.sim("window.yaml", &["--scaled"], 0);
    assert_agrees(&[&light, &cut, &window], None);

    let drawn = bench.sim("small.yaml", &["--repetitions", "3"], 0);
    let with_faults = bench.sim("faults.yaml", &["--repetitions", "3"], 0);
    let rerouted = with_faults.join("paths.csv");
    assert!(rerouted.is_file(), "no flow was re-routed");
    let faults = bench.compare([&drawn, &with_faults], "faults");
    assert_agrees(&[&drawn, &with_faults], Some(&faults));

    let again = bench.sim("small.yaml", &["--repetitions", "3", "--seed", "2"], 0);
    let seeds = bench.compare([&drawn, &again], "seed");
    assert_agrees(&[&drawn, &again], Some(&seeds));

    let comparison = fs::read_to_string(&seeds).unwrap();
    let planted = comparison.replacen("\"at_least\": false", "\"at_least\": true", 1);
    fs::write(&seeds, planted).unwrap();
    assert_differs(&[&drawn, &again], Some(&seeds), "at_least: written True");
}

#[test]
fn a_planted_error_is_named() {
    let Some(bench) = Bench::new("a_planted_error_is_named") else {
        return;
    };
    let run = bench.sim("small.yaml", &["--load", "0.01"], 0);
    assert_agrees(&[&run], None);
    for (file, column, number, expected) in [
        ("flows.csv", "slowdown", "9.5", "flows.csv: slowdown: "),
        ("flows.csv", "emu_fct_ns", "95000000", "summary.json: "),
        (
            "flows.csv",
            "fct_ns",
            "95000000",
            "figures/flow-timeline.csv: ",
        ),
        ("flows.csv", "size_bytes", "95000000", "figures/paths.csv: "),
        (
            "links.csv",
            "tx_bytes",
            "95000000",
            "figures/links-over-time.csv: ",
        ),
        (
            "figures/fct-slowdown-cdf.csv",
            "slowdown",
            "9.5",
            "cdf.csv: ecmp 2: slowdown: written 9.5",
        ),
        (
            "figures/paths.csv",
            "share_of_bytes",
            "9.5",
            "paths.csv: ecmp dc2-dc4: share_of_bytes: written 9.5",
        ),
        (
            "figures/link-utilisation.csv",
            "utilisation",
            "9.5",
            "utilisation.csv: dc1-dc2 lcmp: utilisation: written 9.5",
        ),
    ] {
        let path = run.join(file);
        let before = plant(&path, column, number);
        assert_differs(&[&run], None, expected);
        fs::write(&path, before).unwrap();
    }
    let summary = run.join("summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(
        &summary,
        text.replacen("\"peak_concurrency\": ", "\"peak_concurrency\": 9", 1),
    )
    .unwrap();
    assert_differs(&[&run], None, "peak_concurrency: written 9");
}
