//! Resolution of a scenario's transport into emulated quantities, with all defaults filled in.

use lab_parameters::{
    DcqcnConfig, HpccConfig, ParameterSet, Timer, TransportConfig, Value, Window, value::Field,
};
use lab_scenario::{CcSpec, Generator, Scenario, Settings, Tool, TransportSpec};
use lab_units::{BitsPerSec, DcId, Semantics};

use super::{CcPlan, HostProfile, TransportPlan};
use crate::{
    error::PlanError,
    frame,
    model::{Rdma, Scale},
    network::Network,
    parameters,
    paths::{self, Paths},
    rdma,
};

/// Inputs of transport resolution besides the scenario.
pub(crate) struct Lab<'a> {
    /// Number of switches on the longest path between two hosts.
    pub longest: u32,
    pub scale: &'a Scale,
    pub rdma: &'a Rdma,
    /// True if unset parameters default to SoftRoCE's behaviour (kernel engine, `sim --scaled`).
    pub follows_rxe: bool,
}

/// Resolves the scenario's `transport` section into values scaled for emulation.
pub(crate) fn resolve(scenario: &Scenario, lab: &Lab<'_>) -> Result<TransportPlan, PlanError> {
    let spec = &scenario.transport;
    let is_like_rxe = lab.follows_rxe && spec.semantics == Semantics::Paper;
    let cc = congestion_control(lab, &asked_control(spec), spec.semantics)?;
    let is_in_lab = cc == CcPlan::None || cc.in_lab().is_some();
    let payload_bytes = payload(spec, &scenario.generator);
    let window = if is_like_rxe && is_in_lab {
        Window::Bytes(frame::rxe_window(payload_bytes))
    } else {
        Window::Bdp
    };
    // SoftRoCE's time-out, which is 4.096 µs times a power of two.
    let timeout = Timer(Some(rdma::timeout(lab.rdma.qp_timeout)));
    let derived = [
        ("payload", Value::Number(payload_bytes.into())),
        ("window", window.into()),
        ("retransmit_timeout", timeout.into()),
    ];
    let preset = spec.semantics.into();
    let mut parameters: TransportConfig =
        parameters::resolve("transport", &spec.settings, preset, &derived, lab.scale)?;
    if is_like_rxe && parameters.retransmit_timeout_ns != Timer::NONE {
        parameters.retransmit_timeout_ns = timeout;
    }
    Ok(TransportPlan {
        semantics: spec.semantics,
        profile: profile(spec, &scenario.generator, lab.follows_rxe),
        cc,
        parameters,
    })
}

/// Returns the scenario's congestion control, or its default: none with semantics `paper`, as in the kernel engine, and
/// DCQCN with `artifact`, as in the paper's experiments.
fn asked_control(spec: &TransportSpec) -> CcSpec {
    let default = || match spec.semantics {
        Semantics::Paper => CcSpec::None,
        Semantics::Artifact => CcSpec::Dcqcn(Settings::default()),
    };
    spec.cc.clone().unwrap_or_else(default)
}

/// Returns the model of the hosts' RDMA devices: rxe if unset parameters follow SoftRoCE and the scenario sets nothing
/// that SoftRoCE and the lab's pacer lack.
pub(crate) fn profile(
    spec: &TransportSpec,
    generator: &Generator,
    follows_rxe: bool,
) -> HostProfile {
    let has_other_control = match &spec.cc {
        None | Some(CcSpec::None | CcSpec::Dcqcn(_)) => false,
        Some(_) => true,
    };
    let is_set = |name| spec.value(name) == Some(Value::Flag(true));
    let departs = spec.semantics == Semantics::Artifact
        || has_other_control
        || spec.value("window").is_some()
        || spec.value("retransmit_timeout") == Some(Timer::NONE.into())
        || payload(spec, generator) != generator.mtu
        // Without a pacer, rxe cannot hold packets that PFC pauses.
        || (is_set("pfc") && !matches!(spec.cc, Some(CcSpec::Dcqcn(_))))
        || is_set("ack_priority")
        || !matches!(spec.value("nack_interval"), None | Some(Value::Word(_)))
        // The data of a READ is a response, which is not acknowledged.
        || generator.tool == Tool::ReadBw;
    if follows_rxe && !departs {
        HostProfile::Rxe
    } else {
        HostProfile::Rnic
    }
}

/// Returns the rate, scaled for emulation, below which congestion control never slows a QP; `None` if the lab's hosts
/// have no congestion control.
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
    let given = spec.value("payload").and_then(u32::from_value);
    given.unwrap_or(match spec.semantics {
        Semantics::Paper => generator.mtu,
        Semantics::Artifact => TransportConfig::ARTIFACT.payload_bytes,
    })
}

const DCQCN_KEY: &str = "transport.cc.dcqcn";

/// Resolves the congestion control `cc`, with its parameters scaled for emulation.
fn congestion_control(
    lab: &Lab<'_>,
    cc: &CcSpec,
    semantics: Semantics,
) -> Result<CcPlan, PlanError> {
    let longest = lab.longest.max(HpccConfig::PAPER.int_hops);
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
    /// Resolves the parameters `S` of the congestion control `name`: the preset's defaults, the scenario's values, then
    /// scaling.
    fn resolve<S: ParameterSet>(
        &self,
        name: &str,
        settings: &Settings,
        semantics: Semantics,
        derived: &[parameters::DerivedDefault],
    ) -> Result<S, PlanError> {
        let path = format!("transport.cc.{name}");
        parameters::resolve(&path, settings, semantics.into(), derived, self.scale)
    }
}

/// Returns the number of switches on the longest path between two hosts.
pub(crate) fn longest_path(network: &Network, paths: &Paths) -> u32 {
    let dcs = || (0..).map(DcId).zip(&network.dcs);
    let heights: Vec<_> = dcs()
        .filter_map(|(id, dc)| Some((id, paths::climb(network, *dc.hosts.first()?).len())))
        .collect();
    let switches = heights.iter().flat_map(|(to, down)| {
        let most = paths.max_costs(network, *to, |links: u32, _| links + 1);
        heights.iter().filter_map(move |(from, up)| {
            // A path has one switch fewer than it has links, because both of its ends are hosts.
            let links = u32::try_from(up + down).unwrap_or(u32::MAX);
            Some(links.saturating_add(most[from.index()]?).saturating_sub(1))
        })
    });
    switches.max().unwrap_or(0)
}
