//! Tests that replay recorded runs: the same inputs give the same rows, report and evidence.
//!
//! After an intended change of rows, update the digests (`cargo insta review`); after a change of [`Input`] or of a
//! plan, also record the runs again.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use lab_plan::{Engine, PlanOptions, model::Plan};
use lab_recorder::{RunSetting, run_info};
use lab_records::{Clock, EngineInfo, Location, RunDir, RunWriter, UtcTime};
use lab_sample as sample;
use lab_scenario::Files;
use sha2::{Digest, Sha256};

use crate::run::{RunReport, input::Input, repetition::Repetition};
use crate::testing;

#[test]
fn flows_of_perftest_make_the_rows_of_their_run() {
    let digests = replayed("scenarios/smoke.yaml");
    insta::assert_snapshot!("smoke", digests);
}

#[test]
fn flows_of_verbs_through_faults_make_the_rows_of_their_run() {
    let digests = replayed("orchestrator/kernel/fixtures/faults.yaml");
    insta::assert_snapshot!("faults", digests);
}

/// Replays the recorded run of `scenario`, which is a path in the repository, and returns the digests of its records.
fn replayed(scenario: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plan = plan(&folder.join("../..").join(scenario));
    let recording = folder.join(format!("fixtures/{}.jsonl.zst", plan.name));
    let inputs = fs::read(&recording).unwrap_or_else(|error| {
        panic!(
            "{}: {error} (hint: record it with `LCMP_LAB_RECORDING=1 ./lcmp-lab up {scenario}`, \
             orchestrator/CONTRIBUTING.md says how)",
            recording.display()
        )
    });
    let inputs = zstd::decode_all(&*inputs).expect("a recording is compressed with zstd");
    let inputs = serde_json::Deserializer::from_slice(&inputs)
        .into_iter()
        .map(|input| input.expect("recorded by this build (hint: record it again)"));
    let temporary = tempfile::tempdir().unwrap();
    let folder =
        env::var_os("LCMP_LAB_REPLAYED").map_or(temporary.path().to_owned(), PathBuf::from);
    let directory = folder.join(&plan.name);
    fs::create_dir_all(&directory).unwrap();
    replay(&plan, inputs, &directory);
    digests(&directory)
}

/// Returns the plan that `lcmp-lab up SCENARIO` makes for the first slot.
fn plan(scenario: &Path) -> Plan {
    let text = fs::read_to_string(scenario).unwrap();
    let parsed = lab_scenario::parse("replayed", text.as_bytes()).unwrap();
    let folder = scenario.parent().unwrap();
    let files: Files = lab_scenario::named_files(&parsed)
        .into_iter()
        .map(|(_, file)| {
            (
                file.to_owned(),
                fs::read_to_string(folder.join(file)).unwrap(),
            )
        })
        .collect();
    let options = PlanOptions {
        engine: Engine::Kernel,
        is_scaled: true,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&parsed, &text, &files, &options).unwrap()
}

/// Replays the recorded inputs of a run, and writes the resulting records to `directory`.
fn replay(plan: &Plan, mut inputs: impl Iterator<Item = Input>, directory: &Path) {
    let setting = RunSetting {
        kernel_release: String::new(),
        location: Location::Guest,
        clock: Clock::Virtual,
        accel: None,
        engine: EngineInfo::Kernel,
    };
    let info = run_info(plan, "", &setting);
    let mut records = RunWriter::create_in(directory, sample::now(), &info)
        .unwrap()
        .with_large_table(u64::MAX);
    let mut report = RunReport::default();
    for policy in &plan.policies {
        for number in 0..plan.repetitions {
            let mut repetition = Repetition::new(plan, policy, number, plan.rdma.tool);
            let mut is_over = false;
            while !is_over {
                let input = inputs.next().expect("every repetition has an end");
                is_over = matches!(input, Input::End(_));
                let effects = repetition.handle(input, &mut report).unwrap();
                effects.rows.write(&mut records).unwrap();
            }
        }
    }
    assert!(
        inputs.next().is_none(),
        "inputs remain after the last repetition"
    );
    let evidence = lab_recorder::evidence(plan, directory).unwrap();
    let end = report.end(UtcTime::new(sample::now()), evidence);
    records.finish(end).unwrap();
}

/// Returns one line per record in the format of `.ci/record-digests`: name, row count, SHA-256 of the rows, columns.
fn digests(directory: &Path) -> String {
    let tables = testing::tables(directory);
    let lines = tables.iter().map(|path| {
        let table = path.file_stem().unwrap().display();
        let text = fs::read_to_string(path).unwrap();
        let (columns, rows) = text.split_once('\n').unwrap();
        format!(
            "{table}\t{}\t{}\t{columns}\n",
            rows.lines().count(),
            sha256(rows)
        )
    });
    let run = RunDir::open(directory).unwrap();
    let outcome = serde_json::to_string(&run.outcome()).unwrap();
    let outcome = format!("outcome\t1\t{}\t\n", sha256(&outcome));
    lines.chain([outcome]).collect()
}

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
