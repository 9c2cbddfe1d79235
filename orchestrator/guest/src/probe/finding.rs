//! One thing that is missing, and the command that mends it.

use std::path::PathBuf;

use lab_units::Bytes;
use thiserror::Error;

use crate::cache::{CacheError, FILL_COMMAND};

/// Something this machine lacks for a guest.
#[derive(Debug, Error)]
pub enum Finding {
    /// Guests share this machine's programs and so its kind of processor.
    #[error("this is {architecture}, there are guests for x86_64 only")]
    Architecture {
        /// What this machine is.
        architecture: &'static str,
    },
    /// A program is not installed.
    #[error("`{program}` is not installed")]
    ProgramMissing {
        /// The program.
        program: &'static str,
        /// The package it comes in.
        package: &'static str,
    },
    /// A program does not do what it is needed for.
    #[error("`{program}` {what}: {said}")]
    ProgramUnfit {
        /// The program.
        program: &'static str,
        /// The package it comes in.
        package: &'static str,
        /// What is wrong with it.
        what: &'static str,
        /// What it said itself.
        said: String,
    },
    /// There is no kernel for a guest.
    #[error(transparent)]
    GuestKernel(#[from] CacheError),
    /// There is no room for the guest's kernel.
    #[error("`{}` has {free} free, a guest's kernel takes {needed}", dir.display())]
    NoSpace {
        /// The directory that should hold it.
        dir: PathBuf,
        /// What is free there.
        free: Bytes,
        /// What is needed.
        needed: Bytes,
    },
    /// There is not enough memory for a guest.
    #[error("{free} is available, the guest takes up to {needed}")]
    NoMemory {
        /// What can be had without swapping.
        free: Bytes,
        /// What the guest may touch.
        needed: Bytes,
    },
}

impl Finding {
    /// The command that mends it, or what to do where no command does.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Architecture { .. } => {
                "use an x86_64 machine, or a kernel that has all a lab is made of".to_owned()
            }
            Self::ProgramMissing { package, .. } => format!("sudo apt-get install {package}"),
            Self::ProgramUnfit { package, .. } => {
                format!("sudo apt-get install --reinstall {package}")
            }
            Self::GuestKernel(_) => FILL_COMMAND.to_owned(),
            Self::NoSpace { dir, .. } => format!(
                "free some space in `{}`, or name another directory in {}",
                dir.display(),
                crate::cache::DIR_VARIABLE
            ),
            Self::NoMemory { .. } => "end other programs, or scale the scenario down".to_owned(),
        }
    }
}
