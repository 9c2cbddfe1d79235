//! Transport in the simulator, as written.

use lab_parameters::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig};
use lab_units::{Bytes, Nanos, Semantics};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use super::{NoParameters, Parameters};
use crate::{
    error::ProblemKind,
    limits,
    model::{TimeoutSpec, WindowSpec},
    suggest::did_you_mean,
    yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words},
};

/// Transport of hosts and switches, in paper units. The kernel engine honours `retransmit_timeout` and
/// `cc: dcqcn`, and with it `pfc` and `dci_buffer`; it warns of other keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transport {
    /// Rules of the simulated network, and source of the defaults: `paper`, as published;
    /// `artifact`, the authors' NS-3 code.
    #[schemars(extend("default" = Semantics::default()))]
    pub semantics: Maybe<Text<Semantics>>,
    /// Congestion control of every QP: `none`, `dcqcn`, `hpcc`, `timely`, `dctcp`, or one of these
    /// as a key, with parameters. Default: `none` with semantics `paper`, `dcqcn` with `artifact`.
    pub cc: Maybe<At<WordOr<CcName, Cc>>>,
    /// Payload of a full packet in bytes. Default: `generator.mtu` with semantics `paper`, 1000 with
    /// `artifact`.
    #[schemars(extend("minimum" = limits::MIN_PAYLOAD, "maximum" = limits::MAX_PAYLOAD))]
    pub payload: Maybe<Text<u32>>,
    /// Maximum number of unacknowledged bytes of a QP: `none`, for no limit; `bdp`, the maximum
    /// bandwidth-delay product, in proportion to the QP's rate; or a size. Default: `bdp`; beside
    /// the kernel, without congestion control or with DCQCN, SoftRoCE's 128 packets.
    pub window: Maybe<Text<WindowSpec>>,
    /// ACKs precede data, in the strict class.
    #[schemars(extend("default" = false))]
    pub ack_priority: Maybe<Text<bool>>,
    /// Switches pause their upstream neighbours instead of dropping; in the lab DCI switches their hosts,
    /// with `cc: dcqcn`. Default: `false` with semantics `paper`, `true` with `artifact`.
    pub pfc: Maybe<Text<bool>>,
    /// Time after which a receiver repeats its NACK for a packet that it still misses. Default: with
    /// semantics `paper` never, one NACK for each gap; 500 us with `artifact`.
    pub nack_interval: Maybe<Text<Nanos>>,
    /// Time without an acknowledgement after which a QP retransmits, or `none`. Default: twice the
    /// longest round trip with full queues with semantics `paper`, `none` with `artifact`. The kernel,
    /// and the simulator beside it, round the time up to 4.096 us times a power of two.
    pub retransmit_timeout: Maybe<Text<TimeoutSpec>>,
    /// Shared buffer of a leaf or spine switch with PFC. Default: 32 MB with semantics `paper`, 32 MiB with
    /// `artifact`.
    pub fabric_buffer: Maybe<Text<Bytes>>,
    /// Shared buffer of a DCI switch with PFC. Default: 6 GB with semantics `paper`, 128 MiB with `artifact`.
    pub dci_buffer: Maybe<Text<Bytes>>,
    /// Routing table in the format of the paper's artifact (`src_id,dst_id,next_hop_id`), for the
    /// order of equal next hops; path relative to the scenario. By port unless said otherwise.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub routes: Maybe<Text<String>>,
}

/// Congestion control with its default parameters.
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

/// A congestion control with parameters: one of its keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Cc {
    /// Constant line rate; no parameters.
    pub none: Maybe<NoParameters>,
    /// DCQCN (SIGCOMM '15).
    pub dcqcn: Maybe<Parameters<DcqcnConfig>>,
    /// HPCC (SIGCOMM '19).
    pub hpcc: Maybe<Parameters<HpccConfig>>,
    /// TIMELY (SIGCOMM '15).
    pub timely: Maybe<Parameters<TimelyConfig>>,
    /// DCTCP (RFC 8257), by rate.
    pub dctcp: Maybe<Parameters<DctcpConfig>>,
}

impl Scalar for WindowSpec {
    fn read(text: &str) -> Result<Self, ProblemKind> {
        match text {
            "none" => Ok(Self::None),
            "bdp" => Ok(Self::Bdp),
            _ => quantity(text, "`none`, `bdp` or a size", &["none", "bdp"]).map(Self::Bytes),
        }
    }

    fn schema() -> Schema {
        or_words(&["none", "bdp"], &Bytes::schema())
    }
}

impl Scalar for TimeoutSpec {
    fn read(text: &str) -> Result<Self, ProblemKind> {
        match text {
            "none" => Ok(Self::None),
            _ => quantity(text, "`none` or a time", &["none"]).map(Self::After),
        }
    }

    fn schema() -> Schema {
        or_words(&["none"], &Nanos::schema())
    }
}

/// Reads a quantity that one of `words` may replace.
fn quantity<T: Scalar>(
    text: &str,
    expected: &'static str,
    words: &'static [&'static str],
) -> Result<T, ProblemKind> {
    if text.starts_with(|first: char| first.is_alphabetic()) {
        return Err(ProblemKind::UnexpectedWord {
            found: text.to_owned(),
            expected,
            suggestion: did_you_mean(text, words.iter().copied()),
        });
    }
    T::read(text)
}

fn or_words(words: &[&str], quantity: &Schema) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string", "enum": words }, quantity] })
}
