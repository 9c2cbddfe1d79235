//! LCMP's parameters.

use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::{
    limits::{megabits, micros, millis},
    set::{ParameterError, ParameterSet, Preset, parameters, published},
    value::{Domain, Field, INTERVALS, Value, numbers},
};

/// Number of classes into which capacities and queue lengths are divided.
///
/// Level scores, capacity classes and queue levels are all tenths, as in the paper's example.
pub const LEVELS: usize = 10;

/// Maximum exponent of `max_delay`: 2^40 µs are twelve days, and delay · 255 still fits in 64 bits.
pub const MAX_DELAY_SHIFT: u8 = 40;

/// Maximum number of rows in a flow table, as in the paper's deployment: 1.2 MB of 24-byte entries.
pub const MAX_FLOW_TABLE_ENTRIES: u32 = 50_000;

/// Additional rows in a switch's flow map, beyond the capacity of the flow table, for flows that arrive before the next
/// eviction of the least recently seen flows. The largest map has 2^16 rows.
pub const FLOW_TABLE_HEADROOM: u32 = (1 << 16) - MAX_FLOW_TABLE_ENTRIES;

/// Permitted right shifts of a weighted sum of scores. The largest sum, of three scores, is 3 · 255 · 255, which has 18
/// bits.
const SCORE_SHIFTS: Domain = numbers(0, 16);

/// Permitted right shifts of the 32-bit queue trend and the 32-bit duration counter.
const STATE_SHIFTS: Domain = numbers(0, 31);

/// Published values of `max_delay`, 32 and 64 ms: as the nearest powers of two in µs (preset `paper`) and in ms
/// (`artifact`).
const PUBLISHED_MAX_DELAYS: [Value; 4] = [
    Value::Time(micros(1 << 15)),
    Value::Time(micros(1 << 16)),
    Value::Time(millis(1 << 5)),
    Value::Time(millis(1 << 6)),
];

parameters! {
    /// LCMP's parameters.
    ///
    /// `max_delay_ns` and `max_capacity_bps` are always at the paper's scale, because path costs are computed from the
    /// paper's paths. Intervals are at the paper's scale in a preset, and after scaling in a plan.
    pub struct LcmpConfig(label) by preset = "LCMP" {
        /// Weight of the path cost C_path in the total cost (α, Eq. 1).
        alpha: u8 = 3 => {
            is_tunable: true,
            published: published("3, and 0 in rm-alpha", "section 5, section 7.1", &[Value::Number(3), Value::Number(0)]),
        };
        /// Weight of the congestion cost C_cong in the total cost (β, Eq. 1).
        beta: u8 = 1 => {
            is_tunable: true,
            published: published("1, and 0 in rm-beta", "section 5, section 7.1", &[Value::Number(1), Value::Number(0)]),
        };
        /// Weight of the delay score in the path cost (Eq. 2).
        w_dl: u8 = 3 => {
            is_tunable: true,
            published: published("3", "section 7.3", &[Value::Number(3)]),
        };
        /// Weight of the capacity score in the path cost (Eq. 2).
        w_lc: u8 = 1 => {
            is_tunable: true,
            published: published("1", "section 7.3", &[Value::Number(1)]),
        };
        /// Right shift of the path cost (Eq. 2): the weighted sum is divided by 2^`s_path`.
        s_path: u8 = 2 => { is_tunable: true, domain: SCORE_SHIFTS };
        /// Weight of the queue level in the congestion cost (Eq. 5).
        w_ql: u8 = 2 => {
            is_tunable: true,
            published: published("2", "section 7.4", &[Value::Number(2)]),
        };
        /// Weight of the trend level in the congestion cost (Eq. 5).
        w_tl: u8 = 1 => {
            is_tunable: true,
            published: published("1", "section 7.4", &[Value::Number(1)]),
        };
        /// Weight of the duration level in the congestion cost (Eq. 5).
        w_dp: u8 = 1 => {
            is_tunable: true,
            published: published("1", "section 7.4", &[Value::Number(1)]),
        };
        /// Right shift of the congestion cost (Eq. 5): the weighted sum is divided by 2^`s_cong`.
        s_cong: u8 = 2 => { is_tunable: true, domain: SCORE_SHIFTS };
        /// Delay at and above which the delay score is 255: a power of two, in microseconds with the preset `paper`, in
        /// milliseconds with `artifact`. Candidates with longer delays have equal delay scores.
        max_delay_ns: Nanos = micros(1 << 15), millis(1 << 5) => {
            domain: INTERVALS,
            is_scaled: false,
            published: published("32 or 64 ms", "section 3.2", &PUBLISHED_MAX_DELAYS),
        };
        /// Capacity whose tenths are the capacity classes; a path of this capacity has the best capacity score. The
        /// artifact calls it `MAX_BW`.
        max_capacity_bps: BitsPerSec = megabits(400_000) => {
            derived: Some("the maximum rate of an inter-DC link"),
            is_scaled: false,
        };
        /// Shift K of the queue trend, a moving average: each sample adds growth · 2^-K and decays the old trend by
        /// 2^-K.
        trend_shift: u8 = 3 => {
            is_tunable: true,
            domain: STATE_SHIFTS,
            published: published("3", "section 3.1.2", &[Value::Number(3)]),
        };
        /// Right shift from the duration counter to the duration level: the level is the counter divided by
        /// 2^`duration_shift`, at most 255.
        duration_shift: u8 = 2 => { is_tunable: true, domain: STATE_SHIFTS };
        /// Queue level at or above which a sample raises the duration counter, ⌈0.8 · 255⌉ by default; must be above
        /// `low_water`.
        high_water: u8 = 204 => { is_tunable: true, domain: numbers(1, 255) };
        /// Queue level at or below which a sample lowers the duration counter, ⌊0.4 · 255⌋ by default; must be below
        /// `high_water`.
        low_water: u8 = 102 => { is_tunable: true, domain: numbers(0, 254) };
        /// Buffer size whose tenths are the queue levels.
        #[serde(default)]
        level_buffer_bytes: Option<Bytes> = None => {
            only: Some(Preset::Paper),
            derived: Some("the buffer of the egress port"),
            published: published("the port's egress buffer", "section 3.1.2", &[]),
        };
        /// Time between two samples of an egress queue.
        sample_interval_ns: Nanos = millis(1) => { domain: INTERVALS };
        /// Time between two runs of flow-cache garbage collection.
        gc_interval_ns: Nanos = millis(1_000) => { domain: INTERVALS };
        /// Time without a packet after which an entry of the flow table is idle and is removed.
        idle_timeout_ns: Nanos = millis(5_000), millis(2_000) => {
            domain: INTERVALS,
            derived: Some("five times the longest base RTT, at least 1 s of emulated time"),
        };
        /// Capacity of the flow table. At each sample of the queues, the least recently seen flows beyond this number
        /// are evicted; the switch routes the next packet of an evicted flow as if it were the flow's first.
        flow_table_entries: u32 = MAX_FLOW_TABLE_ENTRIES => {
            domain: numbers(1, MAX_FLOW_TABLE_ENTRIES as u64),
            published: published(
                "50,000",
                "section 4",
                &[Value::Number(MAX_FLOW_TABLE_ENTRIES as u64)],
            ),
        };
        /// Rule for how many of m live candidates remain for the flow hash, cheapest first. `half`: ⌈m/2⌉ candidates,
        /// and all that cost as much as the last one. `half-strict`: ⌈m/2⌉. `floor`: ⌊m/2⌋, at least one.
        /// `floor-or-all`: ⌊m/2⌋, or all if that is less than two, as in the authors' code.
        #[serde(default)]
        keep: Keep = Keep::Half => { only: Some(Preset::Paper) };
        /// Congestion cost at and above which a candidate counts as highly congested. If all candidates are highly
        /// congested, the cheapest one is chosen, without hashing.
        congested_threshold: u8 = 204 => { is_tunable: true, only: Some(Preset::Paper) };
        /// Total cost at and above which a candidate is excluded from the choice.
        drop_threshold: u8 = 204 => { is_tunable: true, only: Some(Preset::Artifact) };
    }
    conflicts [water_marks, max_delay, weights]
}

/// Rule for how many of the live candidates, cheapest first, remain for the flow hash.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Keep {
    /// ⌈m/2⌉ of m candidates, and all that cost as much as the last one.
    #[default]
    Half,
    /// ⌈m/2⌉ of m candidates.
    HalfStrict,
    /// ⌊m/2⌋ of m candidates, at least one.
    Floor,
    /// ⌊m/2⌋ of m candidates, or all if that is less than two.
    FloorOrAll,
}

impl Keep {
    /// All rules; a rule's index is its number in the switch program.
    pub const ALL: [Self; 4] = [Self::Half, Self::HalfStrict, Self::Floor, Self::FloorOrAll];

    /// Names of the rules in scenarios, in the order of [`Self::ALL`].
    const WORDS: &'static [&'static str] = &["half", "half-strict", "floor", "floor-or-all"];

    /// Returns the number of candidates kept out of `alive`, without candidates that are kept only because they tie.
    #[must_use]
    pub const fn of(self, alive: usize) -> usize {
        match (self, alive / 2) {
            (Self::Half | Self::HalfStrict, _) => alive.div_ceil(2),
            (Self::FloorOrAll, 0 | 1) => alive,
            (Self::Floor, 0) => 1,
            (Self::Floor | Self::FloorOrAll, half) => half,
        }
    }

    /// Returns true if the rule also keeps candidates that cost as much as the last kept one.
    #[must_use]
    pub const fn keeps_ties(self) -> bool {
        matches!(self, Self::Half)
    }
}

impl Field for Keep {
    const DOMAIN: Domain = Domain::Words(Self::WORDS);

    fn value(self) -> Option<Value> {
        let at = Self::ALL.iter().position(|&rule| rule == self)?;
        Some(Value::Word(Self::WORDS[at]))
    }

    fn from_value(value: Value) -> Option<Self> {
        let at = Self::WORDS
            .iter()
            .position(|&word| value == Value::Word(word))?;
        Some(Self::ALL[at])
    }
}

impl LcmpConfig {
    /// Returns the rule that applies: `keep` with the preset `paper`, `floor-or-all` of the authors' code with
    /// `artifact`.
    #[must_use]
    pub const fn keep_rule(&self) -> Keep {
        match self.preset {
            Preset::Paper => self.keep,
            Preset::Artifact => Keep::FloorOrAll,
        }
    }

    /// Returns the defaults of the preset `paper` for a topology whose fastest inter-DC link has `max_capacity`.
    ///
    /// `idle_timeout_ns` is the 8-DC testbed's value, five times its longest base RTT.
    #[must_use]
    pub const fn paper(max_capacity: BitsPerSec) -> Self {
        Self {
            max_capacity_bps: max_capacity,
            ..Self::PAPER
        }
    }

    /// Returns the defaults of the preset `artifact`.
    #[must_use]
    pub const fn artifact() -> Self {
        Self::ARTIFACT
    }

    /// Checks that each value is in its domain and that the values are consistent.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.check()
    }

    /// Returns the exponent of `max_delay_ns`: its binary logarithm in the preset's unit of delay.
    #[must_use]
    pub fn max_delay_shift(&self) -> u8 {
        let units = self.max_delay_ns.get() / delay_unit(self.preset).0;
        let shift = units.checked_ilog2().unwrap_or(0);
        u8::try_from(shift).unwrap_or(u8::MAX)
    }
}

/// Returns a delay of 2^`shift` in `preset`'s unit: microseconds for `paper`, milliseconds for `artifact`.
#[must_use]
pub const fn delay_of_shift(shift: u8, preset: Preset) -> Nanos {
    Nanos::new(delay_unit(preset).0 << shift)
}

/// Returns the unit of `max_delay` in `preset`: its length in ns, and its name.
const fn delay_unit(preset: Preset) -> (u64, &'static str) {
    match preset {
        Preset::Paper => (1_000, "us"),
        Preset::Artifact => (1_000_000, "ms"),
    }
}

/// Checks that `low_water` is below `high_water`. A queue level between them leaves the duration counter unchanged; if
/// they were equal, that level would both raise and lower the counter.
fn water_marks(config: &LcmpConfig) -> Option<ParameterError> {
    let low = config.low_water;
    let high = config.high_water;
    (low >= high).then(|| ParameterError::Order {
        low: ("low_water", Value::Number(low.into())),
        high: ("high_water", Value::Number(high.into())),
        may_meet: false,
    })
}

/// Checks that `max_delay` is a power of two of the preset's unit, because the delay score is computed by a shift.
fn max_delay(config: &LcmpConfig) -> Option<ParameterError> {
    let (unit, name) = delay_unit(config.preset);
    let delay = config.max_delay_ns.get();
    let units = delay / unit;
    if delay.is_multiple_of(unit) && units.is_power_of_two() {
        return None;
    }
    let below = units.checked_ilog2().map_or(1, |shift| 1 << shift);
    Some(ParameterError::NotPowerOfTwo {
        name: "max_delay",
        value: config.max_delay_ns,
        unit: name,
        nearest: [below, 2 * below],
    })
}

fn weights(config: &LcmpConfig) -> Option<ParameterError> {
    (config.alpha == 0 && config.beta == 0).then_some(ParameterError::BothZero {
        names: ["alpha", "beta"],
    })
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_largest_table_has_two_to_the_sixteenth_rows() {
        assert_eq!(MAX_FLOW_TABLE_ENTRIES + FLOW_TABLE_HEADROOM, 65_536);
    }

    #[test]
    fn both_presets_are_valid() {
        for preset in [LcmpConfig::PAPER, LcmpConfig::ARTIFACT] {
            assert_eq!(preset.validate(), Ok(()));
        }
        assert_eq!(LcmpConfig::PAPER.max_delay_shift(), 15);
        assert_eq!(LcmpConfig::ARTIFACT.max_delay_shift(), 5);
    }

    #[test]
    fn defaults_of_the_preset_paper_are_the_publications() {
        for parameter in LcmpConfig::PARAMETERS {
            let default = LcmpConfig::PAPER.get(parameter.name);
            let departs = default.is_some_and(|value| parameter.departs(value, default));
            assert!(!departs, "{}", parameter.name);
        }
    }

    /// Numbers of kept candidates under each rule, for m from 1 to 6 candidates.
    #[test]
    fn rules_of_the_half_differ_for_few_and_for_odd_numbers() {
        let kept = |rule: Keep| [1, 2, 3, 4, 5, 6].map(|alive| rule.of(alive));
        assert_eq!(kept(Keep::Half), [1, 1, 2, 2, 3, 3]);
        assert_eq!(kept(Keep::HalfStrict), [1, 1, 2, 2, 3, 3]);
        assert_eq!(kept(Keep::Floor), [1, 1, 1, 2, 2, 3]);
        assert_eq!(kept(Keep::FloorOrAll), [1, 2, 3, 2, 2, 3]);
        for rule in Keep::ALL {
            assert_eq!(rule.value().and_then(Keep::from_value), Some(rule));
        }
    }

    /// The published 32 and 64 ms do not count as a departure, nor do the nearest powers of two in microseconds, which
    /// the preset `paper` needs.
    #[test]
    fn published_delays_are_no_departure() {
        let parameter = LcmpConfig::PARAMETERS
            .iter()
            .find(|it| it.name == "max_delay")
            .expect("a declared parameter");
        let departs = |delay| parameter.departs(Value::Time(delay), None);
        for delay in [micros(32_768), micros(65_536), millis(32), millis(64)] {
            assert!(!departs(delay), "{delay}");
        }
        for delay in [micros(16_384), micros(524_288), millis(16), millis(128)] {
            assert!(departs(delay), "{delay}");
        }
    }

    #[test]
    fn a_delay_is_a_power_of_two_of_the_presets_unit() {
        for (shift, preset, expected) in [
            (0, Preset::Paper, micros(1)),
            (15, Preset::Paper, micros(32_768)),
            (5, Preset::Artifact, millis(32)),
        ] {
            assert_eq!(delay_of_shift(shift, preset), expected);
        }
    }

    #[test]
    fn ties_are_kept_by_the_default_rule_alone() {
        assert_eq!(Keep::ALL.map(Keep::keeps_ties), [true, false, false, false]);
    }

    #[test]
    fn the_fastest_link_of_a_topology_is_its_maximum_capacity() {
        let rate = BitsPerSec::new(40_000_000_000).expect("not zero");
        let config = LcmpConfig::paper(rate);
        assert_eq!(config.max_capacity_bps, rate);
        assert_eq!(config.max_delay_ns, LcmpConfig::PAPER.max_delay_ns);
    }

    #[test]
    fn one_weight_of_the_cost_may_be_zero() {
        for (alpha, beta) in [(0, 1), (1, 0)] {
            let config = LcmpConfig {
                alpha,
                beta,
                ..LcmpConfig::PAPER
            };
            assert_eq!(config.validate(), Ok(()));
        }
    }

    #[test]
    fn values_that_do_not_fit_are_named_with_their_bound() {
        let error = |change: fn(&mut LcmpConfig)| {
            let mut config = LcmpConfig::ARTIFACT;
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        for (change, message) in [
            (
                (|config| config.s_cong = 17) as fn(&mut LcmpConfig),
                "`s_cong` is 17; it must be 0 to 16",
            ),
            (
                |config| config.low_water = 204,
                "`low_water` is 204; it must be below `high_water`, which is 204",
            ),
            (
                |config| config.max_delay_ns = millis(500),
                "`max_delay` is 500 ms; it must be a power of two of ms (hint: the nearest are \
                 `256 ms`, `512 ms`)",
            ),
            (
                |config| (config.alpha, config.beta) = (0, 0),
                "`alpha` and `beta` are both zero, so that all paths cost the same",
            ),
        ] {
            assert_eq!(error(change), message);
        }
    }
}
