//! `lcmp-lab sweep`, from a scenario to the page.

mod common;

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use common::{
    Outcome, PAIR, Random, command_in, interrupt_when, lcmp_lab, pair_folder, release_program,
    root, texts_in,
};
use lab_reports::{
    Estimate, Interval,
    sweep::{CellNumbers, PointCells, Slice, SweepAnswer, SweepTitle},
};
use serde_json::Value;

fn sweep(folder: &Path, arguments: &[&str]) -> Outcome {
    let path = folder.join("pair.yaml");
    let base = ["sweep", path.to_str().unwrap()];
    lcmp_lab(folder, &[&base[..], arguments].concat())
}

/// Returns each cell's results as text, by the name of its file.
fn cells(folder: &Path) -> BTreeMap<String, String> {
    texts_in(&folder.join("sweep-pair/cells"))
}

#[test]
fn finished_cells_are_not_run_again_and_a_changed_axis_runs_what_it_changes() {
    let folder = pair_folder(PAIR);
    let axes = ["--set", "load=0.2,0.4", "--set", "seed=1..2", "--json"];
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let answer: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!((&answer["cells"], &answer["done"]), (&4.into(), &4.into()));
    assert_eq!(answer["axes"], serde_json::json!(["load"]));
    assert_eq!(answer["points"].as_array().unwrap().len(), 2);
    assert!(folder.path().join("sweep-pair/cells.parquet").is_file());
    // All pairs have one path, so the policies are the same to the digit.
    let effects = answer["effects"].as_array().unwrap();
    let is_known = |effect: &&Value| !effect["change"].is_null();
    let known: Vec<_> = effects.iter().filter(is_known).collect();
    assert!(!known.is_empty(), "{effects:#?}");
    for effect in known {
        assert_eq!(effect["outcome"], "same", "{effect}");
        assert_eq!(effect["change"]["value"], 0.0, "{effect}");
    }
    let first = cells(folder.path());
    assert_eq!(first.len(), 4);
    let again = sweep(folder.path(), &axes);
    assert!(
        again.stderr.contains("4 of 4 cells have results"),
        "{again:?}"
    );
    assert_eq!(cells(folder.path()), first);
    let wider = ["--set", "load=0.2,0.3,0.4", "--set", "seed=1..2"];
    let out = sweep(folder.path(), &wider);
    assert!(out.stderr.contains("4 of 6 cells have results"), "{out:?}");
    let all = cells(folder.path());
    assert_eq!(all.len(), 6);
    assert!(first.iter().all(|(name, text)| all.get(name) == Some(text)));
    let scenario = folder.path().join("pair.yaml");
    fs::write(&scenario, format!("{PAIR}description: Two DCs\n")).unwrap();
    let one = ["--set", "load=0.2", "--set", "seed=1"];
    let out = sweep(folder.path(), &one);
    assert!(out.stderr.contains("1 of 1 cells have results"), "{out:?}");
    fs::write(&scenario, PAIR.replace("1 ms", "2 ms")).unwrap();
    let out = sweep(folder.path(), &one);
    assert!(out.stderr.contains("0 of 1 cells have results"), "{out:?}");
}

#[test]
fn cells_have_the_same_bytes_for_any_number_of_processes_and_as_runs() {
    let one = pair_folder(PAIR);
    let two = pair_folder(PAIR);
    let axes = ["--set", "seed=1..3", "--jobs"];
    for (folder, jobs) in [(&one, "1"), (&two, "2")] {
        let out = sweep(folder.path(), &[&axes[..], &[jobs]].concat());
        assert_eq!(out.exit, Some(0), "{out:?}");
    }
    assert_eq!(cells(one.path()), cells(two.path()));
    let path = one.path().join("pair.yaml");
    let arguments = ["sim", path.to_str().unwrap(), "--seed", "2", "--json"];
    let run = lcmp_lab(one.path(), &arguments);
    let run: Value = serde_json::from_str(&run.stdout).unwrap();
    let p50 = run["policies"][0]["slowdown"]["p50"]["value"]
        .as_f64()
        .unwrap();
    let all = cells(one.path());
    let with_seed = all.values().find(|text| text.contains("seed 2")).unwrap();
    let cell: Value = serde_json::from_str(with_seed).unwrap();
    assert_eq!(cell["policies"][0]["all"][0]["p50"].as_f64(), Some(p50));
}

/// Results are the same whatever is kept beside them.
#[test]
fn a_sweep_keeps_of_its_cells_what_records_ask_for() {
    let folder = pair_folder(PAIR);
    let axes = ["--set", "seed=1..2"];
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let runs = folder.path().join("sweep-pair/runs");
    assert!(!runs.exists());
    let first = cells(folder.path());
    let kept = || {
        let cells = fs::read_dir(&runs).unwrap();
        let files = cells.flat_map(|cell| fs::read_dir(cell.unwrap().path()).unwrap());
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let flows = [&axes[..], &["--records", "flows"]].concat();
    let out = sweep(folder.path(), &flows);
    let again = "2 of these run again, for the records asked for";
    assert!(out.stderr.contains(again), "{out:?}");
    let files = [
        "decisions.csv",
        "flows.csv",
        "inputs.json",
        "links.csv",
        "ports.csv",
        "queues.csv",
        "run.json",
        "scenario.yaml",
    ];
    assert_eq!(kept(), files.map(|file| [file; 2]).concat());
    let full = [&axes[..], &["--records", "full"]].concat();
    let out = sweep(folder.path(), &full);
    let again = "2 of these run again, for the records asked for";
    assert!(out.stderr.contains(again), "{out:?}");
    assert!(kept().contains(&"plan.json".to_owned()), "{:?}", kept());
    let page = fs::read_to_string(folder.path().join("sweep-pair/sweep.html")).unwrap();
    for identity in first.keys() {
        let report = format!("runs/{}/report.html", identity.trim_end_matches(".json"));
        assert!(folder.path().join("sweep-pair").join(&report).is_file());
        assert!(page.contains(&report), "{report}");
    }
    assert_eq!(cells(folder.path()), first);
    let again = sweep(folder.path(), &full);
    assert!(
        again.stderr.contains("2 of 2 cells have results"),
        "{again:?}"
    );
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = pair_folder(PAIR);
    let axes = [
        "--set",
        "policies=[ecmp],[ecmp,nonesuch]",
        "--set",
        "seed=1..2",
    ];
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(4), "{out:?}");
    assert_eq!(cells(folder.path()).len(), 2);
    assert!(
        out.stderr.contains("cell failed: pair, policies"),
        "{out:?}"
    );
    let page = fs::read_to_string(folder.path().join("sweep-pair/sweep.html")).unwrap();
    assert!(page.contains("nonesuch"));
    assert!(out.stdout.contains("2 of 4 cells have results"), "{out:?}");
    let dir = folder.path().join("sweep-pair");
    assert!(
        !dir.join("work").exists(),
        "nothing is left of the cells' runs"
    );
    let status = lcmp_lab(folder.path(), &["sweep", "status", dir.to_str().unwrap()]);
    assert_eq!((status.exit, status.stdout), (Some(4), out.stdout));
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let folder = pair_folder(&PAIR.replace("duration: 1 s", "duration: 8 s"));
    let path = folder.path().join("pair.yaml");
    let dir = folder.path().join("sweep-pair");
    let axes = ["--set", "seed=1..8", "--jobs", "1"];
    let output = ["-o", dir.to_str().unwrap()];
    let arguments = [&["sweep", path.to_str().unwrap()], &axes[..], &output].concat();
    let has_results = || {
        let mut files = fs::read_dir(dir.join("cells"))
            .into_iter()
            .flatten()
            .flatten();
        files.any(|file| file.path().extension().is_some_and(|it| it == "json"))
    };
    let out = interrupt_when(command_in(folder.path(), &arguments), has_results);
    assert_eq!(out.exit, Some(4), "{out:?}");
    let done = cells(folder.path());
    assert!((1..8).contains(&done.len()), "{}", done.len());
    // The second start uses the estimates of the first; if it made one anew, it would overwrite the file.
    let file = dir.join("estimates.json");
    let mut estimates: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let costs = estimates.as_object_mut().unwrap();
    assert_eq!(costs.len(), 8);
    costs
        .values_mut()
        .for_each(|it| it["seconds"] = 12.5.into());
    fs::write(&file, estimates.to_string()).unwrap();
    let out = lcmp_lab(folder.path(), &arguments);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let all = cells(folder.path());
    assert_eq!(all.len(), 8);
    assert!(done.iter().all(|(name, text)| all.get(name) == Some(text)));
    assert_eq!(fs::read_to_string(&file).unwrap(), estimates.to_string());
}

#[test]
fn what_is_no_sweep_is_refused_before_anything_runs() {
    let folder = pair_folder(PAIR);
    for (axis, message) in [
        ("seed=", "the axis `seed` has no values"),
        ("seed", "`seed` has no `=`"),
        (
            "seed=3..1",
            "the range `3..1`, whose last number is below its first",
        ),
        ("sed=1..2", "unknown key `sed`"),
        (
            "policies[ucmp].alpha=1,2",
            "`policies` has no item of this name",
        ),
        (
            "seed=1..100000000000",
            "has 100000000000 values; the maximum is 1000000",
        ),
    ] {
        let out = sweep(folder.path(), &["--set", axis]);
        assert_eq!(out.exit, Some(2), "{axis}: {out:?}");
        assert!(out.stderr.contains(message), "{axis}: {out:?}");
    }
    for (arguments, message) in [
        (
            ["--set", "load=0.3,30%"],
            "two cells of the sweep are the same",
        ),
        (["--baseline", "wcmp"], "has no policy `wcmp` to compare"),
        (
            ["--policies", "ecmp,wcmp"],
            "has no policy `wcmp` to compare",
        ),
    ] {
        let out = sweep(folder.path(), &arguments);
        assert_eq!(out.exit, Some(2), "{arguments:?}: {out:?}");
        assert!(out.stderr.contains(message), "{arguments:?}: {out:?}");
    }
    for (axes, message) in [
        (["load=0.2", "load=0.4"], "gives the axis `load` twice"),
        (
            ["load=0.2", "traffic[0].workload.load=0.3,0.4"],
            "the axis `load` replaces the values",
        ),
    ] {
        let out = sweep(folder.path(), &["--set", axes[0], "--set", axes[1]]);
        assert_eq!(out.exit, Some(2), "{axes:?}: {out:?}");
        assert!(out.stderr.contains(message), "{axes:?}: {out:?}");
    }
    let loads = pair_folder(&PAIR.replace("load: 0.2", "load: [0.2, 0.4]"));
    let out = sweep(loads.path(), &[]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("--set load=1/5,2/5"), "{out:?}");
    let large = ["--set", "seed=1..10000", "--set", "repetitions=1..1000"];
    let out = sweep(folder.path(), &large);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(
        out.stderr.contains("1 × 10000 × 1000 = 10000000 cells"),
        "{out:?}"
    );
    assert!(!folder.path().join("sweep-pair").exists());
    let empty = tempfile::tempdir().unwrap();
    let out = lcmp_lab(
        empty.path(),
        &["sweep", "status", empty.path().to_str().unwrap()],
    );
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(
        out.stderr.contains("is not the directory of a sweep"),
        "{out:?}"
    );
}

/// The folder with run directories has a name that a user's own folder may have.
#[test]
fn files_of_a_directory_that_is_no_sweeps_stay() {
    let folder = pair_folder(PAIR);
    let own = folder.path().join("own");
    let thesis = own.join("work").join("thesis.txt");
    fs::create_dir_all(thesis.parent().unwrap()).unwrap();
    fs::write(&thesis, "kept").unwrap();
    let out = sweep(folder.path(), &["-o", own.to_str().unwrap()]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(
        out.stderr.contains("has the file `work` and is not"),
        "{out:?}"
    );
    let out = lcmp_lab(folder.path(), &["sweep", "cancel", own.to_str().unwrap()]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "kept");
    assert_eq!(fs::read_dir(&own).unwrap().count(), 1);
}

#[test]
fn damaged_results_are_named_and_made_again() {
    let folder = pair_folder(PAIR);
    let axes = ["--set", "seed=1..3"];
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let all = cells(folder.path());
    let dir = folder.path().join("sweep-pair");
    let [cut, other, whole] =
        [0, 1, 2].map(|at| dir.join("cells").join(all.keys().nth(at).unwrap()));
    fs::write(&cut, r#"{"cell":"pa"#).unwrap();
    fs::copy(&whole, &other).unwrap();
    fs::write(dir.join("sweep.json"), "{").unwrap();
    let status = || lcmp_lab(folder.path(), &["sweep", "status", dir.to_str().unwrap()]);
    let out = status();
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(
        out.stderr.contains("the command that made the sweep"),
        "{out:?}"
    );
    // A changed definition looks at the manifest of the earlier one.
    let out = sweep(folder.path(), &["--set", "seed=4"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(out.stderr.contains("removed 2 damaged results"), "{out:?}");
    let again = cells(folder.path());
    assert!(all.iter().all(|(name, text)| again.get(name) == Some(text)));
    fs::copy(&whole, &other).unwrap();
    let out = status();
    assert_eq!(out.exit, Some(4), "{out:?}");
    assert!(
        out.stderr.contains("it has the results of another cell"),
        "{out:?}"
    );
}

/// Results can be shown twice at once, through a link, and where no page can be written.
#[test]
fn results_are_shown_wherever_they_are() {
    let folder = pair_folder(PAIR);
    let link = folder.path().join("link");
    let dir = folder.path().join("sweep-pair");
    fs::create_dir(&dir).unwrap();
    // A process that was killed while it wrote the manifest leaves a draft.
    fs::write(dir.join(".sweep.json.1.draft"), "{").unwrap();
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let shown = link.to_str().unwrap();
    let axes = ["--set", "load=0.2,0.4", "--set", "seed=1..2"];
    let out = sweep(folder.path(), &[&axes[..], &["-o", shown]].concat());
    assert_eq!(out.exit, Some(0), "{out:?}");
    for _ in 0..4 {
        let shows: Vec<_> = (0..3)
            .map(|_| {
                command_in(folder.path(), &["sweep", "status", shown])
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut show in shows {
            assert!(show.wait().unwrap().success());
        }
    }
    let old = dir.join("sweep-curves.svg");
    fs::write(&old, "of other cells").unwrap();
    let page = dir.join("sweep.html");
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    let out = lcmp_lab(folder.path(), &["sweep", "status", shown]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(out.stderr.contains("no page is written"), "{out:?}");
    fs::remove_dir(&page).unwrap();
    let out = sweep(folder.path(), &["--set", "seed=1", "-o", shown]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(!old.exists());
}

#[test]
fn points_without_the_baseline_are_named() {
    let folder = pair_folder(PAIR);
    let axes = ["--set", "policies=[ecmp,lcmp],[wcmp,lcmp]"];
    let out = sweep(folder.path(), &axes);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let reason = "not compared: 1 of 2 points do not have the baseline, `ecmp`";
    assert!(out.stderr.contains(reason), "{out:?}");
    let out = sweep(
        folder.path(),
        &[&axes[..], &["--baseline", "ucmp"]].concat(),
    );
    assert_eq!(out.exit, Some(4), "{out:?}");
    let reason = "undecided: 2 of 2 points do not have the baseline, `ucmp`";
    assert!(out.stderr.contains(reason), "{out:?}");
}

/// All pairs have one path, so the policies are the same in all networks, by trains and by packets.
#[test]
fn a_survey_counts_networks_and_takes_the_error_of_trains_from_a_sample() {
    // With about 1,100 flows, a draw has a p99.
    let folder = pair_folder(&PAIR.replace("load: 0.2", "load: 0.9"));
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [trains, packets, page] = ["trains", "packets", "SURVEY.md"].map(path);
    let axes = ["--set", "topology.links[0].delay=1 ms,2 ms,3 ms,4 ms,5 ms"];
    let axes = [&axes[..], &["--set", "seed=1..2"]].concat();
    for own in [&["--trains=4", "-o", &trains][..], &["-o", &packets]] {
        let out = sweep(folder.path(), &[&axes[..], own].concat());
        assert_eq!(out.exit, Some(0), "{out:?}");
    }
    let survey = |arguments: &[&str]| {
        let base = ["sweep", "survey"];
        lcmp_lab(folder.path(), &[&base[..], arguments].concat())
    };
    let files = ["--sample", &packets, "--markdown", &page, "--json"];
    let out = survey(&[&[&*trains][..], &files].concat());
    assert_eq!(out.exit, Some(0), "{out:?}");
    let answer: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(answer["settings"][0]["networks"], 5, "{answer:#}");
    assert_eq!(answer["settings"][0]["without_choice"], 5, "{answer:#}");
    assert_eq!(answer["sampled"], 10, "{answer:#}");
    let wins = &answer["wins"][0];
    assert_eq!(
        (&wins["policy"], &wins["same"]),
        (&"lcmp".into(), &5.into())
    );
    let errors = answer["errors"].as_array().unwrap();
    // The p50 and the p99 of two policies, over all flows.
    assert_eq!(errors.len(), 4, "{answer:#}");
    assert!(
        errors.iter().all(|it| it["level"]["draws"] == 10),
        "{answer:#}"
    );
    let markdown = fs::read_to_string(&page).unwrap();
    assert!(markdown.starts_with("# pair: survey\n"), "{markdown}");
    assert!(markdown.contains("## Error of trains"), "{markdown}");
    assert!(folder.path().join("trains/survey/survey.html").is_file());

    let out = survey(&[&trains, "--sample", &trains]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("is by trains (hint"), "{out:?}");
    let loads = path("loads");
    let one_network = ["--set", "load=0.2,0.4", "-o", &loads];
    assert_eq!(sweep(folder.path(), &one_network).exit, Some(0));
    let out = survey(&[&loads]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("needs several networks"), "{out:?}");
}

/// `reports/SURVEY.md` is what the program writes of the survey's results, which are in the archive beside it.
#[test]
fn the_published_survey_is_that_of_its_cells() {
    let reports = root().join("reports");
    let packed = fs::read(reports.join("SURVEY.tar.zst")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cells = zstd::decode_all(&*packed).unwrap();
    tar::Archive::new(&*cells).unpack(folder.path()).unwrap();
    let command = "sweep survey zoo --sample zoo-sample --markdown SURVEY.md";
    let arguments: Vec<&str> = command.split(' ').collect();
    let out: Outcome = command_in(folder.path(), &arguments)
        .output()
        .unwrap()
        .into();
    assert_eq!(out.exit, Some(0), "{out:?}");
    let found = fs::read_to_string(folder.path().join("SURVEY.md")).unwrap();
    let published = fs::read_to_string(reports.join("SURVEY.md")).unwrap();
    assert_eq!(found, published);
}

/// Measures how often the intervals of three draws contain the effect over all draws, with the windows of the draws and
/// without them. The cells are simulated by the program that `LCMP_LAB_PROGRAM` names (a release build; this build by
/// default).
#[test]
#[ignore = "simulates 144 cells, minutes with a release build: cargo test --test sweep -- --ignored"]
fn intervals_of_three_draws_contain_the_effect_of_all() {
    for (scenario, is_heavy) in [
        ("8dc.yaml", true),
        ("sweeps/zoo-abilene.yaml", true),
        ("8dc-loads.yaml", false),
    ] {
        let all = draws_of(scenario, is_heavy);
        for statistic in ["p50", "p99"] {
            for policy in ["rm-beta", "lcmp"] {
                let measured = [true, false]
                    .map(|has_windows| Measured::of(&all, policy, statistic, has_windows));
                let [windows, draws] = &measured;
                eprintln!(
                    "{scenario:<24} {policy:<8} {statistic}: {:.1} % with windows, {:.1} % without; \
                     intervals {:.2} times as wide",
                    windows.held * 100.0,
                    draws.held * 100.0,
                    windows.width / draws.width
                );
                // At the light load, a p99 depends on events so rare that most groups of three draws have none of them.
                assert!(!is_heavy && statistic == "p99" || windows.held >= 0.93);
                assert!(statistic == "p50" || windows.width < 1.05 * draws.width);
            }
        }
    }
}

/// Number of draws that stand for all.
const ALL_DRAWS: usize = 48;

/// Number of groups of three draws.
const GROUPS: usize = 1_000;

/// Returns a cell for each of [`ALL_DRAWS`] seeds under a scenario in the workspace; without `is_heavy`, at a load of 30 %.
fn draws_of(scenario: &str, is_heavy: bool) -> Vec<CellNumbers> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(release_program());
    command
        .arg("sweep")
        .arg(root().join("scenarios").join(scenario));
    command.args([
        "--trains",
        "--policies",
        "ecmp,rm-beta,lcmp",
        "--set",
        "repetitions=1",
    ]);
    command.args([
        "--set".to_owned(),
        format!("seed=1..{ALL_DRAWS}"),
        "-o".to_owned(),
    ]);
    command.arg(folder.path());
    if !is_heavy {
        command.args(["--set", "load=30%"]);
    }
    assert!(command.status().unwrap().success());
    let cells = texts_in(&folder.path().join("cells"));
    assert_eq!(cells.len(), ALL_DRAWS);
    let read = |text: &String| serde_json::from_str(text).unwrap();
    cells.values().map(read).collect()
}

/// Intervals of many groups of three draws.
struct Measured {
    /// Share of them that contain the effect over all draws.
    held: f64,
    /// Mean width.
    width: f64,
}

impl Measured {
    fn of(all: &[CellNumbers], policy: &str, statistic: &str, has_windows: bool) -> Self {
        let mut all = all.to_vec();
        let policies = all.iter_mut().flat_map(|cell| &mut cell.policies);
        for draw in policies.flat_map(|it| &mut it.all).filter(|_| !has_windows) {
            draw.p50_without_window = None;
            draw.p99_without_window = None;
        }
        let point = |numbers: Vec<CellNumbers>| PointCells {
            scenario: String::new(),
            values: Vec::new(),
            cells: numbers.len(),
            numbers,
        };
        let mut random = Random(1);
        let mut order: Vec<usize> = (0..all.len()).collect();
        let group = |_| {
            for place in 0..3 {
                order.swap(place, place + random.below(all.len() - place));
            }
            point(order[..3].iter().map(|&at| all[at].clone()).collect())
        };
        let mut points: Vec<PointCells> = (0..GROUPS).map(group).collect();
        points.push(point(all.clone()));
        let title = SweepTitle {
            name: String::new(),
            version: String::new(),
            method: String::new(),
            axes: Vec::new(),
            scenarios: 1,
        };
        let cells = [points.len(); 2];
        let answer = SweepAnswer::new(title, cells, &points, Vec::new(), Vec::new(), None);
        let mut effects: Vec<Estimate> = answer
            .effects
            .iter()
            .filter(|it| it.policy == policy && it.statistic == statistic && it.slice == Slice::All)
            .map(|it| it.change.unwrap())
            .collect();
        let truth = effects.pop().unwrap().value;
        let intervals: Vec<Interval> = effects.iter().map(|it| it.interval.unwrap()).collect();
        let number = f64::from(u32::try_from(intervals.len()).unwrap());
        let holds = |it: &&Interval| it.low <= truth + 1e-12 && truth - 1e-12 <= it.high;
        let held = u32::try_from(intervals.iter().filter(holds).count()).unwrap();
        Self {
            held: f64::from(held) / number,
            width: intervals.iter().map(|it| it.high - it.low).sum::<f64>() / number,
        }
    }
}
