//! What a scenario says of transport, emulated, with defaults filled in.

use lab_scenario::{
    CcSpec, DcqcnSpec, DctcpSpec, Generator, HpccSpec, Scenario, Semantics, TimelySpec,
    TimeoutSpec, TransportSpec, WindowSpec,
};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos};

use super::{
    ArtifactDcqcnPlan, CcPlan, DcqcnPlan, DctcpPlan, HpccPlan, TimelyPlan, TimelyStep,
    TransportPlan, WindowPlan,
};
use crate::{
    error::PlanError,
    frame,
    model::{Rdma, Scale},
    network::Network,
    paths::{self, Paths},
    rdma,
};

/// What transport depends on besides the scenario.
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
    Ok(TransportPlan {
        semantics: spec.semantics,
        payload_bytes,
        cc: Parameters {
            lab,
            semantics: spec.semantics,
        }
        .cc(cc)?,
        window: match spec.window {
            None if is_like_rxe && *cc == CcSpec::None => {
                WindowPlan::Bytes(frame::rxe_window(payload_bytes))
            }
            None | Some(WindowSpec::Bdp) => WindowPlan::Bdp,
            Some(WindowSpec::None) => WindowPlan::None,
            Some(WindowSpec::Bytes(bytes)) => {
                WindowPlan::Bytes(lab.scale.size("transport.window", bytes)?)
            }
        },
        ack_priority: spec.ack_priority.unwrap_or(false),
        nack_interval_ns: match spec.nack_interval {
            None => lab.scale.instant(NACK_KEY, NACK_INTERVAL)?,
            Some(interval) => lab.scale.time(NACK_KEY, interval)?,
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

/// Payload of a full packet.
pub(crate) fn payload(spec: &TransportSpec, generator: &Generator) -> u32 {
    spec.payload.unwrap_or(match spec.semantics {
        Semantics::Paper => generator.mtu,
        Semantics::Artifact => ARTIFACT_PAYLOAD,
    })
}

/// A buffer as the scenario says, exactly, or a default as well as it can be scaled: a plan for the
/// kernel must not fail for what only the simulator has.
fn buffer(
    lab: &Lab<'_>,
    path: &str,
    said: Option<Bytes>,
    default: Bytes,
) -> Result<Bytes, PlanError> {
    match said {
        Some(bytes) => lab.scale.size(path, bytes),
        None => Ok(Bytes::new(lab.scale.size.scale_nearest(default.get()))),
    }
}

/// What a semantics means when a scenario does not say.
struct Defaults {
    cc: CcSpec,
    /// Emulated.
    retransmit_timeout: Option<Nanos>,
    pfc: bool,
    fabric_buffer: Bytes,
    dci_buffer: Bytes,
}

impl Defaults {
    /// As the kernel engine has it, so that the two engines can be compared; buffers are the
    /// paper's.
    fn paper(rdma: &Rdma) -> Self {
        Self {
            cc: CcSpec::None,
            retransmit_timeout: Some(rdma::timeout(rdma.qp_timeout)),
            pfc: false,
            fabric_buffer: lab_scenario::defaults::INTRA_DC_BUFFER,
            dci_buffer: lab_scenario::defaults::INTER_DC_BUFFER,
        }
    }

    /// `BUFFER_SIZE` and `DCI_BUFFER_SIZE` of the artifact's configuration, which count MiB, and DCQCN, the default of the paper's experiments.
    const ARTIFACT: Self = Self {
        cc: CcSpec::Dcqcn(DcqcnSpec {
            preset: Some(Semantics::Artifact),
            gain: None,
            cnp_interval: None,
            alpha_interval: None,
            decrease_interval: None,
            increase_interval: None,
            byte_counter: None,
            fast_recovery: None,
            additive_rate: None,
            hyper_rate: None,
            min_rate: None,
        }),
        retransmit_timeout: None,
        pfc: true,
        fabric_buffer: Bytes::new(32 << 20),
        dci_buffer: Bytes::new(128 << 20),
    };
}

/// `PACKET_PAYLOAD_SIZE` of the artifact's configuration.
const ARTIFACT_PAYLOAD: u32 = 1_000;

const NACK_KEY: &str = "transport.nack_interval";

/// The `NACK Generation Interval` of the authors' `RdmaHw`.
const NACK_INTERVAL: Nanos = Nanos::new(500_000);

/// Resolves the parameters of congestion controls.
struct Parameters<'a> {
    lab: &'a Lab<'a>,
    semantics: Semantics,
}

impl Parameters<'_> {
    fn cc(&self, spec: &CcSpec) -> Result<CcPlan, PlanError> {
        Ok(match spec {
            CcSpec::None => CcPlan::None,
            CcSpec::Dcqcn(spec) => match spec.preset.unwrap_or(self.semantics) {
                Semantics::Paper => CcPlan::Dcqcn(self.dcqcn(spec, DcqcnPlan::PAPER)?),
                Semantics::Artifact => {
                    let preset = ArtifactDcqcnPlan::ARTIFACT;
                    CcPlan::ArtifactDcqcn(self.artifact_dcqcn(spec, preset)?)
                }
            },
            CcSpec::Hpcc(spec) => CcPlan::Hpcc(self.hpcc(spec)?),
            CcSpec::Timely(spec) => CcPlan::Timely(self.timely(spec)?),
            CcSpec::Dctcp(spec) => CcPlan::Dctcp(self.dctcp(spec)?),
        })
    }

    fn dcqcn(&self, spec: &DcqcnSpec, preset: DcqcnPlan) -> Result<DcqcnPlan, PlanError> {
        let time = |key, said, preset| self.time("dcqcn", key, said, preset);
        let rate = |key, said, preset| self.rate("dcqcn", key, said, preset);
        Ok(DcqcnPlan {
            gain: spec.gain.unwrap_or(preset.gain),
            cnp_interval_ns: time("cnp_interval", spec.cnp_interval, preset.cnp_interval_ns)?,
            alpha_interval_ns: time(
                "alpha_interval",
                spec.alpha_interval,
                preset.alpha_interval_ns,
            )?,
            increase_interval_ns: time(
                "increase_interval",
                spec.increase_interval,
                preset.increase_interval_ns,
            )?,
            byte_counter_bytes: self.size(
                "dcqcn",
                "byte_counter",
                spec.byte_counter,
                preset.byte_counter_bytes,
            )?,
            fast_recovery: spec.fast_recovery.unwrap_or(preset.fast_recovery),
            additive_bps: rate("additive_rate", spec.additive_rate, preset.additive_bps)?,
            hyper_bps: rate("hyper_rate", spec.hyper_rate, preset.hyper_bps)?,
            min_bps: rate("min_rate", spec.min_rate, preset.min_bps)?,
        })
    }

    fn artifact_dcqcn(
        &self,
        spec: &DcqcnSpec,
        preset: ArtifactDcqcnPlan,
    ) -> Result<ArtifactDcqcnPlan, PlanError> {
        let time = |key, said, preset| self.time("dcqcn", key, said, preset);
        let rate = |key, said, preset| self.rate("dcqcn", key, said, preset);
        Ok(ArtifactDcqcnPlan {
            gain: spec.gain.unwrap_or(preset.gain),
            alpha_interval_ns: time(
                "alpha_interval",
                spec.alpha_interval,
                preset.alpha_interval_ns,
            )?,
            decrease_interval_ns: time(
                "decrease_interval",
                spec.decrease_interval,
                preset.decrease_interval_ns,
            )?,
            increase_interval_ns: time(
                "increase_interval",
                spec.increase_interval,
                preset.increase_interval_ns,
            )?,
            fast_recovery: spec.fast_recovery.unwrap_or(preset.fast_recovery),
            additive_bps: rate("additive_rate", spec.additive_rate, preset.additive_bps)?,
            hyper_bps: rate("hyper_rate", spec.hyper_rate, preset.hyper_bps)?,
            min_bps: rate("min_rate", spec.min_rate, preset.min_bps)?,
        })
    }

    fn hpcc(&self, spec: &HpccSpec) -> Result<HpccPlan, PlanError> {
        let rate = |key, said, preset| self.rate("hpcc", key, said, preset);
        let preset = match spec.preset.unwrap_or(self.semantics) {
            Semantics::Paper => HpccPlan {
                int_hops: longest_path(self.lab).max(HpccPlan::PAPER.int_hops),
                ..HpccPlan::PAPER
            },
            Semantics::Artifact => HpccPlan::ARTIFACT,
        };
        Ok(HpccPlan {
            utilisation: spec.utilisation.unwrap_or(preset.utilisation),
            max_stage: spec.max_stage.unwrap_or(preset.max_stage),
            additive_bps: rate("additive_rate", spec.additive_rate, preset.additive_bps)?,
            min_bps: rate("min_rate", spec.min_rate, preset.min_bps)?,
            int_hops: spec.int_hops.unwrap_or(preset.int_hops),
        })
    }

    fn timely(&self, spec: &TimelySpec) -> Result<TimelyPlan, PlanError> {
        let time = |key, said, preset| self.time("timely", key, said, preset);
        let rate = |key, said, preset| self.rate("timely", key, said, preset);
        let preset = match spec.preset.unwrap_or(self.semantics) {
            Semantics::Paper => TimelyPlan::PAPER,
            Semantics::Artifact => TimelyPlan::ARTIFACT,
        };
        Ok(TimelyPlan {
            step: match preset.step {
                TimelyStep::RoundTrip => TimelyStep::RoundTrip,
                TimelyStep::Segment(segment) => {
                    TimelyStep::Segment(self.size("timely", "segment", spec.segment, segment)?)
                }
            },
            difference_weight: spec.difference_weight.unwrap_or(preset.difference_weight),
            decrease: spec.decrease.unwrap_or(preset.decrease),
            t_low_ns: time("t_low", spec.t_low, preset.t_low_ns)?,
            t_high_ns: time("t_high", spec.t_high, preset.t_high_ns)?,
            min_rtt_ns: time("min_rtt", spec.min_rtt, preset.min_rtt_ns)?,
            additive_bps: rate("additive_rate", spec.additive_rate, preset.additive_bps)?,
            hyper_bps: rate("hyper_rate", spec.hyper_rate, preset.hyper_bps)?,
            hyper_after: spec.hyper_after.unwrap_or(preset.hyper_after),
            min_bps: rate("min_rate", spec.min_rate, preset.min_bps)?,
        })
    }

    fn dctcp(&self, spec: &DctcpSpec) -> Result<DctcpPlan, PlanError> {
        let preset = match spec.preset.unwrap_or(self.semantics) {
            Semantics::Paper => DctcpPlan::PAPER,
            Semantics::Artifact => DctcpPlan::ARTIFACT,
        };
        let additive = spec.additive_rate.or(preset.additive_bps);
        let additive = additive.map(|rate| self.rate("dctcp", "additive_rate", None, rate));
        Ok(DctcpPlan {
            gain: spec.gain.unwrap_or(preset.gain),
            additive_bps: additive.transpose()?,
            reacts_to_loss: preset.reacts_to_loss,
            min_bps: self.rate("dctcp", "min_rate", spec.min_rate, preset.min_bps)?,
        })
    }

    fn time(
        &self,
        cc: &str,
        key: &str,
        said: Option<Nanos>,
        preset: Nanos,
    ) -> Result<Nanos, PlanError> {
        let path = format!("transport.cc.{cc}.{key}");
        self.lab.scale.time(&path, said.unwrap_or(preset))
    }

    fn rate(
        &self,
        cc: &str,
        key: &str,
        said: Option<BitsPerSec>,
        preset: BitsPerSec,
    ) -> Result<BitsPerSec, PlanError> {
        let path = format!("transport.cc.{cc}.{key}");
        self.lab.scale.rate(&path, said.unwrap_or(preset))
    }

    fn size(
        &self,
        cc: &str,
        key: &str,
        said: Option<Bytes>,
        preset: Bytes,
    ) -> Result<Bytes, PlanError> {
        let path = format!("transport.cc.{cc}.{key}");
        self.lab.scale.size(&path, said.unwrap_or(preset))
    }
}

/// Switches on the path with the most of them between two hosts.
fn longest_path(lab: &Lab<'_>) -> u32 {
    let dcs = || (0..).map(DcId).zip(&lab.network.dcs);
    let heights: Vec<_> = dcs()
        .filter_map(|(id, dc)| Some((id, paths::climb(lab.network, *dc.hosts.first()?).len())))
        .collect();
    let pairs = heights
        .iter()
        .flat_map(|a| heights.iter().map(move |b| (a, b)));
    let switches = pairs.filter_map(|((from, up), (to, down))| {
        // As many switches as links, less one: both ends are hosts.
        let between = lab.paths.hops(*from, *to)?;
        let links = u32::try_from(up + down).unwrap_or(u32::MAX);
        Some(links.saturating_add(between).saturating_sub(1))
    });
    switches.max().unwrap_or(0)
}
