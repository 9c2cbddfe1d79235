//! Opening, reading and replacing files that other users may have written.
//!
//! A run directory, a bundle or a scenario may come from anyone. A pipe among its files would block a reader, a device
//! or a kernel file may never end, a symbolic link may lead a root process to another file, and a file may be larger
//! than memory. All readers of such files open them through this crate.
//!
//! Must not contain: file formats, messages about a specific subcommand.
//!
//! - [`open`], [`read`]: regular files of limited size
//! - [`Bounded`]: reader that fails on records longer than a bound
//! - [`append`]: opens a file for appending, without following a link
//! - [`draft`]: files that are replaced as a whole, or newly created
//! - [`named`]: paths given by a user; symbolic links of other users are not followed
//!
//! All sizes are in bytes.
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
