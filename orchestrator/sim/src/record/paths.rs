//! Paths of flows, from the datacenters their packets cross.

use lab_units::DcId;

/// Paths of a flow's data and of its ACKs, as far as they are known.
#[derive(Clone, Debug)]
pub struct FlowPaths {
    pub data: PathTrace,
    pub ack: PathTrace,
}

/// Datacenters that one direction of a flow has crossed so far, its first included.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathTrace(Vec<DcId>);

impl PathTrace {
    /// Creates the trace of packets that have not left `dc`.
    pub fn from(dc: DcId) -> Self {
        Self(vec![dc])
    }

    /// Adds the hop of a first packet. A packet sent again may leave the earlier path at `from`: the
    /// hops after that datacenter are forgotten.
    pub fn hop(&mut self, from: DcId, to: DcId) {
        if let Some(index) = self.0.iter().position(|&dc| dc == from) {
            self.0.truncate(index + 1);
            self.0.push(to);
        }
    }

    /// Returns the whole path, if it ends at `dc`.
    pub fn to(&self, dc: DcId) -> Option<&[DcId]> {
        (self.0.last() == Some(&dc)).then_some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_at_its_destination_and_follows_packets_sent_again() {
        let trace = |hops: &[(u32, u32)]| {
            let mut trace = PathTrace::from(DcId(1));
            for &(from, to) in hops {
                trace.hop(DcId(from), DcId(to));
            }
            trace
                .to(DcId(8))
                .map(|path| path.iter().map(|dc| dc.0).collect::<Vec<_>>())
        };
        assert_eq!(trace(&[(1, 4)]), None);
        assert_eq!(trace(&[(1, 4), (4, 8)]), Some(vec![1, 4, 8]));
        let sent_again = [(1, 4), (4, 8), (1, 5), (5, 8)];
        assert_eq!(trace(&sent_again), Some(vec![1, 5, 8]));
        let inside = PathTrace::from(DcId(3));
        assert_eq!(inside.to(DcId(3)), Some([DcId(3)].as_slice()));
    }
}
