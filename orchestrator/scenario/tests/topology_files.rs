//! Tests of topologies in files of their own.

mod common;

use lab_scenario::{Files, MissingFile, files, missing_file};

use common::{parsed, texts};

/// Keys of a topology, as below `topology:`.
const PAIR: &str = "\
defaults: { host_link: { buffer: 1 GB } }
dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }]
links: [{ between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms }]
";

/// Returns a scenario on the topology `topology`.
fn scenario(topology: &str) -> String {
    format!(
        "\
name: case
topology:{topology}
traffic: [{{ flows: [{{ from: dc1/h2, to: dc2/h1, size: 1 MB }}] }}]
policies: [ecmp]
"
    )
}

/// Returns the scenario with the keys [`PAIR`] in it.
fn written_out() -> String {
    let indented: String = PAIR.lines().map(|line| format!("\n  {line}")).collect();
    scenario(&indented)
}

fn refused(topology: &str, files: &[(&str, &str)]) -> String {
    let errors = parsed(&scenario(topology), &texts(files)).unwrap_err();
    errors.to_string()
}

/// A file has the keys alone, or it is a scenario; the topology is the same as in one text.
#[test]
fn a_topology_in_a_file_is_the_one_that_is_written_out() {
    let written = parsed(&written_out(), &Files::new()).unwrap();
    for text in [PAIR, &written_out()] {
        let named = texts(&[("nets/pair.yaml", text)]);
        let mut found = parsed(&scenario(" nets/pair.yaml"), &named).unwrap();
        assert_eq!(files(&found), ["nets/pair.yaml"]);
        assert_eq!(
            found.topology.file.take().as_deref(),
            Some("nets/pair.yaml")
        );
        assert_eq!(found, written);
    }
}

/// The graph file is relative to the folder of the topology file, the topology file to that of the scenario.
#[test]
fn a_topology_file_names_its_graph_file_beside_itself() {
    let scenario = scenario(" ../nets/map.yaml");
    let missing = |files: &Files| missing_file("case.yaml", scenario.as_bytes(), files).unwrap();
    let mut files = Files::new();
    assert_eq!(
        missing(&files),
        Some(MissingFile {
            path: "../nets/map.yaml".to_owned(),
            named_at: "topology".into(),
            named_in: None,
        })
    );
    files.extend(texts(&[(
        "../nets/map.yaml",
        "import: map.csv\nhosts: 2\n",
    )]));
    assert_eq!(
        missing(&files),
        Some(MissingFile {
            path: "../nets/map.csv".to_owned(),
            named_at: "import".into(),
            named_in: Some("../nets/map.yaml".to_owned()),
        })
    );
    files.extend(texts(&[(
        "../nets/map.csv",
        "source,target,delay\ndc1,dc2,3 ms\n",
    )]));
    assert_eq!(missing(&files), None);
    let read = parsed(&scenario, &files).unwrap();
    assert_eq!(read.topology.links[0].wire.delay_ns.to_string(), "3 ms");
    assert_eq!(
        lab_scenario::files(&read),
        ["../nets/map.yaml", "../nets/map.csv"]
    );
}

#[test]
fn problems_are_located_in_the_topology_file() {
    let wrong = [
        ("unit", PAIR.replace("40 Gbit", "40 GB")),
        ("key", PAIR.replace("rate:", "rte:")),
        ("name", PAIR.replace("[dc1, dc2]", "[dc1, dc3]")),
        (
            "no-links",
            PAIR.lines().take(2).collect::<Vec<_>>().join("\n"),
        ),
        ("scenario", written_out().replace("delay: 5 ms", "delay: 5")),
        ("empty", String::new()),
    ];
    let mut all = String::new();
    for (name, text) in wrong {
        let file = format!("{name}.yaml");
        let said = refused(&format!(" {file}"), &[(&file, &text)]);
        all += &format!("{said}\n\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn problems_with_the_files_name_are_located_in_the_scenario() {
    let third = scenario(" third.yaml");
    let mut all = String::new();
    for (topology, files) in [
        (" pair.yaml", vec![]),
        (" nets/other.yaml", vec![("nets/other.yaml", &*third)]),
        (" pair.yml", vec![]),
        (" \"a\\tb.yaml\"", vec![]),
    ] {
        let said = refused(topology, &files);
        all += &format!("{said}\n\n");
    }
    insta::assert_snapshot!(all);
}

/// Flows of the scenario are checked against the file's datacenters, and located in the scenario.
#[test]
fn problems_of_the_rest_stay_in_the_scenario() {
    let text = scenario(" pair.yaml").replace("dc1/h2", "dc1/h3");
    let errors = parsed(&text, &texts(&[("pair.yaml", PAIR)])).unwrap_err();
    let problem = &errors.problems()[0];
    assert_eq!(
        (&*problem.location.file, problem.location.line),
        ("case.yaml", 3)
    );
    assert_eq!(problem.path.as_deref(), Some("traffic[0].flows[0].from"));
}
