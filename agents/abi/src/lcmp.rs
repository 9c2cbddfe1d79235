//! LCMP's parameters, with the two presets.

use lab_units::{BitsPerSec, Nanos};

/// Number of classes of every level table.
///
/// The level scores, capacity classes and queue levels are all tenths; the paper's example.
pub const LEVELS: usize = 10;

/// The largest right shift a fused score may be given; more would always give 0.
pub const MAX_SCORE_SHIFT: u8 = 16;

/// The largest right shift of the trend and of the duration counter; both are 32 bits wide.
pub const MAX_STATE_SHIFT: u8 = 31;

/// The largest `max_delay_shift`: 2^40 µs are twelve days, and delay · 255 still fits 64 bits.
pub const MAX_DELAY_SHIFT: u8 = 40;

/// Rows a flow table may have: the paper's deployment, 1.2 MB of 24-byte entries.
pub const MAX_FLOW_TABLE_ENTRIES: u32 = 50_000;

/// Which description of LCMP the arithmetic follows where the two differ.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Preset {
    /// What the paper says, without wrap-arounds.
    Paper,
    /// What the authors' NS-3 code does, wrap-arounds included.
    Artifact,
}

/// The parameters of LCMP.
///
/// `max_delay_shift` and `max_capacity_bps` are paper units, for path costs are computed from the
/// paper's paths. The three times are on the clock of whoever runs it: the presets give them in
/// paper time, the plan of a scaled lab holds them in emulated time.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct LcmpConfig {
    /// Whose arithmetic.
    pub preset: Preset,
    /// α: weight of the path cost in the total cost.
    pub alpha: u8,
    /// β: weight of the congestion cost in the total cost.
    pub beta: u8,
    /// Weight of the delay score in the path cost.
    pub w_dl: u8,
    /// Weight of the capacity score in the path cost.
    pub w_lc: u8,
    /// Right shift of the path cost.
    pub s_path: u8,
    /// Weight of the queue level in the congestion cost.
    pub w_ql: u8,
    /// Weight of the trend level in the congestion cost.
    pub w_tl: u8,
    /// Weight of the duration level in the congestion cost.
    pub w_dp: u8,
    /// Right shift of the congestion cost.
    pub s_cong: u8,
    /// Logarithm to base two of the delay that scores 255: in µs (`paper`) or ms (`artifact`).
    pub max_delay_shift: u8,
    /// The capacity whose tenths are the capacity classes.
    pub max_capacity_bps: BitsPerSec,
    /// K: the trend forgets 2^-K of itself per sample.
    pub trend_shift: u8,
    /// Right shift from the duration counter to its level.
    pub duration_shift: u8,
    /// The queue level from which the duration counter rises.
    pub high_water: u8,
    /// The queue level up to which the duration counter falls.
    pub low_water: u8,
    /// `paper`: with every candidate's congestion cost at or above this, the cheapest one is taken.
    pub congested_threshold: u8,
    /// `artifact`: candidates of this total cost or more are dropped from those kept.
    pub drop_threshold: u8,
    /// Time between two samples of a port's queue.
    pub sample_interval_ns: Nanos,
    /// Time between two searches for idle flows.
    pub gc_interval_ns: Nanos,
    /// An entry not seen for this long is forgotten.
    pub idle_timeout_ns: Nanos,
    /// Rows of the flow table.
    pub flow_table_entries: u32,
}

/// Why a set of parameters cannot be computed with.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LcmpConfigError {
    /// A value outside its range.
    #[error("`{field}` is {value}, it must be {least} to {most}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// What it holds.
        value: u64,
        /// The smallest value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The duration counter would rise and fall at once.
    #[error("`low_water` is {low}, it must be below `high_water`, which is {high}")]
    WaterMarks {
        /// `low_water`.
        low: u8,
        /// `high_water`.
        high: u8,
    },
}

impl LcmpConfig {
    /// The paper's values; `max_capacity` is the largest rate of the plan's inter-DC links.
    ///
    /// `idle_timeout_ns` has no number in the paper; five times the largest base RTT of the plan is
    /// meant, and the 5 s given here are that for the 8-DC testbed's longest path.
    #[must_use]
    pub const fn paper(max_capacity: BitsPerSec) -> Self {
        Self {
            preset: Preset::Paper,
            alpha: 3,
            beta: 1,
            w_dl: 3,
            w_lc: 1,
            s_path: 2,
            w_ql: 2,
            w_tl: 1,
            w_dp: 1,
            s_cong: 2,
            max_delay_shift: 15,
            max_capacity_bps: max_capacity,
            trend_shift: 3,
            duration_shift: 2,
            high_water: 204,
            low_water: 102,
            congested_threshold: 204,
            drop_threshold: 204,
            sample_interval_ns: Nanos::from_millis(1),
            gc_interval_ns: Nanos::from_millis(1_000),
            idle_timeout_ns: Nanos::from_millis(5_000),
            flow_table_entries: MAX_FLOW_TABLE_ENTRIES,
        }
    }

    /// The values of the authors' code.
    #[must_use]
    pub const fn artifact() -> Self {
        Self {
            preset: Preset::Artifact,
            max_delay_shift: 5,
            idle_timeout_ns: Nanos::from_millis(2_000),
            ..Self::paper(ARTIFACT_MAX_CAPACITY)
        }
    }

    /// Refuses what the arithmetic is not defined for.
    ///
    /// # Errors
    ///
    /// The first field outside its range.
    pub fn validate(&self) -> Result<(), LcmpConfigError> {
        let shifts = [
            ("s_path", self.s_path, MAX_SCORE_SHIFT),
            ("s_cong", self.s_cong, MAX_SCORE_SHIFT),
            ("max_delay_shift", self.max_delay_shift, MAX_DELAY_SHIFT),
            ("trend_shift", self.trend_shift, MAX_STATE_SHIFT),
            ("duration_shift", self.duration_shift, MAX_STATE_SHIFT),
        ];
        for (field, value, most) in shifts {
            within(field, u64::from(value), 0, u64::from(most))?;
        }
        let entries = u64::from(self.flow_table_entries);
        within(
            "flow_table_entries",
            entries,
            1,
            u64::from(MAX_FLOW_TABLE_ENTRIES),
        )?;
        for (field, time) in [
            ("sample_interval_ns", self.sample_interval_ns),
            ("gc_interval_ns", self.gc_interval_ns),
            ("idle_timeout_ns", self.idle_timeout_ns),
        ] {
            within(field, time.get(), 1, u64::MAX)?;
        }
        if self.low_water >= self.high_water {
            return Err(LcmpConfigError::WaterMarks {
                low: self.low_water,
                high: self.high_water,
            });
        }
        Ok(())
    }
}

fn within(field: &'static str, value: u64, least: u64, most: u64) -> Result<(), LcmpConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(LcmpConfigError::OutOfRange {
        field,
        value,
        least,
        most,
    })
}

/// `MAX_BW` of the authors' code: 400 Gb/s.
const ARTIFACT_MAX_CAPACITY: BitsPerSec = match BitsPerSec::new(400_000_000_000) {
    Some(rate) => rate,
    None => panic!("not zero"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_presets_are_valid() {
        assert_eq!(LcmpConfig::artifact().validate(), Ok(()));
        assert_eq!(LcmpConfig::paper(ARTIFACT_MAX_CAPACITY).validate(), Ok(()));
    }

    #[test]
    fn a_shift_past_its_range_is_named_with_its_bound() {
        let config = LcmpConfig {
            s_cong: 17,
            ..LcmpConfig::artifact()
        };
        assert_eq!(
            config.validate(),
            Err(LcmpConfigError::OutOfRange {
                field: "s_cong",
                value: 17,
                least: 0,
                most: 16
            })
        );
    }

    #[test]
    fn water_marks_must_not_meet() {
        let config = LcmpConfig {
            low_water: 204,
            ..LcmpConfig::artifact()
        };
        assert!(matches!(
            config.validate(),
            Err(LcmpConfigError::WaterMarks { .. })
        ));
    }
}
