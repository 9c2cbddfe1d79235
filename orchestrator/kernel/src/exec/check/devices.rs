//! Queues and RDMA devices.

use std::os::fd::AsFd;

use super::Checker;
use crate::{
    exec::netns,
    netlink::{NetlinkError, Socket, rdma, tc},
    step::Step,
};

impl Checker<'_> {
    pub(super) fn qdiscs(&mut self) -> Result<(), NetlinkError> {
        let found = tc::qdiscs(&mut self.space.socket)?;
        for step in &self.wanted.steps {
            if let Step::Qdisc(at) = step {
                let wanted = tc::held(self.index(&at.dev), at.parent, at.handle, &at.qdisc);
                let there = found.iter().find(|found| {
                    found.interface == wanted.interface && found.parent == wanted.parent
                });
                let show =
                    |held: &tc::Held| format!("{:x}: {}", held.handle >> 16, held.parameters);
                let object = format!("{} of `{}`", at.qdisc.kind(), at.dev);
                self.same(object, show(&wanted), there.map(show));
            }
        }
        Ok(())
    }

    pub(super) fn rdma_devices(&mut self) -> Result<(), NetlinkError> {
        // From elsewhere the kernel does not tell which interface a device is on.
        let mut socket = netns::inside(self.space.as_fd(), Socket::rdma)??;
        let devices = rdma::devices(&mut socket)?;
        for step in &self.wanted.steps {
            if let Step::Rxe { name, dev, .. } = step {
                let device = devices.iter().find(|device| device.name == *name);
                let found = match device {
                    None => None,
                    Some(device) => {
                        let on = rdma::interfaces(&mut socket, device.index)?;
                        Some(format!("on `{}`", on.join("`, `")))
                    }
                };
                self.same(
                    format!("RDMA device `{name}`"),
                    format!("on `{dev}`"),
                    found,
                );
            }
        }
        Ok(())
    }
}
