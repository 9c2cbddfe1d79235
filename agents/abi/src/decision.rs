//! Cause and rule of a routing decision, shared by switch program, agent and simulator.

/// Declares an enum that occupies one byte in map rows and has C constants.
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
            /// Documentation, name and value of each C constant.
            pub const CONSTANTS: &[(&'static str, &'static str, u8)] =
                &[$((concat!($($variant_doc),*), concat!($prefix, $c_name), $value)),*];

            /// Returns the byte that stands for this value in map rows and records.
            #[must_use]
            pub const fn to_byte(self) -> u8 {
                match self {
                    $(Self::$variant => $value,)*
                }
            }

            /// Returns the value of `byte`; `None` if no value has this byte.
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
    /// Cause of a routing decision.
    pub enum Trigger as "TRIGGER_" {
        /// First packet of a flow.
        NewFlow = 0 as "NEW_FLOW",
        /// Packet of a flow whose pinned port is dead (fast failover).
        Failover = 1 as "FAILOVER",
        /// Packet of a flow that passed a size threshold and whose next hop is no longer among the cheapest.
        FlowAgeing = 2 as "FLOW_AGEING",
    }
}

byte_enum! {
    /// Rule that made a routing decision.
    pub enum Rule as "RULE_" {
        /// Bucket policies: hash over the live candidates' buckets.
        Hash = 0 as "HASH",
        /// LCMP: hash over the cheaper half of the candidates.
        Scored = 1 as "SCORED",
        /// LCMP, `paper`: the cheapest candidate, because all are highly congested.
        LeastCost = 2 as "LEAST_COST",
        /// LCMP, `artifact`: hash over all candidates, because the filter left no candidate.
        HashAll = 3 as "HASH_ALL",
        /// Hash over all candidates, because the tables or LCMP's congestion signals are stale.
        Stale = 4 as "STALE",
        /// Choice of a user-defined policy.
        Own = 5 as "OWN",
    }
}

impl Trigger {
    /// Returns the reason given in records for a decision by `rule`.
    #[must_use]
    pub const fn reason(self, rule: Rule) -> &'static str {
        match self {
            Self::NewFlow => rule.word(),
            Self::Failover => "failover",
            Self::FlowAgeing => "age",
        }
    }
}

impl Rule {
    /// Returns the name of the rule as written in records.
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

    /// Returns true if the policy fell back because its own rule could not decide.
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
