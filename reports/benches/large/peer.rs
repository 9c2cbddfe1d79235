//! The peer: the analysis of the paper's artifact with awk, sort and Python. On a machine without Python, awk does its
//! part, which is faster.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
};

use lab_records::{FlowRow, RunDir};
use lab_units::Nanos;

use crate::runs::POLICIES;

/// Shell script of the artifact's analysis. Its last step is in Python, or in awk on a machine without Python.
pub struct Peer {
    script: String,
    /// Name of the language of the last step, `Python` or `awk`.
    pub by: &'static str,
}

impl Peer {
    /// Returns the script with its last step in Python, or in awk if there is no Python.
    pub fn new() -> Self {
        let python = Command::new("python3").arg("--version").output();
        let (second, by) = if python.is_ok_and(|it| it.status.success()) {
            (BY_PYTHON, "Python")
        } else {
            (BY_AWK, "awk")
        };
        let script = [BY_SIZE, second].concat();
        Self { script, by }
    }

    /// Returns p50 and p99 of each bin of every policy's output in `folder`, one bin per line.
    pub fn percentiles(&self, folder: &Path) -> String {
        let outputs = output_files(folder);
        outputs.iter().map(|output| self.analyse(output)).collect()
    }

    /// Runs the script on one output file in the artifact's format, and returns its standard output.
    fn analyse(&self, output: &Path) -> String {
        let done = Command::new("sh")
            .args(["-euc", &self.script, "sh"])
            .arg(output)
            .output()
            .expect("a shell");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

/// Returns the paths of the output files in `folder`, one for each policy.
fn output_files(folder: &Path) -> [PathBuf; 5] {
    POLICIES.map(|policy| folder.join(format!("fct_{policy}.txt")))
}

/// Writes each policy's flows in the artifact's output format: addresses, ports, size, start, FCT, ideal FCT.
pub fn outputs(run: &Path, folder: &Path) {
    let create = |path| BufWriter::new(File::create(path).expect("a file"));
    let mut files = output_files(folder).map(create);
    let run = RunDir::open(run).expect("the run");
    run.visit(|row: FlowRow| {
        let at = POLICIES.iter().position(|policy| *policy == row.policy);
        let fct = row.fct_ns.map_or(0, Nanos::get);
        let size = row.size_bytes.get();
        let start = row.start_ns.get();
        let ideal = row.ideal_fct_ns.get();
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

/// Checks that two tables of percentiles agree in the six digits that awk prints.
pub fn check_same(found: &str, expected: &str) {
    let numbers = |text: &str| -> Vec<f64> {
        let numbers = text.split_whitespace().map(str::parse);
        numbers.map(|number| number.expect("a number")).collect()
    };
    let found = numbers(found);
    let expected = numbers(expected);
    let bins = POLICIES.len() * BINS;
    assert_eq!((found.len(), expected.len()), (2 * bins, 2 * bins));
    for (found, expected) in found.iter().zip(&expected) {
        let error = (found - expected).abs() / expected;
        assert!(error < 1e-5, "{found} is not {expected}");
    }
    println!("  percentiles that are the same  {:8}", found.len());
}

/// First step of the artifact's analysis: slowdowns of finished flows, sorted by size. A stable sort skips the
/// comparison of whole lines that have equal sizes.
const BY_SIZE: &str = r#"
export LC_ALL=C
sorted="$1.sorted"
awk '$4 == 100 && $6 + $7 < 3e17 { s = $7 / $8; print (s < 1 ? 1 : s), $5 }' "$1" |
  sort -s -n -k 2 >"$sorted"
"#;

/// Second step with Python: splits the flows into 20 bins, and sorts each bin by slowdown.
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

/// Second step with awk, on a machine without Python.
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

/// Number of size bins, as in the artifact.
const BINS: usize = 20;
