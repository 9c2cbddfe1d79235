//! The archive of the Topology Zoo: how it is made, and what it has.
//!
//! `UPDATE_ZOO=DIR cargo test -p lab-topologies --test zoo` makes the archive again from a folder of the collection's
//! GraphML files.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use flate2::{Compression, write::GzEncoder};
use lab_topologies::{
    Format, Graph, HostsAt, MissingCoordinates, NetworkError, NetworkOptions, Unlabelled, network,
    read, zoo,
};
use lab_units::Nanos;
use roxmltree::{Document, Node};

const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/zoo.json.gz");

/// Data that the archive keeps: element, name and type.
const KEPT: [(&str, &str, &str); 5] = [
    ("node", "label", "string"),
    ("node", "Latitude", "double"),
    ("node", "Longitude", "double"),
    ("edge", "LinkSpeedRaw", "double"),
    ("edge", "LinkLabel", "string"),
];

#[test]
fn the_archive_is_made_of_the_collections_files() {
    let Ok(folder) = std::env::var("UPDATE_ZOO") else {
        return;
    };
    let all = originals(Path::new(&folder)).into_iter();
    let texts: BTreeMap<String, String> = all.map(|(name, text)| (name, reduced(&text))).collect();
    let mut archive = GzEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut archive, &texts).unwrap();
    fs::write(ARCHIVE, archive.finish().unwrap()).unwrap();
    // What was left out does not matter to the importer.
    for (name, text) in originals(Path::new(&folder)) {
        let read = |text: &str| read(Format::Xml, text.as_bytes()).unwrap();
        assert_eq!(read(&text), read(&reduced(&text)), "{name}");
    }
}

fn originals(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let graphs = entries.filter(|path| path.extension().is_some_and(|it| it == "graphml"));
    let named = graphs.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    named.collect()
}

/// Returns a GraphML text with the data of [`KEPT`] only.
fn reduced(text: &str) -> String {
    let document = Document::parse(text).unwrap();
    let elements = |name: &'static str| {
        let all = document.descendants();
        all.filter(move |node| node.tag_name().name() == name)
    };
    let mut names = BTreeMap::new();
    let mut out = String::from("<graphml>\n");
    for key in elements("key") {
        let [id, name, of] = ["id", "attr.name", "for"].map(|it| key.attribute(it).unwrap());
        let kept = KEPT.iter().position(|kept| (kept.0, kept.1) == (of, name));
        names.extend(kept.map(|kept| (id, kept)));
    }
    for (index, (of, name, kind)) in KEPT.iter().enumerate() {
        let _ = writeln!(
            out,
            "<key id=\"{index}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        );
    }
    let graph = elements("graph").next().unwrap();
    let direction = graph.attribute("edgedefault").unwrap();
    let _ = writeln!(out, "<graph edgedefault=\"{direction}\">");
    for (name, attributes) in [("node", &["id"][..]), ("edge", &["source", "target"])] {
        for element in elements(name) {
            let _ = write!(out, "<{name}");
            for attribute in attributes {
                let value = escaped(element.attribute(*attribute).unwrap());
                let _ = write!(out, " {attribute}=\"{value}\"");
            }
            out.push('>');
            data(&mut out, element, &names);
            let _ = writeln!(out, "</{name}>");
        }
    }
    out + "</graph>\n</graphml>\n"
}

fn data(out: &mut String, element: Node<'_, '_>, names: &BTreeMap<&str, usize>) {
    let mut kept: Vec<(usize, &str)> = element
        .children()
        .filter_map(|data| Some((*names.get(data.attribute("key")?)?, data.text()?)))
        .collect();
    kept.sort_unstable();
    for (index, text) in kept {
        let _ = write!(out, "<data key=\"{index}\">{}</data>", escaped(text));
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn all_graphs_are_there_and_small() {
    assert_eq!(zoo::names().count(), 276);
    assert!(fs::metadata(ARCHIVE).unwrap().len() < 1 << 20);
    for name in zoo::names() {
        assert!(zoo::graph(name).is_some(), "{name}");
    }
}

#[test]
fn a_graph_has_the_nodes_and_edges_of_the_collection() {
    // Counted by hand in the collection's file.
    let abilene = zoo::graph("Abilene").unwrap();
    assert_eq!((abilene.nodes.len(), abilene.edges.len()), (11, 14));
    assert_eq!(abilene.nodes[0].label.as_deref(), Some("New York"));
    let at = abilene.nodes[0].at.unwrap();
    assert_eq!((at.latitude, at.longitude), (40.71427, -74.00597));
}

/// Options that accept as many graphs as possible.
fn lenient() -> NetworkOptions {
    NetworkOptions {
        hosts_at: HostsAt::All,
        missing_coordinates: MissingCoordinates::Neighbours,
        unlabelled: Unlabelled::Number,
        largest_component: true,
        default_delay: Some(Nanos::from_millis(1)),
        ..NetworkOptions::default()
    }
}

/// Returns the name of the reason why a graph is refused, or `accepted`.
fn answer(graph: &Graph, options: &NetworkOptions) -> &'static str {
    match network(graph, options) {
        Ok(_) => "accepted",
        Err(NetworkError::TooManyDcs { .. }) => "more than 64 nodes",
        Err(NetworkError::TooFewDcs { .. }) => "fewer than 2 nodes",
        Err(NetworkError::Disconnected { .. }) => "not connected",
        Err(NetworkError::Unlabelled { .. }) => "nodes without a label",
        Err(NetworkError::NoCoordinates { .. }) => "nodes without coordinates",
        Err(NetworkError::NoLocatedNeighbours { .. }) => "no coordinates at all",
        Err(
            NetworkError::UnknownDc { .. }
            | NetworkError::RepeatedDc { .. }
            | NetworkError::NoHosts { .. },
        ) => "no hosts",
    }
}

#[test]
fn most_graphs_become_networks() {
    let mut table = String::new();
    let options = [
        ("by default", NetworkOptions::default()),
        (
            "with every option, at most 64 datacenters",
            NetworkOptions {
                max_dcs: 64,
                ..lenient()
            },
        ),
        ("with every option", lenient()),
    ];
    for (title, options) in options {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in zoo::names() {
            *counts
                .entry(answer(&zoo::graph(name).unwrap(), &options))
                .or_default() += 1;
        }
        let _ = writeln!(table, "{title}:");
        for (answer, count) in counts {
            let _ = writeln!(table, "  {count:3} {answer}");
        }
    }
    insta::assert_snapshot!(table);
}
