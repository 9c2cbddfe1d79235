//! RDMA devices of hosts and their GIDs.

use std::{collections::BTreeMap, fs, net::Ipv4Addr, path::PathBuf, thread::sleep, time::Duration};

use lab_host::{HostError, HostMaps};
use lab_plan::model::{Plan, Role};
use lab_units::{NodeId, PortId};
use nix::net::if_::if_nametoindex;

use super::{Lab, LabErrorKind};
use crate::{
    exec::netns,
    lower::{Layout, LowerOptions, lower_repair, rdma_device, rxe_devices},
    netlink::{Socket, rdma},
    step::{DeviceChange, Step},
};

/// Parameters with which a program sends from or to a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostEndpoint {
    /// Name of the RDMA device.
    pub rdma_device: String,
    /// Index of the RoCE v2 GID for the host's IPv4 address.
    pub gid_index: u8,
    /// IPv4 address of the host that the GID stands for.
    pub addr: Ipv4Addr,
    /// File of the host's namespace; `None` for the root namespace.
    pub netns: Option<PathBuf>,
}

impl Lab {
    /// Returns the endpoint of a host at its own address; `None` if the node is no host or has no RDMA device.
    #[must_use]
    pub fn host_endpoint(&self, host: NodeId) -> Option<HostEndpoint> {
        self.host_endpoint_at(host, self.plan.nodes[host.index()].addr)
    }

    /// Returns the endpoint of a host at one of its addresses; `None` if the node is no host or has no RDMA
    /// device.
    #[must_use]
    pub fn host_endpoint_at(&self, host: NodeId, addr: Ipv4Addr) -> Option<HostEndpoint> {
        let layout = Layout::new(&self.plan, &self.options);
        let node = layout.node(host);
        if node.role != Role::Host {
            return None;
        }
        let rdma_device = rdma_device(&layout, host)?;
        Some(HostEndpoint {
            gid_index: gid_index(&rdma_device, addr)?,
            rdma_device,
            addr,
            netns: layout.netns(node).name().map(netns::path),
        })
    }

    /// Returns the maps of the lab's host programs; `None` if its hosts have no congestion control.
    ///
    /// # Errors
    /// The kernel refuses access to a map.
    pub fn host_maps(&self) -> Result<Option<HostMaps>, HostError> {
        let layout = Layout::new(&self.plan, &self.options);
        let dcqcn = layout.dcqcn();
        dcqcn
            .map(|_| HostMaps::open(&layout.host_directory()))
            .transpose()
    }

    /// Returns the ports of hosts' NICs in the root namespace by interface index.
    #[must_use]
    pub fn nics(&self) -> BTreeMap<u32, PortId> {
        let hosts = self
            .plan
            .nodes
            .iter()
            .filter(|node| node.role == Role::Host);
        let ports = hosts.flat_map(|host| &host.ports);
        let index = |id: &PortId| {
            let dev = self.plan.ports[id.index()].interface.as_str();
            Some((if_nametoindex(dev).ok()?, *id))
        };
        ports.filter_map(index).collect()
    }

    /// Restores the lab's initial state: undoes the faults of links and replaces all RDMA devices, so
    /// that QP numbers, and the UDP source ports derived from them, are equal in every run. Congestion
    /// control forgets all QPs.
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
            if let Step::Device {
                change: DeviceChange::Rxe(name),
                ..
            } = step
                && let Some(device) = devices.iter().find(|device| device.name == *name)
            {
                rdma::delete(&mut socket, device.index)?;
            }
        }
        self.apply(&steps)?;
        if let Some(mut maps) = self.host_maps()? {
            maps.reset()?;
        }
        wait_for_gids(&self.plan, &self.options)
    }
}

/// Waits until every RDMA device has a GID for each of its interface's addresses; the kernel adds them later.
pub(super) fn wait_for_gids(plan: &Plan, options: &LowerOptions) -> Result<(), LabErrorKind> {
    let layout = Layout::new(plan, options);
    if !options.delay_lines {
        return Ok(());
    }
    for (id, node) in (0..).map(NodeId).zip(&plan.nodes) {
        if node.role != Role::Host {
            continue;
        }
        let Some(device) = rdma_device(&layout, id) else {
            continue;
        };
        let mut checks = 0..MAX_GID_CHECKS;
        for addr in node.addrs() {
            while gid_index(&device, addr).is_none() {
                if checks.next().is_none() {
                    return Err(LabErrorKind::NoGid { device, addr });
                }
                sleep(PAUSE);
            }
        }
    }
    Ok(())
}

/// Returns the index of a device's RoCE v2 GID for an IPv4 address.
fn gid_index(device: &str, addr: Ipv4Addr) -> Option<u8> {
    let port = PathBuf::from(format!("/sys/class/infiniband/{device}/ports/1"));
    let [a, b, c, d] = addr.octets();
    let wanted = format!("0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
    let entries = fs::read_dir(port.join("gids")).ok()?.flatten();
    let indexes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut indexes: Vec<u8> = indexes.collect();
    indexes.sort_unstable();
    indexes.into_iter().find(|index| {
        // Unset entries cannot be read.
        let read = |file: PathBuf| fs::read_to_string(file).unwrap_or_default();
        let gid = read(port.join(format!("gids/{index}")));
        let kind = || read(port.join(format!("gid_attrs/types/{index}")));
        gid.trim() == wanted && kind().trim() == "RoCE v2"
    })
}

/// Maximum number of checks for a GID, which the kernel adds within milliseconds. A count bounds the
/// wait, since the clock of a guest may jump.
const MAX_GID_CHECKS: u32 = 10_000;
const PAUSE: Duration = Duration::from_millis(1);
