//! Tests of `lcmp-lab init`: what it writes is sound, and fits the network.

mod common;

use std::{fs, path::Path};

use self::common::{Outcome, command_in};

fn run(folder: &Path, arguments: &[&str]) -> Outcome {
    command_in(folder, arguments).output().unwrap().into()
}

/// Writes a scenario for `topology`, the example if it is empty, and returns the scenario's text and the codes of the
/// warnings that `check` has about it.
fn initialised(folder: &Path, topology: &str, more: &[&str]) -> (String, Vec<String>) {
    let named: &[&str] = match topology {
        "" => &[],
        name => &["--topology", name],
    };
    let written = run(
        folder,
        &[&["init", "-o", "new.yaml", "--force"], named, more].concat(),
    );
    assert_eq!(written.exit, Some(0), "{topology}: {written:?}");
    assert!(written.stderr.contains("wrote new.yaml\n"), "{written:?}");
    let checked = run(folder, &["check", "--json", "new.yaml"]);
    assert_eq!(checked.exit, Some(0), "{topology}: {checked:?}");
    let check: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    let warnings = check["warnings"].as_array().unwrap().iter();
    let codes: Vec<String> = warnings
        .map(|it| it["code"].as_str().unwrap().to_owned())
        .collect();
    for code in &codes {
        assert!(written.stderr.contains(&**code), "{code}: {written:?}");
    }
    let text = fs::read_to_string(folder.join("new.yaml")).unwrap();
    (text, codes)
}

/// Warnings that other values in the scenario would avoid.
const AVOIDABLE: [&str; 5] = [
    "overload",
    "cut-overload",
    "link-overload",
    "same-policies",
    "perftest-load",
];

#[test]
fn scenarios_for_the_example_and_for_published_networks_are_sound() {
    let folder = tempfile::tempdir().unwrap();
    for topology in ["", "zoo:Abilene", "zoo:AttMpls", "zoo:Geant2012"] {
        let (text, codes) = initialised(folder.path(), topology, &[]);
        assert!(
            codes.iter().all(|code| !AVOIDABLE.contains(&&**code)),
            "{topology}: {codes:?}"
        );
        let name = topology.strip_prefix("zoo:").unwrap_or("example");
        let warnings = codes.join("\n");
        insta::assert_snapshot!(name, format!("{text}\nwarnings of check:\n{warnings}\n"));
    }
}

#[test]
fn links_between_nodes_that_are_nowhere_get_a_default_delay() {
    let folder = tempfile::tempdir().unwrap();
    let graph =
        "graph [ node [ id 0 label \"A\" ] node [ id 1 label \"B\" ] edge [ source 0 target 1 ] ]";
    fs::write(folder.path().join("nowhere.gml"), graph).unwrap();
    let (text, _) = initialised(folder.path(), "nowhere.gml", &[]);
    assert!(text.contains("  default_delay: 5 ms\n"), "{text}");
}

/// The graph has a node without a label, one without coordinates, and one without links.
#[test]
fn options_that_a_graph_needs_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let graph = "graph [
  node [ id 0 label \"Oslo\" Latitude 59.9 Longitude 10.7 ]
  node [ id 1 Latitude 60.4 Longitude 5.3 ]
  node [ id 2 label \"Bergen\" ]
  node [ id 3 label \"Bodo\" Latitude 67.3 Longitude 14.4 ]
  node [ id 4 label \"Lost\" Latitude 10.0 Longitude 10.0 ]
  edge [ source 0 target 1 ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 3 ]
  edge [ source 3 target 0 ]
]";
    fs::create_dir(folder.path().join("nets")).unwrap();
    fs::write(folder.path().join("nets/Nor Way.gml"), graph).unwrap();
    let (text, _) = initialised(folder.path(), "nets/Nor Way.gml", &["--load", "0.05"]);
    for line in [
        "name: nor-way\n",
        "  import: \"nets/Nor Way.gml\"\n",
        "  largest_component: true\n",
        "  unlabelled: number\n",
        "  missing_coordinates: neighbours\n",
        "      load: 5%\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// The path of a topology file is relative to the new scenario, wherever the command runs.
#[test]
fn a_topology_file_is_named_from_the_new_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let (example, _) = initialised(folder.path(), "", &[]);
    fs::create_dir(folder.path().join("lab")).unwrap();
    let words = [
        "init",
        "--topology",
        "new.yaml",
        "--engine",
        "lab",
        "-o",
        "lab/a.yaml",
    ];
    let written = run(folder.path(), &words);
    assert_eq!(written.exit, Some(0), "{written:?}");
    assert!(
        written.stderr.contains("`sudo lcmp-lab up lab/a.yaml`"),
        "{written:?}"
    );
    let text = fs::read_to_string(folder.path().join("lab/a.yaml")).unwrap();
    assert!(text.contains("\ntopology: ../new.yaml\n"), "{text}");
    let network = |path: &str| {
        let plan = run(folder.path(), &["plan", "--json", path]);
        let plan: serde_json::Value = serde_json::from_str(&plan.stdout).unwrap();
        plan["dcs"].clone()
    };
    assert_eq!(network("lab/a.yaml"), network("new.yaml"));
    assert!(example.contains("- { between: [west, north]"), "{example}");
}

#[test]
fn a_file_is_overwritten_only_if_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.yaml");
    fs::write(&path, "mine").unwrap();
    let refused = run(folder.path(), &["init", "-o", "mine.yaml"]);
    assert_eq!(refused.exit, Some(2), "{refused:?}");
    assert_eq!(
        refused.stderr,
        "error: `mine.yaml` already exists (hint: `--force` overwrites it)\n"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let printed = run(folder.path(), &["init"]);
    let forced = run(folder.path(), &["init", "-o", "mine.yaml", "--force"]);
    assert_eq!(forced.exit, Some(0), "{forced:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), printed.stdout);
}

#[test]
fn networks_that_cannot_be_made_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (topology, reason) in [
        ("zoo:Abilen", "did you mean `Abilene`?"),
        (
            "abilene",
            "is neither `zoo:NAME` nor a file with one of the extensions yaml, graphml",
        ),
        ("none.gml", "none.gml"),
        ("none.yaml", "none.yaml"),
    ] {
        let out = run(
            folder.path(),
            &["init", "--topology", topology, "-o", "new.yaml"],
        );
        assert_eq!(out.exit, Some(2), "{topology}: {out:?}");
        assert!(out.stderr.contains(reason), "{topology}: {}", out.stderr);
        assert!(!folder.path().join("new.yaml").exists(), "{topology}");
    }
}
