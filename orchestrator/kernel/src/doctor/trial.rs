//! What a lab is made of, made once.

use std::{fs, io, os::fd::AsFd, path::Path};

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

use super::{
    bpf,
    scratch::{self, Rxe},
};
use crate::{
    exec::{Space, StepCause, netns},
    netlink::{Batch, NetlinkError, tc},
    step::{Handle, Netem, Parent, Qdisc, Red, Tbf},
};

/// Something that a lab is made of and a kernel may lack, each after those it is tried with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Feature {
    Namespaces,
    Veth,
    Tbf,
    Red,
    Netem,
    Clsact,
    Mirred,
    Bpf,
    RdmaRxe,
    IbUverbs,
}

/// A feature in words.
pub(super) struct Words {
    pub subject: &'static str,
    /// Goes with "this kernel has no …".
    pub thing: &'static str,
    pub why: &'static str,
    pub modules: &'static [&'static str],
}

/// Where features are tried.
#[derive(Debug)]
pub(super) struct Trial {
    space: Space,
    rxe: Option<Rxe>,
}

impl Feature {
    pub(super) const ALL: [Self; 10] = [
        Self::Namespaces,
        Self::Veth,
        Self::Tbf,
        Self::Red,
        Self::Netem,
        Self::Clsact,
        Self::Mirred,
        Self::Bpf,
        Self::RdmaRxe,
        Self::IbUverbs,
    ];

    /// What it is tried with: where that is missing, nothing is known of this.
    pub(super) const fn tried_with(self) -> Option<Self> {
        match self {
            Self::Namespaces => None,
            Self::Veth => Some(Self::Namespaces),
            Self::Tbf | Self::Red | Self::Netem | Self::Clsact | Self::RdmaRxe => Some(Self::Veth),
            Self::Mirred | Self::Bpf => Some(Self::Clsact),
            Self::IbUverbs => Some(Self::RdmaRxe),
        }
    }

    pub(super) const fn words(self) -> Words {
        let (subject, thing, why, modules): (_, _, _, &[_]) = match self {
            Self::Namespaces => (
                "namespaces",
                "network namespace with a name",
                "every switch of a lab is in one",
                &[],
            ),
            Self::Veth => (
                "veth",
                "veth interface",
                "links are pairs of them",
                &["veth"],
            ),
            Self::Tbf => (
                "tbf",
                "tbf qdisc",
                "egress queues get their rate and size from it",
                &["sch_tbf"],
            ),
            Self::Red => (
                "red",
                "red qdisc",
                "egress queues mark packets for ECN with it",
                &["sch_red"],
            ),
            Self::Netem => (
                "netem",
                "netem qdisc",
                "links get their delay from it",
                &["sch_netem"],
            ),
            Self::Clsact => (
                "clsact",
                "clsact qdisc",
                "switch programs and delay lines are attached to it",
                &["sch_ingress"],
            ),
            Self::Mirred => (
                "mirred",
                "u32 filter with a mirred action",
                "delay lines pass packets on with it",
                &["cls_u32", "act_mirred"],
            ),
            Self::Bpf => (
                "bpf",
                "eBPF classifier",
                "a DCI switch chooses paths with it",
                &["cls_bpf"],
            ),
            Self::RdmaRxe => (
                "rdma_rxe",
                "SoftRoCE device",
                "hosts send RDMA by it",
                &["rdma_rxe"],
            ),
            Self::IbUverbs => (
                "ib_uverbs",
                "verbs device for a SoftRoCE device",
                "perftest opens RDMA devices by it",
                &["ib_uverbs"],
            ),
        };
        Words {
            subject,
            thing,
            why,
            modules,
        }
    }
}

/// The modules of what a lab is made of, of which a kernel may have any built in.
pub fn kernel_modules() -> impl Iterator<Item = &'static str> {
    Feature::ALL
        .into_iter()
        .flat_map(|feature| feature.words().modules)
        .copied()
}

impl Trial {
    pub(super) fn new() -> io::Result<Self> {
        let space = scratch::namespace()?;
        Ok(Self { space, rxe: None })
    }

    /// Makes one of a feature, the way a lab does.
    pub(super) fn make(&mut self, feature: Feature) -> Result<(), StepCause> {
        match feature {
            Feature::Namespaces => Ok(name_a_namespace()?),
            Feature::Veth => {
                scratch::veth(&mut self.space, None, [TBF, RED], 0)?;
                scratch::veth(&mut self.space, None, [NETEM, CLSACT], 0)
            }
            Feature::Tbf => self.qdisc(TBF, Parent::Root, &tbf()),
            Feature::Red => self.qdisc(RED, Parent::Root, &red()),
            Feature::Netem => self.qdisc(NETEM, Parent::Root, &netem()),
            Feature::Clsact => self.qdisc(CLSACT, Parent::Clsact, &Qdisc::Clsact),
            Feature::Mirred => self.redirect(),
            Feature::Bpf => {
                let index = self.index(CLSACT)?;
                let inside = self.space.as_fd().try_clone_to_owned()?;
                let socket = &mut self.space.socket;
                netns::inside(inside, || bpf::attach(socket, index))?
            }
            Feature::RdmaRxe => {
                self.rxe = Some(Rxe::add(&self.space, TBF)?);
                Ok(())
            }
            Feature::IbUverbs => Ok(verbs_device(self.rxe.as_ref().map_or("", Rxe::name))?),
        }
    }

    fn qdisc(&mut self, dev: &str, parent: Parent, qdisc: &Qdisc) -> Result<(), StepCause> {
        let handle = match parent {
            Parent::Clsact => Handle(0xffff),
            Parent::Root | Parent::Of(_) => Handle(1),
        };
        let mut batch = Batch::new();
        tc::add(&mut batch, self.index(dev)?, parent, handle, qdisc);
        Ok(self.space.socket.execute_one(batch)?)
    }

    fn redirect(&mut self) -> Result<(), StepCause> {
        let (from, to) = (self.index(CLSACT)?, self.index(TBF)?);
        let mut batch = Batch::new();
        tc::redirect(&mut batch, from, to);
        Ok(self.space.socket.execute_one(batch)?)
    }

    fn index(&mut self, dev: &str) -> Result<u32, StepCause> {
        let missing = || StepCause::NoInterface { dev: dev.into() };
        self.space.interface(dev)?.ok_or_else(missing)
    }
}

/// Whether the kernel refused because it does not know what it was asked for.
pub(super) fn is_unknown(feature: Feature, cause: &StepCause) -> bool {
    let number = match cause {
        StepCause::Netlink(NetlinkError::Kernel(error)) => Some(error.errno()),
        StepCause::Netlink(NetlinkError::Socket(error)) | StepCause::Io(error) => {
            error.raw_os_error()
        }
        StepCause::Netlink(NetlinkError::Answer(_)) | StepCause::NoInterface { .. } => None,
    };
    match number.map(Errno::from_raw) {
        Some(
            Errno::ENOENT
            | Errno::ENODEV
            | Errno::ENOSYS
            | Errno::EOPNOTSUPP
            | Errno::EPROTONOSUPPORT,
        ) => true,
        // RDMA's answer to a type of device it does not know, and bpf(2)'s to a type of program.
        Some(Errno::EINVAL) => matches!(feature, Feature::RdmaRxe | Feature::Bpf),
        _ => false,
    }
}

/// Gives a namespace a name below a directory that only this thread sees.
fn name_a_namespace() -> io::Result<()> {
    scratch::on_thread(|| {
        scratch::alone()?;
        fs::write("/run/netns", "")?;
        let (this, none) = (Some("/proc/thread-self/ns/net"), None::<&str>);
        Ok(mount(this, "/run/netns", none, MsFlags::MS_BIND, none)?)
    })
}

/// Looks for the character device by which programs open an RDMA device.
fn verbs_device(device: &str) -> io::Result<()> {
    for entry in fs::read_dir("/sys/class/infiniband_verbs")? {
        let entry = entry?;
        let of = fs::read_to_string(entry.path().join("ibdev")).unwrap_or_default();
        if of.trim() == device {
            let node = Path::new("/dev/infiniband").join(entry.file_name());
            return fs::metadata(node).map(drop);
        }
    }
    Err(Errno::ENODEV.into())
}

fn tbf() -> Qdisc {
    Qdisc::Tbf(Tbf {
        rate: RATE,
        burst: Bytes::new(10_000),
        limit: BUFFER,
    })
}

fn red() -> Qdisc {
    Qdisc::Red(Red {
        limit: BUFFER,
        min: Bytes::new(20_000),
        max: Bytes::new(60_000),
        probability: Ratio::ONE,
    })
}

fn netem() -> Qdisc {
    Qdisc::Netem(Netem {
        delay: Nanos::from_millis(1),
        rate: RATE,
        limit: 100,
        loss: Ratio::ZERO,
    })
}

/// Interfaces, by what is tried on them.
const TBF: &str = "tbf";
const RED: &str = "red";
const NETEM: &str = "netem";
const CLSACT: &str = "clsact";

const RATE: BitsPerSec = BitsPerSec::new(100_000_000).expect("it is not zero");
const BUFFER: Bytes = Bytes::new(100_000);
