//! Congestion controls and their parameters, and what their sources say they are.
//!
//! Sources: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM '15 (DCQCN)
//! and their NS-3 code; Mittal et al., "TIMELY", SIGCOMM '15; Zhu et al., "ECN or Delay",
//! CoNEXT '16; Li et al., "HPCC", SIGCOMM '19; RFC 8257 (DCTCP); and the artifact's
//! configuration with the defaults of its `RdmaHw`.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use serde::{Deserialize, Serialize};

/// A congestion control and its parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcPlan {
    /// Line rate, always.
    None,
    /// DCQCN with CNPs.
    Dcqcn(DcqcnPlan),
    /// The artifact's DCQCN: marks come back in ACKs, rates are cut at ticks, no byte counter.
    ArtifactDcqcn(ArtifactDcqcnPlan),
    /// HPCC.
    Hpcc(HpccPlan),
    /// TIMELY.
    Timely(TimelyPlan),
    /// DCTCP, by rate.
    Dctcp(DctcpPlan),
}

impl CcPlan {
    /// Its name, as in a scenario.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dcqcn(_) | Self::ArtifactDcqcn(_) => "dcqcn",
            Self::Hpcc(_) => "hpcc",
            Self::Timely(_) => "timely",
            Self::Dctcp(_) => "dctcp",
        }
    }

    /// Whether it does nothing unless switches mark packets.
    #[must_use]
    pub const fn needs_marks(&self) -> bool {
        match self {
            Self::Dcqcn(_) | Self::ArtifactDcqcn(_) | Self::Dctcp(_) => true,
            Self::None | Self::Hpcc(_) | Self::Timely(_) => false,
        }
    }
}

/// DCQCN's parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DcqcnPlan {
    /// Weight of a new mark in α (g).
    pub gain: Ratio,
    /// The shortest time between two CNPs of one QP (N).
    pub cnp_interval_ns: Nanos,
    /// α decays once in this time without a CNP (K).
    pub alpha_interval_ns: Nanos,
    /// The rate is raised once in this time (T).
    pub increase_interval_ns: Nanos,
    /// The rate is raised once in this many bytes sent (B).
    pub byte_counter_bytes: Bytes,
    /// Raises by halving the gap to the target, before the target itself is raised (F).
    pub fast_recovery: u32,
    /// Raise of the target after fast recovery (R_AI).
    pub additive_bps: BitsPerSec,
    /// Raise of the target once both timer and byte counter are past fast recovery, times how far
    /// they are (R_HAI).
    pub hyper_bps: BitsPerSec,
    /// Least rate.
    pub min_bps: BitsPerSec,
}

/// The artifact's DCQCN's parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ArtifactDcqcnPlan {
    /// Weight of a new mark in α (g).
    pub gain: Ratio,
    /// α is updated once in this time.
    pub alpha_interval_ns: Nanos,
    /// The rate is cut at most once in this time, on a grid that starts at the first mark.
    pub decrease_interval_ns: Nanos,
    /// The rate is raised once in this time since the last cut.
    pub increase_interval_ns: Nanos,
    /// Raises by halving the gap to the target, before the target itself is raised.
    pub fast_recovery: u32,
    /// First raise of the target after fast recovery.
    pub additive_bps: BitsPerSec,
    /// Every further one.
    pub hyper_bps: BitsPerSec,
    /// Least rate.
    pub min_bps: BitsPerSec,
}

/// HPCC's parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct HpccPlan {
    /// Share of a link's rate that is aimed at (η).
    pub utilisation: Ratio,
    /// Additive raises before a multiplicative one (maxStage); with none, all are multiplicative.
    pub max_stage: u32,
    /// Additive raise: the window's W_AI in a round trip.
    pub additive_bps: BitsPerSec,
    /// Least rate.
    pub min_bps: BitsPerSec,
    /// Hops that packets have room for.
    pub int_hops: u32,
}

/// When TIMELY steps.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyStep {
    /// After this many bytes were acknowledged.
    Segment(Bytes),
    /// Once a round trip.
    RoundTrip,
}

/// TIMELY's parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TimelyPlan {
    /// When it steps.
    pub step: TimelyStep,
    /// Weight of a new difference of round trips (α).
    pub difference_weight: Ratio,
    /// How far a rate is cut (β).
    pub decrease: Ratio,
    /// Round trips below always raise the rate.
    pub t_low_ns: Nanos,
    /// Round trips above always cut it.
    pub t_high_ns: Nanos,
    /// Unit of the gradient: a round trip of an empty network.
    pub min_rtt_ns: Nanos,
    /// Raise (δ).
    pub additive_bps: BitsPerSec,
    /// Raise after `hyper_after` raises in a row.
    pub hyper_bps: BitsPerSec,
    /// Raises before the larger ones.
    pub hyper_after: u32,
    /// Least rate.
    pub min_bps: BitsPerSec,
}

/// DCTCP's parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DctcpPlan {
    /// Weight of a new share of marks in α (g).
    pub gain: Ratio,
    /// Raise of the rate in each round trip without marks; one packet more in a round trip if
    /// absent.
    pub additive_bps: Option<BitsPerSec>,
    /// A missing packet halves the rate, a time-out makes it the least.
    pub reacts_to_loss: bool,
    /// Least rate.
    pub min_bps: BitsPerSec,
}

impl DcqcnPlan {
    /// As published. `N`, `K`, `T`, `B`, `F` and `R_AI` are of sections 3 and 5; `R_HAI`, five
    /// times `R_AI`, and the least rate are of the authors' NS-3 code.
    pub const PAPER: Self = Self {
        gain: ratio(1, 256),
        cnp_interval_ns: micros(50),
        alpha_interval_ns: micros(55),
        increase_interval_ns: micros(55),
        byte_counter_bytes: Bytes::new(10_000_000),
        fast_recovery: 5,
        additive_bps: megabits(40),
        hyper_bps: megabits(200),
        min_bps: megabits(100),
    };
}

impl ArtifactDcqcnPlan {
    /// `EWMA_GAIN`, `RATE_DECREASE_INTERVAL`, `RP_TIMER`, `FAST_RECOVERY_TIMES`, `RATE_AI`,
    /// `RATE_HAI` and `MIN_RATE` of the configuration. It has no `ALPHA_RESUME_INTERVAL`, so that
    /// `RdmaHw`'s default counts.
    pub const ARTIFACT: Self = Self {
        gain: ratio(1, 256),
        alpha_interval_ns: micros(55),
        decrease_interval_ns: micros(4),
        increase_interval_ns: micros(900),
        fast_recovery: 1,
        additive_bps: megabits(50),
        hyper_bps: megabits(100),
        min_bps: megabits(100),
    };
}

impl HpccPlan {
    /// As published: η and maxStage of section 5.1. `W_AI` is `W_init · (1 − η) / N`, by section
    /// 3.3, which in a round trip is 50 Mbit/s for a NIC of 100 Gbit/s and `N` = 100 flows.
    pub const PAPER: Self = Self {
        utilisation: ratio(95, 100),
        max_stage: 5,
        additive_bps: megabits(50),
        min_bps: megabits(100),
        int_hops: 5,
    };

    /// `U_TARGET`, `MI_THRESH`, `RATE_AI` and `MIN_RATE` of the configuration, and the artifact's
    /// `IntHeader::maxHop`.
    pub const ARTIFACT: Self = Self {
        max_stage: 0,
        int_hops: 64,
        ..Self::PAPER
    };
}

impl TimelyPlan {
    /// As published: β, `T_low`, `T_high`, δ, and 5 raises before raises of 5 δ, of section 4.3;
    /// α and the least round trip as in "ECN or Delay", table 2, segments the shortest there.
    pub const PAPER: Self = Self {
        step: TimelyStep::Segment(Bytes::new(16_000)),
        additive_bps: megabits(10),
        hyper_bps: megabits(50),
        ..Self::ARTIFACT
    };

    /// `RATE_AI`, `RATE_HAI` and `MIN_RATE` of the configuration, and `RdmaHw`'s defaults.
    pub const ARTIFACT: Self = Self {
        step: TimelyStep::RoundTrip,
        difference_weight: ratio(875, 1_000),
        decrease: ratio(8, 10),
        t_low_ns: micros(50),
        t_high_ns: micros(500),
        min_rtt_ns: micros(20),
        additive_bps: megabits(50),
        hyper_bps: megabits(100),
        hyper_after: 5,
        min_bps: megabits(100),
    };
}

impl DctcpPlan {
    /// RFC 8257: g by section 4.2, one packet more in a round trip and the same reaction to loss as
    /// TCP's by sections 3.3 and 3.5. The least rate is the artifact's.
    pub const PAPER: Self = Self {
        gain: ratio(1, 16),
        additive_bps: None,
        reacts_to_loss: true,
        min_bps: megabits(100),
    };

    /// `EWMA_GAIN`, `DCTCP_RATE_AI` and `MIN_RATE` of the configuration.
    pub const ARTIFACT: Self = Self {
        gain: ratio(1, 256),
        additive_bps: Some(megabits(1_000)),
        reacts_to_loss: false,
        min_bps: megabits(100),
    };
}

const fn megabits(rate: u64) -> BitsPerSec {
    BitsPerSec::new(rate * 1_000_000).expect("a raise or a least rate")
}

const fn micros(time: u64) -> Nanos {
    Nanos::new(time * 1_000)
}

const fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio::new(numerator, denominator).expect("not over zero")
}
