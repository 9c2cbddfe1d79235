//! Resolution of a scenario's transport: emulated, with defaults filled in.

use std::collections::BTreeMap;

use lab_parameters::{DcqcnConfig, HpccConfig, ParameterSet, Preset, Value};
use lab_scenario::{
    CcSpec, Generator, Scenario, Settings, TimeoutSpec, Tool, TransportSpec, WindowSpec,
};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos, Semantics};

use super::{CcPlan, HostProfile, TransportPlan, WindowPlan};
use crate::{
    error::PlanError,
    frame,
    model::{Rdma, Scale},
    network::Network,
    parameters,
    paths::{self, Paths},
    rdma,
};

/// Inputs of transport besides the scenario.
pub(crate) struct Lab<'a> {
    pub network: &'a Network,
    pub paths: &'a Paths,
    pub scale: &'a Scale,
    pub rdma: &'a Rdma,
    /// True if unset parameters default to SoftRoCE's behaviour (kernel engine, `sim --scaled`).
    pub follows_rxe: bool,
}

/// Resolves the scenario's transport.
pub(crate) fn resolve(scenario: &Scenario, lab: &Lab<'_>) -> Result<TransportPlan, PlanError> {
    let spec = &scenario.transport;
    let base = match spec.semantics {
        Semantics::Paper => Defaults::paper(lab.rdma),
        Semantics::Artifact => Defaults::ARTIFACT,
    };
    let cc = spec.cc.as_ref().unwrap_or(&base.cc);
    let payload_bytes = payload(spec, &scenario.generator);
    let is_like_rxe = lab.follows_rxe && spec.semantics == Semantics::Paper;
    let cc = congestion_control(lab, cc, spec.semantics)?;
    let is_in_lab = cc == CcPlan::None || cc.in_lab().is_some();
    Ok(TransportPlan {
        semantics: spec.semantics,
        profile: profile(spec, &scenario.generator, lab.follows_rxe),
        payload_bytes,
        cc,
        window: match spec.window {
            None if is_like_rxe && is_in_lab => WindowPlan::Bytes(frame::rxe_window(payload_bytes)),
            None | Some(WindowSpec::Bdp) => WindowPlan::Bdp,
            Some(WindowSpec::None) => WindowPlan::None,
            Some(WindowSpec::Bytes(bytes)) => {
                WindowPlan::Bytes(lab.scale.size("transport.window", bytes)?)
            }
        },
        ack_priority: spec.ack_priority.unwrap_or(false),
        nack_interval_ns: match spec.nack_interval {
            None => {
                let default = base.nack_interval;
                default
                    .map(|it| lab.scale.instant(NACK_KEY, it))
                    .transpose()?
            }
            Some(interval) => Some(lab.scale.time(NACK_KEY, interval)?),
        },
        retransmit_timeout_ns: match spec.retransmit_timeout {
            None => base.retransmit_timeout,
            Some(TimeoutSpec::None) => None,
            Some(TimeoutSpec::After(_)) if is_like_rxe => base.retransmit_timeout,
            Some(TimeoutSpec::After(time)) => {
                Some(lab.scale.time("transport.retransmit_timeout", time)?)
            }
        },
        pfc: spec.pfc.unwrap_or(base.pfc),
        fabric_buffer_bytes: buffer(
            lab,
            "transport.fabric_buffer",
            spec.fabric_buffer,
            base.fabric_buffer,
        )?,
        dci_buffer_bytes: buffer(
            lab,
            "transport.dci_buffer",
            spec.dci_buffer,
            base.dci_buffer,
        )?,
    })
}

/// Returns the model of the hosts' RDMA devices: rxe's where unset parameters follow it and the scenario
/// asks for nothing that rxe, with the lab's pacer, does not have.
pub(crate) fn profile(
    spec: &TransportSpec,
    generator: &Generator,
    follows_rxe: bool,
) -> HostProfile {
    let has_other_control = match &spec.cc {
        None | Some(CcSpec::None | CcSpec::Dcqcn(_)) => false,
        Some(_) => true,
    };
    let departs = spec.semantics == Semantics::Artifact
        || has_other_control
        || spec.window.is_some()
        || spec.retransmit_timeout == Some(TimeoutSpec::None)
        || spec.payload.is_some_and(|payload| payload != generator.mtu)
        // PFC holds packets in the pacer.
        || (spec.pfc == Some(true) && !matches!(spec.cc, Some(CcSpec::Dcqcn(_))))
        || spec.ack_priority == Some(true)
        || spec.nack_interval.is_some()
        // A READ's data is a response, which nothing acknowledges.
        || generator.tool == Tool::ReadBw;
    if follows_rxe && !departs {
        HostProfile::Rxe
    } else {
        HostProfile::Rnic
    }
}

/// Returns the minimum rate, emulated, of the QPs of a lab whose hosts have congestion control.
pub(crate) fn slowest_qp(
    spec: &TransportSpec,
    scale: &Scale,
) -> Result<Option<BitsPerSec>, PlanError> {
    let Some(CcSpec::Dcqcn(settings)) = &spec.cc else {
        return Ok(None);
    };
    let preset = spec.semantics.into();
    let dcqcn: DcqcnConfig = parameters::resolve(DCQCN_KEY, settings, preset, &[], scale)?;
    let cc = CcPlan::Dcqcn(dcqcn);
    Ok(cc.in_lab().map(|dcqcn| dcqcn.min_rate_bps))
}

/// Returns the payload of a full packet, in bytes.
pub(crate) fn payload(spec: &TransportSpec, generator: &Generator) -> u32 {
    spec.payload.unwrap_or(match spec.semantics {
        Semantics::Paper => generator.mtu,
        Semantics::Artifact => ARTIFACT_PAYLOAD,
    })
}

/// Scales a buffer: the scenario's exactly, a default to the nearest byte, as a plan for the kernel must
/// not fail for a quantity of the simulator alone.
fn buffer(
    lab: &Lab<'_>,
    path: &str,
    given: Option<Bytes>,
    default: Bytes,
) -> Result<Bytes, PlanError> {
    match given {
        Some(bytes) => lab.scale.size(path, bytes),
        None => Ok(Bytes::new(lab.scale.size.scale_nearest(default.get()))),
    }
}

/// Defaults of a semantics.
struct Defaults {
    cc: CcSpec,
    /// Paper time.
    nack_interval: Option<Nanos>,
    /// Emulated time.
    retransmit_timeout: Option<Nanos>,
    pfc: bool,
    fabric_buffer: Bytes,
    dci_buffer: Bytes,
}

impl Defaults {
    /// Returns the kernel engine's transport, so that the two engines can be compared, with the
    /// paper's buffers.
    fn paper(rdma: &Rdma) -> Self {
        Self {
            cc: CcSpec::None,
            nack_interval: None,
            retransmit_timeout: Some(rdma::timeout(rdma.qp_timeout)),
            pfc: false,
            fabric_buffer: lab_scenario::defaults::LEAF_SPINE.buffer_bytes,
            dci_buffer: lab_scenario::defaults::INTER_DC.buffer_bytes,
        }
    }

    /// `BUFFER_SIZE` and `DCI_BUFFER_SIZE` of the artifact's configuration, which count MiB, and
    /// DCQCN, the default of the paper's experiments.
    const ARTIFACT: Self = Self {
        cc: CcSpec::Dcqcn(Settings {
            preset: Some(Preset::Artifact),
            label: None,
            values: BTreeMap::new(),
        }),
        nack_interval: Some(ARTIFACT_NACK_INTERVAL),
        retransmit_timeout: None,
        pfc: true,
        fabric_buffer: Bytes::new(32 << 20),
        dci_buffer: Bytes::new(128 << 20),
    };
}

/// `PACKET_PAYLOAD_SIZE` of the artifact's configuration.
const ARTIFACT_PAYLOAD: u32 = 1_000;

const DCQCN_KEY: &str = "transport.cc.dcqcn";

const NACK_KEY: &str = "transport.nack_interval";

/// `NACK Generation Interval` of the authors' `RdmaHw`.
const ARTIFACT_NACK_INTERVAL: Nanos = Nanos::new(500_000);

/// Resolves a congestion control.
fn congestion_control(
    lab: &Lab<'_>,
    cc: &CcSpec,
    semantics: Semantics,
) -> Result<CcPlan, PlanError> {
    let longest = longest_path(lab.network, lab.paths).max(HpccConfig::PAPER.int_hops);
    let derived = [("int_hops", Value::Number(longest.into()))];
    Ok(match cc {
        CcSpec::None => CcPlan::None,
        CcSpec::Dcqcn(settings) => CcPlan::Dcqcn(lab.resolve("dcqcn", settings, semantics, &[])?),
        CcSpec::Hpcc(settings) => CcPlan::Hpcc(lab.resolve("hpcc", settings, semantics, &derived)?),
        CcSpec::Timely(settings) => {
            CcPlan::Timely(lab.resolve("timely", settings, semantics, &[])?)
        }
        CcSpec::Dctcp(settings) => CcPlan::Dctcp(lab.resolve("dctcp", settings, semantics, &[])?),
    })
}

impl Lab<'_> {
    /// Resolves the parameters of the congestion control `name`.
    fn resolve<S: ParameterSet>(
        &self,
        name: &str,
        settings: &Settings,
        semantics: Semantics,
        derived: &[parameters::Derived],
    ) -> Result<S, PlanError> {
        let path = format!("transport.cc.{name}");
        parameters::resolve(&path, settings, semantics.into(), derived, self.scale)
    }
}

/// Returns the maximum number of switches on a path between two hosts.
pub(crate) fn longest_path(network: &Network, paths: &Paths) -> u32 {
    let dcs = || (0..).map(DcId).zip(&network.dcs);
    let heights: Vec<_> = dcs()
        .filter_map(|(id, dc)| Some((id, paths::climb(network, *dc.hosts.first()?).len())))
        .collect();
    let pairs = heights
        .iter()
        .flat_map(|a| heights.iter().map(move |b| (a, b)));
    let switches = pairs.filter_map(|((from, up), (to, down))| {
        // One switch fewer than links, as both ends are hosts.
        let between = paths.hops(*from, *to)?;
        let links = u32::try_from(up + down).unwrap_or(u32::MAX);
        Some(links.saturating_add(between).saturating_sub(1))
    });
    switches.max().unwrap_or(0)
}
