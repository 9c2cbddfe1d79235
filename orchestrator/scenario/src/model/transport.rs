//! What a scenario says of transport in the simulator.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio, Semantics};
use serde::{Deserialize, Serialize};

/// Hosts' transport and switches' buffers in the simulator; what is `None` is as the semantics has
/// it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct TransportSpec {
    /// Whose semantics.
    pub semantics: Semantics,
    /// Congestion control of every QP.
    pub cc: Option<CcSpec>,
    /// Payload of a full packet in bytes.
    pub payload: Option<u32>,
    /// Bytes a QP may have unacknowledged.
    pub window: Option<WindowSpec>,
    /// ACKs go before data.
    pub ack_priority: Option<bool>,
    /// Switches pause their upstream neighbours instead of dropping.
    pub pfc: Option<bool>,
    /// The shortest time between two NACKs of one QP that miss the same packet.
    pub nack_interval: Option<Nanos>,
    /// When a QP with nothing coming back sends again.
    pub retransmit_timeout: Option<TimeoutSpec>,
    /// Buffer that the ports of a leaf or spine share.
    pub fabric_buffer: Option<Bytes>,
    /// Buffer that the ports of a DCI switch share.
    pub dci_buffer: Option<Bytes>,
}

/// How many bytes a QP may have unacknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSpec {
    /// No limit.
    None,
    /// The largest bandwidth-delay product, in proportion to the QP's rate.
    Bdp,
    /// This many.
    Bytes(Bytes),
}

/// When a QP with nothing coming back sends again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutSpec {
    /// Never.
    None,
    /// After this time.
    After(Nanos),
}

/// A congestion control, with the parameters it departs from its preset in.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcSpec {
    /// Line rate, always.
    None,
    /// DCQCN.
    Dcqcn(DcqcnSpec),
    /// HPCC.
    Hpcc(HpccSpec),
    /// TIMELY.
    Timely(TimelySpec),
    /// DCTCP.
    Dctcp(DctcpSpec),
}

/// DCQCN's parameters; what is `None` keeps the preset's value.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct DcqcnSpec {
    /// The algorithm and where unset parameters come from; the semantics if `None`.
    pub preset: Option<Semantics>,
    /// Weight of a new mark in α.
    pub gain: Option<Ratio>,
    /// The shortest time between two CNPs of one QP (preset `paper`).
    pub cnp_interval: Option<Nanos>,
    /// How often α is updated.
    pub alpha_interval: Option<Nanos>,
    /// How often the rate may be cut (preset `artifact`).
    pub decrease_interval: Option<Nanos>,
    /// How often the rate is raised.
    pub increase_interval: Option<Nanos>,
    /// Bytes sent after which the rate is raised (preset `paper`).
    pub byte_counter: Option<Bytes>,
    /// Raises by halving the gap to the target.
    pub fast_recovery: Option<u32>,
    /// Raise of the target after fast recovery.
    pub additive_rate: Option<BitsPerSec>,
    /// Raise of the target after that.
    pub hyper_rate: Option<BitsPerSec>,
    /// Least rate.
    pub min_rate: Option<BitsPerSec>,
}

/// HPCC's parameters; what is `None` keeps the preset's value.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct HpccSpec {
    /// Where unset parameters come from; the semantics if `None`.
    pub preset: Option<Semantics>,
    /// Share of a link's rate that is aimed at.
    pub utilisation: Option<Ratio>,
    /// Additive raises before a multiplicative one.
    pub max_stage: Option<u32>,
    /// Additive raise.
    pub additive_rate: Option<BitsPerSec>,
    /// Least rate.
    pub min_rate: Option<BitsPerSec>,
    /// Hops that packets have room for.
    pub int_hops: Option<u32>,
}

/// TIMELY's parameters; what is `None` keeps the preset's value.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct TimelySpec {
    /// Where unset parameters come from; the semantics if `None`.
    pub preset: Option<Semantics>,
    /// Bytes acknowledged between steps (preset `paper`; the other steps once a round trip).
    pub segment: Option<Bytes>,
    /// Weight of a new difference of round trips.
    pub difference_weight: Option<Ratio>,
    /// How far a rate is cut.
    pub decrease: Option<Ratio>,
    /// Round trips below always raise the rate.
    pub t_low: Option<Nanos>,
    /// Round trips above always cut it.
    pub t_high: Option<Nanos>,
    /// Unit of the gradient.
    pub min_rtt: Option<Nanos>,
    /// Raise.
    pub additive_rate: Option<BitsPerSec>,
    /// Raise after `hyper_after` raises in a row.
    pub hyper_rate: Option<BitsPerSec>,
    /// Raises before the larger ones.
    pub hyper_after: Option<u32>,
    /// Least rate.
    pub min_rate: Option<BitsPerSec>,
}

/// DCTCP's parameters; what is `None` keeps the preset's value.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct DctcpSpec {
    /// Where unset parameters come from; the semantics if `None`.
    pub preset: Option<Semantics>,
    /// Weight of a new share of marks in α.
    pub gain: Option<Ratio>,
    /// Raise of the rate in a round trip without marks.
    pub additive_rate: Option<BitsPerSec>,
    /// Least rate.
    pub min_rate: Option<BitsPerSec>,
}
