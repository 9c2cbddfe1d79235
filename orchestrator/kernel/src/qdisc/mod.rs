//! Queueing disciplines. Each kind has a file with its parameters, their text as `tc` arguments, and their netlink
//! attributes in the kernel's units.

mod fq;
mod netem;
mod red;
mod tbf;
mod units;

use std::fmt;

use netlink_bindings::tc::{OptionsMsg, PushAttrs};
use serde::{Deserialize, Serialize};

pub use self::{fq::Fq, netem::Netem, red::Red, tbf::Tbf};
use crate::name::Namespace;

/// Queueing discipline and the place to which it is attached.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct QdiscAt {
    pub netns: Namespace,
    pub dev: String,
    pub parent: Parent,
    /// Handle by which other disciplines refer to this one.
    pub handle: Handle,
    pub qdisc: Qdisc,
}

/// Kind and parameters of a queueing discipline.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Qdisc {
    /// Token bucket: limits the rate, and queues a limited number of bytes.
    Tbf(Tbf),
    /// Marks packets (ECN) depending on the queue length.
    Red(Red),
    /// Delays packets, serialises them exactly, and loses some at random.
    Netem(Netem),
    /// Keeps one queue per flow, and holds each packet until the departure time that an eBPF program has set.
    Fq(Fq),
    /// Provides hooks for classifiers at ingress and egress.
    Clsact,
}

/// Kind of a queueing discipline, and its attributes in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Attributes {
    Tbf(tbf::Attributes),
    Red(red::Attributes),
    Netem(netem::Attributes),
    Fq(fq::Attributes),
    Clsact,
    /// Discipline of a kind that labs do not use.
    Other(String),
}

/// Major number of a queueing discipline's handle: 1 for `1:`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub u16);

/// Place to which a queueing discipline is attached.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parent {
    /// Egress of the interface, as its root discipline.
    Root,
    /// First class of the discipline with this handle.
    Of(Handle),
    /// Classifier hooks of the interface.
    Clsact,
}

impl Qdisc {
    /// Returns the name that the kernel uses for the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tbf(_) => "tbf",
            Self::Red(_) => "red",
            Self::Netem(_) => "netem",
            Self::Fq(_) => "fq",
            Self::Clsact => "clsact",
        }
    }

    /// Returns the attributes that the kernel should list for the discipline.
    pub(crate) fn attributes(&self) -> Attributes {
        match self {
            Self::Tbf(tbf) => Attributes::Tbf(tbf.into()),
            Self::Red(red) => Attributes::Red(red.into()),
            Self::Netem(netem) => Attributes::Netem(netem.into()),
            Self::Fq(fq) => Attributes::Fq(fq.into()),
            Self::Clsact => Attributes::Clsact,
        }
    }

    /// Appends the discipline's kind and attributes to a netlink message.
    pub(crate) fn push(&self, message: PushAttrs<&mut Vec<u8>>) {
        match self {
            Self::Tbf(tbf) => tbf.push(message),
            Self::Red(red) => red.push(message),
            Self::Netem(netem) => netem.push(message),
            Self::Fq(fq) => fq.push(message),
            Self::Clsact => drop(message.push_kind(c"clsact")),
        }
    }
}

impl Attributes {
    /// Reads the attributes of a discipline of `kind` from the kernel's listing; `None` if they are incomplete.
    pub fn read(kind: &str, options: Option<OptionsMsg<'_>>) -> Option<Self> {
        match options {
            Some(OptionsMsg::Tbf(tbf)) => tbf::Attributes::read(&tbf).map(Self::Tbf),
            Some(OptionsMsg::Red(red)) => red::Attributes::read(&red).map(Self::Red),
            Some(OptionsMsg::Netem(head, netem)) => {
                netem::Attributes::read(&head, &netem).map(Self::Netem)
            }
            Some(OptionsMsg::Fq(fq)) => fq::Attributes::read(&fq).map(Self::Fq),
            _ if kind == "clsact" => Some(Self::Clsact),
            _ => Some(Self::Other(kind.to_owned())),
        }
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tbf(tbf) => tbf.fmt(f),
            Self::Red(red) => red.fmt(f),
            Self::Netem(netem) => netem.fmt(f),
            Self::Fq(fq) => fq.fmt(f),
            Self::Clsact => f.write_str("clsact"),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:", self.0)
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tbf(tbf) => tbf.fmt(f),
            Self::Red(red) => red.fmt(f),
            Self::Netem(netem) => netem.fmt(f),
            Self::Fq(fq) => fq.fmt(f),
            Self::Clsact => f.write_str("clsact"),
        }
    }
}

#[cfg(test)]
mod tests {
    use lab_units::{Bytes, Nanos, Ratio};
    use netlink_bindings::tc::{OpNewqdiscDo, Tcmsg};

    use super::*;
    use crate::testing;

    /// This test omits tbf, because the kernel converts the size of its bucket to ticks.
    #[test]
    fn the_kernel_lists_a_discipline_as_it_was_sent() {
        let mut wire = testing::wire("100 Mbit", "25 ms", "620 kB");
        wire.loss = Ratio::new(1, 3).unwrap();
        let red = Red {
            limit: Bytes::new(620_000),
            min: Bytes::new(40_000),
            max: Bytes::new(160_000),
            probability: Ratio::new(1, 5).unwrap(),
        };
        let fq = Fq {
            limit: 10_000,
            flow_limit: 64,
            orphan_mask: 1_023,
            horizon: Nanos::from_millis(10_000),
        };
        let netem = Qdisc::Netem((&wire).into());
        for qdisc in [netem, Qdisc::Red(red), Qdisc::Fq(fq), Qdisc::Clsact] {
            let mut message = Vec::new();
            qdisc.push(OpNewqdiscDo::encode_request(&mut message, &Tcmsg::new()));
            let (_, sent) = OpNewqdiscDo::decode_request(&message);
            assert_eq!(sent.get_kind().unwrap().to_str(), Ok(qdisc.kind()));
            let listed = Attributes::read(qdisc.kind(), sent.get_options().ok());
            assert_eq!(listed, Some(qdisc.attributes()));
        }
    }
}
