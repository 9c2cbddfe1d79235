//! Files of the NS-3 code that the paper's authors published, and that code's numbering of nodes and flows.
//!
//! A topology and its flows are converted to a scenario, and published outputs are parsed and compared with a
//! simulation. For the simulator's `semantics: artifact`, this crate also computes the numbers and keys that the
//! authors' code gives to nodes, flows and packets.
//!
//! Must not contain: simulation, file access, code copied from the authors.
//!
//! - [`ids`][]: numbers of nodes, addresses, ports, and keys of flows
//! - [`topology`][], [`shape`][]: topology files, and the datacenter structures that a scenario can express
//! - [`ecn`][]: packet marking and queue limits as the artifact configures them
//! - [`mod@import`][]: conversion of a topology and flows to a scenario
//! - [`routing_table`][]: order of equal next hops
//! - [`fct`][]: outputs of the artifact's runs
//! - [`compare`][]: comparison of outputs with a simulation
//! - [`published`][]: files that were published for Figure 1
//! - [`error`][]: errors with file and line
//!
//! ```
//! use lab_artifact::{ImportOptions, SourceFile, import};
//!
//! let topology = "4 0 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 40Gbps 5ms 0\n";
//! let flows = "1\n0 1 3 100 20000 2.000001\n";
//! let text = import(
//!     SourceFile { path: "topology.txt", text: topology },
//!     SourceFile { path: "flows.txt", text: flows },
//!     &ImportOptions {
//!         name: "pair".to_owned(),
//!         max_delay: lab_units::Nanos::from_millis(32),
//!         routes: None,
//!     },
//! )?;
//! assert!(text.contains("between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms"));
//! # Ok::<(), lab_artifact::ArtifactError>(())
//! ```

pub mod compare;
pub mod ecn;
pub mod error;
pub mod fct;
pub mod ids;
pub mod import;
pub mod published;
pub mod routing_table;
mod rows;
pub mod shape;
pub mod topology;

pub use compare::{Agreement, LinkAgreement, SimulatedFlow, UTILISATION_STEP, average_utilisation};
pub use error::{ArtifactError, ArtifactErrorKind};
pub use fct::{FctRow, parse_fct, parse_utilisation};
pub use ids::NodeIds;
pub use import::{ImportOptions, SourceFile, import};
pub use routing_table::RoutingTable;
