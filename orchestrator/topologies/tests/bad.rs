//! Thirty bad inputs for each importer: each is refused with its place, or accepted for the reason in its title.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use lab_topologies::{Format, Graph, ImportError, NetworkOptions, network, read, repetita};

/// Bad input: its title, and the text.
type Case = (&'static str, String);

/// Reads all cases, and returns a line for each: its place and message, or the numbers of nodes and edges.
fn answers(cases: &[Case], read: impl Fn(&[u8]) -> Result<Graph, ImportError>) -> String {
    let mut lines = String::new();
    for (title, text) in cases {
        let began = Instant::now();
        let answer = read(text.as_bytes());
        let took = began.elapsed();
        assert!(took < Duration::from_secs(2), "{title}: {took:?}");
        let answer = match answer {
            Ok(graph) => format!(
                "accepted: {} nodes, {} edges",
                graph.nodes.len(),
                graph.edges.len()
            ),
            Err(error) => {
                assert!(error.range.start <= text.len(), "{title}: {error:?}");
                let line = text[..error.range.start].matches('\n').count() + 1;
                let path = error.path.as_ref().map(|path| format!(" at `{path}`"));
                format!("line {line}{}: {error}", path.unwrap_or_default())
            }
        };
        let _ = writeln!(lines, "{title}\n  {answer}");
    }
    lines
}

/// Returns the case in which `from` is replaced by `to` in `good`.
fn changed(good: &str, title: &'static str, from: &str, to: &str) -> Case {
    assert!(good.contains(from), "{title}: {from}");
    (title, good.replacen(from, to, 1))
}

/// Returns the texts before `part` in `good`.
fn cut(good: &str, title: &'static str, part: &str) -> Case {
    (
        title,
        good.split(part).next().unwrap_or_default().to_owned(),
    )
}

const GRAPHML: &str = r#"<graphml>
<key id="0" for="node" attr.name="label"/>
<key id="1" for="node" attr.name="Latitude"/>
<key id="2" for="node" attr.name="Longitude"/>
<key id="3" for="edge" attr.name="LinkSpeedRaw"/>
<key id="4" for="edge" attr.name="rate"/>
<key id="5" for="edge" attr.name="delay"/>
<graph edgedefault="undirected">
<node id="0"><data key="0">Paris</data><data key="1">48.85</data><data key="2">2.35</data></node>
<node id="1"><data key="0">Lyon</data><data key="1">45.76</data><data key="2">4.83</data></node>
<edge source="0" target="1"><data key="3">1000000</data><data key="5">2 ms</data></edge>
</graph>
</graphml>
"#;

#[test]
fn graphml() {
    let changed = |title, from: &str, to: &str| changed(GRAPHML, title, from, to);
    let bomb =
        "<!DOCTYPE graphml [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<graphml>";
    let edges = "\n<edge source=\"0\" target=\"1\"/>".repeat(20_000);
    let nodes: String = (2..10_001)
        .map(|id| format!("\n<node id=\"{id}\"/>"))
        .collect();
    let cases = [
        ("an empty file", String::new()),
        ("blanks", " \n\t ".to_owned()),
        ("another format", "graph [ node [ id 0 ] ]".to_owned()),
        cut(GRAPHML, "cut off in a tag", " target=\"1\""),
        cut(GRAPHML, "cut off before the end", "</graph>"),
        changed("a bomb of entities", "<graphml>", bomb),
        changed("an unknown entity", "Paris", "&paris;"),
        ("another root", "<svg/>".to_owned()),
        ("no graph", "<graphml/>".to_owned()),
        (
            "two graphs",
            "<graphml><graph/><graph/></graphml>".to_owned(),
        ),
        (
            "a graph without nodes",
            "<graphml><graph/></graphml>".to_owned(),
        ),
        changed("a node without an id", "node id=\"0\"", "node"),
        changed("a node with an empty id", "node id=\"0\"", "node id=\"\""),
        changed("two nodes of one id", "node id=\"1\"", "node id=\"0\""),
        changed(
            "an id with a control character",
            "node id=\"0\"",
            "node id=\"a&#9;b\"",
        ),
        changed("a forbidden character", "Paris", "\u{1}"),
        changed("a label of two lines", "Paris", "Pa\nris"),
        changed("a long label", "Paris", &"P".repeat(201)),
        changed("a label without text, as if there were none", "Paris", ""),
        changed(
            "data of an unknown key, which are left out",
            "data key=\"0\"",
            "data key=\"9\"",
        ),
        changed("data without a key", "data key=\"0\"", "data"),
        changed("a latitude that is not a number", "48.85", "NaN"),
        changed("a latitude past the pole", "48.85", "90.5"),
        changed("a longitude with a comma", "2.35", "2,35"),
        changed("one coordinate", "<data key=\"2\">2.35</data>", ""),
        changed("an edge to an unknown node", "target=\"1\"", "target=\"2\""),
        changed("an edge with one end", " target=\"1\"", ""),
        changed("a negative speed", "1000000", "-1"),
        changed("an infinite speed", "1000000", "inf"),
        changed("a speed of zero, which is unknown", "1000000", "0"),
        changed("a rate without a unit", "key=\"3\">1000000", "key=\"4\">10"),
        changed("a rate of zero", "key=\"3\">1000000", "key=\"4\">0 Gbit"),
        changed("a negative delay", "2 ms", "-2 ms"),
        changed(
            "an edge to its start, which a network leaves out",
            "target=\"1\"",
            "target=\"0\"",
        ),
        changed("20,001 edges", "</edge>", &format!("</edge>{edges}")),
        changed("10,001 nodes", "</node>", &format!("</node>{nodes}")),
        (
            "10^6 edges",
            "<edge source=\"0\" target=\"1\"/>\n".repeat(1_000_000),
        ),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| read(Format::Xml, bytes)));
}

const GML: &str = r#"# A comment
graph [
  directed 0
  node [ id 0 label "Paris" Latitude 48.85 Longitude 2.35 ]
  node [ id 1 label "Lyon" Latitude 45.76 Longitude 4.83 ]
  edge [ source 0 target 1 LinkSpeedRaw 1000000.0 delay "2 ms" ]
]
"#;

#[test]
fn gml() {
    let changed = |title, from: &str, to: &str| changed(GML, title, from, to);
    let edges = " ]\nedge [ source 0 target 1".repeat(20_000);
    let nodes: String = (2..10_001)
        .map(|id| format!(" ]\nnode [ id {id}"))
        .collect();
    let cases = [
        ("an empty file", String::new()),
        ("only a comment", "# graph [ ]".to_owned()),
        ("another format", "<graphml/>".to_owned()),
        ("a number where a key is due", "1 [ ]".to_owned()),
        ("a list that is closed twice", "graph [ ] ]".to_owned()),
        cut(GML, "cut off in a node", "label \"Lyon\""),
        cut(GML, "cut off after a key", "1000000.0"),
        cut(GML, "cut off in a string", "aris"),
        cut(GML, "cut off before the end", "\n]\n"),
        ("lists nested 100,000 deep", "a [ ".repeat(100_000)),
        ("no graph", "Creator \"me\"".to_owned()),
        (
            "two graphs",
            "graph [ node [ id 1 ] ] graph [ node [ id 1 ] ]".to_owned(),
        ),
        ("a graph that is a number", "graph 1".to_owned()),
        ("a graph without nodes", "graph [ directed 0 ]".to_owned()),
        changed("a node without an id", "id 0 ", ""),
        changed("a node with an empty id", "id 0", "id \"\""),
        changed("two nodes of one id", "id 1", "id 0"),
        changed("an id with a control character", "id 0", "id \"a\u{1}b\""),
        changed("an id that is a list", "id 0", "id [ a 0 ]"),
        changed("a label of two lines", "Paris", "Pa\nris"),
        changed(
            "a label with a quote by name, which is read",
            "Paris",
            "&quot;Paris&quot;",
        ),
        changed("a long label", "Paris", &"P".repeat(201)),
        changed(
            "unknown keys, which are left out",
            "label",
            "colour [ red 1 ] label",
        ),
        changed("a latitude that is not a number", "48.85", "NaN"),
        changed("a latitude in quotes, which is read", "48.85", "\"48.85\""),
        changed("a latitude past the pole", "48.85", "90.5"),
        changed("a longitude with a comma", "2.35", "2,35"),
        changed("one coordinate", "Longitude 2.35", ""),
        changed("an edge to an unknown node", "target 1", "target 2"),
        changed("an edge with one end", "target 1", ""),
        changed("a negative speed", "1000000.0", "-1"),
        changed("a speed past all bounds", "1000000.0", "1e400"),
        changed("a speed of zero, which is unknown", "1000000.0", "0"),
        changed("a rate without a unit", "LinkSpeedRaw", "rate"),
        changed("a delay without a unit", "\"2 ms\"", "2"),
        changed(
            "an edge to its start, which a network leaves out",
            "target 1",
            "target 0",
        ),
        changed(
            "20,001 edges",
            "source 0 target 1",
            &format!("source 0 target 1{edges}"),
        ),
        changed("10,001 nodes", "id 1", &format!("id 1{nodes}")),
        (
            "10^6 edges",
            "edge [ source 0 target 1 ]\n".repeat(1_000_000),
        ),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| read(Format::Gml, bytes)));
}

const SNDLIB: &str = r#"<network>
<meta><unit>MBITPERSEC</unit></meta>
<networkStructure>
<nodes coordinatesType="geographical">
<node id="Paris"><coordinates><x>2.35</x><y>48.85</y></coordinates></node>
<node id="Lyon"><coordinates><x>4.83</x><y>45.76</y></coordinates></node>
</nodes>
<links>
<link id="l"><source>Paris</source><target>Lyon</target>
<preInstalledModule><capacity>9920.0</capacity></preInstalledModule></link>
</links>
</networkStructure>
<demands>
<demand id="d"><source>Paris</source><target>Lyon</target><demandValue>1.5</demandValue></demand>
</demands>
</network>
"#;

#[test]
fn sndlib() {
    let changed = |title, from: &str, to: &str| changed(SNDLIB, title, from, to);
    let ends = "<source>Paris</source><target>Lyon</target>";
    let links = format!("\n<link>{ends}</link>").repeat(20_000);
    let demands = format!("\n<demand>{ends}<demandValue>1</demandValue></demand>").repeat(20_000);
    let bomb = "<!DOCTYPE network [<!ENTITY a \"aaaaaaaaaa\">]>\n<network>";
    let cases = [
        ("only the root", "<network/>".to_owned()),
        cut(SNDLIB, "cut off in a tag", "=\"geographical\""),
        cut(SNDLIB, "cut off before the end", "</demands>"),
        changed("a bomb of entities", "<network>", bomb),
        (
            "no structure",
            "<network><structure/></network>".to_owned(),
        ),
        (
            "no nodes",
            "<network><networkStructure/></network>".to_owned(),
        ),
        (
            "an empty list of nodes",
            "<network><networkStructure><nodes/></networkStructure></network>".to_owned(),
        ),
        (
            "no links, which the network then lacks",
            "<network><networkStructure><nodes><node id=\"a\"/></nodes></networkStructure></network>".to_owned(),
        ),
        changed("a node without an id", "node id=\"Paris\"", "node"),
        changed("a node with an empty id", "node id=\"Paris\"", "node id=\"\""),
        changed("two nodes of one id", "node id=\"Lyon\"", "node id=\"Paris\""),
        changed("an id with a control character", "node id=\"Paris\"", "node id=\"a&#10;b\""),
        changed("a long id", "node id=\"Paris\"", &format!("node id=\"{}\"", "P".repeat(201))),
        changed("pixels, which are left out", "geographical", "pixel"),
        changed("a node without coordinates", "<coordinates><x>2.35</x><y>48.85</y></coordinates>", ""),
        changed("one coordinate", "<x>2.35</x>", ""),
        changed("an empty coordinate", "<x>2.35</x>", "<x/>"),
        changed("a coordinate that is not a number", "48.85", "NaN"),
        changed("coordinates past the pole", "48.85", "148.85"),
        changed("another unit", "MBITPERSEC", "GBITPERSEC"),
        changed("an empty unit", "MBITPERSEC", ""),
        changed("no unit, which is assumed", "<meta><unit>MBITPERSEC</unit></meta>", ""),
        changed("a link to an unknown node", "<target>Lyon", "<target>Nice"),
        changed("a link without an end", "<target>Lyon</target>", ""),
        changed("a link with an empty end", "<target>Lyon</target>", "<target/>"),
        changed("a link to its start, which a network leaves out", "<target>Lyon", "<target>Paris"),
        changed("a module without a capacity", "<capacity>9920.0</capacity>", ""),
        changed("a negative capacity", "9920.0", "-1"),
        changed("a capacity past all bounds", "9920.0", "1e300"),
        changed("a capacity of zero, which is unknown", "9920.0", "0.0"),
        changed("a demand without a value", "<demandValue>1.5</demandValue>", ""),
        changed("a negative demand", "1.5", "-1.5"),
        changed("a demand of an unknown node", "<demand id=\"d\"><source>Paris", "<demand id=\"d\"><source>Nice"),
        changed("20,001 links", "</link>", &format!("</link>{links}")),
        changed("20,001 demands", "</demand>", &format!("</demand>{demands}")),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| read(Format::Xml, bytes)));
}

const REPETITA: &str = "\
NODES 2
label x y
Paris 2.35 48.85
Lyon 4.83 45.76

EDGES 2
label src dest weight bw delay
e0 0 1 1 10000000 2000
e1 1 0 1 10000000 2000
";

#[test]
fn repetitas_graphs() {
    let changed = |title, from: &str, to: &str| changed(REPETITA, title, from, to);
    let million = "e 0 1 1 1 1\n".repeat(1_000_000);
    let cases = [
        ("an empty file", String::new()),
        ("another format", "graph [ ]".to_owned()),
        cut(REPETITA, "cut off after the first row", "label"),
        cut(REPETITA, "cut off in the nodes", "Lyon"),
        cut(REPETITA, "no edges", "EDGES"),
        cut(REPETITA, "cut off in the edges", "e1"),
        cut(REPETITA, "cut off in a row", " 10000000 2000\ne1"),
        changed("no titles", "label x y\n", ""),
        changed("other titles", "x y", "y x"),
        changed("more nodes than announced", "NODES 2", "NODES 1"),
        changed("fewer nodes than announced", "NODES 2", "NODES 3"),
        changed("more edges than announced", "EDGES 2", "EDGES 1"),
        changed("fewer edges than announced", "EDGES 2", "EDGES 3"),
        changed("a negative number of nodes", "NODES 2", "NODES -2"),
        changed("too many nodes", "NODES 2", "NODES 10001"),
        changed("too many edges", "EDGES 2", "EDGES 18446744073709551616"),
        changed("a label of two words", "Paris", "Le Mans"),
        changed("a label with a control character", "Paris", "Pa\u{1}ris"),
        changed("a long label", "Paris", &"P".repeat(201)),
        changed("a label of a section, which is read", "Paris", "NODES"),
        changed("a position that is not a number", "48.85", "north"),
        changed("an infinite position", "48.85", "inf"),
        changed(
            "a position that is not on the earth, which is left out",
            "48.85",
            "1048.85",
        ),
        changed("an edge to an unknown node", "e0 0 1", "e0 0 2"),
        changed("an edge from a node by its label", "e0 0 1", "e0 Paris 1"),
        changed(
            "an edge to its start, which a network leaves out",
            "e0 0 1",
            "e0 0 0",
        ),
        changed("an edge of five fields", "e0 0 1 1", "e0 0 1"),
        changed("an edge of seven fields", "e0 0 1 1", "e0 0 1 1 1"),
        changed("a negative weight", "e0 0 1 1", "e0 0 1 -1"),
        changed("a negative bandwidth", "10000000", "-1"),
        changed("a bandwidth of zero, which is unknown", "10000000", "0"),
        changed("a delay that is not a number", "2000", "NaN"),
        changed("a delay past all bounds", "2000", "1e300"),
        ("nodes after the edges", format!("{REPETITA}NODES 1\n")),
        changed("10^6 edges", "e1", &format!("{million}e1")),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| read(Format::Repetita, bytes)));
}

const DEMANDS: &str = "DEMANDS 1\nlabel src dest bw\nd0 0 1 1500\n";

#[test]
fn repetitas_demands() {
    let changed = |title, from: &str, to: &str| changed(DEMANDS, title, from, to);
    let cases = [
        ("an empty file", String::new()),
        ("a graph", REPETITA.to_owned()),
        cut(DEMANDS, "no titles", "label"),
        changed("fewer demands than announced", "DEMANDS 1", "DEMANDS 2"),
        changed("more demands than announced", "DEMANDS 1", "DEMANDS 0"),
        changed("an unknown node", "d0 0 1", "d0 0 2"),
        changed("a negative node", "d0 0 1", "d0 0 -1"),
        changed("three fields", "d0 0 1", "d0 0"),
        changed("a negative demand", "1500", "-1"),
        changed("a demand that is not a number", "1500", "NaN"),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| {
        let text = std::str::from_utf8(bytes).unwrap();
        let demands = repetita::demands(text, 2)?;
        Ok(Graph {
            demands,
            ..Graph::default()
        })
    }));
}

const EDGES: &str = "source,target,rate,delay\nParis,Lyon,10 Gbit,2 ms\nLyon,Nice,,\n";

#[test]
fn edge_lists() {
    let changed = |title, from: &str, to: &str| changed(EDGES, title, from, to);
    let many = |count: usize| "a,b,,\n".repeat(count);
    let nodes: String = (0..10_001).map(|id| format!("a{id},b,,\n")).collect();
    let cases = [
        ("an empty file", String::new()),
        ("only comments", "# source,target\n\n".to_owned()),
        ("only titles", "source,target\n".to_owned()),
        ("another format", "<graphml/>".to_owned()),
        (
            "blanks between fields",
            "source target\nParis Lyon\n".to_owned(),
        ),
        (
            "semicolons between fields",
            "source;target\nParis;Lyon\n".to_owned(),
        ),
        changed("no titles", "source,target,rate,delay\n", ""),
        changed("an unknown column", "delay", "weight"),
        changed("a column twice", "delay", "rate"),
        changed("no target", "target,", ""),
        changed("an empty title", "rate", ""),
        changed(
            "columns in another order, which are read",
            "source,target",
            "target,source",
        ),
        changed("a title in capitals", "source", "Source"),
        changed("a row of three fields", "10 Gbit,", ""),
        changed("a row of five fields", "10 Gbit", "10 Gbit,1"),
        changed("an empty end", "Paris,Lyon", ",Lyon"),
        changed("blanks for an end", "Paris,Lyon", "  ,Lyon"),
        changed("an end with a control character", "Paris", "Pa\u{1}ris"),
        changed("an end of two lines", "Paris", "\"Pa\nris\""),
        changed("a quote that is not closed", "Paris", "\"Paris"),
        changed("a quoted comma, which is read", "Paris", "\"Paris, Orly\""),
        changed(
            "blanks around an end, which are left out",
            "Paris",
            "  Paris ",
        ),
        changed("a long end", "Paris", &"P".repeat(201)),
        changed(
            "an edge to its start, which a network leaves out",
            "Paris,Lyon",
            "Lyon,Lyon",
        ),
        changed(
            "an edge twice, which a network merges",
            "Lyon,Nice",
            "Paris,Lyon",
        ),
        changed("a rate without a unit", "10 Gbit", "10"),
        changed("a negative rate", "10 Gbit", "-10 Gbit"),
        changed("a rate of zero", "10 Gbit", "0 Gbit"),
        changed("a rate that is not a number", "10 Gbit", "NaN Gbit"),
        changed(
            "a rate past all bounds",
            "10 Gbit",
            "99999999999999999999 Gbit",
        ),
        changed("a rate in another unit", "10 Gbit", "10 GB"),
        changed("a delay without a unit", "2 ms", "2"),
        changed("a negative delay", "2 ms", "-2 ms"),
        changed("a delay finer than a nanosecond", "2 ms", "0.5 ns"),
        ("a byte order mark", format!("\u{feff}{EDGES}")),
        (
            "20,001 edges",
            format!("source,target,rate,delay\n{}", many(20_001)),
        ),
        ("10,001 nodes", format!("source,target,rate,delay\n{nodes}")),
        (
            "10^6 edges",
            format!("source,target,rate,delay\n{}", many(1_000_000)),
        ),
        ("more than 4 MiB", many(700_000)),
    ];
    insta::assert_snapshot!(answers(&cases, |bytes| read(Format::EdgeList, bytes)));
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    for format in [Format::Xml, Format::Gml, Format::Repetita, Format::EdgeList] {
        let error = read(format, b"a\nb\xff").unwrap_err();
        assert_eq!(error.range, 3..3);
        assert_eq!(
            error.to_string(),
            "byte 0xff is not UTF-8 (hint: save the file as UTF-8)"
        );
    }
}

/// Copies with random damage are read or refused at a place inside them, without a panic.
#[test]
fn damaged_graphs() {
    let corpora: [(&str, Format, &[&str]); 4] = [
        ("graphs in XML", Format::Xml, &[GRAPHML, SNDLIB]),
        ("graphs in GML", Format::Gml, &[GML]),
        ("REPETITA's graphs", Format::Repetita, &[REPETITA]),
        ("edge lists", Format::EdgeList, &[EDGES]),
    ];
    for (title, format, corpus) in corpora {
        lab_fuzz::fuzz(title, corpus, |bytes| match read(format, bytes) {
            Ok(graph) => {
                let _ = network(&graph, &NetworkOptions::default());
                true
            }
            Err(error) => {
                assert!(error.range.start <= error.range.end && error.range.start <= bytes.len());
                assert!(!error.to_string().is_empty());
                false
            }
        });
    }
    lab_fuzz::fuzz("REPETITA's demands", &[DEMANDS], |bytes| {
        std::str::from_utf8(bytes).is_ok_and(|text| repetita::demands(text, 2).is_ok())
    });
}
