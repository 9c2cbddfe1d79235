//! Demand matrices: which datacenters their rows name, in which units, and what is refused at which place.

use lab_scenario::{
    Files, Scenario, ScenarioErrors, Traffic, missing_file, named_files, parse_with,
};

/// Cities of which `Paris` and `Nice` are linked to `Saint-Étienne`, in SNDlib's format. The demands are 1.5 and 20
/// Mbit/s from Paris to Nice, twice the same pair, and 3 Mbit/s back.
const SNDLIB: &str = r#"<?xml version="1.0"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="Paris"><coordinates><x>2.35</x><y>48.85</y></coordinates></node>
   <node id="Saint-Étienne"><coordinates><x>4.83</x><y>45.76</y></coordinates></node>
   <node id="Nice"><coordinates><x>7.26</x><y>43.70</y></coordinates></node>
  </nodes>
  <links>
   <link id="l1"><source>Paris</source><target>Saint-Étienne</target></link>
   <link id="l2"><source>Saint-Étienne</source><target>Nice</target></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="d1"><source>Paris</source><target>Nice</target><demandValue>1.5</demandValue></demand>
  <demand id="d2"><source>Paris</source><target>Nice</target><demandValue>20</demandValue></demand>
  <demand id="d3"><source>Nice</source><target>Paris</target><demandValue>3</demandValue></demand>
  <demand id="d4"><source>Nice</source><target>Nice</target><demandValue>0</demandValue></demand>
 </demands>
</network>
"#;

/// The same cities in REPETITA's format; `Nice` is node 0.
const GRAPH: &str = "\
NODES 3
label x y
Nice 7.26 43.70
Paris 2.35 48.85
Saint-Etienne 4.83 45.76

EDGES 4
label src dest weight bw delay
edge_0 1 2 1 10000000 2000
edge_1 2 1 1 10000000 2000
edge_2 2 0 1 10000000 2000
edge_3 0 2 1 10000000 2000
";

const LISTED: &str = "
  dcs: [{ name: a, hosts: 2 }, { name: b, hosts: 1 }, { name: c, hosts: 1 }, { name: transit }]
  links:
    - { between: [a, transit], rate: 100 Gbit, delay: 1 ms }
    - { between: [b, transit], rate: 100 Gbit, delay: 1 ms }
    - { between: [c, transit], rate: 100 Gbit, delay: 1 ms }";

/// Returns a scenario with a topology and a matrix in `file`.
fn text(topology: &str, file: &str) -> String {
    format!(
        "name: matrix
topology: {topology}
traffic:
  - demands: {{ file: {file}, scale: 0.5, sizes: s.csv, duration: 1 ms }}
policies: [ecmp]
"
    )
}

fn parsed(text: &str, files: &[(&str, &str)]) -> Result<Scenario, ScenarioErrors> {
    let texts = files.iter();
    let files: Files = texts
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    parse_with("matrix.yaml", text.as_bytes(), &files)
}

/// Returns the rates of the only matrix in a scenario, as sender, receiver and bit/s.
fn rates(scenario: &Scenario) -> Vec<(&str, &str, u64)> {
    let [Traffic::Demands(matrix)] = &scenario.traffic[..] else {
        panic!("the scenario has a matrix");
    };
    let rates = matrix.rates.iter();
    rates
        .map(|pair| (&*pair.from, &*pair.to, pair.rate.get()))
        .collect()
}

#[test]
fn sndlibs_demands_are_megabits_between_names_and_add_up() {
    let text = text("{ import: fr.xml }", "fr.xml");
    let scenario = parsed(&text, &[("fr.xml", SNDLIB)]).unwrap();
    let expected = [("paris", "nice", 21_500_000), ("nice", "paris", 3_000_000)];
    assert_eq!(rates(&scenario), expected);
    let assumptions = &scenario.topology.assumptions;
    assert!(
        !assumptions.iter().any(|it| it.contains("not used")),
        "{assumptions:?}"
    );
}

#[test]
fn unused_demands_of_a_graph_are_reported_with_the_key() {
    let text = text("{ import: fr.xml }", "other.csv");
    let csv = "from,to,rate\nParis,Nice,1 Gbit\n";
    let scenario = parsed(&text, &[("fr.xml", SNDLIB), ("other.csv", csv)]).unwrap();
    let said = "3 demands of the file not used; an entry `demands` of `traffic` sends them";
    assert_eq!(
        scenario.topology.assumptions.last().map(String::as_str),
        Some(said)
    );
}

/// A bandwidth of 1,500 is 1.5 Mbit/s, from node 1 to node 0.
#[test]
fn repetitas_demands_are_kilobits_between_positions_in_the_graph() {
    let demands = "DEMANDS 2\nlabel src dest bw\nd0 1 0 1500\nd1 2 1 0\n";
    let text = text("{ import: fr.graph }", "fr.0000.demands");
    let scenario = parsed(&text, &[("fr.graph", GRAPH), ("fr.0000.demands", demands)]).unwrap();
    assert_eq!(rates(&scenario), [("paris", "nice", 1_500_000)]);
}

/// Three rows name `sainteti`: by its label, by its name, and by another spelling of the label.
#[test]
fn rows_name_datacenters_by_name_by_label_and_by_other_spellings_of_the_label() {
    let csv = "\
from,to,rate
# Comments and blanks do not count.
Saint-Étienne, Nice, 10 Gbps
sainteti,nice,1.5 Gbit

SAINT ETIENNE,Nice,500000000
Nice,Paris,0
";
    let text = text("{ import: fr.xml }", "m.csv");
    let scenario = parsed(&text, &[("fr.xml", SNDLIB), ("m.csv", csv)]).unwrap();
    assert_eq!(rates(&scenario), [("sainteti", "nice", 12_000_000_000)]);
}

/// Names have eight characters. `Washington State` is not `washingt`, which the label `Washington` got, and the demands
/// of the imported file are between its nodes, whatever their names.
#[test]
fn a_label_with_the_same_start_is_another_one() {
    let graph = SNDLIB
        .replace("Paris", "Washington")
        .replace("Nice", "washingt");
    let csv = "from,to,rate\nWashington State,Saint-Étienne,1 Gbit\n";
    let files = [("fr.xml", &*graph), ("m.csv", csv)];
    let refused = parsed(&text("{ import: fr.xml }", "m.csv"), &files).unwrap_err();
    let message = refused.problems()[0].message();
    assert_eq!(
        message,
        "there is no datacenter `Washington State`, by name or label"
    );
    let scenario = parsed(&text("{ import: fr.xml }", "fr.xml"), &files).unwrap();
    let mbit = 1_000_000;
    assert_eq!(
        rates(&scenario),
        [
            ("washingt", "washing2", 21_500_000),
            ("washing2", "washingt", 3 * mbit)
        ]
    );
}

#[test]
fn a_name_comes_before_a_label_and_a_label_of_two_is_refused() {
    let edges = "source,target,delay\nRome,Lima,1 ms\nLima,Lima 2,1 ms\n";
    let text = text("{ import: n.csv }", "m.csv");
    let files = |row| [("n.csv", edges), ("m.csv", row)];
    let scenario = parsed(&text, &files("from,to,rate\nlima,Lima 2,1 Gbit\n")).unwrap();
    assert_eq!(rates(&scenario), [("lima", "lima2", 1_000_000_000)]);
    let twice = GRAPH.replace("Saint-Etienne", "Paris");
    let named = self::text("{ import: n.graph }", "m.csv");
    let files = [
        ("n.graph", &*twice),
        ("m.csv", "from,to,rate\nNice,Paris,1 Gbit\n"),
    ];
    let refused = parsed(&named, &files).unwrap_err();
    assert_eq!(
        refused.problems()[0].message(),
        "`Paris` is the label of `paris` and of `paris2`"
    );
}

/// Returns the first problem as `FILE:LINE: MESSAGE`, with its hint.
fn said(refused: &ScenarioErrors) -> String {
    let problem = &refused.problems()[0];
    let at = &problem.location;
    format!("{}:{}: {}", at.file, at.line, problem.kind)
}

#[test]
fn errors_of_a_matrix_name_its_row() {
    let text = text(LISTED, "m.csv");
    for (rows, expected) in [
        ("", "m.csv:1: the file has no demand above zero"),
        (
            "a,b,0\nb,c,0 Gbit\n",
            "m.csv:3: the file has no demand above zero",
        ),
        (
            "a,b,1 Gbit\na,b,NaN\n",
            "m.csv:3: `NaN` is not a rate from 0 to 1000 Tbit",
        ),
        (
            "a,b,-5\n",
            "m.csv:2: `-5` is not a rate from 0 to 1000 Tbit",
        ),
        (
            "a,b,2000 Tbit\n",
            "m.csv:2: `2000 Tbit` is not a rate from 0 to 1000 Tbit",
        ),
        ("a,b\n", "m.csv:2: the row has 2 fields; it must have 3"),
        (
            "a,b,1 Gbit\n\na,bb,1 Gbit\n",
            "m.csv:4: there is no datacenter `bb`, by name or label",
        ),
        ("a,a,1 Gbit\n", "m.csv:2: `a` sends to itself"),
        (
            "a,b,1 Gbit\ntransit,b,1 Gbit\n",
            "m.csv:3: datacenter `transit` has no hosts",
        ),
        (
            "a,b,600 Tbit\na,b,600 Tbit\n",
            "m.csv:3: the demands from `a` to `b` add up to more than 1000 Tbit",
        ),
    ] {
        let csv = format!("from,to,rate\n{rows}");
        let found = said(&parsed(&text, &[("m.csv", &csv)]).unwrap_err());
        assert!(found.starts_with(expected), "{found}");
        assert!(found.contains("(hint: "), "{found}");
    }
    let headless = said(&parsed(&text, &[("m.csv", "a,b,1 Gbit\n")]).unwrap_err());
    assert!(
        headless.starts_with("m.csv:1: the first row is `a,b,1 Gbit`, not the header"),
        "{headless}"
    );
}

#[test]
fn other_files_are_refused_at_their_place() {
    let negative = SNDLIB.replace("<demandValue>20<", "<demandValue>-20<");
    let itself = SNDLIB.replace("<demandValue>0<", "<demandValue>1<");
    for (text, files, expected) in [
        (
            text(LISTED, "m.txt"),
            vec![],
            "matrix.yaml:9: `m.txt` has none of the extensions of demand matrices",
        ),
        (
            text(LISTED, "m.csv"),
            vec![],
            "matrix.yaml:9: the text of `m.csv` is not there",
        ),
        (
            text(LISTED, "m.demands"),
            vec![("m.demands", "DEMANDS 1\nlabel src dest bw\nd0 0 1 1\n")],
            "matrix.yaml:9: `m.demands` names nodes by their positions in REPETITA's `.graph` file",
        ),
        (
            text("{ import: fr.graph }", "m.demands"),
            vec![
                ("fr.graph", GRAPH),
                ("m.demands", "DEMANDS 1\nlabel src dest bw\nd0 0 3 1\n"),
            ],
            "m.demands:3: there is no node `3`",
        ),
        (
            text("{ import: fr.graph }", "m.demands"),
            vec![
                ("fr.graph", GRAPH),
                ("m.demands", "DEMANDS 1\nlabel src dest bw\nd0 0 1 -1\n"),
            ],
            "m.demands:3: the demand `-1` is not a number",
        ),
        (
            text(LISTED, "fr.xml"),
            vec![("fr.xml", SNDLIB)],
            "fr.xml:15: there is no datacenter `Paris`",
        ),
        (
            text(LISTED, "fr.xml"),
            vec![("fr.xml", &*negative)],
            "fr.xml:16: the demand `-20` is not a number",
        ),
        (
            text("{ import: fr.xml }", "fr.xml"),
            vec![("fr.xml", &*itself)],
            "fr.xml:18: `nice` sends to itself",
        ),
    ] {
        let found = said(&parsed(&text, &files).unwrap_err());
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn nodes_outside_the_largest_part_have_no_demands() {
    let edges = "NODES 5\nlabel x y\nA 1 1\nB 2 2\nC 3 3\nD 4 4\nE 5 5\n\nEDGES 3\n\
                 label src dest weight bw delay\ne0 0 1 1 1000 10\ne1 2 3 1 1000 10\ne2 3 4 1 1000 10\n";
    let text = text("{ import: n.graph, largest_component: true }", "m.demands");
    let list = |row: &str| format!("DEMANDS 1\nlabel src dest bw\nd0 {row}\n");
    let parsed = |demands: &str| parsed(&text, &[("n.graph", edges), ("m.demands", demands)]);
    assert_eq!(rates(&parsed(&list("2 4 7")).unwrap()), [("c", "e", 7_000)]);
    let found = said(&parsed(&list("2 1 7")).unwrap_err());
    assert!(
        found.starts_with("m.demands:3: node 1 of the graph is outside its largest"),
        "{found}"
    );
}

#[test]
fn the_file_of_a_matrix_is_required_and_listed() {
    let text = text(LISTED, "tables/m.csv");
    let missing = missing_file("matrix.yaml", text.as_bytes(), &Files::new())
        .unwrap()
        .unwrap();
    assert_eq!(
        (&*missing.path, &*missing.named_at),
        ("tables/m.csv", "traffic[0].demands.file")
    );
    let scenario = parsed(&text, &[("tables/m.csv", "from,to,rate\na,b,1 Gbit\n")]).unwrap();
    let named = |path: &str, file| (path.to_owned(), file);
    assert_eq!(
        named_files(&scenario),
        [
            named("traffic[0].demands.file", "tables/m.csv"),
            named("traffic[0].demands.sizes", "s.csv")
        ]
    );
    // The file of an extended scenario is beside that scenario.
    let files = Files::from([("base/matrix.yaml".to_owned(), text)]);
    let other = b"name: other\nextends: base/matrix.yaml\n";
    let missing = missing_file("other.yaml", other, &files).unwrap().unwrap();
    assert_eq!(
        (&*missing.path, missing.named_in.as_deref()),
        ("base/tables/m.csv", Some("base/matrix.yaml"))
    );
}

#[test]
fn a_list_of_scales_is_a_sweep() {
    let text = text(LISTED, "m.csv").replace("scale: 0.5", "scale: [0.5, 200]");
    let files = [("m.csv", "from,to,rate\na,b,1 Gbit\n")];
    let scenario = parsed(&text, &files).unwrap();
    assert_eq!(scenario.sweep().len(), 2);
    let run = scenario.clone().at_load(scenario.sweep()[1]);
    let [Traffic::Demands(matrix)] = &run.traffic[..] else {
        panic!("the scenario has a matrix");
    };
    assert_eq!(
        (matrix.scale.to_string(), run.sweep().len()),
        ("200".to_owned(), 0)
    );
    for refused in ["0", "1000001", "[]", "[1, 1]"] {
        let text = text.replace("[0.5, 200]", refused);
        assert!(parsed(&text, &files).is_err(), "{refused}");
    }
}
