//! Benchmark of a sweep with many cells that all have results: how long its command takes.
//!
//! ```text
//! cargo bench -p lab-sweep --bench many_cells          # 24,840 cells
//! cargo bench -p lab-sweep --bench many_cells -- 3     # loads: 2,484 cells
//! ```
//!
//! The grid is that of the Topology Zoo, with more loads. Numbers in the cells are made up.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::{fs, path::Path, time::Instant};

use lab_records::Grade;
use lab_reports::{
    WINDOWS,
    check::PageAnswer,
    sweep::{CellNetwork, CellNumbers, CellPolicy, DrawSlowdowns, SweepAnswer},
};
use lab_scenario::{Axis, Files, Sweep, SweepRecords, WrittenOut};
use lab_sweep::{BaseScenario, CellCost, Manifest, Store};
use lab_units::Bytes;

const POLICIES: [&str; 6] = ["ecmp", "wcmp", "ucmp", "te-100ms", "rm-beta", "lcmp"];

fn main() {
    let loads: usize = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(30);
    let manifest = manifest(loads);
    let grid = manifest.grid().expect("not too many cells");
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::create(folder.path()).expect("a sweep's directory");
    store.write_manifest(&manifest).expect("a manifest");
    for number in 0..grid.len() {
        let cell = manifest.cell(&grid, number).expect("a cell");
        let cost = CellCost {
            seconds: 1.0,
            memory: Bytes::new(100_000_000),
        };
        store
            .write(&numbers(number, cell.name, cell.identity), cost)
            .expect("written results");
    }
    println!("{} cells", grid.len());
    let since = Instant::now();
    let manifest = store.manifest().expect("readable").expect("written");
    let grid = manifest.grid().expect("not too many cells");
    let cells = manifest.identities(&grid);
    let done = store.done().expect("a listing");
    assert_eq!(done.len(), cells.len());
    let listed = since.elapsed();
    let results = lab_sweep::results(&manifest, &grid, &store, &cells).expect("results");
    let read = since.elapsed();
    let table = folder.path().join("cells.parquet");
    results.table.write(&table).expect("a table");
    let counts = [results.cells, results.done];
    let answer = SweepAnswer::new(
        results.title,
        counts,
        &results.points,
        results.problems,
        results.runs,
        None,
    );
    let computed = since.elapsed();
    let page = answer.write(folder.path()).expect("a page").html;
    let total = since.elapsed();
    println!("list: {:.2} s", listed.as_secs_f64());
    println!("read: {:.2} s", (read - listed).as_secs_f64());
    println!("compute: {:.2} s", (computed - read).as_secs_f64());
    println!(
        "page, {} bytes: {:.2} s",
        size(&page),
        (total - computed).as_secs_f64()
    );
    println!("total: {:.2} s", total.as_secs_f64());
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).expect("a file").len()
}

fn manifest(loads: usize) -> Manifest {
    let text = include_str!("../../../scenarios/sweeps/zoo-abilene.yaml");
    let name = "zoo-abilene.yaml";
    let scenario = lab_scenario::parse(name, text.as_bytes()).expect("a scenario");
    let sizes = include_str!("../../../scenarios/workloads/websearch.csv").to_owned();
    let files = Files::from([("../workloads/websearch.csv".to_owned(), sizes)]);
    let keys = WrittenOut::read(name, text, &files, &scenario).expect("its keys");
    let options = "unlabelled: number, missing_coordinates: neighbours, largest_component: true";
    let loads: Vec<String> = (1..=loads).map(|load| format!("{load}%")).collect();
    let axes: Vec<Axis> = [
        format!("topology={{ zoo: \"*\", {options} }}"),
        format!("load={}", loads.join(",")),
        "seed=1..3".to_owned(),
    ]
    .iter()
    .map(|axis| axis.parse().expect("an axis"))
    .collect();
    let sweep = Sweep {
        name: "zoo".to_owned(),
        scenarios: vec![name.to_owned()],
        axes,
        policies: Vec::new(),
        baseline: None,
        trains: None,
        records: SweepRecords::Summary,
    };
    let base = BaseScenario {
        name: "zoo-abilene".to_owned(),
        keys,
        files,
    };
    Manifest::new(sweep, "1".to_owned(), vec![base])
}

/// Returns results that differ between cells and policies.
#[expect(clippy::cast_precision_loss, reason = "numbers are small")]
fn numbers(number: usize, cell: String, identity: String) -> CellNumbers {
    let policy = |(place, label): (usize, &&str)| {
        let draw = DrawSlowdowns {
            repetition: 0,
            flows: 4_000,
            p50: Some(1.5 + (number * (place + 3) % 101) as f64 / 100.0),
            p99: Some(9.5 + (number * (place + 7) % 1_009) as f64 / 100.0),
            mean: Some(2.5),
            p50_without_window: Some([1.5; WINDOWS].map(|it| it + number as f64 / 1e7)),
            p99_without_window: Some([9.5; WINDOWS].map(|it| it + number as f64 / 1e7)),
        };
        CellPolicy {
            policy: (*label).to_owned(),
            unfinished: 0,
            busiest: Some(0.5),
            mechanism: None,
            all: vec![draw],
            with_choice: vec![draw],
        }
    };
    CellNumbers {
        cell,
        identity,
        plan: number.to_string(),
        verdict: Grade::Valid,
        reasons: Vec::new(),
        flows: 4_000,
        flows_with_choice: Some(1_000),
        network: CellNetwork::default(),
        policies: POLICIES.iter().enumerate().map(policy).collect(),
    }
}
