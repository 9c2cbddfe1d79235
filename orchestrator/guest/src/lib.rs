//! Guests: run the same binary inside a QEMU guest when this machine's kernel lacks modules.
//!
//! A guest boots the distribution's kernel, unpacked in a cache, over the host's own root file system: read-only
//! through 9p, with a throw-away overlay. [`run`] starts a command in a guest and forwards its output, signals and exit
//! code. [`inside::main`] is the guest's init, which is the hidden subcommand [`INIT_VERB`] of the same binary.
//!
//! Must not contain: knowledge of scenarios, plans or labs; shell commands built from values.
//!
//! - [`request`]: request for a run
//! - [`cache`], `modules`: kernels for guests, and their modules
//! - [`cached`]: facts about this machine, stored in cache files
//! - [`probe`], [`kvm`]: requirements of a guest on this machine; state of KVM
//! - `machine`, `initramfs`: QEMU's command line and the guest's first file system, as data
//! - [`rights`]: rights of QEMU, and the directories that it may write to
//! - `run`, `session`, `channel`, `process`, `cpu`: the host's side of a run
//! - [`outbox`]: transfer of bytes to the host while the command runs
//! - [`exec`]: commands that other processes run in the guest
//! - [`inside`]: the guest's side
//! - `wire`: messages between host and guest
//! - `retry`: repetition of system calls that a signal interrupts
//!
//! ```no_run
//! use lab_guest::{GuestRequest, Signals, Sinks};
//! let argv = vec!["/usr/bin/uname".into(), "-r".into()];
//! let request = GuestRequest::new(argv, "/".as_ref(), "/tmp/console.log".as_ref())?;
//! let mut sinks = Sinks {
//!     stdout: &mut std::io::stdout(),
//!     stderr: &mut std::io::stderr(),
//!     outbox: &mut std::io::sink(),
//!     events: &mut |event| eprintln!("{event:?}"),
//! };
//! let code = lab_guest::run(&request, Signals::listen()?, &mut sinks)?;
//! println!("exit code {code}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cache;
pub mod cached;
mod channel;
mod cpu;
mod error;
pub mod exec;
mod initramfs;
pub mod inside;
pub mod kvm;
mod machine;
mod modules;
pub mod outbox;
pub mod probe;
mod process;
pub mod request;
mod retry;
pub mod rights;
mod run;
mod session;
mod sinks;
mod wire;

pub use lab_units::Clock;

pub use channel::Signals;
pub use error::GuestError;
pub use inside::CpuUse;
pub use kvm::KvmVerdict;
pub use probe::{GuestFinding, Need};
pub use request::{Accelerator, ExecConfig, GuestRequest, MIN_MEMORY, Terminal, memory_for};
pub use run::{StayingGuest, run, run_and_stay};
pub use sinks::{GuestEvent, Sinks};

/// Hidden subcommand with which the binary runs as the guest's init.
pub const INIT_VERB: &str = "guest-init";
