//! Transport, as written in a scenario.

use lab_parameters::{
    DcqcnConfig, DctcpConfig, HpccConfig, Parameter, Preset, TimelyConfig, TransportConfig,
};
use lab_units::Semantics;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    NoParameters, Parameters,
    parameters::default,
    with::{SetsParameters, keys, with_default},
};
use crate::yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words};

/// Transport of hosts and switches, with values at the paper's scale (before scaling for emulation). The kernel engine
/// supports `retransmit_timeout` and `cc: dcqcn`, and with DCQCN also `pfc` and `dci_buffer`; it warns about other
/// keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transport {
    /// Semantics of the simulated network, which also select the defaults. `paper`: routing and buffers as published,
    /// transport as in the kernel engine; `artifact`: the authors' NS-3 code.
    #[schemars(extend("default" = Semantics::default()))]
    pub semantics: Maybe<Text<Semantics>>,
    /// Congestion control of every QP: `none`, `dcqcn`, `hpcc`, `timely`, `dctcp`, or one of these
    /// as a key, with parameters. Default: `none` with semantics `paper`, `dcqcn` with `artifact`.
    pub cc: Maybe<At<WordOr<CcName, Cc>>>,
    /// Routing table in the format of the paper's artifact (`src_id,dst_id,next_hop_id`), which gives the order of
    /// equal-cost next hops; path relative to the scenario. Default: ordered by port.
    #[schemars(length(min = 1))]
    pub routes: Maybe<Text<String>>,
}

impl SetsParameters for Transport {
    type Set = TransportConfig;

    const OWN: [&'static [&'static str]; 2] = [&["semantics", "cc"], &["routes"]];

    keys!(Transport);

    fn describe(parameter: &Parameter) -> String {
        let default = |preset| default::<TransportConfig>(parameter, preset).unwrap_or_default();
        let paper = default(Preset::Paper);
        let artifact = default(Preset::Artifact);
        if paper == artifact {
            return with_default(parameter, Some(paper));
        }
        format!(
            "{} Default with semantics `paper`: {paper}; with `artifact`: {artifact}.",
            parameter.doc.trim()
        )
    }
}

/// Congestion control given by its name alone, with default parameters.
#[derive(Clone, Copy, Debug)]
pub enum CcName {
    None,
    Dcqcn,
    Hpcc,
    Timely,
    Dctcp,
}

words! {
    CcName: "`none`, `dcqcn`, `hpcc`, `timely`, `dctcp`, or one of these as a key, with parameters" {
        "none" => Self::None,
        "dcqcn" => Self::Dcqcn,
        "hpcc" => Self::Hpcc,
        "timely" => Self::Timely,
        "dctcp" => Self::Dctcp,
    }
}

/// Congestion control with parameters: a mapping whose single key selects the congestion control.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Cc {
    /// No congestion control: hosts send at line rate.
    pub none: Maybe<NoParameters>,
    /// DCQCN (SIGCOMM '15).
    pub dcqcn: Maybe<Parameters<DcqcnConfig>>,
    /// HPCC (SIGCOMM '19).
    pub hpcc: Maybe<Parameters<HpccConfig>>,
    /// TIMELY (SIGCOMM '15).
    pub timely: Maybe<Parameters<TimelyConfig>>,
    /// DCTCP (RFC 8257), in a rate-based version.
    pub dctcp: Maybe<Parameters<DctcpConfig>>,
}
