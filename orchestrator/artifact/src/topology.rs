//! Topology files in the artifact's format.
//!
//! The first row gives the number of nodes, of switches inside datacenters, of DCI switches, and of links. The second
//! row lists the ids of the switches inside datacenters, and the third row the ids of the DCI switches. Then there is
//! one row per link: two node ids, rate, delay, and share of lost packets. All other nodes are hosts. A link has the
//! same attributes in both directions.

use std::collections::BTreeSet;

use lab_units::{BitsPerSec, Nanos, Ratio};

use crate::{
    error::{ArtifactError, ArtifactErrorKind},
    rows::{FileRow, Rows},
};

/// Contents of a topology file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TopologyFile {
    /// Name of the file, used in messages.
    pub file: String,
    /// Number of nodes, hosts included.
    pub nodes: u32,
    /// Ids of the switches inside datacenters.
    pub fabric_switches: BTreeSet<u32>,
    /// Ids of the DCI switches.
    pub dci_switches: BTreeSet<u32>,
    /// Links, in the order of the file.
    pub links: Vec<LinkRow>,
}

/// Row of a topology file that describes a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkRow {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Ids of the nodes at the two ends of the link.
    pub between: [u32; 2],
    /// Rate, delay and loss of the link.
    pub wire: FileWire,
}

/// Attributes of a link, the same in both directions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileWire {
    /// Rate in each direction.
    pub rate: BitsPerSec,
    /// One-way propagation delay.
    pub delay: Nanos,
    /// Share of packets that are lost.
    pub loss: Ratio,
}

impl TopologyFile {
    /// Parses `text`, the contents of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ArtifactError> {
        let mut rows = Rows::new(file, text);
        let head = rows.expect("the numbers of nodes and links")?;
        if head.fields.len() == 3 {
            return Err(head.error(ArtifactErrorKind::OneDatacenter));
        }
        head.has(4, "4: nodes, switches, DCI switches, links")?;
        let nodes: u32 = head.number(0, "the number of nodes")?;
        let mut topology = Self {
            file: file.to_owned(),
            nodes,
            fabric_switches: BTreeSet::new(),
            dci_switches: BTreeSet::new(),
            links: Vec::new(),
        };
        let fabric: usize = head.number(1, "the number of switches")?;
        if fabric > 0 {
            topology.fabric_switches = topology.switches(&rows.expect("the switches")?, fabric)?;
        }
        let dci: usize = head.number(2, "the number of DCI switches")?;
        topology.dci_switches = topology.switches(&rows.expect("the DCI switches")?, dci)?;
        let announced: usize = head.number(3, "the number of links")?;
        let mut last = head;
        for row in rows {
            topology.links.push(topology.link(&row)?);
            last = row;
        }
        if topology.links.len() != announced {
            return Err(last.error(ArtifactErrorKind::CountDiffers {
                what: "the number of links",
                found: topology.links.len(),
                announced,
            }));
        }
        Ok(topology)
    }

    fn switches(
        &self,
        row: &FileRow<'_>,
        announced: usize,
    ) -> Result<BTreeSet<u32>, ArtifactError> {
        let mut switches = BTreeSet::new();
        for at in 0..row.fields.len() {
            let id = self.node(row, at)?;
            if self.fabric_switches.contains(&id) || !switches.insert(id) {
                return Err(row.error(ArtifactErrorKind::SwitchTwice { id }));
            }
        }
        if switches.len() != announced {
            return Err(row.error(ArtifactErrorKind::CountDiffers {
                what: "the number of switches",
                found: switches.len(),
                announced,
            }));
        }
        Ok(switches)
    }

    fn link(&self, row: &FileRow<'_>) -> Result<LinkRow, ArtifactError> {
        row.has(5, "5: two nodes, rate, delay, loss")?;
        let rate = |text: &str| {
            let number = text.strip_suffix("bps")?;
            let (number, unit) = match number.char_indices().last()? {
                (at, 'T') => (&number[..at], 1_000_000_000_000),
                (at, 'G') => (&number[..at], 1_000_000_000),
                (at, 'M') => (&number[..at], 1_000_000),
                (at, 'K' | 'k') => (&number[..at], 1_000),
                _ => (number, 1),
            };
            let bits = number.parse::<Ratio>().ok()?.scale_nearest(unit);
            BitsPerSec::new(bits)
        };
        Ok(LinkRow {
            line: row.line,
            between: [self.node(row, 0)?, self.node(row, 1)?],
            wire: FileWire {
                rate: row.value(2, "the rate", "a rate like `100Gbps`", rate)?,
                delay: row.parse(3, "the delay", "a time like `1us`")?,
                loss: row.parse(4, "the loss", "a share from 0 to 1")?,
            },
        })
    }

    fn node(&self, row: &FileRow<'_>, at: usize) -> Result<u32, ArtifactError> {
        let id: u32 = row.number(at, "the node")?;
        if id < self.nodes {
            return Ok(id);
        }
        let last = self.nodes.saturating_sub(1);
        Err(row.error(ArtifactErrorKind::UnknownNode { id, last }))
    }
}
