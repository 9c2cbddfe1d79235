//! Structures of a topology file that a scenario can express: datacenters with one DCI switch each, which have a
//! leaf-spine fabric or hosts on the DCI switch itself, and links between DCI switches.

use std::collections::BTreeSet;

use crate::{
    error::{ArtifactError, ArtifactErrorKind},
    topology::{FileWire, LinkRow, TopologyFile},
};

/// Datacenters of a topology, ordered by the numbers of their DCI switches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shape {
    pub dcs: Vec<DcShape>,
    /// Links between datacenters in the order of the file; each end is an index into `dcs`.
    pub links: Vec<([usize; 2], FileWire)>,
}

/// Structure inside a datacenter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DcShape {
    /// Hosts that are directly on the DCI switch; a transit datacenter has no hosts.
    Direct {
        /// Number of hosts on the DCI switch.
        hosts: usize,
        /// Link from a host to the DCI switch; `None` if there are no hosts.
        host_link: Option<FileWire>,
    },
    /// Leaf-spine fabric with hosts.
    LeafSpine {
        /// Number of spines in the fabric.
        spines: usize,
        /// Number of leaves in the fabric.
        leaves: usize,
        /// Number of hosts per leaf.
        hosts_per_leaf: usize,
        /// Link from a host to a leaf; `None` if there are no hosts.
        host_link: Option<FileWire>,
        /// Link from a leaf to a spine.
        leaf_spine: FileWire,
        /// Link from a spine to the DCI switch.
        spine_dci: FileWire,
    },
}

impl DcShape {
    /// Returns the number of hosts in the datacenter.
    #[must_use]
    pub const fn hosts(&self) -> usize {
        match *self {
            Self::Direct { hosts, .. } => hosts,
            Self::LeafSpine {
                leaves,
                hosts_per_leaf,
                ..
            } => leaves * hosts_per_leaf,
        }
    }
}

impl Shape {
    /// Recognises the datacenters in `file`. Fails, with a line number, at the first structure that a scenario cannot
    /// express.
    pub fn recognise(file: &TopologyFile) -> Result<Self, ArtifactError> {
        let graph = Graph::new(file)?;
        let switches: Vec<u32> = file.dci_switches.iter().copied().collect();
        let dcs = switches
            .iter()
            .map(|&dci| graph.datacenter(dci))
            .collect::<Result<Vec<_>, _>>()?;
        graph.check_numbering(&dcs)?;
        let place = |id: u32| switches.iter().position(|&dci| dci == id);
        let mut seen = BTreeSet::new();
        let mut links = Vec::new();
        for row in &file.links {
            let [Some(a), Some(b)] = row.between.map(place) else {
                continue;
            };
            if a == b || !seen.insert([a.min(b), a.max(b)]) {
                let [from, to] = row.between.map(|id| graph.name(id));
                return Err(graph.error(row, ArtifactErrorKind::LinkTwice { from, to }));
            }
            links.push(([a, b], row.wire));
        }
        let dcs = dcs.into_iter().map(|members| members.shape).collect();
        Ok(Self { dcs, links })
    }
}

/// Kind of a node in a topology.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum NodeKind {
    Host,
    Leaf,
    Spine,
    Dci,
}

impl NodeKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Leaf => "leaf",
            Self::Spine => "spine",
            Self::Dci => "DCI switch",
        }
    }
}

/// Nodes of a topology with their kinds, and the links between them.
struct Graph<'a> {
    file: &'a TopologyFile,
    kinds: Vec<NodeKind>,
    /// Links by node: the node at the other end and the link's row, in the order of the file.
    links: Vec<Vec<(u32, &'a LinkRow)>>,
}

/// Numbers of a datacenter's nodes, and their structure.
struct Members {
    shape: DcShape,
    dci: u32,
    spines: Vec<u32>,
    leaves: Vec<u32>,
    hosts: Vec<u32>,
}

impl<'a> Graph<'a> {
    fn new(file: &'a TopologyFile) -> Result<Self, ArtifactError> {
        check_links(file)?;
        let mut links = vec![Vec::new(); index(file.nodes)];
        for row in &file.links {
            let [a, b] = row.between;
            links[index(a)].push((b, row));
            links[index(b)].push((a, row));
        }
        let at_dci = |id: u32| {
            links[index(id)]
                .iter()
                .any(|(far, _)| file.dci_switches.contains(far))
        };
        let kind = |id: u32| match () {
            () if file.dci_switches.contains(&id) => NodeKind::Dci,
            () if !file.fabric_switches.contains(&id) => NodeKind::Host,
            () if at_dci(id) => NodeKind::Spine,
            () => NodeKind::Leaf,
        };
        let kinds = (0..file.nodes).map(kind).collect();
        let graph = Self { file, kinds, links };
        graph.check_kinds()?;
        Ok(graph)
    }

    /// Rejects links between kinds of nodes that cannot be linked in a scenario.
    fn check_kinds(&self) -> Result<(), ArtifactError> {
        for row in &self.file.links {
            let [a, b] = row.between.map(|id| self.kinds[index(id)]);
            let known = matches!(
                (a.min(b), a.max(b)),
                (NodeKind::Host, NodeKind::Leaf | NodeKind::Dci)
                    | (NodeKind::Leaf, NodeKind::Spine)
                    | (NodeKind::Spine, NodeKind::Dci)
                    | (NodeKind::Dci, NodeKind::Dci)
            );
            if !known {
                let [from, to] = row.between.map(|id| self.name(id));
                return Err(self.error(row, ArtifactErrorKind::NoSuchLink { from, to }));
            }
        }
        Ok(())
    }

    fn datacenter(&self, dci: u32) -> Result<Members, ArtifactError> {
        let spines = self.beside(dci, NodeKind::Spine);
        let at_dci = self.beside(dci, NodeKind::Host);
        if spines.is_empty() {
            let host_link = self.common_wire(&at_dci, NodeKind::Dci, "host link")?;
            self.check_each(&at_dci, "links", 1, |host| self.links[index(host)].len())?;
            let hosts = at_dci.len();
            return Ok(Members {
                shape: DcShape::Direct { hosts, host_link },
                dci,
                spines,
                leaves: Vec::new(),
                hosts: at_dci,
            });
        }
        self.check_each(&[dci], "hosts beside spines", 0, |_| at_dci.len())?;
        let number = |kind| move |node| self.beside(node, kind).len();
        self.check_each(&spines, "DCI switches", 1, number(NodeKind::Dci))?;
        let leaves = self.beside(spines[0], NodeKind::Leaf);
        self.check_each(&spines, "leaves", leaves.len(), number(NodeKind::Leaf))?;
        self.check_each(&leaves, "spines", spines.len(), |leaf| {
            let above = self.beside(leaf, NodeKind::Spine);
            above.iter().filter(|spine| spines.contains(spine)).count()
        })?;
        let hosts_of = |leaf: u32| self.beside(leaf, NodeKind::Host);
        let hosts_per_leaf = leaves.first().map_or(0, |&leaf| hosts_of(leaf).len());
        self.check_each(&leaves, "hosts", hosts_per_leaf, number(NodeKind::Host))?;
        let hosts: Vec<u32> = leaves.iter().flat_map(|&leaf| hosts_of(leaf)).collect();
        self.check_each(&hosts, "links", 1, |host| self.links[index(host)].len())?;
        let wire = |nodes: &[u32], above, what| {
            self.common_wire(nodes, above, what)?.ok_or_else(|| {
                let kind = ArtifactErrorKind::Degree {
                    node: self.name(dci),
                    what,
                    found: 0,
                    expected: "at least one".to_owned(),
                };
                self.whole(kind)
            })
        };
        let shape = DcShape::LeafSpine {
            spines: spines.len(),
            leaves: leaves.len(),
            hosts_per_leaf,
            host_link: self.common_wire(&hosts, NodeKind::Leaf, "host link")?,
            leaf_spine: wire(&leaves, NodeKind::Spine, "link from leaves to spines")?,
            spine_dci: wire(&spines, NodeKind::Dci, "link from spines to the DCI switch")?,
        };
        Ok(Members {
            shape,
            dci,
            spines,
            leaves,
            hosts,
        })
    }

    /// Returns the nodes of `kind` that `node` is linked to, sorted by number; a node with two links to `node` is
    /// listed twice.
    fn beside(&self, node: u32, kind: NodeKind) -> Vec<u32> {
        let mut ends: Vec<u32> = self.links[index(node)]
            .iter()
            .map(|(far, _)| *far)
            .filter(|&far| self.kinds[index(far)] == kind)
            .collect();
        ends.sort_unstable();
        ends
    }

    /// Returns the attributes that all links from `nodes` to nodes of `kind` share; fails if they differ.
    fn common_wire(
        &self,
        nodes: &[u32],
        kind: NodeKind,
        what: &'static str,
    ) -> Result<Option<FileWire>, ArtifactError> {
        let mut common: Option<FileWire> = None;
        for &node in nodes {
            let links = self.links[index(node)].iter();
            for (_, row) in links.filter(|(far, _)| self.kinds[index(*far)] == kind) {
                let wire = *common.get_or_insert(row.wire);
                if wire != row.wire {
                    let kind = ArtifactErrorKind::WireDiffers {
                        what,
                        found: text(row.wire),
                        expected: text(wire),
                    };
                    return Err(self.error(row, kind));
                }
            }
        }
        Ok(common)
    }

    /// Rejects the first of `nodes` whose `count` is not `expected`; in the error, `what` names the counted items.
    fn check_each(
        &self,
        nodes: &[u32],
        what: &'static str,
        expected: usize,
        count: impl Fn(u32) -> usize,
    ) -> Result<(), ArtifactError> {
        let wrong = nodes.iter().find(|&&node| count(node) != expected);
        wrong.map_or(Ok(()), |&node| {
            let kind = ArtifactErrorKind::Degree {
                node: self.name(node),
                what,
                found: count(node),
                expected: expected.to_string(),
            };
            Err(self.at(node, kind))
        })
    }

    /// Rejects node numbers that differ from those of the plan, because the numbers seed the hashes and are part of the
    /// addresses.
    fn check_numbering(&self, dcs: &[Members]) -> Result<(), ArtifactError> {
        let tiers: [fn(&Members) -> &[u32]; 4] = [
            |dc| &dc.hosts,
            |dc| &dc.leaves,
            |dc| &dc.spines,
            |dc| std::slice::from_ref(&dc.dci),
        ];
        let kinds = [
            NodeKind::Host,
            NodeKind::Leaf,
            NodeKind::Spine,
            NodeKind::Dci,
        ];
        let mut expected = 0;
        for (tier, kind) in tiers.into_iter().zip(kinds) {
            for (number, dc) in (1..).zip(dcs) {
                for &node in tier(dc) {
                    if node != expected {
                        let kind = ArtifactErrorKind::Numbering {
                            node: self.name(node),
                            expected: format!("{} {expected} of datacenter {number}", kind.name()),
                        };
                        return Err(self.at(node, kind));
                    }
                    expected += 1;
                }
            }
        }
        if expected == self.file.nodes {
            Ok(())
        } else {
            Err(of_no_datacenter(self.file, self.name(expected)))
        }
    }

    fn name(&self, node: u32) -> String {
        format!("{} {node}", self.kinds[index(node)].name())
    }

    fn error(&self, row: &LinkRow, kind: ArtifactErrorKind) -> ArtifactError {
        self.at_line(row.line, kind)
    }

    /// Returns an error that cites the line of a node's first link.
    fn at(&self, node: u32, kind: ArtifactErrorKind) -> ArtifactError {
        match self.links[index(node)].first() {
            Some((_, row)) => self.error(row, kind),
            None => self.whole(kind),
        }
    }

    fn whole(&self, kind: ArtifactErrorKind) -> ArtifactError {
        self.at_line(1, kind)
    }

    fn at_line(&self, line: usize, kind: ArtifactErrorKind) -> ArtifactError {
        let file = self.file.file.clone();
        ArtifactError { file, line, kind }
    }
}

/// Rejects a file in which a node has no link. The check comes before memory is allocated for the number of nodes that
/// the file states.
fn check_links(file: &TopologyFile) -> Result<(), ArtifactError> {
    let linked: BTreeSet<u32> = file.links.iter().flat_map(|row| row.between).collect();
    let unlinked = (0..file.nodes).find(|node| !linked.contains(node));
    unlinked.map_or(Ok(()), |node| {
        let kind = match () {
            () if file.dci_switches.contains(&node) => "DCI switch",
            () if file.fabric_switches.contains(&node) => "switch",
            () => "host",
        };
        Err(of_no_datacenter(file, format!("{kind} {node}")))
    })
}

/// Returns the error for a node that is not linked to any datacenter.
fn of_no_datacenter(file: &TopologyFile, node: String) -> ArtifactError {
    ArtifactError {
        file: file.file.clone(),
        line: 1,
        kind: ArtifactErrorKind::Degree {
            node,
            what: "links to a datacenter",
            found: 0,
            expected: "at least one".to_owned(),
        },
    }
}

fn text(wire: FileWire) -> String {
    format!("{} {} {}", wire.rate, wire.delay, wire.loss)
}

fn index(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}
