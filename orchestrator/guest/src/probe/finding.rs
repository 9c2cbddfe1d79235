//! One thing that is missing, and the command that mends it.

use std::{io, path::PathBuf};

use lab_units::Bytes;
use thiserror::Error;

use crate::cache::{CacheError, FILL_COMMAND};

/// Something this machine lacks.
#[derive(Debug, Error)]
pub enum Finding {
    /// The user may not make network namespaces.
    #[error("this user may not make network namespaces: {source}")]
    NoNamespaces {
        /// What making one failed with.
        source: io::Error,
    },
    /// The kernel could not make something a lab is made of.
    #[error("this kernel cannot make {what}: {said}")]
    KernelLacks {
        /// The thing, in words.
        what: &'static str,
        /// The module that would bring it.
        module: &'static str,
        /// What the attempt said.
        said: String,
    },
    /// A program is not installed.
    #[error("`{program}` is not installed")]
    ProgramMissing {
        /// The program.
        program: &'static str,
        /// The package it comes in.
        package: &'static str,
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
    #[error("{free} of memory is free, a guest takes {needed}")]
    NoMemory {
        /// What is free.
        free: Bytes,
        /// What a guest with a lab of ordinary size touches.
        needed: Bytes,
    },
}

impl Finding {
    /// The command that mends it, or what to do where no command does.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoNamespaces { .. } => "run as root, or use the guest (--guest)".to_owned(),
            Self::KernelLacks { module, .. } => {
                format!("sudo modprobe {module}, or use the guest (--guest)")
            }
            Self::ProgramMissing { package, .. } => format!("sudo apt-get install {package}"),
            Self::GuestKernel(_) => FILL_COMMAND.to_owned(),
            Self::NoSpace { dir, .. } => format!(
                "free some space in `{}`, or name another directory in {}",
                dir.display(),
                crate::cache::DIR_VARIABLE
            ),
            Self::NoMemory { .. } => "end other programs".to_owned(),
        }
    }
}
