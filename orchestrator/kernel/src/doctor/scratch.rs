//! Namespaces and RDMA devices to try things with. None of them outlives this process: a namespace
//! without a name goes with its last holder, and its interfaces and the devices on them with it.

use std::{
    io,
    os::fd::AsFd,
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL};

use crate::{
    exec::{Space, StepCause, netns},
    netlink::{Batch, Socket, rdma, route},
    step::{Mac, Place, Veth, VethEnd},
};

/// An empty network namespace.
pub(super) fn namespace() -> io::Result<Space> {
    on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        // What a thread calls its root is the namespace it is in.
        Space::root()
    })
}

/// Does `work` on a thread that is thrown away, with whatever it changed about itself.
pub(super) fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let result = thread::scope(|scope| scope.spawn(work).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives the calling thread a network namespace and a `/run` of its own, both empty.
pub(super) fn alone() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
    Ok(mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        MsFlags::empty(),
        none,
    )?)
}

/// Makes a pair of interfaces, the first in one namespace and the second in the same or another.
/// They are numbered from `index` on, or by the kernel where that is 0.
pub(super) fn veth(
    space: &mut Space,
    other: Option<&Space>,
    devs: [&str; 2],
    index: u32,
) -> Result<(), StepCause> {
    let end = |end: usize, number: u32| VethEnd {
        place: Place::Root,
        dev: devs[end].to_owned(),
        mac: MACS[end],
        group: 0,
        index: if index == 0 { 0 } else { index + number },
    };
    let pair = Veth {
        a: end(0, 0),
        b: end(1, 1),
        mtu: MTU,
        queue_len: QUEUE_LEN,
    };
    let message = route::veth(&pair, other.map(AsFd::as_fd));
    let mut batch = Batch::new();
    batch.route(&message, CREATE);
    Ok(space.socket.execute_one(batch)?)
}

/// A SoftRoCE device. It is deleted when dropped.
#[derive(Debug)]
pub(super) struct Rxe {
    name: String,
    /// Opened in the namespace of the device's interface, where the device is seen whichever way
    /// the machine shares RDMA devices among namespaces.
    socket: Socket,
}

impl Rxe {
    /// Makes a device on an interface.
    pub(super) fn add(space: &Space, dev: &str) -> Result<Self, StepCause> {
        let name = format!(
            "lcmp-doctor-{}-{}",
            process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let mut socket = netns::inside(space.as_fd(), Socket::rdma)??;
        rdma::add_rxe(&mut socket, &name, dev)?;
        Ok(Self { name, socket })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn delete(&mut self) -> Result<(), StepCause> {
        let devices = rdma::devices(&mut self.socket)?;
        match devices.iter().find(|device| device.name == self.name) {
            Some(device) => Ok(rdma::delete(&mut self.socket, device.index)?),
            None => Ok(()),
        }
    }
}

impl Drop for Rxe {
    fn drop(&mut self) {
        if let Err(error) = self.delete() {
            tracing::warn!(device = self.name, %error, "goes with its namespace only");
        }
    }
}

/// Device names of this process differ.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The hardware addresses of a pair's ends, locally administered.
pub(super) const MACS: [Mac; 2] = [Mac([0x02, 0x4c, 0, 0, 0, 1]), Mac([0x02, 0x4c, 0, 0, 0, 2])];
/// Fits RoCE packets of the largest path MTU, 4,096 B, as the interfaces of a lab do.
const MTU: u32 = 4_200;
const QUEUE_LEN: u32 = 1_000;
pub(super) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;
