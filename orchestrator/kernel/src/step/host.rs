//! Host programs: congestion control of SoftRoCE.

use std::{fmt, path::PathBuf};

use lab_host::HostProgram;
use lab_plan::transport::DcqcnConfig;
use lab_units::{BitsPerSec, Nanos};
use serde::{Deserialize, Serialize};

use crate::netlink::tc::Hook;

/// Host programs of a lab, with the contents of their maps.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct HostPrograms {
    /// Directory of the programs and maps, in the lab's BPF file system.
    pub directory: PathBuf,
    /// Interface through which packets enter the pacer.
    pub pacer: String,
    /// NICs of all hosts.
    pub nics: Vec<NicRate>,
    /// True if switches pause the NICs.
    pub pfc: bool,
    /// Largest number of QPs in one repetition, in each direction.
    pub qps: u32,
    /// Parameters of DCQCN, in emulated units.
    pub dcqcn: DcqcnConfig,
    /// Minimum time until a parked packet is checked again.
    pub horizon: Nanos,
}

/// NIC of a host, and its rate.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NicRate {
    pub dev: String,
    /// Rate of the NIC, at which its QPs start.
    pub rate: BitsPerSec,
}

impl fmt::Display for HostPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.display();
        write!(
            f,
            "bpftool prog loadall host.bpf.o {directory} type classifier pinmaps {directory}"
        )
    }
}

/// Returns the hook that a program is attached to.
pub(crate) const fn hook(program: HostProgram) -> Hook {
    match program {
        HostProgram::NicIngress | HostProgram::PacerGate => Hook::Ingress,
        HostProgram::NicEgress | HostProgram::PacerEgress => Hook::Egress,
    }
}
