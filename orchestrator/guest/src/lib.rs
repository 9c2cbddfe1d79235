//! Runs the same binary inside a QEMU guest when this kernel lacks modules.
//!
//! A guest boots the distribution's kernel, unpacked in a cache, over the host's own root file
//! system: read-only through 9p, with a throw-away overlay. [`run`] starts a command in it and
//! passes on output, signals and exit code as if it ran here; [`inside::main`] is the other half,
//! the guest's init, reached by the hidden verb [`INIT_VERB`] of the same binary.
//!
//! Must not contain: anything of scenarios, plans or labs; a shell command built from values.
//!
//! - [`request`]: what is asked of a guest
//! - [`outcome`]: what it tells during and after
//! - [`cache`]: the unpacked kernel package
//! - [`place`]: which accelerator and clock a request gets
//! - [`probe`]: what a guest takes of this machine, and what it lacks
//! - `machine`, `initramfs`, `modules`: what the guest is made of, as data
//! - `run`, `session`, `channel`, `process`, `console`, `files`, `programs`: the host's side of a run
//! - [`exec`]: commands that come in while the guest runs
//! - [`kvm`]: whether KVM works here
//! - [`inside`]: the guest's side
//! - `wire`: what both sides say to each other
//!
//! ```no_run
//! use lab_guest::{GuestRequest, Sinks};
//! let argv = vec!["/usr/bin/uname".into(), "-r".into()];
//! let request = GuestRequest::new(argv, "/".as_ref(), "/tmp/console.log".as_ref())?;
//! let mut sinks = Sinks {
//!     stdout: &mut std::io::stdout(),
//!     stderr: &mut std::io::stderr(),
//!     events: &mut |event| eprintln!("{event:?}"),
//! };
//! let outcome = lab_guest::run(&request, &mut sinks)?;
//! println!("exit code {}", outcome.exit_code);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cache;
mod channel;
mod console;
mod error;
pub mod exec;
mod files;
mod initramfs;
pub mod inside;
pub mod kvm;
mod machine;
mod modules;
pub mod outcome;
pub mod place;
pub mod probe;
mod process;
mod programs;
pub mod request;
mod run;
mod session;
mod wire;

pub use lab_units::Clock;

pub use error::GuestError;
pub use kvm::KvmVerdict;
pub use machine::VIRTUAL_EPOCH;
pub use outcome::{Accelerator, ClockFacts, CpuUse, GuestEvent, GuestOutcome, Sinks};
pub use probe::{Finding, Need};
pub use request::{Accel, GuestDoor, GuestRequest, Terminal, memory_for};
pub use run::{StayingGuest, run, run_and_stay};

/// The hidden verb of the binary that makes it the guest's init.
pub const INIT_VERB: &str = "guest-init";
