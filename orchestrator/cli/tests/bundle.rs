//! Tests of `bundle` and `verify`: packing, derivation of results, repeated runs, and refusals.

mod common;

use std::{fs, path::Path};

use lab_bundle::{Limits, Origin, pack, unpack};
use serde_json::Value;
use tempfile::TempDir;

use self::common::{Outcome, command_in, root};

struct Bench(TempDir);

impl Bench {
    /// Creates a folder with a simulated run of the smallest scenario, packed as `run.tar.zst`; `more` are further
    /// options of the simulation.
    fn new(more: &[&str]) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        let smoke = root().join("scenarios/smoke.yaml");
        let arguments = [&["sim", smoke.to_str().unwrap()], more].concat();
        bench.run(&arguments, 0);
        bench.run(&["bundle", "results/latest", "-o", "run.tar.zst"], 0);
        bench
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], exit: i32) -> Outcome {
        let out: Outcome = command_in(self.0.path(), arguments)
            .output()
            .unwrap()
            .into();
        assert_eq!(out.exit, Some(exit), "{arguments:?}: {out:?}");
        out
    }

    #[track_caller]
    fn verify(&self, bundle: &str, more: &[&str], exit: i32) -> Value {
        let out = self.run(&[&["verify", bundle, "--json"], more].concat(), exit);
        serde_json::from_str(&out.stdout).unwrap()
    }

    /// Applies `change` to a copy of the run and packs it as `name`, with a manifest that matches the changed files.
    fn forge(&self, name: &str, change: impl FnOnce(&Path)) {
        let folder = self.at(&format!("{name}.d"));
        let bundle = fs::File::open(self.at("run.tar.zst")).unwrap();
        let manifest = unpack(bundle, &folder, &Limits::default()).unwrap();
        change(&folder);
        let origin = Origin { ..manifest.origin };
        pack(&folder, origin, fs::File::create(self.at(name)).unwrap()).unwrap();
    }
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

fn files_of(value: &Value) -> Vec<&str> {
    let differences = value["differences"].as_array().unwrap();
    differences
        .iter()
        .map(|it| it["file"].as_str().unwrap())
        .collect()
}

#[test]
fn a_run_is_derived_and_run_again() {
    let bench = Bench::new(&["--seed", "7", "--story", "1", "--policies", "lcmp,ecmp"]);
    let verified = bench.verify("run.tar.zst", &["--rerun"], 0);
    assert_eq!(
        (&verified["verdict"], files_of(&verified)),
        (&"pass".into(), vec![])
    );
    assert!(verified["figures"].as_u64().unwrap() >= 8, "{verified:#}");
    let tables = verified["rerun"]["tables"].as_array().unwrap();
    assert!(
        tables.iter().all(|table| table["same_bytes"] == true),
        "{tables:#?}"
    );
    let names: Vec<_> = tables
        .iter()
        .map(|table| table["table"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"flows.csv") && names.contains(&"story.csv"),
        "{names:?}"
    );

    // The same run gives the same bundle, and no file is overwritten.
    bench.run(&["bundle", "results/latest", "-o", "again.tar.zst"], 0);
    let read = |name| fs::read(bench.at(name)).unwrap();
    assert!(read("run.tar.zst") == read("again.tar.zst"));
    bench.run(&["bundle", "results/latest", "-o", "again.tar.zst"], 2);

    let out = bench.run(&["verify", "run.tar.zst", "--rerun", "-o", "kept"], 0);
    assert!(out.stdout.contains("verified: no difference"), "{out:?}");
    assert!(bench.at("kept/run/flows.csv").is_file() && bench.at("kept/results").is_dir());
    bench.run(&["verify", "run.tar.zst", "-o", "kept"], 2);
}

#[test]
fn a_scaled_run_at_a_time_limit_is_run_again() {
    let bench = Bench(tempfile::tempdir().unwrap());
    let path = root().join("scenarios/smoke.yaml");
    let smoke = path.to_str().unwrap();
    bench.run(&["sim", smoke, "--scaled", "--until", "20 ms"], 4);
    bench.run(&["bundle", "results/latest", "-o", "run.tar.zst"], 0);
    bench.verify("run.tar.zst", &["--rerun"], 0);
}

/// The bundle has the extended scenario and the file that it names, so the run is repeated without either.
#[test]
fn a_run_of_a_scenario_that_extends_another_is_run_again() {
    let bench = Bench(tempfile::tempdir().unwrap());
    let scenarios = root().join("scenarios");
    fs::create_dir_all(bench.at("base/workloads")).unwrap();
    for file in ["smoke.yaml", "workloads/bulk.csv"] {
        fs::copy(scenarios.join(file), bench.at("base").join(file)).unwrap();
    }
    let own = "name: own\nextends: base/smoke.yaml\npolicies: [ecmp]\n";
    fs::write(bench.at("own.yaml"), own).unwrap();
    bench.run(&["sim", "own.yaml"], 0);
    bench.run(&["bundle", "results/latest", "-o", "run.tar.zst"], 0);
    fs::remove_dir_all(bench.at("base")).unwrap();
    let verified = bench.verify("run.tar.zst", &["--rerun"], 0);
    assert_eq!(files_of(&verified), [""; 0]);
    let inputs = fs::read_to_string(bench.at("results/latest/inputs.json")).unwrap();
    let inputs: Value = serde_json::from_str(&inputs).unwrap();
    let names: Vec<_> = inputs.as_object().unwrap().keys().collect();
    assert_eq!(names, ["base/smoke.yaml", "base/workloads/bulk.csv"]);

    let out = bench.run(&["check", "own.yaml"], 2);
    for part in [
        "No such file",
        "--> own.yaml:2:10",
        "relative to the scenario",
    ] {
        assert!(out.stderr.contains(part), "{part}: {out:?}");
    }
}

/// The counts in `run.json` cover all flows, including flows that start outside the measured window.
#[test]
fn a_run_with_a_window_of_measured_flows_is_derived() {
    let bench = Bench(tempfile::tempdir().unwrap());
    let scenarios = root().join("scenarios");
    let text = fs::read_to_string(scenarios.join("smoke.yaml")).unwrap();
    let workloads = scenarios.join("workloads");
    let text = text.replace("workloads", workloads.to_str().unwrap());
    let window = "measure: { from: 1 ms, to: 10 ms }\n";
    fs::write(bench.at("window.yaml"), text + window).unwrap();
    bench.run(&["sim", "window.yaml"], 0);
    bench.run(&["bundle", "results/latest", "-o", "run.tar.zst"], 0);
    let verified = bench.verify("run.tar.zst", &[], 0);
    assert_eq!(files_of(&verified), [""; 0]);
}

#[test]
fn numbers_that_are_not_what_the_rows_give_are_named() {
    let bench = Bench::new(&[]);
    bench.forge("figure", |run| {
        let path = run.join("figures/fct-slowdown-cdf.csv");
        replace(&path, "\nlcmp,", "\nlcmp,1");
    });
    bench.forge("summary", |run| {
        replace(&run.join("summary.json"), "\"max\": ", "\"max\": 1");
    });
    bench.forge("plan", |run| {
        replace(&run.join("plan.json"), "\"seed\"", " \"seed\"");
    });
    bench.forge("counts", |run| {
        replace(&run.join("run.json"), "\"finished\": ", "\"finished\": 1");
    });
    bench.forge("lacks", |run| {
        fs::remove_file(run.join("figures/paths.csv")).unwrap();
    });
    for (name, file) in [
        ("figure", "figures/fct-slowdown-cdf.csv"),
        ("summary", "summary.json"),
        ("plan", "plan.json"),
        ("counts", "run.json"),
        ("lacks", "figures/paths.csv"),
    ] {
        let verified = bench.verify(name, &[], 1);
        assert_eq!(files_of(&verified), [file], "{verified:#}");
        assert_eq!(verified["verdict"], "fail");
    }
}

/// If someone changes rows and everything derived from them, only a comparison with a second run of the scenario
/// reveals it.
#[test]
fn changed_rows_are_found_by_a_second_run() {
    let bench = Bench::new(&[]);
    bench.forge("slower", |run| {
        let flows = fs::read_to_string(run.join("flows.csv")).unwrap();
        let columns: Vec<&str> = flows.lines().next().unwrap().split(',').collect();
        let start = columns
            .iter()
            .position(|&name| name == "emu_start_ns")
            .unwrap();
        let mut fields: Vec<&str> = flows.lines().nth(1).unwrap().split(',').collect();
        fields[start] = "12345";
        replace(
            &run.join("flows.csv"),
            flows.lines().nth(1).unwrap(),
            &fields.join(","),
        );
    });
    assert_eq!(bench.verify("slower", &[], 0)["verdict"], "pass");
    let verified = bench.verify("slower", &["--rerun"], 1);
    let tables = verified["rerun"]["tables"].as_array().unwrap();
    let changed: Vec<_> = tables
        .iter()
        .filter(|table| table["same_bytes"] == false)
        .collect();
    assert_eq!(changed.len(), 1, "{tables:#?}");
    assert_eq!(
        (&changed[0]["table"], &changed[0]["changed"]),
        (&"flows.csv".into(), &1.into())
    );

    // The forged bundle has another scenario but this scenario's rows.
    bench.forge("other", |run| {
        replace(&run.join("scenario.yaml"), "seed: 2", "seed: 2 # other");
    });
    let verified = bench.verify("other", &["--rerun"], 1);
    assert!(
        verified["rerun"]["plan"]
            .as_str()
            .unwrap()
            .contains("different scenario")
    );
}

#[test]
fn what_is_no_bundle_or_no_run_is_refused() {
    let bench = Bench::new(&[]);
    bench.run(&["bundle", "results", "-o", "x.tar.zst"], 2);
    fs::remove_file(bench.at("results/latest/summary.json")).unwrap();
    let out = bench.run(&["bundle", "results/latest", "-o", "x.tar.zst"], 2);
    assert!(out.stderr.contains("lcmp-lab report RUN"), "{out:?}");
    assert!(!bench.at("x.tar.zst").exists());
    bench.run(&["verify", "no-such.tar.zst"], 2);
    let refused = bench.verify("results/latest/flows.csv", &[], 2);
    assert_eq!(refused["verdict"], "error");
    let bundle = fs::read(bench.at("run.tar.zst")).unwrap();
    fs::write(bench.at("cut.tar.zst"), &bundle[..bundle.len() / 2]).unwrap();
    bench.verify("cut.tar.zst", &["--rerun"], 2);
    bench.forge("garbage", |run| {
        fs::write(run.join("run.json"), "{}").unwrap();
    });
    bench.verify("garbage", &[], 2);
    bench.forge("no-options", |run| {
        let path = run.join("run.json");
        let mut file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        file["info"]["provenance"]
            .as_object_mut()
            .unwrap()
            .remove("asked");
        fs::write(&path, file.to_string()).unwrap();
    });
    bench.verify("no-options", &[], 0);
    let refused = bench.verify("no-options", &["--rerun"], 2);
    assert!(
        refused["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("earlier lcmp-lab")
    );
}
