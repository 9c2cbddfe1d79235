//! Conversion of a topology and its flows to a scenario.

use std::fmt::Write as _;

use lab_scenario::{FileFlow, parse_flow_file};
use lab_units::Nanos;

use crate::{
    ecn,
    error::{ArtifactError, ArtifactErrorKind},
    shape::{DcShape, Shape},
    topology::{FileWire, TopologyFile},
};

/// Text of a file, with the path of the file.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Path used in messages and in the scenario.
    pub path: &'a str,
    /// Contents of the file.
    pub text: &'a str,
}

/// Options of an import: settings that the files do not contain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ImportOptions {
    /// Name of the scenario.
    pub name: String,
    /// Delay at which LCMP's delay score saturates: a power of two, in milliseconds. The artifact's code uses 32 ms;
    /// the published outputs of Figure 1 were produced with 512 ms.
    pub max_delay: Nanos,
    /// Path of a routing table, relative to the scenario, that gives the order of equal next hops.
    pub routes: Option<String>,
}

/// Returns the text of a scenario with `topology`, `flows` and the artifact's semantics.
///
/// If datacenters have 16 hosts, the scenario refers to the flow file, by `flows.path` relative to the scenario;
/// otherwise it lists the flows. Fails with the first error in the files, or the first structure that a scenario cannot
/// express.
pub fn import(
    topology: SourceFile<'_>,
    flows: SourceFile<'_>,
    options: &ImportOptions,
) -> Result<String, ArtifactError> {
    let file = TopologyFile::parse(topology.path, topology.text)?;
    let shape = Shape::recognise(&file)?;
    let rows = parse_flow_file(flows.path, flows.text).map_err(|errors| ArtifactError {
        file: flows.path.to_owned(),
        line: 1,
        kind: ArtifactErrorKind::Flows(errors.to_string()),
    })?;
    let mut text = String::new();
    head(&mut text, topology, flows, options);
    if let Some(wire) = direct_wire(&shape, topology.path)? {
        let _ = writeln!(text, "  defaults:\n    host_link: {}", body(&wire));
    }
    datacenters(&mut text, &shape);
    links(&mut text, &shape);
    if shape.dcs.iter().all(|dc| dc.hosts() == FILE_HOSTS) {
        let _ = writeln!(text, "\ntraffic:\n  - flow_file: {}", quoted(flows.path));
    } else {
        list(&mut text, &shape, flows, &rows)?;
    }
    let _ = write!(
        text,
        "\n# The authors' code scores only the delay of the first link; the score saturates at {delay}.\n\
         policies:\n  - ecmp\n  - ucmp-artifact\n  - lcmp: {{ preset: artifact, max_delay: {delay} }}\n\
         \n# For the simulator; a lab would need a smaller scale.\n\
         scale: {{ rate: 1, time: 1 }}\n\
         transport:\n  semantics: artifact\n",
        delay = options.max_delay,
    );
    if let Some(routes) = &options.routes {
        let _ = writeln!(text, "  routes: {}", quoted(routes));
    }
    Ok(text)
}

fn head(
    text: &mut String,
    topology: SourceFile<'_>,
    flows: SourceFile<'_>,
    options: &ImportOptions,
) {
    let description = format!("Flows of {} over {}", name_of(flows), name_of(topology));
    let _ = write!(
        text,
        "# Made from two files of the paper's NS-3 artifact: a topology, {}, and flows,\n\
         # {}. Queue limits are those of the artifact's devices; ECN thresholds depend only on the link rate.\n\
         name: {}\n\
         description: {}\n\
         \ntopology:\n",
        topology.path,
        flows.path,
        options.name,
        quoted(&description),
    );
}

/// Returns the link between hosts and DCI switches; a scenario has only one kind of such links.
fn direct_wire(shape: &Shape, file: &str) -> Result<Option<FileWire>, ArtifactError> {
    let mut common = None;
    for dc in &shape.dcs {
        let DcShape::Direct {
            host_link: Some(wire),
            ..
        } = dc
        else {
            continue;
        };
        if common.is_some_and(|common| common != *wire) {
            return Err(ArtifactError {
                file: file.to_owned(),
                line: 1,
                kind: ArtifactErrorKind::HostWires,
            });
        }
        common = Some(*wire);
    }
    Ok(common)
}

fn datacenters(text: &mut String, shape: &Shape) {
    text.push_str("  dcs:\n");
    for (number, dc) in (1..).zip(&shape.dcs) {
        let _ = writeln!(text, "    - name: dc{number}");
        let before = &shape.dcs[..number - 1];
        match dc {
            DcShape::Direct { hosts: 0, .. } => {}
            DcShape::Direct { hosts, .. } => {
                let _ = writeln!(text, "      hosts: {hosts}");
            }
            DcShape::LeafSpine {
                spines,
                leaves,
                hosts_per_leaf,
                host_link,
                leaf_spine,
                spine_dci,
            } => {
                if let Some(same) = before.iter().position(|other| other == dc) {
                    let _ = writeln!(text, "      fabric: *fabric{}", same + 1);
                    continue;
                }
                let _ = write!(
                    text,
                    "      fabric: &fabric{number}\n        spines: {spines}\n        \
                     leaves: {leaves}\n        hosts_per_leaf: {hosts_per_leaf}\n",
                );
                if let Some(wire) = host_link {
                    let _ = writeln!(text, "        host_link: {}", body(wire));
                }
                let _ = writeln!(text, "        leaf_spine: {}", body(leaf_spine));
                let _ = writeln!(text, "        spine_dci: {}", body(spine_dci));
            }
        }
    }
}

fn links(text: &mut String, shape: &Shape) {
    text.push_str("  links:\n");
    for ([a, b], wire) in &shape.links {
        let body = body(wire);
        let rest = body.trim_start_matches("{ ");
        let _ = writeln!(text, "    - {{ between: [dc{}, dc{}], {rest}", a + 1, b + 1);
    }
}

/// Formats a link as a YAML mapping on one line.
fn body(wire: &FileWire) -> String {
    let [k_min, k_max] = ecn::thresholds(wire.rate);
    let loss = match wire.loss.numerator() {
        0 => String::new(),
        _ => format!("loss: {}, ", wire.loss),
    };
    format!(
        "{{ rate: {}, delay: {}, buffer: {}, {loss}ecn: {{ k_min: {k_min}, k_max: {k_max}, p_max: {} }} }}",
        wire.rate,
        wire.delay,
        ecn::PORT_LIMIT,
        ecn::P_MAX,
    )
}

fn list(
    text: &mut String,
    shape: &Shape,
    flows: SourceFile<'_>,
    rows: &[FileFlow],
) -> Result<(), ArtifactError> {
    let error = |line, kind| ArtifactError {
        file: flows.path.to_owned(),
        line,
        kind,
    };
    if rows.len() > MAX_LISTED {
        let counts = shape.dcs.iter().map(DcShape::hosts);
        let kind = ArtifactErrorKind::TooManyToList {
            found: rows.len(),
            hosts: counts.max().unwrap_or(0),
            max: MAX_LISTED,
        };
        return Err(error(1, kind));
    }
    let early = rows.iter().any(|flow| flow.start < FILE_EPOCH);
    let epoch = if early { Nanos::ZERO } else { FILE_EPOCH };
    let hosts = host_names(shape);
    text.push_str("\ntraffic:\n  - flows:\n");
    for flow in rows {
        let host = |id: u32| {
            usize::try_from(id)
                .ok()
                .and_then(|place| hosts.get(place))
                .ok_or_else(|| {
                    let last = u32::try_from(hosts.len())
                        .unwrap_or(u32::MAX)
                        .saturating_sub(1);
                    error(flow.line, ArtifactErrorKind::UnknownNode { id, last })
                })
        };
        let _ = writeln!(
            text,
            "      - {{ from: {}, to: {}, size: {} B, start: {} ns }}",
            host(flow.src)?,
            host(flow.dst)?,
            flow.size.get(),
            flow.start.saturating_sub(epoch).get(),
        );
    }
    Ok(())
}

/// Returns the scenario's names for the hosts, indexed by the artifact's node numbers.
fn host_names(shape: &Shape) -> Vec<String> {
    let dcs = (1..).zip(&shape.dcs);
    dcs.flat_map(|(number, dc): (usize, _)| {
        (1..=dc.hosts()).map(move |host| format!("dc{number}/h{host}"))
    })
    .collect()
}

/// Returns the last component of a source's path.
fn name_of<'a>(source: SourceFile<'a>) -> &'a str {
    source.path.rsplit('/').next().unwrap_or(source.path)
}

/// Formats a text as a YAML scalar in double quotes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Number of hosts per datacenter for which a scenario can refer to a flow file.
const FILE_HOSTS: usize = 16;

/// Simulation time at which the artifact's generator starts its first flows.
const FILE_EPOCH: Nanos = Nanos::from_millis(2_000);

/// Maximum number of flows that a scenario lists.
const MAX_LISTED: usize = 10_000;
