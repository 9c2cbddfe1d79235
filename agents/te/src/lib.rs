//! Traffic engineering: an exact linear program turns the demands of an interval into hash buckets.
//!
//! `te-100ms` is the centralised traffic engineering that published distributed schemes are compared with. At the end
//! of every interval the demands between all pairs of datacenters are known. The split that would have minimised the
//! largest link utilisation in that interval is computed exactly, rounded to a table of hash buckets per destination
//! (100, as in RedTE's rule tables), and installed one interval later. It affects only new flows and ignores delay.
//! It is optimal for demands that are one to two intervals old, and is therefore not a bound on what a controller or
//! a learning agent can reach at this cadence: on bursty demands it does worse than provisioned weights (WCMP).
//!
//! Must not contain: clocks, threads, I/O. Floats stay internal; results are integers, rounded so that the last bits
//! of a float do not matter.
//!
//! - [`topology`][]: all switches' next hops and links
//! - [`program`][]: the linear program
//! - [`quantise`](mod@quantise)[]: rounding of shares to buckets
//! - [`tables`](mod@tables)[]: conversion of splits to buckets
//! - [`controller`][]: measurement windows, solved and installed one window later, for both engines
//!
//! A destination without new buckets had no traffic; its installed buckets stay. The controller does not detect cuts:
//! without reconvergence, which gives it new next hops, every policy knows only the carriers of a switch's own ports.
//!
//! ```
//! use lab_te::{Egress, Measurements, NextHops, Topology, tables};
//! use lab_units::{BitsPerSec, Bytes};
//!
//! // One switch with two links, of 100 and 25 Gbit/s, to the only other switch.
//! let hops = vec![Egress { link: 0, next: 1 }, Egress { link: 1, next: 1 }];
//! let row = NextHops { to: 1, hops, rests: Vec::new(), is_alike: false };
//! let topology = Topology::new(vec![vec![row], vec![]]);
//! let rate = |text: &str| Some(text.parse::<BitsPerSec>().unwrap());
//! let measured = Measurements {
//!     demands: &[vec![Bytes::new(1_000_000)], vec![]],
//!     capacities: &[rate("100 Gbit"), rate("25 Gbit")],
//! };
//! let found = tables(&topology, &measured, 100)?;
//! assert_eq!(found.rows[0][0], Some(vec![80, 20]));
//! # Ok::<(), lab_te::TeError>(())
//! ```

pub mod controller;
pub mod program;
pub mod quantise;
pub mod tables;
pub mod topology;

pub use controller::Controller;
pub use quantise::quantise;
pub use tables::{Tables, tables};
pub use topology::{Egress, Measurements, NextHops, TeError, Topology};
