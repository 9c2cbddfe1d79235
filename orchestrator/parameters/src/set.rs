//! Sets of parameters and their declaration.

use core::fmt;

use lab_units::{Bytes, Nanos, Semantics};

use crate::value::{Domain, Value};

/// Source of a parameter set's defaults, and of its algorithm where paper and artifact differ.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Preset {
    /// Paper in which the policy or congestion control was published.
    #[default]
    Paper,
    /// NS-3 code of LCMP's authors, including its integer wrap-arounds.
    Artifact,
}

impl Preset {
    /// Returns the name of the preset in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Artifact => "artifact",
        }
    }
}

/// Returns the preset that a congestion control without a `preset` key gets under these semantics.
impl From<Semantics> for Preset {
    fn from(semantics: Semantics) -> Self {
        match semantics {
            Semantics::Paper => Self::Paper,
            Semantics::Artifact => Self::Artifact,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Value of a parameter according to the policy's publication.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Value as the publication words it, such as `3, and 0 in rm-alpha`.
    pub words: &'static str,
    /// Section of the publication that gives the value.
    pub place: &'static str,
    /// Published values, as values of the parameter; empty if they depend on the topology.
    pub values: &'static [Value],
}

/// Creates the declaration of a parameter's published value.
pub(crate) const fn published(
    words: &'static str,
    place: &'static str,
    values: &'static [Value],
) -> Option<Published> {
    Some(Published {
        words,
        place,
        values,
    })
}

/// Declaration of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in a scenario: the name of the field without its unit.
    pub name: &'static str,
    /// Key in a plan: the name of the field.
    pub field: &'static str,
    /// Description in full sentences, from the field's doc comment; each line starts with a space.
    pub doc: &'static str,
    /// Type and range of permitted values.
    pub domain: Domain,
    /// The only preset whose algorithm has the parameter; `None` if both presets have it.
    pub only: Option<Preset>,
    /// Description of the default in the preset `paper`, if the default depends on the topology.
    pub derived: Option<&'static str>,
    /// Value in the policy's publication; `None` if the publication gives no value, so that the default of the preset
    /// `paper` is this project's choice.
    pub published: Option<Published>,
    /// True if scaling converts the parameter's value (a time, rate or size); false if a plan keeps the value at the
    /// paper's scale.
    pub is_scaled: bool,
    /// True if `tune` may change the parameter while flows run.
    pub is_tunable: bool,
    /// True if a fault may change the parameter while flows run.
    pub is_changeable: bool,
    /// True if a scenario that sets this group of parameters must give the parameter a value.
    pub is_required: bool,
}

impl Parameter {
    /// Returns the declaration of `field` with the usual properties: scaled, optional, constant during a run, used by
    /// both presets.
    pub(crate) const fn new(field: &'static str, doc: &'static str, domain: Domain) -> Self {
        Self {
            name: without_unit(field),
            field,
            doc,
            domain,
            only: None,
            derived: None,
            published: None,
            is_scaled: true,
            is_tunable: false,
            is_changeable: false,
            is_required: false,
        }
    }

    /// Returns true if `value` differs from the published values or, for a parameter without published values, from
    /// `default`, the default of the preset `paper`.
    #[must_use]
    pub fn departs(&self, value: Value, default: Option<Value>) -> bool {
        match self.published {
            Some(published) => !published.values.contains(&value),
            None => default != Some(value),
        }
    }

    /// Returns true if the algorithm of `preset` uses the parameter.
    #[must_use]
    pub fn is_of(&self, preset: Preset) -> bool {
        self.only.is_none_or(|only| only == preset)
    }
}

/// Parameters of one policy or congestion control, with their values.
pub trait ParameterSet: Clone + Sized + 'static {
    /// Name of the policy or congestion control as its publication spells it, for headings and errors.
    const TITLE: &'static str;
    /// Keys in a scenario: `preset` and `label` if the set has them, then the parameters' names.
    const KEYS: &'static [&'static str];
    const PARAMETERS: &'static [Parameter];
    /// Checks of conditions that involve several parameters, such as the order of two thresholds.
    const CONFLICTS: &'static [Conflict<Self>];

    /// Returns the defaults of `preset`, with placeholders for defaults that depend on the topology.
    fn preset(preset: Preset) -> Self;

    /// Returns the value of the parameter `name`; `None` if the set has no such parameter.
    fn get(&self, name: &str) -> Option<Value>;

    /// Sets the parameter `name`; ignores a value of another type, or a value that is too large for the field.
    fn set(&mut self, name: &str, value: Value);

    /// Checks that every value is in its domain and that all values are consistent.
    ///
    /// Domains are at the paper's scale. The value of a scaled parameter may already be scaled, so the only check is
    /// that it is not zero.
    fn check(&self) -> Result<(), ParameterError> {
        for parameter in Self::PARAMETERS {
            match self.get(parameter.name) {
                Some(Value::Time(time)) if parameter.is_scaled && time > Nanos::ZERO => {}
                Some(Value::Size(size)) if parameter.is_scaled && size > Bytes::ZERO => {}
                Some(Value::Rate(_)) if parameter.is_scaled => {}
                Some(value) => parameter.check(value)?,
                None => {}
            }
        }
        let conflict = Self::CONFLICTS.iter().find_map(|check| check(self));
        conflict.map_or(Ok(()), Err)
    }
}

/// Check that involves several parameters of a set; returns the error if they are inconsistent.
pub type Conflict<S> = fn(&S) -> Option<ParameterError>;

impl Parameter {
    /// Checks that `value`, at the paper's scale, is in the parameter's domain. The error names the value and the
    /// domain.
    pub fn check(&self, value: Value) -> Result<(), ParameterError> {
        if self.domain.contains(value) {
            return Ok(());
        }
        Err(ParameterError::OutOfRange {
            name: self.name,
            value,
            domain: self.domain,
        })
    }
}

/// Value that is not permitted for its parameter, or that is inconsistent with other values of its set.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParameterError {
    #[error("`{name}` is {value}; it must be {domain}")]
    OutOfRange {
        name: &'static str,
        value: Value,
        domain: Domain,
    },
    #[error(
        "`{}` is {}; it must {} `{}`, which is {}",
        low.0, low.1, if *may_meet { "not be above" } else { "be below" }, high.0, high.1
    )]
    Order {
        low: (&'static str, Value),
        high: (&'static str, Value),
        may_meet: bool,
    },
    #[error(
        "`{name}` is {value}; it must be a power of two of {unit} (hint: the nearest are \
         `{} {unit}`, `{} {unit}`)",
        nearest[0], nearest[1]
    )]
    NotPowerOfTwo {
        name: &'static str,
        value: Nanos,
        unit: &'static str,
        nearest: [u64; 2],
    },
    #[error("`{}` and `{}` are both zero, so that all paths cost the same", names[0], names[1])]
    BothZero { names: [&'static str; 2] },
}

impl ParameterError {
    /// Returns the names of the parameters concerned; a single parameter is named twice.
    #[must_use]
    pub const fn names(&self) -> [&'static str; 2] {
        match self {
            Self::OutOfRange { name, .. } | Self::NotPowerOfTwo { name, .. } => [name, name],
            Self::Order { low, high, .. } => [low.0, high.0],
            Self::BothZero { names } => *names,
        }
    }
}

/// Returns the name of a field without its unit suffix, such as `t_low` for `t_low_ns`.
pub(crate) const fn without_unit(field: &'static str) -> &'static str {
    let unit = match field.as_bytes() {
        [.., b'_', b'n', b's'] => "_ns",
        [.., b'_', b'b', b'p', b's'] => "_bps",
        [.., b'_', b'b', b'y', b't', b'e', b's'] => "_bytes",
        [.., b'_', b'p', b'e', b'r', b'c', b'e', b'n', b't'] => "_percent",
        _ => "",
    };
    field.split_at(field.len() - unit.len()).0
}

/// Returns the `N` keys of a set: `head`, then the names of `parameters`.
pub(crate) const fn keys<const N: usize>(
    head: &[&'static str],
    parameters: &[Parameter],
) -> [&'static str; N] {
    let mut keys = [""; N];
    let mut at = 0;
    while at < N {
        keys[at] = if at < head.len() {
            head[at]
        } else {
            parameters[at - head.len()].name
        };
        at += 1;
    }
    keys
}

/// Declares a set of parameters, one per line:
///
/// `field: type = default of the paper, default of the artifact => { … };`
///
/// The second default is left out if it equals the first. The braces hold the fields of [`Parameter`] that differ from
/// [`Parameter::new`]. `(label)`: scenarios may give the set a label, as for policies. `by preset`: the set has a field
/// `preset`. `#[serde(default)]`: plans of earlier versions lack the field. `beside`: fields that are parameter sets
/// themselves, which reading and scaling handle separately.
macro_rules! parameters {
    (
        $(#[doc = $about:literal])*
        $(#[derive($derived:ident)])?
        pub struct $set:ident $(($label:ident))? $(by $preset:ident)? = $title:literal {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($serde:ident)])?
                $field:ident: $type:ty = $paper:expr $(, $artifact:expr)?
                    $(=> { $($key:ident: $value:expr),* $(,)? })?;
            )*
        }
        conflicts [$($conflict:ident),*]
        $(beside {
            $(
                $(#[doc = $beside_doc:literal])*
                $beside:ident: $beside_type:ty = $beside_default:expr;
            )*
        })?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, $($derived,)? Debug, Eq, Hash, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
        pub struct $set {
            $(
                /// Source of the defaults, and of the algorithm where paper and artifact differ.
                pub $preset: $crate::set::Preset,
            )?
            $(
                $(#[doc = $doc])*
                $(#[cfg_attr(feature = "serde", serde($serde))])?
                pub $field: $type,
            )*
            $($(
                $(#[doc = $beside_doc])*
                pub $beside: $beside_type,
            )*)?
        }

        impl $set {
            /// Defaults of the preset `paper`, at the paper's scale.
            pub const PAPER: Self = Self {
                $($preset: $crate::set::Preset::Paper,)?
                $($field: $paper,)*
                $($($beside: $beside_default,)*)?
            };

            /// Defaults of the preset `artifact`, at the paper's scale.
            pub const ARTIFACT: Self = Self {
                $($preset: $crate::set::Preset::Artifact,)?
                $($field: $crate::set::last!($paper $(, $artifact)?),)*
                $($($beside: $beside_default,)*)?
            };
        }

        impl $crate::set::ParameterSet for $set {
            const TITLE: &'static str = $title;
            const KEYS: &'static [&'static str] = {
                const HEAD: &[&str] = &[$(stringify!($preset),)? $(stringify!($label),)?];
                const COUNT: usize = HEAD.len() + <$set>::PARAMETERS.len();
                &$crate::set::keys::<COUNT>(HEAD, <$set>::PARAMETERS)
            };
            const PARAMETERS: &'static [$crate::set::Parameter] = &[$(
                $crate::set::Parameter {
                    $($($key: $value,)*)?
                    ..$crate::set::Parameter::new(
                        stringify!($field),
                        concat!($($doc),*),
                        <$type as $crate::value::Field>::DOMAIN,
                    )
                }
            ),*];
            const CONFLICTS: &'static [$crate::set::Conflict<Self>] = &[$($conflict),*];

            fn preset(preset: $crate::set::Preset) -> Self {
                match preset {
                    $crate::set::Preset::Paper => Self::PAPER,
                    $crate::set::Preset::Artifact => Self::ARTIFACT,
                }
            }

            fn get(&self, name: &str) -> Option<$crate::value::Value> {
                $(if name == $crate::set::without_unit(stringify!($field)) {
                    return $crate::value::Field::value(self.$field);
                })*
                None
            }

            fn set(&mut self, name: &str, value: $crate::value::Value) {
                $(if name == $crate::set::without_unit(stringify!($field))
                    && let Some(value) = $crate::value::Field::from_value(value)
                {
                    self.$field = value;
                })*
            }
        }
    };
}
pub(crate) use parameters;

/// Expands to its last expression, the second of two or the only one.
macro_rules! last {
    ($one:expr) => {
        $one
    };
    ($one:expr, $last:expr) => {
        $last
    };
}
pub(crate) use last;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DcqcnConfig, LcmpConfig, TimelyConfig, limits::micros};

    /// Returns the names of the parameters that `check` rejects after `change`; empty strings if it rejects none.
    fn refused<S: ParameterSet>(mut set: S, change: impl FnOnce(&mut S)) -> [&'static str; 2] {
        change(&mut set);
        let checked = set.check();
        checked.map_or_else(|error| error.names(), |()| [""; 2])
    }

    /// A lab's plan contains scaled parameters, which may lie outside a domain, because domains are at the paper's
    /// scale.
    #[test]
    fn a_scaled_parameter_may_have_any_value_but_zero() {
        let dcqcn = |change: fn(&mut DcqcnConfig)| refused(DcqcnConfig::PAPER, change);
        // In paper units, times must be from 100 ns to one hour, and sizes at most 1 TB.
        assert_eq!(dcqcn(|set| set.alpha_interval_ns = Nanos::new(1)), [""; 2]);
        assert_eq!(
            dcqcn(|set| set.alpha_interval_ns = Nanos::new(u64::MAX)),
            [""; 2]
        );
        assert_eq!(
            dcqcn(|set| set.byte_counter_bytes = Bytes::new(u64::MAX)),
            [""; 2]
        );
        let zero = dcqcn(|set| set.alpha_interval_ns = Nanos::ZERO);
        assert_eq!(zero, ["alpha_interval"; 2]);
        let zero = dcqcn(|set| set.byte_counter_bytes = Bytes::ZERO);
        assert_eq!(zero, ["byte_counter"; 2]);
    }

    /// `max_delay` is at the paper's scale in every plan, from 1 µs to one hour.
    #[test]
    fn a_parameter_that_is_not_scaled_is_held_to_its_domain() {
        let lcmp = |max_delay| refused(LcmpConfig::PAPER, |set| set.max_delay_ns = max_delay);
        assert_eq!(lcmp(micros(1)), [""; 2]);
        assert_eq!(lcmp(Nanos::new(999)), ["max_delay"; 2]);
        assert_eq!(lcmp(Nanos::from_millis(3_600_001)), ["max_delay"; 2]);
    }

    #[test]
    fn an_error_names_the_parameters_that_do_not_fit_together() {
        let lcmp = |change: fn(&mut LcmpConfig)| refused(LcmpConfig::PAPER, change);
        assert_eq!(lcmp(|set| set.s_path = 17), ["s_path"; 2]);
        assert_eq!(lcmp(|set| set.max_delay_ns = micros(3)), ["max_delay"; 2]);
        assert_eq!(lcmp(|set| set.low_water = 204), ["low_water", "high_water"]);
        assert_eq!(
            lcmp(|set| (set.alpha, set.beta) = (0, 0)),
            ["alpha", "beta"]
        );
        let timely = refused(TimelyConfig::PAPER, |set| set.t_low_ns = micros(501));
        assert_eq!(timely, ["t_low", "t_high"]);
    }

    #[test]
    fn a_parameter_is_called_as_its_field_without_the_unit() {
        for (field, name) in [
            ("max_delay_ns", "max_delay"),
            ("min_rate_bps", "min_rate"),
            ("byte_counter_bytes", "byte_counter"),
            ("alpha_percent", "alpha"),
            ("s_path", "s_path"),
            ("columns", "columns"),
            ("bytes", "bytes"),
        ] {
            assert_eq!(without_unit(field), name);
        }
    }
}
