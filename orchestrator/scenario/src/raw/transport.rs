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

/// What hosts and switches do in the simulator beyond what the kernel engine's do, which honours
/// `retransmit_timeout` alone. Times, rates and sizes are paper units.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Whose semantics: `paper`, what the paper says; `artifact`, what its authors' NS-3 code
    /// does. Defaults depend on it.
    #[serde(default)]
    #[schemars(extend("default" = Semantics::default()))]
    pub semantics: Maybe<Text<Semantics>>,
    /// Congestion control of every QP: `none`, `dcqcn`, `hpcc`, `timely`, `dctcp`, or one of these
    /// as a key, with parameters. With semantics `paper`, `none` unless said otherwise; with
    /// `artifact`, `dcqcn`.
    #[serde(default)]
    pub cc: Maybe<At<WordOr<CcName, Cc>>>,
    /// Payload of a full packet in bytes. With semantics `paper`, `generator.mtu` unless said
    /// otherwise; with `artifact`, 1000.
    #[serde(default)]
    #[schemars(extend("minimum" = limits::MIN_PAYLOAD, "maximum" = limits::MAX_PAYLOAD))]
    pub payload: Maybe<Text<u32>>,
    /// Bytes a QP may have unacknowledged: `none`, for no limit; `bdp`, the largest
    /// bandwidth-delay product, in proportion to the QP's rate; or a size. `bdp` unless said
    /// otherwise but, beside the kernel and without congestion control, SoftRoCE's 128 packets.
    #[serde(default)]
    pub window: Maybe<Text<WindowSpec>>,
    /// ACKs go before data, in the strict class.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub ack_priority: Maybe<Text<bool>>,
    /// Switches pause their upstream neighbours instead of dropping. With semantics `paper`, off
    /// unless said otherwise; with `artifact`, on.
    #[serde(default)]
    pub pfc: Maybe<Text<bool>>,
    /// The shortest time between two NACKs of one QP that miss the same packet; 500 us unless said
    /// otherwise.
    #[serde(default)]
    pub nack_interval: Maybe<Text<Nanos>>,
    /// When a QP with nothing coming back sends again: a time, or `none`. With semantics `paper`, twice
    /// the longest round trip with full queues unless said otherwise; with `artifact`, `none`. In the
    /// kernel, and in the simulator beside it, it is rounded up to 4.096 us times a power of two.
    #[serde(default)]
    pub retransmit_timeout: Maybe<Text<TimeoutSpec>>,
    /// Buffer that the ports of a leaf or spine share. With semantics `paper`, 32 MB unless said
    /// otherwise; with `artifact`, 32 MiB.
    #[serde(default)]
    pub fabric_buffer: Maybe<Text<Bytes>>,
    /// Buffer that the ports of a DCI switch share. With semantics `paper`, 6 GB unless said
    /// otherwise; with `artifact`, 128 MiB.
    #[serde(default)]
    pub dci_buffer: Maybe<Text<Bytes>>,
}

/// A congestion control as it is, without parameters.
#[derive(Clone, Copy, Debug)]
pub enum CcName {
    /// Line rate, always.
    None,
    /// DCQCN.
    Dcqcn,
    /// HPCC.
    Hpcc,
    /// TIMELY.
    Timely,
    /// DCTCP.
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
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Cc {
    /// Line rate, always; it has no parameters.
    #[serde(default)]
    pub none: Maybe<NoParameters>,
    /// DCQCN (SIGCOMM '15).
    #[serde(default)]
    pub dcqcn: Maybe<Parameters<DcqcnConfig>>,
    /// HPCC (SIGCOMM '19).
    #[serde(default)]
    pub hpcc: Maybe<Parameters<HpccConfig>>,
    /// TIMELY (SIGCOMM '15).
    #[serde(default)]
    pub timely: Maybe<Parameters<TimelyConfig>>,
    /// DCTCP (RFC 8257), by rate.
    #[serde(default)]
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

/// A quantity where words may stand, too.
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
