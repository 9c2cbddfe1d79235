//! Laws of the conversion of graphs into networks.

use lab_topologies::{
    Format, Graph, HostsAt, MissingCoordinates, NetworkError, NetworkLink, NetworkOptions,
    Parallel, Unlabelled, Wan, network, network::Origin, read,
};
use lab_units::{BitsPerSec, Nanos};

/// Returns the graph of GML with these nodes, each a label and coordinates, and these edges.
fn graph(nodes: &[(&str, Option<(f64, f64)>)], edges: &str) -> Graph {
    let mut text = String::from("graph [\n");
    for (id, (label, at)) in nodes.iter().enumerate() {
        text += &format!("node [ id {id} label \"{label}\" ");
        if let Some((latitude, longitude)) = at {
            text += &format!("Latitude {latitude:?} Longitude {longitude:?} ");
        }
        text += "]\n";
    }
    for edge in edges.lines() {
        text += &format!("edge [ {edge} ]\n");
    }
    read(Format::Gml, (text + "]\n").as_bytes()).unwrap()
}

fn made(graph: &Graph, options: &NetworkOptions) -> Wan {
    network(graph, options).unwrap()
}

/// Two nodes, one degree apart on the equator: 111.19508 km, with 6,371.0088 km from the centre of the earth.
fn one_degree(edges: &str) -> Graph {
    graph(
        &[("West", Some((0.0, 10.0))), ("East", Some((0.0, 11.0)))],
        edges,
    )
}

#[test]
fn a_delay_is_the_great_circle_at_the_speed_of_light_in_fibre() {
    let graph = one_degree("source 0 target 1");
    let delay = |km_per_ms| {
        let options = NetworkOptions {
            km_per_ms,
            ..NetworkOptions::default()
        };
        made(&graph, &options).links[0].delay
    };
    assert_eq!(delay(200), Nanos::new(555_975));
    assert_eq!(delay(100), Nanos::new(1_111_951));
}

#[test]
fn numbers_of_the_file_are_kept_and_others_are_marked() {
    let given = one_degree("source 0 target 1 rate \"10 Gbit\" delay \"7 ms\"");
    let network = made(&given, &NetworkOptions::default());
    let expected = NetworkLink {
        ends: [0, 1],
        rate: BitsPerSec::new(10_000_000_000).unwrap(),
        rate_origin: Origin::File,
        delay: Nanos::from_millis(7),
        delay_origin: Origin::File,
    };
    assert_eq!(
        (network.links, network.assumptions),
        (vec![expected], vec![])
    );
    let bare = made(&one_degree("source 0 target 1"), &NetworkOptions::default());
    let [link] = &bare.links[..] else {
        panic!("one link")
    };
    assert_eq!(
        (link.rate_origin, link.delay_origin),
        (Origin::Default, Origin::Coordinates)
    );
    let expected = [
        "delays of 1 link from coordinates at 200 km/ms",
        "rates of 1 link by default (100 Gbit)",
    ];
    assert_eq!(bare.assumptions, expected);
}

/// One kilometre at 200 km/ms takes 5 us.
#[test]
fn datacenters_with_the_same_coordinates_are_a_kilometre_apart() {
    let place = Some((50.0, 8.0));
    let graph = graph(&[("a", place), ("b", place)], "source 0 target 1");
    let network = made(&graph, &NetworkOptions::default());
    assert_eq!(network.links[0].delay, Nanos::new(5_000));
    let said = "1 link shorter than 1 km by their ends' coordinates, counted as 1 km".to_owned();
    assert!(
        network.assumptions.contains(&said),
        "{:?}",
        network.assumptions
    );
}

#[test]
fn parallel_edges_and_self_loops_are_said() {
    let edges = "source 0 target 1 LinkSpeedRaw 1000000\nsource 1 target 0 LinkSpeedRaw 3000000\nsource 1 target 1";
    let network = made(&one_degree(edges), &NetworkOptions::default());
    assert_eq!(network.links[0].rate.get(), 4_000_000);
    let expected = [
        "delays of 1 link from coordinates at 200 km/ms",
        "1 link merged from parallel ones: rates added, least delay",
        "1 self loop left out",
    ];
    assert_eq!(network.assumptions, expected);
}

#[test]
fn kept_parallel_edges_are_links_of_their_own() {
    let edges = "source 0 target 1 LinkSpeedRaw 1000000\nsource 1 target 0 LinkSpeedRaw 3000000\nsource 0 target 1";
    let options = NetworkOptions {
        parallel: Parallel::Keep,
        ..NetworkOptions::default()
    };
    let network = made(&one_degree(edges), &options);
    let rates = network
        .links
        .iter()
        .map(|link| (link.ends, link.rate.get()));
    let expected = [
        ([0, 1], 1_000_000),
        ([0, 1], 3_000_000),
        ([0, 1], 100_000_000_000),
    ];
    assert_eq!(rates.collect::<Vec<_>>(), expected);
    let expected = [
        "delays of 3 links from coordinates at 200 km/ms",
        "rates of 1 link by default (100 Gbit)",
        "3 links parallel to others, each a link of its own",
    ];
    assert_eq!(network.assumptions, expected);
}

/// Chain of five nodes of which only the first and the last have coordinates.
fn chain() -> Graph {
    let nodes = [
        ("A", Some((0.0, 0.0))),
        ("B", None),
        ("C", None),
        ("D", None),
        ("E", Some((0.0, 8.0))),
    ];
    graph(
        &nodes,
        "source 0 target 1\nsource 1 target 2\nsource 2 target 3\nsource 3 target 4",
    )
}

#[test]
fn nodes_without_coordinates_are_at_the_mean_of_their_neighbours() {
    let refused = network(&chain(), &NetworkOptions::default()).unwrap_err();
    let node = "B".to_owned();
    assert_eq!(refused, NetworkError::NoCoordinates { count: 3, node });
    let options = NetworkOptions {
        missing_coordinates: MissingCoordinates::Neighbours,
        ..NetworkOptions::default()
    };
    let network = made(&chain(), &options);
    // In the first round B is where A is, and D where E is, which counts as 1 km; in the second, C is half way, 4° from
    // each.
    let delays: Vec<u64> = network.links.iter().map(|link| link.delay.get()).collect();
    assert_eq!(delays, [5_000, 2_223_902, 2_223_902, 5_000]);
    let origins = network.links.iter().map(|link| link.delay_origin);
    assert!(
        origins
            .into_iter()
            .all(|origin| origin == Origin::Neighbours)
    );
    let said = "coordinates of 3 datacenters by the mean of their neighbours: b, c, d";
    assert_eq!(network.assumptions[2], said);
    let nowhere = graph(&[("A", None), ("B", None)], "source 0 target 1");
    let refused = lab_topologies::network(&nowhere, &options).unwrap_err();
    let node = "A".to_owned();
    assert_eq!(
        refused,
        NetworkError::NoLocatedNeighbours { count: 2, node }
    );
    // Neighbours are no remedy if no node has coordinates.
    let refused = lab_topologies::network(&nowhere, &NetworkOptions::default()).unwrap_err();
    assert!(
        matches!(refused, NetworkError::NoLocatedNeighbours { count: 2, .. }),
        "{refused}"
    );
    let delayed = NetworkOptions {
        default_delay: Some(Nanos::from_millis(3)),
        ..options
    };
    let network = made(&nowhere, &delayed);
    let [link] = &network.links[..] else {
        panic!("two nodes have one link");
    };
    assert_eq!(link.delay, Nanos::from_millis(3));
    assert_eq!(link.delay_origin, Origin::Default);
    let said = "delays of 1 link by default (3 ms)";
    assert_eq!(network.assumptions[0], said);
    // A link between two places has the delay of their distance all the same.
    let located = made(&chain(), &delayed);
    assert_eq!(located.links[1].delay.get(), 2_223_902);
}

#[test]
fn coordinates_are_needed_only_by_links_without_a_delay() {
    let graph = graph(
        &[("A", None), ("B", None)],
        "source 0 target 1 delay \"1 ms\"",
    );
    assert_eq!(made(&graph, &NetworkOptions::default()).links.len(), 1);
}

#[test]
fn hosts_are_where_the_options_put_them() {
    let graph = read(
        Format::EdgeList,
        b"source,target,delay\nHub,Paris,1 ms\nHub,Lyon,1 ms\nHub,Paris,1 ms\n",
    )
    .unwrap();
    let hosts = |hosts_at: HostsAt| {
        let options = NetworkOptions {
            hosts: 3,
            hosts_at,
            ..NetworkOptions::default()
        };
        let network = network(&graph, &options)?;
        Ok(network.dcs.iter().map(|dc| dc.hosts).collect::<Vec<_>>())
    };
    assert_eq!(hosts(HostsAt::All), Ok(vec![3, 3, 3]));
    // Parallel edges lead to one neighbour. Names and labels are both names.
    assert_eq!(hosts(HostsAt::MinDegree(2)), Ok(vec![3, 0, 0]));
    let named = ["lyon", "Hub"].map(str::to_owned).to_vec();
    assert_eq!(hosts(HostsAt::Named(named)), Ok(vec![3, 0, 3]));
    let refused = NetworkError::NoHosts { degree: 3, max: 2 };
    assert_eq!(hosts(HostsAt::MinDegree(3)), Err(refused));
    let known = ["hub", "paris", "lyon"].map(str::to_owned).to_vec();
    let unknown = NetworkError::UnknownDc {
        index: 1,
        name: "nice".to_owned(),
        known,
    };
    let named = ["lyon", "nice"].map(str::to_owned).to_vec();
    assert_eq!(hosts(HostsAt::Named(named)), Err(unknown));
}

#[test]
fn parts_and_labels_that_are_missing_need_an_option() {
    let graph = read(
        Format::EdgeList,
        b"source,target,delay\nOslo,Bergen,1 ms\nParis,7,1 ms\n7,Lyon,1 ms\n",
    )
    .unwrap();
    let default = NetworkOptions::default();
    let refused = NetworkError::Disconnected {
        parts: 2,
        largest: 3,
        nodes: 5,
    };
    assert_eq!(network(&graph, &default), Err(refused));
    let largest = NetworkOptions {
        largest_component: true,
        ..default
    };
    let id = "7".to_owned();
    let refused = NetworkError::Unlabelled { count: 1, id };
    assert_eq!(network(&graph, &largest), Err(refused));
    let numbered = NetworkOptions {
        unlabelled: Unlabelled::Number,
        ..largest
    };
    let network = made(&graph, &numbered);
    let names: Vec<&str> = network.dcs.iter().map(|dc| &*dc.name).collect();
    assert_eq!(names, ["paris", "n7", "lyon"]);
    assert_eq!(network.dcs[1].label, None);
    let expected = [
        "rates of 2 links by default (100 Gbit)",
        "1 datacenter numbered, without a label",
        "2 nodes outside the largest connected part left out",
    ];
    assert_eq!(network.assumptions, expected);
    let small = NetworkOptions {
        max_dcs: 2,
        ..numbered
    };
    let refused = lab_topologies::network(&graph, &small).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the graph has 3 nodes in its largest part, but a scenario may have at most 2 datacenters (hint: take a \
         smaller graph)"
    );
}

#[test]
fn the_two_directions_of_repetita_are_one_link() {
    let text = "\
NODES 2
label x y
0_Paris 2.35 48.85
1_Lyon 4.83 45.76

EDGES 2
label src dest weight bw delay
edge_0 0 1 1 9953280 1913
edge_1 1 0 1 9953280 1913
";
    let graph = read(Format::Repetita, text.as_bytes()).unwrap();
    let network = made(&graph, &NetworkOptions::default());
    let [link] = &network.links[..] else {
        panic!("one link")
    };
    assert_eq!(link.rate.get(), 9_953_280_000);
    assert_eq!(link.delay, Nanos::new(1_913_000));
    assert!(network.assumptions.is_empty(), "{:?}", network.assumptions);
    let demands = "DEMANDS 1\nlabel src dest bw\ndemand_0 0 1 1500\n";
    let demands = lab_topologies::repetita::demands(demands, 2).unwrap();
    assert_eq!(
        (demands[0].ends, demands[0].rate.get()),
        ([0, 1], 1_500_000)
    );
}

#[test]
fn sndlibs_capacities_and_demands_are_megabits() {
    let graph = read(Format::Xml, SNDLIB.as_bytes()).unwrap();
    assert_eq!(
        graph.edges[0].rate.map(BitsPerSec::get),
        Some(9_920_000_000)
    );
    assert_eq!(graph.edges[1].rate, None);
    assert_eq!(
        (graph.demands[0].ends, graph.demands[0].rate.get()),
        ([0, 2], 1_500_000)
    );
    let network = made(&graph, &NetworkOptions::default());
    let expected = [
        "delays of 2 links from coordinates at 200 km/ms",
        "rates of 1 link by default (100 Gbit)",
        "rates of 1 link in Mbit/s, because the file has no unit",
    ];
    assert_eq!(network.assumptions, expected);
    assert_eq!(
        network.unused_demands().as_deref(),
        Some("1 demand of the file not used; an entry `demands` of `traffic` sends them")
    );
}

const SNDLIB: &str = r#"<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="Paris"><coordinates><x>2.35</x><y>48.85</y></coordinates></node>
   <node id="Lyon"><coordinates><x>4.83</x><y>45.76</y></coordinates></node>
   <node id="Nice"><coordinates><x>7.26</x><y>43.70</y></coordinates></node>
  </nodes>
  <links>
   <link id="l1">
    <source>Paris</source><target>Lyon</target>
    <preInstalledModule><capacity>9920.0</capacity><cost>0.0</cost></preInstalledModule>
    <additionalModules><addModule><capacity>40000.0</capacity><cost>133.0</cost></addModule></additionalModules>
   </link>
   <link id="l2"><source>Lyon</source><target>Nice</target></link>
  </links>
 </networkStructure>
 <demands coordinatesType="geographical">
  <demand id="d1"><source>Paris</source><target>Nice</target><demandValue>1.5</demandValue></demand>
 </demands>
</network>
"#;
