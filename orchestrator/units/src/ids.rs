//! Indices into a plan's tables; each type names the table.

use core::fmt;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(transparent))]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the position of this id's row in the plan's table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the id of the row at position `index`; `None` if `index` exceeds 32 bits.
            #[must_use]
            pub fn from_index(index: usize) -> Option<Self> {
                u32::try_from(index).ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// Index of a datacenter.
    DcId
    /// Index of a node: DCI switch, spine, leaf or host.
    NodeId
    /// Index of a full-duplex link.
    LinkId
    /// Index of a port, which is one end of a link: `2 · link` at its `a` end, `2 · link + 1` at its `b` end.
    PortId
    /// Index of a flow in the schedule.
    FlowId
}

impl LinkId {
    /// Returns the port at the link's `a` end.
    #[must_use]
    pub const fn port_a(self) -> PortId {
        PortId(self.0 * 2)
    }

    /// Returns the port at the link's `b` end.
    #[must_use]
    pub const fn port_b(self) -> PortId {
        PortId(self.0 * 2 + 1)
    }
}

impl PortId {
    /// Returns the link that this port is an end of.
    #[must_use]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Returns the port at the other end of the link.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Link 0 has ports 0 and 1, link 1 has ports 2 and 3, and link 7 has ports 14 and 15.
    #[test]
    fn a_link_has_two_ports_that_are_each_others_peers() {
        for (link, a, b) in [(0, 0, 1), (1, 2, 3), (7, 14, 15)] {
            let link = LinkId(link);
            let a = PortId(a);
            let b = PortId(b);
            assert_eq!((link.port_a(), link.port_b()), (a, b));
            assert_eq!((a.link(), b.link()), (link, link));
            assert_eq!((a.peer(), b.peer()), (b, a));
        }
    }

    #[test]
    fn an_index_past_32_bits_is_no_id() {
        let last = usize::try_from(u32::MAX).expect("a machine of 64 bits");
        assert_eq!(FlowId::from_index(last), Some(FlowId(u32::MAX)));
        assert_eq!(FlowId::from_index(last + 1), None);
        assert_eq!(FlowId(u32::MAX).index(), last);
    }
}
