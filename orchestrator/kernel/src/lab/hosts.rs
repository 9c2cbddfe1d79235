//! Hosts: their RDMA devices and the addresses these go by.

use std::{
    fs,
    net::Ipv4Addr,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use lab_plan::model::{Plan, Role};
use lab_units::NodeId;

use super::{Lab, LabErrorKind};
use crate::{
    exec::netns,
    lower::{Layout, LowerOptions, lower_repair, rdma_device, rxe_devices},
    netlink::{Socket, rdma},
    step::Step,
};

/// What a program needs to know to send from or to a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostEndpoint {
    /// The RDMA device.
    pub rdma_device: String,
    /// The index of the GID that is the host's IPv4 address by RoCE v2.
    pub gid_index: u8,
    /// The host's address.
    pub addr: Ipv4Addr,
    /// The file of the namespace to send from; none for the root namespace.
    pub netns: Option<PathBuf>,
}

impl Lab {
    /// How to send from and to a host; `None` if the node is no host, or has no RDMA device.
    #[must_use]
    pub fn host_endpoint(&self, host: NodeId) -> Option<HostEndpoint> {
        let layout = Layout::new(&self.plan, &self.options);
        let node = layout.node(host);
        if node.role != Role::Host {
            return None;
        }
        let rdma_device = rdma_device(&layout, host)?;
        Some(HostEndpoint {
            gid_index: gid_index(&rdma_device, node.addr)?,
            rdma_device,
            addr: node.addr,
            netns: layout.place(node).netns().map(netns::path),
        })
    }

    /// Makes the lab as it was when it came up: links that faults changed are as planned again, and
    /// all RDMA devices are replaced by new ones, so that QP numbers, and what follows from them,
    /// start alike for every run.
    ///
    /// # Errors
    /// When a link cannot be repaired or a device cannot be deleted or made.
    pub fn reset(&mut self) -> Result<(), LabErrorKind> {
        self.apply(&lower_repair(&self.plan, &self.options))?;
        if !self.options.delay_lines {
            return Ok(());
        }
        let mut steps = Vec::new();
        rxe_devices(&Layout::new(&self.plan, &self.options), &mut steps);
        let mut socket = Socket::rdma()?;
        let devices = rdma::devices(&mut socket)?;
        for step in &steps {
            if let Step::Rxe { name, .. } = step
                && let Some(device) = devices.iter().find(|device| device.name == *name)
            {
                rdma::delete(&mut socket, device.index)?;
            }
        }
        self.apply(&steps)?;
        wait_for_gids(&self.plan, &self.options)
    }
}

/// Waits until every RDMA device knows its interface's address: the kernel tells it later.
pub(super) fn wait_for_gids(plan: &Plan, options: &LowerOptions) -> Result<(), LabErrorKind> {
    let layout = Layout::new(plan, options);
    if !options.delay_lines {
        return Ok(());
    }
    let patience = Instant::now() + PATIENCE;
    for (id, node) in (0..).map(NodeId).zip(&plan.nodes) {
        if node.role != Role::Host {
            continue;
        }
        let Some(device) = rdma_device(&layout, id) else {
            continue;
        };
        while gid_index(&device, node.addr).is_none() {
            if Instant::now() > patience {
                return Err(LabErrorKind::NoGid {
                    device,
                    addr: node.addr,
                });
            }
            sleep(PAUSE);
        }
    }
    Ok(())
}

/// The index of the GID that is an IPv4 address by RoCE v2.
fn gid_index(device: &str, addr: Ipv4Addr) -> Option<u8> {
    let port = PathBuf::from("/sys/class/infiniband")
        .join(device)
        .join("ports/1");
    let [a, b, c, d] = addr.octets();
    let wanted = format!("0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
    let mut indexes: Vec<u8> = fs::read_dir(port.join("gids"))
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    indexes.sort_unstable();
    indexes.into_iter().find(|index| {
        // Entries that are not set cannot be read.
        let read = |file: PathBuf| fs::read_to_string(file).unwrap_or_default();
        let gid = read(port.join(format!("gids/{index}")));
        let kind = || read(port.join(format!("gid_attrs/types/{index}")));
        gid.trim() == wanted && kind().trim() == "RoCE v2"
    })
}

/// The kernel's worker does it within milliseconds; a loaded machine may take longer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);
