//! Declaration of centralised traffic engineering as a policy; its algorithm is in the crate `lab-te`.

use crate::policy::{BuiltInPolicy, Mechanism};

/// Traffic engineering with a default interval of 100 ms. Switches start with WCMP's buckets.
pub const POLICY: BuiltInPolicy = BuiltInPolicy {
    word: "te-100ms",
    key: Some("te"),
    doc: "Centralised traffic engineering: at the end of every interval the split that would have\n\
          minimised the maximum link utilisation of that interval is computed from the interval's demands,\n\
          and installed one interval later.",
    sets: None,
    mechanism: Mechanism::Splits,
};
