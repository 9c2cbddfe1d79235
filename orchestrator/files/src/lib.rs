//! Files that others may have written: opening, reading and replacing them.
//!
//! A run directory, a bundle or a scenario may come from anyone. A pipe in it would block a reader, a device or a
//! kernel file may never end, a link may lead a root process elsewhere, and a file may be larger than memory. Every
//! reader of such files opens them with this crate.
//!
//! Must not contain: formats, or messages about a verb.
//!
//! - [`open`], [`read`]: regular files of bounded size
//! - [`Bounded`]: a reader that fails on records longer than a bound
//! - [`append`]: opens a file for appending, without following a link
//! - [`draft`]: atomic replacement and creation of files
//! - [`named`]: paths that a person names; links of other users are not followed
//!
//! Units: bytes.
//!
//! ```
//! use lab_files::{Links, read};
//! let refused = read("/dev/zero".as_ref(), Links::Follow, 1_000).unwrap_err();
//! assert_eq!(refused.to_string(), "it is a pipe or a device, not a file");
//! ```

mod append;
mod bounded;
pub mod draft;
pub mod named;
mod open;

pub use append::append;
pub use bounded::Bounded;
pub use open::{Links, Refusal, failed, open, read, read_text};
