//! What caused a decision, and what it followed.

/// Declares an enum that travels as a byte and has C constants.
macro_rules! byte_enum {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $prefix:literal {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $value:literal as $c_name:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        pub enum $name {
            $($(#[doc = $variant_doc])* $variant,)*
        }

        impl $name {
            /// The C constants: documentation, name, value.
            pub const CONSTANTS: &[(&'static str, &'static str, u8)] =
                &[$((concat!($($variant_doc),*), concat!($prefix, $c_name), $value)),*];

            /// The byte the switch program writes.
            #[must_use]
            pub const fn to_byte(self) -> u8 {
                match self {
                    $(Self::$variant => $value,)*
                }
            }

            /// What `byte` stands for.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

byte_enum! {
    /// Why a packet was decided.
    pub enum Trigger as "TRIGGER_" {
        /// It is the first of its flow.
        NewFlow = 0 as "NEW_FLOW",
        /// Its flow's port had died.
        Failover = 1 as "FAILOVER",
        /// It has sent so much that its next hop is none of the cheapest any more.
        Age = 2 as "AGE",
    }
}

byte_enum! {
    /// Which rule a decision followed.
    pub enum Rule as "RULE_" {
        /// Buckets: the hash over the live candidates' buckets.
        Hash = 0 as "HASH",
        /// LCMP: the hash over the cheaper half.
        Scored = 1 as "SCORED",
        /// LCMP, `paper`: all highly congested, so the cheapest.
        LeastCost = 2 as "MIN_COST",
        /// LCMP, `artifact`: none left, so the hash over all.
        HashAll = 3 as "HASH_ALL",
        /// Without fresh tables, or LCMP without fresh signals: the hash over all.
        Stale = 4 as "STALE",
        /// By a policy of the user's own.
        Own = 5 as "OWN",
    }
}

impl Trigger {
    /// The records' word for a decision by `rule`.
    #[must_use]
    pub const fn reason(self, rule: Rule) -> &'static str {
        match self {
            Self::NewFlow => rule.word(),
            Self::Failover => "failover",
            Self::Age => "age",
        }
    }
}

impl Rule {
    /// The records' word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Scored => "scored",
            Self::LeastCost => "least-cost-fallback",
            Self::HashAll => "hash-all-fallback",
            Self::Stale => "stale-fallback",
            Self::Own => "own",
        }
    }

    /// Whether LCMP could not decide by its scores.
    #[must_use]
    pub const fn is_fallback(self) -> bool {
        match self {
            Self::Hash | Self::Scored | Self::Own => false,
            Self::LeastCost | Self::HashAll | Self::Stale => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_rules_map_both_ways() {
        for byte in 0..=u8::MAX {
            let known = Rule::CONSTANTS.iter().any(|&(.., value)| value == byte);
            assert_eq!(
                Rule::from_byte(byte).map(Rule::to_byte),
                known.then_some(byte)
            );
        }
    }
}
