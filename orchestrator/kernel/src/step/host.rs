//! Step that loads the host programs, which add congestion control to SoftRoCE.

use std::{fmt, path::PathBuf};

use lab_host::HostProgram;
use lab_plan::transport::DcqcnConfig;
use lab_units::{BitsPerSec, Nanos};
use serde::{Deserialize, Serialize};

use crate::netlink::tc::Hook;

/// Host programs of a lab, and the initial contents of their maps.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct HostPrograms {
    /// Directory in the lab's BPF file system where programs and maps are pinned.
    pub directory: PathBuf,
    /// Name of the interface through which packets enter the pacer.
    pub pacer: String,
    /// NICs of all hosts.
    pub nics: Vec<NicRate>,
    /// True if switches may pause the NICs (PFC).
    pub pfc: bool,
    /// Capacity in QPs, both for the map of senders and for the map of receivers.
    pub qps: u32,
    /// Parameters of DCQCN, after scaling.
    pub dcqcn: DcqcnConfig,
    /// Minimum time until the pacer checks a held packet again, unless a timer interval of DCQCN is longer.
    pub horizon: Nanos,
}

/// NIC of a host, with its rate.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NicRate {
    pub dev: String,
    /// Rate of the NIC, which is the initial rate of its QPs.
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

/// Returns the traffic-control hook to which a host program must be attached.
pub(crate) const fn hook(program: HostProgram) -> Hook {
    match program {
        HostProgram::NicIngress | HostProgram::PacerGate => Hook::Ingress,
        HostProgram::NicEgress | HostProgram::PacerEgress => Hook::Egress,
    }
}
