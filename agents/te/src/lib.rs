//! Traffic engineering: from an interval's demands to hash buckets, by an exact linear program.
//!
//! `te-100ms` is the centralised traffic engineering that published distributed schemes are compared
//! with. At the end of every interval the demands of all pairs of datacenters are known. The split that
//! would have minimised the largest link utilisation of that interval is computed exactly, rounded to a
//! table of hash buckets per destination (100, as in RedTE's rule tables), and installed one interval
//! later. It steers new flows only and ignores delay. It is exact for demands that are one to two
//! intervals old, and so no bound of what a controller or a learning agent can reach at this cadence: on
//! bursty demands it loses to provisioned weights (WCMP).
//!
//! Must not contain: clocks, threads, I/O. Floats stay inside; results are integers, rounded so that the
//! last bits of a float do not show.
//!
//! - [`topology`][]: next hops of all switches and their links
//! - [`program`][]: the linear program
//! - [`tables`](mod@tables)[]: splits as buckets
//! - [`controller`][]: windows of measurement, solved and installed one window later, in both engines
//!
//! A destination without new buckets had no traffic; its installed buckets stay. The controller does not detect cuts:
//! until there is reconvergence, every policy sees only the carriers of a switch's own ports.
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
pub mod program;
pub mod tables;
pub mod topology;

pub use controller::Controller;
pub use tables::{Tables, tables};
pub use topology::{Hop, Measured, Row, TeError, Topology};
