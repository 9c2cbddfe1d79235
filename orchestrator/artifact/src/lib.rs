//! Files and identities of the NS-3 code that the paper's authors published.
//!
//! A topology and flows become a scenario; outputs are read and compared with a simulation's. What
//! the code calls nodes, flows and packets is here, too, for the simulator's `semantics: artifact`.
//!
//! Must not contain: simulation, file system, their code.
//!
//! - [`ids`][]: numbers of nodes, addresses, ports, keys of flows
//! - [`topology`][], [`shape`][]: topology files, and what of them a scenario can say
//! - [`ecn`][]: marking and queues as the artifact configures them
//! - [`mod@import`][]: a scenario from a topology and flows
//! - [`routing_table`][]: the order of equal next hops
//! - [`fct`][]: outputs of runs
//! - [`compare`][]: outputs beside a simulation
//! - [`published`][]: which files were published of Figure 1
//! - [`error`][]: what is wrong with a file, and where
//!
//! ```
//! use lab_artifact::{ImportOptions, Source, import};
//!
//! let topology = "4 0 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 40Gbps 5ms 0\n";
//! let flows = "1\n0 1 3 100 20000 2.000001\n";
//! let text = import(
//!     Source { path: "topology.txt", text: topology },
//!     Source { path: "flows.txt", text: flows },
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
pub use import::{ImportOptions, Source, import};
pub use routing_table::RoutingTable;
