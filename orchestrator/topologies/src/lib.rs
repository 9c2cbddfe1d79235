//! Networks by name and by file: graph files become [`Graph`]s, and graphs become networks of datacenters.
//!
//! The steps are separate. An importer reads the bytes of a file into a [`Graph`], which has only what the file says.
//! [`network`](network()) turns a graph into datacenters and links by [`NetworkOptions`], and lists every number that
//! the file does not have. Must not contain: file system, environment, clocks, randomness. No input makes this crate
//! panic. Sines and roots are those of `libm`, so that a file gives the same network on every machine.
//!
//! - [`mod@graph`][]: nodes, edges and demands of a file
//! - [`error`][]: problems in a file, each with its byte range and path
//! - [`format`][]: formats of files; [`read`] reads a file of any of them
//! - `draft`, `values`, `rows`, `element`, `xml`: building blocks of the importers
//! - `graphml`, `gml` with `gml_list`, `sndlib`, [`repetita`], `edge_list`: the importers
//! - [`zoo`]: the graphs of the Internet Topology Zoo, compiled into the program
//! - `components`, [`geo`], [`names`], `joined`: parts of the conversion
//! - [`mod@network`][]: conversion into datacenters and links
//! - [`choice`]: share of node pairs that have several shortest paths
//!
//! ```
//! use lab_topologies::{Format, NetworkOptions, network, read};
//!
//! let graph = read(Format::EdgeList, b"source,target,delay\nParis,Lyon,2 ms\nLyon,Nice,2 ms\n").unwrap();
//! let network = network(&graph, &NetworkOptions::default()).unwrap();
//! assert_eq!(network.dcs[1].name, "lyon");
//! assert_eq!(network.assumptions[0], "rates of 2 links by default (100 Gbit)");
//! ```

pub mod choice;
mod components;
mod draft;
mod edge_list;
mod element;
pub mod error;
pub mod format;
pub mod geo;
mod gml;
mod gml_list;
pub mod graph;
mod graphml;
mod joined;
pub mod names;
pub mod network;
pub mod repetita;
mod rows;
mod sndlib;
mod values;
mod xml;
pub mod zoo;

pub use error::{ImportError, ImportErrorKind};
pub use format::{Format, read};
pub use graph::{Graph, GraphDemand, GraphEdge, GraphNode};
pub use names::NameRules;
pub use network::{
    HostsAt, MissingCoordinates, NetworkDc, NetworkError, NetworkLink, NetworkOptions, Parallel,
    Unlabelled, Wan, network,
};
