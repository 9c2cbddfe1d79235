//! Flow schedule: all flows of all repetitions, scaled, each with its ideal FCT.

use std::collections::BTreeMap;

use lab_scenario::{
    DemandMatrix, Files, FlowProcess, Generator, Scenario, Semantics, SizeCdf, Tool, Traffic,
    TransportSpec, Workload, limits,
};
use lab_units::{Bytes, Engine, FlowId, Nanos, Ratio};

use crate::{
    demand::Demand,
    demands::Demands,
    drafts::{self, Draft},
    error::PlanError,
    ideal::{self, Hop, Transfer, TransferPaths},
    model::{Arrivals, Flow, Scale},
    network::Network,
    networks::Networks,
    sample::Sampling,
    standalone::Standalone,
    transport::{self, HostProfile},
    workload,
};

/// Flows of all repetitions before scaling, and the numbers of workload arrivals.
pub(crate) struct Drafted {
    /// Each flow with its repetition, sorted by repetition, then start, then position in the scenario.
    pub flows: Vec<(u32, Draft)>,
    /// Arrivals of each workload, in the order of the scenario's `traffic`.
    pub arrivals: Vec<Arrivals>,
    /// Time spans in which flows start, by the position of their workload in the scenario's `traffic`.
    pub spans: BTreeMap<usize, Nanos>,
}

/// Collects all flows of `scenario`: lists, flow files and samples, whose workloads have `demands`.
pub(crate) fn draft(
    scenario: &Scenario,
    files: &Files,
    (seed, repetitions): (u64, u32),
    network: &Network,
    demands: &Demands,
) -> Result<Drafted, PlanError> {
    let mut sources = Vec::new();
    let mut spans = BTreeMap::new();
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        let mut source = read(network, files, index, traffic)?;
        if let Read::Sampled(process, sizes) = &mut source {
            process.duration = workload::span(process, hosts_of(demands, index), sizes);
            spans.insert(index, process.duration);
        }
        sources.push(source);
    }
    let mut all = Vec::new();
    let mut arrivals: BTreeMap<usize, Arrivals> = BTreeMap::new();
    for repetition in 0..repetitions {
        let mut drafts = Vec::new();
        for (traffic, source) in sources.iter().enumerate() {
            let path = format!("traffic[{traffic}]");
            let room = limits::MAX_FLOWS.saturating_sub(all.len() + drafts.len());
            match source {
                Read::Sampled(process, sizes) => {
                    let sampling = Sampling {
                        seed,
                        repetition,
                        traffic,
                        path: &path,
                    };
                    let process = (process, hosts_of(demands, traffic));
                    let sampled = workload::sample(network, process, sizes, sampling, room)?;
                    let counted = arrivals.entry(traffic).or_insert(Arrivals::none(traffic));
                    counted.all += count(sampled.arrivals);
                    counted.kept += count(sampled.drafts.len());
                    drafts.extend(sampled.drafts);
                }
                Read::Listed(listed) if listed.len() > room => {
                    let max = limits::MAX_FLOWS;
                    return Err(PlanError::TooManyFlows { path, max });
                }
                Read::Listed(listed) => drafts.extend_from_slice(listed),
            }
        }
        drafts.sort_by_key(|draft| draft.start);
        all.extend(drafts.into_iter().map(|draft| (repetition, draft)));
    }
    Ok(Drafted {
        flows: all,
        arrivals: arrivals.into_values().collect(),
        spans,
    })
}

fn hosts_of(demands: &Demands, traffic: usize) -> &[Demand] {
    demands.get(&traffic).map_or(&[], |it| &it.hosts)
}

fn count(flows: usize) -> u64 {
    u64::try_from(flows).unwrap_or(u64::MAX)
}

/// Inputs for scaling drafts into the plan's flows.
pub(crate) struct FlowInputs<'a> {
    pub engine: Engine,
    pub generator: &'a Generator,
    pub transport: &'a TransportSpec,
    pub profile: HostProfile,
    pub scale: &'a Scale,
}

/// Scales `drafts` into flows. Each flow's ideal FCT depends on the states of `networks` from the flow's start on, its
/// base round trip on the state before any fault.
pub(crate) fn flows(
    drafts: &[(u32, Draft)],
    inputs: &FlowInputs<'_>,
    networks: &mut Networks,
) -> Result<Vec<Flow>, PlanError> {
    let mut flows = Vec::with_capacity(drafts.len());
    for (repetition, draft) in drafts {
        let size = inputs.scale.size;
        let (messages, message_bytes) = match (inputs.engine, inputs.profile) {
            (Engine::Kernel, _) | (Engine::Sim, HostProfile::Rxe) => {
                messages(size, draft.size, inputs.generator.tool)
            }
            (Engine::Sim, HostProfile::Rnic) => (1, one_message(size, draft.size)),
        };
        flows.push(Flow {
            id: FlowId::from_index(flows.len()).expect("bounded by the limit on flows"),
            repetition: *repetition,
            src: draft.src,
            dst: draft.dst,
            paper_size_bytes: draft.size,
            paper_start_ns: draft.start,
            size_bytes: Bytes::new(u64::from(messages) * message_bytes.get()),
            messages,
            message_bytes,
            start_ns: inputs.scale.instant("traffic[].start", draft.start)?,
            base_rtt_ns: Nanos::ZERO,
            ideal_fct_ns: Nanos::ZERO,
            is_listed: draft.is_listed,
        });
    }
    let mut by_destination: Vec<&mut Flow> = flows.iter_mut().collect();
    by_destination.sort_by_key(|flow| (flow.dst, flow.src));
    for flow in by_destination {
        let alone =
            |paths: &TransferPaths| inputs.completion(paths, flow.messages, flow.message_bytes);
        let ideal = networks.ideal((flow.src, flow.dst), flow.start_ns, alone);
        flow.base_rtt_ns = inputs.round_trip(networks.first(flow.src, flow.dst));
        flow.ideal_fct_ns = ideal;
    }
    Ok(flows)
}

impl FlowInputs<'_> {
    /// Returns the base round trip on `path` under the sender's model.
    fn round_trip(&self, path: &[Hop]) -> Nanos {
        match self.sender() {
            Sender::Artifact { payload } => Standalone::of(path, payload).base_rtt,
            Sender::Rc { tool, path_mtu } => ideal::round_trip(path, tool, path_mtu),
        }
    }

    /// Returns the FCT of a flow alone on the best of `paths`; for the artifact's sender, on the least-delay data path.
    fn completion(&self, paths: &TransferPaths, messages: u32, message_bytes: Bytes) -> Nanos {
        match self.sender() {
            Sender::Artifact { payload } => {
                Standalone::of(&paths.data[0].hops, payload).completion(message_bytes)
            }
            Sender::Rc { tool, path_mtu } => {
                let transfer = Transfer {
                    tool,
                    path_mtu,
                    messages,
                    message_bytes,
                };
                ideal::least_completion(paths, &transfer)
            }
        }
    }

    fn sender(&self) -> Sender {
        let payload = transport::resolve::payload(self.transport, self.generator);
        match (self.engine, self.profile, self.transport.semantics) {
            (Engine::Kernel, ..) | (Engine::Sim, HostProfile::Rxe, _) => Sender::Rc {
                tool: self.generator.tool,
                path_mtu: self.generator.mtu,
            },
            (Engine::Sim, HostProfile::Rnic, Semantics::Artifact) => Sender::Artifact { payload },
            (Engine::Sim, HostProfile::Rnic, Semantics::Paper) => Sender::Rc {
                tool: Tool::SendBw,
                path_mtu: payload,
            },
        }
    }
}

/// Model of the sender from which a flow's ideal FCT is computed.
enum Sender {
    /// Sender of the artifact, the authors' simulator; the ideal FCT is the standalone FCT.
    Artifact { payload: u32 },
    /// A QP with the RC (reliable connection) transport.
    Rc { tool: Tool, path_mtu: u32 },
}

/// Flows of one entry in the scenario's `traffic`: an arrival process with its size distribution, or flows from a list
/// or file.
enum Read {
    Sampled(FlowProcess, SizeCdf),
    Listed(Vec<Draft>),
}

fn read(
    network: &Network,
    files: &Files,
    index: usize,
    traffic: &Traffic,
) -> Result<Read, PlanError> {
    let path = format!("traffic[{index}]");
    let text = |path: String, file: &String| {
        let text = files.get(file).ok_or_else(|| PlanError::MissingFile {
            path: path.clone(),
            file: file.clone(),
        });
        text.map(|text| (path, text))
    };
    match traffic {
        Traffic::Workload(Workload { sizes, process, .. })
        | Traffic::Demands(DemandMatrix { sizes, process, .. }) => {
            let (path, text) = text(format!("{path}.{}.sizes", traffic.key()), sizes)?;
            let cdf =
                SizeCdf::parse(sizes, text).map_err(|source| PlanError::File { path, source })?;
            Ok(Read::Sampled(process.clone(), cdf))
        }
        Traffic::Flows(specs) => drafts::listed(network, &path, specs).map(Read::Listed),
        Traffic::FlowFile { path: file } => {
            let (path, text) = text(format!("{path}.flow_file"), file)?;
            drafts::from_file(network, &path, file, text).map(Read::Listed)
        }
    }
}

/// Returns the number and the size of the messages that carry a flow of `paper` bytes before scaling. No message
/// exceeds rxe's maximum size; a perftest flow has at least five messages, the fewest that perftest accepts.
pub(crate) fn messages(scale: Ratio, paper: Bytes, tool: Tool) -> (u32, Bytes) {
    let min = if tool == Tool::Verbs { 1 } else { MESSAGES };
    let scaled = u128::from(paper.get()) * u128::from(scale.numerator());
    let unit = u128::from(scale.denominator());
    let count = scaled.div_ceil(unit * MAX_MESSAGE).max(u128::from(min));
    let share = unit * count;
    let bytes = ((scaled + share / 2) / share).max(1);
    (
        u32::try_from(count).unwrap_or(u32::MAX),
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)),
    )
}

/// Returns the emulated size of a flow of `paper` bytes (before scaling) that fits into a single message.
fn one_message(scale: Ratio, paper: Bytes) -> Bytes {
    Bytes::new(scale.scale_nearest(paper.get()).max(1))
}

/// Minimum number of iterations, one message each, that perftest accepts.
const MESSAGES: u32 = 5;

/// Maximum size of a message in rxe, `RXE_PORT_MAX_MSG_SZ`:
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
const MAX_MESSAGE: u128 = 0x80_0000;

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(size: &str) -> Ratio {
        size.parse().unwrap()
    }

    #[test]
    fn a_flow_of_perftest_is_five_messages_and_of_verbs_one() {
        let size = "30 MB".parse().unwrap();
        let send = Tool::SendBw;
        let verbs = Tool::Verbs;
        assert_eq!(
            messages(scale("1/100"), size, send),
            (5, Bytes::new(60_000))
        );
        assert_eq!(
            messages(scale("1/100"), size, verbs),
            (1, Bytes::new(300_000))
        );
        assert_eq!(
            messages(scale("1"), size, verbs),
            (4, Bytes::new(7_500_000))
        );
        let size = Bytes::new(1_234);
        assert_eq!(messages(scale("1/100"), size, send), (5, Bytes::new(2)));
    }

    #[test]
    fn the_smallest_flow_is_five_bytes() {
        let size = Bytes::new(1);
        assert_eq!(
            messages(scale("1/1000"), size, Tool::SendBw),
            (5, Bytes::new(1))
        );
    }

    #[test]
    fn one_message_is_the_flow() {
        assert_eq!(
            one_message(scale("1"), Bytes::new(1_234)),
            Bytes::new(1_234)
        );
        assert_eq!(one_message(scale("1/1000"), Bytes::new(400)), Bytes::new(1));
    }

    #[test]
    fn messages_stay_within_what_rxe_takes() {
        let size = "100 MB".parse().unwrap();
        assert_eq!(
            messages(scale("1"), size, Tool::SendBw),
            (12, Bytes::new(8_333_333))
        );
    }
}
