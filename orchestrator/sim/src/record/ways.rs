//! Which datacenters a flow's packets cross.

/// The datacenters one direction of a flow has come through, from its first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Way(Vec<u32>);

impl Way {
    /// Not out of `dc` yet.
    pub fn from(dc: u32) -> Self {
        Self(vec![dc])
    }

    /// A first packet leaves `from` for `to`. One that is sent again may turn off an earlier way:
    /// what lay behind is forgotten then.
    pub fn hop(&mut self, from: u32, to: u32) {
        if let Some(place) = self.0.iter().position(|&dc| dc == from) {
            self.0.truncate(place + 1);
            self.0.push(to);
        }
    }

    /// All of it, if it ends at `dc`.
    pub fn to(&self, dc: u32) -> Option<&[u32]> {
        (self.0.last() == Some(&dc)).then_some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_known_once_it_arrives() {
        let mut way = Way::from(1);
        way.hop(1, 4);
        assert_eq!(way.to(8), None);
        way.hop(4, 8);
        assert_eq!(way.to(8), Some([1, 4, 8].as_slice()));
    }

    #[test]
    fn a_packet_sent_again_may_take_another_way() {
        let mut way = Way::from(1);
        for (from, to) in [(1, 4), (4, 8), (1, 5), (5, 8)] {
            way.hop(from, to);
        }
        assert_eq!(way.to(8), Some([1, 5, 8].as_slice()));
    }

    #[test]
    fn inside_a_datacenter_there_is_one() {
        assert_eq!(Way::from(3).to(3), Some([3].as_slice()));
    }
}
