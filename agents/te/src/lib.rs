//! Traffic engineering: from an interval's demands to hash buckets, by an exact linear program.
//!
//! `te-100ms` is the centralised traffic engineering that the published distributed schemes are
//! measured against: at the end of every interval the demands of all pairs of datacenters are known,
//! the split that minimises the largest utilisation of a link is computed exactly, rounded to a
//! table of hash buckets for each destination (100, as RedTE's rule tables have), and installed one
//! interval later. It steers new
//! flows only, looks at no delay, and has learned nothing. It is an upper bound on what an agent
//! that learns this objective reaches at the same cadence, and not such an agent.
//!
//! Must not contain: clocks, threads, I/O. Floats stay inside; what comes out is integers, and rounded
//! so that the last bits of a float do not show.
//!
//! - [`topology`][]: which next hops there are, and over which links
//! - [`program`][]: the linear program
//! - [`tables`](mod@tables)[]: splits as buckets
//! - [`controller`][]: windows of measurement, solved and installed one window later, in both engines
//!
//! Where the tables have nothing for a destination nothing was sent there, and what is installed stays.
//!
//! ```
//! use lab_te::{Hop, Measured, Row, Topology, tables};
//! use lab_units::{BitsPerSec, Bytes};
//!
//! // One switch, two links to the only other one, of 100 and 25 Gbit/s.
//! let hops = vec![Hop { link: 0, next: 1 }, Hop { link: 1, next: 1 }];
//! let row = Row { to: 1, hops, is_alike: false };
//! let topology = Topology::new(vec![vec![row], vec![]]);
//! let rate = |text: &str| Some(text.parse::<BitsPerSec>().unwrap());
//! let measured = Measured {
//!     demands: &[vec![Bytes::new(1_000_000)], vec![]],
//!     capacities: &[rate("100 Gbit"), rate("25 Gbit")],
//! };
//! let found = tables(&topology, &measured, 100)?;
//! assert_eq!(found.rows[0][0], Some(vec![80, 20]));
//! # Ok::<(), lab_te::TeError>(())
//! ```

pub mod controller;
mod error;
pub mod program;
pub mod tables;
pub mod topology;

pub use controller::Controller;
pub use error::TeError;
pub use tables::{Tables, tables};
pub use topology::{Hop, Measured, Row, Topology};
