//! The switches that act, with their links and destinations.

use std::collections::BTreeSet;

use lab_te::Topology;

use crate::network::Shape;

/// Actors of a topology.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TeamLayout {
    /// Actors in the order of their switches.
    pub agents: Vec<AgentLayout>,
}

/// Position of an actor's inputs and outputs in the topology.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AgentLayout {
    /// Index of the switch in [`Topology::rows`].
    pub switch: usize,
    /// Outgoing links, in the order of their indices; their utilisations are the first inputs.
    pub links: Vec<usize>,
    /// Number of the switch's rows; their demands are the other inputs.
    pub rows: usize,
    pub heads: Vec<Head>,
}

/// Destination with a choice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Head {
    /// Index of the destination in the switch's rows.
    pub row: usize,
    /// Number of candidates.
    pub candidates: usize,
}

impl TeamLayout {
    /// Returns the layout of `topology`: a switch with an agent acts if it has several candidates for some destination.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let agents = topology.rows().iter().enumerate().map(|(switch, rows)| {
            let hops = rows.iter().flat_map(|row| &row.hops);
            let links: BTreeSet<usize> = hops.map(|hop| hop.link).collect();
            let heads = rows
                .iter()
                .enumerate()
                .filter(|(_, row)| row.hops.len() > 1 && !row.is_alike)
                .map(|(index, row)| Head {
                    row: index,
                    candidates: row.hops.len(),
                });
            AgentLayout {
                switch,
                links: links.into_iter().collect(),
                rows: rows.len(),
                heads: heads.collect(),
            }
        });
        Self {
            agents: agents.filter(|agent| !agent.heads.is_empty()).collect(),
        }
    }
}

impl AgentLayout {
    /// Returns the shape of the actor's network.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape {
            inputs: self.links.len() + self.rows,
            heads: self.heads.iter().map(|head| head.candidates).collect(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lab_te::{Egress, NextHops};

    use super::*;

    fn row(to: usize, hops: &[(usize, usize)]) -> NextHops {
        let hops = hops.iter().map(|&(link, next)| Egress { link, next });
        NextHops {
            to,
            hops: hops.collect(),
            rests: Vec::new(),
            is_alike: false,
        }
    }

    /// Returns a square: switch 0 reaches 3 via 1 (link 7) and via 2 (link 5), and 3 reaches 0 via 1 (link 6) and via 2
    /// (link 4).
    pub(crate) fn square() -> Topology {
        Topology::new(vec![
            vec![row(1, &[(7, 1)]), row(3, &[(7, 1), (5, 2)])],
            vec![row(3, &[(2, 3)])],
            vec![row(3, &[(3, 3)])],
            vec![row(0, &[(6, 1), (4, 2)])],
        ])
    }

    #[test]
    fn switches_with_a_choice_act() {
        let layout = TeamLayout::new(&square());
        let head = |row| Head { row, candidates: 2 };
        let agent = |switch, links: &[usize], rows, head| AgentLayout {
            switch,
            links: links.to_vec(),
            rows,
            heads: vec![head],
        };
        let expected = [agent(0, &[5, 7], 2, head(1)), agent(3, &[4, 6], 1, head(0))];
        assert_eq!(layout.agents, expected);
        assert_eq!(layout.agents[0].shape().inputs, 4);
    }

    #[test]
    fn a_switch_without_an_agent_does_not_act() {
        let square = square();
        let rows = square.rows().iter().cloned().map(|mut rows| {
            rows.iter_mut().for_each(|row| row.is_alike = true);
            rows
        });
        let layout = TeamLayout::new(&Topology::new(rows.collect()));
        assert_eq!(layout.agents, []);
    }
}
