//! RDMA devices of hosts, and their GIDs.

use std::{collections::BTreeMap, net::Ipv4Addr, path::PathBuf};

use lab_host::{HostError, HostMaps};
use lab_plan::model::Role;
use lab_units::{NodeId, PortId};
use nix::net::if_::if_nametoindex;

use super::{
    Lab, LabErrorKind,
    gids::{gid_index, wait_for_gids},
    rules,
    taking_rule::TakingRule,
};
use crate::{
    exec::netns,
    lower::{Layout, lower_repair, rdma_device, rxe_devices},
    netlink::{Socket, rdma},
    step::{DeviceChange, Step},
};

/// Parameters that a program needs to send from a host or to a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostEndpoint {
    pub rdma_device: String,
    /// Index of the RoCE v2 GID for the host's IPv4 address.
    pub gid_index: u8,
    /// IPv4 address of the host, which corresponds to the GID.
    pub addr: Ipv4Addr,
    /// Path of the host's namespace; `None` for the root namespace.
    pub netns: Option<PathBuf>,
}

impl Lab {
    /// Returns the endpoint of a host at its primary address; `None` if the node is not a host or has no RDMA device.
    #[must_use]
    pub fn host_endpoint(&self, host: NodeId) -> Option<HostEndpoint> {
        self.host_endpoint_at(host, self.plan.nodes[host.index()].addr)
    }

    /// Returns the endpoint of a host at one of its addresses; `None` if the node is not a host or has no
    /// RDMA device.
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

    /// Returns the ports of all hosts' NICs that are in the root namespace, by interface index.
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

    /// Restores the lab's initial state: undoes link faults, clears the QP state of congestion control, and recreates
    /// all RDMA devices, so that QP numbers, and the UDP source ports derived from them, are equal in every run.
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

    /// Fails if a routing rule of the machine, for example one added since the lab came up, diverts packets of the
    /// lab's hosts.
    pub(crate) fn check_rules(&self) -> Result<(), LabErrorKind> {
        rules::check(&self.plan, &self.options)
    }

    /// Returns the machine's routing rule that diverts packets of the lab's hosts; `None` if no rule does.
    pub(crate) fn taking_rule(&self) -> Result<Option<TakingRule>, LabErrorKind> {
        rules::taking(&self.plan, &self.options)
    }
}
