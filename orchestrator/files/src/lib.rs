//! Files that others may have written: opening, reading and replacing them.
//!
//! A run directory, a bundle or a scenario may come from anybody. A pipe in it would hold a reader up, a
//! device or a file of the kernel may never end, a link may lead a process of root elsewhere, and a size
//! may be more than the memory. Every reader of such files opens them here.
//!
//! Must not contain: formats, messages about a verb.
//!
//! - [`open`], [`read`]: regular files of bounded size
//! - [`Bounded`]: a reader that ends a record at a bound
//! - [`append`]: a file that grows, no link
//! - [`draft`]: files that replace others as a whole, or are new
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
mod open;

pub use append::append;
pub use bounded::Bounded;
pub use open::{Links, Refusal, failed, open, read, read_text};
